//! Other implementations of ML-KEM behind the same trait as ours.
//!
//! Each is called as its documentation says, with the checks of FIPS 203 section 7 where it offers them:
//! ml-kem and fips203 check while parsing, libcrux by functions of its own. These are pure Rust.

use benches::kem::Kem;
use fips203::traits::{Decaps, Encaps, KeyGen, SerDes};
use libcrux_ml_kem::{MlKemCiphertext, MlKemKeyPair, MlKemPrivateKey, MlKemPublicKey};
use ml_kem::{Decapsulate, KeyExport, TryKeyInit};

/// An array from a slice whose length is known to be right.
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the length of this parameter set")
}

/// The public key inside an expanded private key of rank K.
pub(crate) fn public_in<const K: usize>(expanded: &[u8]) -> &[u8] {
    &expanded[384 * K..768 * K + 32]
}

/// The crate `ml-kem` of RustCrypto.
pub(crate) struct MlKem<const K: usize>;
/// The crate `libcrux-ml-kem` with its own detection.
pub(crate) struct Libcrux<const K: usize>;
/// Its portable module.
pub(crate) struct LibcruxPortable<const K: usize>;
/// Its AVX2 module (portable off x86-64) with unpacked keys, which keep the matrix as ours do.
pub(crate) struct LibcruxUnpacked<const K: usize>;
/// The crate `fips203`.
pub(crate) struct Fips203<const K: usize>;
macro_rules! ml_kem {
    ($k:literal, $params:ty) => {
        impl Kem for MlKem<$k> {
            const NAME: &'static str = "ml-kem";
            type Secret = ml_kem::DecapsulationKey<$params>;
            type Public = ml_kem::EncapsulationKey<$params>;
            type Ciphertext = ml_kem::Ciphertext<$params>;
            type Shared = ml_kem::SharedKey;

            fn backend(&self) -> &'static str {
                "portable"
            }
            fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
                <Self::Secret>::from_seed((*seed).into())
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                secret.encapsulation_key().to_bytes()
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                let key = bytes.try_into().expect("a public key's length");
                <Self::Public as TryKeyInit>::new(key).expect("a valid public key")
            }
            fn encap(
                &self,
                public: &Self::Public,
                m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                public.encapsulate_deterministic(&(*m).into())
            }
            #[allow(deprecated)] // It is the only entry for this form.
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                let key = expanded.try_into().expect("a private key's length");
                <Self::Secret>::from_expanded(key).expect("a valid private key")
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                secret.decapsulate(ciphertext)
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                bytes.try_into().expect("a ciphertext's length")
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.to_vec()
            }
        }
    };
}

macro_rules! libcrux {
    ($peer:ident, $backend:literal, $k:literal, $ek:literal, $dk:literal, $ct:literal, $($path:ident)::+) => {
        impl Kem for $peer<$k> {
            const NAME: &'static str = "libcrux-ml-kem";
            type Secret = MlKemKeyPair<$dk, $ek>;
            type Public = MlKemPublicKey<$ek>;
            type Ciphertext = MlKemCiphertext<$ct>;
            type Shared = [u8; 32];

            fn backend(&self) -> &'static str {
                $backend
            }
            fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
                $($path)::+::generate_key_pair(*seed)
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                *secret.pk()
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                let public = MlKemPublicKey::try_from(bytes).expect("a public key's length");
                assert!($($path)::+::validate_public_key(&public));
                public
            }
            fn encap(&self, public: &Self::Public, m: &[u8; 32]) -> (Self::Ciphertext, Self::Shared) {
                $($path)::+::encapsulate(public, *m)
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                MlKemKeyPair::new(array(expanded), array(public_in::<$k>(expanded)))
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                $($path)::+::decapsulate(secret.private_key(), ciphertext)
            }
            fn decap_bytes(&self, expanded: &[u8], ciphertext: &Self::Ciphertext) -> Self::Shared {
                let secret = MlKemPrivateKey::try_from(expanded).expect("a private key's length");
                assert!($($path)::+::validate_private_key(&secret, ciphertext));
                $($path)::+::decapsulate(&secret, ciphertext)
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                bytes.try_into().expect("a ciphertext's length")
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.as_slice().to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.to_vec()
            }
        }
    };
}

macro_rules! libcrux_unpacked {
    ($k:literal, $ek:literal, $dk:literal, $ct:literal, $module:ident, $pair:ident, $public:ident) => {
        #[cfg(target_arch = "x86_64")]
        use libcrux_ml_kem::$module::avx2 as $module;
        #[cfg(not(target_arch = "x86_64"))]
        use libcrux_ml_kem::$module::portable as $module;

        impl Kem for LibcruxUnpacked<$k> {
            const NAME: &'static str = "libcrux-ml-kem";
            type Secret = $module::unpacked::$pair;
            type Public = $module::unpacked::$public;
            type Ciphertext = MlKemCiphertext<$ct>;
            type Shared = [u8; 32];

            fn backend(&self) -> &'static str {
                if cfg!(target_arch = "x86_64") {
                    "avx2, unpacked keys"
                } else {
                    "portable, unpacked keys"
                }
            }
            fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
                $module::unpacked::generate_key_pair(*seed)
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                $module::unpacked::key_pair_serialized_public_key(secret)
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                let public = MlKemPublicKey::try_from(bytes).expect("a public key's length");
                assert!($module::validate_public_key(&public));
                let mut unpacked = $module::unpacked::init_public_key();
                $module::unpacked::unpacked_public_key(&public, &mut unpacked);
                unpacked
            }
            fn encap(
                &self,
                public: &Self::Public,
                m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                $module::unpacked::encapsulate(public, *m)
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                let secret = MlKemPrivateKey::try_from(expanded).expect("a private key's length");
                assert!($module::validate_private_key_only(&secret));
                let mut pair = $module::unpacked::init_key_pair();
                $module::unpacked::key_pair_from_private_mut(&secret, &mut pair);
                pair
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                $module::unpacked::decapsulate(secret, ciphertext)
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                bytes.try_into().expect("a ciphertext's length")
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.as_slice().to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.to_vec()
            }
        }
    };
}

