//! Lane types, backends and the choice among them.
//!
//! Low-level: for protocols that build on the permutation, such as the ML-KEM crate beside this one.
//! A [`Backend`] value is a zero-sized token; one that needs CPU features can only come from their
//! detection in [`Level`], so holding it proves them. [`dispatch!`](crate::dispatch) turns a `Level`
//! into a token, once per operation; everything below is generic over the token's type.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod complemented;
mod interleaved;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use complemented::Complemented;
pub use interleaved::U32x2;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
pub use neon::{Neon, NeonSha3};
pub use scalar::{Form, Interleaved, Planes, Scalar, Unrolled};
#[cfg(feature = "hazmat")]
pub use scalar::{Rolled, RolledOpaque};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use simd128::Simd128;

use crate::{
    permutation::{LANES, ROUND_CONSTANTS, ROUNDS},
    sponge::State,
};

/// The fastest portable form for the target's words.
#[cfg(not(any(target_pointer_width = "32", target_family = "wasm")))]
pub type Portable = Scalar<Planes>;
/// The fastest portable form for the target's words. WebAssembly has 64-bit words, whatever its pointers.
#[cfg(target_family = "wasm")]
pub type Portable = Scalar<Unrolled>;
/// The fastest portable form for the target's words.
#[cfg(all(target_pointer_width = "32", not(target_family = "wasm")))]
pub type Portable = Scalar<Interleaved>;

/// What the permutation needs of a lane, or of the lanes of several messages side by side.
pub trait Lane: Copy {
    /// Whether [`Lane::xor3`] is one instruction.
    const THREE_INPUT: bool = false;
    /// Whether taking the column parities anew in each round beats gathering them while the planes are
    /// written, which keeps five more values alive.
    const FRESH_PARITIES: bool = Self::THREE_INPUT;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Exclusive or of three.
    #[inline(always)]
    fn xor3(self, second: Self, third: Self) -> Self {
        self.xor(second).xor(third)
    }
    /// Every lane rotated towards the high bits, `BY` < 64.
    fn rotate_left<const BY: u32>(self) -> Self;
    /// `self ^ (!second & third)`.
    fn chi(self, second: Self, third: Self) -> Self;
    /// chi of plane `Y`.
    #[inline(always)]
    fn chi_row<const Y: usize>(p: &[Self; 5]) -> [Self; 5] {
        [
            p[0].chi(p[1], p[2]),
            p[1].chi(p[2], p[3]),
            p[2].chi(p[3], p[4]),
            p[3].chi(p[4], p[0]),
            p[4].chi(p[0], p[1]),
        ]
    }
    /// Enters and leaves the representation that [`Lane::chi_row`] works in.
    #[inline(always)]
    fn complement(_state: &mut [Self; LANES]) {}
}

/// How a backend `B` makes lanes and brings them back to memory, where a lane is a `u64` in the order
/// of bits that [`Lanes::encode`] gives it.
pub trait Lanes<B>: Lane {
    /// How many messages one value carries.
    const COUNT: usize;
    /// The lanes of `COUNT` messages; reads the first `COUNT` words.
    fn load(b: B, words: &[u64]) -> Self;
    /// The opposite of [`Lanes::load`].
    fn store(self, words: &mut [u64]);
    /// The same lane, already encoded, for every message.
    fn splat(b: B, word: u64) -> Self;
    /// A word of the byte string (little-endian) in this type's order of bits; linear.
    #[inline(always)]
    fn encode(word: u64) -> u64 {
        word
    }
    /// The opposite of [`Lanes::encode`].
    #[inline(always)]
    fn decode(word: u64) -> u64 {
        word
    }
    /// The round constants, encoded.
    #[inline(always)]
    fn round_constants() -> &'static [u64; ROUNDS] {
        &ROUND_CONSTANTS
    }
}

/// One way to run the permutation: a zero-sized proof that the CPU can.
pub trait Backend: Copy + sealed::Sealed {
    /// Lane type for a single message.
    type One: Lanes<Self>;
    /// Lane type for two to four messages side by side; the order of bits is that of `One`.
    type Four: Lanes<Self>;
    /// Lane type for more messages side by side.
    type Eight: Lanes<Self>;

    /// Runs `f` compiled for this backend's instructions. `f` and what it calls must be
    /// `#[inline(always)]`, else they are compiled without them.
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R;
    /// [`Backend::vectorize`] for code over [`Backend::One`].
    #[inline(always)]
    fn vectorize_one<R>(self, f: impl FnOnce() -> R) -> R {
        self.vectorize(f)
    }
    /// The last `rounds` rounds of Keccak-f\[1600\] on one message.
    fn permute_one(self, state: &mut [Self::One; LANES], rounds: usize);
    /// The last `rounds` rounds of Keccak-f\[1600\] on `Four::COUNT` messages.
    fn permute_four(self, state: &mut [Self::Four; LANES], rounds: usize);
    /// The last `rounds` rounds of Keccak-f\[1600\] on `Eight::COUNT` messages.
    fn permute_eight(self, state: &mut [Self::Eight; LANES], rounds: usize);

    /// The first 192 bytes of the states of four messages, from `first` on.
    #[inline]
    fn copy_four<const N: usize>(
        self,
        state: &State<N>,
        first: usize,
        out: [&mut [u8; COPIED_BYTES]; 4],
    ) {
        for (l, out) in out.into_iter().enumerate() {
            state.copy_bytes::<Self>(first + l, 0, out);
        }
    }
}

