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
    sponge::{State, permute, permute_eight, permute_four, permute_one},
};

use crate::{
    backend::Backend,
    params::{ETA2, N, SYM_BYTES, eta1},
    poly::{NttPoly, Poly},
    sample::{self, ENTRY_BYTES},
};

const LANES: usize = 8;
/// Bytes per block of SHAKE128, and of SHAKE256 and SHA3-256.
const XOF_RATE: usize = 168;
const PRF_RATE: usize = 136;
const SHA3_SUFFIX: u8 = 0x06;
const SHAKE_SUFFIX: u8 = 0x1f;
/// Blocks of the XOF that nearly always hold an entry.
const ENTRY_BLOCKS: u8 = 3;
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
    /// Blocks done.
    blocks: u8,
    /// Coefficients of an entry that have been found.
    found: u16,
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
        Self::new(72, SHA3_SUFFIX, length)
    }

    /// SHA3-256.
    pub(crate) const fn h(length: usize) -> Self {
        Self::new(PRF_RATE, SHA3_SUFFIX, length)
    }

    /// SHAKE256, 32 bytes.
    pub(crate) const fn j(length: usize) -> Self {
        Self::new(PRF_RATE, SHAKE_SUFFIX, length)
    }

    #[allow(clippy::integer_division_remainder_used)] // of lengths, at compile time
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
    pub(crate) noise: Option<(&'a [u8; SYM_BYTES], &'a mut [Poly])>,
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

