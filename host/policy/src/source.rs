//! A policy file as text: turning places in it into lines, and what is wrong there into problems.

use super::origin::SourceLocation;
use serde::{Serialize, de};
use std::ops::Range;
use toml::Spanned;

/// What is wrong with a policy, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{file}{}: {problem}", .line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct PolicyProblem {
    /// The file as it was given, e.g. `tools/attachment_save.toml`.
    pub file: String,
    /// The line, from 1; none where the problem has none, such as a file that cannot be read.
    pub line: Option<usize>,
    /// What is wrong and what to write instead.
    pub problem: String,
}

/// A part of a policy, or all that is wrong with it.
pub(super) type CheckedPart<T> = Result<T, Vec<PolicyProblem>>;

/// A policy file's name and text, for turning places into lines.
#[derive(Clone, Copy)]
pub(super) struct PolicySource<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl PolicySource<'_> {
    pub(super) fn parse<T: de::DeserializeOwned>(&self) -> Result<T, PolicyProblem> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().unwrap_or(Range { start: 0, end: 0 }).start;
            let said = cofferdam_core::text::one_line(error.message(), 400);
            let missing = said.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
            match missing.and_then(line_for) {
                Some(line) => self.problem_at(at, &format!("{said}; add a line such as {line}")),
                None => self.problem_at(at, &said),
            }
        })
    }

    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.text.match_indices('\n').take_while(|(end, _)| *end < at).count()
    }

    pub(super) fn problem_at(&self, at: usize, problem: &str) -> PolicyProblem {
        PolicyProblem { file: self.name.to_owned(), line: Some(self.line(at)), problem: problem.to_owned() }
    }

    pub(super) fn place<T>(&self, written: &Spanned<T>) -> SourceLocation {
        let span = written.span();
        SourceLocation { file: self.name.into(), line: self.line(span.start), span }
    }
}

/// Refuses a name that could not be told from another one, or not be shown on its line.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.chars().any(cofferdam_core::text::is_deceptive) {
        return Err("is empty, or has a control or invisible character; use a plain name");
    }
    Ok(())
}

/// What every policy file begins with: the layout that is read, and a reason.
pub(super) fn check_head(
    source: &PolicySource<'_>,
    schema: &Spanned<u32>,
    why: &Spanned<String>,
) -> Result<(), PolicyProblem> {
    if *schema.get_ref() != 1 {
        return Err(
            source.problem_at(schema.span().start, "this gateway reads schema = 1; write that: schema = 1")
        );
    }
    if why.get_ref().trim().is_empty() {
        let problem = "why is empty; say in one sentence what this grant is for, e.g. why = \"saves what the user sent\"";
        return Err(source.problem_at(why.span().start, problem));
    }
    Ok(())
}

/// What to write where a field is missing.
fn line_for(field: &str) -> Option<&'static str> {
    Some(match field {
        "schema" => "schema = 1",
        "tool" => "tool = \"my_tool\"",
        "profile" => "profile = \"file-read-only\"",
        "component" => "component = \"builtin\"",
        "safety" => "safety = \"read-only\"",
        "why" => "why = \"saves what the user sent\"",
        "mounts" => "mounts = []",
        "guest" | "access" => "mounts = [ { guest = \"/shared\", access = \"read-only\" } ]",
        _ => return None,
    })
}
