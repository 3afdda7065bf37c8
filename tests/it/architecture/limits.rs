//! `docs/limits.md` against the sources: every limit that others can see is in a table, with its
//! value.

use super::{Source, crates, root, sources};
use cofferdam_core::limits::Limits;
use std::collections::BTreeMap;
use std::fmt::Display;

/// A limit as the source has it.
struct Constant {
    /// The file, for messages.
    path: String,
    /// Whether others than its own module see it.
    public: bool,
    /// What the tables may show as its value; empty when the expression is not a plain one.
    shown: Vec<String>,
}

/// The constants whose names end in `_MAX`, by name; one name may stand in several files.
fn constants() -> BTreeMap<String, Vec<Constant>> {
    let mut found: BTreeMap<String, Vec<Constant>> = BTreeMap::new();
    for folder in crates().chain(["guest-tools"]) {
        for source in sources(folder).iter().filter(|source| !source.path.contains("/tests")) {
            for (name, constant) in of(source) {
                found.entry(name).or_default().push(constant);
            }
        }
    }
    found
}

fn of(source: &Source) -> Vec<(String, Constant)> {
    let code = source.code();
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for line in code.lines() {
        let Some((before, rest)) = line.split_once("const ") else { continue };
        let Some((name, rest)) = rest.split_once(':') else { continue };
        let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        if name.ends_with("_MAX") && name.bytes().all(plain) {
            let value = rest.split_once('=').map_or("", |(_, value)| value.trim().trim_end_matches(';'));
            let public = before.trim_start().starts_with("pub");
            found
                .push((name.to_owned(), Constant { path: source.path.clone(), public, shown: shown(value) }));
        }
    }
    found
}

