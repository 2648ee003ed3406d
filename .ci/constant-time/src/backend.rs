//! The unsafe code of these tools: breakpoints, and what the sanitizer knows of a byte.

use core::arch::asm;

/// The breakpoint at which `trace` and `faults` begin.
#[inline(always)]
pub fn begin() {
    // SAFETY: touches nothing; the tracer goes on behind it.
    unsafe { asm!("int3") };
}

/// The breakpoint at which they end, with the result in memory and its place in registers.
#[inline(always)]
pub fn end<R>(result: &R) {
    // SAFETY: as above.
    unsafe { asm!("int3", in("rdi") result, in("rsi") size_of::<R>()) };
}

/// Whether this byte has a secret bit.
#[cfg(constant_time = "msan")]
pub fn is_marked(byte: &u8) -> bool {
    unsafe extern "C" {
        fn __msan_test_shadow(start: *const core::ffi::c_void, bytes: usize) -> isize;
    }
    // SAFETY: reads the sanitizer's shadow of one byte that exists.
    unsafe { __msan_test_shadow((&raw const *byte).cast(), 1) == 0 }
}
