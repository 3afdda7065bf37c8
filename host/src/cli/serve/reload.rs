//! A reload: the configuration, its files and the policies are read anew, and come into force as a
//! whole or not at all.
//!
//! Anything wrong with them leaves the last good configuration in force, and is told: in the
//! log, in the audit, in the numbers, and in the note that `cofferdam reload` reads. What cannot be
//! audited does not come into force.

use super::super::doctor::shell;
use super::super::errors::{describe_error, error_with_place};
use super::channels::{Renewals, check_sections};
use super::signals::ReloadSignals;
use super::{channel_settings, check_groups, workflows};
use crate::config::{Config, ConfigError};
use crate::gateway::Gateway;
use crate::log;
use crate::monitor::ServiceManager;
use crate::workflows::{Catalog, Executor};
use anyhow::{Context, anyhow};
use cofferdam_agent::llm;
use cofferdam_agent::turn::Provider;
use cofferdam_chat::setup::ChannelSettings;
use cofferdam_core::audit::{AuditEvent, Reload, ReloadState};
use cofferdam_core::counts::COUNTS;
use cofferdam_core::secret::redact;
use cofferdam_core::standing::MODEL;
use cofferdam_core::text::one_line;
use cofferdam_store::{Presence, Store};
use cofferdam_warden::audit::Durability;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{oneshot, watch};

/// Reads the configuration as the start did, which is the argument: from the same file, if there
/// was one.
pub(in crate::cli) type Load = Box<dyn Fn(&Config) -> Result<Config, ConfigError> + Send>;

/// What it takes to read the configuration of a running gateway anew.
pub(super) struct Reloading {
    pub(super) load: Load,
    /// What the process was started and confined for.
    pub(super) started: Config,
    /// In force.
    pub(super) in_force: Config,
    /// The same.
    pub(super) gateway: Gateway,
    pub(super) store: Store,
    /// Told of each reload.
    pub(super) manager: Arc<ServiceManager>,
    /// So is the one who has asked for it.
    pub(super) presence: Arc<Presence>,
    /// What carries runs of workflows out.
    pub(super) executors: watch::Sender<Executor>,
    /// The workflows that are offered; they stay as they are until a restart.
    pub(super) catalog: Arc<Catalog>,
}

/// A configuration that can come into force.
struct PreparedReload {
    config: Config,
    gateway: Gateway,
    shared: ChannelSettings,
    provider: Arc<dyn Provider>,
}

impl Reloading {
    /// Reads it anew whenever that is asked for, one after the other.
    pub(super) async fn run(mut self, mut asked: ReloadSignals, renewals: Renewals) {
        let (manager, presence) = (self.manager.clone(), self.presence.clone());
        while asked.next().await.is_some() {
            manager.note_reloading();
            // It loads tools and waits for the disk; a stop waits for neither, so it is no task of
            // the runtime.
            let (tell, told) = oneshot::channel();
            let read = move || {
                // Before anything is read: anyone who asks from here on is answered by the next
                // one.
                self.presence.begin_reload();
                let ready = self.read();
                if let Err(refused) = &ready {
                    self.presence.end_reload(false, refused);
                }
                let _ = tell.send((self, ready));
            };
            let started = std::thread::Builder::new().name("reload".into()).spawn(read);
            let (Ok(_), Ok((this, ready))) = (started, told.await) else {
                let said = "the configuration can no longer be reloaded; restart to change it";
                tracing::error!("{said}");
                presence.end_reload(false, said);
                manager.note_reloaded(said);
                return;
            };
            self = this;
            match ready {
                Ok(ready) => {
                    self.enforce(ready, &renewals).await;
                    manager.note_reloaded("serving");
                }
                Err(_) => manager.note_reloaded("serving; the last reload was refused, and the log says why"),
            }
        }
    }

    async fn enforce(&mut self, ready: PreparedReload, renewals: &Renewals) {
        let PreparedReload { config, gateway, shared, provider } = ready;
        if renewals.enforce(&config, &shared).await.is_none() {
            return;
        }
        gateway.enforce(&config);
        self.executors.send_modify(|executor| {
            let Executor { people, stop, store, replaced, .. } = executor.clone();
            let Some(people) = people else { return };
            *executor = workflows::executor(&config, &gateway, provider, (&store, Some(&people)), &stop);
            replaced.cancel();
        });
        log::configure(&config.log);
        // Its key and its address were read anew.
        MODEL.renew();
        self.gateway = gateway;
        let news = news(&self.in_force, &config);
        self.in_force = config;
        count(ReloadState::Applied);
        tracing::info!("the configuration was reloaded and is in force: {news}");
        let presence = self.presence.clone();
        let _ = tokio::task::spawn_blocking(move || presence.end_reload(true, &news)).await;
    }

