//! What a turn costs in tokens: as the server says, or about what was read and written where it
//! does not say, since a budget that counts nothing is none.
//!
//! What never became a step costs as well, whether it broke off or was stopped: a server that
//! always breaks off is no way around a budget, and neither is stopping in time. What had come when
//! the gateway was killed is nowhere written down, and is not charged: the turn asks again, so
//! often as it may begin.

use super::rounds::EarlyEnd;
use super::{
    Delta, HistoryEntry, ProviderError, StepListener, StepReply, TaskAttachments, TokenUsage, ToolCall,
    TurnStep,
};
use cofferdam_core::secret::Redactor;
use std::sync::Arc;

/// Tokens that a step has cost.
pub(super) fn cost(asked: &[HistoryEntry], reply: &StepReply) -> u64 {
    match reply.usage.input_tokens.saturating_add(reply.usage.output_tokens) {
        0 => {
            tokens(asked) + TokenUsage::estimate_tokens(count_bytes(reply.text.as_deref(), &reply.tool_calls))
        }
        told => told,
    }
}

/// Tokens that were spent on an answer which is none.
pub(super) fn count_wasted(
    asked: &[HistoryEntry],
    answered: &Result<Result<StepReply, ProviderError>, EarlyEnd>,
    heard: &CostMeter,
) -> u64 {
    let usage = match (answered, heard.spent) {
        (Ok(Err(ProviderError::BrokeOff { usage, .. })), _) => *usage,
        // Stopped while it was answering, or refused when something had been counted already.
        (Err(_) | Ok(Err(_)), Some(spent)) => spent,
        _ => return 0,
    };
    let read = if usage.input_tokens == 0 { tokens(asked) } else { usage.input_tokens };
    read.saturating_add(usage.output_tokens)
}

/// About how many tokens the entries are to a model.
pub(super) fn tokens(entries: &[HistoryEntry]) -> u64 {
    TokenUsage::estimate_tokens(entries.iter().map(bytes).sum())
}

/// Bytes of an entry that a model is shown.
pub(super) fn bytes(entry: &HistoryEntry) -> usize {
    match entry {
        HistoryEntry::User { text, addendum, .. } | HistoryEntry::Steer { text, addendum, .. } => {
            text.len() + addendum.as_ref().map_or(0, String::len)
        }
        HistoryEntry::Task { prompt, list, shown, .. } => {
            let texts = shown.iter().map(|shown| match shown {
                TaskAttachments::Text(text) | TaskAttachments::ImageAt(text) => text.len(),
                TaskAttachments::Attachment(_) => 0,
            });
            prompt.len() + list.as_ref().map_or(0, String::len) + texts.sum::<usize>()
        }
        HistoryEntry::Assistant { text, tool_calls } => count_bytes(text.as_deref(), tool_calls),
        HistoryEntry::ToolResult { tool, shown, .. } => tool.len() + shown.len(),
        HistoryEntry::Summary { text } => text.len(),
    }
}

fn count_bytes(text: Option<&str>, calls: &[ToolCall]) -> usize {
    let calls = calls.iter().map(|call| call.tool.len() + call.arguments.as_ref().map_or(0, String::len));
    text.map_or(0, str::len) + calls.sum::<usize>()
}

/// Hears what the provider says while it says it, hands it on, and notes what it costs.
#[derive(Default)]
pub(super) struct CostMeter {
    /// Who is shown it.
    to: Option<Arc<dyn StepListener>>,
    /// Absent until anything has come.
    spent: Option<TokenUsage>,
    /// Nobody is shown a secret of the gateway's own, not even until the rest has come.
    redactor: Redactor,
}

impl CostMeter {
    /// Hands it on to somebody.
    pub(super) fn by(progress: Arc<dyn StepListener>) -> Self {
        Self { to: Some(progress), ..Self::default() }
    }

    /// Hands on what was held back, once all has come.
    pub(super) fn end(&mut self) {
        let rest = self.redactor.rest();
        self.hand_on(rest);
    }

    fn hand_on(&self, text: String) {
        if let Some(progress) = self.to.as_ref().filter(|_| !text.is_empty()) {
            progress.step(TurnStep::Text(text));
        }
    }

    /// Takes a part of the answer.
    pub(super) fn take(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => {
                let shown = self.redactor.take(&text);
                self.hand_on(shown);
            }
            Delta::Spent(spent) => self.spent = Some(spent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_warden::attachments::Attachments;

    #[test]
    fn what_brought_nothing_is_paid_for_once_it_was_spoken() {
        let text = "x".repeat(400);
        let asked = [HistoryEntry::User { text, attachments: Attachments::default(), addendum: None }];
        let check = |input_tokens, output_tokens, expected: u64| {
            let usage = TokenUsage { input_tokens, output_tokens };
            let broke_off = Ok(Err(ProviderError::BrokeOff { said: "half".into(), usage }));
            assert_eq!(count_wasted(&asked, &broke_off, &CostMeter::default()), expected, "{usage:?}");
        };
        check(0, 0, 100);
        check(0, 5, 105);
        check(7, 5, 12);
        check(u64::MAX, 5, u64::MAX);
        let mut heard = CostMeter::default();
        let stopped = || Err(EarlyEnd::Open("stopped".into()));
        assert_eq!(count_wasted(&asked, &stopped(), &heard), 0, "nobody had answered");
        for (input_tokens, output_tokens, expected) in [(0, 0, 100), (0, 10, 110), (7, 10, 17)] {
            heard.take(Delta::Spent(TokenUsage { input_tokens, output_tokens }));
            assert_eq!(count_wasted(&asked, &stopped(), &heard), expected, "the newest counts");
        }
        assert_eq!(
            count_wasted(&asked, &Ok(Ok(StepReply::default())), &heard),
            0,
            "a step is paid for as one"
        );
        let down = Ok(Err(ProviderError::Unavailable("down".into())));
        assert_eq!(count_wasted(&asked, &down, &CostMeter::default()), 0);
        assert_eq!(count_wasted(&asked, &down, &heard), 17, "the server had counted before");
    }
}
