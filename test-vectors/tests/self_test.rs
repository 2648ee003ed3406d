//! The self-test of `kyber`: its answers are those of the slow reference, and it passes on every backend.

use kyber::hazmat::{Level, SELF_TEST_COINS, SelfTestAnswers, self_test_answers, self_test_on};
use kyber::{DecapsulationKey, Seed};
use test_vectors::reference::keccak::sha3;
use test_vectors::reference::mlkem::{
    ParameterSet, decaps_internal, encaps_internal, keygen_internal,
};

fn from_reference(k: usize) -> SelfTestAnswers {
    let set = ParameterSet::of(k);
    let (d, rest) = SELF_TEST_COINS.split_at(32);
    let (z, m) = rest.split_at(32);
    let (ek, dk) = keygen_internal(&set, d, z);
    let (secret, c) = encaps_internal(&set, &ek, m);
    let rejected: Vec<u8> = [0, c.len() / 2, c.len() - 1]
        .iter()
        .flat_map(|at| {
            let mut changed = c.clone();
            changed[*at] ^= 1;
            decaps_internal(&set, &dk, &changed)
        })
        .collect();
    let digest = |bytes: &[u8]| sha3(256, bytes).try_into().expect("32 bytes");
    SelfTestAnswers {
        key_gen: digest(&dk),
        encap: digest(&[c, secret].concat()),
        rejection: digest(&rejected),
    }
}

#[test]
fn answers_are_those_of_the_reference() {
    assert_eq!(self_test_answers::<2>(), from_reference(2));
    assert_eq!(self_test_answers::<3>(), from_reference(3));
    assert_eq!(self_test_answers::<4>(), from_reference(4));
}

#[test]
fn passes_on_every_backend() {
    for level in Level::available() {
        assert_eq!(self_test_on(level), Ok(()), "{level}");
    }
    assert_eq!(kyber::self_test(), Ok(()));
    assert_eq!(DecapsulationKey::<2>::self_test(), Ok(()));
    assert_eq!(DecapsulationKey::<3>::self_test(), Ok(()));
    assert_eq!(DecapsulationKey::<4>::self_test(), Ok(()));
}

/// With one key at a time on the stack. An overflow ends the process.
#[test]
fn fits_a_small_stack() {
    for level in Level::available() {
        // With debug assertions operations wipe 96 KiB, as deep as unoptimised code may reach.
        let kib = if cfg!(debug_assertions) { 192 } else { 96 };
        let small = std::thread::Builder::new().stack_size(kib << 10);
        let thread = small.spawn(move || self_test_on(level)).expect("a thread");
        assert_eq!(thread.join().expect("no panic"), Ok(()), "{level}");
    }
}

#[test]
fn pairs_of_every_form_agree() {
    let seed = Seed::from(&[0x17; 64]);
    for level in Level::available() {
        macro_rules! check {
            ($($set:ident)*) => {$(
                let key = kyber::$set::DecapsulationKey::from_seed_on(level, &seed);
                let mut expanded = [0; kyber::$set::DECAPSULATION_KEY_BYTES];
                key.to_expanded_bytes(&mut expanded);
                let parsed = kyber::$set::DecapsulationKey::parse_on(level, &expanded);
                for m in [[0; 32], [0xff; 32], [0x5c; 32]] {
                    assert_eq!(key.check_pair(&m), Ok(()), "{level}");
                    assert_eq!(parsed.as_ref().map(|key| key.check_pair(&m)), Ok(Ok(())), "{level}");
                }
                // Another key's s under this public key.
                let other = kyber::$set::DecapsulationKey::from_seed_on(level, &Seed::from(&[1; 64]));
                let mut mixed = [0; kyber::$set::DECAPSULATION_KEY_BYTES];
                other.to_expanded_bytes(&mut mixed);
                let s = mixed.len() - kyber::$set::ENCAPSULATION_KEY_BYTES - 64;
                mixed[s..].copy_from_slice(&expanded[s..]);
                let mixed = kyber::$set::DecapsulationKey::parse_on(level, &mixed).expect("a key");
                let error = mixed.check_pair(&[9; 32]).expect_err("s is another's");
                assert_eq!(error.step, kyber::SelfTestStep::Pair, "{level}");
            )*};
        }
        check!(mlkem512 mlkem768 mlkem1024);
    }
}
