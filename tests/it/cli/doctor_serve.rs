//! `doctor` and `serve` about the same configurations: where the one ends with exit 2, the other
//! has said so, in the same words; where it starts, nothing keeps it from that.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use support::home::{Home, Ran};
use support::namespace::{self, Namespace};
use support::serving::Serving;
use support::telegram::TelegramServer;

const PATIENCE: Duration = Duration::from_secs(100);

/// What is true of the folder before anything starts.
type Scene = fn(&Path);

/// A configuration, and what `serve` says of it; nothing when it starts.
struct Row {
    /// What of the sound configuration is replaced; nothing: it goes on with the other.
    replaced: &'static str,
    by: &'static str,
    scene: Scene,
    says: &'static str,
}

const fn row(replaced: &'static str, by: &'static str, scene: Scene, says: &'static str) -> Row {
    Row { replaced, by, scene, says }
}

fn nothing(_: &Path) {}

/// Files that no row but those about them has anything against.
fn put(dir: &Path, name: &str, bytes: &[u8], mode: u32) {
    let file = dir.join(name);
    fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
    fs::write(&file, bytes).expect("writable");
    fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("ours");
}

fn folder(dir: &Path, name: &str) {
    fs::create_dir_all(dir.join(name)).expect("writable");
}

fn fifo(dir: &Path, name: &str) {
    let file = dir.join(name);
    fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
    rustix::fs::mkfifoat(rustix::fs::CWD, file, 0o600.into()).expect("ours");
}

const ROOT: &str = "root = \"workspace\"";
const STATE: &str = "dir = \"state\"";
const USERS: &str = "allowed_users = [7]";
const MODEL: &str =
    "[provider]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";