    /// What is to come into force, audited; or why it is refused, which is told.
    fn read(&self) -> Result<PreparedReload, String> {
        let config = (self.load)(&self.started);
        let config_sha256 = config.as_ref().ok().and_then(|config| config.file_sha256.clone());
        let read = config.map_err(|error| unreadable(&error)).and_then(|config| {
            let known = config.clone();
            self.check(config).map_err(|error| error_with_place(&known, error))
        });
        let audited = read.and_then(|(ready, policies_sha256)| {
            let (reload, policies_sha256) = (ReloadState::Applied, Some(policies_sha256));
            let config_sha256 = config_sha256.clone();
            self.note(Reload { reload, config_sha256, policies_sha256, reason: None })?;
            Ok(ready)
        });
        // A token that was written in a wrong place is part of what is said of that.
        audited.map_err(|error| redact(&describe_error(&error)).into_owned()).inspect_err(|reason| {
            count(ReloadState::Refused);
            let (reload, said) = (ReloadState::Refused, Some(one_line(reason, 1024)));
            let refused = self.note(Reload { reload, config_sha256, policies_sha256: None, reason: said });
            if let Err(error) = refused {
                tracing::error!("that a reload was refused is not in the audit: {}", describe_error(&error));
            }
            tracing::error!("the configuration is not reloaded, the one before stays in force: {reason}");
        })
    }

    /// Everything that a start would check, and what only a restart can change.
    fn check(&self, config: Config) -> anyhow::Result<(PreparedReload, String)> {
        let (gateway, policies) = self.gateway.renew(&self.started, &config)?;
        check_groups(&config, gateway.toolbox.registry())?;
        let answering = llm::open(&config.provider).context("[provider]")?;
        let provider = answering.provider.clone();
        let shared = channel_settings(&config, &gateway, &self.store, answering, &self.catalog);
        check_sections(&config, &self.started)?;
        Ok((PreparedReload { config, gateway, shared, provider }, policies))
    }

    fn note(&self, reload: Reload) -> anyhow::Result<()> {
        let noted = self.gateway.warden.audit().append(AuditEvent::Reload(reload), Durability::Synced);
        noted.map(drop).context("the audit cannot be written")
    }
}

/// What is new, for people.
fn news(before: &Config, now: &Config) -> String {
    let both = before.settings.iter().zip(&now.settings);
    let changed: Vec<_> = both.filter(|(old, new)| old.value != new.value).map(|(_, new)| new.key).collect();
    match changed.as_slice() {
        [] => "no setting has changed; keys, instructions and policies were read anew".to_owned(),
        changed => format!("{} changed; keys, instructions and policies were read anew", changed.join(", ")),
    }
}

fn count(state: ReloadState) {
    let refused = state == ReloadState::Refused;
    COUNTS.reloads.add(if refused { "refused" } else { "applied" }, 1);
    COUNTS.is_reload_refused.store(refused, Ordering::Relaxed);
}

/// What helps where the system hides what is there.
fn unreadable(error: &ConfigError) -> anyhow::Error {
    let hint = match error {
        ConfigError::Unreadable(file, cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            // Looking at a file is not confined.
            let us = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
            std::fs::metadata(file)
                .ok()
                .and_then(|meta| explain_owner(file, us, (meta.uid(), meta.gid(), meta.mode())))
        }
        _ => return anyhow!("{error}"),
    };
    let replaced = || {
        "where another file was put in its place, the confined gateway does not reach it: edit the file itself, keep it \
         in a folder of its own, or restart"
            .to_owned()
    };
    anyhow!("{error}; {}", hint.unwrap_or_else(replaced))
}

/// What helps where a file is of others: who put it in the place of another has not given it to the
/// gateway's account.
fn explain_owner(file: &str, us: (u32, u32), (owner, group, mode): (u32, u32, u32)) -> Option<String> {
    let may_read = match (us.0 == owner, us.1 == group) {
        _ if us.0 == 0 => true,
        (true, _) => mode & 0o400 != 0,
        (false, true) => mode & 0o040 != 0,
        (false, false) => mode & 0o004 != 0,
    };
    let user = us.0;
    (!may_read).then(|| {
        let mode = mode & 0o777;
        format!(
            "it belongs to user {owner} with mode {mode:03o}, and the gateway is user {user}: chown {user} {}, and \
             reload again",
            shell(Path::new(file))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::explain_owner;

    #[test]
    fn a_file_that_was_not_given_to_the_gateway_is_told_from_one_that_it_cannot_reach() {
        let us = (1000, 1000);
        for (file, told) in [
            ((0, 0, 0o100_600), true),
            ((0, 1000, 0o100_600), true),
            ((0, 1000, 0o100_640), false),
            ((0, 0, 0o100_644), false),
            ((1000, 0, 0o100_600), false),
            ((1000, 1000, 0o100_044), true),
        ] {
            assert_eq!(explain_owner("/f", us, file).is_some(), told, "{file:?}");
            assert_eq!(explain_owner("/f", (0, 0), file), None, "root may");
        }
        let said = explain_owner("/f", us, (0, 0, 0o100_600)).expect("told");
        assert!(said.contains("user 0 with mode 600") && said.contains("chown 1000 /f"), "{said}");
        let said = explain_owner("/a b", us, (0, 0, 0o100_600)).expect("told");
        assert!(said.contains("chown 1000 '/a b', and"), "{said}");
    }
}
