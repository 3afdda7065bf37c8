//! Why edits were not made, for anyone who sends them again: which edit, how often and in which
//! lines its text is there, and what may be wrong with it. It never guesses what was meant.

use std::fmt::Write as _;

use cofferdam_sdk::{ErrorCode, ToolError};
use memchr::{memchr_iter, memmem};

use crate::edit::{COUNTED_MAX, Edit, TEXT_BYTES_MAX, Why};

/// Problems told in one message, which the host cuts at 2 KiB.
const PROBLEMS_MAX: usize = 5;

/// Lines named for one problem.
const LINES_MAX: usize = 8;

/// An edit that cannot be made.
pub(crate) struct Problem<'a> {
    /// Its position among the edits.
    pub(crate) index: usize,
    pub(crate) old_text: &'a str,
    pub(crate) why: Why,
}

/// Refuses edits that mean nothing in any file.
pub(crate) fn check(edits: &[Edit]) -> Result<(), ToolError> {
    let refused = |message| Err(ToolError::new(ErrorCode::InvalidArguments, message));
    for (index, edit) in edits.iter().enumerate() {
        if edit.old_text.is_empty() {
            return refused(format!(
                "edits[{index}].old_text is empty; give the text to replace. To add text, give what lies beside \
                 the place and repeat it in new_text, or use file_write with append=true"
            ));
        }
        if edit.old_text == edit.new_text {
            return refused(format!("edits[{index}] has the same old_text and new_text; leave it out"));
        }
    }
    Ok(())
}

/// What to tell of edits that cannot be made; `text` is the original with all the others.
pub(crate) fn of(problems: &[Problem<'_>], original: &[u8], text: &[u8], path: &str) -> ToolError {
    let mut message = String::from("Nothing was changed.");
    for problem in problems.iter().take(PROBLEMS_MAX) {
        let _ = write!(message, " {}.", told(problem, original, text));
    }
    if let Some(more @ 1..) = problems.len().checked_sub(PROBLEMS_MAX) {
        let _ = write!(message, " {more} more edits cannot be made either.");
    }
    let _ = write!(message, " The file: {path}");
    let too_long = problems.iter().all(|problem| matches!(problem.why, Why::TooLong(_)));
    ToolError::new(if too_long { ErrorCode::TooLarge } else { ErrorCode::InvalidArguments }, message)
}

fn told(Problem { index, old_text, why }: &Problem<'_>, original: &[u8], text: &[u8]) -> String {
    match why {
        Why::Absent => {
            format!("edits[{index}].old_text is not there (0 matches): {}", absent(old_text, original, text))
        }
        Why::Several(found) => {
            let count = match found.len() {
                COUNTED_MAX.. if found.len() > COUNTED_MAX => format!("more than {COUNTED_MAX}"),
                count => count.to_string(),
            };
            let after = if *index == 0 { "" } else { ", counted after the edits before it" };
            format!(
                "edits[{index}].old_text is there {count} times, in {}{after}: take in more of what surrounds the \
                 one that is meant, or pass all=true to replace every one",
                lines(text, found)
            )
        }
        Why::TooLong(length) => format!(
            "edits[{index}] would make the file {length} bytes long, and files up to {TEXT_BYTES_MAX} bytes (16 MiB) \
             are edited"
        ),
    }
}

/// What may be wrong with a text that is not there.
fn absent(old_text: &str, original: &[u8], text: &[u8]) -> String {
    let there = |wanted: &str| memmem::find(text, wanted.as_bytes()).is_some();
    if memmem::find(original, old_text.as_bytes()).is_some() {
        return "it was, until an edit before it changed it; each edit applies to what the ones before it left"
            .into();
    }
    let crlf = there("\r\n");
    if crlf && old_text.replace("\r\n", "").contains('\n') {
        return "the lines of this file end with CRLF, those of old_text with LF; write \\r\\n for each"
            .into();
    }
    if !crlf && old_text.contains("\r\n") {
        return "the lines of this file end with LF, those of old_text with CRLF; write \\n for each".into();
    }
    let Some(first) = old_text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return "it is white space only; read the file again for what it has".into();
    };
    if !there(first) {
        return "not even its first line is; read the file again, for it may have changed".into();
    }
    let found: Vec<usize> = memmem::find_iter(text, first).take(COUNTED_MAX + 1).collect();
    format!(
        "its first line is in {}, so the white space around it or what follows differs; copy it exactly",
        lines(text, &found)
    )
}

/// The lines of these offsets, counted from 1, e.g. `lines 3, 7 and 9`.
fn lines(text: &[u8], offsets: &[usize]) -> String {
    let (mut line, mut counted) = (1, 0);
    let of = |&at: &usize| {
        line += memchr_iter(b'\n', &text[std::mem::replace(&mut counted, at)..at]).count();
        line
    };
    let mut numbers: Vec<usize> = offsets.iter().map(of).collect();
    numbers.dedup();
    let shown: Vec<String> = numbers.iter().take(LINES_MAX).map(usize::to_string).collect();
    match shown.split_last() {
        _ if numbers.len() > LINES_MAX => format!("lines {} and further", shown.join(", ")),
        Some((last, [])) => format!("line {last}"),
        Some((last, rest)) => format!("lines {} and {last}", rest.join(", ")),
        None => "no line".into(),
    }
}

#[cfg(test)]
mod tests;
