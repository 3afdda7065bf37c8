//! The environment: every key of the configuration is there, and what is no key is refused.

use super::{line, put, refused, run};
use std::collections::BTreeSet;
use support::home::{Home, Ran};

/// Runs the program with one variable set.
fn with(home: &Home, name: &str, value: &str, arguments: &[&str]) -> Ran {
    run(home.command(arguments).env(name, value))
}

/// Every variable, as the program itself lists them.
pub(super) fn variables(home: &Home) -> BTreeSet<String> {
    let ran = with(home, "COFFERDAM_NOPE", "1", &["tools"]);
    refused(&ran, &["COFFERDAM_NOPE: no such setting; there is "]);
    let (_, list) = ran.stderr.trim_end().split_once("there is ").expect("the list");
    list.split(", ").map(str::to_owned).collect()
}

#[test]
fn what_is_no_key_is_refused_by_every_command() {
    let home = Home::new();
    for command in [
        &["tools"][..],
        &["serve"],
        &["chat"],
        &["call", "file_read"],
        &["policy", "check"],
        &["audit", "show"],
    ] {
        refused(&with(&home, "COFFERDAM_NOPE", "", command), &["COFFERDAM_NOPE: no such setting"]);
    }
    for name in
        ["COFFERDAM_WORKSPACE_MAX_BYTE", "COFFERDAM_", "COFFERDAM_workspace_root", "COFFERDAM_TELEGRAM_TOKEN"]
    {
        refused(&with(&home, name, "x", &["tools"]), &[&format!("{name}: no such setting")]);
    }
    // Other people's variables are theirs.
    assert_eq!(with(&home, "COFFERDAMS_NOPE", "1", &["audit", "verify", "-h"]).code, Some(0));
}

#[test]
fn a_value_that_is_not_understood_is_refused() {
    let home = Home::new();
    for (name, value, said) in [
        ("COFFERDAM_WORKSPACE_MAX_BYTES", "lots", "\"lots\" is not a size"),
        ("COFFERDAM_ATTACHMENTS_MAX_BYTES", "", "not a size"),
        ("COFFERDAM_ATTACHMENTS_MAX_TURN_BYTES", "20 MB", "e.g. \"32 MiB\""),
        (
            "COFFERDAM_ATTACHMENTS_MAX_COUNT",
            "ten",
            "COFFERDAM_ATTACHMENTS_MAX_COUNT: \"ten\" is not a whole number",
        ),
        ("COFFERDAM_ATTACHMENTS_MAX_COUNT", "-1", "-1"),
        ("COFFERDAM_PROVIDER_KIND", "oracle", "commands"),
        ("COFFERDAM_CHANNELS_TELEGRAM_ALLOWED_USERS", "1,@ann", "\"@ann\" is not a whole number"),
        ("COFFERDAM_CHANNELS_TELEGRAM_ALLOWED_USERS", "-100", "-100 is not a user's id"),
        ("COFFERDAM_CHANNELS_TELEGRAM_API_URL", "http://example.org", "plain http"),
        ("COFFERDAM_APPROVALS_EXPIRES", "25h", "[approvals] expires = \"25h\" is not from 1s to 24h"),
        ("COFFERDAM_APPROVALS_EXPIRES", "0s", "is not from 1s to 24h; write e.g. \"10m\""),
    ] {
        refused(&with(&home, name, value, &["tools"]), &[said]);
    }
}

#[test]
fn what_is_no_text_is_refused_and_not_passed_over() {
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    let value = std::ffi::OsStr::from_bytes(b"1\xff");
    let ran = run(home.command(&["audit", "show"]).env("COFFERDAM_ATTACHMENTS_MAX_COUNT", value));
    refused(&ran, &["COFFERDAM_ATTACHMENTS_MAX_COUNT"]);
}

/// What a variable's value is seen to do.
type Seen = fn(&Home, &[(&str, &str)]) -> Ran;

