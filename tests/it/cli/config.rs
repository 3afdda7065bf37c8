//! The configuration file: where it is looked for, what its paths mean, and what in it is refused,
//! each time with the file and the line.

use super::{bare, line, put, refused, run};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use support::home::Home;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file")).expect("writable");
    fs::write(path, text).expect("writable");
}

#[test]
fn nothing_that_the_gateway_relies_on_lies_where_tools_write() {
    for (section, rest) in [
        ("policies", "dir = "),
        ("workflows", "dir = "),
        ("audit", "sign_key_file = "),
        ("provider", "kind = \"openai-chat\"\nmodel = \"m\"\napi_key_file = "),
        ("provider", "kind = \"openai-chat\"\nmodel = \"m\"\napi_key_env = \"K\"\ninstructions_file = "),
        ("network", "ca_file = "),
        ("secrets.KEY", "file = "),
        ("channels.telegram", "allowed_users = [1]\ntoken_file = "),
        ("channels.discord", "allowed_users = [1]\ntoken_file = "),
    ] {
        for mount in ["shared", "tmp"] {
            let home = Home::new().config(&format!("[{section}]\n{rest}\"workspace/{mount}/inner\"\n"));
            let says = [section.split('.').next().expect("text"), "where tools read and write"];
            refused(&home.run(&["tools"]), &says);
        }
    }
}

#[test]
fn the_nearest_configuration_is_the_one_that_counts() {
    let home = Home::new();
    // Each file that could be read refuses in its own words; the next is looked at once it is gone.
    let dir = home.dir().join("elsewhere");
    let (flag, variable) = (home.dir().join("flag.toml"), home.dir().join("variable.toml"));
    let (xdg, user) = (
        home.dir().join("xdg/cofferdam/cofferdam.toml"),
        home.dir().join(".config/cofferdam/cofferdam.toml"),
    );
    for (path, key) in [
        (&flag, "flag"),
        (&variable, "variable"),
        (&dir.join("cofferdam.toml"), "current"),
        (&xdg, "xdg"),
        (&user, "user"),
    ] {
        write(path, &format!("{key} = 1\n"));
    }
    let words = ["tools", "--config", flag.to_str().expect("text")];
    let with_variable = |words: &[&str]| {
        let mut command = bare(&home, &dir, words);
        command.env("COFFERDAM_CONFIG", &variable).env("XDG_CONFIG_HOME", home.dir().join("xdg"));
        command
    };
    refused(&run(&mut with_variable(&words)), &["flag.toml:1:", "`flag`"]);
    refused(&run(&mut with_variable(&["tools"])), &["variable.toml:1:", "`variable`"]);
    let without = || {
        let mut command = with_variable(&["tools"]);
        command.env_remove("COFFERDAM_CONFIG");
        command
    };
    refused(&run(&mut without()), &["cofferdam.toml:1:", "`current`"]);
    fs::remove_file(dir.join("cofferdam.toml")).expect("ours");
    // What it links to may be away for a moment: then another one is not served in its place.
    std::os::unix::fs::symlink("away.toml", dir.join("cofferdam.toml")).expect("writable");
    refused(&run(&mut without()), &["cannot read cofferdam.toml: No such file"]);
    fs::remove_file(dir.join("cofferdam.toml")).expect("ours");
    refused(&run(&mut without()), &["xdg/cofferdam/cofferdam.toml:1:", "`xdg`"]);
    fs::remove_file(&xdg).expect("ours");
    // XDG_CONFIG_HOME stands in for ~/.config, so the user's own file is not read beside it.
    refused(
        &run(without().arg("--json").env_remove("XDG_CONFIG_HOME")),
        &[".config/cofferdam/cofferdam.toml:1:", "`user`"],
    );
    // A relative XDG_CONFIG_HOME is none, says its specification.
    refused(&run(without().env("XDG_CONFIG_HOME", "xdg")), &["`user`"]);
}

