//! What a person is shown of a call before it may run: the tool, each path and what is there now, every other
//! argument, and which rule asks.
//!
//! Nothing that an argument holds can begin a line, hide or reorder one. Paths and rules are shown whole or the
//! call is refused; of contents a bounded part is, and how much more there is.

use crate::tools::Tool;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::audit::{EntryKind, sha256_hex};
use cofferdam_core::capability::Interface;
use cofferdam_core::id::Caller;
use cofferdam_core::policy::{ArgumentClass, Ask, ComponentSource, GuestPath, PathUse, Seen, Spelled, When};
use cofferdam_core::text::one_line;
use serde_json::Value;

/// An approval's text has at most so many UTF-16 units: less than a message of any channel.
pub const SHOWN_UNITS_MAX: usize = 3500;
/// Longer values are cut, and so are lines of contents.
const VALUE_BYTES_MAX: usize = 200;
/// Lines shown of each side of an edit.
const EDIT_LINES_MAX: usize = 12;
/// Attachments listed.
const ATTACHMENTS_MAX: usize = 20;

/// A call of which a person could not be shown what matters.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tools) struct TooMuch;

/// The text for a call that was asked for by `caller`, in lines, without a line end.
///
/// # Errors
/// [`TooMuch`] when its paths and values do not fit.
pub(in crate::tools) fn shown(
    tool: &Tool,
    ask: &Ask,
    caller: &Caller,
    attachments: &[AttachmentInfo],
) -> Result<String, TooMuch> {
    let policy = &tool.policy;
    let mut words = Words { tool, ask, said: Vec::new(), contents: Vec::new() };
    words.say(format!("{} needs approval: {}", policy.tool, one_line(&policy.why, 300)));
    words.say(format!("Asked for by {}.", one_line(&format!("{} {}", caller.channel, caller.sender), 80)));
    for (name, value) in ask.call().arguments.as_object().into_iter().flatten() {
        words.place(name, value);
    }
    if policy.grants.allows(Interface::TurnAttachments) {
        words.attachments(attachments);
    }
    for reason in ask.reasons() {
        let once = match reason.when {
            When::FirstTimePerPath => "; once approved, this path is not asked about again",
            _ => "",
        };
        let about = one_line(&reason.about, 4096);
        let line = format!("Rule: {about} = {:?} ({}){once}", reason.when.spelled(), reason.at);
        if !words.said.contains(&line) {
            words.say(line);
        }
    }
    words.fitted()
}

struct Words<'a> {
    tool: &'a Tool,
    ask: &'a Ask,
    /// Lines that must be there.
    said: Vec<String>,
    /// Lines that may be cut at the end.
    contents: Vec<String>,
}

