//! Flood limits: too many messages to a chat, or in all, are refused with 429 and how long to wait,
//! like the real server does. Without limits set, nothing is too many.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::error::ApiError;
use super::params;

/// So many messages in any span of this length.
pub type Rate = (usize, Duration);

/// What this server takes.
#[derive(Clone, Copy, Debug)]
pub struct FloodLimits {
    /// In a private chat.
    pub chat: Rate,
    /// In a group.
    pub group: Rate,
    /// In all.
    pub all: Rate,
}

impl FloodLimits {
    /// What Telegram has published: 1 a second in a chat, in bursts at times; 20 a minute in a
    /// group; 30 a second.
    pub fn telegram() -> Self {
        let seconds = Duration::from_secs;
        Self { chat: (6, seconds(5)), group: (20, seconds(60)), all: (30, seconds(1)) }
    }
}

/// What has been taken lately.
#[derive(Default)]
pub(super) struct Floods {
    pub(super) limits: Option<FloodLimits>,
    chats: HashMap<i64, VecDeque<Instant>>,
    all: VecDeque<Instant>,
}

impl Floods {
    /// Counts a message or an edit, or refuses it.
    pub(super) fn take(&mut self, method: &str, params: &Map<String, Value>) -> Result<(), ApiError> {
        let counts =
            method == "editmessagetext" || (method.starts_with("send") && method != "sendchataction");
        let Some(limits) = self.limits.filter(|_| counts) else { return Ok(()) };
        let chat = params::integer(params, "chat_id").ok().flatten().unwrap_or_default();
        let now = Instant::now();
        let of_chat = if chat < 0 { limits.group } else { limits.chat };
        let taken = self.chats.entry(chat).or_default();
        match wait(taken, of_chat, now).max(wait(&self.all, limits.all, now)) {
            None => {
                push(taken, of_chat, now);
                push(&mut self.all, limits.all, now);
                Ok(())
            }
            Some(wait) => {
                let seconds = wait.as_secs() + 1;
                let why = format!("Too Many Requests: retry after {seconds}");
                Err(ApiError::new(429, why).with_parameter("retry_after", seconds))
            }
        }
    }
}

/// How long until one more is taken, if not now.
fn wait(taken: &VecDeque<Instant>, (count, per): Rate, now: Instant) -> Option<Duration> {
    let oldest = taken.len().checked_sub(count).map(|at| taken[at])?;
    (oldest + per).checked_duration_since(now).filter(|wait| !wait.is_zero())
}

fn push(taken: &mut VecDeque<Instant>, (count, _): Rate, now: Instant) {
    taken.push_back(now);
    if taken.len() > count {
        taken.pop_front();
    }
}
