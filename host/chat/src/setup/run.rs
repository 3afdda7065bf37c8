//! The life of a channel, from what the last run left to the stop: its queues, its people, its
//! renewals and its commands beside its own loop.

use super::{MenuEntry, Renewal, renew};
use crate::approvals::chat_of;
use crate::handler::{Channel, ChannelServices, CurrentChannel, PlatformChannel, hand_on, incoming};
use crate::loop_health::LoopHealth;
use crate::people;
use crate::session_queue::{ARRIVALS_MAX, Arrival};
use cofferdam_agent::server::UnusableKey;
use cofferdam_store::StoreError;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Why a channel ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The platform refuses the bot, or what it asks for; with what mends it.
    #[error("{0}")]
    Refused(String),
    /// The section of the configuration is wrong.
    #[error("[{section}] {0}", section = .0.section)]
    Config(#[from] UnusableKey),
    /// The HTTP client does not start.
    #[error("the HTTP client does not start: {0}")]
    Client(String),
    /// The store cannot be read at the start.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs a channel until its loop ends, which is the stop, or an error that time will not heal.
/// `listen` is the loop: it brings what comes to the queues, and has `pulse`. Of several nodes one
/// runs it.
///
/// # Errors
/// What the loop says, and a store that does not say what the last run left, or other nodes.
pub async fn run<C>(
    channel: Arc<C>,
    menu: Vec<MenuEntry>,
    renewals: mpsc::Receiver<Renewal<C::Config>>,
    pulse: &'static LoopHealth,
    listen: impl AsyncFnOnce(&CurrentChannel<C>, &mpsc::Sender<Arrival>) -> Result<(), ServeError>,
) -> Result<(), ServeError>
where
    C: PlatformChannel,
    C::Config: 'static,
{
    let (renewing, channels) = watch::channel(channel.clone());
    let mut background = JoinSet::new();
    background.spawn(channel.clone().set_menu(menu));
    background.spawn(renew(renewing, renewals));
    // What the last run left and nobody needs; a bucket is not waited for.
    channel.base().sweep().await;
    let (arrivals, queue) = mpsc::channel(ARRIVALS_MAX);
    let listening = async {
        let left = incoming::load_left(&*channel).await?;
        if hand_on(channel.base(), &arrivals, left).await.is_none() {
            return Ok(());
        }
        // Not before: what the last run left to be told is told once.
        background.spawn(people::watch(channels.clone(), arrivals.clone()));
        background.spawn(clear_choices(channel.clone()));
        if channel.base().store.is_shared() {
            background.spawn(follow_nodes(channels.clone(), arrivals.clone()));
        }
        channel.base().runs.is_up(channels.clone(), arrivals.clone());
        match begin_listening(channel.base(), pulse).await {
            Some(()) => pulse.run_loop(listen(&channels, &arrivals)).await,
            None => Ok(()),
        }
    };
    let listening = async {
        let listened = listening.await;
        channel.base().stop.soon.cancel();
        listened
    };
    let arrivals = incoming::queues(channels.clone());
    let (listened, queued) = tokio::join!(listening, arrivals.run(queue));
    listened.and(queued.map_err(ServeError::from))
}

/// Waits until no other node hears this bot; `None` once the program stops.
async fn begin_listening(base: &ChannelServices, pulse: &LoopHealth) -> Option<()> {
    let (mut woken, mut is_told) = (base.store.woken(), false);
    loop {
        match base.store.try_duty(&base.channel).await {
            Ok(true) => {
                if is_told {
                    // From now on its silence counts.
                    pulse.note_known();
                }
                return Some(());
            }
            Ok(false) if is_told => {}
            Ok(false) => {
                is_told = true;
                pulse.note_elsewhere();
                tracing::info!("another node hears {}; this one works beside it", base.channel);
            }
            Err(error) => tracing::warn!(%error, "which node hears {} cannot be looked up", base.channel),
        }
        base.stop.soon.run_until_cancelled(woken.changed()).await?.ok()?;
    }
}

/// Takes up what other nodes leave to this one, for as long as this is polled. Nothing waits until
/// the audit of a node that is gone is settled, but what it had begun.
async fn follow_nodes<C: PlatformChannel>(channels: CurrentChannel<C>, arrivals: mpsc::Sender<Arrival>) {
    tokio::join!(follow_living(&channels, &arrivals), follow_gone(&channels, &arrivals));
}

async fn follow_living<C: PlatformChannel>(channels: &CurrentChannel<C>, arrivals: &mpsc::Sender<Arrival>) {
    let mut woken = channels.borrow().base().store.woken();
    while woken.changed().await.is_ok() {
        let channel = channels.borrow().clone();
        // First, because a message of such a group may have come too.
        looked_up(channel.follow_moves().await);
        // What was asked may have been decided on another node.
        channel.base().approvals.look_again();
        let found = looked_up(incoming::load_from_nodes(&*channel).await);
        if hand_on(channel.base(), arrivals, found).await.is_none() {
            return;
        }
    }
}

async fn follow_gone<C: PlatformChannel>(channels: &CurrentChannel<C>, arrivals: &mpsc::Sender<Arrival>) {
    let mut woken = channels.borrow().base().store.woken();
    loop {
        let channel = channels.borrow().clone();
        let found = looked_up(incoming::load_from_gone_nodes(channel.base()).await);
        let handed_on = hand_on(channel.base(), arrivals, found).await;
        if handed_on.is_none() || woken.changed().await.is_err() {
            return;
        }
    }
}

/// What was found; nothing where the store is away, which its next look tells.
fn looked_up<T: Default>(found: Result<T, StoreError>) -> T {
    found.unwrap_or_else(|error| {
        tracing::debug!(%error, "what other nodes leave cannot be looked up now");
        T::default()
    })
}

/// Takes the choices away that the last run has left on questions that are over: it was killed
/// between a decision and the edit of its message.
async fn clear_choices<C: Channel>(channel: Arc<C>) {
    let base = channel.base();
    let look = || base.store.open_choices(&base.channel);
    for over in base.store_until_done("look for questions that are over", look).await.unwrap_or_default() {
        let (Some(chat), Some(message)) = (chat_of(&over), &over.message) else { continue };
        if channel.take_choices(&chat, message).await {
            base.store_until_done("note that a question has no choices", || {
                base.store.mark_choices_gone(&over.id)
            })
            .await;
        }
    }
}

/// Has a channel send what it is handed, and hear nothing, until the stop: for a command that says
/// something once. What an earlier run has left stays for the next one.
pub async fn speak<C: PlatformChannel>(channel: Arc<C>) {
    let (_now, channels) = watch::channel(channel.clone());
    let (arrivals, queue) = mpsc::channel(ARRIVALS_MAX);
    channel.base().runs.is_up(channels.clone(), arrivals);
    // Nothing is taken over here.
    let _ = incoming::queues(channels).run(queue).await;
}
