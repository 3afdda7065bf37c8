//! Whose certificates are trusted besides those of the public authorities: what an operator behind
//! a company's own authority names.
//!
//! Known to the whole process before any client is made, so that no edge can forget it. Names,
//! times and chains are checked as ever.

use reqwest::{Certificate, Client, ClientBuilder};
use std::sync::OnceLock;

static TRUSTED: OnceLock<Vec<Certificate>> = OnceLock::new();

/// Why a text names no authorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAuthorities {
    /// It has none.
    #[error("it holds no certificate; write them in PEM, each from -----BEGIN CERTIFICATE-----")]
    None,
    /// One of them is none.
    #[error("a certificate in it is malformed; write the authority's own, in PEM")]
    Malformed,
}

/// Has every client that this process makes from here on trust the authorities of a text in PEM.
/// What else is in it is left alone. Only the first time counts.
///
/// # Errors
/// [`BadAuthorities`]: one that is malformed refuses all of them.
pub fn trust_authorities(pem: &[u8]) -> Result<(), BadAuthorities> {
    let found = Certificate::from_pem_bundle(pem).map_err(|_| BadAuthorities::Malformed)?;
    if found.is_empty() {
        return Err(BadAuthorities::None);
    }
    // What is in them is looked at when a client is made, and no sooner.
    add_authorities(Client::builder(), &found).build().map_err(|_| BadAuthorities::Malformed)?;
    let _ = TRUSTED.set(found);
    Ok(())
}

/// How many this process trusts; none where the operator names no file.
pub fn authority_count() -> Option<usize> {
    TRUSTED.get().map(Vec::len)
}

fn add_authorities(builder: ClientBuilder, authorities: &[Certificate]) -> ClientBuilder {
    authorities.iter().cloned().fold(builder, ClientBuilder::add_root_certificate)
}

/// A client that trusts the operator's authorities, if there are any, besides the public ones.
pub fn client_builder(builder: ClientBuilder) -> ClientBuilder {
    match TRUSTED.get() {
        Some(authorities) => add_authorities(builder, authorities),
        None => builder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_sound_certificate_is_refused() {
        let wrapped =
            |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        for (pem, said) in [
            (String::new(), BadAuthorities::None),
            ("no PEM at all".to_owned(), BadAuthorities::None),
            ("-----BEGIN CERTIFICATE-----\n".to_owned(), BadAuthorities::Malformed),
            (wrapped("!"), BadAuthorities::Malformed),
            (wrapped("aGVsbG8="), BadAuthorities::Malformed),
        ] {
            assert_eq!(trust_authorities(pem.as_bytes()), Err(said), "{pem:?}");
        }
    }
}
