//! `service print`: a unit that systemd accepts, that names this installation, that holds no secret, and under whose
//! filter of system calls the gateway serves.

use rustix::process::Signal;
use std::process::Command;
use std::time::Duration;
use support::filter::SystemCalls;
use support::home::{Home, Ran};
use support::needs;
use support::serving::Serving;
use support::telegram::{Incoming, Media, TelegramServer};

/// Longer than anything takes that is not stuck.
const PATIENCE: Duration = Duration::from_secs(100);

fn print(home: &Home, words: &[&str]) -> String {
    let ran = home.run(&[&["service", "print"], words].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

#[test]
fn the_unit_names_this_installation() {
    let home = Home::new();
    let unit = print(&home, &["--user", "gate", "--environment", "/etc/cofferdam/secrets"]);
    let line = |key: &str| {
        let found = unit.lines().find_map(|line| line.strip_prefix(key));
        found.unwrap_or_else(|| panic!("{key} in {unit}")).to_owned()
    };
    let exec = line("ExecStart=");
    assert!(exec.ends_with(" serve") && exec.contains("cofferdam.toml"), "{exec}");
    assert_eq!((line("User="), line("EnvironmentFile=")), ("gate".into(), "/etc/cofferdam/secrets".into()));
    let writable = line("ReadWritePaths=");
    for dir in [home.state(), home.host("/shared").parent().expect("a root").to_owned()] {
        assert!(writable.contains(dir.to_str().expect("plain")), "{dir:?} in {writable}");
    }
    assert_eq!(line("RestartPreventExitStatus="), "2");
    assert_eq!(line("ExecReload="), "/bin/kill -HUP $MAINPID");
    assert_eq!(
        (line("Type="), line("NotifyAccess="), line("WatchdogSec=")),
        ("notify".into(), "main".into(), "2min".into())
    );
    assert!(!unit.contains("# A reload reads"), "{unit}");
    assert!(unit.contains(&format!("#   chown gate {}\n", home.config_file().display())), "{unit}");
}

#[test]
fn files_of_secrets_need_no_environment_and_belong_to_the_account() {
    let home = Home::new().telegram("http://127.0.0.1:9", &[7]).telegram_more("token_file = \"bot-token\"\n");
    let unit = print(&home, &[]);
    assert!(!unit.contains("EnvironmentFile"), "{unit}");
    let files = [home.config_file(), home.dir().join("bot-token")].map(|file| file.display().to_string());
    assert!(unit.contains(&format!("#   chown cofferdam {} {}\n", files[0], files[1])), "{unit}");
}

#[test]
fn a_way_around_is_written_straight() {
    let home = Home::new().config("[workspace]\nroot = \"state/../files\"\n");
    let unit = print(&home, &[]);
    assert!(unit.contains(&format!("{:?}", home.dir().join("files"))) && !unit.contains(".."), "{unit}");
}

/// Systemd and the shell expand other characters, and each is given the path itself.
#[test]
fn a_hostile_name_is_nothing_but_a_name() {
    const NAME: &str = "a $HOME %n `id` \"b\" c'd \\ e";
    let home = Home::new().config(&format!("[workspace]\nroot = {NAME:?}\n"));
    let unit = print(&home, &[]);
    let root = home.dir().join(NAME).display().to_string();
    let line = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).expect(key).to_owned();
    let escaped = root.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    assert!(line("ReadWritePaths=").starts_with(&format!("\"{escaped}\" ")), "{unit}");
    let exec = format!(" --workspace \"{}\" serve", escaped.replace('$', "$$"));
    assert!(line("ExecStart=").ends_with(&exec), "{unit}");
    // What root is told to run makes this very folder.
    let install = line("#   install -d -m 700 -o cofferdam ");
    let ran =
        Command::new("sh").args(["-c", &format!("printf '%s\\n' {install}")]).output().expect("a shell");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{root}\n{}\n", home.state().display()));
}

#[test]
fn a_layout_in_which_a_reload_misses_a_replaced_file_is_told() {
    let home = Home::new().config("[workspace]\nroot = \"lib/workspace\"\n");
    let unit = print(&home, &[]);
    assert!(unit.contains("# A reload reads ") && unit.contains("such as /etc/cofferdam.\n"), "{unit}");
}

#[test]
fn systemd_accepts_it_and_calls_it_safe() {
    let there = needs::program("systemd-analyze");
    if !needs::available("cli::service::systemd_accepts_it_and_calls_it_safe", "systemd-analyze", there) {
        return;
    }
    let home = Home::new();
    let file = home.state().join("cofferdam.service");
    std::fs::write(&file, print(&home, &["--user", "root"])).expect("writable");
    for words in [&["verify"][..], &["security", "--offline=yes", "--no-pager", "--threshold=25"]] {
        let ran = Command::new("systemd-analyze").args(words).arg(&file).output().expect("it starts");
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(!said.contains("cofferdam.service"), "{words:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn under_its_filter_of_system_calls_a_turn_is_served() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[7]);
    let test = "cli::service::under_its_filter_of_system_calls_a_turn_is_served";
    let Some(calls) = SystemCalls::of(&print(&home, &[]), test)? else { return Ok(()) };
    // What is not on the list is not to be had: without this one the workspace cannot be opened.
    let call = |calls: &SystemCalls| -> anyhow::Result<Ran> {
        calls.only(|| home.call(&["file_write", "path=/shared/a", "content=one"]))
    };
    let refused = call(&calls.but("openat2"))?;
    assert!(refused.code != Some(0) && !home.host("/shared/a").exists(), "{refused:?}");
    let ran = call(&calls)?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let serving = calls.only(|| Serving::spawn(home.command(&["serve"]), telegram.token()))??.polling()?;
    let file = Media::with_content("d", "two".repeat(200_000)).name("b.txt");
    telegram.push(Incoming::private(7).document(file).caption("/attachment_save index=0 path=/shared/b"));
    let said = telegram.wait_for_messages(PATIENCE, 1).await?.remove(0).text;
    assert!(said.contains("\"path\":\"/shared/b\""), "{said}");
    assert_eq!(std::fs::read(home.host("/shared/b"))?.len(), 600_000);
    serving.signal(Signal::HUP)?;
    let serving = serving.says("was reloaded and is in force")?;
    let (status, log) = serving.stop(Signal::TERM, Duration::from_secs(10))?;
    // It confines itself as much as it does elsewhere, and nothing that it tried was refused.
    let complaint = log.lines().find(|line| line.contains("WARN") || line.contains("ERROR"));
    assert!(status.success() && complaint.is_none(), "{status}: {log}");
    Ok(())
}

#[test]
fn what_cannot_be_a_unit_is_refused() {
    let home = Home::new();
    for user in ["", "Root", "a b", "x\nExecStartPre=/bin/sh", "-r", "%i"] {
        let ran = home.run(&["service", "print", &format!("--user={user}")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{user:?}: {ran:?}");
    }
    let ran = print(&home, &["--environment", "/a%b"]);
    assert!(ran.contains("EnvironmentFile=/a%%b"), "{ran}");
}
