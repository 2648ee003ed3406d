//! Marks for the checks of `.ci/constant-time`, which follow every bit that comes from marked bytes and
//! report each branch and each address that one decides. Empty unless `--cfg constant_time="msan"`
//! (MemorySanitizer) or `--cfg constant_time="valgrind"` (memcheck) is given: to both tools a secret is
//! memory that was never initialised.

#![allow(unsafe_code)]

/// The bytes behind this reference are secret, and so is all that is computed from them.
///
/// Stands also where MemorySanitizer loses them: it does not follow carries, so that of a small number it
/// marks the low bits only.
macro_rules! secret {
    ($value:expr) => {
        $crate::ct::marks::mark(core::ptr::from_ref($value).cast(), size_of_val($value), true)
    };
}

/// The bytes behind this reference are public, although they come from secret ones.
macro_rules! declassify {
    ($value:expr) => {
        $crate::ct::marks::mark(core::ptr::from_ref($value).cast(), size_of_val($value), false)
    };
}

pub(crate) use {declassify, secret};

/// This value is public, although it comes from secret ones.
#[inline(always)]
pub(crate) fn declassified<T>(mut value: T) -> T {
    mark((&raw mut value).cast(), size_of::<T>(), false);
    value
}

// Macros, a raw pointer and below the black box: a compiler may keep what it has read through a reference.
#[cfg(not(any(constant_time = "msan", constant_time = "valgrind")))]
#[inline(always)]
pub(crate) fn mark(_: *const u8, _: usize, _: bool) {}

#[cfg(constant_time = "msan")]
pub(crate) fn mark(start: *const u8, bytes: usize, secret: bool) {
    unsafe extern "C" {
        fn __msan_poison(start: *const u8, bytes: usize);
        fn __msan_unpoison(start: *const u8, bytes: usize);
    }
    let start = core::hint::black_box(start.cast_mut());
    // SAFETY: both write to the sanitizer's shadow of these bytes, not to the bytes.
    unsafe { if secret { __msan_poison(start, bytes) } else { __msan_unpoison(start, bytes) } }
}

#[cfg(constant_time = "valgrind")]
pub(crate) fn mark(start: *const u8, bytes: usize, secret: bool) {
    // MAKE_MEM_UNDEFINED and MAKE_MEM_DEFINED of valgrind's memcheck.h.
    let start = core::hint::black_box(start.cast_mut()).expose_provenance();
    request([if secret { 0x4d43_0001 } else { 0x4d43_0002 }, start, bytes, 0]);
}

/// A client request to memcheck; 0 outside valgrind.
#[cfg(constant_time = "valgrind")]
pub(crate) fn request([code, first, second, third]: [usize; 4]) -> usize {
    let arguments = [code, first, second, third, 0, 0];
    let mut result = 0usize;
    // SAFETY: the instructions change no register but RDX, and that only under valgrind (valgrind.h): the
    // rotations add up to 128 bits, the exchange is of a register with itself.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") &raw const arguments,
            inout("rdx") result,
        );
    }
    result
}
