//! Keeps a conversation short: what is older than the request and than a share of the bound is
//! summarized by the provider, and where that fails, left out. Only whole turns go, so a call is
//! never parted from its results; what is too long in the running turn is `shortening`'s.

use super::cost::{CostMeter, bytes, cost, count_wasted, tokens};
use super::instructions::{SUMMARIZE, SUMMARIZE_NOW};
use super::rounds::{EarlyEnd, Rounds};
use super::shortening::cut_results;
use super::{HistoryEntry, StepRequest, Stop, TokenUsage, words};
use cofferdam_warden::attachments::Attachments;

/// A longer summary is cut.
const SUMMARY_BYTES_MAX: usize = 16 << 10;

impl Rounds<'_> {
    /// Shortens the conversation if it is over its bound.
    pub(super) async fn shorten_if_long(&mut self) -> Result<(), EarlyEnd> {
        let bound = self.runner.turns.history_tokens;
        if !self.is_durable() || tokens(&self.conversation.entries) <= bound {
            return Ok(());
        }
        self.shorten(bound / 2).await?;
        let over = bytes_over(&self.conversation.entries, bound);
        self.cut_earlier_results(over);
        Ok(())
    }

    /// Shortens it to about `keep` tokens before the request. False when there is nothing to be
    /// shortened.
    pub(super) async fn shorten(&mut self, keep: u64) -> Result<bool, EarlyEnd> {
        let older = &self.conversation.entries[..self.conversation.start];
        let end = cut(older, keep);
        if end == 0 || (end == 1 && matches!(older[0], HistoryEntry::Summary { .. })) {
            return Ok(false);
        }
        let mut older = older[..end].to_vec();
        let over = bytes_over(&older, self.runner.turns.history_tokens);
        cut_results(&mut older, over);
        older.push(HistoryEntry::User {
            text: SUMMARIZE_NOW.into(),
            attachments: Attachments::default(),
            addendum: None,
        });
        let request = StepRequest { instructions: SUMMARIZE, conversation: &older, tools: &[] };
        let mut heard = CostMeter::default();
        let answered = self.ask_unless_stopped(request, &mut heard).await;
        self.conversation.spend(count_wasted(&older, &answered, &heard)).await?;
        let (text, spent) = match answered? {
            Ok(reply) => {
                let spent = cost(&older, &reply);
                // What a model says when it declines sums up nothing.
                let is_declined = reply.stop == Stop::Declined;
                (reply.text.filter(|text| !is_declined && !text.trim().is_empty()), spent)
            }
            Err(error) => {
                tracing::warn!(%error, "older messages are left out: they could not be summarized");
                (None, 0)
            }
        };
        let text = text.map_or_else(|| words::LEFT_OUT.to_owned(), truncate);
        self.conversation.summarize(end, HistoryEntry::Summary { text }, spent).await?;
        Ok(true)
    }
}

/// How many of the entries go so that about `keep` tokens stay; a turn begins after them, or the
/// request.
fn cut(entries: &[HistoryEntry], keep: u64) -> usize {
    let (mut begin, mut kept) = (entries.len(), 0);
    for (n, entry) in entries.iter().enumerate().rev() {
        kept += bytes(entry);
        if TokenUsage::estimate_tokens(kept) > keep {
            break;
        }
        if matches!(entry, HistoryEntry::User { .. }) {
            begin = n;
        }
    }
    begin
}

/// How many bytes the entries are over a bound in tokens.
fn bytes_over(entries: &[HistoryEntry], bound: u64) -> usize {
    let most = usize::try_from(TokenUsage::bytes(bound)).unwrap_or(usize::MAX);
    entries.iter().map(bytes).sum::<usize>().saturating_sub(most)
}

fn truncate(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(SUMMARY_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `u` a user's message, `a` a step, `r` a result, `s` a summary; 10 tokens each.
    fn entries(kinds: &str) -> Vec<HistoryEntry> {
        let text = "x".repeat(40);
        let entry = |kind: char| match kind {
            'u' => {
                HistoryEntry::User { text: text.clone(), attachments: Attachments::default(), addendum: None }
            }
            'a' => HistoryEntry::Assistant { text: Some(text.clone()), tool_calls: Vec::new() },
            'r' => HistoryEntry::ToolResult {
                call: "1".into(),
                tool: String::new(),
                result: Ok(1.into()),
                shown: text.clone(),
            },
            _ => HistoryEntry::Summary { text: text.clone() },
        };
        kinds.chars().map(entry).collect()
    }

    #[test]
    fn whole_turns_go_and_never_a_part_of_one() {
        let check = |kinds: &str, keep: u64, gone: &str| {
            let entries = entries(kinds);
            let end = cut(&entries, keep);
            assert_eq!(&kinds[..end], gone, "{kinds} {keep}");
            assert!(end == entries.len() || matches!(entries[end], HistoryEntry::User { .. }));
        };
        check("uarauara", 80, "");
        check("uarauara", 79, "uara");
        check("uarauara", 40, "uara");
        check("uarauara", 39, "uarauara");
        check("uarauara", 0, "uarauara");
        check("suarara", 60, "s");
        check("sua", 30, "s");
        check("", 0, "");
    }

    #[test]
    fn a_summary_is_bounded() {
        assert_eq!(truncate("é".repeat(SUMMARY_BYTES_MAX)).len(), SUMMARY_BYTES_MAX);
        assert_eq!(truncate("short".into()), "short");
    }
}