/// The state of all lanes. Wiped on drop.
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
            lanes: [Lane { job: Job::Noise(0), blocks: 0, found: 0 }; LANES],
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
            let moving = self.busy & !self.absorb::<B>(work);
            self.permute(b, moving, width);
            self.squeeze(b, moving);
            for l in bits(moving) {
                self.finish(b, work, l);
            }
        }
    }

    /// Moves some of the first `width` lanes. A call for several is faster if it need not spare others:
    /// idle ones may change.
    fn permute<B: Backend>(&mut self, b: B, moving: u8, width: usize) {
        let state = &mut self.state;
        if B::Four::COUNT == 1 || moving.count_ones() == 1 {
            bits(moving).for_each(|l| permute_one(b, state, ROUNDS, l));
        } else if moving == self.busy && width == B::Four::COUNT {
            permute_four(b, state, ROUNDS, 0);
        } else if moving == self.busy {
            permute_eight(b, state, ROUNDS, 0);
        } else {
            let mut chosen = [false; LANES];
            bits(moving).for_each(|l| chosen[l] = true);
            permute(b, state, ROUNDS, &chosen);
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
            Job::Entry(..) => ENTRY_BLOCKS as usize,
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
            4 => return 4,
            _ => {}
        }
        let (mut total, mut longest) = (self.blocks_left, 0);
        if self.next < self.queued {
            // Long jobs are at one of the ends of every queue.
            let (first, last) = (self.queue[self.next], self.queue[self.queued - 1]);
            longest = self.blocks(first).max(self.blocks(last));
        } else {
            for lane in bits(self.busy).map(|l| self.lanes[l]) {
                longest = longest.max(self.blocks(lane.job).saturating_sub(lane.blocks.into()));
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
                self.occupy(l, Job::Hash(number as u8));
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

    fn occupy(&mut self, l: usize, job: Job) {
        self.lanes[l] = Lane { job, blocks: 0, found: 0 };
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
        self.occupy(l, job);
    }

    /// Absorbs a block into every hash that has input; returns the lanes of those that have none and
    /// stand still.
    fn absorb<B: Backend>(&mut self, work: &Work<'_, K>) -> u8 {
        let mut waiting = 0;
        for l in bits(self.busy) {
            let Job::Hash(number) = self.lanes[l].job else { continue };
            let number = usize::from(number);
            let [first, second] = work.messages[number];
            let Some(hash) = &mut self.hashes[number] else { continue };
            if !hash.ready(first.len() + second.len()) {
                waiting |= 1 << l;
                continue;
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
        }
        waiting
    }

    /// Where the next block of a lane goes among its bytes.
    fn place(lane: Lane) -> usize {
        match lane.job {
            Job::Entry(..) => usize::from(lane.blocks.min(ENTRY_BLOCKS - 1)) * XOF_RATE,
            Job::Noise(_) => usize::from(lane.blocks) * PRF_RATE,
            Job::Hash(_) => 0,
        }
    }

    /// Copies out what the lanes of a call have to give.
    fn squeeze<B: Backend>(&mut self, b: B, moving: u8) {
        let mut places = [0; LANES];
        for l in bits(moving) {
            places[l] = Self::place(self.lanes[l]);
        }
        if B::Four::COUNT == 1 || moving.count_ones() == 1 {
            for l in bits(moving) {
                let block = &mut self.squeezed.0[l][places[l]..][..XOF_RATE];
                self.state.copy_bytes::<B>(l, 0, block);
            }
            return;
        }
        let (groups, _) = self.squeezed.0.as_chunks_mut::<4>();
        for (g, [p, q, r, s]) in groups.iter_mut().enumerate() {
            if moving >> (4 * g) & 15 != 0 {
                let block = |l: usize, bytes| block_at(bytes, places[4 * g + l]);
                b.copy_four(
                    &self.state,
                    4 * g,
                    [block(0, p), block(1, q), block(2, r), block(3, s)],
                );
            }
        }
    }

    /// Takes the results of a call from a lane and ends its job if it is done.
    fn finish<B: Backend>(&mut self, b: B, work: &mut Work<'_, K>, l: usize) {
        let lane = &mut self.lanes[l];
        lane.blocks += 1;
        let Lane { job, blocks, found } = *lane;
        let squeezed = &self.squeezed.0[l];
        let done = match job {
            Job::Hash(number) => {
                let number = usize::from(number);
                let done = self.hashes[number].is_none_or(|hash| hash.left == 0);
                if done {
                    self.digests[number].copy_from_slice(&squeezed[..64]);
                }
                done
            }
            Job::Noise(counter) => {
                self.blocks_left -= 1;
                let eta = self.eta(counter);
                let done = 64 * eta <= PRF_RATE * usize::from(blocks);
                if let (true, Some((_, noise))) = (done, &mut work.noise) {
                    b.sample_poly_cbd(eta, &squeezed[..64 * eta], &mut noise[usize::from(counter)]);
                    self.noise_done += 1;
                }
                done
            }
            Job::Entry(row, column) => {
                self.blocks_left -= usize::from(blocks <= ENTRY_BLOCKS);
                let Some((_, matrix)) = &mut work.matrix else { return };
                let out = &mut matrix[usize::from(row)][usize::from(column)];
                let found = match blocks {
                    ..ENTRY_BLOCKS => 0,
                    ENTRY_BLOCKS => {
                        squeezed.first_chunk().map_or(0, |bytes| b.sample_ntt(bytes, out))
                    }
                    // An unlucky entry needs a block more; the stream goes on.
                    _ => {
                        let block = &squeezed[2 * XOF_RATE..ENTRY_BYTES];
                        sample::accept_vartime(block, &mut out.0, found.into())
                    }
                };
                self.lanes[l].found = found as u16;
                self.missing[usize::from(row)] -= u8::from(found == N);
                found == N
            }
        };
        if done {
            self.busy &= !(1 << l);
        }
    }
}

/// What [`keccak::backend::Backend::copy_four`] writes for a block at a place.
fn block_at(bytes: &mut [u8; SQUEEZED_BYTES], place: usize) -> &mut [u8; COPIED_BYTES] {
    bytes[place..].first_chunk_mut().expect("places end early enough")
}

impl<const K: usize> Drop for Schedule<K> {
    fn drop(&mut self) {
        self.state.wipe();
        self.squeezed.0 = [[0; SQUEEZED_BYTES]; LANES];
        self.digests = [[0; 64]; 2];
        zeroize::optimization_barrier(self);
    }
}