macro_rules! fips203 {
    ($k:literal, $module:ident) => {
        impl Kem for Fips203<$k> {
            const NAME: &'static str = "fips203";
            type Secret = (fips203::$module::EncapsKey, fips203::$module::DecapsKey);
            type Public = fips203::$module::EncapsKey;
            type Ciphertext = fips203::$module::CipherText;
            type Shared = fips203::SharedSecretKey;

            fn backend(&self) -> &'static str {
                "portable"
            }
            fn generate(&self, seed: &[u8; 64]) -> Self::Secret {
                fips203::$module::KG::keygen_from_seed(array(&seed[..32]), array(&seed[32..]))
            }
            fn encode_public(&self, secret: &Self::Secret) -> impl AsRef<[u8]> {
                secret.0.clone().into_bytes()
            }
            fn parse_public(&self, bytes: &[u8]) -> Self::Public {
                <Self::Public>::try_from_bytes(array(bytes)).expect("a valid public key")
            }
            fn encap(
                &self,
                public: &Self::Public,
                m: &[u8; 32],
            ) -> (Self::Ciphertext, Self::Shared) {
                let (shared, ciphertext) = public.encaps_from_seed(m);
                (ciphertext, shared)
            }
            fn parse_secret(&self, expanded: &[u8]) -> Self::Secret {
                let secret = fips203::$module::DecapsKey::try_from_bytes(array(expanded));
                let public = self.parse_public(public_in::<$k>(expanded));
                (public, secret.expect("a valid private key"))
            }
            fn decap(&self, secret: &Self::Secret, ciphertext: &Self::Ciphertext) -> Self::Shared {
                secret.1.try_decaps(ciphertext).expect("a secret")
            }
            fn decap_bytes(&self, expanded: &[u8], ciphertext: &Self::Ciphertext) -> Self::Shared {
                let secret = fips203::$module::DecapsKey::try_from_bytes(array(expanded));
                let secret = secret.expect("a valid private key");
                secret.try_decaps(ciphertext).expect("a secret")
            }
            fn parse_ciphertext(&self, bytes: &[u8]) -> Self::Ciphertext {
                <Self::Ciphertext>::try_from_bytes(array(bytes)).expect("a ciphertext")
            }
            fn ciphertext_bytes(&self, ciphertext: &Self::Ciphertext) -> Vec<u8> {
                ciphertext.clone().into_bytes().to_vec()
            }
            fn shared_bytes(&self, shared: &Self::Shared) -> Vec<u8> {
                shared.clone().into_bytes().to_vec()
            }
        }
    };
}

ml_kem!(2, ml_kem::MlKem512);
ml_kem!(3, ml_kem::MlKem768);
ml_kem!(4, ml_kem::MlKem1024);
libcrux!(Libcrux, "own detection", 2, 800, 1632, 768, libcrux_ml_kem::mlkem512);
libcrux!(Libcrux, "own detection", 3, 1184, 2400, 1088, libcrux_ml_kem::mlkem768);
libcrux!(Libcrux, "own detection", 4, 1568, 3168, 1568, libcrux_ml_kem::mlkem1024);
libcrux!(LibcruxPortable, "portable", 2, 800, 1632, 768, libcrux_ml_kem::mlkem512::portable);
libcrux!(LibcruxPortable, "portable", 3, 1184, 2400, 1088, libcrux_ml_kem::mlkem768::portable);
libcrux!(LibcruxPortable, "portable", 4, 1568, 3168, 1568, libcrux_ml_kem::mlkem1024::portable);
libcrux_unpacked!(2, 800, 1632, 768, mlkem512, MlKem512KeyPairUnpacked, MlKem512PublicKeyUnpacked);
libcrux_unpacked!(
    3,
    1184,
    2400,
    1088,
    mlkem768,
    MlKem768KeyPairUnpacked,
    MlKem768PublicKeyUnpacked
);
libcrux_unpacked!(
    4,
    1568,
    3168,
    1568,
    mlkem1024,
    MlKem1024KeyPairUnpacked,
    MlKem1024PublicKeyUnpacked
);
fips203!(2, ml_kem_512);
fips203!(3, ml_kem_768);
fips203!(4, ml_kem_1024);
impl<const K: usize> LibcruxUnpacked<K> {
    /// Whether this module may be called: it does not ask the CPU itself.
    pub(crate) fn is_supported() -> bool {
        #[cfg(target_arch = "x86_64")]
        return std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        return true;
    }
}
