//! A change of a policy file by whole lines: exact enough for a program to make, plain enough for a
//! person.

use cofferdam_policy::PolicySet;
use serde::Serialize;
use std::ops::Range;

/// One change of one policy file. Several are made in their order: a line is counted in the file as
/// the edits before it left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyEdit {
    /// The file within the policies' folder, e.g. `profiles/file-read-only.toml`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What happens to it.
    pub action: Action,
    /// For `replace`, the whole line as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The whole line to write, without its line end; one that is inserted may be several.
    pub text: String,
}

/// What an edit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The line becomes the text.
    Replace,
    /// The text goes in before the line, which may be the one after the last.
    Insert,
}

impl PolicyEdit {
    /// A text put in before the line `line`.
    pub(super) fn insert(file: &str, line: usize, text: String) -> Self {
        Self { file: file.to_owned(), line, action: Action::Insert, old: None, text }
    }

    /// What stands at `span` replaced by `with`, if it lies on one line.
    pub(super) fn replace(file: &str, text: &str, span: Range<usize>, with: &str) -> Option<Self> {
        if text.get(span.clone())?.contains('\n') {
            return None;
        }
        let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at);
        Some(Self {
            file: file.to_owned(),
            line: 1 + text[..start].matches('\n').count(),
            action: Action::Replace,
            old: Some(text[start..end].to_owned()),
            text: format!("{}{with}{}", &text[start..span.start], &text[span.end..end]),
        })
    }

    /// The policies as they would be after the edit; none when it cannot be made or they would not
    /// load.
    pub fn apply(&self, policies: &PolicySet) -> Option<PolicySet> {
        policies.with(&self.file, self.apply_text(policies.file(&self.file)?)?)
    }

    /// The file's text after the edit; none when the line is not there or reads otherwise.
    pub fn apply_text(&self, text: &str) -> Option<String> {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let at = self.line.checked_sub(1)?;
        match self.action {
            Action::Insert if at <= lines.len() => lines.insert(at, &self.text),
            Action::Replace if self.old.as_deref() == Some(lines.get(at)?) => lines[at] = &self.text,
            _ => return None,
        }
        Some(lines.join("\n"))
    }
}
