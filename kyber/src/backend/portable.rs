//! Plain Rust: every kernel is the default one.

use keccak::backend::{Form, Scalar};

use super::Backend;

impl<F: Form> Backend for Scalar<F> {}
