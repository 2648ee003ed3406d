//! Every buffer of a caller flush against memory that cannot be touched, at both of its ends, and at each
//! offset from 0 to 63: one byte read or written too many ends the process. Inputs lie in memory that
//! cannot be written; around outputs stand bytes that must stay.

#![cfg(unix)]
#![allow(unsafe_code)]

use std::ptr::NonNull;

use keccak::backend::{Backend as _, COPIED_BYTES};
use keccak::dispatch;
use keccak::hazmat::{Level, TurboShake, keccak_p1600_on};
use keccak::sponge::{Sponge, State};
use keccak::{CShake, Kmac, MultiShake, Sha3, Shake};
use kyber::hazmat::Coding;
use kyber::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ExpandedBytes, MlKem, ParameterSet, Seed,
};
use test_vectors::reference::keccak::{cshake, kmac, rate, sha3, shake, turbo_shake};
use test_vectors::reference::mlkem::{
    self, byte_decode, byte_encode, decaps_internal, encaps_internal, keygen_internal,
};

/// What stands around outputs.
const CANARY: u8 = 0xa5;

/// Where in its pages a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Ends where the memory ends.
    End,
    /// Begins as many bytes after the beginning of the memory.
    Offset(usize),
}

/// Both ends, and every offset within a cache line.
fn places() -> impl Iterator<Item = Place> {
    (0..64).map(Place::Offset).chain([Place::End])
}

/// Both ends alone.
const ENDS: [Place; 2] = [Place::Offset(0), Place::End];

/// Pages that can be used, between two that cannot.
struct Guarded {
    map: NonNull<u8>,
    page: usize,
    len: usize,
}

impl Guarded {
    /// With room for `len` bytes at any place.
    fn new(len: usize) -> Self {
        // SAFETY: no memory of ours is passed.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).expect("the size of a page");
        let len = (len + 64).next_multiple_of(page);
        let (none, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a new mapping, where the system wants it.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), len + 2 * page, none, flags, -1, 0) };
        assert!(map != libc::MAP_FAILED, "no memory");
        let map = NonNull::new(map.cast()).expect("the first page is never mapped");
        let mut guarded = Self { map, page, len };
        guarded.protect(libc::PROT_READ | libc::PROT_WRITE);
        guarded
    }

    fn protect(&mut self, protection: libc::c_int) {
        // SAFETY: whole pages of the mapping, with nothing borrowed from them.
        let result = unsafe { libc::mprotect(self.start().as_ptr().cast(), self.len, protection) };
        assert_eq!(result, 0, "mprotect");
    }

    fn start(&self) -> NonNull<u8> {
        // SAFETY: the mapping has `page + len + page` bytes.
        unsafe { self.map.add(self.page) }
    }

    fn at(&self, len: usize, place: Place) -> NonNull<u8> {
        let from = match place {
            Place::End => self.len - len,
            Place::Offset(from) => from,
        };
        assert!(from + len <= self.len, "more than this memory was made for");
        // SAFETY: within the usable pages, as just checked.
        unsafe { self.start().add(from) }
    }

    /// A copy that can only be read.
    fn input(&mut self, bytes: &[u8], place: Place) -> &[u8] {
        self.output(bytes.len(), place).copy_from_slice(bytes);
        self.protect(libc::PROT_READ);
        // SAFETY: initialised and readable; writable again only through `&mut self`.
        unsafe { NonNull::slice_from_raw_parts(self.at(bytes.len(), place), bytes.len()).as_ref() }
    }

    /// A buffer of canaries among canaries.
    fn output(&mut self, len: usize, place: Place) -> &mut [u8] {
        self.protect(libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the usable pages, writable.
        unsafe { NonNull::slice_from_raw_parts(self.start(), self.len).as_mut() }.fill(CANARY);
        // SAFETY: initialised, writable, borrowed from `self`.
        unsafe { NonNull::slice_from_raw_parts(self.at(len, place), len).as_mut() }
    }

    /// Whether all but the buffer are canaries still.
    fn untouched(&self, len: usize, place: Place) -> bool {
        // SAFETY: the usable pages, readable, with no mutable borrow.
        let all = unsafe { NonNull::slice_from_raw_parts(self.start(), self.len).as_ref() };
        let from = self.at(len, place).as_ptr().addr() - self.start().as_ptr().addr();
        let outside = all[..from].iter().chain(&all[from + len..]);
        outside.fold(0, |sum, byte| sum | (byte ^ CANARY)) == 0
    }

    /// A value moved there, for as long as the call takes.
    fn hold<T, R>(&mut self, value: T, place: Place, call: impl FnOnce(&mut T) -> R) -> R {
        /// Drops the value even if the call panics.
        struct Held<T>(NonNull<T>);
        impl<T> Drop for Held<T> {
            fn drop(&mut self) {
                // SAFETY: written by `hold`, and used no more.
                unsafe { self.0.drop_in_place() };
            }
        }
        self.protect(libc::PROT_READ | libc::PROT_WRITE);
        let at = self.at(size_of::<T>(), place).cast::<T>();
        assert!(at.is_aligned(), "a place that this type cannot have");
        // SAFETY: aligned, writable, and of the type's size.
        unsafe { at.write(value) };
        let mut held = Held(at);
        // SAFETY: just written; the one reference to it.
        call(unsafe { held.0.as_mut() })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, from which nothing is borrowed any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.len + 2 * self.page) };
    }
}

