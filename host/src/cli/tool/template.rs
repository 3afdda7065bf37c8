//! The files of a new tool's crate, as text. Pure: nothing is written here.

use std::collections::BTreeSet;
use toml::{Table, Value};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/sdk.rs"));
}

/// Where a new crate takes the SDK from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SdkSource {
    /// Written into the crate's own folder.
    Written,
    /// A checkout, by absolute path.
    Path(String),
    /// A registry, by version.
    Version(String),
}

/// The folder in which a crate has its own copy of the SDK.
const SDK_FOLDER: &str = "cofferdam-sdk";

const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("template/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("template/lib.rs")),
    ("policies/profiles/nothing.toml", crate::gateway::candidate::NOTHING),
    ("policies/tools/{{name}}.toml", include_str!("template/tool.toml")),
    ("cases/greets.json", include_str!("template/greets.json")),
    ("cases/refuses_nobody.json", include_str!("template/refuses_nobody.json")),
    ("README.md", include_str!("template/README.md")),
    (".gitignore", "/target\n"),
];

/// Every file of the crate `name`: (path, text).
pub(super) fn files(name: &str, sdk: &SdkSource) -> Vec<(String, String)> {
    let dependency = match sdk {
        SdkSource::Written => format!("{{ path = {SDK_FOLDER:?} }}"),
        SdkSource::Path(path) => format!("{{ path = {} }}", Value::String(path.clone())),
        SdkSource::Version(version) => format!("{version:?}"),
    };
    let fill = |text: &str| {
        text.replace("{{name}}", name)
            .replace("{{rust}}", env!("CARGO_PKG_RUST_VERSION"))
            .replace("{{sdk}}", &dependency)
    };
    let mut files: Vec<_> = FILES.iter().map(|(path, text)| (fill(path), fill(text))).collect();
    if *sdk == SdkSource::Written {
        files.extend(
            embedded::SDK.iter().map(|(path, text)| (format!("{SDK_FOLDER}/{path}"), (*text).to_owned())),
        );
    }
    // A version from a registry brings its own choice of versions.
    if !matches!(sdk, SdkSource::Version(_)) {
        files.extend(lock(name).map(|text| ("Cargo.lock".to_owned(), text)));
    }
    files
}

/// Every file of the contract with guests: (path in its folder, text).
pub(in crate::cli) fn contract() -> impl Iterator<Item = (&'static str, &'static str)> {
    embedded::SDK.iter().filter_map(|(path, text)| Some((path.strip_prefix("wit/")?, *text)))
}

/// Whether the SDK is, or depends on, a crate of this name: cargo would have to tell the two apart.
pub(super) fn is_dependency(name: &str) -> bool {
    dependencies().iter().any(|(taken, _)| taken.replace('-', "_") == name)
}

/// The SDK and every crate that it depends on, each with its version.
fn dependencies() -> BTreeSet<(String, String)> {
    let whole: Table = toml::from_str(embedded::LOCK).unwrap_or_default();
    let packages = whole.get("package").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (mut wanted, mut next) = (BTreeSet::new(), vec!["cofferdam-sdk".to_owned()]);
    while let Some(one) = next.pop() {
        // `name`, or `name version` where there are several.
        let (name, version) = one.split_once(' ').map_or((&*one, None), |(name, v)| (name, Some(v)));
        let is_it = |package: &&Value| {
            let (found, its) = name_and_version(package);
            found == name && version.is_none_or(|version| version == its)
        };
        let Some(package) = packages.iter().find(is_it) else { continue };
        let (name, version) = name_and_version(package);
        if wanted.insert((name.to_owned(), version.to_owned())) {
            let dependencies = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
            next.extend(dependencies.filter_map(|d| d.as_str().map(str::to_owned)));
        }
    }
    wanted
}

fn name_and_version(package: &Value) -> (&str, &str) {
    let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
    (text("name"), text("version"))
}

/// The lock file of a crate that depends on the SDK alone, with the versions that the SDK is tested
/// with.
fn lock(name: &str) -> Option<String> {
    let wanted = dependencies();
    let own = format!("name = \"{name}\"\nversion = \"0.1.0\"\ndependencies = [\n \"cofferdam-sdk\",\n]\n");
    let mut blocks: Vec<(String, String)> = vec![(name.to_owned(), own)];
    let mut written = embedded::LOCK.split("[[package]]\n");
    let head = written.next()?;
    for block in written {
        let package: Value = toml::from_str(block).ok()?;
        let (name, version) = name_and_version(&package);
        if wanted.contains(&(name.to_owned(), version.to_owned())) {
            blocks.push((name.to_owned(), format!("{}\n", as_named(block.trim_end(), &wanted))));
        }
    }
    // Cargo's own order, so that it finds nothing to change. Versions of one name are in order
    // already.
    blocks.sort_by(|a, b| a.0.cmp(&b.0));
    let blocks: Vec<_> = blocks.into_iter().map(|(_, block)| format!("[[package]]\n{block}")).collect();
    Some(format!("{head}{}", blocks.join("\n")))
}

/// A block whose dependencies have a version only where there are several, as cargo writes them.
fn as_named(block: &str, wanted: &BTreeSet<(String, String)>) -> String {
    let several = |name: &str| wanted.iter().filter(|(other, _)| other == name).count() > 1;
    let line = |line: &str| match line.strip_prefix(" \"").and_then(|one| one.split_once(' ')) {
        Some((name, _)) if !several(name) => format!(" \"{name}\","),
        _ => line.to_owned(),
    };
    block.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_has_the_sdks_dependencies_and_no_others() {
        let text = lock("zeta").expect("the guests have a lock file");
        let table: Table = toml::from_str(&text).expect("TOML");
        let packages = table["package"].as_array().expect("a list");
        let names: Vec<_> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
        assert!(names.is_sorted() && names.contains(&"serde_json") && names.contains(&"zeta"), "{names:?}");
        assert!(!names.contains(&"file_read") && !names.contains(&"base64"), "{names:?}");
        assert!(is_dependency("serde_json") && is_dependency("cofferdam_sdk") && !is_dependency("file_read"));
        assert!(text.ends_with("\"\n") && !text.contains("\n\n\n"), "{text:?}");
    }

    #[test]
    fn every_placeholder_is_filled() {
        for sdk in
            [SdkSource::Written, SdkSource::Path("/a \"b\"".into()), SdkSource::Version("0.1.0".into())]
        {
            let files = files("hello", &sdk);
            for (path, text) in &files {
                assert!(!path.contains("{{") && !text.contains("{{name"), "{path}: {text}");
            }
            let manifest = &files[0].1;
            toml::from_str::<Table>(manifest).expect("a manifest");
            let own = files.iter().any(|(path, _)| path == "cofferdam-sdk/wit/tool.wit");
            assert_eq!(own, sdk == SdkSource::Written, "{sdk:?}");
        }
    }
}
