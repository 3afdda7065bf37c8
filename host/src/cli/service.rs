//! `cofferdam service print`: a hardened systemd unit for this configuration. It prints; installing
//! is the operator's step.

use super::Exit;
use crate::config::{Config, SettingOrigin, resolved};
use crate::gateway;
use anyhow::{Context, bail};
use cofferdam_discord as discord;
use cofferdam_store::StoreLocation;
use cofferdam_telegram as telegram;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

const EXAMPLE: &str = "Example: cofferdam service print --config /etc/cofferdam/cofferdam.toml \\\n    --environment \
/etc/cofferdam/environment > /etc/systemd/system/cofferdam.service\n\nThe environment file holds \
TELEGRAM_BOT_TOKEN=… and is readable by root alone. The unit's first lines say what to do next.";

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Prints a hardened systemd unit that runs `cofferdam serve` with this configuration
    #[command(after_help = EXAMPLE)]
    Print {
        /// The account that the service runs under
        #[arg(long, value_name = "NAME", default_value = "cofferdam")]
        user: String,
        /// A file of NAME=value lines with the token and other secrets
        #[arg(long, value_name = "FILE")]
        environment: Option<PathBuf>,
    },
}

pub(super) fn run(config: &Config, command: &Command) -> anyhow::Result<Exit> {
    let Command::Print { user, environment } = command;
    let unit = unit(config, user, environment.as_deref())?;
    super::stdout().write_all(unit.as_bytes())?;
    Ok(Exit::Done)
}

