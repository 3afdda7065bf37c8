//! Calls that fail the same way repeatedly: a model that has not understood an error repeats
//! itself.

use super::{HistoryEntry, ToolCall};
use cofferdam_core::json::parse_strict;
use cofferdam_core::tool::{ErrorCode, ToolError, wire_name};
use std::collections::VecDeque;

/// After so many failures of one kind the same call is not run any more, and its caller told so.
const FAILURES_MAX: usize = 2;

/// Longer arguments are compared as text: a step may bring many, and each is held against many.
const COMPARED_BYTES_MAX: usize = 16 << 10;

/// What becomes of a call that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepeatDecision {
    /// It is run.
    Run,
    /// It is not run: this is its result.
    Refuse(ToolError),
    /// It was refused already: nothing will come of this turn.
    Stop(ErrorCode),
}

/// What becomes of a call after these entries of its turn.
pub(super) fn decide_repeat<'a>(
    entries: impl IntoIterator<Item = &'a HistoryEntry>,
    wanted: &ToolCall,
) -> RepeatDecision {
    let failures = failures(entries, wanted);
    let Some(last) = failures.last() else { return RepeatDecision::Run };
    let count = failures.iter().filter(|error| error.code == last.code).count();
    match count {
        0..FAILURES_MAX => RepeatDecision::Run,
        FAILURES_MAX => {
            let message = format!(
                "this very call has failed {count} times the same way, so it was not run again; change its \
                 arguments, take another way, or tell the user. It failed with: {}",
                last.message
            );
            RepeatDecision::Refuse(ToolError::new(last.code, message))
        }
        _ => RepeatDecision::Stop(last.code),
    }
}

/// The errors that calls of the same tool with the same arguments had, in order.
fn failures<'a>(
    entries: impl IntoIterator<Item = &'a HistoryEntry>,
    wanted: &ToolCall,
) -> Vec<&'a ToolError> {
    let (mut open, mut found) = (VecDeque::new(), Vec::new());
    for entry in entries {
        match entry {
            HistoryEntry::Assistant { tool_calls, .. } => open = tool_calls.iter().collect(),
            HistoryEntry::ToolResult { result, .. } => {
                // What was stopped before it ran has not failed.
                if let (Some(call), Err(error)) = (open.pop_front(), result)
                    && error.code != ErrorCode::Cancelled
                    && is_same(call, wanted)
                {
                    found.push(error);
                }
            }
            // What a person says may change what comes of a call.
            HistoryEntry::Steer { .. } => found.clear(),
            HistoryEntry::User { .. } | HistoryEntry::Task { .. } | HistoryEntry::Summary { .. } => {}
        }
    }
    found
}

/// Whether two calls ask for the same, however it is written: neither a dotted name, nor the order
/// of keys, nor the blanks between them make another call. What is no JSON, names a key twice or is
/// long is compared as text.
pub(super) fn is_same(one: &ToolCall, other: &ToolCall) -> bool {
    if wire_name(&one.tool) != wire_name(&other.tool) {
        return false;
    }
    let read = |call: &ToolCall| {
        let text = call.arguments.as_ref().ok().filter(|text| text.len() <= COMPARED_BYTES_MAX)?;
        parse_strict(text).ok()
    };
    one.arguments == other.arguments || read(one).is_some_and(|arguments| read(other) == Some(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: &str) -> ToolCall {
        ToolCall { id: "1".into(), tool: "file_read".into(), arguments: Ok(path.into()) }
    }

    /// One step for each path, failing with the code or not.
    fn after(steps: &[(&str, Option<ErrorCode>)]) -> RepeatDecision {
        let step = |(path, code): &(&str, Option<ErrorCode>)| {
            let result = code.map_or(Ok(1.into()), |code| Err(ToolError::new(code, "why")));
            let (id, tool, shown) = ("1".to_owned(), "file_read".to_owned(), String::new());
            [
                HistoryEntry::Assistant { text: None, tool_calls: vec![call(path)] },
                HistoryEntry::ToolResult { call: id, tool, result, shown },
            ]
        };
        decide_repeat(&steps.iter().flat_map(step).collect::<Vec<_>>(), &call("a"))
    }

    #[test]
    fn a_call_is_the_same_however_it_is_written() {
        let made = |tool: &str, arguments: &str| ToolCall {
            id: arguments.len().to_string(),
            tool: tool.into(),
            arguments: Ok(arguments.into()),
        };
        let one = made("file_read", r#"{"path":"/shared/a","offset":0,"in":{"x":1,"y":[1,2]}}"#);
        let check = |tool: &str, arguments: &str, same: bool| {
            let other = made(tool, arguments);
            assert_eq!((is_same(&one, &other), is_same(&other, &one)), (same, same), "{tool} {arguments}");
        };
        check("file_read", r#" { "in" : {"y":[1, 2], "x":1}, "offset":0,"path":"\u002fshared/a" }"#, true);
        check("file.read", r#"{"path":"/shared/a","offset":0,"in":{"x":1,"y":[1,2]}}"#, true);
        check("file_info", r#"{"path":"/shared/a","offset":0,"in":{"x":1,"y":[1,2]}}"#, false);
        check("file_read", r#"{"path":"/shared/a","offset":0,"in":{"x":1,"y":[2,1]}}"#, false);
        check("file_read", r#"{"path":"/shared/A","offset":0,"in":{"x":1,"y":[1,2]}}"#, false);
        check(
            "file_read",
            r#"{"path":"/shared/a","path":"/shared/a","offset":0,"in":{"x":1,"y":[1,2]}}"#,
            false,
        );
        let cut = |text: &str| made("file_read", text);
        let long =
            |blank: &str| cut(&format!("{{\"a\":{blank}\"{}\"}}", "x".repeat(COMPARED_BYTES_MAX - 20)));
        assert!(is_same(&long(""), &long(" ")) && !is_same(&long(""), &long(&" ".repeat(20))));
        assert!(is_same(&cut("{\"a\":"), &cut("{\"a\":")) && !is_same(&cut("{\"a\":"), &cut("{ \"a\":")));
        let mut lost = cut("{}");
        lost.arguments = Err(cofferdam_core::arguments::BadArguments::CutOff);
        assert!(is_same(&lost, &lost.clone()) && !is_same(&lost, &cut("{}")));
    }

    #[test]
    fn the_third_time_is_told_and_the_fourth_ends_the_turn() {
        let (missing, denied) = (Some(ErrorCode::NotFound), Some(ErrorCode::PathDenied));
        let stopped = Some(ErrorCode::Cancelled);
        for steps in [
            &[][..],
            &[("a", missing)],
            &[("a", None), ("a", None), ("a", None)],
            &[("a", missing), ("b", missing), ("b", missing)],
            &[("a", missing), ("a", denied)],
            &[("a", stopped), ("a", stopped), ("a", stopped)],
        ] {
            assert_eq!(after(steps), RepeatDecision::Run, "{steps:?}");
        }
        let RepeatDecision::Refuse(error) = after(&[("a", missing), ("b", denied), ("a", missing)]) else {
            panic!("it runs")
        };
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.message.starts_with("this very call has failed 2 times"), "{error}");
        assert_eq!(after(&[("a", missing); 3]), RepeatDecision::Stop(ErrorCode::NotFound));
    }
}
