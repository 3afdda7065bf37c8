//! What a person is shown of a call before it may run: the tool, each path and what is there now,
//! every other argument, and which rule asks.
//!
//! Nothing that an argument holds can begin a line, hide or reorder one. Paths, values and rules
//! are shown whole or the call is refused; of contents a bounded part is, and how much more there
//! is. What is null was not given.

mod differing;
mod spelled;
#[cfg(test)]
mod tests;

use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::audit::{EntryKind, sha256_hex};
use cofferdam_core::capability::Interface;
use cofferdam_core::id::Caller;
use cofferdam_core::text::one_line;
use cofferdam_policy::{
    ApprovalCondition, ArgumentClass, ComponentSource, GuestPath, PathSnapshot, PathUse, PendingPermit,
    ToolPolicy, spell_word,
};
use cofferdam_store::APPROVED_PATH_BYTES_MAX;
use serde_json::Value;

/// An approval's text has at most so many UTF-16 units: less than a message of any channel.
pub const SHOWN_UNITS_MAX: usize = 3500;
/// Longer contents are cut, and so are their lines.
const CONTENT_BYTES_MAX: usize = 200;
/// Lines shown of each side of an edit.
const EDIT_LINES_MAX: usize = 12;
/// Attachments listed.
const ATTACHMENTS_MAX: usize = 20;

/// Somebody as others are shown them: their id, and in quotes what they call themselves, which
/// proves nothing.
pub fn person(id: &str, called: Option<&str>) -> String {
    match called.map(|name| one_line(name, 64)).filter(|name| !name.trim().is_empty()) {
        Some(name) => format!("{id} ({:?})", name.trim()),
        None => id.to_owned(),
    }
}

/// The text for a call that was asked for by `caller`, who is `called` so, in lines, without a line
/// end. None where its paths and values do not fit: a person could not be shown what matters.
pub(in crate::tools) fn describe_call(
    policy: &ToolPolicy,
    pending: &PendingPermit,
    (caller, called): (&Caller, Option<&str>),
    attachments: &[AttachmentInfo],
) -> Option<String> {
    let mut words = Words { policy, pending, said: Vec::new(), contents: Vec::new() };
    words.said.push(format!("{} needs approval: {}", policy.tool, one_line(&policy.why, 300)));
    let id = one_line(&format!("{} {}", caller.channel, caller.sender), 80);
    words.said.push(format!("Asked for by {}.", person(&id, called)));
    // Before the contents of arguments, which may be long: they may be what the call is about.
    if [Interface::TurnAttachments, Interface::RecentAttachments]
        .iter()
        .any(|seen| policy.grants.allows(*seen))
    {
        words.attachments(attachments);
    }
    for (name, value) in pending.call().arguments.as_object().into_iter().flatten() {
        words.place(&Spot::argument(name), value);
    }
    for reason in pending.reasons() {
        let is_short = |path: &GuestPath| path.as_str().len() <= APPROVED_PATH_BYTES_MAX;
        let once = match reason.when {
            ApprovalCondition::FirstTimePerPath if reason.path.as_ref().is_none_or(is_short) => {
                "; once approved, this path is not asked about again"
            }
            _ => "",
        };
        let about = one_line(&reason.about, 4096);
        let line = format!("Rule: {about} = {:?} ({}){once}", spell_word(&reason.when), reason.at);
        if !words.said.contains(&line) {
            words.said.push(line);
        }
    }
    words.fitted()
}

/// A place in the arguments.
struct Spot {
    /// As policies write it, `edits[].all`: what its class is found by.
    class: String,
    /// As a person is shown it, `edits[1].all`.
    shown: String,
}

impl Spot {
    fn argument(name: &str) -> Self {
        Self { class: name.to_owned(), shown: spelled::name(name) }
    }

    fn field(&self, name: &str) -> Self {
        let Self { class, shown } = self;
        Self { class: format!("{class}.{name}"), shown: format!("{shown}.{}", spelled::name(name)) }
    }

    /// The item of this number, which is of this class.
    fn item(&self, n: usize, class: String) -> Self {
        Self { class, shown: format!("{}[{n}]", self.shown) }
    }
}

struct Words<'a> {
    policy: &'a ToolPolicy,
    pending: &'a PendingPermit,
    /// Lines that must be there.
    said: Vec<String>,
    /// Lines that may be cut at the end.
    contents: Vec<String>,
}

