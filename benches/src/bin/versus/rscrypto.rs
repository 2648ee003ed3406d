//! The crate `rscrypto` behind the trait, twice: with keys as bytes, and with its prepared keys, which keep
//! the matrix as ours do.

use benches::kem::Kem;
use rscrypto::{Kem as _, MlKemError};

use crate::peers::{array, public_in};

/// With keys as bytes, which its operations parse and check each time.
#[derive(Default)]
pub(crate) struct RsCrypto<const K: usize>;
/// With prepared keys.
#[derive(Default)]
pub(crate) struct RsCryptoPrepared<const K: usize>;

/// What it draws randomness from: bytes of our choice.
fn given(bytes: &[u8]) -> impl FnMut(&mut [u8]) -> Result<(), MlKemError> {
    |out| {
        out.copy_from_slice(bytes);
        Ok(())
    }
}

macro_rules! rscrypto {
    ($k:literal, $set:ident, $ek:ident, $dk:ident, $prepared_ek:ident, $prepared_dk:ident, $ct:ident, $shared:ident) => {
        impl Kem for RsCrypto<$k> {
            const NAME: &'static str = "rscrypto";
            type Secret = (rscrypto::$ek, rscrypto::$dk);
            type Public = rscrypto::$ek;
            type Ciphertext = rscrypto::$ct;
            type Shared = rscrypto::$shared;

            fn backend(&self) -> &'static str {
                "own detection"
            }
            fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
                rscrypto::$set::generate_keypair(given(seed)).expect("a key pair")
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                secret.0.to_bytes()
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                // Encapsulating checks it.
                rscrypto::$ek::from_bytes(array(bytes))
            }
            fn encap(
                &self,
                public: &Self::Public,
                m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                rscrypto::$set::encapsulate(public, given(m)).expect("a ciphertext")
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                let public = self.parse_public(public_in::<$k>(expanded));
                (public, rscrypto::$dk::from_bytes(array(expanded)))
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                rscrypto::$set::decapsulate(&secret.1, ciphertext).expect("a secret")
            }
            fn decap_bytes(&self, expanded: &[u8], ciphertext: &Self::Ciphertext) -> Self::Shared {
                let secret = rscrypto::$dk::from_bytes(array(expanded));
                rscrypto::$set::decapsulate(&secret, ciphertext).expect("a secret")
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                rscrypto::$ct::from_bytes(array(bytes))
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.as_bytes().to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.as_bytes().to_vec()
            }
        }

        impl Kem for RsCryptoPrepared<$k> {
            const NAME: &'static str = "rscrypto";
            type Secret = (rscrypto::$ek, rscrypto::$prepared_dk);
            type Public = rscrypto::$prepared_ek;
            type Ciphertext = rscrypto::$ct;
            type Shared = rscrypto::$shared;

            fn backend(&self) -> &'static str {
                "own detection, prepared keys"
            }
            fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
                let (public, secret) = RsCrypto::<$k>.generate(seed);
                (public, secret.prepare().expect("its own key"))
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                secret.0.to_bytes()
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                rscrypto::$prepared_ek::try_from_slice(bytes).expect("a valid public key")
            }
            fn encap(
                &self,
                public: &Self::Public,
                m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                public.encapsulate(given(m)).expect("a ciphertext")
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                let secret = rscrypto::$prepared_dk::try_from_slice(expanded);
                let public = rscrypto::$ek::from_bytes(array(public_in::<$k>(expanded)));
                (public, secret.expect("a valid private key"))
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                secret.1.decapsulate(ciphertext).expect("a secret")
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                RsCrypto::<$k>.parse_ciphertext(bytes)
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

rscrypto!(
    2,
    MlKem512,
    MlKem512EncapsulationKey,
    MlKem512DecapsulationKey,
    MlKem512PreparedEncapsulationKey,
    MlKem512PreparedDecapsulationKey,
    MlKem512Ciphertext,
    MlKem512SharedSecret
);
rscrypto!(
    3,
    MlKem768,
    MlKem768EncapsulationKey,
    MlKem768DecapsulationKey,
    MlKem768PreparedEncapsulationKey,
    MlKem768PreparedDecapsulationKey,
    MlKem768Ciphertext,
    MlKem768SharedSecret
);
rscrypto!(
    4,
    MlKem1024,
    MlKem1024EncapsulationKey,
    MlKem1024DecapsulationKey,
    MlKem1024PreparedEncapsulationKey,
    MlKem1024PreparedDecapsulationKey,
    MlKem1024Ciphertext,
    MlKem1024SharedSecret
);