#[test]
fn a_configuration_has_an_end_and_may_come_through_a_pipe() {
    let home = Home::new();
    let named = |file: &str| bare(&home, home.dir(), &["tools", "--config", file]);
    let long = home.dir().join("long.toml");
    let comment = |bytes: usize| format!("#{}", "x".repeat(bytes - 1));
    fs::write(&long, comment(1 << 20)).expect("writable");
    assert_eq!(run(&mut named("long.toml")).code, Some(0));
    fs::write(&long, comment((1 << 20) + 1)).expect("writable");
    for endless in ["long.toml", "/dev/zero"] {
        refused(&run(&mut named(endless)), &[endless, "has more than 1048576 bytes"]);
    }
    assert_eq!(run(&mut named("/dev/null")).code, Some(0));
    let mut piped =
        named("/dev/stdin").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    piped.stdin.take().expect("piped").write_all(b"nope = 1\n").expect("it reads");
    let said = piped.wait_with_output().expect("it ends");
    assert_eq!(said.status.code(), Some(2));
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("/dev/stdin:1: unknown field `nope`"), "{said}");
}

#[test]
fn a_named_configuration_must_be_there() {
    let home = Home::new();
    for (words, said) in [
        (["tools", "--config", "missing.toml"], "cannot read missing.toml"),
        (["tools", "--config", "."], "cannot read ."),
        (["tools", "--config", ""], "--config"),
    ] {
        refused(&run(&mut bare(&home, home.dir(), &words)), &[said]);
    }
    let said = &["cannot read missing.toml", "cofferdam init"];
    refused(&run(bare(&home, home.dir(), &["tools"]).env("COFFERDAM_CONFIG", "missing.toml")), said);
}

#[test]
fn without_any_configuration_everything_is_under_the_users_folders() {
    let home = Home::new();
    let dir = home.dir().join("elsewhere");
    fs::create_dir(&dir).expect("writable");
    // `audit show` only reads: what it misses says where it looked.
    let shown = |state_home: Option<&str>| {
        let mut command = bare(&home, &dir, &["audit", "show"]);
        command.envs(state_home.map(|dir| ("XDG_STATE_HOME", dir)));
        run(&mut command)
    };
    refused(&shown(None), &[&format!("{}/.local/state/cofferdam/audit.jsonl", home.dir().display())]);
    let nowhere = shown(Some("/nowhere/state"));
    refused(&nowhere, &["/nowhere/state/cofferdam/audit.jsonl", "no call was made yet"]);
    assert!(!nowhere.stderr.contains("writable"), "it only reads: {nowhere:?}");
    let without_home = run(bare(&home, &dir, &["audit", "show"]).env_remove("HOME"));
    refused(&without_home, &["HOME", "[workspace] root"]);
    let half = run(bare(&home, &dir, &["--workspace", "w", "audit", "show"]).env_remove("HOME"));
    refused(&half, &["HOME", "[state] dir"]);
    let named = "nor HOME names a folder to put the workspace in; set [workspace] root in cofferdam.toml, and name that \
                 file with --config";
    for none in ["", "home"] {
        refused(
            &run(bare(&home, &dir, &["audit", "show"]).env("HOME", none)),
            &["neither XDG_DATA_HOME ", named],
        );
    }
    // Root has that one in many containers.
    let topmost = run(bare(&home, &dir, &["audit", "show"]).env("HOME", "/"));
    refused(&topmost, &["/.local/state/cofferdam/audit.jsonl"]);
    // Where a file was found it is the one to be written in.
    let file = home.file("bare.toml", b"[workspace]\nroot = \"w\"\n");
    let stateless = run(bare(&home, &dir, &["--config", &file, "audit", "show"]).env_remove("HOME"));
    let said = format!(
        "neither XDG_STATE_HOME nor HOME names a folder to put the state in; set [state] dir in {file}"
    );
    refused(&stateless, &[&said]);
    assert_eq!(fs::read_dir(&dir).expect("there").count(), 0, "nothing is made where it was started");
}

