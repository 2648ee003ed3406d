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
    backend::Lanes as _,
    permutation::ROUNDS,
    sponge::{State, permute},
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
    /// Chain by number.
    Hash(u8),
}

/// A lane at work.
#[derive(Clone, Copy)]
struct Lane {
    job: Job,
    /// Blocks done.
    blocks: usize,
    /// Coefficients of an entry that have been found.
    found: usize,
}

impl Lane {
    const fn new(job: Job) -> Self {
        Self { job, blocks: 0, found: 0 }
    }
}

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
    lanes: [Option<Lane>; LANES],
    /// What the lanes have squeezed.
    squeezed: [[u8; ENTRY_BYTES]; LANES],
    queue: [Job; MAX_JOBS],
    queued: usize,
    next: usize,
    queued_blocks: usize,
    hashes: [Option<Hash>; 2],
    digests: [[u8; 64]; 2],
    /// Entries missing in each row; noise done.
    missing: [usize; K],
    noise_done: usize,
    /// How many of the first noise polynomials have width eta1.
    wide_noise: usize,
}

impl<const K: usize> Schedule<K> {
    pub(crate) const fn new(hashes: [Option<Hash>; 2]) -> Self {
        Self {
            state: State::ZERO,
            lanes: [None; LANES],
            squeezed: [[0; ENTRY_BYTES]; LANES],
            queue: [Job::Noise(0); MAX_JOBS],
            queued: 0,
            next: 0,
            queued_blocks: 0,
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
        self.queued_blocks += self.blocks(job);
    }

    /// Queues the whole matrix.
    pub(crate) fn push_matrix(&mut self) {
        for row in 0..K {
            self.push_row(row);
        }
    }

    fn push_row(&mut self, row: usize) {
        self.missing[row] = K;
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
            let busy = self.absorb::<B>(work, width);
            let mut chosen = busy;
            // A call for several lanes is faster if it need not spare the idle ones.
            if B::Four::COUNT > 1 && busy.iter().filter(|busy| **busy).count() > 1 {
                for l in 0..width {
                    chosen[l] |= self.lanes[l].is_none();
                }
            }
            permute(b, &mut self.state, ROUNDS, &chosen);
            for l in 0..LANES {
                if busy[l] {
                    self.squeeze(b, work, l);
                }
            }
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
                    && self.lanes.iter().all(Option::is_none)
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
            4 => return 4,
            _ => {}
        }
        let (mut total, mut longest) = (self.queued_blocks, 0);
        if self.next < self.queued {
            // Long jobs are at one of the ends of every queue.
            let (first, last) = (self.queue[self.next], self.queue[self.queued - 1]);
            longest = self.blocks(first).max(self.blocks(last));
        }
        for hash in self.hashes.iter().flatten() {
            total += hash.left;
            longest = longest.max(hash.left);
        }
        for lane in self.lanes.iter().flatten() {
            if !matches!(lane.job, Job::Hash(_)) {
                // An unlucky entry needs a block more than it should.
                let left = self.blocks(lane.job).saturating_sub(lane.blocks).max(1);
                total += left;
                longest = longest.max(left);
            }
        }
        let high = self.lanes[4..].iter().any(Option::is_some);
        if high || total > 4 * longest { 8 } else { 4 }
    }

    /// Gives free lanes to hashes that have input, then to jobs from the queue. Jobs of one block take
    /// lanes from the top, so that longer ones do not keep the upper half busy.
    fn assign<B: Backend>(&mut self, work: &Work<'_, K>, width: usize) {
        for number in 0..self.hashes.len() {
            let known = work.messages[number].iter().map(|piece| piece.len()).sum();
            let free = self.lanes[..width].iter().position(Option::is_none);
            if let (Some(hash), Some(l)) = (&mut self.hashes[number], free) {
                if !hash.started && hash.ready(known) {
                    hash.started = true;
                    self.state.clear(l);
                    self.lanes[l] = Some(Lane::new(Job::Hash(number as u8)));
                }
            }
        }
        while self.next < self.queued {
            let job = self.queue[self.next];
            let lanes = &self.lanes[..width];
            let free = if self.blocks(job) == 1 {
                lanes.iter().rposition(Option::is_none)
            } else {
                lanes.iter().position(Option::is_none)
            };
            let Some(l) = free else { break };
            self.start::<B>(work, l, job);
            self.next += 1;
            self.queued_blocks -= self.blocks(job);
        }
    }

