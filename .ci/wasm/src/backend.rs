//! Generate, parse, encap and decap over linear memory. Random bytes come from the host; sets are called by their
//! rank K; keys are their bytes.
#![no_std]

use core::convert::Infallible;
use core::slice;

use kyber::{
    Ciphertext, CiphertextBytes, DecapsulationKey, EncapsulationKey, Error, ExpandedBytes, MlKem,
    ParameterSet, SharedSecret,
};
use kyber::{Bytes as _, SHARED_SECRET_BYTES};
use rand_core::{TryCryptoRng, TryRng};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Writes `length` random bytes.
    safe fn random(to: *mut u8, length: usize);
}

struct Host;

impl TryRng for Host {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        random(bytes.as_mut_ptr(), bytes.len());
        Ok(())
    }
}

impl TryCryptoRng for Host {}

const OK: u32 = 0;
const NO_SUCH_SET: u32 = 9;

fn status(result: Result<(), Error>) -> u32 {
    match result {
        Ok(()) => OK,
        Err(Error::Length { .. }) => 1,
        Err(Error::NotReduced) => 2,
        Err(Error::KeyHash) => 3,
        Err(_) => 4,
    }
}

macro_rules! of_set {
    ($k:ident, $function:ident $arguments:tt) => {
        match $k {
            2 => $function::<2> $arguments,
            3 => $function::<3> $arguments,
            4 => $function::<4> $arguments,
            _ => NO_SUCH_SET,
        }
    };
}

/// # Safety
///
/// `from` is the address of `length` bytes that nothing else uses meanwhile.
unsafe fn bytes<'a>(from: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(from, length) }
}

/// # Safety
///
/// `to` is the address of `what.len()` bytes that nothing else uses meanwhile.
unsafe fn write(to: *mut u8, what: &[u8]) {
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts_mut(to, what.len()) }.copy_from_slice(what);
}

/// A key pair: writes the encapsulation key and the decapsulation key in expanded form.
///
/// # Safety
///
/// Both addresses have room for a key of the set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn generate(k: u32, ek: *mut u8, dk: *mut u8) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { of_set!(k, generate_of(ek, dk)) }
}

unsafe fn generate_of<const K: usize>(ek: *mut u8, dk: *mut u8) -> u32
where
    MlKem<K>: ParameterSet,
{
    let key = DecapsulationKey::<K>::generate(&mut Host);
    let mut expanded = ExpandedBytes::<K>::ZERO;
    key.to_expanded_bytes(&mut expanded);
    // SAFETY: as the caller of `generate` promises.
    unsafe {
        write(ek, key.encapsulation_key().as_bytes().as_ref());
        write(dk, expanded.as_ref());
    }
    OK
}

/// Checks an encapsulation key.
///
/// # Safety
///
/// `ek` is the address of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn parse(k: u32, ek: *const u8, length: usize) -> u32 {
    // SAFETY: as the caller promises.
    let ek = unsafe { bytes(ek, length) };
    of_set!(k, parse_of(ek))
}

fn parse_of<const K: usize>(ek: &[u8]) -> u32
where
    MlKem<K>: ParameterSet,
{
    status(EncapsulationKey::<K>::parse(ek).map(drop))
}

/// Checks an encapsulation key, then writes a ciphertext and a secret of 32 bytes.
///
/// # Safety
///
/// `ek` is the address of `length` bytes; `ciphertext` and `secret` have room for theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn encap(
    k: u32,
    ek: *const u8,
    length: usize,
    ciphertext: *mut u8,
    secret: *mut u8,
) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { of_set!(k, encap_of(bytes(ek, length), ciphertext, secret)) }
}

unsafe fn encap_of<const K: usize>(ek: &[u8], ciphertext: *mut u8, secret: *mut u8) -> u32
where
    MlKem<K>: ParameterSet,
{
    status(EncapsulationKey::<K>::parse(ek).map(|key| {
        let (c, shared) = key.encap(&mut Host);
        let c: &CiphertextBytes<K> = c.as_bytes();
        // SAFETY: as the caller of `encap` promises.
        unsafe {
            write(ciphertext, c.as_ref());
            write(secret, shared_bytes(&shared));
        }
    }))
}

fn shared_bytes(secret: &SharedSecret) -> &[u8; SHARED_SECRET_BYTES] {
    secret.as_bytes()
}

/// Checks a decapsulation key, then writes the secret of a ciphertext.
///
/// # Safety
///
/// `dk` and `ciphertext` are addresses of that many bytes; `secret` has room for 32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decap(
    k: u32,
    dk: *const u8,
    dk_length: usize,
    ciphertext: *const u8,
    length: usize,
    secret: *mut u8,
) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { of_set!(k, decap_of(bytes(dk, dk_length), bytes(ciphertext, length), secret)) }
}

unsafe fn decap_of<const K: usize>(dk: &[u8], ciphertext: &[u8], secret: *mut u8) -> u32
where
    MlKem<K>: ParameterSet,
{
    status(DecapsulationKey::<K>::parse(dk).and_then(|key| {
        let shared = key.decap(&Ciphertext::parse(ciphertext)?);
        // SAFETY: as the caller of `decap` promises.
        unsafe { write(secret, shared_bytes(&shared)) };
        Ok(())
    }))
}
