//! `service print`: a unit that systemd accepts, that names this installation, and that holds no secret.

use std::process::Command;
use support::home::Home;
use support::needs;

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
    assert!(unit.contains(&format!("#   chown gate {:?}\n", home.config_file())), "{unit}");
}

#[test]
fn files_of_secrets_need_no_environment_and_belong_to_the_account() {
    let home = Home::new().telegram("http://127.0.0.1:9", &[7]).telegram_more("token_file = \"bot-token\"\n");
    let unit = print(&home, &[]);
    assert!(!unit.contains("EnvironmentFile"), "{unit}");
    let files = [home.config_file(), home.dir().join("bot-token")];
    assert!(unit.contains(&format!("#   chown cofferdam {:?} {:?}\n", files[0], files[1])), "{unit}");
}

#[test]
fn a_way_around_is_written_straight() {
    let home = Home::new().config("[workspace]\nroot = \"state/../files\"\n");
    let unit = print(&home, &[]);
    assert!(unit.contains(&format!("{:?}", home.dir().join("files"))) && !unit.contains(".."), "{unit}");
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
