//! Keccak-p[1600, n_r] (FIPS 202 section 3), written once over [`Lane`].
//!
//! Three forms of the same round: [`planes`] computes one output plane after the other and is the
//! fastest on 64-bit CPUs; [`unrolled`] runs rho and pi in place as one chain of 24 steps, without
//! indices or tables; `rolled` runs the same chain as a loop over an index and a rotation table.
//! A state is 25 lanes, A\[x, y\] at index x + 5y. All three are constant-time: straight-line code.
//! Tests: each form against the others, the published state and the reference.

use crate::backend::{Lane, Lanes};

/// Rounds of Keccak-f\[1600\].
pub const ROUNDS: usize = 24;

/// Lanes in a state.
pub const LANES: usize = 25;

/// Round constants of iota, from the LFSR of FIPS 202 section 3.2.5.
pub static ROUND_CONSTANTS: [u64; ROUNDS] = round_constants();

/// x^8 + x^6 + x^5 + x^4 + 1, one bit a step; round i takes bit j from step 7i + j to position 2^j - 1.
const fn round_constants() -> [u64; ROUNDS] {
    let mut constants = [0; ROUNDS];
    let mut lfsr: u8 = 1;
    let mut round = 0;
    while round < ROUNDS {
        let mut j = 0;
        while j < 7 {
            constants[round] |= ((lfsr & 1) as u64) << ((1 << j) - 1);
            lfsr = (lfsr << 1) ^ (if lfsr >> 7 == 1 { 0x71 } else { 0 });
            j += 1;
        }
        round += 1;
    }
    constants
}

#[cfg(any(feature = "hazmat", test))]
/// Where pi moves a lane to: A\[x, y\] to A\[y, 2x + 3y\].
#[allow(clippy::integer_division_remainder_used)]
const fn pi_target(from: usize) -> usize {
    let (x, y) = (from % 5, from / 5);
    y + 5 * ((2 * x + 3 * y) % 5)
}

#[cfg(any(feature = "hazmat", test))]
/// pi fixes lane 0 and is one cycle over the other 24; the chain starts at lane 1.
pub(crate) static PI_CHAIN: [usize; 24] = {
    let mut chain = [0; 24];
    let mut lane = 1;
    let mut step = 0;
    while step < 24 {
        lane = pi_target(lane);
        chain[step] = lane;
        step += 1;
    }
    chain
};

#[cfg(any(feature = "hazmat", test))]
/// Rotation of rho along the same chain: the triangular numbers (FIPS 202 section 3.2.2).
pub(crate) static RHO_CHAIN: [u32; 24] = {
    let mut rotations = [0; 24];
    let mut step = 0;
    while step < 24 {
        rotations[step] = ((((step + 1) * (step + 2)) >> 1) & 63) as u32;
        step += 1;
    }
    rotations
};

/// The last `rounds` rounds, in the in-place chain form.
#[inline(always)]
pub fn unrolled<B: Copy, L: Lanes<B>>(b: B, a: &mut [L; LANES], rounds: usize) {
    L::complement(a);
    for constant in &L::round_constants()[ROUNDS - rounds..] {
        theta(a);
        rho_pi_unrolled(a);
        chi(a);
        a[0] = a[0].xor(L::splat(b, *constant));
    }
    L::complement(a);
}

#[cfg(any(feature = "hazmat", test))]
/// The last `rounds` rounds with rho and pi as a loop over the two tables that the caller passes:
/// the static ones, or the same ones hidden from the optimiser, which else unrolls the loop.
#[inline(always)]
pub(crate) fn rolled(a: &mut [u64; LANES], rounds: usize, pi: &[usize; 24], rho: &[u32; 24]) {
    for constant in &ROUND_CONSTANTS[ROUNDS - rounds..] {
        theta(a);
        let mut moved = a[1];
        for i in 0..24 {
            let next = a[pi[i]];
            a[pi[i]] = moved.rotate_left(rho[i]);
            moved = next;
        }
        chi(a);
        a[0] ^= constant;
    }
}

#[inline(always)]
fn theta<L: Lane>(a: &mut [L; LANES]) {
    let c = parities(a);
    let d = theta_effect(&c);
    for y in 0..5 {
        for x in 0..5 {
            a[5 * y + x] = a[5 * y + x].xor(d[x]);
        }
    }
}

#[inline(always)]
fn parities<L: Lane>(a: &[L; LANES]) -> [L; 5] {
    let column = |x: usize| a[x].xor3(a[x + 5], a[x + 10]).xor3(a[x + 15], a[x + 20]);
    [column(0), column(1), column(2), column(3), column(4)]
}

