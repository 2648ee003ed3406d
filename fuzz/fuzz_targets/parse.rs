//! Any bytes into every parser, on every backend. What is accepted must be what section 7 of FIPS 203
//! accepts, and must be encoded again as it came.

#![no_main]

use fuzz::{for_rank, is_reduced, levels, repair_hash};
use kyber::{
    Bytes, Ciphertext, DecapsulationKey, EncapsulationKey, Error, ExpandedBytes, MlKem,
    ParameterSet, Seed, SmallEncapsulationKey,
};
use libfuzzer_sys::fuzz_target;
use test_vectors::reference::keccak::sha3;
use test_vectors::reference::mlkem::{self, byte_decode, byte_encode};

fuzz_target!(|data: &[u8]| {
    if let Some((head, bytes)) = data.split_first() {
        for_rank!(2 + head % 3, parse(head / 3 % 4, bytes));
    }
});

fn parse<const K: usize>(what: u8, bytes: &[u8])
where
    MlKem<K>: ParameterSet,
{
    match what {
        0 => encapsulation_key::<K>(bytes),
        1 => decapsulation_key::<K>(bytes),
        2 => {
            // Changes of the key inside are seen by its hash first: this gets behind that check.
            let mut bytes = bytes.to_vec();
            if bytes.len() == mlkem::ParameterSet::of(K).dk_len() {
                repair_hash(K, &mut bytes);
            }
            decapsulation_key::<K>(&bytes);
        }
        _ => ciphertext_and_seed::<K>(bytes),
    }
}

fn length(bytes: &[u8], expected: usize) -> Result<(), Error> {
    let actual = bytes.len();
    if actual == expected { Ok(()) } else { Err(Error::Length { expected, actual }) }
}

fn check_ek<const K: usize>(bytes: &[u8]) -> Result<(), Error> {
    length(bytes, mlkem::ParameterSet::of(K).ek_len())?;
    if is_reduced(&bytes[..384 * K]) { Ok(()) } else { Err(Error::NotReduced) }
}

fn check_dk<const K: usize>(bytes: &[u8]) -> Result<(), Error> {
    length(bytes, mlkem::ParameterSet::of(K).dk_len())?;
    let ek = &bytes[384 * K..768 * K + 32];
    check_ek::<K>(ek)?;
    if sha3(256, ek) == bytes[768 * K + 32..768 * K + 64] { Ok(()) } else { Err(Error::KeyHash) }
}

fn encapsulation_key<const K: usize>(bytes: &[u8])
where
    MlKem<K>: ParameterSet,
{
    let expected = check_ek::<K>(bytes);
    for level in levels() {
        let key = EncapsulationKey::<K>::parse_on(level, bytes);
        assert_eq!(key.as_ref().err(), expected.as_ref().err(), "{level}");
        let small = SmallEncapsulationKey::<K>::parse_on(level, bytes);
        assert_eq!(small.as_ref().err(), expected.as_ref().err(), "{level}");
        if let Ok(key) = key {
            assert_eq!(key.as_bytes().as_ref(), bytes, "{level}");
        }
    }
}

fn decapsulation_key<const K: usize>(bytes: &[u8])
where
    MlKem<K>: ParameterSet,
{
    let expected = check_dk::<K>(bytes);
    for level in levels() {
        let key = DecapsulationKey::<K>::parse_on(level, bytes);
        assert_eq!(key.as_ref().err(), expected.as_ref().err(), "{level}");
        if let Ok(key) = key {
            let mut again = ExpandedBytes::<K>::ZERO;
            key.to_expanded_bytes(&mut again);
            // Section 7.3 does not check s; ByteDecode_12 takes it modulo q.
            let (s, rest) = bytes.split_at(384 * K);
            let s: Vec<u8> =
                s.chunks(384).flat_map(|s| byte_encode(12, &byte_decode(12, s))).collect();
            assert_eq!(again.as_ref(), [&s, rest].concat(), "{level}");
        }
    }
}

fn ciphertext_and_seed<const K: usize>(bytes: &[u8])
where
    MlKem<K>: ParameterSet,
{
    match Ciphertext::<K>::parse(bytes) {
        Ok(ciphertext) => assert_eq!(ciphertext.as_ref(), bytes),
        Err(error) => {
            assert_eq!(Err(error), length(bytes, mlkem::ParameterSet::of(K).ciphertext_len()));
        }
    }
    match Seed::parse(bytes) {
        Ok(seed) => assert_eq!(&seed.as_bytes()[..], bytes),
        Err(error) => assert_eq!(Err(error), length(bytes, 64)),
    }
}
