//! All hashing of ML-KEM, spread over the lanes of the permutation.
//!
//! A permutation of four or eight states takes hardly longer than one, so hash chains that are serial
//! by nature (H of a key, J, G) ride along with what is parallel: the entries of the matrix and the noise.
//! Work is a queue in the order in which it is needed, and each call of the permutation takes a block of
//! every chain that has input, of every running job, and of as many new jobs as there are lanes. One lane
//! (portable) is the special case in which all of it runs one after the other.
//!
//! Lanes against calls for parsing an ML-KEM-768 key (h: a block of H, i j: a block of entry i, j):
//!
//! | call   | 1  | 2  | 3  | 4  | 5  | 6  | 7  | 8  | 9  |
//! |--------|----|----|----|----|----|----|----|----|----|
//! | lane 0 | h  | h  | h  | h  | h  | h  | h  | h  | h  |
//! | lane 1 | 00 | 00 | 00 | 10 | 10 | 10 | 20 | 20 | 20 |
//! | lane 2 | 01 | 01 | 01 | 11 | 11 | 11 | 21 | 21 | 21 |
//! | lane 3 | 02 | 02 | 02 | 12 | 12 | 12 | 22 | 22 | 22 |
//!
//! Secret: seeds of noise, what chains absorb. Which lane does what depends on lengths and on the public
//! matrix only.

use keccak::{
    backend::{COPIED_BYTES, Lanes as _},
    permutation::ROUNDS,
    sponge::{State, permute_eight, permute_four, permute_one},
};

use crate::{
    backend::Backend,
    ct,
    hash::{G_RATE, PRF_RATE, SHA3_SUFFIX, SHAKE_SUFFIX, XOF_RATE},
    k_pke::Noise,
    params::{ETA2, N, SYM_BYTES, eta1},
    poly::NttPoly,
    sample::{self, ENTRY_BYTES},
};

const LANES: usize = 8;
/// Blocks of the XOF that nearly always hold an entry.
const ENTRY_BLOCKS: usize = 3;
/// Noise of K = 4 and its matrix.
const MAX_JOBS: usize = 8 + 16;

/// A piece of work that keeps a lane until it is done.
#[derive(Clone, Copy, PartialEq)]
enum Job {
    /// Entry of the matrix by row and column.
    Entry(u8, u8),
    /// Noise polynomial by its counter.
    Noise(u8),
    /// Hash by number.
    Hash(u8),
}

/// What a lane carries.
#[derive(Clone, Copy)]
struct Lane {
    job: Job,
    /// Blocks to go.
    left: u8,
    /// Where the next block goes among the lane's bytes.
    place: u16,
    /// 0 for hashes, of which only the last block counts.
    rate: u16,
    /// Coefficients of an entry that the blocks so far have given, once they have been looked at.
    found: Option<u16>,
}

/// What lanes have squeezed. [`keccak::backend::Backend::copy_four`] writes past the block it is asked for.
#[repr(align(64))]
struct Squeezed([[u8; SQUEEZED_BYTES]; LANES]);
const SQUEEZED_BYTES: usize = 2 * XOF_RATE + COPIED_BYTES;

/// A hash of up to 64 bytes over a message whose bytes may become known only as work proceeds.
#[derive(Clone, Copy)]
pub(crate) struct Hash {
    rate: usize,
    suffix: u8,
    /// Bytes of the message, and how many of them are absorbed.
    length: usize,
    absorbed: usize,
    /// Blocks to go, the one with the padding included.
    left: usize,
    started: bool,
}

impl Hash {
    /// SHA3-512.
    pub(crate) const fn g(length: usize) -> Self {
        Self::new(G_RATE, SHA3_SUFFIX, length)
    }

    /// SHA3-256.
    pub(crate) const fn h(length: usize) -> Self {
        Self::new(PRF_RATE, SHA3_SUFFIX, length)
    }

    /// SHAKE256, 32 bytes.
    pub(crate) const fn j(length: usize) -> Self {
        Self::new(PRF_RATE, SHAKE_SUFFIX, length)
    }