fn unit(config: &Config, user: &str, environment: Option<&Path>) -> anyhow::Result<String> {
    let Some(file) = &config.file else {
        bail!("there is no configuration to serve; run `cofferdam init`, then name it with --config");
    };
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    let (root, state) = (config.workspace.root.as_path(), config.state_dir.as_path());
    let workspace = unit_line(config, "workspace.root", format!(" --workspace {}", quote_word(root)?))?;
    let variable = word(&format!("COFFERDAM_STATE_DIR={}", absolute_path(state)?));
    let variable = unit_line(config, "state.dir", format!("Environment={variable}\n"))?;
    // Here, and nowhere else in a unit, systemd puts variables in.
    let exec = format!("{} --config {}{workspace} serve", quote_word(&program)?, quote_word(file)?)
        .replace('$', "$$");
    // The account has no home.
    let reload = match gateway::own_folder(config, file, None) {
        Some(_) => String::new(),
        None => format!(
            "# A reload reads {file:?} as long as the file itself is edited. Where another one is put in its place (vim,\n\
             # sed -i, Ansible), keep it in a folder of its own, such as /etc/cofferdam.\n"
        ),
    };
    if !is_account(user) {
        bail!("{user:?} is not the name of an account");
    }
    let telegram =
        config.telegram.as_ref().map(|bot| (bot.token_file.as_deref(), telegram::PLATFORM.variable));
    let discord = config.discord.as_ref().map(|bot| (bot.token_file.as_deref(), discord::PLATFORM.variable));
    let bots: Vec<_> = telegram.into_iter().chain(discord).collect();
    let token_files: Vec<&Path> = bots.iter().filter_map(|(file, _)| *file).collect();
    let without_file = bots.iter().filter(|(file, _)| file.is_none());
    let variables: Vec<&str> = without_file.map(|(_, variable)| *variable).collect();
    let variables = if variables.is_empty() { vec![telegram::PLATFORM.variable] } else { variables };
    let secrets = match environment {
        Some(file) => format!("EnvironmentFile={}\n", absolute_path(file)?.replace('%', "%%")),
        None if !bots.is_empty() && token_files.len() == bots.len() => String::new(),
        None => format!(
            "# The token: put {}=… into a file and name it here.\n#EnvironmentFile=\n",
            variables.join("=… and ")
        ),
    };
    // What it reads, as the account that it runs under: `init` keeps these for the one who ran it.
    let named = [&config.provider.api_key_file, &config.audit.sign_key_file, &config.store.url_file];
    let named = named.into_iter().flatten().chain(config.network.files()).map(PathBuf::as_path);
    let read: Vec<&Path> = [file.as_path()].into_iter().chain(token_files).chain(named).collect();
    let tmp = private_tmp(config, read.iter().copied().chain([program.as_path(), root, state]));
    let read = shell(&read)?;
    // `chown -R` does not follow a link.
    let made = [resolved(root), resolved(state)];
    if made.iter().any(|path| path.parent().is_none()) {
        bail!("the workspace or the state is /, all of which would be the account's; give it a folder");
    }
    let made = shell(&[&made[0], &made[1]])?;
    let places = format!("{} {}", quote_word(root)?, quote_word(state)?);
    // A node that others have taken out, or that does not know what it has taken over, ends so, too.
    let ends = match config.store.location {
        StoreLocation::Sqlite(_) => WITHOUT_NODES,
        StoreLocation::Postgres(_) => "",
    };
    Ok(format!(
        "# As root, before the first start:\n\
         #   useradd --system --no-create-home --shell /usr/sbin/nologin {user}\n\
         #   install -d -m 700 -o {user} {made}\n\
         #   chown -RhP {user} {made}\n\
         #   chown {user} {read}\n\
         #   systemctl daemon-reload && systemctl enable --now cofferdam\n\
         [Unit]\nDescription=Cofferdam agent gateway\nWants=network-online.target\nAfter=network-online.target\n\n\
         [Service]\n{NOTIFY}ExecStart={exec}\n{reload}ExecReload=/bin/kill -HUP $MAINPID\nUser={user}\n{variable}{secrets}{RUNNING}{ends}{RESOURCES}{HARDENING}{tmp}\
         # What it writes: the workspace and the state.\nReadWritePaths={places}\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    ))
}

/// What the unit says of a place: nothing where the file does, so that a reload follows the file,
/// else `given`.
///
/// # Errors
/// Where nobody set it: the default lies in the home of the one who prints, and the account has
/// another one, or none.
fn unit_line(config: &Config, key: &str, given: String) -> anyhow::Result<String> {
    match config.settings.iter().find(|setting| setting.key == key).map(|setting| setting.origin) {
        Some(SettingOrigin::File) => Ok(String::new()),
        Some(SettingOrigin::Environment | SettingOrigin::Flag) => Ok(given),
        Some(SettingOrigin::Default) | None => {
            let (section, name) = key.split_once('.').unwrap_or_default();
            bail!(
                "{key} is not set, and the service has another home than you, or none; write into the configuration: \
                 [{section}] {name} = \"/var/lib/cofferdam/{section}\""
            )
        }
    }
}

/// What the unit says of /tmp: one of its own, unless that hides something that the service uses.
fn private_tmp<'a>(config: &'a Config, used: impl Iterator<Item = &'a Path>) -> String {
    let named = [
        &config.policies_dir,
        &config.workflows.dir,
        &config.provider.instructions_file,
        &config.network.ca_file,
    ];
    let is_hidden = |path: &&Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        [absolute, resolved(path)].iter().any(|path| path.starts_with("/tmp") || path.starts_with("/var/tmp"))
    };
    match used.chain(named.into_iter().flatten().map(PathBuf::as_path)).find(is_hidden) {
        None => "PrivateTmp=yes\n".to_owned(),
        Some(path) => format!(
            "# Without PrivateTmp=yes, which hides {path:?} from the service. Keep nothing of it in /tmp or /var/tmp,\n\
             # and print this anew.\n"
        ),
    }
}

/// Paths as words of a shell's command.
fn shell(paths: &[&Path]) -> anyhow::Result<String> {
    let words = paths.iter().map(|path| {
        let path = absolute_path(path)?;
        let quoted = shlex::try_quote(&path).context("a path cannot be written for a shell; rename it")?;
        Ok(quoted.into_owned())
    });
    Ok(words.collect::<anyhow::Result<Vec<_>>>()?.join(" "))
}