#[inline(always)]
fn theta_effect<L: Lane>(c: &[L; 5]) -> [L; 5] {
    let effect = |before: usize, after: usize| c[before].xor(c[after].rotate_left::<1>());
    [effect(4, 1), effect(0, 2), effect(1, 3), effect(2, 4), effect(3, 0)]
}

/// One step of the chain: the lane in hand, rotated, goes to `TO`, and the lane found there is next.
#[inline(always)]
fn step<const TO: usize, const BY: u32, L: Lane>(a: &mut [L; LANES], hand: &mut L) {
    let next = a[TO];
    a[TO] = hand.rotate_left::<BY>();
    *hand = next;
}

#[inline(always)]
fn rho_pi_unrolled<L: Lane>(a: &mut [L; LANES]) {
    let mut hand = a[1];
    step::<10, 1, L>(a, &mut hand);
    step::<7, 3, L>(a, &mut hand);
    step::<11, 6, L>(a, &mut hand);
    step::<17, 10, L>(a, &mut hand);
    step::<18, 15, L>(a, &mut hand);
    step::<3, 21, L>(a, &mut hand);
    step::<5, 28, L>(a, &mut hand);
    step::<16, 36, L>(a, &mut hand);
    step::<8, 45, L>(a, &mut hand);
    step::<21, 55, L>(a, &mut hand);
    step::<24, 2, L>(a, &mut hand);
    step::<4, 14, L>(a, &mut hand);
    step::<15, 27, L>(a, &mut hand);
    step::<23, 41, L>(a, &mut hand);
    step::<19, 56, L>(a, &mut hand);
    step::<13, 8, L>(a, &mut hand);
    step::<12, 25, L>(a, &mut hand);
    step::<2, 43, L>(a, &mut hand);
    step::<20, 62, L>(a, &mut hand);
    step::<14, 18, L>(a, &mut hand);
    step::<22, 39, L>(a, &mut hand);
    step::<9, 61, L>(a, &mut hand);
    step::<6, 20, L>(a, &mut hand);
    step::<1, 44, L>(a, &mut hand);
}

#[inline(always)]
fn chi<L: Lane>(a: &mut [L; LANES]) {
    chi_plane::<0, L>(a);
    chi_plane::<1, L>(a);
    chi_plane::<2, L>(a);
    chi_plane::<3, L>(a);
    chi_plane::<4, L>(a);
}

#[inline(always)]
fn chi_plane<const Y: usize, L: Lane>(a: &mut [L; LANES]) {
    let row = [a[5 * Y], a[5 * Y + 1], a[5 * Y + 2], a[5 * Y + 3], a[5 * Y + 4]];
    a[5 * Y..5 * Y + 5].copy_from_slice(&L::chi_row::<Y>(&row));
}

/// The last `rounds` rounds, plane by plane, two rounds a turn between two sets of lanes, so that no
/// lane is copied; the column parities for the next theta are gathered while the planes are written.
#[inline(always)]
pub fn planes<B: Copy, L: Lanes<B>>(b: B, state: &mut [L; LANES], rounds: usize) {
    let mut a = *state;
    L::complement(&mut a);
    let mut c = parities(&a);
    let (pairs, last) = L::round_constants()[ROUNDS - rounds..].as_chunks::<2>();
    for [even, odd] in pairs {
        let e = round_planes(&a, &mut c, L::splat(b, *even));
        a = round_planes(&e, &mut c, L::splat(b, *odd));
    }
    if let [constant] = last {
        a = round_planes(&a, &mut c, L::splat(b, *constant));
    }
    L::complement(&mut a);
    *state = a;
}

