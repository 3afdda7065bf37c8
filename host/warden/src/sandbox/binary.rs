//! The bytes of a component with their SHA-256.

use cofferdam_core::audit::sha256_hex;
use cofferdam_ipc::Description;
use serde::Deserialize;
use std::borrow::Cow;

/// The bytes of a component, and their SHA-256. One that is embedded in the program was hashed, compiled and asked what it
/// is when that was built, so that a start does not read what it does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    sha256: Cow<'static, str>,
    bytes: Cow<'static, [u8]>,
    /// Only of what was embedded.
    made: Option<Made>,
}

/// What was made of a component when the program was built, by the very worker that is embedded in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Made {
    code: &'static [u8],
    /// A [`Told`] as JSON.
    told: &'static str,
}

/// What a component says of itself and wants.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    pub(super) description: Description,
    pub(super) imports: Vec<String>,
}

impl Binary {
    /// Hashes these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { sha256: sha256_hex(&bytes).into(), bytes: bytes.into(), made: None }
    }

    /// A component that was embedded with its SHA-256, in lower-case hex, when the program was built; `code` is its
    /// machine code, and `told` what it says of itself.
    pub const fn embedded(
        sha256: &'static str,
        bytes: &'static [u8],
        code: &'static [u8],
        told: &'static str,
    ) -> Self {
        let made = Some(Made { code, told });
        Self { sha256: Cow::Borrowed(sha256), bytes: Cow::Borrowed(bytes), made }
    }

    /// In lower-case hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The component.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its machine code, where that is embedded.
    pub(super) fn code(&self) -> Option<&'static [u8]> {
        self.made.map(|made| made.code)
    }

    /// What it says of itself and wants, where that is embedded.
    pub(super) fn told(&self) -> Option<Told> {
        self.made.map(|made| serde_json::from_str(made.told).expect("the build wrote it"))
    }
}
