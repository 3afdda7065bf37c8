//! Components in OCI registries, as policies name them: by registry, repository and digest, and
//! by the public key of who signed them.
//!
//! Names and keys alone: nothing is asked, and no signature is verified here.

mod key;

pub use key::{BadSignerKey, KeyKind, SignerKey};

use crate::as_text::serialized_as_shown;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Longest registry, and longest repository; OCI's own bound of the two together is 255.
const NAME_BYTES_MAX: usize = 255;

/// A SHA-256, shown as `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest(String);

impl ContentDigest {
    /// That of these bytes.
    pub fn hash(bytes: &[u8]) -> Self {
        Self(hex::encode(Sha256::digest(bytes)))
    }

    /// The hex digits alone.
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl FromStr for ContentDigest {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, BadReference> {
        let hex = text.strip_prefix("sha256:").ok_or(BadReference::Algorithm)?;
        let is_hex = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex { Ok(Self(hex.to_owned())) } else { Err(BadReference::Digest) }
    }
}

/// A component in a registry: `REGISTRY/REPOSITORY@sha256:HEX`. The digest is that of the manifest,
/// and it alone says what is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageReference {
    registry: String,
    repository: String,
    digest: ContentDigest,
}

/// Why a text names no component of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReference {
    /// A tag, or nothing, in place of the digest.
    #[error(
        "names no digest, and a tag can mean something else tomorrow; write REGISTRY/NAME@sha256:…, \
         with the digest that `oras resolve` or `crane digest` prints for the tag"
    )]
    NoDigest,
    /// A tag before the digest.
    #[error("has a tag beside the digest, which says everything; take the tag out")]
    Tag,
    /// Another hash.
    #[error("has a digest that is not sha256; write REGISTRY/NAME@sha256:…")]
    Algorithm,
    /// No 64 hex digits.
    #[error("has a digest that is not 64 lower-case hex digits; write all of it, as the registry shows it")]
    Digest,
    /// A scheme.
    #[error("begins with a scheme; write REGISTRY/NAME@sha256:… without it")]
    Scheme,
    /// A name without the host that has it.
    #[error("does not begin with the registry's host; write e.g. ghcr.io/acme/tool@sha256:…")]
    NoRegistry,
    /// A host or port that no registry has.
    #[error(
        "has a registry that is no host; write e.g. ghcr.io or registry.example.com:5000, in small letters"
    )]
    Registry,
    /// A repository that no registry has.
    #[error(
        "has a name that no registry takes; write parts of small letters, digits and . _ - between them, \
         e.g. ghcr.io/acme/tool@sha256:…"
    )]
    Repository,
}

impl ImageReference {
    /// Host, and port where one is written.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name in the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The digest of the manifest.
    pub fn digest(&self) -> &ContentDigest {
        &self.digest
    }
}

impl FromStr for ImageReference {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, BadReference> {
        if text.contains("://") {
            return Err(BadReference::Scheme);
        }
        let (name, digest) = text.split_once('@').ok_or(BadReference::NoDigest)?;
        let (registry, repository) = name.split_once('/').ok_or(BadReference::NoRegistry)?;
        // As everywhere: what has neither dot nor port is a name of some default registry.
        if !registry.contains(['.', ':']) && registry != "localhost" {
            return Err(BadReference::NoRegistry);
        }
        if !is_registry(registry) {
            return Err(BadReference::Registry);
        }
        if repository.contains(':') {
            return Err(BadReference::Tag);
        }
        if repository.len() > NAME_BYTES_MAX || !repository.split('/').all(is_part) {
            return Err(BadReference::Repository);
        }
        let (registry, repository) = (registry.to_owned(), repository.to_owned());
        Ok(Self { registry, repository, digest: digest.parse()? })
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.registry, self.repository, self.digest)
    }
}

serialized_as_shown! { ImageReference }

/// `HOST` or `HOST:PORT`, a name or an IPv4 address.
fn is_registry(text: &str) -> bool {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !label.is_empty() && label.bytes().all(plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_port = |port: &str| {
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    text.len() <= NAME_BYTES_MAX && host.split('.').all(is_label) && port.is_none_or(is_port)
}

/// One part of a repository: `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`.
fn is_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = part.split(is_plain).filter(|run| !run.is_empty());
    let mut all = separators.map(|run| matches!(run, "." | "_" | "__") || run.bytes().all(|b| b == b'-'));
    part.starts_with(is_plain) && part.ends_with(is_plain) && all.all(|is_one| is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn what_names_no_one_component_is_refused() {
        let at = |name: &str| format!("{name}@sha256:{HEX}");
        for (text, said) in [
            ("ghcr.io/acme/tool".to_owned(), BadReference::NoDigest),
            ("ghcr.io/acme/tool:1.0".to_owned(), BadReference::NoDigest),
            (at("ghcr.io/acme/tool:1.0"), BadReference::Tag),
            (at("https://ghcr.io/acme/tool"), BadReference::Scheme),
            (at("oci://ghcr.io/acme/tool"), BadReference::Scheme),
            (at("acme/tool"), BadReference::NoRegistry),
            (at("tool"), BadReference::NoRegistry),
            (at("Ghcr.io/acme"), BadReference::Registry),
            (at("ghcr..io/acme"), BadReference::Registry),
            (at("ghcr.io:/acme"), BadReference::Registry),
            (at("ghcr.io:0/acme"), BadReference::Registry),
            (at("ghcr.io:+5/acme"), BadReference::Registry),
            (at("ghcr.io:99999/acme"), BadReference::Registry),
            (at("me:secret@ghcr.io/acme"), BadReference::NoRegistry),
            (at("[::1]:5000/acme"), BadReference::Registry),
            (at("ghcr.io/"), BadReference::Repository),
            (at("ghcr.io/Acme"), BadReference::Repository),
            (at("ghcr.io/acme//tool"), BadReference::Repository),
            (at("ghcr.io/../tool"), BadReference::Repository),
            (at("ghcr.io/a..b"), BadReference::Repository),
            (at("ghcr.io/a/%2e"), BadReference::Repository),
            (at("ghcr.io/a?b"), BadReference::Repository),
            (at("ghcr.io/a b"), BadReference::Repository),
            (at(&format!("ghcr.io/{}", "a".repeat(256))), BadReference::Repository),
            (at(&format!("{}.io/a", "a".repeat(256))), BadReference::Registry),
            (format!("ghcr.io/a@sha512:{HEX}"), BadReference::Algorithm),
            (format!("ghcr.io/a@{HEX}"), BadReference::Algorithm),
            ("ghcr.io/a@sha256:00".to_owned(), BadReference::Digest),
            (format!("ghcr.io/a@sha256:{}", HEX.to_uppercase()), BadReference::Digest),
            (format!("ghcr.io/a@sha256:{HEX}@sha256:{HEX}"), BadReference::Digest),
        ] {
            assert_eq!(text.parse::<ImageReference>(), Err(said), "{text}");
        }
    }

    #[test]
    fn a_reference_is_shown_as_it_was_written() {
        for name in [
            "ghcr.io/acme/tool",
            "localhost/a",
            "localhost:5000/a",
            "127.0.0.1:5000/a/b/c",
            "registry.example.com/a-b/c__d/e.f/g---h",
        ] {
            let text = format!("{name}@sha256:{HEX}");
            let parsed: ImageReference = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(parsed.to_string(), text);
            assert_eq!(format!("{}/{}", parsed.registry(), parsed.repository()), name);
            assert_eq!(parsed.digest(), &ContentDigest::hash(b""));
        }
    }
}