#[test]
fn a_path_that_nobody_means_is_refused() {
    let home = Home::new();
    let good = fs::read_to_string(home.config_file()).expect("there");
    for (text, said) in [
        (
            "[workspace]\nroot = \"~/agent\"\n",
            "cofferdam.toml:2: [workspace] root = \"~/agent\" begins with ~",
        ),
        ("[workspace]\nroot = \"\"\n", "cofferdam.toml:2: [workspace] root = \"\" is no path"),
        ("\n[state]\ndir = \"\"\n", "cofferdam.toml:3: [state] dir = \"\" is no path"),
    ] {
        write(&home.config_file(), text);
        refused(&home.run(&["call", "file_list"]), &[said]);
    }
    write(&home.config_file(), &good);
    for (name, value, said) in [
        ("COFFERDAM_STATE_DIR", "", "COFFERDAM_STATE_DIR: \"\" is no path"),
        ("COFFERDAM_WORKSPACE_ROOT", "~/agent", "COFFERDAM_WORKSPACE_ROOT: \"~/agent\" begins with ~"),
        ("COFFERDAM_WORKSPACE", "~", "--workspace \"~\" begins with ~"),
        ("COFFERDAM_WORKSPACE", "", "COFFERDAM_WORKSPACE is empty; unset it, or write a path"),
        ("COFFERDAM_CONFIG", "", "COFFERDAM_CONFIG is empty; unset it, or write a path"),
    ] {
        refused(&run(bare(&home, home.dir(), &["tools"]).env(name, value)), &[said]);
    }
    assert!(!home.dir().join("~").exists());
}

#[test]
fn the_default_workspace_is_in_the_users_data_folder() {
    let home = Home::new();
    put(&home, "/shared/who", b"configured");
    let data = home.dir().join(".local/share/cofferdam/workspace/shared/who");
    write(&data, "default");
    // Without a configuration the state is elsewhere as well; it keeps its compiled code.
    let mut command = bare(&home, &home.workspace(), &["call", "file_read", "path=/shared/who"]);
    let ran = run(command.env("COFFERDAM_STATE_DIR", home.state()));
    assert_eq!(line(&ran)["content"], "default", "{ran:?}");
}

#[test]
fn relative_paths_are_relative_to_the_file_that_holds_them() {
    let home = Home::new().own_policies();
    let text = fs::read_to_string(home.config_file()).expect("there");
    assert!(
        text.contains("root = \"workspace\"")
            && text.contains("dir = \"state\"")
            && text.contains("dir = \"policies\"")
    );
    put(&home, "/shared/who", b"here");
    let dir = home.dir().join("a/b");
    fs::create_dir_all(&dir).expect("writable");
    for config in
        ["../../cofferdam.toml", "./../../cofferdam.toml", home.config_file().to_str().expect("text")]
    {
        let ran = run(&mut bare(&home, &dir, &["--config", config, "call", "file_read", "path=/shared/who"]));
        assert_eq!(line(&ran)["content"], "here", "{config}: {ran:?}");
    }
    assert_eq!(home.audit().len(), 3, "the state lies beside the configuration");
    assert_eq!(
        fs::read_dir(&dir).expect("there").count(),
        0,
        "nothing was made where the program was started"
    );
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let home = Home::new();
    for (text, at, said) in [
        ("nope = 1\n", 1, "`nope`"),
        ("[workspace]\nroot = \"w\"\nquota = \"1 GiB\"\n", 3, "`quota`"),
        ("[state]\n\ndirectory = \"s\"\n", 3, "`directory`"),
        ("# a comment\n[state]\ndir = \"s\"\n[policy]\ndir = \"p\"\n", 4, "`policy`"),
        ("[provider]\nkind = \"oracle\"\n", 2, "`commands`"),
        ("[provider]\nkind = \"commands\"\ntemperature = 1\n", 3, "`temperature`"),
        ("[attachments]\nmax_bytes = 20\n", 2, "string"),
        ("[attachments]\nmax_bytes = \"20 MB\"\n", 2, "e.g. \"32 MiB\""),
        ("[attachments]\nmax_turn_bytes = \"lots\"\n", 2, "KiB, MiB or GiB"),
        ("[attachments]\nmax_count = -1\n", 2, "-1"),
        ("[attachments]\nmax_count = \"10\"\n", 2, "10"),
        ("[workspace]\nmax_bytes = \"-1 B\"\n", 2, "not a size"),
        ("[workspace]\nroot = 5\n", 2, "5"),
        ("[channels.matrix]\n", 1, "`matrix`"),
        ("[workspace]\nroot = \"a\"\nroot = \"b\"\n", 3, "duplicate key"),
        ("[workspace]\nroot = \"a\"\n[workspace]\n", 3, "duplicate key"),
        ("[workspace\n", 1, ""),
        ("workspace = 1\n", 1, ""),
        ("\n\n\u{0}", 3, ""),
    ] {
        write(&home.config_file(), text);
        let place = format!("cofferdam.toml:{at}: ");
        for command in [
            &["tools"][..],
            &["serve"],
            &["call", "file_read", "path=/shared/a"],
            &["chat"],
            &["audit", "show"],
        ] {
            refused(&home.run(command), &[&place, said]);
        }
    }
    fs::write(home.config_file(), b"\xff").expect("writable");
    let ran = home.run(&["tools"]);
    refused(&ran, &["cannot read", "cofferdam.toml", "write it as UTF-8 text"]);
    assert!(!ran.stderr.contains("cofferdam init"), "that would refuse to write over it: {ran:?}");
}