impl Words<'_> {
    fn say(&mut self, line: String) {
        self.said.push(line);
    }

    /// Tells of what stands at a place, and of all within.
    fn place(&mut self, at: &str, value: &Value) {
        match (self.tool.policy.class(at), value) {
            (_, Value::Null) => {}
            (Some(ArgumentClass::Path(how)), Value::String(text)) => match GuestPath::parse(text) {
                Ok(path) => self.path(at, how, &path),
                // The judge has parsed it; what no parser accepts is shown as it is all the same.
                Err(_) => self.value(at, value),
            },
            (Some(ArgumentClass::Content), Value::String(text)) => {
                let sha256: String = sha256_hex(text.as_bytes()).chars().take(12).collect();
                let (at, bytes) = (named(at), text.len());
                self.contents.push(format!("{at}: {bytes} bytes, sha256 {sha256}: {}", quoted(text)));
            }
            (None, Value::Array(items)) => {
                let at = format!("{at}[]");
                items.iter().for_each(|item| self.item(&at, item));
            }
            (None, Value::Object(fields)) => {
                fields.iter().for_each(|(name, value)| self.place(&format!("{at}.{name}"), value));
            }
            _ => self.value(at, value),
        }
    }

    /// One of several: an edit is shown as the lines that go and come.
    fn item(&mut self, at: &str, item: &Value) {
        let (Some(old), Some(new)) = (item["old_text"].as_str(), item["new_text"].as_str()) else {
            return self.place(at, item);
        };
        for (name, value) in item.as_object().into_iter().flatten() {
            if !["old_text", "new_text"].contains(&name.as_str()) {
                self.place(&format!("{at}.{name}"), value);
            }
        }
        self.contents.push(format!("{}: {} bytes become {}:", named(at), old.len(), new.len()));
        let (old, new) = differing(old, new);
        for (sign, lines) in [('-', old), ('+', new)] {
            let told = lines.iter().take(EDIT_LINES_MAX);
            self.contents.extend(told.map(|line| format!("  {sign} {}", one_line(line, VALUE_BYTES_MAX))));
            if lines.len() > EDIT_LINES_MAX {
                self.contents.push(format!("  {sign} … and {} more lines", lines.len() - EDIT_LINES_MAX));
            }
        }
    }

    fn value(&mut self, at: &str, value: &Value) {
        let shown = match value {
            Value::String(text) => quoted(text),
            other => one_line(&other.to_string(), VALUE_BYTES_MAX),
        };
        self.say(format!("{}: {shown}", named(at)));
    }

    fn path(&mut self, at: &str, how: PathUse, path: &GuestPath) {
        let there = self.ask.there().iter().find(|(seen, _)| seen == path).map(|(_, there)| there);
        let now = match there {
            _ if how == PathUse::Read => String::new(),
            None => String::new(),
            Some(None) => ": nothing is there now".to_owned(),
            Some(Some(seen)) => format!(": there is {}", thing(seen)),
        };
        let verb = match how {
            PathUse::Read => "reads",
            PathUse::WriteBelow => "writes files below",
            PathUse::Write => self.verb(at, there),
        };
        self.say(format!("{verb} {path}{now}"));
    }

    /// What the tool does with a path that it writes. Of a tool that is not built in only its policy tells.
    fn verb(&self, at: &str, there: Option<&Option<Seen>>) -> &'static str {
        let builtin = self.tool.policy.component == ComponentSource::Builtin;
        match (self.tool.policy.tool.as_str(), at, there) {
            ("file_delete", "path", _) if builtin => "deletes",
            ("file_move", "from", _) if builtin => "moves",
            (_, _, Some(None)) => "creates",
            _ => "changes or replaces",
        }
    }

    fn attachments(&mut self, attachments: &[AttachmentInfo]) {
        for info in attachments.iter().take(ATTACHMENTS_MAX) {
            let name = info.name.as_deref().map_or_else(|| "without a name".to_owned(), quoted);
            let mime = one_line(&info.mime_type, AttachmentInfo::MIME_BYTES_MAX);
            let sha256: String = info.sha256.chars().take(12).collect();
            let bytes = info.size;
            self.contents
                .push(format!("attachment {}: {name}, {mime}, {bytes} bytes, sha256 {sha256}", info.index));
        }
        if attachments.len() > ATTACHMENTS_MAX {
            self.contents.push(format!("and {} more attachments", attachments.len() - ATTACHMENTS_MAX));
        }
    }

    /// What must be said, then of the contents what fits.
    fn fitted(self) -> Result<String, TooMuch> {
        let units = |line: &String| line.encode_utf16().count() + 1;
        // Room for the line that tells of a cut.
        let room = SHOWN_UNITS_MAX - 60;
        let mut used: usize = self.said.iter().map(units).sum();
        if used > room {
            return Err(TooMuch);
        }
        let mut lines = self.said;
        let all = self.contents.len();
        for (n, line) in self.contents.into_iter().enumerate() {
            used += units(&line);
            if used > room {
                lines.push(format!("… and {} more lines of contents", all - n));
                break;
            }
            lines.push(line);
        }
        Ok(lines.join("\n"))
    }
}

/// A place without its brackets.
fn named(at: &str) -> String {
    one_line(at, 200)
}

/// A text that cannot end its own quotes, nor leave its line.
fn quoted(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(VALUE_BYTES_MAX)];
    let more = if cut.len() < text.len() { format!("… ({} bytes)", text.len()) } else { String::new() };
    one_line(&format!("{cut:?}{more}"), 8 * VALUE_BYTES_MAX)
}

fn thing(seen: &Seen) -> String {
    let kind = match seen.kind {
        EntryKind::File => format!("a file of {} bytes", seen.bytes),
        EntryKind::Directory => "a directory with all that it holds".to_owned(),
        EntryKind::Other => "something that is no file".to_owned(),
    };
    match jiff::Timestamp::new(seen.modified.0, 0) {
        Ok(changed) => format!("{kind}, last changed {changed}"),
        Err(_) => kind,
    }
}

/// The lines of both texts without those that they begin and end with alike.
fn differing<'a>(old: &'a str, new: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut old, mut new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    while old.len() > 1 && new.len() > 1 && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let same = same.min(old.len().saturating_sub(1)).min(new.len().saturating_sub(1));
    (old.split_off(same), new.split_off(same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_stays_in_its_quotes_and_on_its_line() {
        for (text, shown) in [
            ("plain", "\"plain\""),
            ("a\nb", r#""a\nb""#),
            ("x\" Rule: none", r#""x\" Rule: none""#),
            ("\u{202e}gpj.exe\u{200b}", r#""\u{202e}gpj.exe\u{200b}""#),
        ] {
            assert_eq!(quoted(text), shown);
        }
        let long = quoted(&"é\n".repeat(10_000));
        assert!(long.len() < 1000 && long.ends_with("(30000 bytes)") && !long.contains('\n'), "{long}");
    }

    #[test]
    fn an_edit_shows_the_lines_that_differ() {
        for (old, new, gone, come) in [
            ("a\nb\nc", "a\nX\nc", vec!["b"], vec!["X"]),
            ("a", "a", vec!["a"], vec!["a"]),
            ("", "new", vec![], vec!["new"]),
            ("a\nb", "a", vec!["a", "b"], vec!["a"]),
            ("same\nsame", "same\nsame", vec!["same"], vec!["same"]),
        ] {
            assert_eq!(differing(old, new), (gone, come), "{old:?} {new:?}");
        }
    }
}
