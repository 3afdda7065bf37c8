//! Calls that fail the same way again and again: a model that has not understood an error repeats itself.

use super::{Entry, ToolCall};
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::collections::VecDeque;

/// After so many failures of one kind the same call is not run any more, and its caller told so.
const FAILURES_MAX: usize = 2;

/// What becomes of a call that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It is run.
    Run,
    /// It is not run: this is its result.
    Refuse(ToolError),
    /// It was refused already: nothing will come of this turn.
    Stop(ErrorCode),
}

/// What becomes of a call after these entries.
pub(super) fn again(entries: &[Entry], wanted: &ToolCall) -> Again {
    let failures = failures(entries, wanted);
    let Some(last) = failures.last() else { return Again::Run };
    let count = failures.iter().filter(|error| error.code == last.code).count();
    match count {
        0..FAILURES_MAX => Again::Run,
        FAILURES_MAX => {
            let message = format!(
                "this very call has failed {count} times the same way, so it was not run again; change its \
                 arguments, take another way, or tell the user. It failed with: {}",
                last.message
            );
            Again::Refuse(ToolError::new(last.code, message))
        }
        _ => Again::Stop(last.code),
    }
}

/// The errors that calls of the same tool with the same arguments had, in order.
fn failures<'a>(entries: &'a [Entry], wanted: &ToolCall) -> Vec<&'a ToolError> {
    let same = |call: &ToolCall| call.tool == wanted.tool && call.arguments == wanted.arguments;
    let (mut open, mut found) = (VecDeque::new(), Vec::new());
    for entry in entries {
        match entry {
            Entry::Assistant { tool_calls, .. } => open = tool_calls.iter().collect(),
            Entry::ToolResult { result, .. } => {
                if let (Some(call), Err(error)) = (open.pop_front(), result)
                    && same(call)
                {
                    found.push(error);
                }
            }
            // What a person says may change what comes of a call.
            Entry::Steer { .. } => found.clear(),
            Entry::User { .. } | Entry::Summary { .. } => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: &str) -> ToolCall {
        ToolCall { id: "1".into(), tool: "file_read".into(), arguments: Ok(path.into()) }
    }

    /// One step for each path, failing with the code or not.
    fn after(steps: &[(&str, Option<ErrorCode>)]) -> Again {
        let step = |(path, code): &(&str, Option<ErrorCode>)| {
            let result = code.map_or(Ok(1.into()), |code| Err(ToolError::new(code, "why")));
            let (id, tool, shown) = ("1".to_owned(), "file_read".to_owned(), String::new());
            [
                Entry::Assistant { text: None, tool_calls: vec![call(path)] },
                Entry::ToolResult { call: id, tool, result, shown },
            ]
        };
        again(&steps.iter().flat_map(step).collect::<Vec<_>>(), &call("a"))
    }

    #[test]
    fn the_third_time_is_told_and_the_fourth_ends_the_turn() {
        let (missing, denied) = (Some(ErrorCode::NotFound), Some(ErrorCode::PathDenied));
        for steps in [
            &[][..],
            &[("a", missing)],
            &[("a", None), ("a", None), ("a", None)],
            &[("a", missing), ("b", missing), ("b", missing)],
            &[("a", missing), ("a", denied)],
        ] {
            assert_eq!(after(steps), Again::Run, "{steps:?}");
        }
        let Again::Refuse(error) = after(&[("a", missing), ("b", denied), ("a", missing)]) else {
            panic!("it runs")
        };
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.message.starts_with("this very call has failed 2 times"), "{error}");
        assert_eq!(after(&[("a", missing); 3]), Again::Stop(ErrorCode::NotFound));
    }
}
