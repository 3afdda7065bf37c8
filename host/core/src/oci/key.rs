//! The public key of who signs components: ECDSA on P-256, or Ed25519.
//!
//! Of the encoding (SubjectPublicKeyInfo, RFC 5280) exactly one spelling of each is taken, so that
//! nothing is left to a parser.

use crate::as_text::serialized_as_shown;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// What stands before the uncompressed point of a P-256 key.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const P256_POINT_BYTES: usize = 65;
/// What stands before the bytes of an Ed25519 key.
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const ED25519_BYTES: usize = 32;
/// No public key of these kinds is near it, nor a certificate that somebody takes for one.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Which signatures a key verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// ECDSA on P-256 with SHA-256, in DER.
    EcdsaP256,
    /// Ed25519.
    Ed25519,
}

/// A public key. Anyone who has the private one signs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignerKey {
    kind: KeyKind,
    der: Vec<u8>,
}

/// Why a text is no public key that signatures are verified with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSignerKey {
    /// A certificate.
    #[error(
        "is a certificate; identities of certificates are not verified, so sign with a key of your own \
         (cosign generate-key-pair) and write its public key"
    )]
    Certificate,
    /// The private half.
    #[error("is a private key, which nobody but the signer should have; write the public key")]
    Private,
    /// Another kind of key.
    #[error("is neither a P-256 nor an Ed25519 public key; write one as `cosign generate-key-pair` makes it")]
    OtherKind,
    /// Nothing of the sort.
    #[error(
        "is no public key; write it in PEM, or what stands between its lines -----BEGIN PUBLIC KEY----- and \
         -----END PUBLIC KEY----- as one word"
    )]
    Malformed,
}

impl SignerKey {
    /// Which signatures it verifies.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The key without its encoding: the point, or the 32 bytes.
    pub fn raw(&self) -> &[u8] {
        match self.kind {
            KeyKind::EcdsaP256 => &self.der[P256.len()..],
            KeyKind::Ed25519 => &self.der[ED25519.len()..],
        }
    }

    /// SHA-256 of its encoding, in lower-case hex.
    pub fn fingerprint(&self) -> String {
        hex::encode(Sha256::digest(&self.der))
    }
}

impl FromStr for SignerKey {
    type Err = BadSignerKey;

    fn from_str(text: &str) -> Result<Self, BadSignerKey> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(BadSignerKey::Malformed);
        }
        let der = STANDARD.decode(body(text.trim())?).map_err(|_| BadSignerKey::Malformed)?;
        let is_of = |head: &[u8], bytes: usize| der.starts_with(head) && der.len() == head.len() + bytes;
        // Compressed points are another spelling of the same key.
        let kind = if is_of(&P256, P256_POINT_BYTES) && der[P256.len()] == 4 {
            KeyKind::EcdsaP256
        } else if is_of(&ED25519, ED25519_BYTES) {
            KeyKind::Ed25519
        } else {
            return Err(BadSignerKey::OtherKind);
        };
        Ok(Self { kind, der })
    }
}

/// The base64 of a text in PEM, or the text itself.
fn body(text: &str) -> Result<String, BadSignerKey> {
    const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
    const END: &str = "-----END PUBLIC KEY-----";
    if text.contains("BEGIN CERTIFICATE") {
        return Err(BadSignerKey::Certificate);
    }
    if text.contains("PRIVATE KEY") {
        return Err(BadSignerKey::Private);
    }
    if !text.starts_with("-----") {
        return Ok(text.to_owned());
    }
    let inner = text.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    Ok(inner.ok_or(BadSignerKey::Malformed)?.split_ascii_whitespace().collect())
}

/// As one word, as a policy may have it.
impl fmt::Display for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(&self.der))
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignerKey({self})")
    }
}

serialized_as_shown! { SignerKey }

#[cfg(test)]
mod tests {
    use super::*;

    fn der(head: &[u8], rest: &[u8]) -> String {
        STANDARD.encode([head, rest].concat())
    }

    #[test]
    fn what_is_no_such_public_key_is_refused() {
        let pem =
            |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
        let point = [&[4][..], &[7; 64]].concat();
        let good = der(&P256, &point);
        for (text, said) in [
            (String::new(), BadSignerKey::OtherKind),
            ("cosign.pub".to_owned(), BadSignerKey::Malformed),
            (pem("PUBLIC KEY", "!"), BadSignerKey::Malformed),
            (pem("RSA PUBLIC KEY", &good), BadSignerKey::Malformed),
            (pem("CERTIFICATE", &good), BadSignerKey::Certificate),
            (pem("ENCRYPTED SIGSTORE PRIVATE KEY", &good), BadSignerKey::Private),
            (pem("PUBLIC KEY", &good).repeat(2), BadSignerKey::Malformed),
            (der(&P256, &point[..64]), BadSignerKey::OtherKind),
            (der(&P256, &[&[2][..], &[7; 64]].concat()), BadSignerKey::OtherKind),
            (der(&ED25519, &[7; 33]), BadSignerKey::OtherKind),
            ("A".repeat(TEXT_BYTES_MAX + 1), BadSignerKey::Malformed),
        ] {
            assert_eq!(text.parse::<SignerKey>(), Err(said), "{text}");
        }
    }

    #[test]
    fn a_key_is_the_same_in_pem_and_as_one_word() {
        for (head, raw, kind) in [
            (&P256[..], [&[4][..], &[7; 64]].concat(), KeyKind::EcdsaP256),
            (&ED25519[..], vec![7; 32], KeyKind::Ed25519),
        ] {
            let word = der(head, &raw);
            let (one, two) = word.split_at(20);
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{one}\n{two}\n-----END PUBLIC KEY-----\n");
            let key: SignerKey = pem.parse().expect("a key");
            assert_eq!((key.kind(), key.raw(), key.to_string()), (kind, &raw[..], word.clone()));
            assert_eq!(word.parse(), Ok(key));
        }
    }
}