    #[allow(clippy::integer_division_remainder_used)] // of public lengths
    const fn new(rate: usize, suffix: u8, length: usize) -> Self {
        Self { rate, suffix, length, absorbed: 0, left: length / rate + 1, started: false }
    }

    /// Whether the next block's bytes are among the first `known` of the message.
    fn ready(&self, known: usize) -> bool {
        self.left > 0 && known >= self.length.min(self.absorbed + self.rate)
    }
}

/// Where results go and where messages come from, in one call of [`Schedule::run`].
pub(crate) struct Work<'a, const K: usize> {
    /// Seed and place of the matrix.
    pub(crate) matrix: Option<(&'a [u8; SYM_BYTES], &'a mut [[NttPoly; K]; K])>,
    /// Seed and place of the noise.
    pub(crate) noise: Option<(&'a [u8; SYM_BYTES], &'a mut Noise<K>)>,
    /// For each hash, what is known of its message, in two pieces.
    pub(crate) messages: [[&'a [u8]; 2]; 2],
}

/// What [`Schedule::run`] works towards.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// The first rows of the matrix, and the noise up to this counter.
    Known { rows: usize, noise: usize },
    /// The hash of this number.
    Hashed(usize),
    /// Everything.
    Done,
}

/// The state of all lanes.
pub(crate) struct Schedule<const K: usize> {
    state: State<LANES>,
    lanes: [Lane; LANES],
    /// Lanes with a job, one bit each.
    busy: u8,
    squeezed: Squeezed,
    queue: [Job; MAX_JOBS],
    queued: usize,
    next: usize,
    /// Blocks of all jobs, queued or in a lane, that are not hashes.
    blocks_left: usize,
    hashes: [Option<Hash>; 2],
    digests: [[u8; 64]; 2],
    /// Entries missing in each row; noise done.
    missing: [u8; K],
    noise_done: usize,
    /// How many of the first noise polynomials have width eta1.
    wide_noise: usize,
    /// Calls of up to four lanes, and of more.
    #[cfg(test)]
    calls: [usize; 2],
}

/// The numbers of the bits that are set.
fn bits(mut mask: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < LANES).then_some(bit)
    })
}

impl<const K: usize> Schedule<K> {
    pub(crate) const fn new(hashes: [Option<Hash>; 2]) -> Self {
        Self {
            state: State::ZERO,
            lanes: [Lane { job: Job::Noise(0), left: 0, place: 0, rate: 0, found: None }; LANES],
            busy: 0,
            squeezed: Squeezed([[0; SQUEEZED_BYTES]; LANES]),
            queue: [Job::Noise(0); MAX_JOBS],
            queued: 0,
            next: 0,
            blocks_left: 0,
            hashes,
            digests: [[0; 64]; 2],
            missing: [0; K],
            noise_done: 0,
            wide_noise: 0,
            #[cfg(test)]
            calls: [0; 2],
        }
    }

    fn push(&mut self, job: Job) {
        self.queue[self.queued] = job;
        self.queued += 1;
        self.blocks_left += self.blocks(job);
    }

    /// Queues the whole matrix.
    pub(crate) fn push_matrix(&mut self) {
        for row in 0..K {
            self.push_row(row);
        }
    }

    fn push_row(&mut self, row: usize) {
        self.missing[row] = K as u8;
        for column in 0..K {
            self.push(Job::Entry(row as u8, column as u8));
        }
    }

    /// Queues the matrix and the noise of a key pair: s, then for each row its e and its entries.
    pub(crate) fn push_key_pair(&mut self) {
        self.wide_noise = 2 * K;
        for counter in 0..K {
            self.push(Job::Noise(counter as u8));
        }
        for row in 0..K {
            self.push(Job::Noise((K + row) as u8));
            self.push_row(row);
        }
    }

    /// Queues the noise of an encryption: y, e1, e2.
    pub(crate) fn push_encryption(&mut self) {
        self.wide_noise = K;
        for counter in 0..=2 * K {
            self.push(Job::Noise(counter as u8));
        }
    }

    /// The result of a hash that is done.
    pub(crate) fn digest(&self, hash: usize) -> &[u8; 64] {
        &self.digests[hash]
    }

