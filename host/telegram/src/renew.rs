//! Another configuration while the bot runs: from the next message on people are served under it. What runs ends
//! as it began; connection, store, lanes and stops stay the same.

use super::Config;
use super::bot::{Bot, deciding};
use super::menu::{MenuEntry, set_menus};
use super::people::Door;
use cofferdam_agent::tools;
use cofferdam_agent::turn::Runner;
use cofferdam_chat::answering::Base;
use cofferdam_warden::attachments::{self, outgoing::Outgoing};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// What a configuration changes of a running bot.
pub struct Renewed {
    /// The section of the configuration; of it, who is served and who approves.
    pub config: Config,
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
pub struct Renewal {
    /// The configuration.
    pub renewed: Renewed,
    /// Told once the next message is served under it.
    pub in_force: oneshot::Sender<()>,
}

/// Brings configurations into force for as long as they come.
pub(super) async fn renew(bots: watch::Sender<Arc<Bot>>, mut renewals: mpsc::Receiver<Renewal>) {
    // One at a time: the menu of before is of no use any more.
    let mut menus = JoinSet::new();
    while let Some(Renewal { renewed, in_force }) = renewals.recv().await {
        let menu = renewed.menu.clone();
        let bot = Arc::new(bots.borrow().renewed(renewed));
        let shown = bot.clone();
        bots.send_replace(bot);
        // Nobody need be waiting.
        let _ = in_force.send(());
        menus.abort_all();
        menus.spawn(async move { set_menus(&shown, &menu).await });
    }
}

impl Bot {
    fn renewed(&self, renewed: Renewed) -> Self {
        let Renewed { config, runner, outgoing, attachments, approvals, menu: _ } = renewed;
        let desk = self.base.desk.renewed(deciding(&config.approvers, &approvals));
        Self {
            base: Base { runner, desk, limits: attachments, outgoing, ..self.base.clone() },
            door: Door::new(
                &config,
                self.door.guests.clone(),
                (self.door.moves.clone(), self.door.names.clone()),
            ),
            ..self.clone()
        }
    }
}
