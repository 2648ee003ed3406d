//! One case of any vector file, free of the file's format.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A case: where it comes from, and what to do.
#[derive(Clone, Debug)]
pub struct Case {
    /// Parameter set and function, for the summary.
    pub group: String,
    /// Its name within the file.
    pub id: String,
    /// What to compute, and what must come out.
    pub op: Op,
}

/// The form of a decapsulation key.
#[derive(Clone, Debug)]
pub enum Key {
    /// d || z.
    Seed(Vec<u8>),
    /// The bytes of FIPS 203.
    Expanded(Vec<u8>),
}

/// What to compute, and what must come out; `None` as an expected value says that an input must be
/// rejected.
#[derive(Clone, Debug)]
#[allow(
    missing_docs,
    reason = "fields carry the names of FIPS 203; k is the dimension that selects the parameter set"
)]
pub enum Op {
    /// Key generation from d || z.
    KeyGen { k: usize, seed: Vec<u8>, ek: Vec<u8>, dk: Vec<u8> },
    /// Encapsulation with the message m; expected are the ciphertext and the secret.
    Encap { k: usize, ek: Vec<u8>, m: Vec<u8>, expected: Option<(Vec<u8>, Vec<u8>)> },
    /// Decapsulation; `ek` is what the key must hold, where the file says so.
    Decap { k: usize, key: Key, ek: Option<Vec<u8>>, c: Vec<u8>, expected: Option<Vec<u8>> },
    /// The check of section 7.2.
    EkCheck { k: usize, ek: Vec<u8>, valid: bool },
    /// The check of section 7.3.
    DkCheck { k: usize, dk: Vec<u8>, valid: bool },
    /// A count of a NIST KAT file; `seed` is the 48 bytes for the DRBG.
    NistKat { k: usize, seed: Vec<u8>, pk: Vec<u8>, sk: Vec<u8>, ct: Vec<u8>, ss: Vec<u8> },
    /// A hash or a MAC; `valid` false says that the output must differ.
    Hash { input: HashInput, output: Vec<u8>, valid: bool },
    /// 1000 digests in a chain (SHA3VS section 6.2.3).
    Sha3Monte { bits: usize, seed: Vec<u8>, output: Vec<u8> },
    /// 1000 outputs in a chain, whose length each chooses the next length (SHA3VS section 6.3.3).
    ShakeMonte {
        bits: usize,
        message: Vec<u8>,
        out_len: usize,
        range: (usize, usize),
        output: Vec<u8>,
    },
}

/// A function of the Keccak family and its strength, such as SHA3-256 or KMACXOF128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The family.
    pub family: Family,
    /// The number in its name.
    pub bits: usize,
}

macro_rules! families {
    ($($name:ident = $text:literal),+) => {
        /// A family of functions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family { $(#[doc = concat!("`", $text, "` and a number.")] $name),+ }

        const FAMILIES: &[(Family, &str)] = &[$((Family::$name, $text)),+];
    };
}

families!(
    Sha3 = "SHA3-",
    Shake = "SHAKE",
    CShake = "cSHAKE",
    Kmac = "KMAC",
    KmacXof = "KMACXOF",
    TurboShake = "TurboSHAKE",
    TupleHash = "TupleHash",
    TupleHashXof = "TupleHashXOF",
    ParallelHash = "ParallelHash",
    ParallelHashXof = "ParallelHashXOF",
    KangarooTwelve = "KT"
);

impl FromStr for Function {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || format!("unknown function {name:?}");
        let (family, prefix) = FAMILIES
            .iter()
            .filter(|(_, prefix)| name.starts_with(prefix))
            .max_by_key(|(_, prefix)| prefix.len())
            .ok_or_else(unknown)?;
        let bits = name[prefix.len()..].parse().map_err(|_| unknown())?;
        let strengths: &[usize] =
            if *family == Family::Sha3 { &[224, 256, 384, 512] } else { &[128, 256] };
        if strengths.contains(&bits) { Ok(Self { family: *family, bits }) } else { Err(unknown()) }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FAMILIES
            .iter()
            .find(|(family, _)| *family == self.family)
            .map_or("?", |(_, name)| name);
        write!(f, "{name}{}", self.bits)
    }
}

/// Bytes, or the pattern of RFC 9861: the first n bytes of 00 01 .. FA repeated.
#[derive(Clone, Debug)]
pub enum Message {
    /// The bytes.
    Bytes(Vec<u8>),
    /// n.
    Pattern(usize),
}

impl Message {
    /// The bytes themselves; a pattern can have 24 million of them, so it is made only when asked
    /// for.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::Pattern(len) => (0..*len).map(|i| (i % 251) as u8).collect::<Vec<_>>().into(),
        }
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

/// Every input that some function of the family takes; a function reads those that it has.
#[derive(Clone, Debug)]
pub struct HashInput {
    /// The function.
    pub function: Function,
    /// The message.
    pub message: Message,
    /// K of KMAC.
    pub key: Vec<u8>,
    /// N of cSHAKE.
    pub name: Vec<u8>,
    /// S of cSHAKE and of what is built on it, C of KangarooTwelve.
    pub customization: Message,
    /// D of TurboSHAKE.
    pub domain: u8,
    /// The strings of TupleHash.
    pub tuple: Vec<Vec<u8>>,
    /// B of ParallelHash.
    pub block_size: usize,
    /// Bytes of output to ask for.
    pub out_len: usize,
    /// The expected output is this many last bytes of it.
    pub last_bytes: usize,
}

impl HashInput {
    /// Message and output length, all else empty.
    pub fn new(function: Function, message: Message, out_len: usize) -> Self {
        Self {
            function,
            message,
            out_len,
            last_bytes: out_len,
            key: Vec::new(),
            name: Vec::new(),
            customization: Message::default(),
            domain: 0x1f,
            tuple: Vec::new(),
            block_size: 0,
        }
    }
}

/// "ML-KEM-512" and so on.
pub fn set_name(k: usize) -> String {
    format!("ML-KEM-{}", 256 * k)
}

/// The dimension for "ML-KEM-512" and so on.
pub fn set_named(name: &str) -> Option<usize> {
    (2..=4).find(|k| set_name(*k) == name)
}
