//! The manifest of a component as registries have it: an OCI image manifest in the layout that the
//! CNCF describes for WebAssembly, one layer and a configuration.
//!
//! <https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/>

use cofferdam_core::oci::ContentDigest;
use cofferdam_core::text::one_line;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A longer manifest is not read; registries themselves take none that is longer.
pub const MANIFEST_BYTES_MAX: u64 = 4 << 20;

/// An image manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of manifests.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
const WASM_LAYER: &str = "application/wasm";

/// Why bytes are not the manifest of a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadManifest {
    /// No manifest at all.
    #[error("it is no OCI image manifest: {0}")]
    Malformed(String),
    /// A list of manifests.
    #[error("it is an index of several manifests; write the digest of the one that has the component")]
    Index,
    /// A manifest of something else.
    #[error(
        "it is no component: its configuration is {0}, and that of a component is {WASM_CONFIG}; \
         publish it with e.g. `wkg oci push`"
    )]
    Config(String),
    /// Not the one layer that is the component.
    #[error("it has {0} layers, and a component is one layer of the type {WASM_LAYER}")]
    Layers(usize),
    /// A layer of something else.
    #[error("its layer is {0}, and that of a component is {WASM_LAYER}")]
    Layer(String),
    /// A component that is larger than any that is taken.
    #[error("its component has {size} bytes, and at most {max} are taken")]
    TooLarge {
        /// What the manifest says.
        size: u64,
        /// What is taken.
        max: u64,
    },
}

/// Something that a manifest names by its digest.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    #[serde(deserialize_with = "digest")]
    pub(crate) digest: ContentDigest,
    pub(crate) size: u64,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    /// Of a manifest in an index.
    pub(crate) artifact_type: Option<String>,
}

/// An image manifest, as far as it is looked at.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
}

/// A list of manifests, as text: others may have put there what nobody here reads, such as another
/// kind of digest.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Index<'a> {
    #[serde(borrow)]
    manifests: Vec<&'a RawValue>,
}

impl<'a> Index<'a> {
    /// The list that bytes are.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, BadManifest> {
        serde_json::from_slice(bytes).map_err(malformed)
    }

    /// Its manifests of artifacts of a type.
    pub(crate) fn find_manifests(&self, is_wanted: fn(&str) -> bool) -> impl Iterator<Item = Descriptor> {
        let entries = self.manifests.iter();
        let read = entries.filter_map(|entry| serde_json::from_str::<Descriptor>(entry.get()).ok());
        read.filter(move |descriptor| descriptor.artifact_type.as_deref().is_some_and(is_wanted))
    }
}

impl Manifest {
    /// The manifest that bytes are.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, BadManifest> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ManifestKind {
            schema_version: u32,
            media_type: Option<String>,
        }
        let kind: ManifestKind = serde_json::from_slice(bytes).map_err(malformed)?;
        match kind.media_type.as_deref() {
            Some(MANIFEST) | None if kind.schema_version == 2 => {}
            Some(INDEX) => return Err(BadManifest::Index),
            Some(other) => return Err(BadManifest::Malformed(format!("it is {}", one_line(other, 200)))),
            None => return Err(BadManifest::Malformed("its schemaVersion is not 2".to_owned())),
        }
        serde_json::from_slice(bytes).map_err(malformed)
    }

    /// The layer that is a component of at most so many bytes.
    pub(crate) fn component(&self, bytes_max: u64) -> Result<&Descriptor, BadManifest> {
        if self.config.media_type != WASM_CONFIG {
            return Err(BadManifest::Config(one_line(&self.config.media_type, 200)));
        }
        let [layer] = &self.layers[..] else { return Err(BadManifest::Layers(self.layers.len())) };
        if layer.media_type != WASM_LAYER {
            return Err(BadManifest::Layer(one_line(&layer.media_type, 200)));
        }
        if layer.size > bytes_max {
            return Err(BadManifest::TooLarge { size: layer.size, max: bytes_max });
        }
        Ok(layer)
    }
}

fn malformed(error: serde_json::Error) -> BadManifest {
    BadManifest::Malformed(one_line(&error.to_string(), 200))
}

fn digest<'de, D: serde::Deserializer<'de>>(d: D) -> Result<ContentDigest, D::Error> {
    let text = String::deserialize(d)?;
    text.parse().map_err(|_| serde::de::Error::custom("a digest is not sha256: and 64 hex digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn manifest(kind: &str, config: &str, layers: &[&str]) -> String {
        let descriptor =
            |media: &str| format!(r#"{{"mediaType":"{media}","digest":"sha256:{HEX}","size":10}}"#);
        let layers: Vec<_> = layers.iter().map(|media| descriptor(media)).collect();
        format!(
            r#"{{"schemaVersion":2,{kind}"config":{},"layers":[{}]}}"#,
            descriptor(config),
            layers.join(",")
        )
    }

    #[test]
    fn what_is_no_component_is_refused() {
        let kind = |media: &str| format!(r#""mediaType":"{media}","#);
        let good = manifest(&kind(MANIFEST), WASM_CONFIG, &[WASM_LAYER]);
        for (text, said) in [
            ("{}".to_owned(), "no OCI image manifest: missing field `schemaVersion`"),
            ("[]".to_owned(), "no OCI image manifest"),
            (String::new(), "no OCI image manifest"),
            (
                good.replace(
                    "\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\"",
                    "\"schemaVersion\":1",
                ),
                "schemaVersion is not 2",
            ),
            (good.replace("\"size\":10", "\"size\":-1"), "no OCI image manifest"),
            (good.replace("sha256:", "sha512:"), "a digest is not sha256"),
            (good.replace("\"layers\":", "\"layers\":[],\"layers\":"), "duplicate field `layers`"),
            (manifest(&kind(INDEX), WASM_CONFIG, &[WASM_LAYER]), "an index of several manifests"),
            (
                manifest(&kind("application/vnd.docker.distribution.manifest.v2+json"), WASM_CONFIG, &[]),
                "it is application/vnd.docker",
            ),
            (
                manifest("", "application/vnd.oci.image.config.v1+json", &[WASM_LAYER]),
                "its configuration is application/vnd.oci.image.config",
            ),
            (manifest("", WASM_CONFIG, &[]), "it has 0 layers"),
            (manifest("", WASM_CONFIG, &[WASM_LAYER, WASM_LAYER]), "it has 2 layers"),
            (
                manifest("", WASM_CONFIG, &["application/octet-stream"]),
                "its layer is application/octet-stream",
            ),
            (good.replace("\"size\":10", "\"size\":11"), "its component has 11 bytes, and at most 10"),
        ] {
            let found = Manifest::parse(text.as_bytes()).and_then(|m| m.component(10).cloned());
            let refused = found.expect_err(&text).to_string();
            assert!(refused.contains(said), "{said:?} in {refused:?}: {text}");
        }
        for kind in [kind(MANIFEST), String::new()] {
            let text = manifest(&kind, WASM_CONFIG, &[WASM_LAYER]);
            let manifest = Manifest::parse(text.as_bytes()).expect("a manifest");
            assert_eq!(manifest.component(10).expect("a component").digest.hex(), HEX);
        }
    }
}