/// Each key, a value, a command that shows it, and what is then shown.
const EFFECTS: &[(&str, &str, Seen, &str)] = &[
    ("COFFERDAM_WORKSPACE_ROOT", "workspace2", read, "not_found"),
    ("COFFERDAM_WORKSPACE_MAX_BYTES", "3 B", save, "quota_exceeded"),
    ("COFFERDAM_WORKSPACE_PER_USER", "true", read, "not_found"),
    ("COFFERDAM_WORKSPACE_AFFINITY", "user", |home, set| ran(home, set, &["tools"]), "needs per_user = true"),
    (
        "COFFERDAM_WORKSPACE_SESSION_TMP_AGE",
        "59m",
        |home, set| ran(home, set, &["tools"]),
        "\"59m\" is less than 1h",
    ),
    ("COFFERDAM_STATE_DIR", "state2", |home, set| ran(home, set, &["audit", "show"]), "state2/audit.jsonl"),
    ("COFFERDAM_STORE_ENGINE", "mysql", |home, set| ran(home, set, &["tools"]), "`mysql`"),
    ("COFFERDAM_STORE_URL_ENV", "URL", |home, set| ran(home, set, &["tools"]), "url_env is of PostgreSQL"),
    ("COFFERDAM_STORE_URL_FILE", "url", |home, set| ran(home, set, &["tools"]), "url_file is of PostgreSQL"),
    ("COFFERDAM_STORE_SCHEMA", "s", |home, set| ran(home, set, &["tools"]), "schema is of PostgreSQL"),
    ("COFFERDAM_STORE_BLOBS", "s3://b", |home, set| ran(home, set, &["tools"]), "blobs is of PostgreSQL"),
    ("COFFERDAM_CLUSTER_NODE", "a", |home, set| ran(home, set, &["tools"]), "[cluster] is of gateways"),
    ("COFFERDAM_CLUSTER_LEASE", "9s", |home, set| ran(home, set, &["tools"]), "[cluster] is of gateways"),
    (
        "COFFERDAM_POLICIES_DIR",
        "policies2",
        |home, set| ran(home, set, &["policy", "check"]),
        "policies2/profiles",
    ),
    ("COFFERDAM_AUDIT_ROTATE_BYTES", "1 KiB", |home, set| ran(home, set, &["tools"]), "at least 64 KiB"),
    ("COFFERDAM_AUDIT_SIGN_KEY_FILE", "key2.pem", read, "key2.pem"),
    ("COFFERDAM_PROVIDER_KIND", "nobody", |home, set| ran(home, set, &["chat"]), "nobody"),
    ("COFFERDAM_PROVIDER_BASE_URL", "http://127.0.0.1:1", no_model, "[provider] base_url has no effect"),
    ("COFFERDAM_PROVIDER_MODEL", "m", no_model, "[provider] model has no effect"),
    ("COFFERDAM_PROVIDER_API_KEY_ENV", "KEY", no_model, "[provider] api_key_env has no effect"),
    ("COFFERDAM_PROVIDER_API_KEY_FILE", "key", no_model, "[provider] api_key_file has no effect"),
    ("COFFERDAM_PROVIDER_ACCEPTS", "image/*", no_model, "[provider] accepts has no effect"),
    ("COFFERDAM_PROVIDER_MAX_OUTPUT_TOKENS", "1", no_model, "[provider] max_output_tokens has no effect"),
    (
        "COFFERDAM_PROVIDER_INSTRUCTIONS_FILE",
        "how.md",
        no_model,
        "[provider] instructions_file has no effect",
    ),
    ("COFFERDAM_TRANSCRIPTION_BASE_URL", "http://127.0.0.1:1", no_model, "[transcription] model is missing"),
    ("COFFERDAM_TRANSCRIPTION_MODEL", "m", no_model, "[transcription] there is no key for api.openai.com"),
    ("COFFERDAM_TRANSCRIPTION_API_KEY_ENV", "KEY", no_model, "[transcription] model is missing"),
    ("COFFERDAM_SPEECH_BASE_URL", "http://127.0.0.1:1", no_model, "[speech] model is missing"),
    ("COFFERDAM_SPEECH_MODEL", "m", no_model, "[speech] voice is missing"),
    ("COFFERDAM_SPEECH_VOICE", "alloy", no_model, "[speech] model is missing"),
    ("COFFERDAM_SPEECH_API_KEY_ENV", "KEY", no_model, "[speech] model is missing"),
    ("COFFERDAM_ATTACHMENTS_MAX_BYTES", "3 B", save, "too large"),
    ("COFFERDAM_ATTACHMENTS_MAX_TURN_BYTES", "3 B", save, "together"),
    ("COFFERDAM_ATTACHMENTS_MAX_COUNT", "0", save, "too many"),
    ("COFFERDAM_ATTACHMENTS_MAX_DOWNLOAD_SIZE_BYTES", "3", check, "max_download_size_bytes is 3"),
    (
        "COFFERDAM_ATTACHMENTS_DOWNLOAD_TIMEOUT",
        "0s",
        check,
        "download_timeout = \"0s\" is not from 1ms to 10m",
    ),
    ("COFFERDAM_ATTACHMENTS_MAX_REDIRECTS", "21", check, "max_redirects = 21 is not from 0 to 20"),
    ("COFFERDAM_ATTACHMENTS_TEMP_DIR_QUOTA_BYTES", "9", check, "= 9 is less than max_download_size_bytes"),
    ("COFFERDAM_ATTACHMENTS_ALLOWED_PRIVATE_HOSTS", "a:1, b", check, "\"b\" is no host and port"),
    ("COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_IMAGE", "x/y", check, "type image may be x/y"),
    ("COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_AUDIO", "x/y", check, "type audio may be x/y"),
    ("COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_VIDEO", "x/y", check, "type video may be x/y"),
    ("COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_PDF", "x/y", check, "type pdf may be x/y"),
    ("COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_FILE", "x/y", check, "type file may be x/y"),
    ("COFFERDAM_WORKFLOWS_DIR", "nowhere", |home, set| ran(home, set, &["run", "w"]), "nowhere"),
    ("COFFERDAM_WORKFLOWS_ENV", "TEAM", named, "env.TEAM is missing"),
    ("COFFERDAM_WORKFLOWS_MAX_OPEN", "0", named, "max_open = 0 is not from 1"),
    ("COFFERDAM_WORKFLOWS_RUN_DEADLINE", "10ms", named, "run_deadline = \"10ms\" is not from 1s"),
    ("COFFERDAM_REPLIES_MAX_BYTES", "3 B", attach, "files of at most 3 B"),
    ("COFFERDAM_REPLIES_MAX_CALL_BYTES", "3 B", attach, "one call adds to a reply may have 3 B"),
    ("COFFERDAM_REPLIES_MAX_TURN_BYTES", "3 B", attach, "may have 3 B together"),
    ("COFFERDAM_REPLIES_MAX_COUNT", "0", attach, "one reply takes 0 files"),
    ("COFFERDAM_REPLIES_MAX_HELD_BYTES", "3 B", attach, "may take 3 B"),
    ("COFFERDAM_TURNS_AT_ONCE", "257", named, "at_once = 257 is not from 1 to 256"),
    ("COFFERDAM_TURNS_WRITTEN_BYTES", "3 B", save, "one turn may write 3 B in all"),
    ("COFFERDAM_APPROVALS_EXPIRES", "2w", |home, set| ran(home, set, &["tools"]), "\"2w\" is not a duration"),
    (
        "COFFERDAM_TURNS_ROUNDS",
        "0",
        |home, set| ran(home, set, &["tools"]),
        "rounds = 0 lets no turn be answered",
    ),
    (
        "COFFERDAM_TURNS_CALLS",
        "0",
        |home, set| ran(home, set, &["tools"]),
        "calls = 0 lets no turn be answered",
    ),
    ("COFFERDAM_TURNS_DEADLINE", "0s", |home, set| ran(home, set, &["tools"]), "write at least \"1s\""),
    (
        "COFFERDAM_TURNS_TOKENS",
        "0",
        |home, set| ran(home, set, &["tools"]),
        " tokens = 0 lets no turn be answered",
    ),
    (
        "COFFERDAM_TURNS_HISTORY_TOKENS",
        "0",
        |home, set| ran(home, set, &["tools"]),
        "history_tokens = 0 lets no turn be answered",
    ),
    (
        "COFFERDAM_TURNS_USER_TOKENS_PER_DAY",
        "0",
        |home, set| ran(home, set, &["tools"]),
        "user_tokens_per_day = 0 lets no turn be answered",
    ),
    (
        "COFFERDAM_TURNS_USER_WRITTEN_BYTES_PER_DAY",
        "lots",
        |home, set| ran(home, set, &["tools"]),
        "\"lots\" is not a size",
    ),
    ("COFFERDAM_TURNS_REACH", "all", |home, set| ran(home, set, &["tools"]), "unknown variant `all`"),
    (
        "COFFERDAM_SANDBOX_COMPILE_TIME",
        "soon",
        |home, set| ran(home, set, &["tools"]),
        "\"soon\" is not a duration",
    ),
    (
        "COFFERDAM_METRICS_LISTEN",
        "0.0.0.0:9464",
        |home, set| ran(home, set, &["tools"]),
        "write \"127.0.0.1:9464\"",
    ),
    ("COFFERDAM_LOG_FORMAT", "yaml", |home, set| ran(home, set, &["tools"]), "yaml"),
    (
        "COFFERDAM_LOG_FILTER",
        "inof",
        |home, set| ran(home, set, &["tools"]),
        "filter = \"inof\" is not understood",
    ),
    ("COFFERDAM_ISOLATION_REQUIRE", "true", |home, set| ran(home, set, &["doctor"]), "isolation: required"),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_TOKEN_ENV",
        "MY_TOKEN",
        |home, set| ran(home, set, &["serve"]),
        "MY_TOKEN is not set",
    ),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_TOKEN_FILE",
        "no-such-token",
        |home, set| ran(home, set, &["serve"]),
        "token_file: cannot read no-such-token",
    ),
    ("COFFERDAM_CHANNELS_TELEGRAM_API_URL", "ftp://x", |home, set| ran(home, set, &["tools"]), "ftp://x"),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_ALLOWED_USERS",
        "1, 0",
        |home, set| ran(home, set, &["tools"]),
        "0 is not a user's id",
    ),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_APPROVERS",
        "5",
        |home, set| ran(home, set, &["tools"]),
        "5 is not among allowed_users",
    ),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_GROUPS",
        "{ team = {} }",
        |home, set| ran(home, set, &["tools"]),
        "\"team\" is not a group's id",
    ),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_OTHER_GROUPS",
        "all",
        |home, set| ran(home, set, &["tools"]),
        "would serve whoever adds the bot",
    ),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_PAIRING",
        "perhaps",
        |home, set| ran(home, set, &["tools"]),
        "\"perhaps\" is neither true nor false",
    ),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_PAIRING_EXPIRES",
        "25h",
        |home, set| ran(home, set, &["tools"]),
        "pairing_expires = \"25h\" is not from 1m to 24h",
    ),
    (
        "COFFERDAM_CHANNELS_TELEGRAM_FLOOD_LIMITS",
        "none",
        |home, set| ran(home, set, &["tools"]),
        "expected `telegram` or `server`",
    ),
    ("COFFERDAM_CHANNELS_DISCORD_TOKEN_ENV", "MY_DISCORD", discord, "variable MY_DISCORD is not set"),
    (
        "COFFERDAM_CHANNELS_DISCORD_TOKEN_FILE",
        "/none",
        |home, set| ran(home, set, &["serve"]),
        "cannot read /none",
    ),
    (
        "COFFERDAM_CHANNELS_DISCORD_API_URL",
        "http://10.0.0.1",
        |home, set| ran(home, set, &["tools"]),
        "http://10.0.0.1",
    ),
    (
        "COFFERDAM_CHANNELS_DISCORD_ALLOWED_USERS",
        "5,0",
        |home, set| ran(home, set, &["tools"]),
        "0 is not a user's id",
    ),
    (
        "COFFERDAM_CHANNELS_DISCORD_APPROVERS",
        "5",
        |home, set| ran(home, set, &["tools"]),
        "5 is not among allowed_users",
    ),
    ("COFFERDAM_CHANNELS_DISCORD_PAIRING", "maybe", discord, "neither true nor false"),
    (
        "COFFERDAM_CHANNELS_DISCORD_PAIRING_EXPIRES",
        "26h",
        |home, set| ran(home, set, &["tools"]),
        "pairing_expires = \"26h\" is not from 1m to 24h",
    ),
    ("COFFERDAM_CHANNELS_DISCORD_MESSAGE_CONTENT", "perhaps", discord, "neither true nor false"),
    (
        "COFFERDAM_CHANNELS_DISCORD_GUILDS",
        "{ \"5\" = { members = \"all\" } }",
        |home, set| ran(home, set, &["tools"]),
        "guilds.\"5\": members = \"all\"",
    ),
    (
        "COFFERDAM_CHANNELS_DISCORD_OTHER_GUILDS",
        "all",
        |home, set| ran(home, set, &["tools"]),
        "other_guilds = \"all\" would serve",
    ),
    (
        "COFFERDAM_CHANNELS_DISCORD_CDN_URL",
        "https://cdn.discordapp.com",
        |home, set| ran(home, set, &["tools"]),
        "cdn_url is for tests",
    ),
    (
        "COFFERDAM_NETWORK_ALLOWED_PRIVATE_HOSTS",
        "nowhere",
        |home, set| ran(home, set, &["tools"]),
        "[network] allowed_private_hosts",
    ),
    (
        "COFFERDAM_NETWORK_CA_FILE",
        "/nowhere.pem",
        |home, set| ran(home, set, &["tools"]),
        "ca_file /nowhere.pem",
    ),
];