fn rows() -> Vec<Row> {
    vec![
        row("", "", nothing, ""),
        // The configuration itself.
        row("", "nope = 1\n", nothing, "unknown field `nope`"),
        row("", "[[[\n", nothing, "cofferdam.toml:9: "),
        row("", "", |dir| put(dir, "cofferdam.toml", b"\xff", 0o600), "write it as UTF-8 text"),
        row(
            "",
            "",
            |dir| fs::remove_file(dir.join("cofferdam.toml")).expect("there"),
            "run `cofferdam init`",
        ),
        row(USERS, "allowed_users = [\"ann\"]", nothing, "write e.g. allowed_users = [123456789]"),
        row(USERS, "approvers = [\"bob\"]", nothing, "write e.g. approvers = [123456789]"),
        row(
            USERS,
            "allowed_users = [7]\napprovers = [8]",
            nothing,
            "approvers: 8 is not among allowed_users",
        ),
        row(USERS, "allowed_users = [-7]", nothing, "-7 is not a user's id"),
        row(USERS, "pairing_expires = \"25h\"", nothing, "is not from 1m to 24h"),
        row(USERS, "other_groups = \"all\"", nothing, "write \"allowed\" or \"none\""),
        row(
            "",
            "[channels.telegram.groups.\"-5\"]\nmembers = \"all\"\n",
            nothing,
            "say which tools they get",
        ),
        row("", "[turns]\nrounds = 0\n", nothing, "rounds = 0 lets no turn be answered"),
        row("", "[turns]\ndeadline = \"1ms\"\n", nothing, "deadline = \"1ms\" lets no turn be answered"),
        row("", "[log]\nfilter = \"loud\"\n", nothing, "filter = \"loud\" is not understood"),
        row("", "[audit]\nrotate_bytes = \"1 B\"\n", nothing, "it must be at least 64 KiB"),
        row("", "[approvals]\nexpires = \"25h\"\n", nothing, "is not from 1s to 24h"),
        row("", "[sandbox]\ncompile_time = \"0s\"\n", nothing, "is not from 1ms to "),
        row(ROOT, "root = \"workspace\"\nsession_tmp_age = \"1s\"", nothing, "a call may still be using it"),
        row(ROOT, "root = \"workspace\"\nmax_bytes = \"0\"", nothing, "lets no tool write anything"),
        row(STATE, "dir = \"workspace/shared/state\"", nothing, "[state] dir ("),
        row("", "[metrics]\nlisten = \"0.0.0.0:9464\"\n", nothing, "is not on loopback"),
        row("", "[provider]\nkind = \"openai-chat\"\napi_key_env = \"K\"\n", nothing, "model is missing"),
        row("", "[provider]\nmodel = \"m\"\n", nothing, "model has no effect with kind"),
        // What it names.
        row(USERS, "token_env = \"NO_TOKEN\"", nothing, "the environment variable NO_TOKEN is not set"),
        row(USERS, "token_file = \"token\"", nothing, "token_file: cannot read "),
        row(USERS, "token_file = \"token\"", |dir| put(dir, "token", b"1:a", 0o644), "run `chmod 600 "),
        row(
            USERS,
            "token_file = \"token\"",
            |dir| put(dir, "token", b"no token", 0o600),
            "does not hold a bot token",
        ),
        row("MODEL", "api_key_file = \"key\"\n", nothing, "api_key_file: cannot read "),
        row("MODEL", "api_key_env = \"NO_KEY\"\n", nothing, "the environment variable NO_KEY is not set"),
        row("MODEL", "instructions_file = \"words\"\n", nothing, "instructions_file: cannot read "),
        row(
            "MODEL",
            "instructions_file = \"words\"\n",
            |dir| folder(dir, "words"),
            "instructions_file: cannot read ",
        ),
        row("MODEL", "instructions_file = \"words\"\n", |dir| put(dir, "words", b"Be short.", 0o600), ""),
        row("", "[audit]\nsign_key_file = \"key\"\n", nothing, "cannot read the key "),
        row(
            "",
            "[audit]\nsign_key_file = \"key\"\n",
            |dir| put(dir, "key", b"x", 0o600),
            "is not an ed25519 private",
        ),
        row(
            "",
            "[audit]\nsign_key_file = \"key\"\n",
            |dir| put(dir, "key", b"x", 0o644),
            "can be read by others",
        ),
        row("", "[metrics]\nlisten = \"TAKEN\"\n", nothing, "[metrics] listen: cannot listen on 127.0.0.1:"),
        row("", "[metrics]\nlisten = \"127.0.0.1:0\"\n", nothing, ""),
        row("", "[policies]\ndir = \"missing\"\n", nothing, "profiles: cannot read "),
        row("", "[policies]\ndir = \"file\"\n", |dir| put(dir, "file", b"", 0o600), "profiles: cannot read "),
        row(
            "",
            "[policies]\ndir = \"p\"\n",
            |dir| {
                folder(dir, "p/profiles");
                put(dir, "p/tools/file_read.toml", b"schema = 1\n", 0o600);
            },
            "tools/file_read.toml",
        ),
        row(
            "",
            "[channels.telegram.groups.\"-5\"]\nprofiles = [\"file-read-ony\"]\n",
            nothing,
            "groups.\"-5\": no tool has the profile \"file-read-ony\"",
        ),
        // Where things lie.
        row(ROOT, "root = \"file\"", |dir| put(dir, "file", b"", 0o600), "the workspace "),
        row(ROOT, "root = \"file/w\"", |dir| put(dir, "file", b"", 0o600), "the workspace "),
        row(ROOT, "root = \"/proc/self/w\"", nothing, "the workspace /proc/self/w"),
        row(ROOT, "root = \"a/b/c\"", nothing, ""),
        row(
            "",
            "",
            |dir| {
                folder(dir, "workspace");
                folder(dir, "elsewhere");
                symlink(dir.join("elsewhere"), dir.join("workspace/shared")).expect("writable");
            },
            "must be a directory of the workspace (no symbolic link",
        ),
        row("", "", |dir| put(dir, "workspace/shared", b"", 0o600), "must be a directory of the workspace"),
        row(
            "",
            "",
            |dir| {
                folder(dir, "workspace");
                symlink("nowhere", dir.join("workspace/vault")).expect("writable");
            },
            "must be a directory of the workspace",
        ),
        row(STATE, "dir = \"file\"", |dir| put(dir, "file", b"", 0o600), "/file"),
        row(STATE, "dir = \"/proc/self/s\"", nothing, "/proc/self/s"),
        row("", "", |dir| folder(dir, "state/serve.lock"), "serve.lock: Is a directory"),
        row("", "", |dir| fifo(dir, "state/serve.lock"), "serve.lock: it is not a regular file"),
        row("", "", |dir| folder(dir, "state/audit.jsonl"), "audit.jsonl"),
        row("", "", |dir| folder(dir, "state/publishing.lock"), "publishing.lock"),
        row("", "", |dir| fifo(dir, "state/publishing.lock"), "publishing.lock is not a regular file"),
        row("", "", |dir| folder(dir, "state/cofferdam.db"), "cannot open the database: "),
        row("", "", |dir| fifo(dir, "state/cofferdam.db"), "cofferdam.db is not a regular file"),
        row("", "", |dir| put(dir, "state/cofferdam.db", &[b'x'; 4096], 0o600), "file is not a database"),
        row(
            "",
            "",
            |dir| {
                let newer = rusqlite::Connection::open(dir.join("state/cofferdam.db")).expect("writable");
                newer.pragma_update(None, "user_version", 999).expect("writable");
            },
            "the database has version 999",
        ),
        row("", "", |dir| put(dir, "state/outgoing", b"", 0o600), "/outgoing"),
        row("", "", |dir| put(dir, "state/blobs", b"", 0o600), "/blobs"),
        row(
            "",
            "",
            |dir| {
                fs::set_permissions(dir.join("state/cache"), PermissionsExt::from_mode(0o777)).expect("ours");
            },
            "can be written by others",
        ),
        // A problem, and none that keeps it from starting.
        row("", "", |dir| put(dir, "state/people.json", b"noise", 0o600), ""),
        row("", "", |dir| fifo(dir, "state/people.json"), ""),
    ]
}

