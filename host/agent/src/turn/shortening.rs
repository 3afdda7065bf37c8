//! What a running turn has read, shortened where it is too much: results of tools are cut to their
//! heads, the oldest first, and the model is told in each. The newest step's results stay whole as
//! long as the model takes them: it has asked for them and not seen them yet.
//!
//! Nothing that a person or the model said is touched, and what is kept of the turn stays whole:
//! only what is sent is shorter. What came with the request is the last that is left out, and tools
//! have it all the same.

use super::cost::bytes;
use super::rounds::{EarlyEnd, Rounds};
use super::{HistoryEntry, untrusted};

/// What makes a conversation shorter that the model finds too long, in the order of trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shortening {
    /// Earlier turns are summarized.
    EarlierTurns,
    /// Results of the turn's earlier steps are cut.
    EarlierResults,
    /// All of its results are.
    AllResults,
    /// What came with the request is shown no more.
    Files,
}

impl Shortening {
    pub(super) const ALL: [Self; 4] =
        [Self::EarlierTurns, Self::EarlierResults, Self::AllResults, Self::Files];
}

impl Rounds<'_> {
    /// Takes one measure; false when it changes nothing.
    pub(super) async fn take_measure(&mut self, measure: Shortening) -> Result<bool, EarlyEnd> {
        match measure {
            Shortening::EarlierTurns => self.shorten(0).await,
            Shortening::EarlierResults => Ok(self.cut_earlier_results(usize::MAX) > 0),
            Shortening::AllResults => {
                let start = self.conversation.start;
                Ok(cut_results(&mut self.conversation.entries[start..], usize::MAX) > 0)
            }
            Shortening::Files => Ok(self.conversation.show_no_files()),
        }
    }

    /// Cuts results of the turn before its newest step until so many bytes are saved; returns how
    /// many are.
    pub(super) fn cut_earlier_results(&mut self, over: usize) -> usize {
        let start = self.conversation.start;
        let entries = &mut self.conversation.entries[start..];
        let newest = entries.iter().rposition(|entry| matches!(entry, HistoryEntry::Assistant { .. }));
        cut_results(&mut entries[..newest.unwrap_or(0)], over)
    }
}

/// Cuts results to their heads, the oldest first, until so many bytes are saved; returns how many
/// are.
pub(super) fn cut_results(entries: &mut [HistoryEntry], over: usize) -> usize {
    let mut saved = 0;
    for entry in entries {
        if saved >= over {
            break;
        }
        let before = bytes(entry);
        if let HistoryEntry::ToolResult { shown, .. } = entry
            && let Some(shorter) = untrusted::wrap_head(shown)
        {
            *shown = shorter;
            saved += before - bytes(entry);
        }
    }
    saved
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn result(content: &str) -> HistoryEntry {
        let shown = untrusted::wrap_whole("t", &json!({ "content": content })).expect("short enough");
        HistoryEntry::ToolResult { call: "1".into(), tool: "t".into(), result: Ok(Value::Null), shown }
    }

    #[test]
    fn the_oldest_are_cut_and_no_more_than_is_needed() {
        let whole = || [result("short"), result(&"a".repeat(9000)), result(&"b".repeat(9000))];
        let check = |over: usize, cut: [bool; 3]| {
            let mut entries = whole();
            let before: usize = entries.iter().map(bytes).sum();
            let saved = cut_results(&mut entries, over);
            assert_eq!(before - entries.iter().map(bytes).sum::<usize>(), saved);
            let is_cut = entries.iter().zip(whole()).map(|(now, then)| bytes(now) != bytes(&then));
            assert_eq!(is_cut.collect::<Vec<_>>(), cut, "{over}");
            assert!(cut == [false, true, true] || saved >= over);
            assert_eq!(cut_results(&mut entries, 0), 0);
        };
        check(0, [false; 3]);
        check(1, [false, true, false]);
        check(9000, [false, true, true]);
        check(usize::MAX, [false, true, true]);
        let mut entries = whole();
        cut_results(&mut entries, usize::MAX);
        assert_eq!(cut_results(&mut entries, usize::MAX), 0, "what is cut is not cut again");
    }
}
