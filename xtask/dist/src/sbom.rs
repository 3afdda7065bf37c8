//! The bill of materials: <https://cyclonedx.org/docs/1.6/json/>.

use crate::packages::{Package, Packages};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What `program` is made of, as JSON. `time` is as RFC 3339 has it.
pub(crate) fn of(packages: &Packages, program: &[u8], time: &str) -> Result<Vec<u8>> {
    let gateway = packages.values().find(|package| package.name == "cofferdam").context("the gateway")?;
    let mut subject = component(gateway);
    subject["type"] = "application".into();
    subject["hashes"] = json!([{ "alg": "SHA-256", "content": hex::encode(Sha256::digest(program)) }]);
    let others = packages.values().filter(|package| package.name != "cofferdam").map(component);
    let components: Vec<Value> = others.chain(beside(packages)).collect();
    let dependencies: Vec<Value> = packages
        .values()
        .map(|package| {
            let mut needed = package.depends_on.clone();
            if package.name == "cofferdam" {
                // Embedded in it: cargo knows of no edge to them.
                let embedded = packages.values().filter(|other| is_embedded(other));
                needed.extend(embedded.map(Package::purl));
            }
            json!({ "ref": package.purl(), "dependsOn": needed })
        })
        .collect();
    let mut bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "timestamp": time, "component": subject },
        "components": components,
        "dependencies": dependencies,
    });
    bill["serialNumber"] = format!("urn:uuid:{}", uuid(&serde_json::to_vec(&bill)?)).into();
    let mut text = serde_json::to_vec_pretty(&bill)?;
    text.push(b'\n');
    Ok(text)
}

/// The worker and the guests, which are built on the SDK.
fn is_embedded(package: &Package) -> bool {
    package.sha256.is_none()
        && (package.name == "cofferdam-worker"
            || package.depends_on.iter().any(|d| d.contains("/cofferdam-sdk@")))
}

fn component(package: &Package) -> Value {
    let mut told = json!({
        "type": "library",
        "bom-ref": package.purl(),
        "name": package.name,
        "version": package.version,
        "purl": package.purl(),
        "scope": if package.build_only { "excluded" } else { "required" },
    });
    if let Some(license) = &package.license {
        // An older way to write `OR`.
        told["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    if let Some(sha256) = &package.sha256 {
        told["hashes"] = json!([{ "alg": "SHA-256", "content": sha256 }]);
    }
    if let Some(repository) = &package.repository {
        told["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    told
}

/// What a static program holds that cargo does not list.
fn beside(packages: &Packages) -> Vec<Value> {
    let mut found = vec![
        json!({ "type": "library", "bom-ref": "rust-std", "name": "rust-std", "scope": "required",
                "licenses": [{ "expression": "MIT OR Apache-2.0" }] }),
        json!({ "type": "library", "bom-ref": "musl", "name": "musl", "scope": "required",
                "licenses": [{ "expression": "MIT" }] }),
    ];
    let sqlite = packages.values().find(|package| package.name == "libsqlite3-sys");
    if let Some(version) = sqlite.and_then(sqlite_version) {
        found.push(json!({ "type": "library", "bom-ref": "sqlite", "name": "sqlite", "version": version,
                           "scope": "required", "licenses": [{ "license": { "id": "blessing" } }] }));
    }
    found
}

fn sqlite_version(package: &Package) -> Option<String> {
    let header = std::fs::read_to_string(package.dir.join("sqlite3/sqlite3.h")).ok()?;
    let line = header.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "))?;
    Some(line.trim().trim_matches('"').to_owned())
}

/// Version 8 of RFC 9562, from the content: the same bill has the same number.
fn uuid(content: &[u8]) -> String {
    let mut bytes = Sha256::digest(content).to_vec();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex::encode(&bytes[..16]);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_dependency_that_is_named_is_a_component() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let packages = crate::packages::of_program(&root, "x86_64-unknown-linux-musl").expect("cargo tells");
        let bill = of(&packages, b"program", "2026-01-01T00:00:00Z").expect("told");
        let bill: Value = serde_json::from_slice(&bill).expect("JSON");
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let mut known: Vec<Value> = list(&bill["components"]).iter().map(|c| c["bom-ref"].clone()).collect();
        known.push(bill["metadata"]["component"]["bom-ref"].clone());
        for dependency in list(&bill["dependencies"]) {
            for named in list(&dependency["dependsOn"]) {
                assert!(known.contains(&named), "{named} is no component");
            }
        }
        let own = &list(&bill["dependencies"])[..];
        let gateway = own.iter().find(|d| d["ref"] == "pkg:cargo/cofferdam@0.1.0").expect("the gateway");
        assert!(list(&gateway["dependsOn"]).contains(&"pkg:cargo/file_read@0.1.0".into()), "{gateway}");
    }
}
