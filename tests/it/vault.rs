//! `vault_copyto`: the one builtin tool that has anything to do with `/vault`, and what it does
//! there.

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use support::guests::sha256;
use support::home::{Home, Ran, builtin_policies};

const SECRET: &str = "CANARY-of-the-vault";

/// A gateway whose vault holds a file.
fn home() -> Home {
    filled(Home::new())
}

fn filled(home: Home) -> Home {
    for mount in ["/shared", "/tmp", "/vault/folder"] {
        fs::create_dir_all(home.host(mount)).expect("writable");
    }
    fs::write(home.host("/vault/key"), SECRET).expect("writable");
    home
}

fn copy(home: &Home, from: &str, to: &str, more: &[&str]) -> Ran {
    let arguments = json!({ "from": from, "to": to, "overwrite": more.contains(&"overwrite") }).to_string();
    let more: Vec<&str> = more.iter().filter(|word| **word != "overwrite").copied().collect();
    home.run(&[&["call", "vault_copyto", "--args", arguments.as_str()], &more[..]].concat())
}

/// The states of approvals in the audit.
pub(crate) fn approvals(home: &Home) -> Vec<String> {
    let all = home.audit().into_iter().filter(|record| record["event"] == "approval");
    all.map(|record| record["approval"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn no_other_builtin_has_the_vault_and_this_one_opens_nothing_there() {
    let home = Home::new().own_policies();
    let shown = home.run(&["policy", "show", "--json"]).json();
    let policies = shown.as_array().cloned().or_else(|| shown["tools"].as_array().cloned()).expect("a list");
    let mut tools: Vec<_> = policies.iter().filter_map(|policy| policy["tool"].as_str()).collect();
    tools.sort_unstable();
    assert_eq!(tools, builtin_policies());
    for policy in &policies {
        let mounts = policy["mounts"].as_array().expect("a list");
        let vault = mounts.iter().find(|mount| mount["guest"] == "/vault");
        let access = vault.map(|mount| mount["access"].clone());
        let expected = (policy["tool"] == "vault_copyto").then(|| json!("copy-out"));
        assert_eq!(access, expected, "{policy}");
    }
    let rules = policies.iter().find(|policy| policy["tool"] == "vault_copyto").expect("there");
    assert_eq!(
        (&rules["approval"][0]["about"], &rules["approval"][0]["when"]),
        (&json!("*"), &json!("always"))
    );
    // Nor is there a profile ready for another tool.
    for entry in fs::read_dir(home.policies_dir().join("profiles")).expect("there").flatten() {
        let text = fs::read_to_string(entry.path()).expect("readable");
        assert_eq!(text.contains("\"/vault\""), entry.file_name() == "vault-copyto.toml", "{entry:?}");
    }
}

#[test]
fn what_is_refused_before_anybody_is_asked() {
    let home = home();
    let line = |mount: &str| format!("{{ guest = \"{mount}\", access = \"atomic-write\" }}");
    let (shared, vault) = (line("/shared"), line("/vault"));
    let long = format!("/vault/{}", "a".repeat(256));
    for (from, to, parts) in [
        ("/shared/a", "/tmp/a", &["/shared is write-only", "/vault/…", &*shared, "vault-copyto.toml"][..]),
        ("/vault/key", "/vault/other", &["/vault is read-only", "/shared/… or /tmp/…", &vault]),
        ("/vault/key", "/vault/key", &["/vault is read-only"]),
        ("/etc/passwd", "/tmp/a", &["is not in a mount", "use /vault/…"]),
        ("/vault/key", "/etc/a", &["is not in a mount", "/shared/… or /tmp/…"]),
        ("/vault/key", "/shared", &["is a mount"]),
        ("/vault/../shared/a", "/tmp/a", &[". or .."]),
        ("/vault/key", "/tmp/../vault/a", &[". or .."]),
        ("/vault//key", "/tmp/a", &[]),
        ("vault/key", "/tmp/a", &[]),
        ("", "/tmp/a", &[]),
        ("/vault/\u{202e}key", "/tmp/a", &[]),
        ("/vault/key\u{0}", "/tmp/a", &[]),
        ("/vault/key\n", "/tmp/a", &[]),
        (&long, "/tmp/a", &[]),
        ("/vault/.cofferdam-tmp-1", "/tmp/a", &[]),
    ] {
        for more in [&["--approve"][..], &["--approve", "overwrite"], &[]] {
            let ran = copy(&home, from, to, more);
            assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{from:?} {to:?} {ran:?}");
            assert!(parts.iter().all(|part| ran.message().contains(part)), "{parts:?} {ran:?}");
        }
    }
    assert!(approvals(&home).is_empty(), "{:?}", approvals(&home));
    let explained = home.run(&["policy", "explain", "vault_copyto", "from=/shared/a", "to=/tmp/a"]);
    assert!(explained.code == Some(1) && explained.stdout.contains("atomic-write"), "{explained:?}");
}

#[test]
fn what_is_refused_although_somebody_approved() {
    let home = home();
    for path in ["/shared/taken", "/shared/folder/file"] {
        fs::create_dir_all(home.host(path).parent().expect("below a mount")).expect("writable");
        fs::write(home.host(path), "old").expect("writable");
    }
    mknodat(CWD, home.host("/vault/fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("possible");
    let outside = home.file("outside", b"outside");
    for (link, to) in [("/vault/link", "key"), ("/vault/leads_out", &*outside), ("/vault/gone", "nothing")] {
        symlink(to, home.host(link)).expect("writable");
    }
    fs::write(home.host("/vault/folder/file"), "inner").expect("writable");
    symlink("folder", home.host("/vault/linked")).expect("writable");
    symlink("../../outside", home.host("/shared/link")).expect("writable");
    for (from, to, code) in [
        ("/vault/none", "/tmp/a", "not_found"),
        ("/vault/key/below", "/tmp/a", "not_found"),
        ("/vault", "/tmp/a", "is_a_directory"),
        ("/vault/folder", "/tmp/a", "is_a_directory"),
        ("/vault/fifo", "/tmp/a", "not_a_regular_file"),
        ("/vault/link", "/tmp/a", "not_a_regular_file"),
        ("/vault/leads_out", "/tmp/a", "not_a_regular_file"),
        ("/vault/gone", "/tmp/a", "not_a_regular_file"),
        ("/vault/linked/file", "/tmp/a", "path_denied"),
        ("/vault/key", "/shared/folder", "is_a_directory"),
        ("/vault/key", "/shared/link", "not_a_regular_file"),
        ("/vault/key", "/shared/taken/below", "path_denied"),
        ("/vault/key", "/shared/taken", "already_exists"),
    ] {
        for overwrite in [&["--approve"][..], &["--approve", "overwrite"]] {
            if code == "already_exists" && overwrite.len() > 1 {
                continue;
            }
            let ran = copy(&home, from, to, overwrite);
            assert_eq!((ran.code, ran.error().as_str()), (Some(1), code), "{from} {to} {ran:?}");
        }
    }
    assert!(!home.host("/tmp/a").exists());
    assert_eq!(fs::read(home.host("/shared/taken")).expect("there"), b"old");
    assert_eq!(fs::read(&outside).expect("there"), b"outside");
    assert_eq!(home.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_copy_is_asked_for_with_both_paths_and_audited_with_both() {
    let home = home();
    let ran = copy(&home, "/vault/key", "/tmp/new/key", &[]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "approval_required"), "{ran:?}");
    assert!(!home.host("/tmp/new").exists() && approvals(&home).is_empty());
    let ran = copy(&home, "/vault/key", "/tmp/new/key", &["--approve"]);
    let sha = sha256(SECRET.as_bytes());
    let told = json!({ "copied": true, "from": "/vault/key", "to": "/tmp/new/key", "bytes": SECRET.len(), "sha256": sha });
    assert_eq!((ran.code, ran.json()), (Some(0), told), "{ran:?}");
    let lines =
        ["reads /vault/key: there is a file of 19 bytes", "creates /tmp/new/key: nothing is there now"];
    assert!(lines.iter().all(|line| ran.stderr.contains(line)), "{ran:?}");
    assert_eq!(fs::read(home.host("/tmp/new/key")).expect("there"), SECRET.as_bytes());
    assert_eq!(fs::read(home.host("/vault/key")).expect("there"), SECRET.as_bytes());
    let record = home.audit().pop().expect("audited");
    assert_eq!(
        record["arguments"],
        json!({ "from": "/vault/key", "to": "/tmp/new/key", "overwrite": false })
    );
    assert_eq!(record["files"], json!([{ "path": "/tmp/new/key", "bytes": SECRET.len(), "sha256": sha }]));
    assert_eq!(approvals(&home), ["asked", "approved"]);
    assert!(!fs::read_to_string(home.state().join("audit.jsonl")).expect("there").contains(SECRET));
    // Again it is asked anew, and replaces on demand alone.
    assert_eq!(copy(&home, "/vault/key", "/tmp/new/key", &["--approve"]).error(), "already_exists");
    fs::write(home.host("/vault/key"), "another").expect("writable");
    let ran = copy(&home, "/vault/key", "/tmp/new/key", &["--approve", "overwrite"]);
    assert!(
        ran.code == Some(0) && ran.stderr.contains("/tmp/new/key: there is a file of 19 bytes"),
        "{ran:?}"
    );
    assert_eq!(fs::read(home.host("/tmp/new/key")).expect("there"), b"another");
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

/// Who replays it has the vault in hand anyway, and is asked nothing.
#[test]
fn a_copy_that_was_approved_is_made_again_by_a_replay() {
    let home = home();
    assert_eq!(copy(&home, "/vault/key", "/tmp/new/key", &["--approve"]).code, Some(0));
    let seq = home.audit().pop().expect("an outcome")["seq"].to_string();
    let records = home.audit().len();
    let ran = home.run(&["audit", "replay", &seq]);
    assert!(ran.code == Some(0) && ran.stdout.contains("same: done, 1 file"), "{ran:?}");
    assert_eq!(home.audit().len(), records, "nothing is recorded");
}

#[test]
fn the_vault_is_its_owners_alone_and_each_users_where_they_have_their_own() {
    let home = Home::new();
    assert_eq!(home.call(&["file_list", "path=/shared"]).code, Some(0));
    let mode = |home: &Home, at: &str| fs::metadata(home.workspace().join(at)).expect("made").mode() & 0o777;
    assert_eq!(mode(&home, "vault"), 0o700);
    let home = filled(Home::new().config("[workspace]\nroot = \"workspace\"\nper_user = true\n"));
    assert_eq!(copy(&home, "/vault/key", "/tmp/a", &["--approve"]).error(), "not_found");
    let own = format!("users/cli-{}/vault", rustix::process::getuid().as_raw());
    assert_eq!(mode(&home, &own), 0o700);
    fs::write(home.workspace().join(&own).join("key"), "own").expect("writable");
    let ran = copy(&home, "/vault/key", "/tmp/a", &["--approve"]);
    assert_eq!((ran.code, &ran.json()["bytes"]), (Some(0), &json!(3)), "{ran:?}");
}

/// A guest under this very profile, which does what it likes.
#[test]
fn a_hostile_guest_under_this_profile_sees_no_byte_of_the_vault() {
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = \"value\"\nbytes = \"value\"\n";
    let unjudged = filled(Home::new().tool("hostile", "vault-copyto", "hostile", policy));
    for (behaviour, path) in [
        ("read", "/vault/key"),
        ("list", "/vault"),
        ("list", "/"),
        ("read", "/shared/../vault/key"),
        ("read", "vault/key"),
    ] {
        let ran = unjudged.call(&["hostile", &format!("behaviour={behaviour}"), &format!("path={path}")]);
        assert!(ran.code == Some(0) && ran.json()["error"].is_string(), "{behaviour} {path}: {ran:?}");
        assert!(!ran.stdout.contains(SECRET), "{ran:?}");
    }
    // It may write there, and name another file than the one that was judged: none was.
    let judged = policy.replace("path = \"value\"", "path = { path = \"write\" }");
    let judged = filled(Home::new().tool("hostile", "vault-copyto", "hostile", &judged));
    for from in ["/vault/key", "/shared/a", "/vault/folder/../key"] {
        let behaviour = format!("behaviour=append_file:{from}");
        let ran = judged.call(&["hostile", &behaviour, "path=/shared/a"]);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{from}: {ran:?}");
    }
    assert!(!judged.host("/shared/a").exists());
}