    /// The first block of an entry or of a noise polynomial.
    fn start<B: Backend>(&mut self, work: &Work<'_, K>, l: usize, job: Job) {
        let state = &mut self.state;
        state.clear(l);
        let (seed, tail, rate): (_, &[u8], _) = match job {
            Job::Entry(row, column) => {
                (work.matrix.as_ref().map(|(rho, _)| *rho), &[column, row, SHAKE_SUFFIX], XOF_RATE)
            }
            Job::Noise(counter) | Job::Hash(counter) => {
                (work.noise.as_ref().map(|(seed, _)| *seed), &[counter, SHAKE_SUFFIX], PRF_RATE)
            }
        };
        state.xor_bytes::<B>(l, 0, seed.map_or(&[], |seed| seed));
        state.xor_bytes::<B>(l, SYM_BYTES, tail);
        state.xor_bytes::<B>(l, rate - 1, &[0x80]);
        self.lanes[l] = Some(Lane::new(job));
    }

    /// Absorbs a block into every hash that has input; returns the lanes that take part in the next call:
    /// a hash that waits for input keeps its lane but stands still.
    fn absorb<B: Backend>(&mut self, work: &Work<'_, K>, width: usize) -> [bool; LANES] {
        let mut busy = self.lanes.map(|lane| lane.is_some());
        for l in 0..LANES {
            let Some(Lane { job: Job::Hash(number), .. }) = self.lanes[l] else { continue };
            let number = usize::from(number);
            let [first, second] = work.messages[number];
            let Some(hash) = &mut self.hashes[number] else { continue };
            busy[l] = l < width && hash.ready(first.len() + second.len());
            if !busy[l] {
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
        busy
    }

    /// Takes the results of a call out of a lane and ends its job if it is done.
    fn squeeze<B: Backend>(&mut self, b: B, work: &mut Work<'_, K>, l: usize) {
        let Some(lane) = &mut self.lanes[l] else { return };
        lane.blocks += 1;
        let Lane { job, blocks, .. } = *lane;
        let squeezed = &mut self.squeezed[l];
        let done = match job {
            Job::Hash(number) => {
                let number = usize::from(number);
                let done = self.hashes[number].is_none_or(|hash| hash.left == 0);
                if done {
                    self.state.copy_bytes::<B>(l, 0, &mut self.digests[number]);
                }
                done
            }
            Job::Noise(counter) => {
                let eta = if usize::from(counter) < self.wide_noise { eta1(K) } else { ETA2 };
                let bytes = &mut squeezed[..64 * eta];
                let from = PRF_RATE * (blocks - 1);
                let to = bytes.len().min(PRF_RATE * blocks);
                self.state.copy_bytes::<B>(l, 0, &mut bytes[from..to]);
                let done = to == bytes.len();
                if let (true, Some((_, noise))) = (done, &mut work.noise) {
                    b.sample_poly_cbd(eta, bytes, &mut noise[usize::from(counter)]);
                    self.noise_done += 1;
                }
                done
            }
            Job::Entry(row, column) => {
                let Some((_, matrix)) = &mut work.matrix else { return };
                let out = &mut matrix[usize::from(row)][usize::from(column)];
                let place = (blocks - 1).min(ENTRY_BLOCKS - 1) * XOF_RATE;
                self.state.copy_bytes::<B>(l, 0, &mut squeezed[place..place + XOF_RATE]);
                lane.found = match blocks {
                    ..ENTRY_BLOCKS => 0,
                    ENTRY_BLOCKS => b.sample_ntt(squeezed, out),
                    _ => sample::accept_vartime(&squeezed[place..], &mut out.0, lane.found),
                };
                let done = lane.found == N;
                self.missing[usize::from(row)] -= usize::from(done);
                done
            }
        };
        if done {
            self.lanes[l] = None;
        }
    }
}

impl<const K: usize> Drop for Schedule<K> {
    fn drop(&mut self) {
        self.state.wipe();
        self.squeezed = [[0; ENTRY_BYTES]; LANES];
        self.digests = [[0; 64]; 2];
        zeroize::optimization_barrier(self);
    }
}
