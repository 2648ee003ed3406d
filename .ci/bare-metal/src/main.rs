//! An exchange, or the tests, or nothing: what differs between the programs is what the library takes.
#![no_std]
#![no_main]

#[cfg(any(feature = "ml-kem-512", feature = "ml-kem-768", feature = "ml-kem-1024"))]
mod exchange;

#[cfg(any(feature = "ml-kem-512", feature = "ml-kem-768", feature = "ml-kem-1024"))]
use exchange::run;

use cortex_m as _;
use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    end(false)
}

fn end(well: bool) -> ! {
    debug::exit(if well { EXIT_SUCCESS } else { EXIT_FAILURE });
    loop {}
}

#[entry]
fn main() -> ! {
    end(run())
}

#[cfg(not(any(
    feature = "ml-kem-512",
    feature = "ml-kem-768",
    feature = "ml-kem-1024",
    feature = "test"
)))]
fn run() -> bool {
    true
}

#[cfg(feature = "test")]
fn run() -> bool {
    use kyber::{DecapsulationKey, MlKem, ParameterSet, Seed, SmallDecapsulationKey};
    fn agree<const K: usize>() -> bool
    where
        MlKem<K>: ParameterSet,
    {
        let seed = Seed::from(&[K as u8; 64]);
        let small = SmallDecapsulationKey::<K>::from_seed(&seed);
        let ek = small.encapsulation_key();
        let (ciphertext, secret) = ek.encap_deterministic(&[9; 32]);
        let key = DecapsulationKey::<K>::from_seed(&seed);
        ek.as_bytes() == key.encapsulation_key().as_bytes()
            && key.decap(&ciphertext) == secret
            && small.decap(&ciphertext) == secret
    }
    kyber::self_test().is_ok() && agree::<2>() && agree::<3>() && agree::<4>()
}