fn ran(home: &Home, set: &[(&str, &str)], arguments: &[&str]) -> Ran {
    run(home.command(arguments).envs(set.iter().copied()))
}

/// Of a model's keys none has an effect without one, and that is said. What each does is in
/// `llm::configuration`.
fn no_model(home: &Home, set: &[(&str, &str)]) -> Ran {
    ran(home, set, &["tools"])
}

/// Without a token there is nothing that is contacted.
fn discord(home: &Home, set: &[(&str, &str)]) -> Ran {
    ran(home, set, &["serve"])
}

fn read(home: &Home, set: &[(&str, &str)]) -> Ran {
    ran(home, set, &["call", "file_read", "path=/shared/a"])
}

fn attach(home: &Home, set: &[(&str, &str)]) -> Ran {
    put(home, "/shared/four", b"four");
    ran(home, set, &["call", "attachment_add", "path=/shared/four"])
}

fn save(home: &Home, set: &[(&str, &str)]) -> Ran {
    let file = home.file("sent", b"four");
    let ran = ran(home, set, &["call", "attachment_save", "index=0", "path=/tmp/b", "--attach", &file]);
    let _ = std::fs::remove_file(home.host("/tmp/b"));
    ran
}

/// Checks a workflow that attaches a text as every type.
fn check(home: &Home, set: &[(&str, &str)]) -> Ran {
    home.file("note.txt", b"a note");
    let types =
        ["image", "audio", "video", "pdf", "file"].map(|kind| format!("{{ type: {kind}, path: note.txt }}"));
    let text = format!(
        "workflow: w\nagents: [{{ id: a, attachments: [{}], actions: [{{ id: b, prompt: c }}] }}]\ntasks: [{{ id: t, agent: a, action: b }}]\n",
        types.join(", ")
    );
    ran(home, set, &["workflow", "check", &home.file("w.yaml", text.as_bytes())])
}