/// Makes the caller's stack frame aligned to whole vectors. A leaf function's is not, and vectors that it
/// spills then lie across cache lines, in some processes across pages: up to half as slow again.
#[inline(always)]
pub(crate) fn align_frame() {
    #[repr(align(64))]
    struct Aligned(#[allow(dead_code)] u8);
    if cfg!(target_arch = "x86_64") {
        // Mutable: a constant would not be on the stack.
        core::hint::black_box(&mut Aligned(0));
    }
}

/// Bytes that [`Backend::copy_four`] takes of a state: more than any rate, a multiple of 32.
pub const COPIED_BYTES: usize = 192;

// A sealed trait is public and cannot be named; some compilers call that unreachable.
#[allow(unreachable_pub)]
mod sealed {
    pub trait Sealed {}
}

/// A backend by value: what detection found, or what a test forces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Level(Kind);

#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Portable(Portable),
    #[cfg(feature = "hazmat")]
    Unrolled(Scalar<Unrolled>),
    #[cfg(feature = "hazmat")]
    Rolled(Scalar<Rolled>),
    #[cfg(feature = "hazmat")]
    RolledOpaque(Scalar<RolledOpaque>),
    #[cfg(feature = "hazmat")]
    Interleaved(Scalar<Interleaved>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    Neon(Neon),
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    NeonSha3(NeonSha3),
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128(Simd128),
}

impl Level {
    /// The fastest backend that this machine can run. Cheap after the first call.
    ///
    /// On AArch64 the SHA3 instructions are taken only in programs compiled for CPUs that all have them,
    /// as those for Apple's are: some server cores have them and run them slower than plain NEON, and
    /// a detected feature does not say which core it is. Elsewhere `NeonSha3` can be had by name.
    #[inline]
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(b) = Avx512::get() {
            return Self(Kind::Avx512(b));
        } else if let Some(b) = Avx2::get() {
            return Self(Kind::Avx2(b));
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        if let (true, Some(b)) = (cfg!(target_feature = "sha3"), NeonSha3::get()) {
            return Self(Kind::NeonSha3(b));
        } else if let Some(b) = Neon::get() {
            return Self(Kind::Neon(b));
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        if let Some(b) = Simd128::get() {
            return Self(Kind::Simd128(b));
        }
        Self::portable()
    }

    /// The portable backend, which every machine can run.
    #[must_use]
    pub const fn portable() -> Self {
        Self(Kind::Portable(Scalar::new()))
    }

    /// Every backend that this machine can run, the slow forms kept for comparison included.
    #[cfg(feature = "hazmat")]
    pub fn available() -> impl Iterator<Item = Self> {
        let forms = [
            Kind::Portable(Scalar::new()),
            Kind::Unrolled(Scalar::new()),
            Kind::Rolled(Scalar::new()),
            Kind::RolledOpaque(Scalar::new()),
            Kind::Interleaved(Scalar::new()),
        ];
        #[cfg(target_arch = "x86_64")]
        let vectors = [Avx2::get().map(Kind::Avx2), Avx512::get().map(Kind::Avx512)];
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        let vectors = [Neon::get().map(Kind::Neon), NeonSha3::get().map(Kind::NeonSha3)];
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        let vectors = [Simd128::get().map(Kind::Simd128)];
        #[cfg(not(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        let vectors: [Option<Kind>; 0] = [];
        forms.into_iter().chain(vectors.into_iter().flatten()).map(Self)
    }

    /// The available backend of that name.
    #[cfg(feature = "hazmat")]
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::available().find(|level| level.name() == name)
    }

    /// A short name, such as `portable`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable(_) => "portable",
            #[cfg(feature = "hazmat")]
            Kind::Unrolled(_) => "unrolled",
            #[cfg(feature = "hazmat")]
            Kind::Rolled(_) => "rolled",
            #[cfg(feature = "hazmat")]
            Kind::RolledOpaque(_) => "rolled-opaque",
            #[cfg(feature = "hazmat")]
            Kind::Interleaved(_) => "interleaved",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(_) => "avx512",
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            Kind::Neon(_) => "neon",
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            Kind::NeonSha3(_) => "neon-sha3",
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Kind::Simd128(_) => "simd128",
        }
    }

    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.0
    }
}

impl core::fmt::Debug for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// Runs an expression with the token inside a [`Level`](crate::backend::Level) bound to a name:
/// `dispatch!(level, b => work(b))`. The expression is compiled once per backend.
#[cfg(not(feature = "hazmat"))]
#[macro_export]
macro_rules! dispatch {
    ($level:expr, $b:ident => $body:expr) => {
        $crate::__match_level!($level, $b => $body;)
    };
}

/// Runs an expression with the token inside a [`Level`](crate::backend::Level) bound to a name:
/// `dispatch!(level, b => work(b))`. The expression is compiled once per backend.
#[cfg(feature = "hazmat")]
#[macro_export]
macro_rules! dispatch {
    ($level:expr, $b:ident => $body:expr) => {
        $crate::__match_level!($level, $b => $body; Unrolled Rolled RolledOpaque Interleaved)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __match_level {
    ($level:expr, $b:ident => $body:expr; $($form:ident)*) => {
        match $crate::backend::Level::kind($level) {
            $crate::backend::Kind::Portable($b) => $body,
            $($crate::backend::Kind::$form($b) => $body,)*
            #[cfg(target_arch = "x86_64")]
            $crate::backend::Kind::Avx2($b) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::backend::Kind::Avx512($b) => $body,
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            $crate::backend::Kind::Neon($b) => $body,
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            $crate::backend::Kind::NeonSha3($b) => $body,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            $crate::backend::Kind::Simd128($b) => $body,
        }
    };
}
