//! Those who watch a `serve` from its start on: anyone who asks on loopback, the service manager,
//! and `cofferdam status`, which reads a note. What they need from outside is opened before the
//! process is confined.

use super::super::errors::describe_error;
use crate::cli::let_start_go;
use crate::config::Config;
use crate::gateway::{self, Watching};
use crate::log;
use crate::monitor::{Monitor, ServiceManager, Watched};
use cofferdam_chat::loop_health::LoopHealth;
use cofferdam_core::standing::{MODEL, STORE};
use cofferdam_store::{Health, Presence};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How often the note is brought up to date, if there is news.
const NOTED_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Watchers {
    monitor: Option<Monitor>,
    /// The one who has started this process, or nobody.
    pub(super) manager: Arc<ServiceManager>,
    /// The gateway, once it is there.
    pub(super) watching: Arc<Watching>,
    pub(super) presence: Arc<Presence>,
}

impl Watchers {
    /// Opens what is outside the confinement besides the monitor. A manager that cannot be told is
    /// no reason not to serve.
    pub(super) fn open(config: &Config, monitor: Option<Monitor>) -> Self {
        let manager = ServiceManager::connect(|name| std::env::var_os(name)).unwrap_or_else(|error| {
            tracing::warn!(%error, "the service manager cannot be told how the gateway is");
            ServiceManager::default()
        });
        let presence = Presence::new(&gateway::note_file(config));
        Self { monitor, manager: Arc::new(manager), watching: Arc::default(), presence }
    }

    /// Tells them for as long as the tasks run.
    ///
    /// # Errors
    /// When the system does not say where the monitor is.
    pub(super) fn begin(
        &mut self,
        beside: &mut JoinSet<()>,
        runtime: &Handle,
        channels: Vec<&'static LoopHealth>,
    ) -> anyhow::Result<()> {
        let watched: Arc<dyn Watched> = self.watching.clone();
        if let Some(monitor) = self.monitor.take() {
            tracing::info!("http://{0}/metrics and /healthz answer", monitor.address()?);
            let watched = watched.clone();
            let answering = async move {
                if let Err(error) = monitor.serve(watched).await {
                    tracing::error!(%error, "nobody can ask for /metrics and /healthz");
                }
            };
            beside.spawn_on(answering, runtime);
        }
        let up = CancellationToken::new();
        beside.spawn_on(self.manager.clone().watch(up.clone().cancelled_owned(), watched), runtime);
        beside.spawn_on(
            async move {
                await_any_up(channels).await;
                up.cancel();
                let_start_go().await;
            },
            runtime,
        );
        beside.spawn_on(note(self.presence.clone(), self.watching.clone()), runtime);
        Ok(())
    }

    /// The gateway has ended, perhaps by itself.
    pub(super) fn end(&self, served: &anyhow::Result<()>) {
        self.manager.note_stopping();
        let mut health = health();
        if let Err(error) = served {
            health.error = Some(log::error_now(&describe_error(error)));
        }
        self.presence.note_health(health);
    }
}

/// Waits until the first of the channels is up: that another one is waited for is an problem.
async fn await_any_up(channels: Vec<&'static LoopHealth>) {
    let mut waiting = JoinSet::new();
    for channel in channels {
        waiting.spawn(channel.await_poll());
    }
    if waiting.join_next().await.is_none() {
        std::future::pending().await
    }
}

async fn note(presence: Arc<Presence>, watching: Arc<Watching>) {
    loop {
        tokio::time::sleep(NOTED_EVERY).await;
        let (presence, watching) = (presence.clone(), watching.clone());
        let look = move || {
            // Perhaps nobody has anything to store for long, and it works again.
            if STORE.look().is_failing() {
                watching.problems();
            }
            presence.note_health(health());
        };
        let noted = tokio::task::spawn_blocking(look).await;
        if noted.is_err() {
            return;
        }
    }
}

/// How this process has fared.
fn health() -> Health {
    Health { error: log::last_error(), model: MODEL.look(), store: STORE.look() }
}
