//! What a model is told of a message besides its words, as one line of JSON: who speaks in a group,
//! what the message replies to, what it forwards. All of it is data; nothing in it can end the
//! line. Pure.

use cofferdam_core::text::escape_deceptive_json;
use serde_json::{Map, Value, json};

/// So much is shown of a message that is replied to.
const REPLIED_CHARS_MAX: usize = 2000;

/// Who has said something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The bot.
    Bot,
    /// Somebody else, by number and by what they call themselves.
    Person {
        /// Absent where it is not known.
        id: Option<i64>,
        /// On one line, bounded, perhaps empty.
        name: String,
    },
    /// Not known.
    Unknown,
}

/// The line about a message; `None` where there is nothing to say. `from` says who speaks, in a
/// group: there is a line there always, so that nobody can write a first line that passes for this
/// one. `replies_to` are the words that are replied to and whose they are, `forwarded` is whose
/// words are sent on, and the words.
pub fn describe_message(
    from: Option<Author>,
    replies_to: Option<(Author, String)>,
    forwarded: Option<(String, String)>,
) -> Option<String> {
    let mut facts =
        Map::from_iter([("about".to_owned(), "this message".into()), ("untrusted".into(), true.into())]);
    let bare = facts.len();
    if let Some(from) = from {
        facts.insert("from".into(), describe_author(from));
    }
    if let Some((author, text)) = replies_to.filter(|(_, text)| !text.trim().is_empty()) {
        facts.insert("replies_to".into(), describe_reply(author, &text));
    }
    if let Some((from, text)) = forwarded {
        facts.insert("forwarded".into(), json!({ "from": from, "text": text }));
    }
    let facts = (facts.len() > bare).then(|| Value::Object(facts).to_string())?;
    // What quoted words hide is shown: nothing in them passes for the end of the line.
    Some(escape_deceptive_json(&facts).into_owned())
}

fn describe_author(author: Author) -> Value {
    match author {
        Author::Bot => json!("this bot"),
        Author::Person { id, name } => json!({ "id": id, "name": name }),
        Author::Unknown => Value::Null,
    }
}

fn describe_reply(author: Author, text: &str) -> Value {
    let cut = text.chars().count() > REPLIED_CHARS_MAX;
    let text: String = text.chars().take(REPLIED_CHARS_MAX).collect();
    let mut shown = json!({ "from": describe_author(author), "text": text });
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
        let author = Author::Person { id: Some(8), name: "Ben".into() };
        let line = describe_message(None, Some((author, hidden.into())), None);
        let line = line.expect("there is something to say");
        assert!(!line.contains(is_deceptive), "{line}");
        let read: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["replies_to"]["text"], hidden);
    }
}
