//! `policy check`: every way in which a policy can be wrong, each refused with its file and line
//! and with what to write instead.

use super::line;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::path::PathBuf;
use support::guests;
use support::home::{Home, builtin_tools};

const PROFILE: &str = r#"schema = 1
profile = "p"
why = "a test"
mounts = [
  { guest = "/shared", access = "atomic-write" },
  { guest = "/tmp", access = "read-only" },
]
interfaces = ["turn-attachments"]

[limits]
memory = "64 MiB"
"#;

const TOOL: &str = r#"schema = 1
tool = "attachment_save"
profile = "p"
component = "builtin"
safety = "side-effecting"
why = "a test"

[arguments]
index = "value"
path = { path = "write" }
overwrite = "value"

[limits]
memory = "32 MiB"
"#;

/// A folder of policies within the home.
fn folder(home: &Home, files: &[(&str, &str)]) -> PathBuf {
    let dir = tempfile::Builder::new().prefix("policies-").tempdir_in(home.dir()).expect("writable").keep();
    for folder in ["profiles", "tools"] {
        std::fs::create_dir(dir.join(folder)).expect("writable");
    }
    for (name, text) in files {
        std::fs::write(dir.join(name), text).expect("writable");
    }
    dir
}

/// Checks these files and gives the problems, which text and JSON tell alike.
fn problems(home: &Home, files: &[(&str, &str)]) -> Vec<String> {
    let dir = folder(home, files);
    let dir = dir.to_str().expect("text");
    let text = home.run(&["policy", "check", dir]);
    let json = home.run(&["policy", "check", dir, "--json"]);
    assert!(text.stderr.is_empty() && json.stderr.is_empty(), "{text:?} {json:?}");
    let value = line(&json);
    let problems: Vec<String> = value["problems"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|p| {
            let (file, problem) = (p["file"].as_str().expect("text"), p["problem"].as_str().expect("text"));
            assert_eq!(p.as_object().expect("an object").len(), 3, "file, line and problem: {p}");
            match &p["line"] {
                Value::Null => format!("{file}: {problem}"),
                line => format!("{file}:{}: {problem}", line.as_u64().expect("a number")),
            }
        })
        .collect();
    let code = if problems.is_empty() { 0 } else { 3 };
    assert_eq!(
        (text.code, json.code, &value["ok"]),
        (Some(code), Some(code), &Value::Bool(code == 0)),
        "{text:?}"
    );
    for problem in &problems {
        assert!(text.stdout.contains(&format!("problem: {problem}\n")), "{problem} in {text:?}");
    }
    problems
}

