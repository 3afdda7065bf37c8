//! `[channels.telegram]`: what is refused before anything is contacted, each time with what to
//! write.

use super::{refused, run};
use std::path::Path;
use support::home::Home;

fn with(home: &Home, section: &str) {
    let text = format!(
        "[workspace]\nroot = \"workspace\"\n[state]\ndir = \"state\"\n[channels.telegram]\n{section}\n"
    );
    std::fs::write(home.config_file(), text).expect("writable");
}

#[test]
fn users_are_numbers() {
    let home = Home::new();
    for (written, said) in [
        ("[\"42\"]", "write the number without quotes: allowed_users = [42]"),
        ("[\"@ann\"]", "write e.g. allowed_users = [123456789]"),
        ("[\"\"]", "not a numeric id"),
        ("[1, \"2\"]", "allowed_users = [2]"),
        ("[-1001234567890]", "-1001234567890 is not a user's id"),
        ("[0]", "0 is not a user's id"),
        ("[1.5]", "numeric id"),
        ("[true]", "numeric id"),
        ("[[1]]", "numeric id"),
        ("42", "sequence"),
        ("\"42\"", "sequence"),
        ("[99999999999999999999]", ""),
    ] {
        with(&home, &format!("allowed_users = {written}"));
        for command in ["serve", "tools"] {
            refused(&home.run(&[command]), &[said]);
        }
    }
    with(&home, "\nallowed_users = [\"@ann\"]");
    refused(&home.run(&["serve"]), &["cofferdam.toml:7: "]);
}

#[test]
fn plain_http_is_for_loopback() {
    let home = Home::new();
    for (url, said) in [
        (
            "http://api.telegram.org",
            "plain http, which only loopback may be; write e.g. \"https://api.telegram.org\"",
        ),
        ("http://10.0.0.1:8081", "plain http"),
        ("http://localhost.example.org", "plain http"),
        ("http://127.0.0.1.nip.io", "plain http"),
        ("ftp://127.0.0.1", "not https"),
        ("api.telegram.org", "not an address"),
        ("", "not an address"),
        ("https://", "address"),
        ("https://user:hidden@api.telegram.org", "user name or password"),
        ("https://api.telegram.org/?token=hidden", "query"),
    ] {
        with(&home, &format!("api_url = {url:?}"));
        let ran = home.run(&["serve"]);
        refused(&ran, &["[channels.telegram] api_url", said]);
        assert!(!ran.stderr.contains("user:hidden"), "{ran:?}");
    }
    // Loopback passes this check, and stops at the next.
    for url in ["http://127.0.0.1:9", "http://[::1]:9", "http://localhost:9", "https://api.telegram.org/"] {
        with(&home, &format!("api_url = {url:?}"));
        refused(&home.run(&["serve"]), &["TELEGRAM_BOT_TOKEN is not set"]);
    }
}

#[test]
fn a_token_is_in_the_environment_and_is_never_repeated() {
    let home = Home::new();
    with(&home, "");
    refused(&home.run(&["serve"]), &["TELEGRAM_BOT_TOKEN is not set", "@BotFather", "token_env"]);
    let with_token = |name: &str, value: &str| run(home.command(&["serve"]).env(name, value));
    for empty in ["", " ", "\n"] {
        refused(&with_token("TELEGRAM_BOT_TOKEN", empty), &["TELEGRAM_BOT_TOKEN is not set"]);
    }
    let of_another_form = ["abcdefgh", "bot123:abc", "123:abc:def", "abc.Gabcde.of-discord", ":abc"];
    for malformed in ["123:abc def", "123:abc/../x", "bot123:abc?x=1"].into_iter().chain(of_another_form) {
        let ran = with_token("TELEGRAM_BOT_TOKEN", malformed);
        refused(&ran, &["TELEGRAM_BOT_TOKEN does not hold a bot token", "digits, a colon", "@BotFather"]);
        refused(&ran, &["cofferdam.toml:5: "]);
        assert!(!ran.stderr.contains("abc"), "{ran:?}");
    }
    with(&home, "token_env = \"MY_BOT\"");
    refused(&with_token("TELEGRAM_BOT_TOKEN", "1:a"), &["MY_BOT is not set"]);
    // The token where its variable's name belongs.
    with(&home, "token_env = \"123456:ABC-hidden\"");
    let ran = home.run(&["serve"]);
    refused(&ran, &["token_env is not the name of an environment variable", "TELEGRAM_BOT_TOKEN"]);
    assert!(!ran.stderr.contains("hidden"), "{ran:?}");
    with(&home, "token_env = \"\"");
    refused(&home.run(&["serve"]), &["token_env"]);
    // Nor is there a key for it.
    with(&home, "token = \"123456:ABC-hidden\"");
    let ran = home.run(&["serve"]);
    refused(&ran, &["cofferdam.toml:6: ", "`token`", "`token_env`"]);
    assert!(!ran.stderr.contains("hidden"), "{ran:?}");
}

#[test]
fn unknown_keys_are_refused_with_their_line() {
    let home = Home::new();
    for key in ["allowed_user", "timing", "users", "webhook", "album_window"] {
        with(&home, &format!("allowed_users = [1]\n{key} = 1"));
        refused(&home.run(&["serve"]), &["cofferdam.toml:7: ", &format!("`{key}`"), "`allowed_users`"]);
    }
}

#[test]
fn a_refused_start_leaves_no_trace() {
    let home = Home::new();
    with(&home, "allowed_users = [1]");
    refused(&home.run(&["serve"]), &["is not set"]);
    let made = |path: &Path| path.exists();
    assert!(
        !made(&home.workspace())
            && !made(&home.state().join("audit.jsonl"))
            && !made(&home.state().join("serve.lock"))
    );
}
