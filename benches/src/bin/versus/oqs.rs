//! liboqs behind the trait, by its crate `oqs`. Keys stay bytes: the operations parse and check them each time.

use benches::kem::Kem;
use oqs::kem::{self, Algorithm};

use crate::peers::public_in;

/// The crate `oqs`.
pub(crate) struct Oqs<const K: usize>(kem::Kem);

impl<const K: usize> Oqs<K> {
    pub(crate) fn new() -> Self {
        let algorithm = match K {
            2 => Algorithm::MlKem512,
            3 => Algorithm::MlKem768,
            _ => Algorithm::MlKem1024,
        };
        oqs::init();
        Self(kem::Kem::new(algorithm).expect("ML-KEM is compiled in"))
    }
}

impl<const K: usize> Kem for Oqs<K> {
    const NAME: &'static str = "oqs";
    const SEEDED_ENCAP: bool = false;
    type Secret = (kem::PublicKey, kem::SecretKey);
    type Public = kem::PublicKey;
    type Ciphertext = kem::Ciphertext;
    type Shared = kem::SharedSecret;

    fn backend(&self) -> &'static str {
        "own detection"
    }
    fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
        let seed = self.0.keypair_seed_from_bytes(seed).expect("a seed's length");
        self.0.keypair_derand(seed).expect("a key pair")
    }
    fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
        secret.0.clone()
    }
    fn parse_public(&self, bytes: &[u8]) -> Self::Public {
        self.0.public_key_from_bytes(bytes).expect("a public key's length").to_owned()
    }
    fn encap(&self, public: &Self::Public, _m: &[u8; 32]) -> (Self::Ciphertext, Self::Shared) {
        self.0.encapsulate(public).expect("a ciphertext")
    }
    fn parse_encap(&self, bytes: &[u8], _m: &[u8; 32]) -> (Self::Ciphertext, Self::Shared) {
        let public = self.0.public_key_from_bytes(bytes).expect("a public key's length");
        self.0.encapsulate(public).expect("a ciphertext")
    }
    fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
        let secret = self.0.secret_key_from_bytes(expanded).expect("a private key's length");
        (self.parse_public(public_in::<K>(expanded)), secret.to_owned())
    }
    fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
        self.0.decapsulate(&secret.1, ciphertext).expect("a secret")
    }
    fn decap_bytes(&self, expanded: &[u8], ciphertext: &Self::Ciphertext) -> Self::Shared {
        let secret = self.0.secret_key_from_bytes(expanded).expect("a private key's length");
        self.0.decapsulate(secret, ciphertext).expect("a secret")
    }
    fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
        self.0.ciphertext_from_bytes(bytes).expect("a ciphertext's length").to_owned()
    }
    fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
        ciphertext.as_ref().to_vec()
    }
    fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
        shared.as_ref().to_vec()
    }
}
