//! SampleNTT and SamplePolyCBD_eta (FIPS 203 section 4.2.2).

use keccak::backend::Backend;

use crate::{
    hash::Xof,
    params::{N, Q, SYM_BYTES},
    poly::{NttPoly, Poly},
};

/// 12-bit values in a block of the XOF.
const BLOCK_VALUES: usize = 112;
const _: () = assert!(BLOCK_VALUES * 12 == 8 * Xof::BLOCK);

/// SampleNTT of rho, j, i: entry (i, j) of the matrix, in \[0, q). Its input and its time are public.
#[inline(always)]
pub(crate) fn sample_ntt<B: Backend>(b: B, rho: &[u8; SYM_BYTES], j: u8, i: u8, out: &mut NttPoly) {
    let mut xof = Xof::new(b, rho, j, i);
    let mut block = [0; Xof::BLOCK];
    // A block is taken whole as long as values are missing, so that the last one may overshoot.
    let mut values = [0; N + BLOCK_VALUES];
    let mut count = 0;
    while count < N {
        xof.block(b, &mut block);
        count = accept_vartime(&block, &mut values, count);
    }
    out.0.copy_from_slice(&values[..N]);
}

/// Appends the 12-bit values below q of a block. Every candidate is written, and the count moves on
/// only past accepted ones: no branch, since half of them would be mispredicted.
#[inline(always)]
fn accept_vartime(
    block: &[u8; Xof::BLOCK],
    values: &mut [i16; N + BLOCK_VALUES],
    mut count: usize,
) -> usize {
    for [b0, b1, b2, b3, b4, b5] in block.as_chunks::<6>().0 {
        let bits = u64::from_le_bytes([*b0, *b1, *b2, *b3, *b4, *b5, 0, 0]);
        let Some(window) = values[count..].first_chunk_mut::<4>() else { break };
        let mut accepted = 0;
        for i in 0..4 {
            let value = (bits >> (12 * i) & 0xfff) as i16;
            // No more than `i` were accepted before; the mask spares a bounds check.
            window[accepted & 3] = value;
            accepted += usize::from(value < Q);
        }
        count += accepted;
    }
    count
}

/// SamplePolyCBD_ETA: `ETA` bytes hold four coefficients of 2 ETA bits, the difference between the
/// number of ones in their lower and in their upper half. |result| <= ETA.
#[inline(always)]
pub(crate) fn sample_poly_cbd<const ETA: usize>(bytes: &[u8], out: &mut Poly) {
    /// Every eta-th bit.
    const fn mask(eta: usize) -> u32 {
        if eta == 2 { 0x5555 } else { 0x24_9249 }
    }
    for (four, bytes) in out.0.as_chunks_mut::<4>().0.iter_mut().zip(bytes.as_chunks::<ETA>().0) {
        let mut bits = 0;
        for (i, byte) in bytes.iter().enumerate() {
            bits |= u32::from(*byte) << (8 * i);
        }
        let mut sums = 0;
        for i in 0..ETA {
            sums += (bits >> i) & mask(ETA);
        }
        for (i, x) in four.iter_mut().enumerate() {
            let half = |shift: usize| ((sums >> shift) & ((1 << ETA) - 1)) as i16;
            *x = half(2 * ETA * i) - half(2 * ETA * i + ETA);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value of the 2 eta bits at every place, against the sums of the standard.
    fn check_cbd<const ETA: usize>() {
        for start in 0..1usize << (2 * ETA) {
            let coefficient = |i: usize| (start + i) & ((1 << (2 * ETA)) - 1);
            let mut bytes = [0u8; 64 * 3];
            for bit in 0..N * 2 * ETA {
                let value = coefficient(bit / (2 * ETA)) >> (bit % (2 * ETA)) & 1;
                bytes[bit / 8] |= (value as u8) << (bit % 8);
            }
            let mut f = Poly::ZERO;
            sample_poly_cbd::<ETA>(&bytes[..64 * ETA], &mut f);
            for i in 0..N {
                let x = (coefficient(i) & ((1 << ETA) - 1)).count_ones() as i16;
                let y = (coefficient(i) >> ETA).count_ones() as i16;
                assert_eq!(f.0[i], x - y, "coefficient {i}, eta = {ETA}");
            }
        }
    }

    #[test]
    fn cbd_over_all_values() {
        check_cbd::<2>();
        check_cbd::<3>();
    }

    #[test]
    fn accepts_exactly_the_values_below_q() {
        for value in 0..4096u16 {
            let mut block = [0xff; Xof::BLOCK];
            block[..3].copy_from_slice(&[value as u8, (value >> 8) as u8 | 0xf0, 0xff]);
            block[165..].copy_from_slice(&[0xff, 0x0f | (value << 4) as u8, (value >> 4) as u8]);
            let mut values = [-1; N + BLOCK_VALUES];
            let count = accept_vartime(&block, &mut values, 255);
            assert_eq!(count, if value < Q as u16 { 257 } else { 255 }, "{value}");
            if count == 257 {
                assert_eq!(values[255..257], [value as i16; 2]);
            }
        }
    }
}
