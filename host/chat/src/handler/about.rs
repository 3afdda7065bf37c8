//! What a model is told of a message besides its words, as one line of JSON: who speaks in a group,
//! what the message replies to, what it forwards. All of it is data; nothing in it can end the
//! line. Pure.

use cofferdam_core::text::escape_deceptive_json;
use serde_json::{Map, Value, json};

/// So much is shown of a message that is replied to.
const REPLIED_CHARS_MAX: usize = 2000;

/// Somebody, by number and by what they call themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedUser {
    /// Absent where it is not known.
    pub id: Option<i64>,
    /// On one line, bounded, perhaps empty.
    pub name: String,
}

/// Whose words are replied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The bot's own.
    Bot,
    /// Another's.
    Other(NamedUser),
    /// Not known.
    Unknown,
}

/// What there is to say of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFacts {
    /// Who speaks, in a group.
    pub from: Option<NamedUser>,
    /// The words that are replied to.
    pub replies_to: Option<(Author, String)>,
    /// Whose words are forwarded, and the words.
    pub forwarded: Option<(String, String)>,
}

impl MessageFacts {
    /// The line; `None` where there is nothing to say. In a group there always is, so that nobody
    /// there can write a first line that passes for this one.
    pub fn line(self) -> Option<String> {
        let mut facts =
            Map::from_iter([("about".to_owned(), "this message".into()), ("untrusted".into(), true.into())]);
        let bare = facts.len();
        if let Some(NamedUser { id, name }) = self.from {
            facts.insert("from".into(), json!({ "id": id, "name": name }));
        }
        if let Some((author, text)) = self.replies_to.filter(|(_, text)| !text.trim().is_empty()) {
            facts.insert("replies_to".into(), describe_reply(author, &text));
        }
        if let Some((from, text)) = self.forwarded {
            facts.insert("forwarded".into(), json!({ "from": from, "text": text }));
        }
        let facts = (facts.len() > bare).then(|| Value::Object(facts).to_string())?;
        // What quoted words hide is shown: nothing in them passes for the end of the line.
        Some(escape_deceptive_json(&facts).into_owned())
    }
}

fn describe_reply(author: Author, text: &str) -> Value {
    let from = match author {
        Author::Bot => json!("this bot"),
        Author::Other(NamedUser { id, name }) => json!({ "id": id, "name": name }),
        Author::Unknown => Value::Null,
    };
    let cut = text.chars().count() > REPLIED_CHARS_MAX;
    let text: String = text.chars().take(REPLIED_CHARS_MAX).collect();
    let mut shown = json!({ "from": from, "text": text });
    if cut {
        shown["cut"] = true.into();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::text::is_deceptive;

    #[test]
    fn what_quoted_words_hide_is_shown_on_the_one_line() {
        let hidden = "a\u{2028}b\u{202E}c\u{E0041}\u{85}";
        let author = Author::Other(NamedUser { id: Some(8), name: "Ben".into() });
        let facts = MessageFacts { replies_to: Some((author, hidden.into())), ..MessageFacts::default() };
        let line = facts.line().expect("there is something to say");
        assert!(!line.contains(is_deceptive), "{line}");
        let read: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["replies_to"]["text"], hidden);
    }
}
