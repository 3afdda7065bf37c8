//! Commands that write: a scratch folder of the call's own, and what of it is published at judged
//! paths. Nothing is, after a failure.

use super::{answers, does_not_load, tool};
use serde_json::{Value, json};
use support::home::Home;

const PROFILE: &str = r#"
mounts = [ { guest = "/shared", access = "atomic-write" } ]
scratch = { guest = "/scratch", bytes = "2 MiB", files = 100 }
"#;

/// The command whose `outputs` are these lines.
fn writer(outputs: &str) -> Home {
    under(PROFILE, outputs)
}

fn under(profile: &str, outputs: &str) -> Home {
    let policy = format!(
        r#"safety = "side-effecting"
[command]
summary = "Writes."
argv = ["commands", {{ from = "what" }}, {{ from = "number" }}, {{ from = "name" }}, {{ from = "text" }}]
[command.schema.what]
type = "string"
[command.schema.number]
type = "integer"
optional = true
[command.schema.name]
type = "string"
optional = true
[command.schema.text]
type = "string"
optional = true
[command.schema.path]
type = "string"
optional = true
[command.schema.into]
type = "string"
optional = true
[command.schema.overwrite]
type = "boolean"
optional = true
[arguments]
what = "value"
name = "value"
text = "content"
path = {{ path = "write" }}
into = {{ path = "write-below" }}
[outputs]
{outputs}
"#
    );
    tool("commands", profile, &policy)
}

const FILE: &str = r#""out.txt" = { to = "path", replace = "overwrite" }"#;
const FOLDER: &str = r#""out/" = { to = "into" }"#;

/// It is refused, and nothing below /shared has changed.
#[track_caller]
fn refused(home: &Home, arguments: Value, code: &str, says: &str) {
    let before = files(home);
    super::refused(home, arguments, code, says);
    assert_eq!(files(home), before, "nothing is changed");
}

fn write(text: &str, path: &str) -> Value {
    json!({ "what": "write", "name": "/scratch/out.txt", "text": text, "path": path })
}

