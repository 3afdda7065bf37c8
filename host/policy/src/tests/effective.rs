//! What a tool's file and its profile come to together: the smaller limit, the profile's grants,
//! one hash.

use super::{READING, WRITING, policies};
use crate::{PolicyProblem, PolicySet, spell_word};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::capability::Access;
use cofferdam_core::limits::{ByteSize, Limits, TimeSpan};

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\n";

fn limits(profile: &str, tool: &str) -> Result<Limits, Vec<PolicyProblem>> {
    let profile = format!("{PROFILE}mounts = [{WRITING}]\n[limits]\n{profile}");
    let tool = format!("{}[limits]\n{tool}", super::TOOL);
    let set = PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)])?;
    Ok(set.get("t").expect("there").limits)
}

#[test]
fn two_files_of_one_name_are_refused() {
    let profile = format!("{PROFILE}mounts = []\n");
    let (t, u) = (super::TOOL, super::TOOL.replace("\"t\"", "\"u\""));
    let files = [("profiles/p.toml", &*profile), ("tools/\u{fffd}.toml", t), ("tools/\u{fffd}.toml", &*u)];
    let problems = PolicySet::parse(files).expect_err("refused");
    let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["tools/\u{fffd}.toml:1: two files have this name; rename one"]);
}

#[test]
fn a_limit_is_never_above_the_profiles_or_the_ceiling() {
    for (profile, tool, said) in [
        (
            "memory = \"32 MiB\"",
            "memory = \"33 MiB\"",
            r#"memory = "33 MiB" is above profile p's 32 MiB; write at most "32 MiB""#,
        ),
        (
            "deadline = \"10s\"",
            "deadline = \"1m\"",
            r#"deadline = "1m" is above profile p's 10s; write at most "10s""#,
        ),
        ("written_bytes = \"0 B\"", "written_bytes = \"1 B\"", "above profile p's 0 B"),
        ("arguments = \"1 KiB\"", "arguments = \"1 MiB\"", "above profile p's 1 KiB"),
        ("result = \"1 KiB\"", "result = \"1 MiB\"", "above profile p's 1 KiB"),
        (
            "memory = \"1 GiB\"",
            "",
            r#"memory = "1 GiB" is above the gateway's 256 MiB; write at most "256 MiB""#,
        ),
        ("deadline = \"11m\"", "", "above the gateway's 10m"),
        ("written_bytes = \"5 GiB\"", "", "above the gateway's 4 GiB"),
        ("changes = 10001", "", "changes = 10001 is above the gateway's 10000; write at most 10000"),
        ("changes = 20", "changes = 21", "changes = 21 is above profile p's 20; write at most 20"),
        ("changes = -1", "", "invalid value"),
        ("changes = \"20\"", "", "invalid type"),
        ("arguments = \"17 MiB\"", "", "above the gateway's 16 MiB"),
        ("result = \"17 MiB\"", "", "above the gateway's 16 MiB"),
    ] {
        let problems = limits(profile, tool).expect_err("refused");
        let problem = problems.first().expect("one");
        assert!(problem.problem.contains(said), "{problem}");
    }
}

#[test]
fn a_limit_with_which_no_call_succeeds_is_refused() {
    for (limit, least) in [
        ("memory = \"0 B\"", "\"64 KiB\""),
        ("memory = \"1 KiB\"", "\"64 KiB\""),
        ("deadline = \"0s\"", "\"1ms\""),
        ("arguments = \"0 B\"", "\"2 B\""),
        ("result = \"0 B\"", "\"1 B\""),
    ] {
        for (profile, tool) in [(limit, ""), ("", limit)] {
            let problems = limits(profile, tool).expect_err("refused");
            let said = format!("{limit} lets no call succeed; write at least {least}");
            assert!(problems[0].problem.contains(&said), "{said}: {}", problems[0]);
        }
    }
    let least = "memory = \"64 KiB\"\ndeadline = \"1ms\"\nwritten_bytes = \"0 B\"\nchanges = 0\narguments = \"2 B\"\nresult = \"1 B\"";
    assert_eq!(limits(least, ""), Ok(Limits::LEAST));
}

