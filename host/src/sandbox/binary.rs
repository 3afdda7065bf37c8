//! The bytes of a component with their SHA-256.

use cofferdam_core::audit::sha256_hex;
use std::borrow::Cow;

/// The bytes of a component, and their SHA-256. One that is embedded in the program was hashed when it was
/// built, so that a start does not read what it does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    sha256: Cow<'static, str>,
    bytes: Cow<'static, [u8]>,
}

impl Binary {
    /// Hashes these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { sha256: sha256_hex(&bytes).into(), bytes: bytes.into() }
    }

    /// A component that was embedded with its SHA-256, in lower-case hex, when the program was built.
    pub(crate) const fn embedded(sha256: &'static str, bytes: &'static [u8]) -> Self {
        Self { sha256: Cow::Borrowed(sha256), bytes: Cow::Borrowed(bytes) }
    }

    /// In lower-case hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The component.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
