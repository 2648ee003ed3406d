//! Sampling and coding (FIPS 203 section 4.2).
