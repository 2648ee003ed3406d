//! The two ways in which vector code gets slow without a test turning red.

use core::arch::x86_64::{_mm256_add_epi64, _mm256_loadu_si256, _mm256_storeu_si256};

use keccak::backend::{Avx2, Backend, Lanes};

/// An intrinsic called where its feature is not enabled: compiled as a call.
fn without_the_feature(_: Avx2, x: &mut [u64; 4]) {
    // SAFETY: the token proves AVX2; the array has 32 bytes.
    unsafe {
        let v = _mm256_loadu_si256(x.as_ptr().cast());
        _mm256_storeu_si256(x.as_mut_ptr().cast(), _mm256_add_epi64(v, v));
    }
}

/// The kernel of the permutation in a leaf function whose frame is not aligned.
#[inline(never)]
fn without_aligned_frame<B: Backend>(b: B, state: &mut [[u64; 4]; 25]) {
    b.vectorize(
        #[inline(always)]
        || {
            let mut lanes = [B::Four::splat(b, 0); 25];
            for i in 0..25 {
                lanes[i] = B::Four::load(b, &state[i]);
            }
            b.permute_four(&mut lanes, 24);
            for i in 0..25 {
                lanes[i].store(&mut state[i]);
            }
        },
    );
}

fn main() {
    let mut state = [[1; 4]; 25];
    if let Some(b) = Avx2::get() {
        without_the_feature(b, &mut state[0]);
        without_aligned_frame(b, &mut state);
    }
    println!("{state:?}");
}