#[test]
fn what_nobody_limits_gets_the_default_within_the_profile() {
    assert_eq!(limits("", ""), Ok(Limits::DEFAULT));
    let tight = "memory = \"1 MiB\"\ndeadline = \"5s\"\nwritten_bytes = \"2 KiB\"\nchanges = 7\narguments = \"3 KiB\"\nresult = \"4 KiB\"";
    let expected = Limits {
        memory: ByteSize::mib(1),
        deadline: TimeSpan::seconds(5),
        written_bytes: ByteSize::kib(2),
        changes: 7,
        arguments: ByteSize::kib(3),
        result: ByteSize::kib(4),
    };
    assert_eq!(limits(tight, ""), Ok(expected));
    assert_eq!(limits("", tight), Ok(expected));
    assert_eq!(limits(tight, tight), Ok(expected));
    // A profile that allows more does not hand out more unasked.
    assert_eq!(
        limits("memory = \"256 MiB\"\ndeadline = \"10m\"\nwritten_bytes = \"4 GiB\"", ""),
        Ok(Limits::DEFAULT)
    );
}

#[test]
fn a_change_of_either_file_changes_the_hash() {
    let (profile, tool) = (format!("{PROFILE}mounts = [{READING}]\n"), super::TOOL.to_owned());
    let hash = |profile: &str, tool: &str| {
        let set = PolicySet::parse([("tools/t.toml", tool), ("profiles/p.toml", profile)]).expect("sound");
        set.get("t").expect("there").sha256.clone()
    };
    let before = hash(&profile, &tool);
    let expected = format!("{}{}", sha256_hex(profile.as_bytes()), sha256_hex(tool.as_bytes()));
    assert_eq!(before, sha256_hex(expected.as_bytes()));
    assert_ne!(before, hash(&format!("{profile}#"), &tool));
    assert_ne!(before, hash(&profile, &format!("{tool}#")));
}

#[test]
fn grants_are_the_profiles_and_told_in_words() {
    let words = |mounts: &str| policies(mounts, "").get("t").expect("there").grants.describe();
    assert_eq!(words(""), "nothing");
    assert_eq!(words(READING), "/shared (read-only), /tmp (read-only)");
    for access in Access::ALL {
        let (spelled, name) = (spell_word(access), access.as_str());
        assert_eq!(spelled, name);
        let mount = format!("{{ guest = \"/vault\", access = \"{name}\" }}");
        assert_eq!(words(&mount), format!("/vault ({name})"));
    }
}

#[test]
fn names_that_would_not_stay_on_their_line_are_refused() {
    for name in ["", "a\\u001b[31m", "a\\u202eb", "a\\nb"] {
        let profile = PROFILE.replace("\"p\"", &format!("\"{name}\"")) + "mounts = []\n";
        let problems = PolicySet::parse([("profiles/p.toml", &*profile)]).expect_err("refused");
        let said = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        assert!(said.starts_with("profiles/p.toml:2: the profile's name is empty, or has"), "{said}");
    }
    let problems = PolicySet::parse([("tools/a\u{1b}[31m\u{202e}.toml", super::TOOL)]).expect_err("refused");
    assert_eq!(problems[0].file, "tools/a [31m .toml");
    assert!(
        problems[0].line.is_none() && problems[0].problem.starts_with("the file's name "),
        "{problems:?}"
    );
}

#[test]
fn every_problem_is_told_in_one_round() {
    let problems = PolicySet::parse([
        ("profiles/a.toml", "schema = 2\nprofile = \"a\"\nwhy = \"w\"\nmounts = []"),
        ("profiles/p.toml", &*format!("{PROFILE}mounts = []\n")),
        ("tools/t.toml", &*super::TOOL.replace("\"w\"", "\" \"")),
        ("tools/u.toml", "schema"),
        ("notes.toml", ""),
    ])
    .expect_err("refused");
    let mut told: Vec<_> =
        problems.iter().map(|p| format!("{}:{}", p.file, p.line.unwrap_or_default())).collect();
    told.sort();
    assert_eq!(told, ["notes.toml:1", "profiles/a.toml:1", "tools/t.toml:6", "tools/u.toml:1"]);
}
