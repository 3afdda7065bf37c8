//! `service print`: a unit that systemd accepts, that names this installation, that holds no
//! secret, and under whose filter of system calls the gateway serves.

use super::{refused, run};
use rustix::process::Signal;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
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
    assert!(exec.ends_with("cofferdam.toml\" serve"), "a reload follows the file: {exec}");
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
fn a_node_that_was_taken_out_is_started_again() {
    let unit = print(&Home::new().postgres_at("postgres://127.0.0.1:9/none", "here"), &[]);
    assert!(unit.contains("Restart=on-failure\n") && !unit.contains("RestartPrevent"), "{unit}");
}

#[test]
fn files_of_secrets_need_no_environment_and_belong_to_the_account() {
    let home = Home::new().telegram("http://127.0.0.1:9", &[7]).telegram_more("token_file = \"bot-token\"\n");
    let unit = print(&home, &[]);
    assert!(!unit.contains("EnvironmentFile"), "{unit}");
    let files = [home.config_file(), home.dir().join("bot-token")].map(|file| file.display().to_string());
    assert!(unit.contains(&format!("#   chown cofferdam {} {}\n", files[0], files[1])), "{unit}");
}

/// The gateway reads each of them at its start, and refuses one that anybody else can read.
#[test]
fn the_url_of_the_store_and_the_secrets_of_profiles_belong_to_the_account() {
    let home = Home::new().config(
        "[store]\nengine = \"postgres\"\nurl_file = \"database-url\"\n[cluster]\nnode = \"here\"\n\
         [secrets.WEATHER_KEY]\nfile = \"weather-key\"\n",
    );
    let url = home.file("database-url", b"postgres://me:word@127.0.0.1:9/none");
    std::fs::set_permissions(url, Permissions::from_mode(0o600)).expect("ours");
    let unit = print(&home, &[]);
    let names = ["database-url", "weather-key"].map(|name| home.dir().join(name).display().to_string());
    let file = home.config_file().display().to_string();
    assert!(unit.contains(&format!("#   chown cofferdam {file} {}\n", names.join(" "))), "{unit}");
}

#[test]
fn a_unit_for_a_discord_bot_speaks_of_no_other_platform() {
    let section = "[channels.discord]\nallowed_users = [7]\n";
    let unit = print(&Home::new().config(section), &[]);
    assert!(unit.contains("# The token: put DISCORD_BOT_TOKEN=… into a file and name it here.\n"), "{unit}");
    let home = Home::new().config(&format!("{section}token_file = \"bot-token\"\n"));
    let with_file = print(&home, &[]);
    let files = [home.config_file(), home.dir().join("bot-token")].map(|file| file.display().to_string());
    assert!(with_file.contains(&format!("#   chown cofferdam {} {}\n", files[0], files[1])), "{with_file}");
    assert!(!with_file.contains("EnvironmentFile"), "{with_file}");
    for unit in [unit, with_file] {
        assert!(!unit.to_lowercase().contains("telegram"), "{unit}");
    }
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
    let home = Home::new();
    let root = home.dir().join(NAME).display().to_string();
    let mut command = home.command(&["service", "print", "--workspace", &root]);
    let ran = run(command.env("COFFERDAM_STATE_DIR", &root));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let unit = ran.stdout;
    let line = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).expect(key).to_owned();
    let escaped = root.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    assert_eq!(line("ReadWritePaths="), format!("\"{escaped}\" \"{escaped}\""));
    assert_eq!(line("Environment="), format!("\"COFFERDAM_STATE_DIR={escaped}\""));
    let exec = format!(" --workspace \"{}\" serve", escaped.replace('$', "$$"));
    assert!(line("ExecStart=").ends_with(&exec), "{unit}");
    // What root is told to run makes this very folder.
    for command in ["#   install -d -m 700 -o cofferdam ", "#   chown -RhP cofferdam "] {
        let printf = format!("printf '%s\\n' {}", line(command));
        let ran = Command::new("sh").args(["-c", &printf]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{root}\n{root}\n"));
    }
}

/// A home is another one for each account, and all of a machine is nobody's.
#[test]
fn places_that_are_not_the_services_are_refused() {
    let home = Home::new();
    let written = |text: &str| {
        std::fs::write(home.config_file(), text).expect("writable");
        home.run(&["service", "print"])
    };
    let (root, state) = ("[workspace]\nroot = \"w\"\n", "[state]\ndir = \"s\"\n");
    refused(&written(root), &["state.dir is not set", "[state] dir = \"/var/lib/cofferdam/state\""]);
    refused(&written(state), &["[workspace] root = \"/var/lib/cofferdam/workspace\""]);
    refused(&written(&format!("{root}[state]\ndir = \"/\"\n")), &["give it a folder"]);
    assert_eq!(written(&format!("{root}{state}")).code, Some(0));
}

