//! `doctor` about what lies outside the program: servers, clock, secrets, room, database and
//! leftovers. Each problem is mended here by the very command or line that it names.

use super::{put, run};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};
use support::home::{Home, Ran};
use support::llm::{Dialect, LlmServer};
use support::needs;
use support::serving::Serving;
use support::telegram::{Fault, TelegramServer};

/// `doctor --json` with this token in its environment.
fn doctor(home: &Home, token: &str, flags: &[&str]) -> (Ran, Value) {
    let mut command = home.command(&[&["doctor", "--json"], flags].concat());
    let ran = run(command.env("TELEGRAM_BOT_TOKEN", token));
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    let value = ran.json();
    (ran, value)
}

/// The findings as `weight section: what`, and what mends the first.
pub(super) fn found(value: &Value) -> (Vec<String>, String) {
    let all = value["findings"].as_array().expect("a list");
    let text = |finding: &Value, key: &str| finding[key].as_str().expect("text").to_owned();
    let line = |finding: &Value| {
        format!("{} {}: {}", text(finding, "weight"), text(finding, "section"), text(finding, "what"))
    };
    (all.iter().map(line).collect(), all.first().map(|finding| text(finding, "mend")).unwrap_or_default())
}

/// One finding that begins like this; what mends it.
pub(super) fn one(value: &Value, beginning: &str) -> String {
    let (lines, mend) = found(value);
    assert!(lines.len() == 1 && lines[0].starts_with(beginning), "{beginning:?} in {lines:?}");
    mend
}

fn sh(home: &Home, command: &str) {
    let done = Command::new("sh").args(["-c", command]).current_dir(home.dir()).status();
    assert!(done.expect("a shell").success(), "{command}");
}

/// Takes a line such as `[attachments] max_count = 3` into the configuration, in place of what the
/// key was.
fn write_line(home: &Home, line: &str) {
    let (section, setting) = line.trim_start_matches('[').split_once("] ").expect("a section");
    let text = fs::read_to_string(home.config_file()).expect("there");
    let mut table: toml::Table = toml::from_str(&text).expect("TOML");
    let set: toml::Table = toml::from_str(setting).expect("a key and its value");
    let section = table.entry(section).or_insert_with(|| toml::Table::new().into());
    section.as_table_mut().expect("a table").extend(set);
    fs::write(home.config_file(), table.to_string()).expect("writable");
}

