//! Makes a loaded conversation one that a provider takes: it begins with somebody's words, and each
//! call of an earlier turn has its one result. The turn that runs is left as it is: its calls are
//! still to be run.

use super::{EntryExtras, KeptHistory};
use crate::turn::{HistoryEntry, ToolCall};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::collections::VecDeque;

/// The entries, mended. Results without a call go, as does what a model said before anybody spoke;
/// calls of earlier turns without a result are answered as not run, or as cut off.
pub(in crate::turn) fn mend(kept: Vec<KeptHistory>, running: &TurnId) -> Vec<KeptHistory> {
    let mut sound: Vec<KeptHistory> = Vec::with_capacity(kept.len());
    let mut open = OpenCalls::default();
    for entry in kept {
        if let HistoryEntry::ToolResult { call, .. } = &entry.entry {
            if open.calls.front().is_some_and(|asked| asked.id == *call) {
                open.calls.pop_front();
                sound.push(entry);
            }
            continue;
        }
        open.close(&mut sound);
        if let HistoryEntry::Assistant { tool_calls, .. } = &entry.entry {
            if sound.is_empty() {
                continue;
            }
            let (turn, left_out) = (Some(entry.turn.clone()), entry.besides.left_out);
            open = OpenCalls { turn, calls: tool_calls.clone().into(), left_out };
        }
        sound.push(entry);
    }
    if open.turn.as_ref() != Some(running) {
        open.close(&mut sound);
    }
    sound
}

/// Calls that have no result yet.
#[derive(Default)]
struct OpenCalls {
    turn: Option<TurnId>,
    calls: VecDeque<ToolCall>,
    /// Calls of the same step that are not even in the conversation.
    left_out: usize,
}

impl OpenCalls {
    fn close(&mut self, sound: &mut Vec<KeptHistory>) {
        // Calls that change something run one after the other: none but the first may have begun.
        let mut may_have_begun = true;
        while let Some(call) = self.calls.pop_front() {
            let Some(turn) = self.turn.clone() else { continue };
            let why = match self.left_out {
                0 => "its turn was given up".to_owned(),
                more => format!("its turn was given up, and so were {more} further calls of this step"),
            };
            let entry = if may_have_begun { cut_off_result(call, &why) } else { not_run_result(call, &why) };
            may_have_begun = false;
            sound.push(KeptHistory { turn, entry, besides: EntryExtras::default(), asker: None });
        }
    }
}

/// The result of a call that never ran.
pub(in crate::turn) fn not_run_result(call: ToolCall, why: &str) -> HistoryEntry {
    cancelled_result(call, format!("this call was not run: {why}"))
}

/// The result of a call of which nobody knows any more how far it came: what it had published or
/// sent when its turn was stopped is not taken back.
fn cut_off_result(call: ToolCall, why: &str) -> HistoryEntry {
    let said = format!(
        "this call was cut off, or not run: {why}; find out what it may have changed or sent before you make it again"
    );
    cancelled_result(call, said)
}

fn cancelled_result(call: ToolCall, said: String) -> HistoryEntry {
    let error = ToolError::new(ErrorCode::Cancelled, said);
    let shown = crate::turn::untrusted::error(&call.tool, &error);
    HistoryEntry::ToolResult { call: call.id, tool: call.tool, result: Err(error), shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(turn: &str, entry: HistoryEntry) -> KeptHistory {
        KeptHistory { turn: TurnId::new(turn), entry, besides: EntryExtras::default(), asker: None }
    }

    fn user(turn: &str) -> KeptHistory {
        kept(turn, HistoryEntry::User { text: "u".into(), attachments: Default::default(), addendum: None })
    }

    fn asks(turn: &str, ids: &[&str]) -> KeptHistory {
        let call = |id: &&str| ToolCall { id: (*id).into(), tool: "t".into(), arguments: Ok("{}".into()) };
        kept(turn, HistoryEntry::Assistant { text: None, tool_calls: ids.iter().map(call).collect() })
    }

    fn result(turn: &str, id: &str) -> KeptHistory {
        let (call, tool) = (id.into(), "t".into());
        kept(turn, HistoryEntry::ToolResult { call, tool, result: Ok(1.into()), shown: "1".into() })
    }

    /// Each entry as a letter: user, assistant, result, result of a call that was not run.
    fn check(entries: Vec<KeptHistory>, expected: &str) {
        let letter = |kept: &KeptHistory| match &kept.entry {
            HistoryEntry::User { .. } | HistoryEntry::Task { .. } | HistoryEntry::Steer { .. } => 'u',
            HistoryEntry::Assistant { .. } => 'a',
            HistoryEntry::ToolResult { result: Ok(_), .. } => 'r',
            HistoryEntry::ToolResult { .. } => 'x',
            HistoryEntry::Summary { .. } => 's',
        };
        let found: String = mend(entries, &TurnId::new("now")).iter().map(letter).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_call_of_an_earlier_turn_has_its_result() {
        check(
            vec![user("1"), asks("1", &["a", "b"]), result("1", "a"), result("1", "b"), asks("1", &[])],
            "uarra",
        );
        check(vec![user("1"), asks("1", &["a", "b"]), result("1", "a"), user("now")], "uarxu");
        check(vec![user("1"), asks("1", &["a"])], "uax");
        check(vec![user("1"), asks("1", &["a"]), result("1", "z"), result("1", "a")], "uar");
        check(vec![asks("1", &["a"]), result("1", "a"), user("2")], "u");
        check(vec![result("1", "a"), user("2"), asks("2", &[])], "ua");
    }

    #[test]
    fn what_may_have_begun_is_not_told_as_not_run() {
        let sound = mend(vec![user("1"), asks("1", &["a", "b", "c"]), result("1", "a")], &TurnId::new("now"));
        let told = |kept: &KeptHistory| match &kept.entry {
            HistoryEntry::ToolResult { shown, .. } => {
                shown.contains("find out what it may have changed or sent")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(sound[3..].iter().map(told).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn what_was_left_out_of_a_step_that_is_given_up_is_told() {
        let mut step = asks("1", &["a", "b"]);
        step.besides.left_out = 8;
        let sound = mend(vec![user("1"), step, result("1", "a")], &TurnId::new("now"));
        let HistoryEntry::ToolResult { shown, .. } = &sound[3].entry else { panic!("{sound:?}") };
        assert!(shown.contains("and so were 8 further calls of this step"), "{shown}");
    }

    #[test]
    fn calls_of_the_turn_that_runs_wait_to_be_run() {
        check(vec![user("now"), asks("now", &["a", "b"]), result("now", "a")], "uar");
        check(vec![user("1"), asks("1", &["a"]), user("now"), asks("now", &["b"])], "uaxua");
    }
}