/// What somebody writes where only a section or a name belongs may be the secret itself.
#[test]
fn a_value_in_the_place_of_a_section_or_a_name_is_refused_and_not_repeated() {
    let home = Home::new();
    for (text, at, said) in [
        (
            "[secrets]\n\nKEY = \"s3cret-value\"\n",
            3,
            "[secrets.KEY] is written as a value; write it as a section",
        ),
        ("secrets = \"s3cret-value\"\n", 1, "[secrets] is written as a value"),
        ("[channels]\ntelegram = \"s3cret-value\"\n", 2, "[channels.telegram] is written as a value"),
        ("channels = \"s3cret-value\"\n", 1, "[channels] is written as a value"),
        ("provider = \"s3cret-value\"\n", 1, "[provider] is written as a value"),
        (
            "[secrets.KEY]\nenv = \"Bearer s3cret-value\"\n",
            1,
            "env is not the name of an environment variable",
        ),
        ("[secrets.KEY]\nenv = \"s3cret_value\"\n", 1, "env is not the name of an environment variable"),
    ] {
        write(&home.config_file(), text);
        let ran = home.run(&["tools"]);
        refused(&ran, &[&format!("cofferdam.toml:{at}: "), said]);
        assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
    }
}

/// What is understood and makes no sense, or does not work, is told with the line of its key, or of
/// the section that lacks it.
#[test]
fn what_makes_no_sense_is_refused_with_its_line() {
    let home = Home::new();
    for (text, at, said) in [
        ("[turns]\ncalls = 1\nrounds = 0\n", 3, "[turns] rounds = 0 lets no turn be answered"),
        ("[approvals]\nexpires = \"2d\"\n", 2, "[approvals] expires = \"2d\" is not from 1s to 24h"),
        ("[audit]\n\nrotate_bytes = \"1 B\"\n", 3, "[audit] rotate_bytes is 1 B"),
        ("[log]\nfilter = \"loud\"\n", 2, "[log] filter = \"loud\""),
        ("[metrics]\nlisten = \"x\"\n", 2, "[metrics] listen = \"x\""),
        ("[provider]\nkind = \"openai-chat\"\n", 1, "[provider] model is missing"),
        ("[provider]\naccepts = []\n", 2, "[provider] accepts has no effect"),
        ("[channels.telegram]\napi_url = \"http://x.example\"\n", 2, "[channels.telegram] api_url: "),
        ("[channels.telegram]\n[channels.telegram.groups.\"-5\"]\nmembers = \"all\"\n", 3, "groups.\"-5\": "),
        ("[workspace]\nroot = \"w\"\n[state]\ndir = \"w/shared/s\"\n", 4, "[state] dir ("),
        ("[policies]\ndir = \"missing\"\n", 2, "profiles: cannot read "),
        ("[audit]\nsign_key_file = \"missing\"\n", 2, "cannot read the key "),
    ] {
        write(&home.config_file(), text);
        // The key is read by whoever writes the audit.
        let words =
            if said.ends_with("the key ") { &["call", "file_list", "path=/shared"][..] } else { &["tools"] };
        let ran = home.run(words);
        refused(&ran, &[&format!("cofferdam.toml:{at}: "), said]);
        for cause in ["cofferdam.toml:", "No such file or directory"] {
            assert!(ran.stderr.matches(cause).count() <= 1, "said once: {ran:?}");
        }
    }
    // The one that decides is to blame.
    write(&home.config_file(), "[turns]\nrounds = 1\n");
    let ran = run(home.command(&["tools"]).env("COFFERDAM_TURNS_ROUNDS", "0"));
    refused(&ran, &["COFFERDAM_TURNS_ROUNDS: [turns] rounds = 0"]);
    assert!(!ran.stderr.contains("cofferdam.toml"), "{ran:?}");
    let ran = run(home.command(&["tools"]).env("COFFERDAM_WORKSPACE_MAX_BYTES", "lots"));
    refused(&ran, &["COFFERDAM_WORKSPACE_MAX_BYTES: ", "is not a size"]);
}