/// What the reference says of one key, and memory for each buffer.
struct Answers {
    seed: [u8; 64],
    m: [u8; 32],
    ek: Vec<u8>,
    dk: Vec<u8>,
    c: Vec<u8>,
    secret: Vec<u8>,
    changed: Vec<u8>,
    rejected: Vec<u8>,
}

fn answers(k: usize) -> Answers {
    let (set, seed, m) = (mlkem::ParameterSet::of(k), [0x71; 64], [0x3e; 32]);
    let (ek, dk) = keygen_internal(&set, &seed[..32], &seed[32..]);
    let (secret, c) = encaps_internal(&set, &ek, &m);
    let mut changed = c.clone();
    *changed.last_mut().expect("not empty") ^= 1;
    let rejected = decaps_internal(&set, &dk, &changed);
    Answers { seed, m, ek, dk, c, secret, changed, rejected }
}

fn check_encapsulation<const K: usize>(level: Level)
where
    MlKem<K>: ParameterSet,
{
    let answers = answers(K);
    let (mut memory, mut other) = (Guarded::new(4096), Guarded::new(4096));
    for place in places() {
        let ek = memory.input(&answers.ek, place);
        let m = other.input(&answers.m, place).try_into().expect("32 bytes");
        let (c, secret) =
            EncapsulationKey::<K>::parse_on(level, ek).expect("a key").encap_deterministic(m);
        assert_eq!((c.as_ref(), &secret.as_bytes()[..]), (&answers.c[..], &answers.secret[..]));
    }
}

fn check_decapsulation<const K: usize>(level: Level)
where
    MlKem<K>: ParameterSet,
{
    let answers = answers(K);
    let (mut memory, mut other) = (Guarded::new(4096), Guarded::new(4096));
    for place in places() {
        let dk = memory.input(&answers.dk, place);
        let key = DecapsulationKey::<K>::parse_on(level, dk).expect("a key");
        for (c, secret) in [(&answers.c, &answers.secret), (&answers.changed, &answers.rejected)] {
            let c = Ciphertext::parse(other.input(c, place)).expect("a ciphertext");
            let ours = memory.hold(c, place, |c| key.decap(c));
            assert_eq!(&ours.as_bytes()[..], secret, "{place:?}");
        }
        let out = memory.output(answers.dk.len(), place);
        // SAFETY: an array of bytes of this length, which the slice is.
        let out = unsafe { &mut *out.as_mut_ptr().cast::<ExpandedBytes<K>>() };
        key.to_expanded_bytes(out);
        assert_eq!(out.as_ref(), answers.dk, "{place:?}");
        assert!(memory.untouched(answers.dk.len(), place), "{place:?}");
    }
}