/// Every file below /shared with its text.
fn files(home: &Home) -> Vec<(String, String)> {
    let (mut found, mut dirs) = (Vec::new(), vec![home.host("/shared")]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let name = path.strip_prefix(home.host("/shared")).expect("below").display().to_string();
                found.push((name, std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

fn has(home: &Home, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(files(home), expected);
}

#[test]
fn a_named_file_is_published_at_the_judged_path() {
    let home = writer(FILE);
    refused(
        &home,
        json!({ "what": "args", "path": "/shared/a" }),
        "not_found",
        "/scratch/out.txt was not written",
    );
    refused(&home, write("x", "/etc/a"), "path_denied", "/etc/a");
    answers(&home, write("first", "/shared/a/b"), json!({ "stdout": "" }));
    has(&home, &[("a/b", "first")]);
    let outcome = home.audit().pop().expect("an outcome");
    assert_eq!(outcome["files"][0]["path"], "/shared/a/b", "{outcome}");
    refused(&home, write("second", "/shared/a/b"), "already_exists", "/shared/a/b");
    let mut again = write("second", "/shared/a/b");
    again["overwrite"] = json!(false);
    refused(&home, again, "already_exists", "/shared/a/b");
    let mut again = write("second", "/shared/a/b");
    again["overwrite"] = json!(true);
    answers(&home, again, json!({ "stdout": "" }));
    has(&home, &[("a/b", "second")]);
    // Without a path it goes nowhere; the next call finds the folder empty.
    let nowhere = json!({ "what": "write", "name": "/scratch/out.txt", "text": "x" });
    answers(&home, nowhere, json!({ "stdout": "" }));
    refused(&home, json!({ "what": "read", "name": "/scratch/out.txt" }), "failed", "/scratch/out.txt");
    has(&home, &[("a/b", "second")]);
}

#[test]
fn after_a_failure_nothing_is_published() {
    let home = writer(FILE);
    let fails = json!({ "what": "fail_after", "name": "/scratch/out.txt", "path": "/shared/a" });
    refused(&home, fails, "failed", "changed its mind");
    let half = |end: &str| json!({ "what": "half", "name": end, "path": "/shared/a" });
    refused(&home, half("panic"), "trapped", "a bug in the command");
    refused(&home, half("flood"), "too_large", "");
    answers(&home, half("fine"), json!({ "stdout": "fine" }));
    // Nor after a run whose output is not what the policy says of it, or that lasts too long.
    let file = home.policies_dir().join("tools/foreign.toml");
    let text = std::fs::read_to_string(&file).expect("there");
    let text = text.replace("\nargv =", "\nstdout = \"json\"\nargv =") + "\n[limits]\ndeadline = \"1s\"\n";
    std::fs::write(&file, text).expect("writable");
    std::fs::remove_file(home.host("/shared/a")).expect("published");
    for (end, code) in [
        ("", "failed"),
        ("no json", "failed"),
        ("[1]", "failed"),
        (r#"{"error":{"code":"not_found","message":"no"}}"#, "failed"),
        ("spin", "timed_out"),
    ] {
        refused(&home, half(end), code, "");
    }
}

/// What stands at a path that two outputs may mean is replaced only if both say so.
#[test]
fn outputs_that_meet_replace_nothing_that_one_of_them_must_not() {
    let folder = r#""out/" = { to = "into", replace = "overwrite" }"#;
    let home = writer(&format!("{folder}\n{}", FILE.replace(", replace = \"overwrite\"", "")));
    std::fs::create_dir_all(home.host("/shared/d")).expect("writable");
    std::fs::write(home.host("/shared/d/x"), "old").expect("writable");
    let mut call = write("new", "/shared/d/x");
    call["into"] = json!("/shared/d");
    call["overwrite"] = json!(true);
    refused(&home, call.clone(), "already_exists", "/shared/d/x");
    // The other way round: the folder's must not, and its files would lie beside.
    let home = writer(&format!("{FOLDER}\n{FILE}"));
    std::fs::create_dir_all(home.host("/shared/d")).expect("writable");
    std::fs::write(home.host("/shared/d/x"), "old").expect("writable");
    refused(&home, call.clone(), "already_exists", "/shared/d/x");
    call["path"] = json!("/shared/e");
    answers(&home, call, json!({ "stdout": "" }));
}

#[test]
fn a_folder_replaces_files_where_the_caller_says_so() {
    let home = writer(r#""out/" = { to = "into", replace = "overwrite" }"#);
    let write = |text: &str, overwrite: bool| json!({ "what": "write", "name": "/scratch/out/a", "text": text, "into": "/shared/d", "overwrite": overwrite });
    answers(&home, write("first", false), json!({ "stdout": "" }));
    refused(&home, write("second", false), "already_exists", "/shared/d/a");
    answers(&home, write("second", true), json!({ "stdout": "" }));
    has(&home, &[("d/a", "second")]);
}

/// A person sees the paths before, and what was there then is what is replaced.
#[test]
fn outputs_wait_for_the_approval_of_their_call() {
    let home = writer(FILE);
    let file = home.policies_dir().join("tools/foreign.toml");
    let text = std::fs::read_to_string(&file).expect("there");
    std::fs::write(&file, format!("{text}\n[approval]\n\"*\" = \"always\"\n")).expect("writable");
    let mut call = write("approved", "/shared/a");
    call["overwrite"] = json!(true);
    refused(&home, call.clone(), "approval_required", "");
    let arguments = home.file("arguments.json", call.to_string().as_bytes());
    let words = ["call", "foreign", "--args", &format!("@{arguments}"), "--approve"];
    let ran = home.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    has(&home, &[("a", "approved")]);
}

#[test]
fn a_folder_is_published_with_all_that_lies_in_it() {
    let home = writer(FOLDER);
    std::fs::create_dir_all(home.host("/shared")).expect("writable");
    std::fs::write(home.host("/shared/secret"), "s").expect("writable");
    let said = r#"["a.txt", "sub"] "fIrst second" 12 false false false"#;
    let told = json!({ "stdout": format!("{said}\n") });
    answers(&home, json!({ "what": "tree", "into": "/shared/dir" }), told);
    let tree = [
        ("dir/a.txt", "fIrst second"),
        ("dir/sub/b.txt", "b"),
        ("dir/sub/deep/c.txt", "moved"),
        ("secret", "s"),
    ];
    has(&home, &tree);
    refused(&home, json!({ "what": "tree", "into": "/shared/dir" }), "already_exists", "/shared/dir/a.txt");
    refused(&home, json!({ "what": "tree", "into": "/etc" }), "path_denied", "/etc");
    // A folder that nobody made has no file.
    answers(&home, json!({ "what": "args", "into": "/shared/none" }), json!({ "stdout": "" }));
    has(&home, &tree);
}

#[test]
fn names_are_judged_and_kinds_are_looked_at() {
    let home = writer(&format!("{FOLDER}\n{FILE}"));
    let write = |name: &str| json!({ "what": "write", "name": format!("/scratch/{name}"), "text": "x", "into": "/shared/dir" });
    refused(&home, write("out/a\nb"), "path_denied", "control or invisible character");
    refused(&home, write("out/.cofferdam-x"), "path_denied", "names starting with .cofferdam-");
    refused(&home, write(&format!("out/{}", "x".repeat(256))), "failed", "commands: /scratch/out/xxx");
    // A file where a folder is wanted, and a folder where a file is.
    refused(&home, write("out"), "not_found", "/scratch/out/ is no folder");
    let mut folder = write("out.txt/a");
    folder["path"] = json!("/shared/file");
    refused(&home, folder, "not_found", "/scratch/out.txt is a folder");
    answers(&home, write("out/-x ü"), json!({ "stdout": "" }));
    has(&home, &[("dir/-x ü", "x")]);
}

#[test]
fn links_cannot_be_planted() {
    let home = writer(FILE);
    std::fs::create_dir_all(home.host("/shared")).expect("writable");
    std::fs::write(home.host("/shared/secret"), "s").expect("writable");
    answers(&home, json!({ "what": "links" }), json!({ "stdout": "false false false\n" }));
    refused(&home, json!({ "what": "links", "path": "/shared/a" }), "not_found", "was not written");
    has(&home, &[("secret", "s")]);
}

#[test]
fn too_many_files_bytes_or_changes_publish_nothing() {
    let home = writer(&format!("{FOLDER}\n{FILE}"));
    let greedy = |count: u32| json!({ "what": "greedy", "number": count, "into": "/shared/many" });
    for count in [100, 10_000] {
        refused(&home, greedy(count), "quota_exceeded", "100 files and folders");
    }
    // As many as the folder takes are more changes than the call has.
    refused(&home, greedy(99), "quota_exceeded", "16");
    refused(&home, json!({ "what": "big", "number": 3 }), "quota_exceeded", "2 MiB");
    refused(&home, json!({ "what": "big", "number": 3, "path": "/shared/b" }), "quota_exceeded", "2 MiB");
    answers(&home, json!({ "what": "big", "number": 2, "path": "/shared/b" }), json!({ "stdout": "" }));
    assert_eq!(std::fs::metadata(home.host("/shared/b")).expect("there").len(), 2 << 20);
}

#[test]
fn many_files_are_published_as_one_call() {
    let profile =
        format!("{}\n[limits]\nchanges = 10000\n", PROFILE.replace("files = 100 ", "files = 10000 "));
    let policy_home = under(&profile, FOLDER);
    let file = policy_home.policies_dir().join("tools/foreign.toml");
    let text = std::fs::read_to_string(&file).expect("there");
    std::fs::write(&file, format!("{text}\n[limits]\nchanges = 10000\ndeadline = \"60s\"\n")).expect("ours");
    let greedy = |count: u32| json!({ "what": "greedy", "number": count });
    let mut published = greedy(300);
    published["into"] = json!("/shared/many");
    answers(&policy_home, published, json!({ "stdout": "" }));
    assert_eq!(files(&policy_home).len(), 300);
    // With their folder they are as many as a scratch folder may ever have.
    answers(&policy_home, greedy(9_999), json!({ "stdout": "" }));
    refused(&policy_home, greedy(10_000), "quota_exceeded", "10000 files and folders");
}

#[test]
fn outputs_that_cannot_be_meant_do_not_load() {
    for (outputs, says) in [
        (r#""out.txt" = { to = "what" }"#, "argument \"what\" must be { path = \"write\" }"),
        (r#""out/" = { to = "path" }"#, "argument \"path\" must be { path = \"write-below\" }"),
        (r#""out.txt" = { to = "into" }"#, "must be { path = \"write\" }"),
        (r#""../out.txt" = { to = "path" }"#, "is no path below the scratch folder"),
        (r#""/out.txt" = { to = "path" }"#, "is no path below the scratch folder"),
        (r#""/" = { to = "into" }"#, "is no path below the scratch folder"),
        (r#""out.txt" = { to = "path", replace = "what" }"#, "is no boolean argument"),
        (r#""out.txt" = { to = "path", mode = 1 }"#, "unknown field"),
    ] {
        does_not_load(&writer(outputs), says);
    }
    let without = PROFILE.lines().filter(|line| !line.starts_with("scratch")).collect::<Vec<_>>().join("\n");
    does_not_load(&under(&without, FILE), "needs a scratch folder");
    for (from, to) in [
        ("/scratch", "/shared"),
        ("/scratch", "/a/b"),
        ("/scratch", "scratch"),
        ("2 MiB", "65 MiB"),
        ("files = 100", "files = 10001"),
    ] {
        let home = under(&PROFILE.replace(from, to), FILE);
        let checked = home.run(&["policy", "check"]);
        assert_eq!(checked.code, Some(3), "{to}: {checked:?}");
        assert!(
            checked.stdout.contains("profiles/foreign.toml:") && checked.stdout.contains("scratch"),
            "{checked:?}"
        );
    }
}