    /// Calls the permutation until the goal is reached.
    #[inline(never)]
    pub(crate) fn run<B: Backend>(&mut self, b: B, work: &mut Work<'_, K>, until: Until) {
        while !self.reached(until) {
            let width = self.width::<B>();
            self.assign::<B>(work, width);
            if self.busy.count_ones() == 1 && self.run_alone(b, work) {
                continue;
            }
            let waiting = self.absorb::<B>(work);
            self.count_call(width);
            self.permute(b, waiting, width);
            let moving = self.busy & !waiting;
            self.squeeze(b, moving);
            for l in bits(moving) {
                let lane = &mut self.lanes[l];
                lane.left -= 1;
                lane.place += lane.rate;
                self.blocks_left -= usize::from(lane.rate > 0);
                if lane.left == 0 {
                    self.finish(b, work, l);
                }
            }
        }
    }

    /// A hash that nothing runs beside takes all its input, block after block, without the rest of what a
    /// call does. Returns whether there was one with input.
    fn run_alone<B: Backend>(&mut self, b: B, work: &mut Work<'_, K>) -> bool {
        let l = self.busy.trailing_zeros() as usize;
        let Job::Hash(number) = self.lanes[l].job else { return false };
        let mut moved = false;
        while self.lanes[l].left > 0 && self.absorb_block::<B>(work, l, number) {
            permute_one(b, &mut self.state, ROUNDS, l);
            self.count_call(1);
            self.lanes[l].left -= 1;
            moved = true;
        }
        if self.lanes[l].left == 0 {
            self.state.copy_bytes::<B>(l, 0, &mut self.squeezed.0[l][..64]);
            self.finish(b, work, l);
        }
        moved
    }

    /// Moves the first `width` lanes but those that wait; idle ones may change.
    fn permute<B: Backend>(&mut self, b: B, waiting: u8, width: usize) {
        let state = &mut self.state;
        let moving = self.busy & !waiting;
        if B::Four::COUNT == 1 || moving.count_ones() == 1 {
            bits(moving).for_each(|l| permute_one(b, state, ROUNDS, l));
            return;
        }
        let mut kept = [[0; 25]; 2];
        for (kept, l) in kept.iter_mut().zip(bits(waiting)) {
            *kept = core::array::from_fn(|i| state.0[i][l]);
        }
        if width == B::Four::COUNT {
            permute_four(b, state, ROUNDS, 0);
        } else {
            permute_eight(b, state, ROUNDS, 0);
        }
        for (kept, l) in kept.iter().zip(bits(waiting)) {
            for (words, kept) in state.0.iter_mut().zip(kept) {
                words[l] = *kept;
            }
        }
    }

    #[cfg_attr(not(test), allow(clippy::unused_self))]
    fn count_call(&mut self, _width: usize) {
        #[cfg(test)]
        {
            self.calls[usize::from(_width > 4)] += 1;
        }
    }

    fn reached(&self, until: Until) -> bool {
        match until {
            Until::Known { rows, noise } => {
                self.noise_done >= noise && self.missing[..rows].iter().all(|missing| *missing == 0)
            }
            Until::Hashed(hash) => self.hashes[hash].is_none_or(|hash| hash.left == 0),
            Until::Done => {
                self.next == self.queued
                    && self.busy == 0
                    && self.hashes.iter().flatten().all(|hash| hash.left == 0)
            }
        }
    }

    /// Blocks of a job from the queue.
    fn blocks(&self, job: Job) -> usize {
        match job {
            Job::Entry(..) => ENTRY_BLOCKS,
            Job::Noise(counter) if 64 * self.eta(counter) > PRF_RATE => 2,
            _ => 1,
        }
    }

    fn eta(&self, counter: u8) -> usize {
        if usize::from(counter) < self.wide_noise { eta1(K) } else { ETA2 }
    }

