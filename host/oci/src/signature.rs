//! Signatures of components as cosign makes them with a key, in both of its formats: the payload
//! of simple signing, and a statement in a DSSE envelope.
//!
//! Identities of certificates (keyless signing) are not verified: what has no key of the operator's
//! is no signature here.
//!
//! <https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>,
//! <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::json::parse_strict;
use cofferdam_core::oci::{ContentDigest, KeyKind, SignerKey};
use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a payload of simple signing says it is.
const SIMPLE: &str = "cosign container image signature";
/// The type of a statement in an envelope.
const STATEMENT: &str = "application/vnd.in-toto+json";
/// What such a statement says of a component: that it was signed, and no more.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// How what is signed is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SignatureFormat {
    /// JSON that is signed as it is.
    SimpleSigning,
    /// A statement, signed with its type and length before it.
    Dsse,
}

/// A signature, not verified until [`Signature::verify`] says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    format: SignatureFormat,
    #[serde(with = "as_base64")]
    payload: Vec<u8>,
    #[serde(with = "as_base64")]
    signature: Vec<u8>,
}

/// Why a signature does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unverified {
    /// It was made by somebody else, or what was signed was changed since.
    #[error("was not made with this key")]
    OtherKey,
    /// The signer means something else.
    #[error("was made with this key, of another component")]
    OtherComponent,
    /// The signer says something else of it.
    #[error("was made with this key, and says something else than that the component is signed")]
    OtherStatement,
}

impl Signature {
    /// A payload of simple signing, and its signature in base64; none where that is malformed.
    pub(crate) fn from_simple(payload: Vec<u8>, signature: &str) -> Option<Self> {
        let signature = STANDARD.decode(signature).ok()?;
        Some(Self { format: SignatureFormat::SimpleSigning, payload, signature })
    }

    /// The first signatures of a bundle of Sigstore's with an envelope, at most so many: each holds
    /// the payload. None where it has none.
    pub(crate) fn from_bundle(bundle: &[u8], most: usize) -> Vec<Self> {
        let Some((payload, signatures)) = read_envelope(bundle) else { return Vec::new() };
        let of = |signature| Self { format: SignatureFormat::Dsse, payload: payload.clone(), signature };
        signatures.into_iter().take(most).map(of).collect()
    }

    /// Whether `key` signed the component whose manifest has this digest.
    ///
    /// # Errors
    /// [`Unverified`].
    pub fn verify(&self, key: &SignerKey, digest: &ContentDigest) -> Result<(), Unverified> {
        let algorithm: &dyn ring::signature::VerificationAlgorithm = match key.kind() {
            KeyKind::EcdsaP256 => &ECDSA_P256_SHA256_ASN1,
            KeyKind::Ed25519 => &ED25519,
        };
        // The signature comes first: what is not the signer's is not even parsed.
        let verified =
            UnparsedPublicKey::new(algorithm, key.raw()).verify(&self.signed_bytes(), &self.signature);
        verified.map_err(|_| Unverified::OtherKey)?;
        match self.format {
            SignatureFormat::SimpleSigning => check_simple(&self.payload, digest),
            SignatureFormat::Dsse => check_statement(&self.payload, digest),
        }
    }

    /// The bytes that were signed.
    fn signed_bytes(&self) -> Vec<u8> {
        match self.format {
            SignatureFormat::SimpleSigning => self.payload.clone(),
            SignatureFormat::Dsse => {
                let head = format!("DSSEv1 {} {STATEMENT} {} ", STATEMENT.len(), self.payload.len());
                [head.as_bytes(), &self.payload].concat()
            }
        }
    }
}

/// What somebody wrote, as JSON: two readers of a key that is given twice would disagree.
fn parse(bytes: &[u8]) -> Option<Value> {
    parse_strict(std::str::from_utf8(bytes).ok()?).ok()
}

/// The payload of a bundle's envelope, if it is a statement, and its signatures.
fn read_envelope(bundle: &[u8]) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let bundle = parse(bundle)?;
    let envelope = bundle.get("dsseEnvelope")?;
    let bytes = |within: &Value, key: &str| STANDARD.decode(within.get(key)?.as_str()?).ok();
    let signatures = envelope.get("signatures")?.as_array()?.iter().map(|one| bytes(one, "sig"));
    let (payload, signatures) = (bytes(envelope, "payload")?, signatures.collect::<Option<_>>()?);
    (envelope.get("payloadType")?.as_str()? == STATEMENT).then_some((payload, signatures))
}

fn check_simple(payload: &[u8], digest: &ContentDigest) -> Result<(), Unverified> {
    let payload = parse(payload).ok_or(Unverified::OtherStatement)?;
    let text = |place: &str| payload.pointer(place).and_then(Value::as_str);
    if text("/critical/type") != Some(SIMPLE) {
        return Err(Unverified::OtherStatement);
    }
    let signed = text("/critical/image/docker-manifest-digest").ok_or(Unverified::OtherStatement)?;
    if signed == digest.to_string() { Ok(()) } else { Err(Unverified::OtherComponent) }
}

fn check_statement(payload: &[u8], digest: &ContentDigest) -> Result<(), Unverified> {
    let statement = parse(payload).ok_or(Unverified::OtherStatement)?;
    let text = |key: &str| statement.get(key).and_then(Value::as_str);
    if text("_type") != Some("https://in-toto.io/Statement/v1") || text("predicateType") != Some(SIGNED) {
        return Err(Unverified::OtherStatement);
    }
    let subjects = statement.get("subject").and_then(Value::as_array).ok_or(Unverified::OtherStatement)?;
    let signed = subjects.iter().map(|subject| subject.pointer("/digest/sha256")?.as_str());
    let signed: Vec<&str> = signed.collect::<Option<_>>().ok_or(Unverified::OtherStatement)?;
    let same = signed.contains(&digest.hex());
    if same { Ok(()) } else { Err(Unverified::OtherComponent) }
}

mod as_base64 {
    use super::{Engine, STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(d)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
