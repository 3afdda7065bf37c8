//! Another configuration while the bot runs: from the next message on people are served under it.
//! What runs ends as it began, unless it waits for somebody's decision: nothing is decided for one
//! who is not served any more. Connection, store, queues and stops stay the same.

use super::MenuEntry;
use crate::approvals::Rules;
use crate::handler::{ChannelServices, PlatformChannel};
use crate::people::ConfiguredPeople;
use cofferdam_agent::tools;
use cofferdam_agent::turn::Runner;
use cofferdam_warden::attachments::{self, outgoing::Outgoing};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// What a configuration says of every channel, also while it runs.
#[derive(Clone)]
pub struct ChannelSettings {
    /// Answers turns.
    pub runner: Arc<Runner>,
    /// Holds the bytes of replies' files, with their limits.
    pub outgoing: Outgoing,
    /// Limits on attachments.
    pub attachments: attachments::Config,
    /// How long a person is waited for.
    pub approvals: tools::Config,
    /// The tools, for the command menu.
    pub menu: Vec<MenuEntry>,
}

/// A configuration, and who is told that it is in force.
pub struct Renewal<C> {
    /// The section of the configuration; of it, who is served and who approves.
    pub config: C,
    /// What it changes besides.
    pub renewed: ChannelSettings,
    /// Told once the next message is served under it.
    pub in_force: oneshot::Sender<()>,
}

/// Brings configurations into force for as long as they come.
pub async fn renew<C: PlatformChannel>(
    channels: watch::Sender<Arc<C>>,
    mut renewals: mpsc::Receiver<Renewal<C::Config>>,
) {
    // One at a time: the menu of before is of no use any more.
    let mut menus = JoinSet::new();
    while let Some(Renewal { config, renewed, in_force }) = renewals.recv().await {
        let channel = Arc::new(channels.borrow().renew(&config, &renewed));
        channels.send_replace(channel.clone());
        // Those who asked may not be served any more.
        channel.base().approvals.look_again();
        // Nobody need be waiting.
        let _ = in_force.send(());
        menus.abort_all();
        // Those that have ended take no memory.
        while menus.try_join_next().is_some() {}
        menus.spawn(channel.set_menu(renewed.menu));
    }
}

impl ChannelServices {
    /// The same under another configuration; `people` are the channel's own.
    #[must_use]
    pub fn renew(&self, renewed: &ChannelSettings, people: ConfiguredPeople) -> Self {
        Self {
            runner: renewed.runner.clone(),
            approvals: self.approvals.renewed(Rules::new(&people.approvers, &renewed.approvals)),
            limits: renewed.attachments.clone(),
            outgoing: renewed.outgoing.clone(),
            door: self.door.with_people(people),
            ..self.clone()
        }
    }
}