    /// How many lanes the next call uses: eight, which take longer than four, only if four could not do
    /// all that is left within the longest serial piece of it.
    fn width<B: Backend>(&self) -> usize {
        match B::Eight::COUNT {
            // One after the other: a lane more costs what its blocks cost.
            1 => return LANES,
            few @ ..8 => return few,
            _ => {}
        }
        let (mut total, mut longest) = (self.blocks_left, 0);
        if self.next < self.queued {
            // Long jobs are at one of the ends of every queue.
            let (first, last) = (self.queue[self.next], self.queue[self.queued - 1]);
            longest = self.blocks(first).max(self.blocks(last));
        } else {
            for lane in bits(self.busy).map(|l| self.lanes[l]) {
                longest = longest.max(lane.left.into());
            }
        }
        for hash in self.hashes.iter().flatten() {
            total += hash.left;
            longest = longest.max(hash.left);
        }
        if self.busy >> 4 != 0 || total > 4 * longest.max(1) { 8 } else { 4 }
    }

    /// Gives free lanes to hashes that have input, then to jobs from the queue. Jobs of one block take
    /// lanes from the top, so that longer ones do not keep the upper half busy.
    fn assign<B: Backend>(&mut self, work: &Work<'_, K>, width: usize) {
        let mut free = !self.busy & ((1u16 << width) - 1) as u8;
        for number in 0..self.hashes.len() {
            let Some(hash) = &mut self.hashes[number] else { continue };
            let [first, second] = work.messages[number];
            if free != 0 && !hash.started && hash.ready(first.len() + second.len()) {
                hash.started = true;
                let l = free.trailing_zeros() as usize;
                self.state.set_words::<B, 0>(l, &[]);
                let left = hash.left as u8;
                self.occupy(l, Job::Hash(number as u8), left, 0);
                free &= free - 1;
            }
        }
        while self.next < self.queued && free != 0 {
            let job = self.queue[self.next];
            let l = match self.blocks(job) {
                1 => 7 - free.leading_zeros() as usize,
                _ => free.trailing_zeros() as usize,
            };
            self.start::<B>(work, l, job);
            self.next += 1;
            free &= !(1 << l);
        }
    }

    fn occupy(&mut self, l: usize, job: Job, left: u8, rate: u16) {
        self.lanes[l] = Lane { job, left, place: 0, rate, found: None };
        self.busy |= 1 << l;
    }