/// How a value may be written in a table, without blanks: `64 << 10` is `64KiB` or `65536`.
fn shown(expression: &str) -> Vec<String> {
    let inner = |name: &str| expression.strip_prefix(name)?.strip_suffix(')').and_then(number);
    if let Some(ms) = inner("Duration::from_millis(").or_else(|| Some(inner("Duration::from_secs(")? * 1000))
    {
        return units(ms, &[("ms", 1), ("s", 1000), ("min", 60_000), ("h", 3_600_000), ("days", 86_400_000)]);
    }
    let bytes = inner("ByteSize(").or_else(|| number(expression));
    bytes
        .map_or_else(Vec::new, |n| units(n, &[("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]))
}

fn units(n: u64, units: &[(&str, u64)]) -> Vec<String> {
    units
        .iter()
        .filter(|(_, one)| n.is_multiple_of(*one))
        .map(|(unit, one)| format!("{}{unit}", n / one))
        .collect()
}

/// A number, or numbers joined by `*` or `<<`.
fn number(expression: &str) -> Option<u64> {
    if let Some((left, right)) = expression.split_once("<<") {
        return Some(number(left)? << number(right)?);
    }
    if let Some((left, right)) = expression.split_once('*') {
        return Some(number(left)? * number(right)?);
    }
    expression.trim().replace('_', "").parse().ok()
}

fn document() -> String {
    std::fs::read_to_string(root().join("docs/limits.md")).unwrap_or_default()
}

/// The cells of a table's row, without blanks and code marks.
fn cells(line: &str) -> Vec<String> {
    let plain = |cell: &str| cell.chars().filter(|c| !c.is_whitespace() && *c != '`').collect::<String>();
    line.trim().trim_matches('|').split('|').map(plain).collect()
}

#[test]
fn every_limit_that_others_see_is_in_a_table() {
    let constants = constants();
    assert!(constants.len() > 30, "this test looks in the wrong place");
    let text = document();
    let named: Vec<&str> =
        text.split('`').skip(1).step_by(2).map(|name| name.rsplit("::").next().unwrap_or(name)).collect();
    let mut missing = Vec::new();
    for (name, all) in &constants {
        for constant in all.iter().filter(|constant| constant.public && !named.contains(&name.as_str())) {
            missing.push(format!("{name} ({})", constant.path));
        }
    }
    for key in [
        "[workspace] max_bytes",
        "[workspace] session_tmp_age",
        "[audit] rotate_bytes",
        "[turns] written_bytes",
        "[turns] rounds",
        "[turns] calls",
        "[turns] deadline",
        "[turns] tokens",
        "[turns] history_tokens",
        "[turns] user_tokens_per_day",
        "[turns] user_written_bytes_per_day",
        "[approvals] expires",
        "[sandbox] compile_time",
        "[attachments] max_bytes",
        "[attachments] max_turn_bytes",
        "[attachments] max_count",
        "[replies] max_bytes",
        "[replies] max_call_bytes",
        "[replies] max_turn_bytes",
        "[replies] max_count",
        "[replies] max_held_bytes",
    ] {
        if !text.contains(&format!("`{key}`")) {
            missing.push(key.to_owned());
        }
    }
    assert!(missing.is_empty(), "docs/limits.md does not name:\n{}", missing.join("\n"));
}

#[test]
fn the_values_in_the_tables_are_those_of_the_sources() {
    let constants = constants();
    let mut checked = 0;
    for line in document().lines().filter(|line| line.starts_with('|')) {
        let cells = cells(line);
        let names: Vec<&str> =
            cells[0].split(',').map(|name| name.rsplit("::").next().unwrap_or(name)).collect();
        if !names.iter().any(|name| name.ends_with("_MAX")) {
            continue;
        }
        // `20 000` is one value, and so is `16, 2, 8` for three names.
        let values: Vec<&str> =
            if names.len() == 1 { vec![&cells[1]] } else { cells[1].split(',').collect() };
        assert_eq!(names.len(), values.len(), "{line}");
        for (name, value) in names.into_iter().zip(values).filter(|(name, _)| name.ends_with("_MAX")) {
            let all = constants
                .get(name)
                .unwrap_or_else(|| panic!("docs/limits.md names {name}, which no source has"));
            let mut shown = all.iter().flat_map(|constant| &constant.shown).peekable();
            let right = shown.peek().is_none() || shown.any(|shown| starts(value, shown));
            let sources: Vec<_> = all.iter().map(|c| format!("{} has {:?}", c.path, c.shown)).collect();
            assert!(right, "docs/limits.md says {name} is {value}; {}", sources.join(", "));
            checked += 1;
        }
    }
    assert!(checked > 20 || document().is_empty(), "{checked} values: this test reads the tables wrongly");
}

#[test]
fn each_constant_that_a_table_names_is_in_a_source() {
    let code: Vec<String> =
        crates().chain(["guest-tools"]).flat_map(sources).map(|source| source.code()).collect();
    let text = document();
    let cells = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    for name in cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        let constant = name.rsplit("::").next().unwrap_or(name);
        let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        let declared = format!("const {constant}:");
        assert!(
            !constant.bytes().all(plain) || code.iter().any(|code| code.contains(&declared)),
            "docs/limits.md names {name}, which no source has"
        );
    }
}

/// Whether the cell begins with the value, and not with a longer number or unit.
fn starts(cell: &str, value: &str) -> bool {
    cell.strip_prefix(value)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == 'i'))
}

#[test]
fn the_limits_of_policies_are_those_of_the_core() {
    let (default, ceiling) = (Limits::DEFAULT, Limits::CEILING);
    let show = |value: &dyn Display| value.to_string().replace(' ', "");
    let text = document();
    for (name, default, ceiling) in [
        ("memory", show(&default.memory), show(&ceiling.memory)),
        ("deadline", show(&default.deadline), show(&ceiling.deadline)),
        ("written_bytes", show(&default.written_bytes), show(&ceiling.written_bytes)),
        ("changes", show(&default.changes), show(&ceiling.changes)),
        ("arguments", show(&default.arguments), show(&ceiling.arguments)),
        ("result", show(&default.result), show(&ceiling.result)),
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{name}`")));
        let cells = cells(row.unwrap_or_else(|| panic!("docs/limits.md has no row for {name}")));
        assert_eq!((&cells[1], &cells[2]), (&default, &ceiling), "{name}: default and ceiling");
    }
}

#[test]
fn the_tests_that_the_document_names_are_there() {
    let text = document();
    let claims: Vec<&str> =
        text.split("\n\n").filter_map(|paragraph| paragraph.strip_prefix("Tests: ")).collect();
    assert!(text.is_empty() || !claims.is_empty(), "the document names no tests");
    // `sandbox::time` is a module of the integration tests, or of a crate with tests of its own.
    for name in
        claims.iter().flat_map(|claim| claim.split('`').skip(1).step_by(2)).filter(|name| !name.contains('-'))
    {
        let path = name.trim_end_matches("::*").replace("::", "/");
        // Those of a crate may be named by the crate.
        let (krate, rest) = path.split_once('/').unwrap_or((&path, "lib"));
        let of_crate = root().join(format!("host/{krate}/src/{rest}"));
        let places = crates().chain(["tests/it"]).map(|folder| root().join(folder).join(&path));
        let mut places = places.chain([of_crate]);
        let there = places.any(|place| place.is_dir() || place.with_extension("rs").is_file());
        assert!(there, "docs/limits.md names tests in {name}, which is not there");
    }
}
