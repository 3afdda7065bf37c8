//! Where a reply goes; the store keeps it as JSON.

use super::wire::{Interaction, Message, Snowflake};
use cofferdam_chat::outbound::PlaceholderRef;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The token of an interaction is good for so long, a little less than Discord says.
const TOKEN_LASTS: Duration = Duration::from_secs(15 * 60 - 10);
/// Snowflakes count milliseconds from the first second of 2015.
const EPOCH_MS: i64 = 1_420_070_400_000;

/// Where a reply goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplyTarget {
    pub(super) to: ChannelRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) guild: Option<Snowflake>,
    /// The message that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply_to: Option<Snowflake>,
    /// The command that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) interaction: Option<Interaction>,
    /// What stands there for the reply already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stand_in: Option<PlaceholderRef>,
}

/// A channel, or somebody whose private channel is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChannelRef {
    Channel(Snowflake),
    Person(Snowflake),
}

impl ReplyTarget {
    /// Where the answer to a message or command goes.
    pub(super) fn new(message: &Message) -> Self {
        let interaction = message.command.as_ref().map(|command| command.interaction.clone());
        Self {
            to: ChannelRef::Channel(message.channel),
            guild: message.guild,
            reply_to: interaction.is_none().then_some(message.id),
            interaction,
            stand_in: None,
        }
    }

    /// Somebody, in private.
    pub(super) fn person(person: Snowflake) -> Self {
        Self {
            to: ChannelRef::Person(person),
            guild: None,
            reply_to: None,
            interaction: None,
            stand_in: None,
        }
    }

    /// The channel, where it is known.
    pub(super) fn channel(&self) -> Option<Snowflake> {
        match self.to {
            ChannelRef::Channel(channel) => Some(channel),
            ChannelRef::Person(_) => None,
        }
    }

    /// The interaction, as long as its token is good.
    pub(super) fn open_interaction(&self, now_ms: i64) -> Option<&Interaction> {
        let lasts = i64::try_from(TOKEN_LASTS.as_millis()).unwrap_or(0);
        self.interaction.as_ref().filter(|interaction| made_at(interaction.id) + lasts > now_ms)
    }

    /// As the store keeps it.
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }
}

/// When what has this id was made, in milliseconds since 1970 UTC.
pub(super) fn made_at(id: Snowflake) -> i64 {
    (id >> 22).saturating_add(EPOCH_MS)
}

/// The smallest id of a time.
pub(super) fn first_id_of(ms: i64) -> Snowflake {
    ms.saturating_sub(EPOCH_MS).clamp(0, i64::MAX >> 22) << 22
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_time() {
        // Discord's own example.
        assert_eq!(made_at(175_928_847_299_117_063), 1_462_015_105_796);
        let id = first_id_of(1_462_015_105_796);
        assert!(id <= 175_928_847_299_117_063 && made_at(id) == 1_462_015_105_796);
        assert_eq!((first_id_of(0), first_id_of(i64::MIN)), (0, 0));
        let interaction = Interaction { id, application: 1, token: "t".into(), acknowledged: false };
        let target = ReplyTarget { interaction: Some(interaction), ..ReplyTarget::person(5) };
        assert!(target.open_interaction(1_462_015_105_796 + 14 * 60_000).is_some());
        assert!(target.open_interaction(1_462_015_105_796 + 15 * 60_000).is_none());
        assert_eq!(serde_json::from_str::<ReplyTarget>(&target.to_text()).ok(), Some(target));
        assert!(serde_json::from_str::<ReplyTarget>("{}").is_err());
    }
}
