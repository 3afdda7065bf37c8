//! A component with its SHA-256: its bytes as a file has them, or what the build made of a builtin.

use super::imports::{Import, Interfaces, NotAComponent, interfaces};
use super::workers::EmbeddedBytes;
use cofferdam_core::audit::sha256_hex;
use cofferdam_ipc::Description;
use serde::Deserialize;
use std::borrow::Cow;

/// A component and its SHA-256. One that is embedded in the program was hashed, compiled and asked
/// what it is when that was built, so that a start does not read what it does not run; its own
/// bytes are not in the program.
#[derive(Clone, Debug)]
pub struct Binary {
    sha256: Cow<'static, str>,
    pub(super) content: ComponentBytes,
}

/// What there is of a component.
#[derive(Clone, Debug)]
pub(super) enum ComponentBytes {
    /// The component.
    Bytes(Vec<u8>),
    /// What the build made of it.
    Embedded(Embedded),
}

/// What was made of a component when the program was built, by the very worker that is embedded in
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Of the component, in lower-case hex.
    pub sha256: &'static str,
    /// Bytes of the component.
    pub size: usize,
    /// Its machine code.
    pub code: EmbeddedBytes,
    /// What it says of itself and imports, as JSON.
    pub told: &'static str,
}

/// What a component says of itself and wants.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ComponentFacts {
    pub(super) description: Description,
    pub(super) imports: Vec<String>,
}

impl Binary {
    /// Hashes these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { sha256: sha256_hex(&bytes).into(), content: ComponentBytes::Bytes(bytes) }
    }

    /// A component of the build.
    pub const fn embedded(made: Embedded) -> Self {
        Self { sha256: Cow::Borrowed(made.sha256), content: ComponentBytes::Embedded(made) }
    }

    /// In lower-case hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Bytes of the component.
    pub fn size(&self) -> usize {
        match &self.content {
            ComponentBytes::Bytes(bytes) => bytes.len(),
            ComponentBytes::Embedded(made) => made.size,
        }
    }

    /// The component, unless it is embedded.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            ComponentBytes::Bytes(bytes) => Some(bytes),
            ComponentBytes::Embedded(_) => None,
        }
    }

    /// Its imports that not every guest is given, in its own order.
    ///
    /// # Errors
    /// [`NotAComponent`] where the bytes are none.
    pub fn imports_beyond_baseline(&self) -> Result<Vec<Import>, NotAComponent> {
        match &self.content {
            ComponentBytes::Bytes(bytes) => Ok(interfaces(bytes)?.beyond_baseline()),
            ComponentBytes::Embedded(made) => {
                let imports = made.read_facts().imports;
                Ok(Interfaces { imports, ..Interfaces::default() }.beyond_baseline())
            }
        }
    }

    /// What it says of itself and wants, where that is embedded.
    pub(super) fn read_facts(&self) -> Option<ComponentFacts> {
        match &self.content {
            ComponentBytes::Bytes(_) => None,
            ComponentBytes::Embedded(made) => Some(made.read_facts()),
        }
    }
}

impl Embedded {
    fn read_facts(&self) -> ComponentFacts {
        serde_json::from_str(self.told).expect("the build wrote it")
    }
}
