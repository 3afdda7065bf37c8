//! SIGHUP: the configuration, its files and the policies are read anew, and come into force as a whole or not at all.
//!
//! Whatever is wrong with them leaves the last good configuration in force, and is told: in the log, in the audit,
//! in the numbers. What cannot be audited does not come into force.

use super::{check_groups, menu};
use crate::audit::Durability;
use crate::channels::telegram;
use crate::config::{Config, ConfigError};
use crate::gateway::Gateway;
use crate::store::Store;
use crate::{llm, log};
use anyhow::{Context, anyhow};
use cofferdam_core::audit::{Event, Reload, ReloadState};
use cofferdam_core::counts::COUNTS;
use cofferdam_core::text::one_line;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};

/// Reads the configuration as the start did, which is the argument: from the same file, if there was one.
pub(in crate::cli) type Load = Box<dyn Fn(&Config) -> Result<Config, ConfigError> + Send>;

/// What it takes to read the configuration of a running gateway anew.
pub(super) struct Reloading {
    pub(super) load: Load,
    /// What the process was started and confined for.
    pub(super) started: Config,
    /// In force.
    pub(super) gateway: Gateway,
    pub(super) store: Store,
}

/// A configuration that can come into force.
struct Ready {
    config: Config,
    gateway: Gateway,
    renewed: telegram::Renewed,
}

impl Reloading {
    /// Reads it anew at every signal, one after the other. Signals that come meanwhile count as one.
    pub(super) async fn run(mut self, mut hangups: Signal, renewals: mpsc::Sender<telegram::Renewal>) {
        while hangups.recv().await.is_some() {
            // It loads tools and waits for the disk; a stop waits for neither, so it is no task of the runtime.
            let (tell, told) = oneshot::channel();
            let read = move || {
                let ready = self.read();
                let _ = tell.send((self, ready));
            };
            let started = std::thread::Builder::new().name("reload".into()).spawn(read);
            let (Ok(_), Ok((this, ready))) = (started, told.await) else {
                tracing::error!("the configuration can no longer be reloaded; restart to change it");
                return;
            };
            self = this;
            if let Some(ready) = ready {
                self.enforce(ready, &renewals).await;
            }
        }
    }

    async fn enforce(&mut self, ready: Ready, renewals: &mpsc::Sender<telegram::Renewal>) {
        let Ready { config, gateway, renewed } = ready;
        let (in_force, told) = oneshot::channel();
        let sent = renewals.send(telegram::Renewal { renewed, in_force }).await;
        if sent.is_err() || told.await.is_err() {
            // The program is ending.
            return;
        }
        gateway.enforce(&config);
        log::configure(&config.log);
        self.gateway = gateway;
        count(ReloadState::Applied);
        tracing::info!("the configuration was reloaded and is in force");
    }

    /// What is to come into force, audited; `None` when it is refused, which is told.
    fn read(&self) -> Option<Ready> {
        let config = (self.load)(&self.started);
        let config_sha256 = config.as_ref().ok().and_then(|config| config.file_sha256.clone());
        let read = config.map_err(|error| unreadable(&error)).and_then(|config| self.check(config));
        let audited = read.and_then(|(ready, policies_sha256)| {
            let (reload, policies_sha256) = (ReloadState::Applied, Some(policies_sha256));
            let config_sha256 = config_sha256.clone();
            self.note(Reload { reload, config_sha256, policies_sha256, reason: None })?;
            Ok(ready)
        });
        audited
            .inspect_err(|error| {
                let reason = format!("{error:#}");
                count(ReloadState::Refused);
                let (reload, told) = (ReloadState::Refused, Some(one_line(&reason, 1024)));
                let refused =
                    self.note(Reload { reload, config_sha256, policies_sha256: None, reason: told });
                if let Err(error) = refused {
                    tracing::error!("that a reload was refused is not in the audit: {error:#}");
                }
                tracing::error!("the configuration is not reloaded, the one before stays in force: {reason}");
            })
            .ok()
    }

    /// Everything that a start would check, and what only a restart can change.
    fn check(&self, config: Config) -> anyhow::Result<(Ready, String)> {
        let (gateway, policies) = self.gateway.renewed(&self.started, &config)?;
        let telegram = config.telegram.clone().context("[channels.telegram] is gone")?;
        check_groups(&telegram, &gateway)?;
        let answering = llm::open(&config.provider).context("[provider]")?;
        let runner = Arc::new(gateway.runner(&config, answering, Arc::new(self.store.clone())));
        let renewed = telegram::Renewed {
            config: telegram,
            menu: menu(&gateway, runner.memory()),
            runner,
            outgoing: gateway.outgoing.clone(),
            attachments: config.attachments.clone(),
            approvals: config.approvals,
        };
        Ok((Ready { config, gateway, renewed }, policies))
    }

    fn note(&self, reload: Reload) -> anyhow::Result<()> {
        let noted = self.gateway.audit.append(Event::Reload(reload), Durability::Synced);
        noted.map(drop).context("the audit cannot be written")
    }
}

fn count(state: ReloadState) {
    let refused = state == ReloadState::Refused;
    COUNTS.reloads.ended.add(if refused { "refused" } else { "applied" }, 1);
    COUNTS.reloads.refused_last.store(refused, Ordering::Relaxed);
}

/// Where the kernel hides what is there, that is what helps.
fn unreadable(error: &ConfigError) -> anyhow::Error {
    let hint = match error {
        ConfigError::Unreadable { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => {
            "; where another file was put in its place, the confined gateway does not reach it: edit the file itself, \
             keep it in a folder of its own, or restart"
        }
        _ => "",
    };
    anyhow!("{error}{hint}")
}
