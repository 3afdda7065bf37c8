//! Components that import more than their profile grants: where the policy says `imports =
//! "strict"` they do not load, and the message names the import; else what is not granted refuses.

use support::home::{Home, Ran};

const MOUNT: &str = r#"{ guest = "/shared", access = "read-only" }"#;
const WRITABLE: &str = r#"{ guest = "/shared", access = "atomic-write" }"#;

/// The attacker, which imports everything, under a profile that grants this.
fn under(mount: &str, interfaces: &str) -> Ran {
    let home = home("imports = \"strict\"\n", mount, interfaces);
    let checked = home.run(&["policy", "check"]);
    let ran = home.call(&["hostile", "behaviour=ok"]);
    if ran.code == Some(1) {
        assert_eq!(checked.code, Some(3), "{checked:?}");
        assert!(
            checked.stdout.contains("problem: tools/hostile.toml: hostile: the component does not load"),
            "{checked:?}"
        );
        assert_eq!(home.call(&["file_read", "path=/shared/none"]).error(), "not_found", "the others work");
    }
    ran
}

fn home(imports: &str, mount: &str, interfaces: &str) -> Home {
    let profile = format!(
        "schema = 1\nprofile = \"narrow\"\nwhy = \"a test\"\nmounts = [ {mount} ]\ninterfaces = [ {interfaces} ]\n"
    );
    let arguments = "behaviour = \"value\"\npath = \"value\"\nbytes = \"value\"";
    let policy = format!("safety = \"side-effecting\"\n{imports}[arguments]\n{arguments}");
    Home::new().policy("profiles/narrow.toml", &profile).tool("hostile", "narrow", "hostile", &policy)
}

#[test]
fn what_is_not_granted_refuses_when_it_is_called_and_is_told() {
    let home = home("", "", "");
    let checked = home.run(&["policy", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    for (import, grant) in [
        ("turn-attachments", "interfaces = [\"turn-attachments\"]"),
        ("workspace-write", "mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]"),
    ] {
        let said = format!("warning: tools/hostile.toml: hostile: imports `cofferdam:tool/{import}@0.1.0`");
        let line = checked.stdout.lines().find(|line| line.starts_with(&said));
        assert!(line.is_some_and(|line| line.ends_with(grant)), "{import}: {checked:?}");
    }
    assert_eq!(home.call(&["hostile", "behaviour=ok"]).stdout, "{\"ok\":true}\n");
    // Its result has an error, so that is what it gets.
    let ran = home.call(&["hostile", "behaviour=stage_create", "path=/shared/x"]);
    assert_eq!(ran.error(), "path_denied", "{ran:?}");
    let said = "it called stage of `cofferdam:tool/workspace-write@0.1.0`, which is not granted to this tool";
    assert!(ran.message().contains(said), "{ran:?}");
    assert!(!home.host("/shared/x").exists());
}

fn unavailable(ran: &Ran, import: &str) {
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{ran:?}");
    let message = ran.message();
    assert!(message.contains(import) && message.contains("grant the interface in the profile"), "{message}");
}

#[test]
fn without_attachments_they_cannot_be_imported() {
    for mount in ["", MOUNT, WRITABLE] {
        unavailable(&under(mount, ""), "`cofferdam:tool/turn-attachments@0.1.0`");
    }
}

#[test]
fn without_a_writable_mount_writing_cannot_be_imported() {
    for mount in ["", MOUNT] {
        unavailable(&under(mount, "\"turn-attachments\""), "`cofferdam:tool/workspace-write@0.1.0`");
    }
}

#[test]
fn with_both_granted_it_loads() {
    // Under `strict` what is left is its sockets, which nothing grants.
    let strict = under(WRITABLE, "\"turn-attachments\"").message();
    let imports: Vec<&str> = strict.split("it imports `").skip(1).collect();
    assert!(imports.iter().all(|import| import.starts_with("wasi:sockets/")), "{strict}");
    let ran = home("", WRITABLE, "\"turn-attachments\"").call(&["hostile", "behaviour=ok"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"ok\":true}\n"), "{ran:?}");
}

#[test]
fn a_tool_that_imports_neither_needs_no_grant() {
    let profile = "schema = 1\nprofile = \"nothing\"\nwhy = \"a test\"\nmounts = []\n";
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"";
    let home =
        Home::new().policy("profiles/nothing.toml", profile).tool("hello", "nothing", "minimal", policy);
    assert_eq!(home.call(&["hello", "name=Ada"]).stdout, "{\"greeting\":\"Hello, Ada!\"}\n");
}
