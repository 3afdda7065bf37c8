//! The channels that are configured, side by side: each with its own connection, people and store;
//! a fault of one does not slow the other. What ends one for good ends the program.

use crate::config::Config;
use anyhow::ensure;
use cofferdam_agent::server::UnusableKey;
use cofferdam_chat::setup::{ChannelSettings, Renewal, Services};
use cofferdam_discord as discord;
use cofferdam_telegram as telegram;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Those that are configured, with their tokens.
pub(super) struct Channels {
    pub(super) telegram: Option<(telegram::Config, telegram::BotToken)>,
    pub(super) discord: Option<(discord::Config, discord::BotToken)>,
}

/// Brings configurations to the channels.
pub(super) struct Renewals {
    telegram: mpsc::Sender<Renewal<telegram::Config>>,
    discord: mpsc::Sender<Renewal<discord::Config>>,
}

impl Renewals {
    /// Also where Telegram and Discord get them from.
    pub(super) fn new()
    -> (Self, mpsc::Receiver<Renewal<telegram::Config>>, mpsc::Receiver<Renewal<discord::Config>>) {
        let (telegram, of_telegram) = mpsc::channel(1);
        let (discord, of_discord) = mpsc::channel(1);
        (Self { telegram, discord }, of_telegram, of_discord)
    }

    /// Brings a configuration into force on every channel that is configured, with what they share;
    /// `None` where the program is ending.
    pub(super) async fn enforce(&self, config: &Config, shared: &ChannelSettings) -> Option<()> {
        let telegram = bring(&self.telegram, config.telegram.clone(), shared).await;
        bring(&self.discord, config.discord.clone(), shared).await.and(telegram)
    }
}

async fn bring<C>(to: &mpsc::Sender<Renewal<C>>, config: Option<C>, shared: &ChannelSettings) -> Option<()> {
    let Some(config) = config else { return Some(()) };
    let (in_force, told) = oneshot::channel();
    to.send(Renewal { config, renewed: shared.clone(), in_force }).await.ok()?;
    told.await.ok()
}

/// Refuses a configuration without a section that was there at the start.
pub(super) fn check_sections(config: &Config, started: &Config) -> anyhow::Result<()> {
    ensure!(started.telegram.is_none() || config.telegram.is_some(), "[channels.telegram] is gone");
    ensure!(started.discord.is_none() || config.discord.is_some(), "[channels.discord] is gone");
    Ok(())
}

impl Channels {
    /// Those that are configured and wanted, with their tokens.
    ///
    /// # Errors
    /// The first token that cannot be used.
    pub(super) fn open(config: &Config, is_wanted: impl Fn(&str) -> bool) -> Result<Self, UnusableKey> {
        let telegram = config.telegram.as_ref().filter(|_| is_wanted("telegram"));
        let discord = config.discord.as_ref().filter(|_| is_wanted("discord"));
        Ok(Self {
            telegram: telegram.map(|bot| bot.token().map(|token| (bot.clone(), token))).transpose()?,
            discord: discord.map(|bot| bot.token().map(|token| (bot.clone(), token))).transpose()?,
        })
    }

    /// Serves on all of them until `stop`; what ends one for good stops the others.
    pub(super) async fn serve(
        self,
        services: Services,
        of_telegram: mpsc::Receiver<Renewal<telegram::Config>>,
        of_discord: mpsc::Receiver<Renewal<discord::Config>>,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        // The one line of each that says the channel is up.
        let announce = |line: &str| crate::cli::tell(line);
        let (discords, stops) = (services.clone(), stop.clone());
        let telegram = async {
            let Some(bot) = self.telegram else { return Ok(()) };
            let served = telegram::serve(bot, services, announce, of_telegram, stop.clone()).await;
            served.inspect_err(|_| stop.cancel()).map_err(anyhow::Error::from)
        };
        let discord = async {
            let Some(bot) = self.discord else { return Ok(()) };
            let served = discord::serve(bot, discords, announce, of_discord, stops.clone()).await;
            served.inspect_err(|_| stops.cancel()).map_err(anyhow::Error::from)
        };
        // A channel's loop that has much to do keeps no other one from its own.
        let (telegram, discord) = tokio::join!(telegram, discord);
        telegram.and(discord)
    }

    /// Has all of them send what they are handed, and hear nothing, until `stop`.
    pub(super) async fn speak(self, services: Services, stop: CancellationToken) -> anyhow::Result<()> {
        let (discords, stops) = (services.clone(), stop.clone());
        let telegram = async {
            let Some(bot) = self.telegram else { return anyhow::Ok(()) };
            Ok(telegram::speak(bot, services, stop.clone()).await?)
        };
        let discord = async {
            let Some(bot) = self.discord else { return anyhow::Ok(()) };
            Ok(discord::speak(bot, discords, stops.clone()).await?)
        };
        let (telegram, discord) = tokio::join!(telegram, discord);
        telegram.and(discord)
    }
}
