//! AVX-512.

mod codec;

use keccak::backend::Avx512;

use super::Backend;

impl Backend for Avx512 {}
