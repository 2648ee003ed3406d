//! Vectors beside the project, where they are: ACVP, CAVP, CCTV, SP 800-185, RFC 9861, and Kyber
//! round 3 as the ones to refuse.

use keccak::hazmat::Level;
use test_vectors::shared::{check, folder};
use test_vectors::{formats, run};

/// The numbers of cases keep a parser from losing some unseen.
fn all_of(name: &str, cases: usize) {
    if let Some(folder) = folder(name) {
        check(&folder, cases);
    }
}

#[test]
fn acvp_keygen() {
    all_of("acvp/ML-KEM-keyGen-FIPS203", 75);
}

#[test]
fn acvp_encap_decap() {
    all_of("acvp/ML-KEM-encapDecap-FIPS203", 165);
}

#[test]
fn cavp() {
    all_of("sha3", 4042);
}

#[test]
fn cctv() {
    all_of("cctv", 2604);
}

#[test]
fn sp800_185() {
    all_of("sp800-185", 36);
}

#[test]
fn turboshake_and_kangaroo_twelve() {
    all_of("turboshake-k12", 67);
}

/// Keys of round 3 hash d alone: each of the 300 cases must fail, and be told apart.
#[test]
fn kyber_round_3_is_refused() {
    let Some(folder) = folder("kyber-r3") else { return };
    let sources = formats::find(&folder).expect("a readable folder");
    let cases: Vec<_> =
        sources.iter().flat_map(|source| formats::load(source).expect("a KAT file")).collect();
    assert_eq!(cases.len(), 300);
    for case in &cases {
        let failure = run::run(case, Level::detect()).expect_err("not ML-KEM");
        assert!(failure.contains("Kyber round 3"), "{}: {failure}", case.id);
    }
}
