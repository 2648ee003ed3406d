//! AES-256-CTR-DRBG without derivation function, SP 800-90A section 10.2.1: what fills NIST's KAT
//! files.

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};

/// Key and V, with 48-byte seeds.
pub struct CtrDrbg {
    key: [u8; 32],
    v: u128,
}

impl CtrDrbg {
    /// Instantiate with entropy and no personalisation.
    pub fn new(entropy: &[u8; 48]) -> Self {
        let mut drbg = Self { key: [0; 32], v: 0 };
        drbg.update(entropy);
        drbg
    }

    /// The generator of the KAT file itself, which draws the 48-byte seed of every count.
    pub fn for_kat_file() -> Self {
        Self::new(&std::array::from_fn(|i| i as u8))
    }

    /// One call of randombytes: the state moves on after each, so the sizes of the calls matter.
    pub fn random_bytes(&mut self, out: &mut [u8]) {
        for block in out.chunks_mut(16) {
            let stream = self.next_block();
            block.copy_from_slice(&stream[..block.len()]);
        }
        self.update(&[0; 48]);
    }

    fn next_block(&mut self) -> [u8; 16] {
        self.v = self.v.wrapping_add(1);
        let mut block = self.v.to_be_bytes().into();
        Aes256::new(&self.key.into()).encrypt_block(&mut block);
        block.into()
    }

    fn update(&mut self, provided: &[u8; 48]) {
        let mut temp = [0; 48];
        for block in temp.chunks_mut(16) {
            block.copy_from_slice(&self.next_block());
        }
        temp.iter_mut().zip(provided).for_each(|(t, p)| *t ^= p);
        self.key.copy_from_slice(&temp[..32]);
        self.v = u128::from_be_bytes(std::array::from_fn(|i| temp[32 + i]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first seed of every NIST KAT file of that time, Kyber's among them.
    #[test]
    fn first_seed_of_a_kat_file() {
        let mut seed = [0; 48];
        CtrDrbg::for_kat_file().random_bytes(&mut seed);
        let published = "061550234d158c5ec95595fe04ef7a25767f2e24cc2bc479d09d86dc9abcfde7056a8c266f9ef97ed08541dbd2e1ffa1";
        assert_eq!(hex::encode(seed), published);
    }
}