fn check_seeds<const K: usize>(level: Level)
where
    MlKem<K>: ParameterSet,
{
    let answers = answers(K);
    let mut memory = Guarded::new(64);
    for place in places() {
        let bytes = memory.input(&answers.seed, place);
        let seed = Seed::from(bytes.first_chunk().expect("64 bytes"));
        assert_eq!(Ok(&seed), Seed::parse(bytes).as_ref());
        let key = memory.hold(seed, place, |seed| DecapsulationKey::<K>::from_seed_on(level, seed));
        assert_eq!(key.encapsulation_key().as_bytes().as_ref(), answers.ek, "{place:?}");
    }
}

/// The keys themselves: their fields are what the kernels read.
fn check_keys_in_place<const K: usize>(level: Level)
where
    MlKem<K>: ParameterSet,
{
    let answers = answers(K);
    let mut memory = Guarded::new(1 << 16);
    for place in ENDS {
        let key = DecapsulationKey::<K>::from_seed_on(level, &Seed::from(&answers.seed));
        let ek = key.encapsulation_key().clone();
        let c = Ciphertext::parse(&answers.c).expect("a ciphertext");
        let secret = memory.hold(key, place, |key| key.decap(&c));
        assert_eq!(&secret.as_bytes()[..], answers.secret, "{place:?}");
        let (c, secret) = memory.hold(ek, place, |ek| ek.encap_deterministic(&answers.m));
        assert_eq!((c.as_ref(), &secret.as_bytes()[..]), (&answers.c[..], &answers.secret[..]));
    }
}

#[test]
fn ml_kem() {
    for level in Level::available() {
        macro_rules! check {
            ($($k:literal)*) => {$(
                check_encapsulation::<$k>(level);
                check_decapsulation::<$k>(level);
                check_seeds::<$k>(level);
                check_keys_in_place::<$k>(level);
            )*};
        }
        check!(2 3 4);
    }
}

/// The kernels by themselves: inside a key, what lies beside a polynomial can be read.
#[test]
fn coding() {
    let coefficients: [i16; 256] = std::array::from_fn(|i| (i * 13 + i / 7) as i16 % 3329);
    let whole: Vec<u32> = coefficients.iter().map(|c| u32::from(c.unsigned_abs())).collect();
    let mut memory = Guarded::new(1024);
    for coding in Coding::ALL {
        let bytes = shake(128, b"coding", coding.bytes());
        let portable = coding.decode_on(Level::portable(), &bytes);
        for (level, place) in Level::available().flat_map(|l| places().map(move |p| (l, p))) {
            let context = format!("{level}: {coding:?}, {place:?}");
            let ours = coding.decode_on(level, memory.input(&bytes, place));
            if coding == Coding::Whole {
                // Vector code leaves what is out of range as it is; the portable one may not.
                let encoded = byte_encode(12, &whole);
                let ours = coding.decode_on(level, memory.input(&encoded, place));
                assert_eq!(ours, coefficients, "{context}");
            } else {
                assert_eq!(ours, portable, "{context}");
            }
            let out = memory.output(bytes.len(), place);
            coding.encode_on(level, &coefficients, out);
            let expected = match coding {
                Coding::Compressed(d) => byte_encode(d, &compressed(d, &whole)),
                Coding::Whole => byte_encode(12, &whole),
                _ => vec![CANARY; bytes.len()],
            };
            assert_eq!(out, expected, "{context}");
            assert!(memory.untouched(bytes.len(), place), "{context}");
        }
    }
    assert_eq!(byte_decode(12, &byte_encode(12, &whole)), whole);
}

fn compressed(d: usize, f: &[u32]) -> Vec<u32> {
    f.iter().map(|x| ((2 * (x << d) + mlkem::Q) / (2 * mlkem::Q)) % (1 << d)).collect()
}

/// Lengths around words and blocks.
fn lengths(bits: usize) -> [usize; 11] {
    let rate = rate(bits);
    [0, 1, 7, 8, 9, 63, rate - 1, rate, rate + 1, 2 * rate - 7, 3 * rate + 13]
}

fn check_sha3<const N: usize>(level: Level) {
    let mut memory = Guarded::new(1024);
    for len in lengths(8 * N) {
        let message = shake(128, &[N as u8], len);
        let expected = sha3(8 * N, &message);
        for place in places() {
            let mut hash = Sha3::<N>::new_on(level);
            hash.update(memory.input(&message, place));
            assert_eq!(hash.finalize()[..], expected, "{level}: {len} bytes, {place:?}");
        }
    }
}

