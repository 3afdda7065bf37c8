//! What the handler asks of a channel, for Discord: reading its messages, and where answers are
//! said and shown.

use super::api::{BucketWait, RequestBody};
use super::approvals::{ApprovalTarget, take_choices};
use super::bot::{BotUser, CHANNEL, DiscordBot, configured_people};
use super::config::Config;
use super::download::download;
use super::draft::Draft;
use super::failure::ApiFailure;
use super::file::DiscordFile;
use super::menu::set_menu;
use super::prepare::prepare;
use super::route::{self, Route};
use super::send::CHANNEL_LIMITS;
use super::target::{ChannelRef, ReplyTarget, first_id_of};
use super::wire::Message;
use cofferdam_chat::approvals::{ApprovalDisplay, Changing};
use cofferdam_chat::handler::{
    Channel, ChannelServices, ChannelTurn, MessageAction, PlatformChannel, StartDecision,
};
use cofferdam_chat::outbound::{ChannelLimits, PlaceholderRef, SendError, SendingPart};
use cofferdam_chat::setup::{ChannelSettings, MenuEntry};
use cofferdam_chat::{AGAIN, Activity};
use cofferdam_core::id::TurnId;
use cofferdam_store::{self as store, AlbumStanding, Update};
use cofferdam_warden::attachments::{Attachment, Download};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

impl Channel for DiscordBot {
    const NAME: &'static str = CHANNEL;
    const CHANNEL_LIMITS: &'static ChannelLimits = &CHANNEL_LIMITS;

    type Target = ReplyTarget;
    type File = DiscordFile;
    type Draft = Draft;

    fn base(&self) -> &ChannelServices {
        &self.base
    }

    fn read(&self, updates: &[Update], _: AlbumStanding) -> MessageAction<ReplyTarget, DiscordFile> {
        let Some(message) = updates.first().and_then(|update| Message::from_kept(&update.raw)) else {
            return MessageAction::Nothing;
        };
        self.base.approvals.names.insert(message.author.id, &message.author.name);
        prepare(message, &self.rules())
    }

    fn target_of(&self, update: &Update) -> Option<ReplyTarget> {
        Message::from_kept(&update.raw).map(|message| ReplyTarget::new(&message))
    }

    fn file_of(&self, _: &Update) -> Option<DiscordFile> {
        None
    }

    async fn fetch(&self, file: DiscordFile, item: Download) -> Attachment {
        download(self, file, item).await
    }

    /// A command is not run before Discord was told that its answer comes.
    async fn may_begin(&self, turn: &TurnId, asked: &ChannelTurn<Self>) -> StartDecision {
        let Some(interaction) = &asked.target.interaction else { return StartDecision::Now };
        let begins = self.acks.acknowledge(&self.api, interaction, &self.base.stop.soon).await;
        if begins != StartDecision::Never {
            return begins;
        }
        // What an earlier run has begun was acknowledged then: its token is over, and its answer is
        // a message.
        let look = || self.base.store.load_attempt(turn);
        match self.base.store_until_done("look for an earlier attempt", look).await {
            Some(Some(_)) => StartDecision::Now,
            Some(None) => StartDecision::Never,
            None => StartDecision::Later,
        }
    }

    fn conversation(&self, target: &ReplyTarget) -> String {
        target.channel().unwrap_or_default().to_string()
    }

    fn profiles(&self, target: &ReplyTarget) -> Option<BTreeSet<String>> {
        self.rules().place(target.guild).profiles.clone()
    }

    async fn send(&self, target: ReplyTarget, sending: SendingPart<'_>) -> Result<String, SendError> {
        self.send_part(target, sending).await
    }

    async fn answers(&self) -> bool {
        BotUser::ask(&self.api).await.is_ok()
    }

    fn reply_address(target: &ReplyTarget, stand_in: Option<PlaceholderRef>) -> String {
        ReplyTarget { stand_in, ..target.clone() }.to_text()
    }

    /// Discord shows that the bot thinks, once the command was acknowledged; while the program stops,
    /// perhaps.
    async fn is_awaited(&self, target: &ReplyTarget) -> bool {
        let Some(interaction) = &target.interaction else { return false };
        let stop = &self.base.stop.soon;
        self.acks.acknowledge(&self.api, interaction, stop).await != StartDecision::Never
    }

    /// What a command is answered by stands already.
    fn followup_address(target: &ReplyTarget) -> String {
        ReplyTarget { interaction: None, stand_in: None, ..target.clone() }.to_text()
    }

    async fn show_activity(&self, target: &ReplyTarget, _: Activity) -> Duration {
        let Some(channel) = target.channel() else { return Duration::ZERO };
        let route = Route::bot(route::TYPING, &[channel]);
        match self.api.call_within(&route, RequestBody::Nothing, (AGAIN, BucketWait::Now)).await {
            Err(ApiFailure::TooMany(pause)) => pause,
            _ => Duration::ZERO,
        }
    }

    fn draft(self: &Arc<Self>, turn: &TurnId, target: &ReplyTarget) -> Draft {
        Draft { bot: self.clone(), turn: turn.clone(), target: target.clone() }
    }

    fn take_choices(&self, chat: &str, message: &str) -> Changing {
        take_choices(self, chat, message)
    }

    fn board(self: &Arc<Self>, target: &ReplyTarget, asker: &str) -> impl ApprovalDisplay {
        ApprovalTarget { bot: self.clone(), target: target.clone(), sender: asker.to_owned() }
    }
}

impl PlatformChannel for DiscordBot {
    type Config = Config;

    fn private(person: i64) -> String {
        ReplyTarget::person(person).to_text()
    }

    async fn open_private(&self, person: i64) -> Result<(ReplyTarget, Option<store::ReplyPlace>), SendError> {
        let channel = self.private_channel(person).await?;
        let target = ReplyTarget { to: ChannelRef::Channel(channel), ..ReplyTarget::person(person) };
        // Nobody may have been answered there yet: what is said there while nobody listens is asked
        // for later.
        let last = first_id_of(self.api.platform_now_ms());
        let place = store::ReplyPlace { place: channel.to_string(), last, unasked: false };
        Ok((target, Some(place)))
    }

    fn renew(&self, config: &Config, renewed: &ChannelSettings) -> Self {
        let base = self.base.renew(renewed, configured_people(config));
        Self { base, menu: Arc::new(renewed.menu.clone()), ..self.clone() }
    }

    async fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) {
        set_menu(&self, &menu).await;
    }
}

/// Discord shows that somebody types for so long.
const SHOWN: Duration = Duration::from_secs(10);
const _: () = assert!(AGAIN.as_millis() < SHOWN.as_millis(), "nobody sees silence");
