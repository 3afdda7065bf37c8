//! The adversarial suite: tables of cases in `tests/adversarial/*.toml`, to which a reviewer adds a
//! line.
//!
//! After every case the same holds, whatever the case was: outside the mounts nothing changed, no
//! secret was told, nothing is left behind, the audit is sound, and the next ordinary call works. A
//! refused call changes nothing inside either.

mod case;
mod expand;
mod gateway;
mod injections;
mod policies;
mod things;

use case::{Case, Table, Way};
use gateway::{Gateway, Said};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use support::home::Home;
use support::needs;

/// The tables.
fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("adversarial")
}

fn table<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = tables().join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Gateways by their name in the tables; each is started when a case needs it, and serves all that
/// do.
struct Gateways(BTreeMap<String, Gateway>);

impl Gateways {
    fn get(&mut self, name: &str) -> &mut Gateway {
        self.0.entry(name.to_owned()).or_insert_with(|| Gateway::start(home(name)))
    }
}

fn home(name: &str) -> Home {
    let hostile = |path: &str, limits: &str| {
        let policy = format!(
            "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = {path}\nbytes = \"value\"\n\
             [limits]\n{limits}\n"
        );
        Home::new().tool("hostile", "file-read-write", "hostile", &policy)
    };
    // Where one mount may be written and the other only read.
    let mixed = |path: &str, limits: &str| {
        let profile = "schema = 1\nprofile = \"mixed\"\nwhy = \"a test\"\ninterfaces = [\"turn-attachments\"]\n\
             mounts = [{ guest = \"/shared\", access = \"read-only\" }, { guest = \"/tmp\", access = \"atomic-write\" }]\n";
        let policy = format!(
            "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = {path}\nbytes = \"value\"\n\
             [limits]\n{limits}\n"
        );
        Home::new().policy("profiles/mixed.toml", profile).tool("hostile", "mixed", "hostile", &policy)
    };
    let (judged, ample) = ("{ path = \"write\" }", "memory = \"16 MiB\"\ndeadline = \"20s\"");
    match name {
        "default" => Home::new(),
        "judged" => hostile(judged, ample),
        // No policy knows its `path`: what it names there reaches the guest as it is.
        "unjudged" => hostile("\"value\"", ample),
        "mixed" => mixed(judged, ample),
        "mixed, unjudged" => mixed("\"value\"", ample),
        "impatient" => hostile(judged, "memory = \"48 MiB\"\ndeadline = \"400ms\""),
        "small" => Home::new().config("[workspace]\nroot = \"workspace\"\nmax_bytes = \"64 KiB\"\n"),
        other => panic!("there is no gateway {other:?}; see tests/it/adversarial.rs"),
    }
}

/// Runs every case of a table; all that fail are told, each by its name.
fn run(name: &str) {
    let Table { case: cases } = table(name);
    let mut gateways = Gateways(BTreeMap::new());
    let mut wrong = Vec::new();
    for case in &cases {
        let test = format!("adversarial::{name}: {}", case.name);
        if case.needs_root && !needs::available(&test, "root", needs::root()) {
            continue;
        }
        let gateway = gateways.get(case.gateway.as_deref().unwrap_or("default"));
        for way in case.ways() {
            if let Err(said) = try_way(gateway, case, &way) {
                wrong.push(format!("{} ({}): {said}", case.name, way.name));
            }
        }
        if let Err(said) = gateway.still_sound() {
            panic!("{name}: after {:?}: {said}\nbefore that:\n{}", case.name, wrong.join("\n"));
        }
    }
    assert!(wrong.is_empty(), "{} of {name} are not as the table says:\n{}", wrong.len(), wrong.join("\n"));
}

fn try_way(gateway: &mut Gateway, case: &Case, way: &Way) -> Result<(), String> {
    let before = gateway.prepare(&case.prepare);
    let said = gateway.ask(way);
    let refused = said.code != "ok";
    let after = gateway.look();
    if after.outside != before.outside {
        return Err(format!("OUTSIDE CHANGED: {said:?}\n{:?}\n{:?}", before.outside, after.outside));
    }
    if refused && !case.changes && after.inside != before.inside {
        return Err(format!("refused, and changed: {said:?}\n{:?}\n{:?}", before.inside, after.inside));
    }
    if case.unchanged && after.inside != before.inside {
        return Err(format!("changed: {said:?}\n{:?}\n{:?}", before.inside, after.inside));
    }
    gateway.keeps_secrets(&said)?;
    fits(gateway, way, &said)
}

/// Whether what was said is what the table says.
fn fits(gateway: &Gateway, way: &Way, said: &Said) -> Result<(), String> {
    if !way.expect.contains(&said.code) {
        return Err(format!("expected {:?}: {said:?}", way.expect));
    }
    for part in &way.says {
        if !said.text.contains(&gateway.expand(part)) {
            return Err(format!("{part:?} is not said: {said:?}"));
        }
    }
    for (key, expected) in &way.result {
        let found = said.json.as_ref().map(|json| &json[key.as_str()]);
        let expected = gateway.expand_json(expected);
        if found != Some(&expected) {
            return Err(format!("{key:?} is not {expected}: {said:?}"));
        }
    }
    for (path, expected) in &way.then {
        let found = gateway.content(path);
        if found != *expected {
            return Err(format!("{path} has {found:?} and not {expected:?}: {said:?}"));
        }
    }
    Ok(())
}

#[test]
fn paths() {
    run("paths");
}

#[test]
fn files() {
    run("files");
}

#[test]
fn guests() {
    run("guests");
}

#[test]
fn advisories() {
    run("advisories");
}

#[test]
fn arguments() {
    run("arguments");
}

#[test]
fn policies() {
    policies::run(&table("policies"));
}

/// The suite is as large as it is said to be, and names each of its cases once.
#[test]
fn the_tables_are_whole() {
    let mut names = Vec::new();
    for name in ["paths", "files", "guests", "advisories", "arguments"] {
        names.extend(table::<Table>(name).case.into_iter().map(|case| format!("{name}: {}", case.name)));
    }
    names.extend(
        table::<policies::Table>("policies").case.into_iter().map(|case| format!("policies: {}", case.name)),
    );
    let injections = table::<injections::Table>("injections").case;
    assert!(injections.len() >= 60, "{} injections", injections.len());
    names.extend(injections.into_iter().map(|case| format!("injections: {}", case.name)));
    assert!(names.len() >= 210, "{} cases", names.len());
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "two cases have one name");
}
