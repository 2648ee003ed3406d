//! FIPS 202 and SP 800-185, and TurboSHAKE from RFC 9861. A message is a whole slice, an output a
//! `Vec`. The state is A\[x\]\[y\] of 64-bit lanes; bit z of a lane is the z-th bit of the
//! standard's A\[x, y, z\].

use std::sync::LazyLock;

/// The state array A\[x\]\[y\] of FIPS 202 section 3.1, with a lane as one integer.
type State = [[u64; 5]; 5];

/// Step mapping theta, section 3.2.1.
fn theta(a: &State) -> State {
    let c = a.map(|sheet| sheet.iter().fold(0, |sum, lane| sum ^ lane));
    let d = |x: usize| c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1);
    build(|x, y| a[x][y] ^ d(x))
}

/// Step mapping rho, section 3.2.2: lane t of the walk is rotated by (t + 1)(t + 2) / 2.
fn rho(a: &State) -> State {
    let mut out = *a;
    let (mut x, mut y) = (1, 0);
    for t in 0..24 {
        out[x][y] = a[x][y].rotate_left((t + 1) * (t + 2) / 2 % 64);
        (x, y) = (y, (2 * x + 3 * y) % 5);
    }
    out
}

/// Step mapping pi, section 3.2.3.
fn pi(a: &State) -> State {
    build(|x, y| a[(x + 3 * y) % 5][x])
}

/// Step mapping chi, section 3.2.4.
fn chi(a: &State) -> State {
    build(|x, y| a[x][y] ^ (!a[(x + 1) % 5][y] & a[(x + 2) % 5][y]))
}

/// RC of step mapping iota for each round, section 3.2.5: RC\[2^j - 1\] = rc(j + 7 ir).
static RC: LazyLock<[u64; 24]> = LazyLock::new(|| {
    let constant = |round| (0..=6).map(|j| u64::from(rc(j + 7 * round)) << ((1 << j) - 1)).sum();
    std::array::from_fn(constant)
});

/// Step mapping iota, section 3.2.5.
fn iota(a: &State, round: usize) -> State {
    let mut out = *a;
    out[0][0] ^= RC[round];
    out
}

/// The bit rc(t) of section 3.2.5, from the linear feedback shift register R.
fn rc(t: usize) -> bool {
    let mut r = vec![true, false, false, false, false, false, false, false];
    for _ in 0..t % 255 {
        r.insert(0, false);
        let last = r[8];
        for tap in [0, 4, 5, 6] {
            r[tap] ^= last;
        }
        r.truncate(8);
    }
    r[0]
}

fn build(lane: impl Fn(usize, usize) -> u64) -> State {
    std::array::from_fn(|x| std::array::from_fn(|y| lane(x, y)))
}

/// Keccak-p\[1600, rounds\], section 3.3, on lanes in the order A\[x + 5y\]: the last `rounds`
/// rounds of Keccak-f.
pub fn keccak_p(lanes: &mut [u64; 25], rounds: usize) {
    let mut a = build(|x, y| lanes[x + 5 * y]);
    for round in 24 - rounds..24 {
        a = iota(&chi(&pi(&rho(&theta(&a)))), round);
    }
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = a[i % 5][i / 5];
    }
}

/// SPONGE\[Keccak-p\[1600, rounds\], pad10*1, 8 rate\], section 4, with an output of `d` bytes.
///
/// `suffix` holds the bits appended to the message, lowest first, then the first bit of the
/// padding: 0x06 for M || 01, 0x1f for M || 1111, 0x04 for M || 00.
pub fn sponge(rate: usize, rounds: usize, message: &[u8], suffix: u8, d: usize) -> Vec<u8> {
    let mut padded = message.to_vec();
    padded.push(suffix);
    padded.resize(padded.len().next_multiple_of(rate), 0);
    *padded.last_mut().expect("not empty: the suffix was pushed") ^= 0x80;

    let mut s = [0u64; 25];
    for block in padded.chunks(rate) {
        for (i, byte) in block.iter().enumerate() {
            s[i / 8] ^= u64::from(*byte) << (8 * (i % 8));
        }
        keccak_p(&mut s, rounds);
    }
    let mut z = Vec::new();
    loop {
        z.extend(s.iter().flat_map(|lane| lane.to_le_bytes()).take(rate));
        if z.len() >= d {
            z.truncate(d);
            return z;
        }
        keccak_p(&mut s, rounds);
    }
}

/// SHA3-`bits`, section 6.1: capacity twice the output.
pub fn sha3(bits: usize, message: &[u8]) -> Vec<u8> {
    sponge(rate(bits), 24, message, 0x06, bits / 8)
}

/// SHAKE`bits`, section 6.2.
pub fn shake(bits: usize, message: &[u8], d: usize) -> Vec<u8> {
    sponge(rate(bits), 24, message, 0x1f, d)
}

/// TurboSHAKE`bits`, RFC 9861 section 2: 12 rounds and a domain byte.
pub fn turbo_shake(bits: usize, message: &[u8], domain: u8, d: usize) -> Vec<u8> {
    sponge(rate(bits), 12, message, domain, d)
}

