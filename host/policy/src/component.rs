//! Where a policy says that its component is: built in, a file beside it, or one that was fetched
//! from a registry. All but the first are pinned by a digest.

use cofferdam_core::oci::{ImageReference, SignerKey};
use cofferdam_core::text::one_line;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Where a tool's component comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentSource {
    /// Embedded in the binary under the tool's name.
    Builtin,
    /// A file, relative to the policy file, whose SHA-256 is checked at every load.
    File {
        /// The path as written.
        file: String,
        /// Lower-case hex.
        sha256: String,
    },
    /// One that was fetched from a registry, whose digests are checked at every load.
    Fetched {
        /// What it is in the registry.
        oci: ImageReference,
        /// Who must have signed it.
        signer: Option<SignerKey>,
    },
}

impl ComponentSource {
    /// As messages have it, such as `builtin` or `hello.wasm`.
    pub fn describe(&self) -> String {
        match self {
            Self::Builtin => "builtin".to_owned(),
            Self::File { file, .. } => one_line(file, 200),
            Self::Fetched { oci, signer: None } => oci.to_string(),
            Self::Fetched { oci, signer: Some(key) } => {
                format!("{oci} signed by the key {}", &key.fingerprint()[..12])
            }
        }
    }
}

impl<'de> Deserialize<'de> for ComponentSource {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, deny_unknown_fields)]
        enum ComponentText {
            Word(String),
            Pinned { file: String, sha256: String },
            InRegistry { oci: String, signer: Option<toml::Value> },
        }
        match ComponentText::deserialize(d) {
            Ok(ComponentText::Word(word)) if word == "builtin" => Ok(Self::Builtin),
            Ok(ComponentText::InRegistry { oci, signer }) => {
                let shown = one_line(&oci, 300);
                let oci = oci.parse().map_err(|why| Error::custom(format_args!("oci = {shown:?} {why}")))?;
                let signer = match signer {
                    None => None,
                    Some(toml::Value::String(key)) => {
                        Some(key.parse().map_err(|why| Error::custom(format_args!("signer {why}")))?)
                    }
                    Some(_) => return Err(Error::custom(NO_IDENTITY)),
                };
                Ok(Self::Fetched { oci, signer })
            }
            Ok(ComponentText::Pinned { file, sha256 }) => {
                let hex = sha256.len() == 64
                    && sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if !hex {
                    return Err(Error::custom(
                        "sha256 is not 64 lower-case hex digits; write what sha256sum prints",
                    ));
                }
                Ok(Self::File { file, sha256 })
            }
            _ => Err(Error::custom(
                r#"no component is named; write "builtin" or { file = "my.wasm", sha256 = "…" } (both are needed), or { oci = "ghcr.io/acme/tool@sha256:…" }, e.g. component = "builtin""#,
            )),
        }
    }
}

const NO_IDENTITY: &str = "signer is no key, and identities of certificates are not verified; write the public key \
                           of whoever signs, in PEM";