    /// The one block that an entry or a noise polynomial absorbs.
    fn start<B: Backend>(&mut self, work: &Work<'_, K>, l: usize, job: Job) {
        let (seed, tail, rate) = match job {
            Job::Entry(row, column) => (
                work.matrix.as_ref().map(|(rho, _)| *rho),
                u64::from_le_bytes([column, row, SHAKE_SUFFIX, 0, 0, 0, 0, 0]),
                XOF_RATE,
            ),
            Job::Noise(counter) | Job::Hash(counter) => (
                work.noise.as_ref().map(|(seed, _)| *seed),
                u64::from_le_bytes([counter, SHAKE_SUFFIX, 0, 0, 0, 0, 0, 0]),
                PRF_RATE,
            ),
        };
        let mut words = [tail; 5];
        for (word, bytes) in words.iter_mut().zip(seed.unwrap_or(&[0; SYM_BYTES]).as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        self.state.set_words::<B, 5>(l, &words);
        self.state.xor_bytes::<B>(l, rate - 8, &(1u64 << 63).to_le_bytes());
        self.occupy(l, job, self.blocks(job) as u8, rate as u16);
    }

    /// Absorbs a block into every hash that has input; returns the lanes of those that have none and
    /// stand still.
    fn absorb<B: Backend>(&mut self, work: &Work<'_, K>) -> u8 {
        let mut waiting = 0;
        for l in bits(self.busy) {
            if let Job::Hash(number) = self.lanes[l].job
                && !self.absorb_block::<B>(work, l, number)
            {
                waiting |= 1 << l;
            }
        }
        waiting
    }

    /// Absorbs the next block of a hash, if its bytes are there.
    fn absorb_block<B: Backend>(&mut self, work: &Work<'_, K>, l: usize, number: u8) -> bool {
        let [first, second] = work.messages[usize::from(number)];
        let Some(hash) = &mut self.hashes[usize::from(number)] else { return false };
        if !hash.ready(first.len() + second.len()) {
            return false;
        }
        let start = hash.absorbed;
        let end = hash.length.min(start + hash.rate);
        let split = first.len().clamp(start, end);
        let state = &mut self.state;
        state.xor_bytes::<B>(l, 0, first.get(start..split).unwrap_or(&[]));
        let rest = split - first.len().min(split)..end - first.len().min(end);
        state.xor_bytes::<B>(l, split - start, second.get(rest).unwrap_or(&[]));
        if hash.left == 1 {
            state.xor_bytes::<B>(l, end - start, &[hash.suffix]);
            state.xor_bytes::<B>(l, hash.rate - 1, &[0x80]);
        }
        hash.absorbed = end;
        hash.left -= 1;
        true
    }

    /// Copies out what the lanes of a call have to give: all but hashes that go on.
    fn squeeze<B: Backend>(&mut self, b: B, mut moving: u8) {
        for l in bits(moving) {
            if self.lanes[l].rate == 0 && self.lanes[l].left > 1 {
                moving &= !(1 << l);
            }
        }
        if B::Four::COUNT <= 2 || moving.count_ones() <= 1 {
            for l in bits(moving) {
                let place = usize::from(self.lanes[l].place);
                let block = &mut self.squeezed.0[l][place..place + XOF_RATE];
                self.state.copy_bytes::<B>(l, 0, block);
            }
            return;
        }
        let groups = self.squeezed.0.as_chunks_mut::<4>().0.iter_mut();
        for (g, (bytes, lanes)) in groups.zip(self.lanes.as_chunks::<4>().0).enumerate() {
            if moving >> (4 * g) & 15 != 0 {
                let [p, q, r, s] = bytes;
                let out = [
                    block_at(p, lanes[0]),
                    block_at(q, lanes[1]),
                    block_at(r, lanes[2]),
                    block_at(s, lanes[3]),
                ];
                b.copy_four(&self.state, 4 * g, out);
            }
        }
    }

    /// Takes the result from a lane that has all the blocks that its job should need, and frees it.
    fn finish<B: Backend>(&mut self, b: B, work: &mut Work<'_, K>, l: usize) {
        let Lane { job, found, .. } = self.lanes[l];
        let squeezed = &self.squeezed.0[l];
        match job {
            Job::Hash(number) => {
                self.digests[usize::from(number)].copy_from_slice(&squeezed[..64]);
            }
            Job::Noise(counter) => {
                let eta = self.eta(counter);
                if let Some((_, noise)) = &mut work.noise {
                    let out = noise.get_mut(counter.into());
                    b.sample_poly_cbd(eta, &squeezed[..64 * eta], out);
                    ct::secret!(out);
                }
                self.noise_done += 1;
            }
            Job::Entry(row, column) => {
                let Some((_, matrix)) = &mut work.matrix else { return };
                let out = &mut matrix[usize::from(row)][usize::from(column)];
                let found = match found {
                    None => squeezed.first_chunk().map_or(0, |bytes| b.sample_ntt(bytes, out)),
                    Some(found) => {
                        let block = &squeezed[2 * XOF_RATE..ENTRY_BYTES];
                        sample::accept_vartime(block, &mut out.0, found.into())
                    }
                };
                if found < N {
                    // Unlucky: a block more, and the stream goes on.
                    let lane = &mut self.lanes[l];
                    (lane.left, lane.place, lane.found) =
                        (1, 2 * XOF_RATE as u16, Some(found as u16));
                    self.blocks_left += 1;
                    return;
                }
                self.missing[usize::from(row)] -= 1;
            }
        }
        self.busy &= !(1 << l);
        // Idle lanes are copied too.
        self.lanes[l].place = 0;
    }
}

/// Where the next block of a lane goes, with the room that
/// [`keccak::backend::Backend::copy_four`] takes.
fn block_at(bytes: &mut [u8; SQUEEZED_BYTES], lane: Lane) -> &mut [u8; COPIED_BYTES] {
    bytes[usize::from(lane.place)..].first_chunk_mut().expect("places end early enough")
}

#[cfg(all(
    test,
    any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
        all(target_arch = "wasm32", target_feature = "simd128")
    )
))]
mod tests {
    use super::*;
    /// Calls that parsing takes, the key's bytes being zeros.
    fn parse<const K: usize, B: Backend>(b: B) -> [usize; 2] {
        let encoded = [0; 1568];
        let encoded = &encoded[..crate::params::encapsulation_key_bytes(K)];
        let mut matrix = [const { [const { NttPoly::ZERO }; K] }; K];
        let mut schedule = Schedule::<K>::new([Some(Hash::h(encoded.len())), None]);
        schedule.push_matrix();
        let rho = [0; SYM_BYTES];
        let matrix = Some((&rho, &mut matrix));
        let mut work = Work { matrix, noise: None, messages: [[encoded, &[]], [&[], &[]]] };
        schedule.run(b, &mut work, Until::Done);
        schedule.calls
    }