fn check_shake<const RATE: usize>(level: Level, bits: usize) {
    let (mut memory, mut other) = (Guarded::new(1024), Guarded::new(1024));
    let lengths = lengths(bits);
    for (len, d) in lengths.into_iter().zip(lengths.into_iter().rev()) {
        let message = shake(128, &[bits as u8], len);
        for place in places() {
            let message = memory.input(&message, place);
            macro_rules! check {
                ($hash:expr, $expected:expr) => {
                    // Alone, and after three bytes, which shift every word.
                    for skipped in [0, 3] {
                        let mut hash = $hash;
                        hash.update(&message[..skipped.min(len)]);
                        hash.update(&message[skipped.min(len)..]);
                        let mut reader = hash.finalize_xof();
                        reader.read(&mut [0; 3][..skipped]);
                        let out = other.output(d, place);
                        reader.read(out);
                        assert_eq!(out[..], $expected[skipped..][..d], "{level}: {place:?}");
                        assert!(other.untouched(d, place), "{level}: {place:?}");
                    }
                };
            }
            check!(Shake::<RATE>::new_on(level), shake(bits, message, d + 3));
            check!(TurboShake::<RATE>::new_on(level, 7), turbo_shake(bits, message, 7, d + 3));
            let prefix = CShake::<RATE>::new_on(level, message, message);
            check!(prefix.clone(), cshake(bits, message, d + 3, message, message));

            let mut mac = Kmac::<RATE>::new_on(level, message, message);
            mac.update(message);
            let out = other.output(d, place);
            mac.finalize(out);
            assert_eq!(out, kmac(bits, message, message, d, message), "{level}: {place:?}");
            assert!(other.untouched(d, place), "{level}: {place:?}");
        }
    }
}

fn check_lanes<const RATE: usize, const N: usize>(level: Level, bits: usize) {
    let mut memory: [Guarded; N] = std::array::from_fn(|_| Guarded::new(1024));
    let lengths = lengths(bits);
    let offsets = (0..64).map(|turn| (turn, Place::Offset(turn)));
    for (turn, place) in offsets.chain((0..lengths.len()).map(|turn| (turn, Place::End))) {
        let messages: [Vec<u8>; N] = std::array::from_fn(|l| {
            shake(128, &[l as u8], lengths[(turn + 2 * l) % lengths.len()])
        });
        let d: [usize; N] = std::array::from_fn(|l| lengths[(3 * turn + l) % lengths.len()]);
        let expected: [_; N] = std::array::from_fn(|l| shake(bits, &messages[l], d[l]));
        let mut hash = MultiShake::<RATE, N>::new_on(level);
        let mut inputs = memory.iter_mut().zip(&messages);
        hash.update(std::array::from_fn(|_| {
            let (memory, message) = inputs.next().expect("N of both");
            memory.input(message, place)
        }));
        let mut outputs = memory.iter_mut().zip(d);
        let mut outputs: [&mut [u8]; N] = std::array::from_fn(|_| {
            let (memory, d) = outputs.next().expect("N of both");
            memory.output(d, place)
        });
        hash.finalize_xof().read(outputs.each_mut().map(|out| &mut **out));
        assert!(outputs.iter().zip(&expected).all(|(out, e)| **out == e[..]), "{level}");
        for l in 0..N {
            assert!(memory[l].untouched(d[l], place), "{level}: lane {l} of {N}, {place:?}");
        }
    }
}

#[test]
fn hashes() {
    for level in Level::available() {
        check_sha3::<28>(level);
        check_sha3::<32>(level);
        check_sha3::<48>(level);
        check_sha3::<64>(level);
    }
}

#[test]
fn extendable_outputs() {
    for level in Level::available() {
        check_shake::<168>(level, 128);
        check_shake::<136>(level, 256);
    }
}

#[test]
fn lanes() {
    for level in Level::available() {
        macro_rules! check {
            ($($n:literal)*) => {$(
                check_lanes::<168, $n>(level, 128);
                check_lanes::<136, $n>(level, 256);
            )*};
        }
        check!(1 3 4 5 8 9);
    }
}

