//! Every limit in the sources is in `docs/limits.md`, by the name it has there.

use super::{Source, root, sources};
use std::collections::BTreeSet;

/// The module path of a file: `host/src/audit/mod.rs` is `audit`, `host/core/src/tool.rs` is `core::tool`.
fn module(path: &str) -> String {
    let (prefix, below) = match (path.strip_prefix("host/core/src/"), path.strip_prefix("host/src/")) {
        (Some(below), _) => ("core::", below),
        (_, Some(below)) => ("", below),
        _ => ("guest-tools::", path.trim_start_matches("guest-tools/")),
    };
    let below = below.trim_end_matches(".rs").trim_end_matches("/mod").replace("/src", "");
    format!("{prefix}{}", below.replace('/', "::"))
}

/// The names of constants that end in `_MAX`, tests' own apart.
fn constants(source: &Source) -> Vec<String> {
    let code = source.code();
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for line in code.lines() {
        let Some((_, rest)) = line.split_once("const ") else { continue };
        let Some((name, _)) = rest.split_once(':') else { continue };
        if name.ends_with("_MAX")
            && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        {
            found.push(name.to_owned());
        }
    }
    found
}

/// The fields of a struct of limits.
fn fields(path: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(path)).expect("there");
    let (_, rest) =
        text.split_once(&format!("pub struct {name} {{")).unwrap_or_else(|| panic!("{name} in {path}"));
    let body = rest.split("\n}").next().expect("a body");
    let names = body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
    names.map(|(field, _)| field.to_owned()).collect()
}

/// Every limit by the name that `docs/limits.md` must use.
fn limits() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["host/core/src", "host/src", "guest-tools"] {
        for source in sources(folder).iter().filter(|source| !source.path.contains("/tests")) {
            found.extend(constants(source).iter().map(|name| format!("{}::{name}", module(&source.path))));
        }
    }
    let of = |path, name, shown: &str| {
        fields(path, name).into_iter().map(move |field| shown.replace('*', &field)).collect::<Vec<_>>()
    };
    found.extend(of("host/core/src/limits.rs", "Limits", "limits.*"));
    found.extend(of("host/src/attachments/mod.rs", "Config", "attachments.*"));
    found.insert("workspace.max_bytes".into());
    found
}

#[test]
fn every_limit_is_in_the_table() {
    let limits = limits();
    assert!(limits.len() > 30, "{limits:?}: this test looks in the wrong place");
    let text = std::fs::read_to_string(root().join("docs/limits.md")).unwrap_or_default();
    let missing: Vec<_> =
        limits.iter().filter(|name| !text.contains(&format!("`{name}`"))).cloned().collect();
    assert!(missing.is_empty(), "docs/limits.md does not name:\n{}", missing.join("\n"));
}

#[test]
fn what_the_table_names_is_there() {
    let Ok(text) = std::fs::read_to_string(root().join("docs/limits.md")) else { return };
    let limits = limits();
    let tests: String =
        ["host", "tests", "guest-tools"].into_iter().flat_map(sources).map(|source| source.text).collect();
    // Every second part stands between backticks.
    for name in text.split('`').skip(1).step_by(2) {
        if name.ends_with("_MAX") {
            assert!(limits.contains(name), "docs/limits.md names `{name}`, which no source has");
        }
        let is_test = name.matches('_').count() >= 3
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        assert!(
            !is_test || tests.contains(&format!("fn {name}(")),
            "docs/limits.md names the test `{name}`, which is not there"
        );
    }
}