    /// Calls that the noise of an encryption takes, beside J and G if they are asked for.
    fn encrypt<const K: usize, B: Backend>(b: B, hashes: bool) -> [usize; 2] {
        let message = [0; 1600];
        let lengths = (crate::params::ciphertext_bytes(K) + SYM_BYTES, 2 * SYM_BYTES);
        let (j, g) = (Hash::j(lengths.0), Hash::g(lengths.1));
        let mut schedule = Schedule::<K>::new(if hashes { [Some(j), Some(g)] } else { [None; 2] });
        let messages = [[&message[..lengths.0], &[]], [&message[..lengths.1], &[]]];
        let mut work = Work { matrix: None, noise: None, messages };
        schedule.run(b, &mut work, Until::Hashed(1));
        schedule.push_encryption();
        let (seed, mut noise) = ([0; SYM_BYTES], Noise::ZERO);
        work.noise = Some((&seed, &mut noise));
        schedule.run(b, &mut work, Until::Done);
        schedule.calls
    }

    /// The calls that the page on speed shows; rho = 0 has no entry that needs a fourth block.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn calls_are_those_of_the_page() {
        extern crate std;
        if let Some(b) = keccak::backend::Avx2::get() {
            assert_eq!(
                [parse::<2, _>(b), parse::<3, _>(b), parse::<4, _>(b)],
                [[6, 0], [9, 0], [15, 0]]
            );
            assert_eq!([encrypt::<3, _>(b, false), encrypt::<3, _>(b, true)], [[2, 0], [9, 0]]);
        } else {
            std::println!("skipped: no AVX2 here");
        }
        if let Some(b) = keccak::backend::Avx512::get() {
            assert_eq!(
                [parse::<2, _>(b), parse::<3, _>(b), parse::<4, _>(b)],
                [[6, 0], [9, 0], [9, 3]]
            );
            assert_eq!([encrypt::<3, _>(b, false), encrypt::<3, _>(b, true)], [[0, 1], [9, 0]]);
        } else {
            std::println!("skipped: no AVX-512 here");
        }
    }

    /// Two pairs in a call, so that the calls are those of four lanes.
    #[cfg(target_arch = "aarch64")]
    #[test]
    fn calls_on_neon() {
        let b = keccak::backend::Neon::get().expect("NEON is part of the target");
        assert_eq!(
            [parse::<2, _>(b), parse::<3, _>(b), parse::<4, _>(b)],
            [[6, 0], [9, 0], [15, 0]]
        );
        assert_eq!([encrypt::<3, _>(b, false), encrypt::<3, _>(b, true)], [[2, 0], [9, 0]]);
    }

    /// One pair in a call: every hash rides along.
    #[cfg(target_arch = "wasm32")]
    #[test]
    fn calls_on_simd128() {
        let b = keccak::backend::Simd128::get().expect("vectors are part of the target");
        assert_eq!(
            [parse::<2, _>(b), parse::<3, _>(b), parse::<4, _>(b)],
            [[9, 0], [18, 0], [30, 0]]
        );
        assert_eq!([encrypt::<3, _>(b, false), encrypt::<3, _>(b, true)], [[4, 0], [9, 0]]);
    }
}
