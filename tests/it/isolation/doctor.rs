//! `doctor`: the shape that scripts rely on, and each problem mended by the very command it names.

use super::{doctor, findings, text};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use support::home::Home;
use support::workers::{of as workers_of, until};

#[test]
fn a_sound_installation_is_told_whole() {
    let home = Home::new();
    assert_eq!(home.call(&["file_read", "path=/shared/a"]).code, Some(1));
    let (ran, value) = doctor(&home);
    assert_eq!((ran.code, ran.stderr.as_str(), &value["ok"]), (Some(0), "", &true.into()), "{ran:?}");
    let keys: Vec<_> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = "ok findings isolation kernel configuration places tenants people tools audit database leftovers network voice serve";
    assert_eq!(keys.join(" "), expected);
    assert_eq!((&value["database"], &value["leftovers"]["staged"]), (&Value::Null, &0.into()));
    assert_eq!((&value["audit"]["ok"], &value["audit"]["records"]), (&true.into(), &1.into()));
    for place in value["places"].as_array().expect("a list") {
        assert!(place["found"]["free_bytes"].as_u64() > Some(0), "{place}");
    }
    assert!(value["tools"].as_array().expect("a list").iter().all(|tool| tool["available"] == true));
    for feature in ["openat2", "seccomp", "pidfd"] {
        assert_eq!(value["kernel"][feature], true, "{feature}");
    }
    let told = home.run(&["doctor"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    // The image of the worker that runs guests is the one that is told.
    let image = worker_image(&home);
    let worker = &value["isolation"]["worker"];
    let (sha256, bytes) = (support::guests::sha256(&image), image.len());
    assert_eq!((&worker["sha256"], &worker["bytes"]), (&sha256.clone().into(), &bytes.into()));
    let line = format!("guests run in a program of its own, {} KiB, sha256 {sha256}\n", bytes / 1024);
    assert!(told.stdout.contains(&line), "{line}: {told:?}");
    for said in [
        "isolation: not required\n  guests run in a program of its own, ",
        "; Landlock ABI ",
        " refused, ",
        " 0 not as they should be\n",
        "\nconfiguration: ",
        "  workspace.max_bytes = \"10 GiB\"  (default)\n",
        "  in the workspace: 0 sessions with a /tmp (unused it goes after 7d), 0 users with a workspace of their own, 0 MiB of 10 GiB\n",
        "  left by crashes: 0; waiting with replies: 0 files, 0 KiB\n",
        "\ndatabase: none yet\nnetwork:\n  telegram: not configured\n  model: none to ask\n",
        "\naudit: 1 records, head 1:",
        "\nall is well\n",
    ] {
        assert!(told.stdout.contains(said), "{said:?} in {told:?}");
    }
}

/// What a worker of this gateway is run from.
fn worker_image(home: &Home) -> Vec<u8> {
    let mut server =
        home.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let mut stdin = server.stdin.take().expect("piped");
    let meta = serde_json::json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" }, "io.modelcontextprotocol/clientCapabilities": {} });
    let params =
        serde_json::json!({ "name": "file_list", "arguments": { "path": "/shared" }, "_meta": meta });
    let call = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    writeln!(stdin, "{call}").expect("it reads");
    let mut image = Vec::new();
    until("a worker", || {
        let worker = workers_of(server.id()).into_iter().next();
        image = worker.and_then(|pid| fs::read(format!("/proc/{pid}/exe")).ok()).unwrap_or_default();
        !image.is_empty()
    });
    drop(stdin);
    server.wait().expect("it ends");
    image
}

#[test]
fn every_key_has_an_origin_and_no_secret_is_shown() {
    let home = Home::new().telegram("http://127.0.0.1:9", &[42]).config("[attachments]\nmax_count = 7\n");
    let mut command = home.command(&["--workspace", "other", "doctor", "--json"]);
    command.env("COFFERDAM_ATTACHMENTS_MAX_BYTES", "1 MiB").env("TELEGRAM_BOT_TOKEN", "123:hidden");
    let ran = support::home::Ran::from(command.output().expect("starts"));
    assert!(!ran.stdout.contains("hidden") && !ran.stderr.contains("hidden"), "{ran:?}");
    let value = ran.json();
    let keys = value["configuration"]["keys"].as_array().expect("a list");
    let check = |key: &str, value: &str, origin: &str| {
        let found = keys.iter().find(|setting| setting["key"] == key).expect("there");
        assert_eq!((text(&found["value"]), text(&found["origin"])), (value, origin), "{key}");
    };
    check("workspace.root", "\"other\"", "flag");
    check("attachments.max_count", "7", "file");
    check("attachments.max_bytes", "\"1 MiB\"", "environment");
    check("attachments.max_turn_bytes", "\"40 MiB\"", "default");
    check("channels.telegram.allowed_users", "[42]", "file");
    check("channels.telegram.token_env", "\"TELEGRAM_BOT_TOKEN\"", "default");
}

#[test]
fn what_others_may_write_is_mended_by_the_command_it_names() {
    let home = Home::new();
    fs::create_dir_all(home.workspace()).expect("writable");
    for (path, mode) in [(home.state(), 0o755), (home.workspace(), 0o777), (home.config_file(), 0o666)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        let (ran, value) = doctor(&home);
        assert_eq!((ran.code, &value["ok"]), (Some(3), &false.into()), "{ran:?}");
        let found = &value["findings"][0];
        assert_eq!((text(&found["section"]), text(&found["weight"])), ("places", "problem"));
        assert!(text(&found["what"]).contains(path.to_str().expect("text")), "{found}");
        let mended = Command::new("sh").arg("-c").arg(text(&found["mend"])).status().expect("a shell");
        assert!(mended.success(), "{found}");
        let (ran, value) = doctor(&home);
        assert_eq!((ran.code, &value["findings"]), (Some(0), &Value::Array(Vec::new())), "{ran:?}");
    }
}

#[test]
fn a_broken_audit_and_broken_policies_are_problems() {
    let home = Home::new();
    assert_eq!(home.call(&["nope"]).code, Some(1));
    assert_eq!(home.call(&["nope"]).code, Some(1));
    let log = home.state().join("audit.jsonl");
    let text = fs::read_to_string(&log).expect("there");
    fs::write(&log, text.replacen("nope", "none", 1)).expect("writable");
    let (ran, value) = doctor(&home);
    assert_eq!(
        (ran.code, findings(&value)),
        (Some(3), vec!["audit: the audit's chain is broken".to_owned()])
    );
    assert_eq!(value["findings"][0]["mend"], "cofferdam audit verify");

    let home = Home::new().policy("tools/file_read.toml", "schema = 1\nnonsense = 1\n");
    let (ran, value) = doctor(&home);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let found = findings(&value);
    assert!(found.len() == 1 && found[0].starts_with("tools: tools/file_read.toml:"), "{found:?}");
}

/// It may run as another account than `serve` will: root's folders would be in that one's way.
#[test]
fn it_makes_nothing_that_serve_would_find() {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy);
    let state = home.state();
    fs::remove_dir_all(&state).expect("warmed");
    let tools = |value: &Value| {
        let tools = value["tools"].as_array().expect("a list").iter();
        tools.filter(|tool| tool["name"] == "hello" && tool["available"] == true).count()
    };
    let (ran, value) = doctor(&home);
    assert_eq!((ran.code, tools(&value)), (Some(0), 1), "{ran:?}");
    assert!(!state.exists() && !home.workspace().exists(), "neither is made");
    fs::create_dir(&state).expect("writable");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).expect("ours");
    let (ran, value) = doctor(&home);
    assert_eq!((ran.code, tools(&value)), (Some(0), 1), "{ran:?}");
    assert_eq!(fs::read_dir(&state).expect("there").count(), 0, "nothing is put into it");
}
