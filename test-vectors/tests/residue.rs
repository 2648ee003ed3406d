//! Nothing left behind: after each operation the stack below the caller and all freed memory hold no 16
//! consecutive bytes of d, z, m, K or s. Measures on the way how much stack an operation takes, and holds that
//! to limits in release builds (`cargo test --release -p test-vectors --test residue -- --nocapture` prints it).

#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    collections::HashSet,
    hint::black_box,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use kyber::{
    Bytes, Ciphertext, DecapsulationKey, EncapsulationKey, ExpandedBytes, MlKem, ParameterSet,
    Seed, SmallDecapsulationKey, SmallEncapsulationKey, hazmat::Level,
};
use rand_core::{TryCryptoRng, TryRng};

const WINDOW: usize = 16;
const PATTERN: u8 = 0xa5;
/// Stack that is painted, and looked at afterwards.
const REGION: usize = 224 << 10;
/// What paints and looks must not run where it looks.
const PAD: usize = 4 << 10;

/// All runs of [`WINDOW`] bytes of the secrets of one case.
#[derive(Default)]
struct Secrets(HashSet<[u8; WINDOW]>);

impl Secrets {
    fn add(&mut self, secret: &[u8]) {
        self.0.extend(windows(secret));
    }

    /// s from an expanded key: as encoded, and as integers in [0, q) and around 0.
    fn add_vector(&mut self, encoded: &[u8]) {
        self.add(encoded);
        let coefficients = encoded.as_chunks::<3>().0.iter().flat_map(|&[a, b, c]| {
            [i16::from(a) | i16::from(b & 15) << 8, i16::from(b >> 4) | i16::from(c) << 4]
        });
        let centred = coefficients.clone().map(|x| if x > 1664 { x - 3329 } else { x });
        self.add(&coefficients.flat_map(i16::to_ne_bytes).collect::<Vec<_>>());
        self.add(&centred.flat_map(i16::to_ne_bytes).collect::<Vec<_>>());
    }

    fn found_in(&self, bytes: &[u8]) -> usize {
        windows(bytes).filter(|window| self.0.contains(window)).count()
    }
}

fn windows(bytes: &[u8]) -> impl Iterator<Item = [u8; WINDOW]> {
    bytes.windows(WINDOW).filter_map(|window| window.first_chunk().copied())
}

/// Looks at every block that is freed while [`ARMED`].
struct Watching;
static ARMED: AtomicBool = AtomicBool::new(false);
static FREED: AtomicUsize = AtomicUsize::new(0);
static LEFT_IN_FREED: AtomicUsize = AtomicUsize::new(0);
static WATCHED: OnceLock<Mutex<Secrets>> = OnceLock::new();

// SAFETY: passes everything on to the system's allocator; a block is read before it is freed.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's. Zeroed, so that bytes never written can be read.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if ARMED.swap(false, SeqCst) {
            // SAFETY: the block is still the caller's to free, and initialised since `alloc`.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            let secrets = WATCHED.get().expect("set before").lock().expect("not poisoned");
            LEFT_IN_FREED.fetch_add(secrets.found_in(bytes), SeqCst);
            FREED.fetch_add(1, SeqCst);
            ARMED.store(true, SeqCst);
        }
        // SAFETY: the caller's.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// The stack below the caller, before and after an operation.
struct Stack {
    top: *mut u8,
    copy: Vec<u8>,
}

/// Where the last operation's stack began.
static ENTRY: AtomicUsize = AtomicUsize::new(0);

impl Stack {
    /// Paints the stack below the caller.
    #[inline(never)]
    fn paint() -> Self {
        let copy = vec![0; REGION];
        let mut here = 0u8;
        let top = black_box(&raw mut here).wrapping_sub(1 << 10);
        // SAFETY: the thread's stack is larger than this, and nothing lives below this function's frame but that of
        // the call itself, for which the distance leaves room.
        unsafe { top.sub(REGION).write_bytes(PATTERN, REGION) };
        Self { top, copy }
    }

