//! Vectors, their parsers, a slow reference, and the runner that tries a case on one backend.
//!
//! `formats` turns files into `case::Case`s; `run` puts a case through the library; `reference` is
//! the standards written slowly; `digests` holds published digests and what computes them. The
//! tests and the `kat` binary share all of it.

pub mod case;
pub mod digests;
pub mod drbg;
pub mod formats;
pub mod known;
pub mod ours;
pub mod reference;
pub mod run;
pub mod shared;
