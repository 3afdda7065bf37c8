//! Interactions: commands and presses that wait for the bot's answer, by the real server's
//! deadlines.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::draft::{Draft, data_of};
use super::error::RestError;
use super::messages::{EPHEMERAL, LOADING, add, edit, remove, shown};
use super::params;
use super::state::Inner;
use crate::exchange::multipart::Uploads;

/// How long the first answer may take, in milliseconds.
const ACKNOWLEDGE_MS: u64 = 3000;
/// How long the token holds, in milliseconds.
const TOKEN_MS: u64 = 15 * 60 * 1000;

/// One interaction and what the bot did with it.
#[derive(Clone, Debug)]
pub struct Interaction {
    /// Its id.
    pub id: u64,
    /// What answers must name.
    pub token: String,
    /// Where it was made.
    pub channel_id: u64,
    /// Who made it.
    pub user_id: u64,
    /// The event as the bot got it.
    pub event: Value,
    /// The type of the first answer: 4 a message, 5 a message to come, 6 nothing visible, 7 the
    /// message changed.
    pub acknowledged: Option<u64>,
    /// How long the first answer took, in milliseconds of the server's clock.
    pub acknowledged_after_ms: Option<u64>,
    /// The message that `@original` names.
    pub original: Option<u64>,
    /// The ids of the further messages.
    pub followups: Vec<u64>,
    pub(super) created_ms: u64,
    /// The message that holds the pressed button.
    pub(super) pressed: Option<u64>,
}

impl Interaction {
    /// What the messages that answer it tell of it.
    pub(super) fn metadata(&self) -> Value {
        let event = &self.event;
        let user = event.get("user").unwrap_or(&event["member"]["user"]);
        let mut metadata = json!({
            "id": self.id.to_string(),
            "type": event["type"],
            "user": user,
            "authorizing_integration_owners": event["authorizing_integration_owners"],
        });
        match self.pressed {
            Some(pressed) => metadata["interacted_message_id"] = pressed.to_string().into(),
            None => metadata["name"] = event["data"]["name"].clone(),
        }
        metadata
    }
}

/// All interactions by their id.
#[derive(Default)]
pub(super) struct Interactions {
    pub(super) by_id: BTreeMap<u64, Interaction>,
}

impl Interactions {
    /// The interaction of a token that still holds.
    fn of_token(&self, token: &str, now_ms: u64) -> Result<Interaction, RestError> {
        let found = self.by_id.values().find(|one| one.token == token && one.acknowledged.is_some());
        let found = found.ok_or_else(|| RestError::new(404, 10015, "Unknown Webhook"))?;
        if found.created_ms + TOKEN_MS <= now_ms {
            return Err(RestError::new(401, 50027, "Invalid Webhook Token"));
        }
        Ok(found.clone())
    }
}

/// `POST /interactions/{id}/{token}/callback`: the response with `with_response`, otherwise
/// nothing.
pub(super) fn respond(
    inner: &mut Inner,
    call: &Map<String, Value>,
    uploads: &Uploads,
) -> Result<Option<Value>, RestError> {
    let id = params::required_id(call, "interaction_id")?;
    let now_ms = inner.clock.now_ms();
    let token = params::text(call, "token");
    let found = inner.interactions.by_id.get(&id).filter(|one| one.token == token);
    let found = found.ok_or_else(RestError::unknown_interaction)?.clone();
    if found.acknowledged.is_some() {
        return Err(RestError::new(400, 40060, "Interaction has already been acknowledged."));
    }
    if found.created_ms + ACKNOWLEDGE_MS <= now_ms {
        return Err(RestError::unknown_interaction());
    }
    let kind = call.get("type").and_then(Value::as_u64).unwrap_or_default();
    let draft = Draft::read(&data_of(call), uploads)?;
    let original = match (kind, found.pressed) {
        (4, _) if draft.is_empty(uploads) => {
            return Err(RestError::new(400, 50006, "Cannot send an empty message"));
        }
        (4, _) => Some(add(inner, found.channel_id, &draft, uploads, Some(id))?),
        (5, _) => {
            let flags = LOADING | draft.flags & EPHEMERAL;
            let loading = Draft { flags, ..draft };
            Some(add(inner, found.channel_id, &loading, uploads, Some(id))?)
        }
        (6, Some(pressed)) => Some(pressed),
        (7, Some(pressed)) => {
            edit(inner, found.channel_id, pressed, &draft, uploads)?;
            Some(pressed)
        }
        _ => {
            let message = "Value must be one of (4, 5, 6, 7).";
            return Err(RestError::field("type", "BASE_TYPE_CHOICES", message));
        }
    };
    if let Some(known) = inner.interactions.by_id.get_mut(&id) {
        known.acknowledged = Some(kind);
        known.acknowledged_after_ms = Some(now_ms - found.created_ms);
        known.original = original;
    }
    if !matches!(params::text(call, "with_response"), "true" | "1") {
        return Ok(None);
    }
    let mut answer = json!({ "interaction": {
        "id": id.to_string(),
        "type": found.event["type"],
        "response_message_id": original.map(|id| id.to_string()),
        "response_message_loading": kind == 5,
        "response_message_ephemeral": draft.flags & EPHEMERAL != 0,
    } });
    if let Some(original) = original {
        let message = shown(inner, found.channel_id, original)?;
        answer["resource"] = json!({ "type": kind, "message": message });
    }
    Ok(Some(answer))
}

/// What a webhook's route does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnMessage {
    Get,
    Edit,
    Delete,
}

/// `/webhooks/{application}/{token}/messages/{@original or id}`.
pub(super) fn on_message(
    inner: &mut Inner,
    call: &Map<String, Value>,
    uploads: &Uploads,
    act: OnMessage,
) -> Result<Option<Value>, RestError> {
    let of = inner.interactions.of_token(params::text(call, "token"), inner.clock.now_ms())?;
    let id = match params::id(call, "message_id")? {
        Some(id) if Some(id) == of.original || of.followups.contains(&id) => id,
        Some(_) => return Err(RestError::unknown_message()),
        None => of.original.ok_or_else(RestError::unknown_message)?,
    };
    let channel = of.channel_id;
    match act {
        OnMessage::Get => shown(inner, channel, id).map(Some),
        OnMessage::Edit => edit(inner, channel, id, &Draft::read(call, uploads)?, uploads).map(Some),
        OnMessage::Delete => {
            remove(inner, channel, id).then_some(None).ok_or_else(RestError::unknown_message)
        }
    }
}

/// `POST /webhooks/{application}/{token}`: the first one fills a message that is to come.
pub(super) fn follow_up(
    inner: &mut Inner,
    call: &Map<String, Value>,
    uploads: &Uploads,
) -> Result<Value, RestError> {
    let of = inner.interactions.of_token(params::text(call, "token"), inner.clock.now_ms())?;
    let draft = Draft::read(call, uploads)?;
    if draft.is_empty(uploads) {
        return Err(RestError::new(400, 50006, "Cannot send an empty message"));
    }
    if let Some(original) = of.original {
        let message = inner.world.message(of.channel_id, original);
        if message.is_ok_and(|message| message["flags"].as_u64().unwrap_or_default() & LOADING != 0) {
            return edit(inner, of.channel_id, original, &draft, uploads);
        }
    }
    let id = add(inner, of.channel_id, &draft, uploads, Some(of.id))?;
    if let Some(known) = inner.interactions.by_id.get_mut(&of.id) {
        known.followups.push(id);
    }
    shown(inner, of.channel_id, id)
}