/// It says itself when it is up, reloads and stops, and that it goes on. Not Type=notify-reload:
/// systemd has that from 253 on, and Debian 12 has 252. A start may wait for the network for as
/// long as that takes.
const NOTIFY: &str = "# Up with the first channel that is answered; ended and started anew when one does not go on.\n\
Type=notify\nNotifyAccess=main\nTimeoutStartSec=infinity\nWatchdogSec=2min\n";

/// It stops within 10 s of SIGTERM.
const RUNNING: &str = "Restart=on-failure\nRestartSec=5\nTimeoutStopSec=20\nKillMode=mixed\nUMask=0077\n";
/// A wrong configuration does not mend by a restart.
const WITHOUT_NODES: &str = "RestartPreventExitStatus=2\n";

/// What all of it may have, workers included: a guest that is out of its sandbox fills no machine.
/// Descriptors are for files in flight between gateway and workers as well.
const RESOURCES: &str = "MemoryMax=2G\nTasksMax=1024\nLimitNOFILE=65536\n";

/// On top of what the program does to itself. Not here: MemoryDenyWriteExecute and ProcSubset,
/// because compiled guests are machine code and the sandbox reads /proc/self.
const HARDENING: &str = "\n# Around what the program confines itself to.\n\
NoNewPrivileges=yes\nCapabilityBoundingSet=\nProtectSystem=strict\nProtectHome=read-only\n\
PrivateDevices=yes\nProtectClock=yes\nProtectHostname=yes\nProtectKernelLogs=yes\nProtectKernelModules=yes\n\
ProtectKernelTunables=yes\nProtectControlGroups=yes\nProtectProc=invisible\nRestrictNamespaces=yes\n\
RestrictRealtime=yes\nRestrictSUIDSGID=yes\nRestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK\n\
LockPersonality=yes\nSystemCallArchitectures=native\nSystemCallFilter=@system-service seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self\n\
SystemCallErrorNumber=EPERM\n";

/// A path as one word of a unit's line: quoted, with what systemd would expand written twice.
fn quote_word(path: &Path) -> anyhow::Result<String> {
    Ok(word(&absolute_path(path)?))
}

/// A text as one word of a unit's line.
fn word(text: &str) -> String {
    format!("\"{}\"", text.replace('%', "%%").replace('\\', "\\\\").replace('"', "\\\""))
}

/// A whole path, which is text on one line.
fn absolute_path(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path).with_context(|| format!("cannot resolve {}", path.display()))?;
    // systemd ignores a path with `..` in it, and the service could not write there.
    let path =
        if path.components().any(|part| part == Component::ParentDir) { resolved(&path) } else { path };
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    Ok(text.with_context(|| format!("{path:?} cannot be written into a unit; rename it"))?.to_owned())
}

/// As `useradd` takes it.
fn is_account(name: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let rest = |c: char| first(c) || c.is_ascii_digit() || c == '-';
    name.len() <= 32 && name.starts_with(first) && name.chars().all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;
    use std::collections::BTreeMap;

    #[test]
    fn a_tmp_of_its_own_hides_nothing_that_the_service_uses() {
        let dir = tempfile::tempdir_in("/tmp").expect("a folder");
        let file = dir.path().join("c.toml");
        let load = |more: &str| {
            let text = format!("[workspace]\nroot = \"w\"\n[state]\ndir = \"s\"\n{more}");
            std::fs::write(&file, text).expect("writable");
            Config::load(Some(&file), &Flags::default(), &BTreeMap::new()).expect("valid")
        };
        let config = load("");
        for (path, private) in [
            ("/srv/a", true),
            ("/tmpfiles/a", true),
            ("/tmp/a", false),
            ("/var/tmp/a", false),
            ("/usr/../tmp/a", false),
        ] {
            let line = private_tmp(&config, [Path::new("/srv/b"), Path::new(path)].into_iter());
            assert_eq!(line == "PrivateTmp=yes\n", private, "{path}: {line}");
            assert_eq!(line.contains(&format!("{path:?}")), !private, "{line}");
        }
        let config = load("[policies]\ndir = \"p\"\n");
        let line = private_tmp(&config, [Path::new("/srv/a")].into_iter());
        assert!(line.starts_with("# Without PrivateTmp=yes, which hides "), "{line}");
    }
}
