//! All twelve ML-KEM sets of Project Wycheproof, and KMAC, on every backend.

use keccak::hazmat::Level;
use test_vectors::case::{Case, HashInput, Key, Message, Op};
use test_vectors::run::run;
use wycheproof::TestResult;
use wycheproof::mac;
use wycheproof::mlkem::{MlKemParameterSet, Test, TestGroupTypeId, TestName, TestSet};

fn bytes(field: &Option<wycheproof::ByteString>) -> Vec<u8> {
    field.as_ref().expect("a field of this kind of set").to_vec()
}

fn op(kind: TestGroupTypeId, k: usize, test: &Test) -> Op {
    let valid = test.result == TestResult::Valid;
    let decap = |key| Op::Decap {
        k,
        key,
        ek: test.encaps_key.as_ref().map(|ek| ek.to_vec()),
        c: bytes(&test.ct),
        expected: valid.then(|| bytes(&test.shared_secret)),
    };
    match kind {
        TestGroupTypeId::MlKem => decap(Key::Seed(bytes(&test.seed))),
        TestGroupTypeId::MlKemDecapsValidation => decap(Key::Expanded(bytes(&test.decaps_key))),
        TestGroupTypeId::MlKemEncaps => Op::Encap {
            k,
            ek: bytes(&test.encaps_key),
            m: bytes(&test.msg),
            expected: valid.then(|| (bytes(&test.ct), bytes(&test.shared_secret))),
        },
        TestGroupTypeId::MlKemKeyGen => {
            assert!(valid, "the sets have no invalid seed");
            Op::KeyGen {
                k,
                seed: bytes(&test.seed),
                ek: bytes(&test.encaps_key),
                dk: bytes(&test.decaps_key),
            }
        }
    }
}

fn check(name: &str, cases: &[Case], expected: usize) {
    assert_eq!(cases.len(), expected, "cases of {name}");
    for level in Level::available() {
        for case in cases {
            run(case, level)
                .unwrap_or_else(|failure| panic!("{level}: {name} {}: {failure}", case.id));
        }
    }
}

#[test]
fn ml_kem() {
    let mut total = 0;
    for name in TestName::all() {
        let set = TestSet::load(name).expect("a set of the crate");
        let mut cases = Vec::new();
        for group in &set.test_groups {
            let k = match group.parameter_set {
                MlKemParameterSet::MlKem512 => 2,
                MlKemParameterSet::MlKem768 => 3,
                MlKemParameterSet::MlKem1024 => 4,
            };
            cases.extend(group.tests.iter().map(|test| Case {
                group: format!("{:?}", group.test_type),
                id: format!("tcId {} {}", test.tc_id, test.comment),
                op: op(group.test_type, k, test),
            }));
        }
        check(&format!("{name:?}"), &cases, set.number_of_tests);
        total += cases.len();
    }
    assert_eq!(total, 1725, "twelve sets of release 0.7.0");
}

#[test]
fn kmac() {
    for (name, function, expected) in
        [(mac::TestName::Kmac128, "KMAC128", 174), (mac::TestName::Kmac256, "KMAC256", 261)]
    {
        let set = mac::TestSet::load(name).expect("a set of the crate");
        let mut cases = Vec::new();
        for group in &set.test_groups {
            cases.extend(group.tests.iter().map(|test| {
                let message = Message::Bytes(test.msg.to_vec());
                let function = function.parse().expect("a known function");
                let mut input = HashInput::new(function, message, group.tag_size / 8);
                input.key = test.key.to_vec();
                let valid = test.result == TestResult::Valid;
                let op = Op::Hash { input, output: test.tag.to_vec(), valid };
                Case { group: function.to_string(), id: format!("tcId {}", test.tc_id), op }
            }));
        }
        check(&format!("{name:?}"), &cases, expected);
    }
}