/// Checks a workflow that names a variable.
fn named(home: &Home, set: &[(&str, &str)]) -> Ran {
    let text = "workflow: w\ntasks: [{ id: t, tool: file_list, with: { path: \"{{ env.TEAM }}\" } }]\n";
    ran(home, set, &["workflow", "check", &home.file("named.yaml", text.as_bytes())])
}

#[test]
fn every_key_can_be_set_and_takes_effect() {
    let home = Home::new();
    put(&home, "/shared/a", b"x");
    let named: BTreeSet<String> = EFFECTS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(named, variables(&home), "a key without a test, or a test without its key");
    for (name, value, seen, said) in EFFECTS {
        let shows = |ran: &Ran| ran.stdout.contains(said) || ran.stderr.contains(said);
        let (before, after) = (seen(&home, &[]), seen(&home, &[(name, value)]));
        assert!(!shows(&before), "{name}: {said:?} in {before:?}");
        assert!(shows(&after), "{name}={value}: no {said:?} in {after:?}");
    }
}

#[test]
fn the_environment_is_laid_over_the_file_and_flags_over_both() {
    let home = Home::new().config("[attachments]\nmax_bytes = \"3 B\"\nmax_count = 1\n");
    let other = Home::new();
    put(&home, "/shared/a", b"configured");
    put(&other, "/shared/a", b"other");
    let file = home.file("sent", b"four");
    let words = ["call", "attachment_save", "index=0", "path=/shared/b", "--attach", &file];
    assert_eq!(home.run(&words).error(), "attachment_unavailable");
    assert_eq!(with(&home, "COFFERDAM_ATTACHMENTS_MAX_BYTES", "4 B", &words).code, Some(0));

    let root = other.workspace();
    let root = root.to_str().expect("text");
    let call = ["call", "file_read", "path=/shared/a"];
    let content = |command: &mut std::process::Command| line(&run(command))["content"].clone();
    for name in ["COFFERDAM_WORKSPACE", "COFFERDAM_WORKSPACE_ROOT"] {
        assert_eq!(content(home.command(&call).env(name, root)), "other", "{name}");
        let flag = [&call[..], &["--workspace", "workspace"]].concat();
        assert_eq!(content(home.command(&flag).env(name, root)), "configured", "{name}");
    }
}
