//! The two ways in which vector code gets slow without a test turning red.

use keccak::backend::{Avx2, Backend, Lane, Lanes};

/// An operation on lanes outside [`Backend::vectorize`]: its intrinsics are compiled as calls.
#[inline(never)]
fn without_the_feature<B: Backend>(b: B, x: &mut [u64; 4]) {
    let lanes = B::Four::load(b, x);
    lanes.xor(lanes.rotate_left::<1>()).store(x);
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