    /// Copies what is there now. Called from the frame that called [`Stack::paint`].
    #[inline(never)]
    fn look(&mut self) {
        let copy = self.copy.as_mut_ptr();
        // SAFETY: painted before, so mapped; the copy has as many bytes.
        unsafe { copy.copy_from_nonoverlapping(self.top.sub(REGION), REGION) };
    }

    /// Bytes that the operation took, wiping included.
    fn check(&self, secrets: &Secrets, what: &str) -> usize {
        let bottom = self.top.addr() - REGION;
        let depth = |is: fn(&u8) -> bool| {
            let lowest = self.copy.iter().position(is).expect("something was called");
            assert!(lowest > 0, "{what} takes more stack than is looked at");
            ENTRY.load(SeqCst).saturating_sub(bottom + lowest)
        };
        let taken = depth(|byte| *byte != PATTERN);
        // Wiping writes zeros, so that what else is left lies above.
        let left = depth(|byte| *byte != PATTERN && *byte != 0);
        println!("{what}: {taken} bytes of stack");
        assert_eq!(
            secrets.found_in(&self.copy),
            0,
            "{what} leaves secrets on {left} bytes of stack"
        );
        taken
    }
}

struct Pad([u8; PAD]);

impl Drop for Pad {
    fn drop(&mut self) {
        black_box(&self.0);
    }
}

/// Calls with room that keeps the operation's frames away from those of this test. The result goes
/// straight to the caller's place for it.
#[inline(never)]
fn padded<T>(operation: impl FnOnce() -> T) -> T {
    let pad = Pad([0; PAD]);
    ENTRY.store(black_box(&raw const pad).addr(), SeqCst);
    operation()
}

/// A generator of fixed bytes, which panics after them if it is told to.
struct Fixed<'a> {
    bytes: &'a [u8],
    panics: bool,
}

impl TryRng for Fixed<'_> {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut out = [0; 4];
        self.try_fill_bytes(&mut out).map(|()| u32::from_le_bytes(out))
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut out = [0; 8];
        self.try_fill_bytes(&mut out).map(|()| u64::from_le_bytes(out))
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        out.copy_from_slice(&self.bytes[..out.len()]);
        assert!(!self.panics, "told to");
        Ok(())
    }
}

impl TryCryptoRng for Fixed<'_> {}

/// Bytes of stack for what returns a private key, for what works on small keys, and for everything else.
struct Limits {
    making_keys: usize,
    /// [`SmallEncapsulationKey::try_encap`] may take 2 KiB more, for a copy of the ciphertext.
    small: usize,
    others: usize,
}

/// What a case works on, all of it on the heap.
struct Case<const K: usize>
where
    MlKem<K>: ParameterSet,
{
    level: Level,
    seed_bytes: Box<[u8; 64]>,
    m: Box<[u8; 32]>,
    expanded: Vec<u8>,
    key: Box<DecapsulationKey<K>>,
    good: Box<Ciphertext<K>>,
    bad: Box<Ciphertext<K>>,
    secrets: Secrets,
}