/// Nothing to mend any more.
fn clean(home: &Home, token: &str, flags: &[&str]) {
    let (ran, value) = doctor(home, token, flags);
    assert_eq!((ran.code, found(&value).0), (Some(0), Vec::<String>::new()), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn token_key_and_model_are_tried_and_nothing_else_is_asked() -> anyhow::Result<()> {
    let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
    for dialect in Dialect::ALL {
        let home = Home::new().telegram(&telegram.api_url(), &[7]).model(&llm, dialect, "");
        let (ran, value) = doctor(&home, telegram.token(), &[]);
        assert_eq!((ran.code, found(&value).0), (Some(0), vec![]), "{ran:?}");
        let expected = json!({
            "offline": false,
            "telegram": { "server": telegram.api_url(), "bot": "@cofferdam_test_bot" },
            "model": { "server": llm.base_url(dialect), "key": "accepted", "model": "listed" },
            "clock_ahead_seconds": null,
        });
        assert_eq!(value["network"], expected);
        for secret in [telegram.token(), llm.key()] {
            assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{ran:?}");
        }
    }
    let asked: Vec<_> = telegram.journal().into_iter().map(|request| request.method).collect();
    assert!(asked.len() == 3 && asked.iter().all(|method| method.eq_ignore_ascii_case("getMe")), "{asked:?}");
    assert_eq!((llm.requests().len(), llm.violations()), (0, vec![]), "no model is asked anything");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_notices_and_disturbs_nothing_while_the_bot_serves() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[7]);
    let serving = Serving::start(&home, telegram.token())?;
    clean(&home, telegram.token(), &[]);
    let (_, value) = doctor(&home, telegram.token(), &[]);
    assert_eq!(value["database"]["sound"], true, "{value}");
    assert_eq!(value["database"]["waiting"]["messages"], 0, "{value}");
    let log = serving.end(Duration::from_secs(60))?;
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    clean(&home, telegram.token(), &[]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_or_key_that_is_refused_is_a_problem_and_is_not_repeated() -> anyhow::Result<()> {
    let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
    let home = Home::new().telegram(&telegram.api_url(), &[7]);
    let (ran, value) = doctor(&home, "123456:WRONG-token", &[]);
    one(
        &value,
        "problem network: Telegram does not accept the token (HTTP status 401); it is in TELEGRAM_BOT_TOKEN",
    );
    assert_eq!((ran.code, &value["network"]["telegram"]["bot"]), (Some(3), &Value::Null));
    assert!(!ran.stdout.contains("WRONG"), "{ran:?}");
    one(&doctor(&home, "", &[]).1, "problem network: the environment variable TELEGRAM_BOT_TOKEN is not set");
    telegram.fault("getMe", 1, Fault::bad_gateway());
    let mend =
        one(&doctor(&home, telegram.token(), &[]).1, "problem network: the Bot API does not answer at ");
    assert_eq!(mend, format!("curl -sSI {}", telegram.api_url()));

    let home = Home::new().model(&llm, Dialect::Chat, "");
    fs::write(home.dir().join("model-key"), "sk-wrong")?;
    let (ran, value) = doctor(&home, "", &[]);
    one(&value, "problem network: the model's server does not accept the key (HTTP status 401)");
    assert!(ran.code == Some(3) && !ran.stdout.contains("sk-wrong"), "{ran:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_says_no_more_of_a_model_than_its_server_shows() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.show_models_to_anybody();
    let home = Home::new().model(&llm, Dialect::Chat, "");
    fs::write(home.dir().join("model-key"), "sk-wrong")?;
    let (ran, value) = doctor(&home, "", &[]);
    assert_eq!((ran.code, &value["network"]["model"]["key"]), (Some(0), &"unproven".into()), "{ran:?}");
    for dialect in Dialect::ALL {
        let home = Home::new().model(&llm, dialect, "");
        let text = fs::read_to_string(home.config_file())?.replace("test-model", "other-model");
        fs::write(home.config_file(), text)?;
        let (ran, value) = doctor(&home, "", &[]);
        one(&value, "notice network: the model's server does not name \"other-model\" among its models");
        assert_eq!((ran.code, &value["network"]["model"]["model"]), (Some(0), &"not-listed".into()));
    }
    // Others than Anthropic that speak its API, such as llama.cpp.
    llm.list_models_alone();
    let home = Home::new().model(&llm, Dialect::Anthropic, "");
    let (ran, value) = doctor(&home, "", &[]);
    assert_eq!((ran.code, &value["network"]["model"]["model"]), (Some(0), &"listed".into()), "{ran:?}");
    let text = fs::read_to_string(home.config_file())?.replace("\"\nmodel =", "/v1\"\nmodel =");
    fs::write(home.config_file(), text)?;
    let mend = one(&doctor(&home, "", &[]).1, "notice network: the model's server answers, but has no list");
    assert_eq!(mend, "[provider] base_url = \"…\"; /v1 is added to it");
    // An address that lacks its last part answers, and not with a list.
    let home = Home::new().model(&llm, Dialect::Chat, "");
    let text = fs::read_to_string(home.config_file())?.replace("/v1\"", "\"");
    fs::write(home.config_file(), text)?;
    let (ran, value) = doctor(&home, "", &[]);
    one(&value, "notice network: the model's server answers, but has no list of models where base_url says");
    assert_eq!((ran.code, &value["network"]["model"]["key"]), (Some(0), &Value::Null));

    let keyless = LlmServer::start_keyless().await?;
    let base = keyless.base_url(Dialect::Chat);
    let home = Home::new().config(&format!(
        "[provider]\nkind = \"openai-chat\"\nmodel = \"test-model\"\nbase_url = {base:?}\n"
    ));
    assert_eq!(doctor(&home, "", &[]).1["network"]["model"]["key"], "no-key");
    Ok(())
}

#[test]
fn servers_that_never_answer_are_given_up_both_at_once() {
    // Connections are taken by the system alone: nobody reads from them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let url = format!("http://{}", silent.local_addr().expect("bound"));
    let provider =
        format!("[provider]\nkind = \"openai-chat\"\nmodel = \"test-model\"\nbase_url = \"{url}/v1\"\n");
    let home = Home::new().telegram(&url, &[7]).config(&provider);
    let (ran, value) = doctor(&home, "123456:abcdefgh", &[]);
    let (lines, mend) = found(&value);
    let [bot, model] = &lines[..] else { panic!("{ran:?}") };
    let told = format!("problem network: the Bot API does not answer at {url}: ");
    assert!(bot.starts_with(&told) && bot.ends_with("timed out") && !bot.contains("abcdefgh"), "{bot}");
    let told =
        format!("problem network: the model's server does not answer at {url}/v1: no answer within 10s");
    assert_eq!((model, mend, ran.code), (&told, format!("curl -sSI {url}"), Some(3)), "{ran:?}");
    assert_eq!(value["network"]["clock_ahead_seconds"], Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_list_without_end_the_model_is_not_looked_for() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "");
    // Of 100 bytes each: 6 MB, and then less than the 4 MiB that are read.
    for (others, standing) in [(60_000, "unknown"), (40_000, "listed")] {
        llm.list_others(others);
        let (ran, value) = doctor(&home, "", &[]);
        assert_eq!((ran.code, found(&value).0), (Some(0), vec![]), "{ran:?}");
        let model = &value["network"]["model"];
        assert_eq!((&model["key"], &model["model"]), (&"accepted".into(), &standing.into()), "{others}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_is_off_is_a_problem() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.set_clock("Sun, 06 Nov 1994 08:49:37 GMT");
    let home = Home::new().model(&llm, Dialect::Responses, "");
    let (ran, value) = doctor(&home, "", &[]);
    assert_eq!(one(&value, "problem network: this machine's clock is "), "timedatectl set-ntp true");
    assert!(ran.code == Some(3) && value["network"]["clock_ahead_seconds"].as_i64() > Some(900_000_000));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn offline_nobody_is_contacted() -> anyhow::Result<()> {
    let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
    let home = Home::new().telegram(&telegram.api_url(), &[7]).model(&llm, Dialect::Chat, "");
    clean(&home, telegram.token(), &["--offline"]);
    assert_eq!(telegram.journal().len(), 0);
    let told = run(home.command(&["doctor", "--offline"]).env("TELEGRAM_BOT_TOKEN", telegram.token()));
    assert!(told.stdout.contains("\nnetwork: not tried (--offline)\n"), "{told:?}");
    // What can be told without them is told.
    one(
        &doctor(&home, "no token", &["--offline"]).1,
        "problem network: the environment variable TELEGRAM_BOT_TOKEN does not hold",
    );
    Ok(())
}

#[test]
fn secrets_that_others_can_read_are_mended_by_the_command_it_names() {
    let home =
        Home::new().telegram("http://127.0.0.1:9", &[7]).telegram_more("token_file = \"a bot's token\"\n");
    let home = home.config("[audit]\nsign_key_file = \"signing-key.pem\"\n");
    assert_eq!(home.run(&["audit", "keygen", "--out", "signing-key.pem"]).code, Some(0));
    home.file("a bot's token", b"123456:abcdefgh\n");
    let mode = |file: &str, mode| {
        fs::set_permissions(home.dir().join(file), PermissionsExt::from_mode(mode)).expect("ours");
    };
    mode("a bot's token", 0o600);
    clean(&home, "", &["--offline"]);
    for (file, section) in
        [("a bot's token", "network: token_file: "), ("signing-key.pem", "places: signing key ")]
    {
        mode(file, 0o644);
        let (ran, value) = doctor(&home, "", &["--offline"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(!ran.stdout.contains("abcdefgh"), "{ran:?}");
        sh(&home, &one(&value, &format!("problem {section}")));
        clean(&home, "", &["--offline"]);
    }
}

#[test]
fn limits_that_the_disk_or_the_quota_cannot_hold_are_mended_by_the_line_it_names() {
    let home = Home::new().config("[attachments]\nmax_turn_bytes = \"1000000 GiB\"\n");
    let (ran, value) = doctor(&home, "", &["--offline"]);
    assert_eq!(ran.code, Some(0), "nothing is lost by it: {ran:?}");
    write_line(&home, &one(&value, "notice places: attachments of one message may have 1000000 GiB"));
    clean(&home, "", &["--offline"]);

    let home = Home::new().config("[workspace]\nroot = \"workspace\"\nmax_bytes = \"10 B\"\n");
    put(&home, "/shared/a", b"0123456789");
    let (ran, value) = doctor(&home, "", &["--offline"]);
    assert_eq!((ran.code, &value["tenants"]["used_bytes"]), (Some(3), &10.into()), "{ran:?}");
    write_line(&home, &one(&value, "problem places: the workspace holds 10 bytes of at most 10 B"));
    clean(&home, "", &["--offline"]);
}

#[test]
fn a_workspace_inside_the_state_is_noticed() {
    let home = Home::new().config("[workspace]\nroot = \"state/files\"\n");
    let (ran, value) = doctor(&home, "", &["--offline"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mend = one(&value, "notice places: the workspace ");
    write_line(&home, mend.split_once(", after").expect("when").0);
    clean(&home, "", &["--offline"]);
}

/// The system refuses what such a filesystem would.
#[test]
fn what_the_filesystem_cannot_do_is_told_and_is_a_problem_where_it_is_needed() {
    const NAME: &str = "cli::doctor::what_the_filesystem_cannot_do";
    if !needs::available(NAME, "strace", needs::program("strace")) {
        return;
    }
    let home = Home::new();
    put(&home, "/shared/a", b"x");
    let refused = |calls: &[&str]| {
        let inject: Vec<String> = calls.iter().map(|call| format!("inject={call}")).collect();
        let mut strace = vec!["strace", "-o", "/dev/null"];
        strace.extend(inject.iter().flat_map(|inject| ["-e", inject.as_str()]));
        let ran: Ran = run(&mut home.command_under(&strace, &["doctor", "--json", "--offline"]));
        let value = ran.json();
        let places = value["places"].as_array().expect("a list").iter();
        let cannot: Vec<_> =
            places.map(|place| (place["what"].clone(), place["found"]["cannot"].clone())).collect();
        let of = |what: &str| cannot.iter().find(|(of, _)| of == what).expect("it is there").1.clone();
        assert_eq!(of("workspace"), of("state"));
        (ran.code, of("workspace"), found(&value).0)
    };
    let (links, new) = ("hard links", "renames that replace nothing");
    assert_eq!(refused(&["linkat:error=EPERM"]), (Some(0), json!(["unnamed files", links]), vec![]));
    assert_eq!(refused(&["renameat2:error=EINVAL"]), (Some(0), json!([new]), vec![]));
    for (calls, cannot, said) in [
        (
            &["linkat:error=EPERM", "renameat2:error=EINVAL"][..],
            json!(["unnamed files", links, new]),
            "hard links (Operation not permitted (os error 1)), renames that replace nothing (Invalid argument (os error 22))",
        ),
        (&["flock:error=ENOLCK"], json!(["locks"]), "locks (No locks available (os error 37))"),
        (
            &["fsync:error=EINVAL"],
            json!(["fsync of a file", "fsync of a folder"]),
            "fsync of a file (Invalid argument (os error 22)), fsync of a folder (Invalid argument (os error 22))",
        ),
    ] {
        let (code, lacks, findings) = refused(calls);
        assert_eq!((code, lacks), (Some(3), cannot), "{calls:?} {findings:?}");
        assert_eq!(findings.len(), 2, "of workspace and state: {findings:?}");
        assert!(findings[0].starts_with("problem places: the filesystem of the workspace "), "{findings:?}");
        assert!(findings.iter().all(|line| line.ends_with(&format!(" cannot do {said}"))), "{findings:?}");
    }
    let (code, cannot, findings) = refused(&["statfs:poke_exit=@arg2=6969000000000000"]);
    assert_eq!((code, cannot), (Some(3), json!([])));
    assert!(findings[0].ends_with("is on NFS, and SQLite needs a disk of this machine"), "{findings:?}");
    for folder in [home.state(), home.workspace()] {
        let left = fs::read_dir(&folder).expect("there").flatten().map(|entry| entry.file_name());
        let left: Vec<_> = left.filter(|name| name.as_encoded_bytes().starts_with(b".cofferdam")).collect();
        assert!(left.is_empty(), "{folder:?} {left:?}");
    }
}

#[test]
fn what_is_in_the_way_of_a_file_or_folder_is_moved_by_the_command_it_names() {
    let home = Home::new();
    fs::create_dir(home.state().join("people.json")).expect("writable");
    let (ran, value) = doctor(&home, "", &["--offline"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    sh(&home, &one(&value, "problem people: "));
    fs::remove_dir_all(home.state().join("cache")).expect("warmed");
    fs::write(home.state().join("cache"), "").expect("writable");
    let (ran, value) = doctor(&home, "", &["--offline"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let mut findings = value["findings"].as_array().expect("a list").iter();
    let tools = findings.find(|finding| finding["section"] == "tools").expect("one");
    sh(&home, tools["mend"].as_str().expect("text"));
    clean(&home, "", &["--offline"]);
}

#[test]
fn few_descriptors_are_noticed_and_a_soft_limit_is_raised() {
    let home = Home::new();
    for (limits, noticed) in [("-Sn 1024", false), ("-n 4095", true), ("-n 4096", false)] {
        let shell = format!("ulimit {limits} && exec \"$@\"");
        let ran: Ran =
            run(&mut home.command_under(&["sh", "-c", &shell, "sh"], &["doctor", "--json", "--offline"]));
        let value = ran.json();
        assert_eq!(ran.code, Some(0), "{limits}: {ran:?}");
        match noticed {
            true => {
                let mend = one(&value, "notice kernel: a process may have 4095 files open here");
                assert!(mend.contains("LimitNOFILE=4096"), "{mend}");
            }
            false => assert_eq!(found(&value).0, [""; 0], "{limits}"),
        }
    }
}

/// A call makes the state; a `serve` that is refused by its server makes the database.
async fn with_database() -> anyhow::Result<(TelegramServer, Home)> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[7]);
    let serving = Serving::start(&home, telegram.token())?;
    serving.stop(rustix::process::Signal::TERM, Duration::from_secs(60))?;
    Ok((telegram, home))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_damaged_database_is_moved_away_by_the_command_it_names() -> anyhow::Result<()> {
    let (telegram, home) = with_database().await?;
    clean(&home, telegram.token(), &[]);
    let file = home.state().join("cofferdam.db");
    let mut bytes = fs::read(&file)?;
    bytes[100..].fill(0xAB);
    fs::write(&file, bytes)?;
    let (ran, value) = doctor(&home, telegram.token(), &[]);
    assert_eq!((ran.code, &value["database"]["sound"]), (Some(3), &false.into()), "{ran:?}");
    sh(&home, &one(&value, "problem database: the database is damaged: "));
    clean(&home, telegram.token(), &[]);
    Serving::start(&home, telegram.token())?;
    assert!(home.state().join("damaged/cofferdam.db").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_database_that_another_program_has_is_not_taken_for_a_damaged_one() -> anyhow::Result<()> {
    let (telegram, home) = with_database().await?;
    let other = rusqlite::Connection::open(home.state().join("cofferdam.db"))?;
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE")?;
    let (ran, value) = doctor(&home, telegram.token(), &[]);
    assert_eq!((ran.code, &value["database"]["version"]), (Some(3), &Value::Null), "{ran:?}");
    let mend = one(&value, "problem database: the database: database is locked");
    assert!(mend.ends_with("then cofferdam doctor again"), "{mend}");
    drop(other);
    clean(&home, telegram.token(), &[]);
    Ok(())
}

#[test]
fn what_a_crash_left_is_removed_by_the_command_it_names() {
    let home = Home::new();
    assert_eq!(home.call(&["file_list", "path=/tmp"]).code, Some(0));
    let left = [home.host("/shared/.cofferdam-tmp-0"), home.state().join("outgoing/.beside-0")];
    fs::write(&left[0], "x").expect("writable");
    fs::create_dir(&left[1]).expect("writable");
    clean(&home, "", &["--offline"]);
    for path in &left {
        age(path);
    }
    // A `chat` that is open for a day has one as well, which is locked.
    let living = home.state().join("outgoing/.beside-1");
    fs::create_dir(&living).expect("writable");
    age(&living);
    let lock = fs::File::open(&living).expect("there");
    lock.lock().expect("nobody has it");
    let (ran, value) = doctor(&home, "", &["--offline"]);
    assert_eq!((ran.code, &value["leftovers"]["staged"]), (Some(0), &1.into()), "{ran:?}");
    let mend = one(&value, "notice leftovers: 2 temporary files or folders were left by a crash");
    let words = mend.strip_prefix("cofferdam ").expect("one of its own commands");
    assert_eq!(home.run(&words.split(' ').collect::<Vec<_>>()).code, Some(0));
    assert!(left.iter().all(|path| !path.exists()) && living.exists());
    clean(&home, "", &["--offline"]);
}

#[test]
fn who_is_served_is_listed_with_what_takes_each_away() {
    let group =
        "[channels.telegram.groups.\"-1001234567890\"]\nmembers = \"all\"\nprofiles = [\"file-read-only\"]\n";
    let home = Home::new().telegram("http://127.0.0.1:9", &[5, 6]).config(group);
    let paired = json!({ "channel": "telegram", "sender": "7", "name": "Eve \u{202E}evil", "since": 784_111_777_000_i64,
                         "by": "cli:1000" });
    let people = home.state().join("people.json");
    fs::write(&people, json!({ "paired": [paired], "waiting": [] }).to_string()).expect("writable");
    let token = "123456:abcdefgh";
    let (ran, value) = doctor(&home, token, &["--offline"]);
    let allowed = value["people"]["allowed"].as_array().expect("a list");
    let told = |n: usize, key: &str| allowed[n][key].as_str().unwrap_or_default().to_owned();
    assert_eq!((allowed.len(), told(0, "id"), told(0, "origin")), (3, "5".into(), "file".into()), "{ran:?}");
    assert_eq!((told(2, "origin"), told(2, "since")), ("paired".into(), "1994-11-06T08:49:37Z".into()));
    assert_eq!(value["people"]["groups"][0]["members"], "all", "{value}");
    assert_eq!(value["people"]["groups"][0]["id"], "-1001234567890", "{value}");
    let words = run(home.command(&["doctor", "--offline"]).env("TELEGRAM_BOT_TOKEN", token)).stdout;
    assert!(
        words
            .contains("  telegram:7 \"Eve  evil\", let in 1994-11-06T08:49:37Z by cli:1000: cofferdam allow"),
        "{words}"
    );
    // Each away, by the very command or line that it names.
    let command = told(2, "remove");
    let words = command.strip_prefix("cofferdam ").expect("one of its own commands");
    assert_eq!(home.run(&words.split(' ').collect::<Vec<_>>()).code, Some(0));
    let text = fs::read_to_string(home.config_file()).expect("there");
    let line = told(0, "remove");
    let (section, key) = line.split_once("] ").expect("a section");
    assert_eq!((section, key), ("[channels.telegram", "allowed_users = [6]"));
    let line = value["people"]["groups"][0]["remove"].as_str().expect("text");
    assert_eq!(line, "[channels.telegram.groups.\"-1001234567890\"] members = \"none\"");
    let text = text.replace("allowed_users = [5, 6]", key).replace("members = \"all\"", "members = \"none\"");
    fs::write(home.config_file(), text).expect("writable");
    let (_, value) = doctor(&home, token, &["--offline"]);
    let left = value["people"]["allowed"].as_array().expect("a list");
    assert!(
        left.len() == 1 && left[0]["id"] == "6" && value["people"]["groups"][0]["members"] == "none",
        "{value}"
    );
    // In the environment the variable goes first, and is what is to be changed.
    let mut command = home.command(&["doctor", "--json", "--offline"]);
    command.env("TELEGRAM_BOT_TOKEN", token).env("COFFERDAM_CHANNELS_TELEGRAM_ALLOWED_USERS", "8,9");
    let value = run(&mut command).json();
    let remove = &value["people"]["allowed"][0]["remove"];
    assert_eq!(remove, "COFFERDAM_CHANNELS_TELEGRAM_ALLOWED_USERS=9", "{value}");
    // A file that nobody understands lets nobody in, and is moved away by the command that it
    // names.
    fs::write(&people, "{").expect("writable");
    sh(&home, &one(&doctor(&home, token, &["--offline"]).1, "problem people: "));
    clean(&home, token, &["--offline"]);
}

/// As if it had been left a day ago.
fn age(path: &Path) {
    let day = SystemTime::now() - Duration::from_secs(24 * 3600);
    fs::File::open(path).and_then(|file| file.set_modified(day)).expect("ours");
}