/// cSHAKE`bits`(X, L, N, S), SP 800-185 section 3.3.
pub fn cshake(bits: usize, x: &[u8], d: usize, n: &[u8], s: &[u8]) -> Vec<u8> {
    if n.is_empty() && s.is_empty() {
        return shake(bits, x, d);
    }
    let prefix = bytepad(&[encode_string(n), encode_string(s)].concat(), rate(bits));
    sponge(rate(bits), 24, &[&prefix, x].concat(), 0x04, d)
}

/// KMAC`bits`(K, X, L, S), SP 800-185 section 4.3.
pub fn kmac(bits: usize, k: &[u8], x: &[u8], d: usize, s: &[u8]) -> Vec<u8> {
    kmac_with_length(bits, k, x, d, s, 8 * d)
}

/// KMACXOF`bits`(K, X, L, S), SP 800-185 section 4.3.1.
pub fn kmac_xof(bits: usize, k: &[u8], x: &[u8], d: usize, s: &[u8]) -> Vec<u8> {
    kmac_with_length(bits, k, x, d, s, 0)
}

fn kmac_with_length(bits: usize, k: &[u8], x: &[u8], d: usize, s: &[u8], l: usize) -> Vec<u8> {
    let new_x = [&bytepad(&encode_string(k), rate(bits)), x, &right_encode(l)].concat();
    cshake(bits, &new_x, d, b"KMAC", s)
}

/// Bytes of the rate for a capacity of twice `bits` bits.
pub fn rate(bits: usize) -> usize {
    (1600 - 2 * bits) / 8
}

/// right_encode(x), SP 800-185 section 2.3.1.
pub fn right_encode(x: usize) -> Vec<u8> {
    let mut out = minimal_big_endian(x);
    out.push(out.len() as u8);
    out
}

/// left_encode(x), SP 800-185 section 2.3.1.
pub fn left_encode(x: usize) -> Vec<u8> {
    let mut out = minimal_big_endian(x);
    out.insert(0, out.len() as u8);
    out
}

/// encode_string(S), SP 800-185 section 2.3.2.
pub fn encode_string(s: &[u8]) -> Vec<u8> {
    [&left_encode(8 * s.len()), s].concat()
}

/// bytepad(X, w), SP 800-185 section 2.3.3.
pub fn bytepad(x: &[u8], w: usize) -> Vec<u8> {
    let mut z = [&left_encode(w), x].concat();
    z.resize(z.len().next_multiple_of(w), 0);
    z
}

/// At least one byte, also for zero.
fn minimal_big_endian(x: usize) -> Vec<u8> {
    let bytes = x.to_be_bytes();
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    bytes[zeros.min(bytes.len() - 1)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published with the Keccak submission (KeccakF-1600-IntermediateValues).
    #[test]
    fn zero_state_permutation() {
        let mut lanes = [0; 25];
        keccak_p(&mut lanes, 24);
        assert_eq!(lanes, crate::digests::ZERO_STATE_PERMUTED);
    }

    /// The empty-message values that NIST prints for FIPS 202, and for cSHAKE and KMAC in its SP
    /// 800-185 samples.
    #[test]
    fn published_digests() {
        let hex = hex::encode::<Vec<u8>>;
        assert_eq!(hex(sha3(224, b"")), "6b4e03423667dbb73b6e15454f0eb1abd4597f9a1b078e3f5b5a6bc7");
        assert_eq!(
            hex(sha3(256, b"")),
            "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"
        );
        assert_eq!(
            hex(sha3(384, b"")),
            "0c63a75b845e4f7d01107d852e4c2485c51a50aaaa94fc61995e71bbee983a2ac3713831264adb47fb6bd1e058d5f004"
        );
        assert!(
            hex(sha3(512, b""))
                .starts_with("a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a6")
        );
        assert_eq!(hex(shake(128, b"", 16)), "7f9c2ba4e88f827d616045507605853e");
        assert_eq!(hex(shake(256, b"", 16)), "46b9dd2b0ba88d13233b3feb743eeb24");
        let x = [0, 1, 2, 3];
        assert!(
            hex(cshake(128, &x, 32, b"", b"Email Signature"))
                .starts_with("c1c36925b6409a04f1b504fcbca9d82b")
        );
        let key: Vec<u8> = (0x40..0x60).collect();
        assert!(hex(kmac(128, &key, &x, 32, b"")).starts_with("e5780b0d3ea6f7d3a429c5706aa43a00"));
        assert!(
            hex(kmac_xof(128, &key, &x, 32, b"")).starts_with("cd83740bbd92ccc8cf032b1481a0f446")
        );
        assert!(
            hex(turbo_shake(128, b"", 0x1f, 32)).starts_with("1e415f1c5983aff2169217277d17bb53")
        );
    }

    /// SP 800-185 prints right_encode(0) = 00 01 and left_encode(0) = 01 00.
    #[test]
    fn encodings() {
        assert_eq!((right_encode(0), left_encode(0)), (vec![0, 1], vec![1, 0]));
        assert_eq!((right_encode(256), left_encode(256)), (vec![1, 0, 2], vec![2, 1, 0]));
    }
}