impl<const K: usize> Case<K>
where
    MlKem<K>: ParameterSet,
{
    fn new(level: Level) -> Self {
        let (mut seed_bytes, mut m) = (Box::new([0; 64]), Box::new([0; 32]));
        keccak::Shake256::digest(b"seed of the residue test", &mut *seed_bytes);
        keccak::Shake256::digest(b"message of the residue test", &mut *m);
        let key = DecapsulationKey::<K>::from_seed_on(level, &Seed::from(&*seed_bytes));
        let mut expanded = <ExpandedBytes<K> as Bytes>::ZERO;
        key.to_expanded_bytes(&mut expanded);
        let (good, secret) = key.encapsulation_key().encap_deterministic(&m);
        let mut bad = good.as_ref().to_vec();
        bad[7] ^= 1;
        let bad = Ciphertext::parse(&bad).expect("of the right length");

        let mut secrets = Secrets::default();
        secrets.add(&seed_bytes[..32]);
        secrets.add(&seed_bytes[32..]);
        secrets.add(&*m);
        secrets.add(secret.as_bytes());
        secrets.add(key.decap(&bad).as_bytes());
        secrets.add_vector(&expanded.as_ref()[..384 * K]);
        let expanded = expanded.as_ref().to_vec();
        let (key, good, bad) = (Box::new(key), Box::new(good), Box::new(bad));
        Self { level, seed_bytes, m, expanded, key, good, bad, secrets }
    }

    fn check(&self, stack: &Stack, what: &str, limit: usize) {
        let what = format!("{} {} {what}", 256 * K, self.level);
        let taken = stack.check(&self.secrets, &what);
        assert!(cfg!(debug_assertions) || taken <= limit, "{what}: {taken} bytes of stack");
    }
}

/// Runs an operation of a case and looks at the stack; the result stays where the caller has it.
macro_rules! run {
    ($case:ident, $limit:expr, $what:literal, $operation:expr) => {{
        let mut stack = Stack::paint();
        let result = padded(|| $operation);
        stack.look();
        $case.check(&stack, $what, $limit);
        black_box(&result);
    }};
}

fn seeds<const K: usize>(case: &Case<K>, limits: &Limits)
where
    MlKem<K>: ParameterSet,
{
    let seed = Box::new(Seed::from(&*case.seed_bytes));
    run!(case, limits.others, "seed from bytes", Seed::from(&*case.seed_bytes));
    run!(case, limits.others, "seed parsed", Seed::parse(&case.seed_bytes[..]));
    run!(case, limits.others, "seed cloned", (*seed).clone());
    run!(
        case,
        limits.making_keys,
        "generate from seed",
        DecapsulationKey::<K>::from_seed_on(case.level, &seed)
    );
}

/// What fills a place that the caller has.
fn places<const K: usize>(case: &Case<K>, limits: &Limits)
where
    MlKem<K>: ParameterSet,
{
    let seed = Box::new(Seed::from(&*case.seed_bytes));
    let mut place = Box::new(None);
    run!(case, limits.others, "generate in place", {
        DecapsulationKey::<K>::from_seed_in_on(case.level, &mut place, &seed);
    });
    assert!((*place).as_ref() == Some(&*case.key));
    run!(case, limits.others, "parse in place", {
        DecapsulationKey::<K>::parse_in_on(case.level, &mut place, &case.expanded).map(drop)
    });
    assert!((*place).as_ref() == Some(&*case.key));
    run!(case, limits.others, "parse over", {
        DecapsulationKey::<K>::parse_in_on(case.level, &mut place, &case.expanded).map(drop)
    });
}

fn generators<const K: usize>(case: &Case<K>, limits: &Limits)
where
    MlKem<K>: ParameterSet,
{
    let mut rng = Fixed { bytes: &case.seed_bytes[..], panics: false };
    run!(case, limits.making_keys, "generate", DecapsulationKey::<K>::generate(&mut rng));
    run!(case, limits.making_keys, "try_generate", DecapsulationKey::<K>::try_generate(&mut rng));
    let mut rng = Fixed { bytes: &case.m[..], panics: false };
    let ek = case.key.encapsulation_key();
    run!(case, limits.others, "encap", ek.encap(&mut rng));
    run!(case, limits.others, "try_encap", ek.try_encap(&mut rng));
    let seed = Box::new(Seed::from(&*case.seed_bytes));
    let ek = Box::new(SmallDecapsulationKey::<K>::from_seed(&seed).encapsulation_key());
    run!(case, limits.small, "small: encap", ek.encap(&mut rng));
    run!(case, limits.small + (2 << 10), "small: try_encap", ek.try_encap(&mut rng));
    let mut rng = Fixed { bytes: &case.seed_bytes[..], panics: false };
    run!(case, limits.small, "small: generate", SmallDecapsulationKey::<K>::generate(&mut rng));
    run!(
        case,
        limits.small,
        "small: try_generate",
        SmallDecapsulationKey::<K>::try_generate(&mut rng)
    );
}

