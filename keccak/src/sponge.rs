//! The sponge (FIPS 202 section 4) over N messages side by side; N = 1 is the ordinary sponge.
//!
//! Low-level: generic over a backend token, with no guard against absorbing after squeezing. The
//! hash types of this crate add both guards. The state is kept interleaved, word i of every message
//! beside each other, between blocks. Messages may differ in length: only those whose block is full
//! take part in a permutation. What is absorbed and squeezed may be secret; lengths are public.

// Indices instead of iterators in vector code: see `permute_lanes`.
#![allow(clippy::needless_range_loop)]

use crate::{
    backend::{Backend, Lanes, align_frame},
    permutation::{LANES, ROUNDS},
};

/// Bytes of the state.
pub const STATE_BYTES: usize = 200;

/// Word i of message l at `[i][l]`, in the backend's order of bits.
#[repr(align(64))]
#[derive(Clone)]
pub struct State<const N: usize>(pub [[u64; N]; LANES]);

impl<const N: usize> State<N> {
    /// All zeros.
    pub const ZERO: Self = Self([[0; N]; LANES]);

    /// Message `l` becomes these words of its byte string and zeros.
    #[inline(always)]
    pub fn set_words<B: Backend, const COUNT: usize>(&mut self, l: usize, words: &[u64; COUNT]) {
        let (head, tail) = self.0.split_at_mut(COUNT);
        for (lanes, word) in head.iter_mut().zip(words) {
            lanes[l] = B::One::encode(*word);
        }
        for lanes in tail {
            lanes[l] = 0;
        }
    }

    /// Xors bytes into message `l` from byte `position` of its state on.
    #[inline(always)]
    pub fn xor_bytes<B: Backend>(&mut self, l: usize, position: usize, bytes: &[u8]) {
        let (head, words, tail) = split_words(position, bytes.len());
        if head > 0 {
            let word = partial_word(&bytes[..head]) << (8 * (position & 7));
            self.0[position >> 3][l] ^= B::One::encode(word);
        }
        let first = (position + 7) >> 3;
        let (whole, rest) = bytes[head..].as_chunks::<8>();
        for (lanes, bytes) in self.0[first..].iter_mut().zip(whole) {
            lanes[l] ^= B::One::encode(u64::from_le_bytes(*bytes));
        }
        if tail > 0 {
            self.0[first + words][l] ^= B::One::encode(partial_word(rest));
        }
    }

    /// Copies out bytes of message `l` from byte `position` of its state on.
    #[inline(always)]
    pub fn copy_bytes<B: Backend>(&self, l: usize, position: usize, out: &mut [u8]) {
        let word = |i: usize| B::One::decode(self.0[i][l]).to_le_bytes();
        let (head, words, tail) = split_words(position, out.len());
        if head > 0 {
            let from = position & 7;
            out[..head].copy_from_slice(&word(position >> 3)[from..from + head]);
        }
        let first = (position + 7) >> 3;
        let (whole, rest) = out[head..].as_chunks_mut::<8>();
        for (lanes, bytes) in self.0[first..].iter().zip(whole) {
            *bytes = B::One::decode(lanes[l]).to_le_bytes();
        }
        if tail > 0 {
            rest.copy_from_slice(&word(first + words)[..tail]);
        }
    }

    /// Overwrites the state, with stores as wide as the target has, and keeps them from being removed.
    #[inline(always)]
    pub fn wipe(&mut self) {
        self.0 = [[0; N]; LANES];
        zeroize::optimization_barrier(self);
    }
}

/// N sponges of one rate, each at its own position. Wiped on drop.
#[derive(Clone)]
pub struct Sponge<const N: usize> {
    state: State<N>,
    /// Bytes absorbed into, or squeezed from, the current block of each message; below `rate`
    /// between calls while absorbing, up to `rate` while squeezing.
    position: [usize; N],
    rate: usize,
    rounds: usize,
}

impl<const N: usize> Sponge<N> {
    /// Empty sponges over Keccak-f\[1600\]; `rate` in bytes, a multiple of 8 below 200.
    #[inline(always)]
    #[must_use]
    pub fn new(rate: usize) -> Self {
        Self::with_rounds(rate, ROUNDS)
    }

    /// Empty sponges over the last `rounds` rounds of the permutation.
    #[inline(always)]
    #[must_use]
    pub fn with_rounds(rate: usize, rounds: usize) -> Self {
        debug_assert!(rate & 7 == 0 && rate < STATE_BYTES && rounds <= ROUNDS);
        Self { state: State([[0; N]; LANES]), position: [0; N], rate, rounds }
    }

    /// Appends to each message its own bytes.
    #[inline(always)]
    pub fn absorb<B: Backend>(&mut self, b: B, mut messages: [&[u8]; N]) {
        loop {
            let mut full = [false; N];
            for l in 0..N {
                let room = self.rate - self.position[l];
                let (now, later) = messages[l].split_at(room.min(messages[l].len()));
                self.state.xor_bytes::<B>(l, self.position[l], now);
                self.position[l] += now.len();
                full[l] = self.position[l] == self.rate;
                messages[l] = later;
            }
            if !full.contains(&true) {
                return;
            }
            self.next_block(b, &full);
        }
    }

    /// Zeros up to the end of the current block, if it has begun (bytepad of SP 800-185).
    #[inline(always)]
    pub fn fill_block<B: Backend>(&mut self, b: B) {
        let begun = self.position.map(|position| position > 0);
        self.next_block(b, &begun);
    }