fn check_state<const N: usize>(level: Level) {
    let mut memory = Guarded::new(size_of::<Sponge<N>>());
    let messages: [[u8; 1]; N] = std::array::from_fn(|l| [l as u8]);
    let expected: [_; N] = std::array::from_fn(|l| shake(256, &messages[l], 500));
    for place in ENDS {
        let mut outputs = [[0; 500]; N];
        dispatch!(level, b => memory.hold(Sponge::<N>::new(136), place, |sponge| {
            sponge.absorb(b, messages.each_ref().map(|message| &message[..]));
            sponge.pad(b, 0x1f);
            sponge.squeeze(b, outputs.each_mut().map(|out| &mut out[..]));
        }));
        assert!(
            outputs.iter().zip(&expected).all(|(out, e)| out[..] == e[..]),
            "{level}: {place:?}"
        );
    }
}

/// The states themselves; and what the scheduler of ML-KEM takes from four of them at once.
#[test]
fn states() {
    let words: [u64; 200] =
        std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for level in Level::available() {
        check_state::<1>(level);
        check_state::<4>(level);
        check_state::<8>(level);
        check_state::<9>(level);
        let mut memory = Guarded::new(4096);
        for place in [Place::Offset(0), Place::Offset(8), Place::Offset(40), Place::End] {
            let state = memory.hold([0; 25], place, |state| {
                keccak_p1600_on(level, state, 24);
                *state
            });
            assert_eq!(state, test_vectors::digests::ZERO_STATE_PERMUTED, "{level}: {place:?}");
        }
        let mut outputs: [Guarded; 4] = std::array::from_fn(|_| Guarded::new(COPIED_BYTES));
        for (first, place) in [0, 4].into_iter().flat_map(|first| places().map(move |p| (first, p)))
        {
            let state =
                State::<8>(std::array::from_fn(|i| std::array::from_fn(|l| words[8 * i + l])));
            let mut out = outputs.each_mut().map(|memory| {
                memory.output(COPIED_BYTES, place).first_chunk_mut().expect("192 bytes")
            });
            let at = if place == Place::End { place } else { Place::Offset(0) };
            dispatch!(level, b => memory.hold(state, at, |state| {
                b.copy_four(state, first, out.each_mut().map(|out| &mut **out));
                for (l, out) in out.iter().enumerate() {
                    let mut expected = [0; COPIED_BYTES];
                    copy_bytes(b, state, first + l, &mut expected);
                    assert!(**out == expected, "{level}: message {}, {place:?}", first + l);
                }
            }));
            assert!(outputs.iter().all(|memory| memory.untouched(COPIED_BYTES, place)), "{level}");
        }
    }
}

fn copy_bytes<B: keccak::backend::Backend>(_: B, state: &State<8>, l: usize, out: &mut [u8]) {
    state.copy_bytes::<B>(l, 0, out);
}

/// The memory is what this file says it is: one byte before or after it cannot be touched, and an input
/// cannot be written. Each in a process of its own, which must die.
#[test]
fn guards_guard() {
    let dies = |touch: &dyn Fn(&mut Guarded)| {
        let mut memory = Guarded::new(100);
        // SAFETY: the child does nothing but touch memory and leave.
        match unsafe { libc::fork() } {
            0 => {
                touch(&mut memory);
                // SAFETY: leaves without running anything of the parent's.
                unsafe { libc::_exit(0) }
            }
            child => {
                let mut status = 0;
                // SAFETY: our own child, and a place for its status.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                libc::WIFSIGNALED(status)
            }
        }
    };
    let read = |at: NonNull<u8>| {
        // SAFETY: none; the process must not come back from here.
        std::hint::black_box(unsafe { at.read_volatile() });
    };
    assert!(!dies(&|memory| read(memory.at(100, Place::Offset(0)))));
    // SAFETY: within the mapping, not within what may be touched.
    assert!(dies(&|memory| read(unsafe { memory.at(100, Place::Offset(0)).sub(1) })));
    // SAFETY: as above.
    assert!(dies(&|memory| read(unsafe { memory.at(100, Place::End).add(100) })));
    assert!(dies(&|memory| {
        memory.input(&[1; 100], Place::End);
        // SAFETY: none; the process must not come back from here.
        unsafe { memory.at(100, Place::End).write_volatile(0) };
    }));
}