fn keys<const K: usize>(case: &Case<K>, limits: &Limits)
where
    MlKem<K>: ParameterSet,
{
    let (key, other) = (&case.key, &case.key);
    let mut expanded = Box::new(<ExpandedBytes<K> as Bytes>::ZERO);
    run!(case, limits.others, "encode", key.to_expanded_bytes(&mut expanded));
    run!(
        case,
        limits.making_keys,
        "parse",
        DecapsulationKey::<K>::parse_on(case.level, &case.expanded)
    );
    run!(case, limits.making_keys, "key cloned", (**key).clone());
    let encoded = key.encapsulation_key().as_bytes().as_ref();
    run!(case, limits.others, "parse public", EncapsulationKey::<K>::parse_on(case.level, encoded));
    run!(case, limits.others, "encap", key.encapsulation_key().encap_deterministic(&case.m));
    run!(case, limits.others, "decap", key.decap(&case.good));
    run!(case, limits.others, "decap, wrong", key.decap(&case.bad));
    run!(case, limits.others, "compare", **key == **other);
}

fn small_keys<const K: usize>(case: &Case<K>, limits: &Limits)
where
    MlKem<K>: ParameterSet,
{
    let seed = Box::new(Seed::from(&*case.seed_bytes));
    let key = Box::new(SmallDecapsulationKey::<K>::from_seed_on(case.level, &seed));
    let ek = Box::new(key.encapsulation_key());
    let encoded = ek.as_bytes().as_ref();
    run!(
        case,
        limits.small,
        "small: from seed",
        SmallDecapsulationKey::<K>::from_seed_on(case.level, &seed)
    );
    run!(case, limits.small, "small: public key", key.encapsulation_key());
    run!(
        case,
        limits.small,
        "small: parse public",
        SmallEncapsulationKey::<K>::parse_on(case.level, encoded)
    );
    run!(case, limits.small, "small: encap", ek.encap_deterministic(&case.m));
    run!(case, limits.small, "small: decap", key.decap(&case.good));
    run!(case, limits.small, "small: decap, wrong", key.decap(&case.bad));
    run!(case, limits.small, "small: key cloned", (*key).clone());
}

fn every_operation<const K: usize>(limits: &Limits)
where
    MlKem<K>: ParameterSet,
{
    for level in Level::available() {
        let case = Case::<K>::new(level);
        seeds(&case, limits);
        keys(&case, limits);
        places(&case, limits);
        small_keys(&case, limits);
    }
    generators(&Case::<K>::new(Level::detect()), limits);
}

/// On a thread of its own, whose stack is large enough for what is looked at.
fn on_a_thread(stack: usize, run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(stack).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

// One test, since operations must not run beside the watched ones.
#[test]
fn nothing_is_left_on_the_stack() {
    let _alone = alone();
    on_a_thread(1 << 20, || {
        every_operation::<2>(&Limits {
            making_keys: 20 << 10,
            small: (7 << 10) + 64,
            others: 15 << 10,
        });
        every_operation::<3>(&Limits { making_keys: 26 << 10, small: 8 << 10, others: 16 << 10 });
        every_operation::<4>(&Limits {
            making_keys: 33 << 10,
            small: (9 << 10) + 64,
            others: 20 << 10,
        });
    });
}

fn after_a_panic<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let case = Case::<K>::new(Level::detect());
    let ek = case.key.encapsulation_key();
    for generates in [true, false] {
        let bytes = if generates { &case.seed_bytes[..] } else { &case.m[..] };
        let mut rng = Fixed { bytes, panics: true };
        let mut stack = Stack::paint();
        let panicked = padded(|| {
            catch_unwind(AssertUnwindSafe(|| {
                if generates {
                    drop(DecapsulationKey::<K>::try_generate(&mut rng));
                } else {
                    drop(ek.try_encap(&mut rng));
                }
            }))
        });
        stack.look();
        assert!(panicked.is_err());
        stack.check(&case.secrets, &format!("{} a generator's panic", 256 * K));
    }
}

