//! The packages that the shipped programs are made of, as cargo resolves them: the gateway's, its
//! worker's and the guests' workspaces, each with its own lock file.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One version of a package.
pub(crate) struct Package {
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub license: Option<String>,
    pub license_file: Option<PathBuf>,
    pub authors: Vec<String>,
    pub repository: Option<String>,
    /// Of the package's archive in the registry; none for our own.
    pub sha256: Option<String>,
    /// Where its sources lie.
    pub dir: PathBuf,
    /// By [`Package::purl`].
    pub depends_on: BTreeSet<String>,
    /// Whether it only runs while others are built, and nothing of it is shipped.
    pub build_only: bool,
}

impl Package {
    /// Its name for everybody: <https://github.com/package-url/purl-spec>.
    pub(crate) fn purl(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// Packages by [`Package::purl`].
pub(crate) type Packages = BTreeMap<String, Package>;

/// What a program for this target is made of.
pub(crate) fn of_program(root: &Path, target: &str) -> Result<Packages> {
    let mut all = Packages::new();
    let parts = [
        (root.join("Cargo.toml"), Some("cofferdam"), target),
        (root.join("host/worker/Cargo.toml"), Some("cofferdam-worker"), target),
        (root.join("guest-tools/Cargo.toml"), None, "wasm32-wasip2"),
    ];
    for (manifest, program, target) in parts {
        let found = of_workspace(&manifest, program, target)
            .with_context(|| format!("packages of {}", manifest.display()))?;
        for (purl, package) in found {
            match all.get_mut(&purl) {
                Some(known) => {
                    known.depends_on.extend(package.depends_on);
                    known.build_only &= package.build_only;
                }
                None => drop(all.insert(purl, package)),
            }
        }
    }
    Ok(all)
}

/// What one package of a workspace needs, or all of its members if `program` is none.
fn of_workspace(manifest: &Path, program: Option<&str>, target: &str) -> Result<Packages> {
    let metadata = metadata(manifest, target)?;
    let lock = std::fs::read_to_string(manifest.with_file_name("Cargo.lock"))?;
    let checksums = checksums(&lock);
    let described: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let is_wanted = |id: &&str| program.is_none_or(|name| described[id]["name"] == name);
    let members: BTreeSet<&str> =
        list(&metadata["workspace_members"]).filter_map(Value::as_str).filter(is_wanted).collect();
    ensure!(!members.is_empty(), "no package {program:?}");
    // A dependency without a kind is linked.
    let kinds = [Value::Null, "build".into()];
    let shipped = reached(&nodes, members.clone(), &kinds[..1]);
    let needed = reached(&nodes, members, &kinds);
    let mut packages = Packages::new();
    for id in &needed {
        let mut package = package(described[id], &checksums)?;
        package.build_only = !shipped.contains(id);
        package.depends_on = edges(nodes[id], &kinds)
            .filter(|to| needed.contains(to))
            .map(|to| Ok(self::package(described[to], &checksums)?.purl()))
            .collect::<Result<_>>()?;
        packages.insert(package.purl(), package);
    }
    Ok(packages)
}

fn metadata(manifest: &Path, target: &str) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .arg("--manifest-path")
        .arg(manifest)
        .output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// What a package depends on in one of these ways.
fn edges<'a>(node: &'a Value, kinds: &'a [Value]) -> impl Iterator<Item = &'a str> {
    list(&node["deps"])
        .filter(|to| list(&to["dep_kinds"]).any(|kind| kinds.contains(&kind["kind"])))
        .filter_map(|to| to["pkg"].as_str())
}

fn reached<'a>(
    nodes: &BTreeMap<&'a str, &'a Value>,
    from: BTreeSet<&'a str>,
    kinds: &'a [Value],
) -> BTreeSet<&'a str> {
    let mut reached = from.clone();
    let mut next: Vec<&str> = from.into_iter().collect();
    while let Some(id) = next.pop() {
        next.extend(edges(nodes[id], kinds).filter(|to| reached.insert(to)));
    }
    reached
}

fn package(described: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<Package> {
    let text = |key: &str| described[key].as_str().map(str::to_owned);
    let name = text("name").context("a package without a name")?;
    let version = text("version").context("a package without a version")?;
    let manifest = PathBuf::from(text("manifest_path").context("a package without a manifest")?);
    let dir = manifest.parent().context("a manifest lies in a folder")?.to_owned();
    Ok(Package {
        sha256: checksums.get(&(name.clone(), version.clone())).cloned(),
        license: text("license"),
        license_file: text("license_file").map(|file| dir.join(file)),
        authors: list(&described["authors"]).filter_map(Value::as_str).map(str::to_owned).collect(),
        repository: text("repository"),
        depends_on: BTreeSet::new(),
        build_only: false,
        name,
        version,
        dir,
    })
}

/// Of a lock file: the SHA-256 of each name and version that comes from a registry.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    lock.split("[[package]]")
        .filter_map(|block| {
            Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_tells_the_checksums_of_a_registrys_packages() {
        let lock = "version = 4\n\n[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"theirs\"\n\
                    version = \"1.2.3\"\nsource = \"registry\"\nchecksum = \"abc\"\n";
        let expected = [(("theirs".to_owned(), "1.2.3".to_owned()), "abc".to_owned())];
        assert_eq!(checksums(lock), BTreeMap::from(expected));
    }

    #[test]
    fn the_program_is_made_of_all_three_workspaces_and_not_of_the_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let packages = of_program(&root, "x86_64-unknown-linux-musl").expect("cargo tells");
        let has = |name: &str| packages.values().any(|package| package.name == name && !package.build_only);
        for linked in ["cofferdam", "wasmtime", "ring", "cofferdam-sdk", "file_read"] {
            assert!(has(linked), "{linked} is missing");
        }
        for other in ["proptest", "cofferdam-tests", "cc", "xtask"] {
            assert!(!has(other), "{other} is not shipped");
        }
    }
}