/// Whatever an operator tried before as root belongs to the account afterwards, and nothing behind
/// a link does.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_root_has_made_before_is_the_accounts_after_the_printed_commands() -> anyhow::Result<()> {
    const NOBODY: u32 = 65534;
    let test = "cli::service::what_root_has_made_before_is_the_accounts_after_the_printed_commands";
    if !needs::available(test, "root", needs::root()) {
        return Ok(());
    }
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[7]).config("[workspace]\nroot = \"srv/files\"\n");
    std::fs::set_permissions(home.dir(), Permissions::from_mode(0o755))?;
    let file = home.dir().join("srv/files/shared/a");
    let ran = home.call(&["file_write", "path=/shared/a", "content=one"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = run(home.command(&["doctor", "--offline"]).env("TELEGRAM_BOT_TOKEN", telegram.token()));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    symlink(home.dir(), home.state().join("link"))?;
    // Its own copy of the program, since the build's may be closed to others.
    let program = home.dir().join("cofferdam");
    support::program::copy_cofferdam(&program);
    let serve = || {
        let mut command = Command::new(&program);
        command.uid(NOBODY).gid(NOBODY).env_clear().env("HOME", "/nonexistent").current_dir("/");
        command.arg("--config").arg(home.config_file()).arg("serve");
        command
    };
    let ran = run(serve().env("TELEGRAM_BOT_TOKEN", telegram.token()));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let unit = print(&home, &["--user", "nobody"]);
    let told = unit.lines().filter_map(|line| line.strip_prefix("#   "));
    for command in told.filter(|line| line.starts_with("install ") || line.starts_with("chown ")) {
        let done = Command::new("sh").args(["-c", command]).current_dir("/").status()?;
        assert!(done.success(), "{command}");
    }
    let serving = Serving::spawn(serve(), telegram.token())?.polling()?;
    telegram.push(Incoming::private(7).text("/file_write path=/shared/a content=two overwrite=true"));
    let said = telegram.wait_for_messages(PATIENCE, 1).await?.remove(0).text;
    assert!(said.contains("\"path\":\"/shared/a\""), "{said}");
    assert_eq!((std::fs::read_to_string(&file)?.as_str(), std::fs::metadata(&file)?.uid()), ("two", NOBODY));
    assert_eq!(std::fs::metadata(home.dir())?.uid(), 0);
    serving.stop(Signal::TERM, Duration::from_secs(10))?;
    Ok(())
}

/// Each of the ways in which the cache is not the gateway's alone is told with what mends it.
#[test]
fn a_cache_that_others_have_made_is_refused_with_what_mends_it() {
    let home = Home::new();
    let cache = home.state().join("cache");
    let chmod = |mode| std::fs::set_permissions(&cache, Permissions::from_mode(mode)).expect("ours");
    chmod(0o777);
    refused(&home.run(&["tools"]), &["can be written by others", "run: chmod 700 "]);
    chmod(0o700);
    let test = "cli::service::a_cache_that_others_have_made_is_refused_with_what_mends_it";
    if !needs::available(test, "root", needs::root()) {
        return;
    }
    chown(&cache, Some(65534), None).expect("root may");
    let state = home.state();
    let mend = format!("as root: chown -RhP 0 {}", state.display());
    refused(&home.run(&["tools"]), &["belongs to user 65534", &mend]);
}

#[test]
fn a_layout_in_which_a_reload_misses_a_replaced_file_is_told() {
    let home = Home::new().config("[workspace]\nroot = \"lib/workspace\"\n");
    let unit = print(&home, &[]);
    assert!(unit.contains("# A reload reads ") && unit.contains("such as /etc/cofferdam.\n"), "{unit}");
}

#[test]
fn what_lies_in_tmp_is_not_hidden_from_the_service() {
    let unit = print(&Home::new(), &["--workspace", "/tmp/agents"]);
    assert!(!unit.lines().any(|line| line == "PrivateTmp=yes"), "{unit}");
    assert!(unit.contains("\n# Without PrivateTmp=yes, which hides \"/"), "{unit}");
}

#[test]
fn what_all_of_it_may_use_is_bounded() {
    let unit = print(&Home::new(), &[]);
    for line in ["MemoryMax=2G", "TasksMax=1024", "LimitNOFILE=65536"] {
        assert!(unit.lines().any(|found| found == line), "no {line} in {unit}");
    }
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
    serving.signal(Signal::USR1)?;
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
