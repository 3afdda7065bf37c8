//! What every part of the running channel shares: the connection, the store, the people, the stop.

use super::api::{Api, REQUEST_MAX};
use super::config::Timing;
use super::failure::Failure;
use super::people::Door;
use crate::attachments::outgoing::Outgoing;
use crate::attachments::{self, BlobStore};
use crate::store::{Keeper, Presence, Store, StoreError};
use crate::tools;
use crate::turn::Runner;
use crate::turn::desk::{self, Desk};
use crate::turn::lanes::{Running, Stop};
use serde_json::value::RawValue;
use std::sync::Arc;
use teloxide_core::payloads;
use tokio::sync::{Semaphore, watch};

/// The bot's own account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Me {
    pub(super) id: i64,
    /// Without `@`. Every bot has one; without it no command in a group can name this bot.
    pub(super) username: Option<String>,
    /// What Telegram brings it of groups.
    pub(super) hears: Hears,
}

/// What Telegram brings a bot of the talk in groups where it is no administrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hears {
    /// Commands, replies and mentions: BotFather's privacy mode.
    #[default]
    WhatIsForIt,
    Everything,
}

/// The running bot as it is configured now. What runs keeps the one that it began with; all of them share what
/// lasts.
#[derive(Clone)]
pub(super) struct Bot {
    pub(super) api: Arc<Api>,
    pub(super) store: Store,
    pub(super) presence: Arc<Presence>,
    pub(super) runner: Arc<Runner>,
    pub(super) blobs: BlobStore,
    pub(super) outgoing: Outgoing,
    pub(super) limits: attachments::Config,
    /// Who is served.
    pub(super) door: Door,
    pub(super) timing: Timing,
    pub(super) me: Me,
    /// `telegram-<bot id>`: in the store another bot's update ids never meet this one's.
    pub(super) channel: String,
    pub(super) permits: Arc<Semaphore>,
    /// What waits for a person.
    pub(super) desk: Desk,
    /// Answers to presses.
    pub(super) answers: Arc<Semaphore>,
    pub(super) keeper: Keeper,
    pub(super) stop: Stop,
    /// The turns that run now.
    pub(super) running: Arc<Running>,
}

/// The bot of the moment, for what goes on for as long as the program runs.
pub(super) type Bots = watch::Receiver<Arc<Bot>>;

/// Who decides over approvals, and until when.
pub(super) fn deciding(approvers: &[i64], approvals: &tools::Config) -> desk::Rules {
    let approvers = approvers.iter().map(ToString::to_string).collect();
    desk::Rules { approvers, expires: approvals.expires.0 }
}

impl Bot {
    /// Removes the blobs that no reply needs any more. One that stays for now is removed later.
    pub(super) async fn sweep(&self) {
        let (outgoing, store) = (self.outgoing.clone(), self.store.clone());
        let swept = tokio::task::spawn_blocking(move || outgoing.sweep(|| store.blobs_in_use())).await;
        if let Ok(Err(error)) = swept {
            tracing::warn!(%error, "blobs of replies cannot be swept now");
        }
    }

    /// Repeats work in the store until it succeeds; `None` once the bot stops.
    pub(super) async fn stored<T, F>(&self, what: &str, work: impl FnMut() -> F) -> Option<T>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.keeper.stored(what, work).await
    }
}

impl Me {
    /// Asks Telegram who this bot is.
    ///
    /// # Errors
    /// [`Failure`].
    pub(super) async fn ask(api: &Api) -> Result<Self, Failure> {
        Self::read(&api.call(&payloads::GetMe::new(), REQUEST_MAX).await?)
    }

    /// The bot as people call it: `@name`.
    pub(super) fn called(&self) -> String {
        self.username.as_ref().map_or_else(|| format!("bot {}", self.id), |name| format!("@{name}"))
    }

    /// What `getMe` has brought.
    ///
    /// # Errors
    /// [`Failure::Unreachable`] for what is no bot's account.
    pub(super) fn read(result: &RawValue) -> Result<Self, Failure> {
        let value: serde_json::Value = serde_json::from_str(result.get()).unwrap_or_default();
        let id = value["id"].as_i64();
        let id =
            id.ok_or_else(|| Failure::Unreachable("getMe tells no id; is api_url a Bot API server?".into()))?;
        let everything = value["can_read_all_group_messages"] == true;
        let hears = if everything { Hears::Everything } else { Hears::WhatIsForIt };
        Ok(Self { id, username: value["username"].as_str().map(str::to_owned), hears })
    }
}
