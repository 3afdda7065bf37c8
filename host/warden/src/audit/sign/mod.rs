//! Signed heads: who holds the key says, at a time, that the chain's last record was this one.
//!
//! A signature shows that a log was cut or written anew only if the statement, or the public key
//! and the statements, are kept where those who write the log do not write. The private key is in
//! one file that its owner alone reads, and in no message.

mod key;
mod signer;
mod statement;
#[cfg(test)]
mod tests;

pub use key::{KeyError, PublicKey, SecretKey};
pub use signer::{SIGNATURES, append};
pub use statement::{Forged, STATEMENTS_MAX, Statement, read};