    /// Ends the messages: `suffix` holds the domain bits and the first bit of pad10*1.
    #[inline(always)]
    pub fn pad<B: Backend>(&mut self, b: B, suffix: u8) {
        for l in 0..N {
            self.state.xor_bytes::<B>(l, self.position[l], &[suffix]);
            self.state.xor_bytes::<B>(l, self.rate - 1, &[0x80]);
        }
        self.next_block(b, &[true; N]);
    }

    /// The next bytes of each output; after [`Sponge::pad`].
    #[inline(always)]
    pub fn squeeze<B: Backend>(&mut self, b: B, mut outputs: [&mut [u8]; N]) {
        loop {
            let mut wanting = [false; N];
            for l in 0..N {
                let room = self.rate - self.position[l];
                let output = core::mem::take(&mut outputs[l]);
                let (now, later) = output.split_at_mut(room.min(output.len()));
                self.state.copy_bytes::<B>(l, self.position[l], now);
                self.position[l] += now.len();
                wanting[l] = !later.is_empty();
                outputs[l] = later;
            }
            if !wanting.contains(&true) {
                return;
            }
            self.next_block(b, &wanting);
        }
    }

    #[inline(always)]
    fn next_block<B: Backend>(&mut self, b: B, chosen: &[bool; N]) {
        permute(b, &mut self.state, self.rounds, chosen);
        for (position, chosen) in self.position.iter_mut().zip(chosen) {
            if *chosen {
                *position = 0;
            }
        }
    }
}

impl<const N: usize> Drop for Sponge<N> {
    #[inline(always)]
    fn drop(&mut self) {
        self.state.wipe();
    }
}

/// Permutes the chosen messages, as many at a time as the backend has lanes; leaves the others.
#[inline(always)]
pub fn permute<B: Backend, const N: usize>(
    b: B,
    state: &mut State<N>,
    rounds: usize,
    chosen: &[bool; N],
) {
    let mut first = 0;
    while first < N {
        let left = N - first;
        let (four, eight) = (B::Four::COUNT.min(left), B::Eight::COUNT.min(left));
        let wide = left > B::Four::COUNT && chosen[first + four..].contains(&true);
        let width = if wide { eight } else { four };
        let group = &chosen[first..first + width];
        match group.iter().filter(|chosen| **chosen).count() {
            0 => {}
            1 => {
                let message = first + group.iter().position(|chosen| *chosen).unwrap_or(0);
                permute_one(b, state, rounds, message);
            }
            count if count < B::Four::COUNT || (wide && count < B::Eight::COUNT) => {
                permute_some(b, state, rounds, first, group);
            }
            _ if wide => permute_eight(b, state, rounds, first),
            _ => permute_four(b, state, rounds, first),
        }
        first += width;
    }
}

/// Permutes the chosen messages of a group by way of a copy that has a lane for every message.
#[inline(never)]
fn permute_some<B: Backend, const N: usize>(
    b: B,
    state: &mut State<N>,
    rounds: usize,
    first: usize,
    group: &[bool],
) {
    let mut copy = State::<8>::ZERO;
    for (words, all) in copy.0.iter_mut().zip(&state.0) {
        words[..group.len()].copy_from_slice(&all[first..first + group.len()]);
    }
    if group.len() > B::Four::COUNT {
        permute_eight(b, &mut copy, rounds, 0);
    } else {
        permute_four(b, &mut copy, rounds, 0);
    }
    for (words, all) in copy.0.iter().zip(&mut state.0) {
        for ((word, new), chosen) in all[first..].iter_mut().zip(words).zip(group) {
            if *chosen {
                *word = *new;
            }
        }
    }
    copy.wipe();
}

macro_rules! permute_lanes {
    ($(#[$doc:meta])* $name:ident, $lanes:ident, $vectorize:ident) => {
        $(#[$doc])*
        #[inline(never)]
        pub fn $name<B: Backend, const N: usize>(
            b: B,
            state: &mut State<N>,
            rounds: usize,
            first: usize,
        ) {
            b.$vectorize(
                #[inline(always)]
                || {
                    if B::$lanes::COUNT > 1 {
                        align_frame();
                    }
                    // Indexed: closures of iterators would be compiled without these instructions.
                    let mut lanes = [B::$lanes::splat(b, 0); LANES];
                    for i in 0..LANES {
                        lanes[i] = B::$lanes::load(b, &state.0[i][first..]);
                    }
                    b.$name(&mut lanes, rounds);
                    for i in 0..LANES {
                        lanes[i].store(&mut state.0[i][first..]);
                    }
                },
            );
        }
    };
}
permute_lanes! {
    /// Permutes the message at `first`.
    permute_one, One, vectorize_one
}
permute_lanes! {
    /// Permutes as many messages from `first` on as `Four` has lanes.
    permute_four, Four, vectorize
}
permute_lanes! {
    /// Permutes as many messages from `first` on as `Eight` has lanes.
    permute_eight, Eight, vectorize
}

/// Splits `len` bytes from `position` on into bytes before the next word boundary, whole words, and
/// bytes after them.
#[inline(always)]
const fn split_words(position: usize, len: usize) -> (usize, usize, usize) {
    let to_boundary = position.wrapping_neg() & 7;
    let head = if to_boundary < len { to_boundary } else { len };
    (head, (len - head) >> 3, (len - head) & 7)
}

#[inline(always)]
fn partial_word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
