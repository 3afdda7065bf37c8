//! `init`: writes a configuration that loads as it is, knows every key, and never replaces a file.

use super::{bare, refused, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::home::Home;
use support::tls::Authority;

fn template(home: &Home) -> String {
    assert_eq!(home.run(&["init", "template.toml"]).code, Some(0));
    fs::read_to_string(home.dir().join("template.toml")).expect("written")
}

#[test]
fn it_never_replaces_anything() {
    let home = Home::new();
    let before = fs::read(home.config_file()).expect("there");
    let told = home.run(&["init"]);
    refused(
        &told,
        &[
            "cannot create",
            "cofferdam.toml: it exists, and nothing is overwritten; name another file, or move that one away",
        ],
    );
    assert!(!told.stderr.contains("os error"), "{told:?}");
    refused(&home.run(&["init", "cofferdam.toml"]), &["cofferdam.toml"]);
    refused(&home.run(&["init", "workspace/../cofferdam.toml"]), &["cofferdam.toml"]);
    assert_eq!(fs::read(home.config_file()).expect("there"), before);
    // Nor a folder, nor what a symlink leads to, there or not.
    std::os::unix::fs::symlink("cofferdam.toml", home.dir().join("link")).expect("writable");
    std::os::unix::fs::symlink("nowhere", home.dir().join("dangling")).expect("writable");
    for taken in [".", "link", "dangling", "/dev/null", "/dev/null/cofferdam.toml"] {
        refused(&home.run(&["init", taken]), &["cannot create"]);
    }
    assert!(!home.dir().join("nowhere").exists());
}

/// As its own help names it, for an account that has no such folder yet.
#[test]
fn folders_that_are_missing_are_made_for_their_owner() {
    let home = Home::new();
    let ran = home.run(&["init", ".config/cofferdam/cofferdam.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for folder in [".config", ".config/cofferdam"] {
        let mode = fs::metadata(home.dir().join(folder)).expect("made").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
    assert!(home.dir().join(".config/cofferdam/cofferdam.toml").exists());
}

#[test]
fn it_writes_where_it_is_told() {
    let home = Home::new();
    let dir = home.dir().join("fresh");
    fs::create_dir(&dir).expect("writable");
    let mut paths = Vec::new();
    for (words, variable, written) in [
        (&["init"][..], None, "cofferdam.toml"),
        (&["init", "named.toml"], Some("variable.toml"), "named.toml"),
        (&["--config", "before.toml", "init"], Some("variable.toml"), "before.toml"),
        (&["init", "--config", "after.toml"], None, "after.toml"),
        (&["init"], Some("variable.toml"), "variable.toml"),
    ] {
        let mut command = bare(&home, &dir, words);
        command.envs(variable.map(|file| ("COFFERDAM_CONFIG", file)));
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        assert!(
            ran.stdout.contains(&format!("wrote {written}"))
                && ran.stdout.contains(&format!("cofferdam serve --config {written}\n"))
                && ran.stdout.contains(&format!("cofferdam allow CODE --config {written}\n")),
            "{ran:?}"
        );
        let mode = fs::metadata(dir.join(written)).expect("written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
        paths.push(written);
    }
    assert_eq!(fs::read_dir(&dir).expect("there").count(), paths.len(), "nothing else was made");
}

#[test]
fn what_it_writes_loads_as_it_is() {
    let home = Home::new();
    let text = template(&home);
    fs::write(home.config_file(), &text).expect("writable");
    // The paths are all commented out, so the state is the user's own.
    let shown = home.run(&["audit", "show"]);
    refused(&shown, &[&format!("{}/.local/state/cofferdam/audit.jsonl", home.dir().display())]);
    let serve = home.run(&["serve"]);
    refused(&serve, &["TELEGRAM_BOT_TOKEN", "@BotFather"]);
}

#[test]
fn it_holds_every_key_and_no_other() {
    let home = Home::new();
    let text = template(&home);
    let mut section = String::new();
    let mut found = std::collections::BTreeSet::new();
    for line in text.lines() {
        // A section, or one that is commented out.
        if let Some(name) =
            line.trim_start_matches("# ").strip_prefix('[').filter(|_| !line.starts_with("#     "))
        {
            section = name.trim_end_matches(']').to_owned();
            continue;
        }
        // A key, or one that is commented out: `# root = "…"`.
        let key = line.trim_start_matches("# ").split_once(" = ").map(|(key, _)| key);
        if let Some(key) = key.filter(|key| key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')) {
            found.insert(format!("COFFERDAM_{}_{}", section.replace('.', "_"), key).to_uppercase());
        }
    }
    assert_eq!(found, super::environment::variables(&home));
}

#[test]
fn what_is_commented_out_is_understood_as_well() {
    let home = Home::new();
    let text = template(&home);
    let all: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(key) if key.contains(" = ") || key.starts_with("[channels.") => format!("{key}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    assert_ne!(all, text);
    // A model's keys are refused without a model, and a key is in one place.
    let all = all.replace("kind = \"commands\"", "kind = \"openai-chat\"");
    let all = all.replacen("api_key_env = \"OPENAI_API_KEY\"\n", "", 1);
    let all = all.replacen("url_file = \"database-url\"\n", "", 1);
    fs::write(home.config_file(), &all).expect("writable");
    let authority = Authority::new().expect("a key");
    fs::write(home.dir().join("company-ca.pem"), authority.pem()).expect("writable");
    let database = ("DATABASE_URL", "postgres://cofferdam@localhost/cofferdam");
    let mut command = home.command(&["audit", "show"]);
    command.env(database.0, database.1);
    refused(&run(&mut command), &["[store] blobs: the environment variable AWS_REGION is not set"]);
    for name in ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        command.env(name, "x");
    }
    let shown = run(&mut command);
    refused(&shown, &["/home/me/.local/state/cofferdam/audit.jsonl"]);
}

#[test]
fn the_values_it_shows_are_the_defaults() {
    let home = Home::new();
    let text = template(&home);
    // The program refuses one more of each: what is shown is what holds without a configuration.
    assert!(text.contains("rotate_bytes = \"64 MiB\""));
    for default in [
        "at_once = 8",
        "written_bytes = \"4 GiB\"",
        "rounds = 16",
        "calls = 64",
        "deadline = \"15m\"",
        "tokens = 1000000",
        "history_tokens = 32000",
        "user_tokens_per_day = 5000000",
        "user_written_bytes_per_day = \"20 GiB\"",
        "reach = \"own\"",
        "max_call_bytes = \"40 MiB\"",
        "max_turn_bytes = \"50 MiB\"",
        "max_held_bytes = \"1 GiB\"",
        "compile_time = \"5m\"",
        "max_bytes = \"20 MiB\"",
        "max_turn_bytes = \"40 MiB\"",
        "max_count = 10",
        "max_bytes = \"10 GiB\"",
    ] {
        assert!(text.contains(default), "{default}");
    }
    let file = home.file("sent", b"x");
    let mut words = vec!["call", "attachment_save", "index=10", "path=/shared/a"];
    words.extend(std::iter::repeat_n(["--attach", &*file], 11).flatten());
    assert!(home.run(&words).message().contains("too many"));
    words[2] = "index=9";
    assert_eq!(home.run(&words).code, Some(0));
    let over = home.file("over", &vec![0; (20 << 20) + 1]);
    let ran = home.call(&["attachment_save", "index=0", "path=/shared/b", "--attach", &over]);
    assert!(ran.message().contains("too large") && ran.message().contains("20 MiB"), "{ran:?}");
}

#[test]
fn what_it_says_of_asking_before_a_deletion_is_what_works() {
    let home = Home::new();
    let text = template(&home);
    let rule: String =
        text.lines().filter_map(|line| line.strip_prefix("#     ")).map(|line| format!("{line}\n")).collect();
    assert!(rule.starts_with("[approval]\n"), "{rule}");
    assert!(
        text.contains("`cofferdam policy export policies`")
            && text.contains("policies/tools/file_delete.toml")
    );
    assert_eq!(home.run(&["policy", "export", "policies"]).code, Some(0));
    let policy = home.dir().join("policies/tools/file_delete.toml");
    let exported = fs::read_to_string(&policy).expect("exported");
    let named = text.replace("# dir = \"policies\"", "dir = \"policies\"");
    assert_ne!(named, text);
    let named = named.replace("# root = \"/home/me/cofferdam\"", "root = \"workspace\"");
    fs::write(
        home.config_file(),
        named.replace("# dir = \"/home/me/.local/state/cofferdam\"", "dir = \"state\""),
    )
    .expect("writable");
    super::put(&home, "/shared/a", b"x");
    fs::write(&policy, format!("{exported}\n{rule}")).expect("writable");
    assert_eq!(home.call(&["file_delete", "path=/shared/a"]).error(), "approval_required");
    assert!(home.host("/shared/a").exists());
    fs::write(&policy, exported).expect("writable");
    assert_eq!(home.call(&["file_delete", "path=/shared/a"]).code, Some(0));
}