/// One round. Plane y of the output takes lane x from A\[x + 3y, x\] (pi backwards).
///
/// `c` holds the column parities of the input, then those of the output, unless the lane type would
/// rather take them anew. Where a three-input exclusive or costs what a two-input one does, theta's
/// effect is applied in its two parts.
#[inline(always)]
fn round_planes<L: Lane>(a: &[L; LANES], c: &mut [L; 5], constant: L) -> [L; LANES] {
    if L::FRESH_PARITIES {
        *c = parities(a);
    }
    let before = [c[4], c[0], c[1], c[2], c[3]];
    let after = [
        c[1].rotate_left::<1>(),
        c[2].rotate_left::<1>(),
        c[3].rotate_left::<1>(),
        c[4].rotate_left::<1>(),
        c[0].rotate_left::<1>(),
    ];
    let effect = if L::THREE_INPUT { before } else { xor_row(&before, &after) };
    macro_rules! plane {
        ($y:literal; $($x:literal: $from:literal << $by:literal),*) => {
            L::chi_row::<$y>(&[$(
                if L::THREE_INPUT {
                    a[$from].xor3(effect[$x], after[$x])
                } else {
                    a[$from].xor(effect[$x])
                }
                .rotate_left::<$by>()
            ),*])
        };
    }
    let mut p0 = plane!(0; 0: 0 << 0, 1: 6 << 44, 2: 12 << 43, 3: 18 << 21, 4: 24 << 14);
    p0[0] = p0[0].xor(constant);
    let p1 = plane!(1; 3: 3 << 28, 4: 9 << 20, 0: 10 << 3, 1: 16 << 45, 2: 22 << 61);
    *c = xor_row(&p0, &p1);
    let p2 = plane!(2; 1: 1 << 1, 2: 7 << 6, 3: 13 << 25, 4: 19 << 8, 0: 20 << 18);
    *c = xor_row(c, &p2);
    let p3 = plane!(3; 4: 4 << 27, 0: 5 << 36, 1: 11 << 10, 2: 17 << 15, 3: 23 << 56);
    *c = xor_row(c, &p3);
    let p4 = plane!(4; 2: 2 << 62, 3: 8 << 55, 4: 14 << 39, 0: 15 << 41, 1: 21 << 2);
    *c = xor_row(c, &p4);
    [
        p0[0], p0[1], p0[2], p0[3], p0[4], p1[0], p1[1], p1[2], p1[3], p1[4], p2[0], p2[1], p2[2],
        p2[3], p2[4], p3[0], p3[1], p3[2], p3[3], p3[4], p4[0], p4[1], p4[2], p4[3], p4[4],
    ]
}

#[inline(always)]
fn xor_row<L: Lane>(p: &[L; 5], q: &[L; 5]) -> [L; 5] {
    [p[0].xor(q[0]), p[1].xor(q[1]), p[2].xor(q[2]), p[3].xor(q[3]), p[4].xor(q[4])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Complemented, Lanes, U32x2};

    /// Round constants and rotations as FIPS 202 and its reference code list them.
    #[test]
    fn tables_match_the_published_ones() {
        assert_eq!(ROUND_CONSTANTS[..4], [1, 0x8082, 0x8000_0000_0000_808a, 0x8000_0000_8000_8000]);
        assert_eq!(ROUND_CONSTANTS[23], 0x8000_0000_8000_8008);
        assert_eq!(PI_CHAIN[..4], [10, 7, 11, 17]);
        assert_eq!(PI_CHAIN[23], 1);
        assert_eq!(RHO_CHAIN[..4], [1, 3, 6, 10]);
        assert_eq!(RHO_CHAIN[23], 44);
    }

    fn run<L: Lanes<()>>(state: &[u64; LANES], form: impl FnOnce(&mut [L; LANES])) -> [u64; LANES] {
        let mut lanes = state.map(|word| L::load((), &[L::encode(word)]));
        form(&mut lanes);
        lanes.map(|lane| {
            let mut word = [0];
            lane.store(&mut word);
            L::decode(word[0])
        })
    }

    #[test]
    fn all_forms_and_lane_types_agree_for_all_round_counts() {
        let mut state = [0; LANES];
        for rounds in 0..=ROUNDS {
            let mut expected = state;
            rolled(&mut expected, rounds, &PI_CHAIN, &RHO_CHAIN);
            assert_eq!(run::<u64>(&state, |a| planes((), a, rounds)), expected);
            assert_eq!(run::<u64>(&state, |a| unrolled((), a, rounds)), expected);
            assert_eq!(run::<U32x2>(&state, |a| planes((), a, rounds)), expected);
            assert_eq!(run::<U32x2>(&state, |a| unrolled((), a, rounds)), expected);
            assert_eq!(run::<Complemented>(&state, |a| planes((), a, rounds)), expected);
            assert_eq!(run::<Complemented>(&state, |a| unrolled((), a, rounds)), expected);
            state = expected;
        }
        assert_ne!(state, [0; LANES]);
    }

    #[test]
    fn published_state_after_one_permutation_of_zeros() {
        let mut state = [0; LANES];
        crate::keccak_f1600(&mut state);
        assert_eq!(state[0], 0xf125_8f79_40e1_dde7);
        assert_eq!(state[24], 0xeaf1_ff7b_5cec_a249);
    }
}