#[test]
fn nothing_is_left_after_a_panic_of_the_generator() {
    let _alone = alone();
    on_a_thread(1 << 20, || {
        after_a_panic::<2>();
        after_a_panic::<3>();
        after_a_panic::<4>();
    });
}

/// Secrets in blocks freed by `run`, and how many blocks.
fn freed(secrets: Secrets, run: impl FnOnce()) -> (usize, usize) {
    let watched = WATCHED.get_or_init(Mutex::default);
    *watched.lock().expect("not poisoned") = secrets;
    LEFT_IN_FREED.store(0, SeqCst);
    FREED.store(0, SeqCst);
    ARMED.store(true, SeqCst);
    run();
    ARMED.store(false, SeqCst);
    (LEFT_IN_FREED.load(SeqCst), FREED.load(SeqCst))
}

fn boxes<const K: usize>()
where
    MlKem<K>: ParameterSet,
{
    let case = Case::<K>::new(Level::detect());
    let seed = Box::new(Seed::from(&*case.seed_bytes));
    let key = case.key.clone();
    let (_, secret) = case.key.encapsulation_key().encap_deterministic(&case.m);
    let secret = Box::new(secret);
    let plain = case.m.clone();
    let (left, blocks) = freed(case.secrets, move || drop((seed, key, secret)));
    assert_eq!((left, blocks), (0, 3), "ML-KEM-{} on the heap", 256 * K);

    let mut secrets = Secrets::default();
    secrets.add(&*plain);
    let (left, _) = freed(secrets, move || drop(plain));
    assert!(left > 0, "what is not wiped is found");
}

#[test]
fn boxed_secrets_are_wiped_before_they_are_freed() {
    let _alone = alone();
    boxes::<2>();
    boxes::<3>();
    boxes::<4>();
}

/// The check itself: a function that wipes nothing is found out.
#[test]
fn residue_is_found() {
    #[inline(never)]
    fn leaves(secret: &[u8; 32]) -> u8 {
        // Many, since unoptimised calls that follow overwrite some.
        let mut copies = [*secret; 16];
        black_box(&mut copies)[0][0]
    }
    let _alone = alone();
    on_a_thread(1 << 20, || {
        let secret = Box::new([7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5, 2].repeat(2));
        let secret: &[u8; 32] = secret.first_chunk().expect("32 bytes");
        let mut secrets = Secrets::default();
        secrets.add(secret);
        let mut stack = Stack::paint();
        black_box(padded(|| leaves(secret)));
        stack.look();
        assert!(secrets.found_in(&stack.copy) > 0);
    });
}

/// The smallest thread that all operations are promised to run on.
#[test]
fn operations_run_on_256_kib() {
    fn exchange<const K: usize>(level: Level)
    where
        MlKem<K>: ParameterSet,
    {
        let key = Box::new(DecapsulationKey::<K>::from_seed_on(level, &Seed::from(&[K as u8; 64])));
        let (ciphertext, secret) = key.encapsulation_key().encap_deterministic(&[9; 32]);
        assert_eq!(key.decap(&ciphertext), secret);
        let mut expanded = <ExpandedBytes<K> as Bytes>::ZERO;
        key.to_expanded_bytes(&mut expanded);
        assert!(DecapsulationKey::<K>::parse_on(level, expanded.as_ref()).as_ref() == Ok(&*key));
    }
    on_a_thread(256 << 10, || {
        for level in Level::available() {
            exchange::<2>(level);
            exchange::<3>(level);
            exchange::<4>(level);
        }
    });
}

/// Memory is watched for one test at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
