//! SampleNTT and SamplePolyCBD_eta (FIPS 203 section 4.2.2).

use crate::{
    params::{N, Q},
    poly::Poly,
};

/// Bytes of three blocks of the XOF, enough for a polynomial in 99.2 % of all cases.
pub(crate) const ENTRY_BYTES: usize = 3 * 168;

/// SampleNTT: appends the 12-bit values below q to the `count` coefficients that `out` has, until it is
/// full, and returns how many it has then. Its input and its time are public.
///
/// Every candidate is written, and the count moves on only past accepted ones: no branch, since a fifth
/// of them would be mispredicted.
#[inline(always)]
pub(crate) fn accept_vartime(bytes: &[u8], out: &mut [i16; N], mut count: usize) -> usize {
    for [b0, b1, b2, b3, b4, b5] in bytes.as_chunks::<6>().0 {
        let bits = u64::from_le_bytes([*b0, *b1, *b2, *b3, *b4, *b5, 0, 0]);
        let candidate = |i: usize| (bits >> (12 * i) & 0xfff) as i16;
        if let Some(window) = out[count..].first_chunk_mut::<4>() {
            let mut accepted = 0;
            for i in 0..4 {
                // No more than `i` were accepted before; the mask spares a bounds check.
                window[accepted & 3] = candidate(i);
                accepted += usize::from(candidate(i) < Q);
            }
            count += accepted;
        } else {
            for i in 0..4 {
                if let (true, Some(place)) = (candidate(i) < Q, out.get_mut(count)) {
                    *place = candidate(i);
                    count += 1;
                }
            }
        }
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

    /// Each 12-bit value at each place, from each number of coefficients that are already there.
    #[test]
    fn accepts_exactly_the_values_below_q() {
        let mut bytes = [0xff; ENTRY_BYTES];
        for value in 0..4096u16 {
            let (place, count) = (usize::from(value) % 336, usize::from(value) % 257);
            let at = place / 2 * 3;
            bytes[at..at + 3].fill(0xff);
            let low = u32::from(value) << (12 * (place % 2)) | 0xfff << (12 - 12 * (place % 2));
            bytes[at..at + 3].copy_from_slice(&low.to_le_bytes()[..3]);
            let mut out = [-1; N];
            let found = accept_vartime(&bytes, &mut out, count);
            let accepted = value < Q as u16 && count < N;
            assert_eq!(found, count + usize::from(accepted), "{value} at {place} after {count}");
            if accepted {
                assert_eq!(out[count], value as i16);
            }
            bytes[at..at + 3].fill(0xff);
        }
        let mut out = [0; N];
        assert_eq!(accept_vartime(&[0; ENTRY_BYTES], &mut out, 0), N);
    }

    /// q - 1, q and q + 1 after every count: the last three coefficients are taken one at a time.
    #[test]
    fn accepts_below_q_up_to_the_last_coefficient() {
        for count in 0..N {
            for value in [Q - 1, Q, Q + 1] {
                let mut bytes = [0xff; 6];
                (bytes[0], bytes[1]) = (value as u8, 0xf0 | (value >> 8) as u8);
                let mut out = [-1; N];
                let found = accept_vartime(&bytes, &mut out, count);
                assert_eq!(found, count + usize::from(value < Q), "{value} after {count}");
            }
        }
    }
}
