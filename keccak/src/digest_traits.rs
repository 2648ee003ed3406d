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
