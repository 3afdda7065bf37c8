//! What a frame of the gateway says, as far as it is looked at. Pure.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Something that has happened, in its place.
#[derive(Debug)]
pub(super) struct GatewayEvent {
    pub(super) number: i64,
    /// As Discord names it.
    pub(super) kind: String,
    /// JSON; empty for a kind that nobody here uses.
    pub(super) data: String,
}

impl GatewayEvent {
    /// Whether it says that the connection has a session: a new one, or one that goes on.
    pub(super) fn has_begun_session(&self) -> bool {
        matches!(self.kind.as_str(), "READY" | "RESUMED")
    }
}

/// What comes, as far as it is looked at.
#[derive(Deserialize)]
pub(super) struct GatewayPayload<'a> {
    #[serde(default)]
    pub(super) op: Value,
    #[serde(borrow, default)]
    pub(super) d: Option<&'a RawValue>,
    #[serde(default)]
    s: Value,
    #[serde(default)]
    t: Value,
}

impl<'a> GatewayPayload<'a> {
    /// What a frame says; `None` for what is no payload.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What it tells of, if that has a number and a name.
    pub(super) fn to_event(&self) -> Option<GatewayEvent> {
        let (number, kind) = (self.s.as_i64()?, self.t.as_str()?);
        let data = self.d.filter(|_| is_used(kind)).map(|d| d.get().to_owned()).unwrap_or_default();
        Some(GatewayEvent { number, kind: kind.to_owned(), data })
    }
}

/// Whether events of this kind are looked at.
fn is_used(kind: &str) -> bool {
    let message = ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"];
    message.contains(&kind) || matches!(kind, "READY" | "RESUMED" | "INTERACTION_CREATE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_stands_in_a_payload_the_rest_is_read() {
        for text in [r#"{"op":0,"s":1,"t":"X","d":[1e999]}"#, r#"{"op":"x","s":[],"t":5,"new":{}}"#, "{}"] {
            assert!(GatewayPayload::read(text).is_some(), "{text}");
        }
    }
}
