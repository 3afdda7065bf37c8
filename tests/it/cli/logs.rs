//! The log on standard error: text or JSON, as much as is asked for, whole lines, and no secret in
//! it, however a server or a library writes one.

use super::{put, refused, run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;
use support::home::{Home, Ran};

/// The lines of a log in JSON, each with its fields.
fn lines(log: &str) -> Vec<Value> {
    let read = |line: &str| -> Value {
        let read: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        for name in ["timestamp", "level", "target", "message"] {
            assert!(read[name].is_string(), "{name}: {line}");
        }
        read
    };
    assert!(log.is_empty() || log.ends_with('\n'), "the last line is whole");
    log.lines().map(read).collect()
}

#[test]
fn what_is_refused_is_told_in_the_format_of_the_log() {
    let home = Home::new().config("[log]\nformat = \"json\"\n");
    let ran = home.run(&["serve"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = lines(&ran.stderr);
    assert_eq!((told.len(), &told[0]["level"]), (1, &"ERROR".into()), "{ran:?}");
    assert!(told[0]["message"].as_str().expect("text").contains("no channel is configured"), "{ran:?}");
    // Of a configuration that is not understood the environment alone can say how.
    let home = Home::new().config("[nope]\n");
    let ran = run(home.command(&["tools"]).env("COFFERDAM_LOG_FORMAT", "json"));
    assert!(lines(&ran.stderr)[0]["message"].as_str().expect("text").contains("`nope`"), "{ran:?}");
}

#[test]
fn a_format_or_filter_that_is_not_understood_is_refused() {
    for (section, said) in [
        ("format = \"yaml\"", "`text` or `json`"),
        ("filter = \"inof\"", "filter = \"inof\" is not understood; write error, warn"),
        ("filter = \"\"", "is not understood"),
        ("level = \"info\"", "`level`"),
    ] {
        let home = Home::new().config(&format!("[log]\n{section}\n"));
        refused(&home.run(&["tools"]), &[said]);
    }
    // The variable goes before the key.
    let home = Home::new().config("[log]\nfilter = \"info\"\n");
    for filter in ["inof", "", "cofferdam", "nonsense=,"] {
        for command in ["tools", "serve"] {
            let ran = run(home.command(&[command]).env("COFFERDAM_LOG", filter));
            let said = format!("COFFERDAM_LOG = {filter:?} is not understood; write error, warn");
            refused(&ran, &[&said]);
        }
    }
    // A room that is in another crate now.
    let ran = run(home.command(&["tools"]).env("COFFERDAM_LOG", "cofferdam::turn=debug"));
    refused(
        &ran,
        &["there is no cofferdam::turn, so it logs nothing; there are cofferdam::", "cofferdam_agent"],
    );
}

#[test]
fn as_much_is_logged_as_is_asked_for() {
    let logged = |filter: &str, variable: Option<&str>| {
        let home = Home::new().hostile("").config(&format!("[log]\n{filter}\n"));
        let mut command = home.command(&["call", "hostile", "behaviour=stdout_escapes"]);
        let ran = run(command.envs(variable.map(|value| ("COFFERDAM_LOG", value))));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stderr
    };
    assert_eq!(logged("", None), "");
    assert!(logged("filter = \"cofferdam=debug\"", None).contains(" guest: "));
    assert_eq!(logged("filter = \"cofferdam=debug\"", Some("error")), "");
    assert!(logged("filter = \"off\"", Some("cofferdam=debug")).contains(" guest: "));
    assert!(logged("filter = \"off,cofferdam_warden=debug\"", None).contains(" cofferdam_warden::sandbox"));
    assert_eq!(logged("filter = \"off,cofferdam_telegram=debug\"", None), "");
    // What a guest prints may be what it reads: that is not logged at the usual level.
    assert!(!logged("filter = \"info\"", None).contains("forged"));
    // And what it prints to look like the log's own lines, or to end one, stays one value.
    let json = logged("format = \"json\"\nfilter = \"cofferdam=debug\"", None);
    let forged = lines(&json).into_iter().find(|line| line.to_string().contains("forged")).expect("printed");
    assert_eq!((&forged["fields"]["tool"], &forged["level"]), (&"hostile".into(), &"DEBUG".into()));
}

/// A key with characters that URLs and JSON write otherwise.
const KEY: &str = "sk-a/b+c\"d=e9";
const KEY_FORMS: &[&str] = &["b+c", "b%2Bc", "b%2bc", "d=e9", "d%3De9", "d%3de9"];

/// A model's server that refuses every request and repeats the key in every form.
fn repeating() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            while lines.next().is_some_and(|line| !line.is_empty()) {}
            let said = "key sk-a/b+c\"d=e9, sk-a%2Fb%2Bc%22d%3De9, sk-a%2fb%2bc%22d%3de9, \"sk-a/b+c\\\"d=e9\"\n\u{1b}[31m";
            let body = serde_json::json!({ "error": { "message": said } }).to_string();
            let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close";
            let _ = write!(&stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    Ok(url)
}

#[test]
fn no_form_of_a_key_is_logged_by_whoever_repeats_it() {
    let url = repeating().expect("a port of loopback");
    for format in ["text", "json"] {
        let model = format!(
            "[provider]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{url}\"\napi_key_env = \"KEY\"\n"
        );
        let home = Home::new().config(&format!("{model}[log]\nformat = \"{format}\"\n"));
        let input = home.file("said", b"hello\n");
        let mut command = home.command(&["chat"]);
        command.env("KEY", KEY).env("COFFERDAM_LOG", "trace");
        command.stdin(std::fs::File::open(input).expect("there")).stderr(Stdio::piped());
        let ran: Ran = run(&mut command);
        let warned = ran.stderr.lines().find(|line| line.contains("gives no answer")).expect("a warning");
        assert_eq!(warned.matches("***").count(), 4, "{warned}");
        for form in KEY_FORMS {
            assert!(!ran.stderr.contains(form) && !ran.stdout.contains(form), "{form}: {ran:?}");
        }
        assert!(!ran.stderr.contains(|c: char| c.is_control() && c != '\n'), "{ran:?}");
        if format == "json" {
            // What the program says to the person at the terminal is among them.
            lines(&ran.stderr);
        }
    }
}

#[test]
fn a_name_cannot_end_a_line_of_the_log() {
    let home = Home::new();
    put(&home, "/shared/a\nERROR forged", b"x");
    let ran = run(home.command(&["call", "file_list", "path=/shared"]).env("COFFERDAM_LOG", "trace"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.lines().all(|line| !line.starts_with("ERROR forged")), "{ran:?}");
}

/// Where people write a token in the place of its file, and nothing else has it.
#[test]
fn a_token_in_the_place_of_its_file_is_not_repeated() {
    for (channel, token) in [("telegram", "123456:AAF-misplaced_token"), ("discord", "MTA.misplaced.c3VyZQ")]
    {
        let section = format!("[channels.{channel}]\nallowed_users = [5]\ntoken_file = \"{token}\"\n");
        let home = Home::new().config(&section);
        for words in [&["doctor", "--offline", "--json"][..], &["doctor", "--offline"], &["serve"]] {
            let ran = home.run(words);
            let said = format!("{} {}", ran.stdout, ran.stderr);
            assert!(said.contains("token_file looks like a bot token"), "{channel}: {said}");
            assert!(!said.contains("misplaced"), "{channel}: {said}");
        }
    }
}

/// Where people write a token or a key by mistake, while the right place holds it as well.
#[test]
fn a_secret_in_a_wrong_place_is_not_repeated() {
    const TOKEN: &str = "123456:AAF-misplaced_token";
    const KEY: &str = "sk-misplaced-key";
    let telegram = |line: &str| format!("[channels.telegram]\nallowed_users = [5]\n{line}\n");
    let model = |lines: &str| format!("[provider]\nkind = \"openai-chat\"\nmodel = \"m\"\n{lines}\n");
    let with_key = |lines: &str| model(&format!("api_key_env = \"OPENAI_API_KEY\"\n{lines}"));
    for section in [
        telegram(&format!("token = \"{TOKEN}\"")),
        telegram(&format!("token_env = \"{TOKEN}\"")),
        telegram(&format!("token_file = \"{TOKEN}\"")),
        telegram(&format!("api_url = \"http://127.0.0.1:9/bot{TOKEN}\"")),
        telegram(&format!("approvers = [\"{TOKEN}\"]")),
        model(&format!("api_key = \"{KEY}\"")),
        model(&format!("api_key_env = \"{KEY}\"")),
        model(&format!("api_key_file = \"{KEY}\"")),
        model(&format!("{KEY} = \"x\"")),
        with_key(&format!("base_url = \"https://127.0.0.1:9/v1?key={KEY}\"")),
        with_key(&format!("base_url = \"https://{KEY}@127.0.0.1:9/v1\"")),
        with_key(&format!("base_url = \"http://127.0.0.1:9/{KEY}\"")),
        with_key(&format!("max_output_tokens = \"{KEY}\"")),
        format!("[{KEY}]\n"),
    ] {
        let home = Home::new().config(&section);
        for words in
            [&["doctor", "--offline", "--json"][..], &["doctor", "--offline"], &["serve"], &["status"]]
        {
            let mut command = home.command(words);
            command.env("TELEGRAM_BOT_TOKEN", TOKEN).env("OPENAI_API_KEY", KEY).env("COFFERDAM_LOG", "trace");
            if words == ["serve"] && section.contains("api_url") {
                // It would wait for a server that is not there.
                continue;
            }
            let ran = run(&mut command);
            assert!(ran.code.is_some_and(|code| code != 1), "{ran:?}");
            let said = format!("{} {}", ran.stdout, ran.stderr);
            assert!(!said.contains("misplaced"), "{section}: {said}");
        }
    }
}
