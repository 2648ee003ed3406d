//! AVX2.

mod codec;

use keccak::backend::Avx2;

use super::Backend;

impl Backend for Avx2 {}