/// Replaces `from` by `to` in the file, and expects one problem, at this line, that says all of
/// `said`.
fn check(home: &Home, file: &str, from: &str, to: &str, at: usize, said: &[&str]) {
    let text = if file.starts_with("tools/") { TOOL } else { PROFILE };
    assert!(text.contains(from), "{from}");
    let changed = text.replacen(from, to, 1);
    let files = [("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]
        .map(|(n, t)| (n, if n == file { &*changed } else { t }));
    let problems = problems(home, &files);
    // A profile that is refused is unknown to its tools, which is told as well.
    let problem =
        problems.iter().find(|p| p.starts_with(file)).unwrap_or_else(|| panic!("{to:?}: {problems:?}"));
    assert!(problem.starts_with(&format!("{file}:{at}: ")), "{to:?} at line {at}: {problem}");
    for said in said {
        assert!(problem.contains(said), "{to:?}: {said:?} in {problem:?}");
    }
    assert!(problems.len() <= 2, "{problems:?}");
}

#[test]
fn a_component_of_a_registry_is_named_by_digest_and_key() {
    let home = Home::new();
    let hex = "0".repeat(64);
    for (more, said) in [
        ("a.test/a:1.0\"".to_owned(), "oci = \"a.test/a:1.0\" names no digest"),
        ("a.test/a@sha256:00\"".to_owned(), "not 64 lower-case hex digits"),
        (format!("a@sha256:{hex}\""), "does not begin with the registry's host"),
        (format!("a.test/a@sha256:{hex}\", signer = \"cosign.pub\""), "signer is no public key"),
        (
            format!(
                "a.test/a@sha256:{hex}\", signer = {{ identity = \"a@b.test\", issuer = \"https://b.test\" }}"
            ),
            "identities of certificates are not verified",
        ),
        (format!("a.test/a@sha256:{hex}\", sha256 = \"{hex}\""), "no component is named"),
    ] {
        check(
            &home,
            "tools/t.toml",
            "component = \"builtin\"",
            &format!("component = {{ oci = \"{more} }}"),
            4,
            &[said],
        );
    }
}

#[test]
fn a_tools_policy_is_read_strictly() {
    let home = Home::new();
    let check = |from, to, at, said: &[&str]| check(&home, "tools/t.toml", from, to, at, said);
    check("why = \"a test\"", "why = \"a test\"\nnetwork = true", 7, &["`network`", "`safety`"]);
    check("memory = ", "stack = ", 14, &["`stack`", "`memory`"]);
    check("memory = \"32 MiB\"", "memory = \"32 MB\"", 14, &["\"32 MB\" is not a size", "e.g. \"32 MiB\""]);
    check("memory = \"32 MiB\"", "memory = 32", 14, &["string"]);
    check("memory = \"32 MiB\"", "deadline = \"60\"", 14, &["\"60\" is not a duration", "e.g. \"60s\""]);
    check("memory = \"32 MiB\"", "deadline = \"-1s\"", 14, &["not a duration"]);
    check(
        "memory = \"32 MiB\"",
        "memory = \"65 MiB\"",
        14,
        &["above profile p's 64 MiB", "write at most \"64 MiB\""],
    );
    check(
        "index = \"value\"",
        "index = \"values\"",
        9,
        &["unknown class \"values\"", "write \"value\", \"content\", \"recipient\", { path = "],
    );
    check("{ path = \"write\" }", "{ path = \"delete\" }", 10, &["\"read\" | \"write\" | \"write-below\""]);
    check("{ path = \"write\" }", "{ file = \"write\" }", 10, &["write \"value\", \"content\","]);
    check("{ path = \"write\" }", "{ path = \"write\", why = \"\" }", 10, &["write \"value\""]);
    check("{ path = \"write\" }", "1", 10, &["write \"value\""]);
    check("{ path = \"write\" }", "[\"write\", \"/shared\"]", 10, &["write \"value\""]);
    let list = format!("component = [\"t.wasm\", \"{}\"]", "0".repeat(64));
    check("component = \"builtin\"", &list, 4, &["no component is named"]);
    check("schema = 1", "schema = 2", 1, &["this gateway reads schema = 1; write that"]);
    check("schema = 1\n", "", 1, &["`schema`"]);
    check("why = \"a test\"", "why = \" \"", 6, &["why is empty", "one sentence"]);
    check("why = \"a test\"\n", "", 1, &["`why`"]);
    check("profile = \"p\"", "profile = \"q\"", 3, &["no profile \"q\"; write one of p"]);
    check(
        "tool = \"attachment_save\"",
        "tool = \"attachment.save\"",
        2,
        &["\"attachment.save\" is not a tool name", "lower-case"],
    );
    check("tool = \"attachment_save\"", "tool = \"../save\"", 2, &["not a tool name"]);
    check("tool = \"attachment_save\"", "tool = \"help\"", 2, &["/help is a word to the gateway itself"]);
    check("\"side-effecting\"", "\"harmless\"", 5, &["`harmless`", "`read-only`"]);
    check(
        "\"side-effecting\"",
        "\"read-only\"",
        5,
        &["profile p, which may write", "safety = \"side-effecting\""],
    );
    check("\"builtin\"", "{ file = \"x.wasm\" }", 4, &["sha256", "both are needed"]);
    check("\"builtin\"", "\"x.wasm\"", 4, &["write \"builtin\" or { file = "]);
    check(
        "\"builtin\"",
        "{ file = \"x.wasm\", sha256 = \"abc\" }",
        4,
        &["64 lower-case hex digits", "sha256sum"],
    );
    let upper = format!("{{ file = \"x.wasm\", sha256 = \"{}\" }}", "AB".repeat(32));
    check("\"builtin\"", &upper, 4, &["64 lower-case hex digits"]);
    check("[arguments]", "[arguments", 8, &[]);
    check("index = \"value\"", "index = \"value\"\nindex = \"content\"", 10, &["duplicate key"]);
    check(TOOL, "not a policy", 1, &[]);
    check(TOOL, "", 1, &["missing field"]);
}

#[test]
fn a_profile_is_read_strictly() {
    let home = Home::new();
    let check = |from, to, at, said: &[&str]| check(&home, "profiles/p.toml", from, to, at, said);
    check("why = \"a test\"", "why = \"a test\"\nhosts = []", 4, &["`hosts`", "`mounts`"]);
    check("\"/shared\"", "\"/home\"", 5, &["no mount \"/home\"; write one of /shared, /tmp, /vault"]);
    check("\"/shared\"", "\"shared\"", 5, &["no mount \"shared\""]);
    check("\"/tmp\"", "\"/shared\"", 6, &["/shared is granted twice; keep one"]);
    check("\"atomic-write\"", "\"write\"", 5, &["`write`", "`read-only`", "`atomic-write`"]);
    check("access = \"atomic-write\"", "access = \"atomic-write\", path = \"/\"", 5, &["`path`"]);
    check(", access = \"atomic-write\"", "", 5, &["`access`"]);
    check("\"turn-attachments\"", "\"sockets\"", 8, &["`sockets`", "`turn-attachments`"]);
    check(
        "memory = \"64 MiB\"",
        "memory = \"257 MiB\"",
        11,
        &["above the gateway's 256 MiB", "write at most \"256 MiB\""],
    );
    check("memory = \"64 MiB\"", "deadline = \"1h\"", 11, &["above the gateway's 10m"]);
    check("memory = \"64 MiB\"", "written_bytes = \"1 TiB\"", 11, &["not a size", "GiB"]);
    check("schema = 1", "schema = 0", 1, &["write that"]);
    check("why = \"a test\"", "why = \"\"", 3, &["why is empty"]);
    check("profile = \"p\"\n", "", 1, &["`profile`"]);
    check("mounts = [", "mounts = \"/shared\"\nmore = [", 4, &["sequence"]);
    check(PROFILE, "\u{feff}\u{0}", 1, &[]);
}

#[test]
fn a_policy_that_does_not_fit_the_tools_schema_is_told_with_the_line_to_write() {
    let home = Home::new();
    let check = |from, to, at, said: &[&str]| check(&home, "tools/t.toml", from, to, at, said);
    // R-002-11: never "no path field, so allow".
    check(
        "path = { path = \"write\" }\n",
        "",
        8,
        &["\"path\" can hold text and is not classified", "path = { path = \"read\" }"],
    );
    check(
        &TOOL[TOOL.find("[arguments]").expect("there")..],
        "",
        1,
        &["\"path\" can hold text", "add to [arguments]"],
    );
    check(
        "overwrite = \"value\"",
        "overwrite = \"value\"\nmode = \"value\"",
        12,
        &["no argument \"mode\"; remove the line"],
    );
    check(
        "index = \"value\"",
        "index = { path = \"read\" }",
        9,
        &["\"index\" can never be a path", "write index = \"value\""],
    );
    check(
        "path = { path = \"write\" }",
        "path = \"value\"\n\"path[]\" = \"value\"",
        11,
        &["no argument \"path[]\""],
    );
}

#[test]
fn writing_needs_a_profile_that_may_write() {
    let home = Home::new();
    let reading = PROFILE.replace("atomic-write", "read-only");
    let found = problems(&home, &[("profiles/p.toml", &reading), ("tools/t.toml", TOOL)]);
    assert_eq!(
        found,
        [
            r#"tools/t.toml:10: attachment_save: "path" is written, but profile p grants no mount for writing; use { path = "read" } or a profile with access = "atomic-write""#
        ]
    );
    let below = TOOL.replace("\"write\"", "\"write-below\"");
    assert_eq!(problems(&home, &[("profiles/p.toml", &reading), ("tools/t.toml", &below)]).len(), 1);
}

#[test]
fn names_are_given_once_and_files_lie_where_they_belong() {
    let home = Home::new();
    let check = |files: &[(&str, &str)], said: &str| {
        let found =
            problems(&home, &[files, &[("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]].concat());
        assert!(found.len() == 1 && found[0].contains(said), "{said:?}: {found:?}");
    };
    check(&[("tools/u.toml", TOOL)], "tools/u.toml:1: tool attachment_save has two policies; keep one file");
    check(&[("profiles/q.toml", PROFILE)], "profiles/q.toml:1: this profile is defined twice; keep one file");
    assert_eq!(
        problems(&home, &[("profiles/p.toml", PROFILE)]),
        ["tools/: no tool has a policy; add tools/<tool>.toml and profiles/<profile>.toml"]
    );
    let without_profiles = problems(&home, &[("tools/t.toml", TOOL)]);
    assert!(
        without_profiles.len() == 1
            && without_profiles[0].starts_with("tools/t.toml:3: attachment_save: no profile \"p\""),
        "{without_profiles:?}"
    );
    // What is no policy by its name is nobody's business.
    let files =
        [("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL), ("tools/t.toml~", "old"), ("README.md", "x")];
    assert!(problems(&home, &files).is_empty());
}

#[test]
fn what_cannot_be_read_is_a_problem() {
    let home = Home::new();
    let check = |dir: &str, said: &[&str]| {
        let ran = home.run(&["policy", "check", dir]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""), "{dir}: {ran:?}");
        assert!(said.iter().all(|said| ran.stdout.contains(said)), "{said:?} in {ran:?}");
    };
    check("missing", &["problem: ", "missing/profiles", "1 problem\n"]);
    check("cofferdam.toml", &["cofferdam.toml/profiles"]);
    let dir = folder(&home, &[("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]);
    std::fs::write(dir.join("tools/latin1.toml"), b"# \xe4").expect("writable");
    check(dir.to_str().expect("text"), &["problem: tools/latin1.toml: ", "UTF-8"]);
    std::fs::remove_file(dir.join("tools/latin1.toml")).expect("ours");
    std::fs::create_dir(dir.join("tools/folder.toml")).expect("writable");
    check(dir.to_str().expect("text"), &["problem: tools/folder.toml: "]);
    std::fs::remove_dir(dir.join("tools/folder.toml")).expect("ours");
    std::os::unix::fs::symlink("nowhere", dir.join("tools/link.toml")).expect("writable");
    check(dir.to_str().expect("text"), &["problem: tools/link.toml: "]);
    std::fs::remove_file(dir.join("tools/link.toml")).expect("ours");
    std::fs::remove_dir_all(dir.join("profiles")).expect("ours");
    check(dir.to_str().expect("text"), &["profiles"]);
}

#[test]
fn components_are_checked_as_they_would_be_loaded() {
    let home = Home::new();
    let read_only = PROFILE.replace("atomic-write", "read-only");
    for (guest, said) in [
        ("examples/unknown_import", "import"),
        ("examples/open_arguments", "unnamed properties"),
        ("examples/remote_ref", "$ref"),
        ("examples/not_json", "JSON"),
        ("examples/bad_name", "name"),
        ("examples/huge_schema", ""),
        ("examples/describe_traps", ""),
    ] {
        let bytes = guests::bytes(guest);
        let name = guest.trim_start_matches("examples/");
        let tool = format!(
            "schema = 1\ntool = \"{name}\"\nprofile = \"p\"\nwhy = \"w\"\nsafety = \"read-only\"\n\
             component = {{ file = \"odd.wasm\", sha256 = \"{}\" }}\n",
            guests::sha256(&bytes)
        );
        let dir = folder(&home, &[("profiles/p.toml", &read_only), ("tools/odd.toml", &tool)]);
        std::fs::write(dir.join("tools/odd.wasm"), bytes).expect("writable");
        let ran = home.run(&["policy", "check", dir.to_str().expect("text")]);
        assert_eq!(ran.code, Some(3), "{guest}: {ran:?}");
        assert!(
            ran.stdout.contains("problem: tools/odd.toml") && ran.stdout.contains(said),
            "{guest}: {ran:?}"
        );
    }
}

#[test]
fn a_file_that_is_no_policy_at_all_is_neither_waited_for_nor_read_without_end() {
    let home = Home::new();
    let long = format!("{PROFILE}#{}", "x".repeat((1 << 20) - PROFILE.len()));
    let dir = folder(&home, &[("profiles/p.toml", &long[..1 << 20]), ("tools/t.toml", TOOL)]);
    let checked = || home.run(&["policy", "check", dir.to_str().expect("text")]);
    assert_eq!(checked().code, Some(0), "as long as one may be: {:?}", checked());
    let odd = dir.join("tools/odd.toml");
    let says = |what: &str, said: &str| {
        let ran = checked();
        assert_eq!(ran.code, Some(3), "{what}: {ran:?}");
        assert!(ran.stdout.contains(&format!("{}: {said}", odd.display())), "{what}: {ran:?}");
        // Neither does anything else start with it.
        let ran = home.command(&["tools"]).env("COFFERDAM_POLICIES_DIR", &dir).output().expect("it starts");
        assert_eq!(ran.status.code(), Some(2), "{what}: {ran:?}");
    };
    mknodat(CWD, &odd, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("ours");
    says("a FIFO", "it is not a regular file");
    std::fs::remove_file(&odd).expect("ours");
    std::os::unix::fs::symlink("/dev/zero", &odd).expect("ours");
    says("a device", "it is not a regular file");
    std::fs::remove_file(&odd).expect("ours");
    std::fs::write(&odd, long).expect("writable");
    says("a byte more", "larger than 1048576 bytes");
    std::fs::write(&odd, b"why = \"\xff\"").expect("writable");
    says("no text", "not UTF-8 text");
}

#[test]
fn sound_policies_are_told_with_their_grants() {
    let home = Home::new();
    let dir = folder(&home, &[("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]);
    let ran = home.run(&["policy", "check", dir.to_str().expect("text")]);
    let grants = "/shared (atomic-write), /tmp (read-only); turn-attachments";
    assert_eq!(ran.stdout, format!("attachment_save: profile p: {grants}\npolicies ok: 1 tools\n"));
    let json = line(&home.run(&["policy", "check", "--json"]));
    let names: Vec<_> =
        json["tools"].as_array().expect("a list").iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, builtin_tools(), "without a folder, the embedded ones that are on");
    assert!(!home.workspace().exists(), "looking makes no workspace");
}

#[test]
fn a_path_that_is_not_classified_as_one_is_a_warning_and_no_problem() {
    let home = Home::new();
    let value = TOOL.replace("path = { path = \"write\" }", "path = \"value\"");
    let files = [("profiles/p.toml", PROFILE), ("tools/t.toml", &value)];
    assert_eq!(problems(&home, &files), [""; 0]);
    let dir = folder(&home, &files);
    let dir = dir.to_str().expect("text");
    let text = home.run(&["policy", "check", dir]);
    let said =
        "tools/t.toml:10: attachment_save: argument \"path\" is named like a path and classified \"value\"";
    assert_eq!(text.code, Some(0), "{text:?}");
    assert!(text.stdout.contains(&format!("warning: {said}")), "{text:?}");
    assert!(text.stdout.ends_with("policies ok: 1 tools\n"), "{text:?}");
    let warnings = line(&home.run(&["policy", "check", dir, "--json"]))["warnings"].clone();
    let warning = (&warnings[0]["file"], &warnings[0]["line"]);
    assert_eq!((warnings.as_array().map(Vec::len), warning), (Some(1), (&"tools/t.toml".into(), &10.into())));
    let content = value.replace("path = \"value\"", "path = \"content\"");
    let dir = folder(&home, &[("profiles/p.toml", PROFILE), ("tools/t.toml", &content)]);
    let text = home.run(&["policy", "check", dir.to_str().expect("text")]);
    let said = said.replace("classified \"value\"", "classified \"content\"");
    assert!(text.code == Some(0) && text.stdout.contains(&format!("warning: {said}")), "{text:?}");
    // Those that come with the gateway have none.
    assert_eq!(line(&home.run(&["policy", "check", "--json"]))["warnings"], serde_json::json!([]));
}