/// Runs both in a folder of their own, under another program if any is given.
fn check(row: &Row, telegram: &TelegramServer, taken: &str, wrapper: &dyn Fn(&Home) -> Vec<String>) {
    let home = Home::new();
    let sound = format!(
        "[workspace]\n{ROOT}\n[state]\n{STATE}\n[channels.telegram]\napi_url = {:?}\n{USERS}\nflood_limits = \"server\"\n",
        telegram.api_url()
    );
    let by = row.by.replace("TAKEN", taken);
    let text = match row.replaced {
        "" => format!("{sound}{by}"),
        "MODEL" => format!("{sound}{MODEL}{by}"),
        replaced => sound.replace(replaced, &by),
    };
    fs::write(home.config_file(), &text).expect("writable");
    (row.scene)(home.dir());
    let what = format!("{text}: {:?}", row.says);
    let wrapper = wrapper(&home);
    let under: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let command = |words: &[&str]| match under.as_slice() {
        [] => home.command(words),
        under => home.command_under(under, words),
    };
    let token = ("TELEGRAM_BOT_TOKEN", telegram.token());
    let mut doctor = command(&["doctor", "--json", "--offline"]);
    let doctor = Ran::from(doctor.env(token.0, token.1).output().expect("it starts"));
    if doctor.code != Some(2) {
        let ready = doctor.json()["serve"]["ready"] == true;
        assert_eq!(ready, row.says.is_empty(), "{what}: {doctor:?}");
        assert!(ready || doctor.code == Some(3), "{what}: {doctor:?}");
    }
    assert!(!doctor.stderr.contains("panicked"), "{doctor:?}");
    let starts = row.says.is_empty() && doctor.code != Some(2);
    if starts {
        let serving = Serving::launch(&home, telegram.token(), &under, &[]).and_then(Serving::polling);
        let serving = serving.unwrap_or_else(|error| panic!("{what}: {error}"));
        serving.stop(rustix::process::Signal::TERM, PATIENCE).expect("it ends");
        return;
    }
    let mut serve = command(&["serve"]);
    let serve = Ran::from(serve.env(token.0, token.1).output().expect("it starts"));
    assert_eq!(serve.code, Some(2), "{what}: {serve:?}, {doctor:?}");
    let said = if doctor.code == Some(2) { &doctor.stderr } else { &doctor.stdout };
    for said in [&serve.stderr, &said.replace("\\\"", "\"")] {
        assert!(said.contains(row.says), "{what}: {said}");
    }
    if doctor.code == Some(2) {
        assert_eq!(doctor.stderr, serve.stderr, "{what}");
    }
    // Each cause is said once.
    for cause in ["No such file or directory", "Not a directory", "Is a directory", "run `chmod 600"] {
        assert!(serve.stderr.matches(cause).count() <= 1, "{what}: {serve:?}");
    }
    // A policy has a file of its own.
    let elsewhere = row.by.is_empty() || row.says.starts_with("tools/");
    let mut after = serve.stderr.split("cofferdam.toml:").skip(1);
    let has_line = after.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    assert!(has_line || elsewhere, "neither file nor line for {what}: {serve:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn they_agree_about_each_of_many_configurations() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let left = Mutex::new(rows());
    assert!(left.lock().expect("ours").len() >= 40);
    let wrong = Mutex::new(Vec::new());
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    loop {
                        let Some(row) = left.lock().expect("ours").pop() else { return };
                        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                            check(&row, &telegram, &address, &|_| Vec::new());
                        }));
                        if checked.is_err() {
                            wrong.lock().expect("ours").push(format!("{:?} {:?}", row.by, row.says));
                        }
                    }
                });
            }
        });
    });
    let wrong = wrong.into_inner()?;
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn they_agree_about_a_filesystem_that_is_mounted_read_only() -> anyhow::Result<()> {
    let test = "cli::doctor_serve::they_agree_about_a_filesystem_that_is_mounted_read_only";
    if !namespace::available(test) {
        return Ok(());
    }
    let telegram = TelegramServer::start().await?;
    for row in [
        row(STATE, "dir = \"ro/state\"", |dir| folder(dir, "ro"), "Read-only file system"),
        row(STATE, "dir = \"ro\"", |dir| folder(dir, "ro"), "Read-only file system"),
        row(ROOT, "root = \"ro/w\"", |dir| folder(dir, "ro"), "Read-only file system"),
        row(ROOT, "root = \"ro\"", |dir| folder(dir, "ro"), "mounted read-only; mount it for writing"),
    ] {
        let held = Mutex::new(None);
        let enter = |home: &Home| {
            let namespace = Namespace::new(home.dir(), "mount -t tmpfs -o ro,mode=700 tmpfs ro");
            let wrapper = namespace.wrapper().to_vec();
            *held.lock().expect("ours") = Some(namespace);
            wrapper
        };
        tokio::task::block_in_place(|| check(&row, &telegram, "", &enter));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_channel_it_is_told_and_is_no_problem() -> anyhow::Result<()> {
    let home = Home::new();
    let ran = home.run(&["doctor", "--json", "--offline"]);
    let serve = &ran.json()["serve"];
    assert_eq!((ran.code, &serve["ready"]), (Some(0), &false.into()), "{ran:?}");
    assert!(
        serve["reason"].as_str().is_some_and(|said| said.contains("no channel is configured")),
        "{serve}"
    );
    assert!(home.run(&["serve"]).stderr.contains(serve["reason"].as_str().expect("told")));
    let told = home.run(&["doctor", "--offline"]).stdout;
    assert!(told.contains("\nserve: would not start: no channel is configured; "), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_port_of_the_gateway_that_runs_is_its_own_and_another_ones_is_not() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[7]);
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let home = home.config(&format!("[metrics]\nlisten = \"127.0.0.1:{port}\"\n"));
    let doctor = || {
        let mut command = home.command(&["doctor", "--json", "--offline"]);
        Ran::from(command.env("TELEGRAM_BOT_TOKEN", telegram.token()).output().expect("it starts"))
    };
    let before = doctor();
    assert_eq!((before.code, &before.json()["serve"]["ready"]), (Some(0), &true.into()), "{before:?}");
    assert!(!home.state().join("serve.lock").exists() && !home.workspace().exists(), "nothing is made");
    assert!(!home.state().join("audit.jsonl").exists() && !home.state().join("cofferdam.db").exists());
    let serving = Serving::start(&home, telegram.token())?;
    let beside = doctor();
    assert_eq!((beside.code, &beside.json()["serve"]["ready"]), (Some(0), &true.into()), "{beside:?}");
    serving.stop(rustix::process::Signal::TERM, PATIENCE)?;
    let _other = std::net::TcpListener::bind(("127.0.0.1", port))?;
    let after = doctor();
    assert_eq!((after.code, &after.json()["serve"]["ready"]), (Some(3), &false.into()), "{after:?}");
    Ok(())
}
