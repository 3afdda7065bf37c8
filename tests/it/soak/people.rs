//! What people write, what the model makes of it, and what must come of it.

use serde_json::{Value, json};
use support::llm::{Call, RequestRecord, Turn};
use support::platform::{Message, Platform};

/// People, each alone with the bot.
pub(super) const PEOPLE: usize = 24;

/// One message: its number says what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question(pub(super) usize);

/// What a number asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Say,
    Look,
    Write,
    Save,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The call did what it was to do.
    Done,
    /// It did not, for the reason of this code.
    Failed(String),
    /// An error in plain words: the model or the gateway's disk failed.
    Honest,
}

pub(super) fn users<P: Platform>() -> Vec<i64> {
    (0..PEOPLE).map(P::person).collect()
}

impl Question {
    pub(super) fn kind(self) -> Kind {
        [Kind::Say, Kind::Write, Kind::Save, Kind::Look, Kind::Save][self.0 % 5]
    }

    /// Where its file is to be, for those that have one.
    pub(super) fn path(self) -> Option<String> {
        matches!(self.kind(), Kind::Write | Kind::Save)
            .then(|| format!("/shared/{}/{}", self.0 / 200, self.0))
    }

    /// Some is held in memory, some is spooled to disk.
    pub(super) fn content(self) -> String {
        let large = self.kind() == Kind::Save && self.0.is_multiple_of(37);
        format!("file {} ", self.0).repeat(if large { 40_000 } else { 3 })
    }

    /// The message, of this person.
    pub(super) fn message<P: Platform>(self, person: usize) -> Message {
        let message = Message::text(P::person(person), &format!("soak {}", self.0));
        match self.kind() {
            Kind::Save => message.file(&format!("d{}", self.0), self.content()),
            Kind::Say | Kind::Look | Kind::Write => message,
        }
    }

    /// What an answer says of it; none while it is not the whole answer.
    pub(super) fn outcome(self, answer: &str) -> Option<Outcome> {
        if let Some((_, said)) = answer.rsplit_once(&format!("turn {}: ", self.0)) {
            let code = said.strip_suffix('.')?;
            return Some(if code == "ok" { Outcome::Done } else { Outcome::Failed(code.to_owned()) });
        }
        // What became of its file may stand before it.
        let is_error = |line: &str| line.starts_with("The model") || line.starts_with("internal: ");
        let is_honest = answer.lines().any(is_error);
        (is_honest || answer.contains("/retry")).then_some(Outcome::Honest)
    }
}

/// The model: it does what the last message of a person asks for, and says what came of it.
pub(super) fn model(request: &RequestRecord) -> Turn {
    let messages = request.messages();
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let heard = messages.get(last).map_or_else(String::new, |message| message["content"].to_string());
    if request.body["tools"].is_null() {
        return Turn::say("They asked for this and that.");
    }
    let number = heard.rsplit_once("soak ").and_then(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    let Some(question) = number.map(Question) else { return Turn::say("What do you mean?") };
    let result = messages[last..].iter().rfind(|message| message["role"] == "tool");
    if let Some(shown) = result.and_then(|message| message["content"].as_str()) {
        let frame: Value = serde_json::from_str(shown).unwrap_or_default();
        let code = frame["error"]["code"].as_str().unwrap_or("ok");
        return Turn::say(&format!("turn {}: {code}.", question.0)).in_pieces(3);
    }
    let call = match question.kind() {
        Kind::Say => return Turn::say(&format!("turn {}: ok.", question.0)).in_pieces(3),
        Kind::Look => Call::new("file_info", json!({ "path": "/shared" })),
        Kind::Write => {
            Call::new("file_write", json!({ "path": question.path(), "content": question.content() }))
        }
        Kind::Save => Call::new("attachment_save", json!({ "index": 0, "path": question.path() })),
    };
    Turn::calls([call.in_pieces(2)])
}
