//! The OCI image: the program and nothing else, for every architecture that was built
//! (<https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md>).

use crate::archive::{self, Entry};
use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// Nobody's number on most systems; distroless images use it, too.
const USER: u64 = 65_532;
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A program, and what OCI calls its architecture.
pub(crate) struct Built {
    pub architecture: &'static str,
    pub program: Vec<u8>,
    pub licenses: String,
}

/// Writes the layout into `dir`.
pub(crate) fn write(dir: &Path, built: &[Built], version: &str, (seconds, time): (u64, &str)) -> Result<()> {
    fs::create_dir_all(dir.join("blobs/sha256"))?;
    let mut manifests = Vec::new();
    for built in built {
        let layer = archive::tar(entries(built), seconds)?;
        let config = config(built.architecture, &layer, version, time);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": blob(dir, CONFIG, &serde_json::to_vec(&config)?)?,
            "layers": [blob(dir, LAYER, &archive::gzip(&layer)?)?],
        });
        let mut manifest = blob(dir, MANIFEST, &serde_json::to_vec(&manifest)?)?;
        manifest["platform"] = json!({ "architecture": built.architecture, "os": "linux" });
        manifests.push(manifest);
    }
    let index = |manifests: Value| json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    // One name for all architectures: an index of them, which the layout's own index names.
    let mut image = blob(dir, INDEX, &serde_json::to_vec(&index(manifests.into()))?)?;
    image["annotations"] = json!({ "org.opencontainers.image.ref.name": version });
    let index = index(json!([image]));
    fs::write(dir.join("index.json"), serde_json::to_vec(&index)?)?;
    fs::write(dir.join("oci-layout"), serde_json::to_vec(&json!({ "imageLayoutVersion": "1.0.0" }))?)?;
    Ok(())
}

/// No shell, no library, no certificates: the program brings those that it trusts. `/config` is
/// where an operator mounts `cofferdam.toml`; the others are the user's, and so is what is mounted
/// there afresh.
fn entries(built: &Built) -> Vec<Entry> {
    let open = |name, mode| Entry { mode, ..Entry::folder_of(0, name) };
    vec![
        Entry::program("cofferdam", built.program.clone()),
        Entry::file("LICENSES.txt", built.licenses.clone()),
        open("config", 0o755),
        open("tmp", 0o1777),
        Entry::folder_of(USER, "state"),
        Entry::folder_of(USER, "workspace"),
    ]
}

fn config(architecture: &str, layer: &[u8], version: &str, time: &str) -> Value {
    json!({
        "created": time,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/cofferdam"],
            "Cmd": ["serve"],
            "WorkingDir": "/config",
            "Env": ["COFFERDAM_WORKSPACE=/workspace", "COFFERDAM_STATE_DIR=/state"],
            "Volumes": { "/state": {}, "/workspace": {} },
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "cofferdam",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [digest(layer)] },
    })
}

/// Writes what is named by its SHA-256, and tells how to name it.
fn blob(dir: &Path, media: &str, content: &[u8]) -> Result<Value> {
    let digest = digest(content);
    fs::write(dir.join("blobs").join(digest.replace(':', "/")), content)?;
    Ok(json!({ "mediaType": media, "digest": digest, "size": content.len() }))
}

/// How OCI names content.
pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify;
    use crate::verify::tests::program;

    fn layout(dir: &Path) {
        let programs = [("amd64", 62), ("arm64", 183)].map(|(name, number)| (name, program(number, false)));
        let built =
            programs.map(|(architecture, program)| Built { architecture, program, licenses: "l".into() });
        write(dir, &built, "1.0.0", (0, "1970-01-01T00:00:00Z")).expect("written");
    }

    #[test]
    fn what_is_written_reads_back_and_nothing_in_it_can_be_changed() {
        let dir = std::env::temp_dir().join(format!("cofferdam-image-{}", std::process::id()));
        layout(&dir);
        let told = verify::image(&dir).expect("whole");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("1.0.0 for amd64: user 65532:65532, static /cofferdam"), "{told:?}");
        let blobs: Vec<_> = fs::read_dir(dir.join("blobs/sha256")).expect("blobs").flatten().collect();
        // Of each architecture a manifest, a configuration and a layer; one index.
        assert_eq!(blobs.len(), 7);
        for blob in blobs {
            let content = fs::read(blob.path()).expect("a blob");
            let mut changed = content.clone();
            changed[0] ^= 1;
            fs::write(blob.path(), changed).expect("changed");
            verify::image(&dir).expect_err("a blob that is not what its name says");
            fs::write(blob.path(), content).expect("mended");
        }
        let stray = digest(b"stray").replace(':', "/");
        fs::write(dir.join("blobs").join(stray), b"stray").expect("written");
        let said = verify::image(&dir).expect_err("a blob that nobody names").to_string();
        assert!(said.contains("nothing names"), "{said}");
        fs::remove_dir_all(&dir).expect("removed");
    }
}
