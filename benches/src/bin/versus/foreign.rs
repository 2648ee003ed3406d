//! Peers that bring C or assembly: graviola checks keys while parsing, aws-lc inside its operations, pqcrypto-mlkem
//! no more than lengths.

use aws_lc_rs::kem as aws;
use benches::kem::Kem;
use graviola::key_agreement::mlkem768 as graviola768;
use pqcrypto_traits::kem::{Ciphertext, PublicKey, SecretKey, SharedSecret};

use crate::peers::{array, public_in};

/// The crate `pqcrypto-mlkem`, which wraps PQClean.
#[derive(Default)]
pub(crate) struct PqCrypto<const K: usize>;
/// The crate `aws-lc-rs`.
#[derive(Default)]
pub(crate) struct AwsLc<const K: usize>;
/// The crate `graviola`.
pub(crate) struct Graviola;

macro_rules! pqcrypto {
    ($k:literal, $ek:literal, $module:ident) => {
        impl Kem for PqCrypto<$k> {
            const NAME: &'static str = "pqcrypto-mlkem";
            const SEEDED_KEYGEN: bool = false;
            const SEEDED_ENCAP: bool = false;
            type Secret = (pqcrypto_mlkem::$module::PublicKey, pqcrypto_mlkem::$module::SecretKey);
            type Public = pqcrypto_mlkem::$module::PublicKey;
            type Ciphertext = pqcrypto_mlkem::$module::Ciphertext;
            type Shared = pqcrypto_mlkem::$module::SharedSecret;

            fn backend(&self) -> &'static str {
                "own detection"
            }
            fn generate(&self, _seed: &[u8; 64]) -> Self::Secret {
                pqcrypto_mlkem::$module::keypair()
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                array::<$ek>(secret.0.as_bytes())
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                PublicKey::from_bytes(bytes).expect("a public key's length")
            }
            fn encap(
                &self,
                public: &Self::Public,
                _m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                let (shared, ciphertext) = pqcrypto_mlkem::$module::encapsulate(public);
                (ciphertext, shared)
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                let secret = SecretKey::from_bytes(expanded).expect("a private key's length");
                (self.parse_public(public_in::<$k>(expanded)), secret)
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                pqcrypto_mlkem::$module::decapsulate(ciphertext, &secret.1)
            }
            fn decap_bytes(&self, expanded: &[u8], ciphertext: &Self::Ciphertext) -> Self::Shared {
                let secret = SecretKey::from_bytes(expanded).expect("a private key's length");
                pqcrypto_mlkem::$module::decapsulate(ciphertext, &secret)
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                Ciphertext::from_bytes(bytes).expect("a ciphertext's length")
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.as_bytes().to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.as_bytes().to_vec()
            }
        }
    };
}

macro_rules! aws_lc {
    ($k:literal, $ek:literal, $algorithm:ident) => {
        impl Kem for AwsLc<$k> {
            const NAME: &'static str = "aws-lc-rs";
            const SEEDED_KEYGEN: bool = false;
            const SEEDED_ENCAP: bool = false;
            type Secret = aws::DecapsulationKey;
            type Public = aws::EncapsulationKey;
            type Ciphertext = aws::Ciphertext<'static>;
            type Shared = aws::SharedSecret;

            fn backend(&self) -> &'static str {
                "own detection"
            }
            fn generate(&self, _seed: &[u8; 64]) -> Self::Secret {
                aws::DecapsulationKey::generate(&aws::$algorithm).expect("a key pair")
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                let public = secret.encapsulation_key().expect("a public key");
                let bytes = public.key_bytes().expect("its bytes");
                array::<$ek>((*bytes).as_ref())
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                aws::EncapsulationKey::new(&aws::$algorithm, bytes).expect("a valid public key")
            }
            fn encap(
                &self,
                public: &Self::Public,
                _m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                public.encapsulate().expect("a ciphertext")
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                aws::DecapsulationKey::new(&aws::$algorithm, expanded).expect("a valid private key")
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                let borrowed = aws::Ciphertext::from(ciphertext.as_ref());
                secret.decapsulate(borrowed).expect("a secret")
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                // Its type can only borrow; a few dozen are made, and they live as long as the program.
                aws::Ciphertext::from(&*bytes.to_vec().leak())
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.as_ref().to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.as_ref().to_vec()
            }
        }
    };
}

pqcrypto!(2, 800, mlkem512);
pqcrypto!(3, 1184, mlkem768);
pqcrypto!(4, 1568, mlkem1024);
aws_lc!(2, 800, ML_KEM_512);
aws_lc!(3, 1184, ML_KEM_768);
aws_lc!(4, 1568, ML_KEM_1024);

impl Kem for Graviola {
    const NAME: &'static str = "graviola";
    // It neither reads nor writes the expanded form.
    const EXPANDED: bool = false;
    type Secret = graviola768::DecapKey;
    type Public = graviola768::EncapKey;
    type Ciphertext = graviola768::Ciphertext;
    type Shared = graviola768::SharedSecret;

    fn backend(&self) -> &'static str {
        "own detection"
    }
    fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
        graviola768::DecapKey::keygen_internal(seed)
    }
    fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
        secret.encapsulation_key().as_bytes()
    }
    fn parse_public(&self, bytes: &[u8]) -> Self::Public {
        graviola768::EncapKey::from_bytes(&array(bytes)).expect("a valid public key")
    }
    fn encap(&self, public: &Self::Public, m: &[u8; 32]) -> (Self::Ciphertext, Self::Shared) {
        let (shared, ciphertext) = public.clone().encaps_internal(graviola768::Message(*m));
        (ciphertext, shared)
    }
    fn parse_encap(&self, bytes: &[u8], m: &[u8; 32]) -> (Self::Ciphertext, Self::Shared) {
        let (shared, ciphertext) =
            self.parse_public(bytes).encaps_internal(graviola768::Message(*m));
        (ciphertext, shared)
    }
    fn parse_secret(&self, _expanded: &[u8]) -> Self::Secret {
        unreachable!("EXPANDED is false")
    }
    fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
        secret.decaps_internal(ciphertext)
    }
    fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
        array::<1088>(bytes).into()
    }
    fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
        ciphertext.as_ref().to_vec()
    }
    fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
        shared.as_ref().to_vec()
    }
}
