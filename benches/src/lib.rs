//! What the speed report, the peers side by side and the Criterion benches share.
//!
//! [`timing`]: the timing loop, BoringSSL's lines, statistics. [`kem`]: one trait for every ML-KEM, ours
//! behind it, and the operations to measure. [`hash`]: the hashes to measure. [`stages`]: the parts that
//! operations are made of. [`host`]: what the figures were taken on. [`instructions`]: counts in place of time.
//! Inputs are rotated over many keys and drawn afresh for every call: with one constant
//! seed the branch predictor learns the rejection sampling, and figures come out too good.

pub mod hash;
pub mod host;
pub mod instructions;
pub mod kem;
pub mod stages;
pub mod timing;

use keccak::hazmat::Level;

/// One thing to measure.
pub struct Operation {
    /// The algorithm, for example `ML-KEM-768` or `SHA3-256`.
    pub set: &'static str,
    /// What it does, for example `parse + encap` or `(1024 bytes)`.
    pub name: String,
    /// Message bytes that one call works through, for hashes.
    pub bytes: Option<usize>,
    /// Runs it that many times.
    pub run: Box<dyn FnMut(usize)>,
}

impl Operation {
    /// The algorithm and what it does, as in BoringSSL's lines.
    pub fn label(&self) -> String {
        format!("{} {}", self.set, self.name)
    }
}

/// Whether a list of texts selects a name: one of them is in it, or there are none.
pub fn among(list: &[String], name: &str) -> bool {
    list.is_empty() || list.iter().any(|text| name.contains(text))
}

/// The backend of that name, or the detected one; the error lists the names this machine has.
pub fn level(name: Option<&str>) -> Result<Level, String> {
    match name {
        None => Ok(Level::detect()),
        Some(name) => Level::named(name).ok_or_else(|| {
            let known: Vec<_> = Level::available().map(Level::name).collect();
            format!(
                "backend {name:?} is unknown or not available here; available: {}",
                known.join(", ")
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection() {
        let list = ["768".to_owned(), "SHAKE".to_owned()];
        assert!(among(&list, "ML-KEM-768") && among(&list, "SHAKE128") && among(&[], "anything"));
        assert!(!among(&list, "SHA3-256"));
    }

    #[test]
    fn level_by_name() {
        assert_eq!(level(None), Ok(Level::detect()));
        assert_eq!(level(Some("portable")).map(Level::name), Ok("portable"));
        assert!(level(Some("abacus")).unwrap_err().contains("available: portable"));
    }
}