#[test]
fn a_database_that_cannot_be_opened_is_told_with_the_line_of_its_folder() {
    let home = Home::new();
    write(&home.dir().join("file"), "");
    fs::create_dir_all(home.dir().join("s/cofferdam.db")).expect("writable");
    for (dir, said) in
        [("file", "/file/cofferdam.db: "), ("s", "/s/cofferdam.db is not a regular file; move it away")]
    {
        write(&home.config_file(), &format!("[workspace]\nroot = \"w\"\n[state]\ndir = {dir:?}\n"));
        refused(&home.run(&["store", "migrate"]), &["cofferdam.toml:4: ", said]);
    }
}

#[test]
fn what_the_gateway_relies_on_may_not_lie_where_tools_write() {
    let home = Home::new();
    let text = |sections: &str| write(&home.config_file(), sections);
    text("[workspace]\nroot = \"w\"\n[state]\ndir = \"w/shared/state\"\n");
    refused(&home.run(&["tools"]), &["[state] dir", "/shared", "move it out of"]);
    text("[workspace]\nroot = \"w\"\n[state]\ndir = \"w/tmp\"\n");
    refused(&home.run(&["tools"]), &["[state] dir", "/tmp"]);
    text("[workspace]\nroot = \"w\"\n[state]\ndir = \"w/x/../vault/s\"\n");
    fs::create_dir_all(home.dir().join("w/x")).expect("writable");
    refused(&home.run(&["tools"]), &["[state] dir", "/vault"]);
    text("[workspace]\nroot = \"w\"\n[state]\ndir = \"s\"\n[policies]\ndir = \"w/shared/p\"\n");
    refused(&home.run(&["tools"]), &["[policies] dir", "/shared"]);
    // Through a symlink as well.
    fs::create_dir_all(home.dir().join("w/shared")).expect("writable");
    std::os::unix::fs::symlink("w/shared", home.dir().join("link")).expect("writable");
    text("[workspace]\nroot = \"w\"\n[state]\ndir = \"link/state\"\n");
    refused(&home.run(&["tools"]), &["[state] dir", "/shared"]);
    // A configuration that a tool could change.
    let inside = home.dir().join("w/shared/cofferdam.toml");
    write(&inside, "[workspace]\nroot = \"..\"\n[state]\ndir = \"../../s\"\n");
    let words = ["--config", inside.to_str().expect("text"), "tools"];
    refused(&run(&mut bare(&home, home.dir(), &words)), &["the configuration", "/shared"]);
}
