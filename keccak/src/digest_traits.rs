//! The traits of the crate `digest` 0.11, so that these types drop in where `sha3` and `shake` are used.

use digest::{
    CollisionResistance, ExtendableOutput, FixedOutput, FixedOutputReset, HashMarker, Output,
    OutputSizeUser, Reset, Update, XofReader,
    common::BlockSizeUser,
    consts::{U14, U16, U24, U28, U32, U48, U64, U72, U104, U136, U144, U168},
};

use crate::{Reader, Sha3, Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake, Shake128, Shake256};

impl<const N: usize> Update for Sha3<N> {
    fn update(&mut self, data: &[u8]) {
        Sha3::update(self, data);
    }
}

impl<const N: usize> Reset for Sha3<N> {
    fn reset(&mut self) {
        *self = Self::on(self.level());
    }
}

impl<const N: usize> HashMarker for Sha3<N> {}

macro_rules! fixed_output {
    ($($hash:ty, $size:ty, $block:ty, $strength:ty;)*) => {$(
        impl OutputSizeUser for $hash {
            type OutputSize = $size;
        }
        impl BlockSizeUser for $hash {
            type BlockSize = $block;
        }
        impl CollisionResistance for $hash {
            type CollisionResistance = $strength;
        }
        impl FixedOutput for $hash {
            fn finalize_into(mut self, out: &mut Output<Self>) {
                self.finish(out);
            }
        }
        impl FixedOutputReset for $hash {
            fn finalize_into_reset(&mut self, out: &mut Output<Self>) {
                self.finish(out);
                Reset::reset(self);
            }
        }
    )*};
}

fixed_output! {
    Sha3_224, U28, U144, U14;
    Sha3_256, U32, U136, U16;
    Sha3_384, U48, U104, U24;
    Sha3_512, U64, U72, U32;
}

impl<const RATE: usize> Update for Shake<RATE> {
    fn update(&mut self, data: &[u8]) {
        Shake::update(self, data);
    }
}

impl<const RATE: usize> Reset for Shake<RATE> {
    fn reset(&mut self) {
        *self = Self::on(self.level());
    }
}

impl<const RATE: usize> HashMarker for Shake<RATE> {}

impl<const RATE: usize> ExtendableOutput for Shake<RATE> {
    type Reader = Reader;
    fn finalize_xof(self) -> Reader {
        Shake::finalize_xof(self)
    }
}

impl XofReader for Reader {
    fn read(&mut self, out: &mut [u8]) {
        Reader::read(self, out);
    }
}

macro_rules! extendable_output {
    ($($xof:ty, $block:ty, $strength:ty;)*) => {$(
        impl BlockSizeUser for $xof {
            type BlockSize = $block;
        }
        impl CollisionResistance for $xof {
            type CollisionResistance = $strength;
        }
    )*};
}

extendable_output! {
    Shake128, U168, U16;
    Shake256, U136, U32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use digest::{Digest, array::Array};

    fn check<H: Digest + FixedOutputReset + Clone>(expected: &[u8]) {
        assert_eq!(H::digest(b"abc")[..], *expected);
        let mut hash = <H as Digest>::new();
        Digest::update(&mut hash, b"a");
        let fork = hash.clone().chain_update(b"bc");
        Digest::update(&mut hash, b"bc");
        assert_eq!(hash.finalize_reset()[..], *expected);
        assert_eq!(hash.chain_update(b"abc").finalize()[..], *expected);
        assert_eq!(fork.finalize()[..], *expected);
        assert_eq!(<H as Digest>::output_size(), expected.len());
    }

    #[test]
    fn digests_through_the_traits_equal_our_own() {
        check::<Sha3_224>(&Sha3_224::digest(b"abc"));
        check::<Sha3_256>(&Sha3_256::digest(b"abc"));
        check::<Sha3_384>(&Sha3_384::digest(b"abc"));
        check::<Sha3_512>(&Sha3_512::digest(b"abc"));
    }

    fn check_xof<X: ExtendableOutput + Reset + Default>(expected: &[u8; 200]) {
        let mut xof = X::default();
        Update::update(&mut xof, b"to be dropped");
        xof.reset();
        Update::update(&mut xof, b"abc");
        let mut out = Array::<u8, digest::consts::U200>::default();
        xof.finalize_xof().read(&mut out);
        assert_eq!(out[..], expected[..]);
    }

    #[test]
    fn outputs_through_the_traits_equal_our_own() {
        let mut expected = [0; 200];
        Shake128::digest(b"abc", &mut expected);
        check_xof::<Shake128>(&expected);
        Shake256::digest(b"abc", &mut expected);
        check_xof::<Shake256>(&expected);
    }
}