impl Words<'_> {
    /// Tells of what stands at a place, and of all within. It goes as the judge goes, and knows the
    /// same classes.
    fn place(&mut self, at: &Spot, value: &Value) {
        let class = match self.policy.class(&at.class) {
            // What is judged within it is told by that.
            Some(ArgumentClass::Value | ArgumentClass::Content)
                if (value.is_array() || value.is_object()) && self.policy.has_class_within(&at.class) =>
            {
                None
            }
            class => class,
        };
        match (class, value) {
            (_, Value::Null) => {}
            // A person who agrees to words in another one's name reads all of them.
            (Some(ArgumentClass::Content), _) if !self.pending.recipients().is_empty() => {
                self.value(at, value)
            }
            (Some(ArgumentClass::Content), Value::String(text)) => self.content(at, text),
            (Some(ArgumentClass::Content), other) => self.content(at, &other.to_string()),
            (Some(ArgumentClass::Path(how)), Value::String(text)) => match GuestPath::parse(text) {
                Ok(path) => self.path(at, how, &path),
                // The judge has parsed it; what no parser accepts is shown as it is all the same.
                Err(_) => self.value(at, value),
            },
            (None | Some(ArgumentClass::Path(_)), Value::Array(items)) if !items.is_empty() => {
                let policy = self.policy;
                self.tell_items(at, items, policy.item_places(&at.class));
            }
            (None, Value::Object(fields)) if !fields.is_empty() => {
                fields.iter().for_each(|(name, value)| self.place(&at.field(name), value));
            }
            _ => self.value(at, value),
        }
    }

    /// Tells of each of several, whose classes these are by their numbers.
    fn tell_items(&mut self, at: &Spot, items: &[Value], class: impl Fn(usize) -> String) {
        for (n, item) in items.iter().enumerate() {
            self.item(&at.item(n, class(n)), item);
        }
    }

    /// One of several: an edit is shown as the lines that go and come, unless it goes to people:
    /// what they are told is shown whole.
    fn item(&mut self, at: &Spot, item: &Value) {
        let text = |name: &str| {
            let content = self.policy.class(&at.field(name).class) == Some(ArgumentClass::Content);
            item[name].as_str().filter(|_| content && self.pending.recipients().is_empty())
        };
        let (Some(old), Some(new)) = (text("old_text"), text("new_text")) else {
            return self.place(at, item);
        };
        for (name, value) in item.as_object().into_iter().flatten() {
            if !["old_text", "new_text"].contains(&name.as_str()) {
                self.place(&at.field(name), value);
            }
        }
        self.contents.push(format!("{}: {} bytes become {}:", at.shown, old.len(), new.len()));
        let (old, new) = differing::diff_lines(old, new);
        for (sign, lines) in [('-', old), ('+', new)] {
            let told = lines.iter().take(EDIT_LINES_MAX);
            self.contents.extend(told.map(|line| format!("  {sign} {}", spelled::line(line))));
            if lines.len() > EDIT_LINES_MAX {
                self.contents.push(format!("  {sign} … and {} more lines", lines.len() - EDIT_LINES_MAX));
            }
        }
    }

    fn value(&mut self, at: &Spot, value: &Value) {
        let shown = match value {
            Value::String(text) => spelled::quote(text),
            other => spelled::json(other),
        };
        self.said.push(format!("{}: {shown}", at.shown));
    }

    fn content(&mut self, at: &Spot, text: &str) {
        let sha256: String = sha256_hex(text.as_bytes()).chars().take(12).collect();
        let (at, bytes) = (&at.shown, text.len());
        self.contents
            .push(format!("{at}: {bytes} bytes, sha256 {sha256}: {}", spelled::quote_beginning(text)));
    }

    fn path(&mut self, at: &Spot, how: PathUse, path: &GuestPath) {
        let seen = match how {
            PathUse::Read => self.pending.found(),
            PathUse::Write | PathUse::WriteBelow => self.pending.snapshots(),
        };
        let there = seen.iter().find(|(seen, _)| seen == path).map(|(_, there)| there);
        let now = match there {
            None => String::new(),
            Some(None) => ": nothing is there now".to_owned(),
            Some(Some(seen)) => format!(": there is {}", thing(seen, how)),
        };
        let verb = match how {
            PathUse::Read => "reads",
            PathUse::WriteBelow => "writes files below",
            PathUse::Write => self.verb(&at.class, there),
        };
        self.said.push(format!("{verb} {}{now}", spelled::path(path)));
    }

    /// What the tool does with a path that it writes. Of a tool that is not built in only its
    /// policy tells.
    fn verb(&self, at: &str, there: Option<&Option<PathSnapshot>>) -> &'static str {
        let builtin = self.policy.component == ComponentSource::Builtin;
        match (self.policy.tool.as_str(), at, there) {
            ("file_delete", "path", _) if builtin => "deletes",
            ("file_move", "from", _) if builtin => "moves",
            (_, _, Some(None)) => "creates",
            _ => "changes or replaces",
        }
    }

    fn attachments(&mut self, attachments: &[AttachmentInfo]) {
        for info in attachments.iter().take(ATTACHMENTS_MAX) {
            let name =
                info.name.as_deref().map_or_else(|| "without a name".to_owned(), spelled::quote_beginning);
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
    fn fitted(self) -> Option<String> {
        let units = |line: &String| line.encode_utf16().count() + 1;
        // Room for the line that tells of a cut.
        let room = SHOWN_UNITS_MAX - 60;
        let mut used: usize = self.said.iter().map(units).sum();
        if used > room {
            return None;
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
        Some(lines.join("\n"))
    }
}

/// What is there. Of a folder that is read it is known which one it is, not when anything in it
/// changed.
fn thing(seen: &PathSnapshot, how: PathUse) -> String {
    let kind = match seen.kind {
        EntryKind::File => format!("a file of {} bytes", seen.bytes),
        EntryKind::Directory => "a directory with all that it holds".to_owned(),
        EntryKind::Other => "something that is no file".to_owned(),
    };
    match jiff::Timestamp::new(seen.modified.0, 0) {
        Ok(changed) if how != PathUse::Read || seen.kind == EntryKind::File => {
            format!("{kind}, last changed {changed}")
        }
        _ => kind,
    }
}
