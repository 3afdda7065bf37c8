//! What was said and done, in memory.

use super::*;

#[async_trait]
impl HistoryStore for Memory {
    async fn lines(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<HistoryLine>, StoreError> {
        let held = self.held();
        let (mut lines, mut loaded) = (Vec::new(), 0);
        for Spoken { line, .. } in held.lines.iter().rev().filter(|spoken| spoken.session == session.as_str())
        {
            loaded += if line.turn == *turn { 0 } else { line.body.len() };
            if loaded > LOADED_BYTES_MAX {
                break;
            }
            lines.push(line.clone());
        }
        lines.reverse();
        Ok(lines)
    }

    async fn add_line(
        &self,
        whose: &WhoseTurn,
        n: usize,
        body: String,
        tokens: u64,
    ) -> Result<(), StoreError> {
        self.held().add_line(whose, n, body, tokens);
        Ok(())
    }

    async fn replace_lines(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        body: String,
        tokens: u64,
    ) -> Result<(), StoreError> {
        let mut held = self.held();
        let session = whose.session.as_str();
        let of = |spoken: &Spoken| spoken.session == session;
        let begins = |spoken: &Spoken| of(spoken) && spoken.line.turn == *kept_from;
        let Some(first) = held.lines.iter().position(begins) else { return Ok(()) };
        let Some(last) = held.lines[..first].iter().rposition(of) else { return Ok(()) };
        held.lines[last].line = HistoryLine { turn: TurnId::new(format!("{session}#{last}")), body };
        let mut at = 0;
        held.lines.retain(|spoken| {
            at += 1;
            !of(spoken) || at > last
        });
        held.charge(&whose.caller, tokens, 0);
        Ok(())
    }

    async fn forget_lines(&self, session: &SessionId) -> Result<(), StoreError> {
        let mut held = self.held();
        held.lines.retain(|spoken| spoken.session != session.as_str());
        held.release(&outbox::key(&BlobHolder::Retry(session.clone())));
        Ok(())
    }
}

#[async_trait]
impl UsageStore for Memory {
    async fn load_usage(&self, caller: &Caller, now: i64) -> Result<UsedToday, StoreError> {
        let held = self.held();
        let found = held.used.iter().find(|(day, who, _)| (*day, who) == (now / DAY_MS, caller));
        Ok(found.map(|(_, _, used)| *used).unwrap_or_default())
    }
}

impl Journal for Memory {
    fn load_earlier(&self, call: &str, arguments_sha256: &str) -> Result<JournalState, JournalError> {
        let (held, turn) = (self.held(), turn_of(call));
        let same = held.calls.get(call).filter(|called| called.arguments_sha256 == arguments_sha256);
        let others = held.calls.iter().filter(|(other, _)| *other != call && turn_of(other) == turn);
        let written_bytes: u64 = others.map(|(_, called)| called.bytes).sum();
        Ok(JournalState { answer: same.map(|called| called.answer.clone()), written_bytes })
    }

    fn record(
        &self,
        call: &str,
        arguments_sha256: &str,
        answer: &ToolAnswer,
        bytes: u64,
    ) -> Result<(), JournalError> {
        let mut held = self.held();
        let before = held.calls.get(call).map_or(0, |called| called.bytes);
        if let Some((caller, ..)) = held.attempts.get(turn_of(call)).cloned() {
            held.charge(&caller, 0, bytes.cast_signed() - before.cast_signed());
        }
        held.hold(turn_of(call), &answer.attachments);
        if let Some(delivery) = &answer.delivery {
            held.hold(turn_of(call), &delivery.attachments);
        }
        let (arguments_sha256, answer) = (arguments_sha256.to_owned(), answer.clone());
        held.calls.insert(call.to_owned(), Called { arguments_sha256, answer, bytes, at: now_ms() });
        Ok(())
    }

    fn deliver(&self, call: &str, delivery: &Delivery) -> Result<(), JournalError> {
        if !self.is_delivered(call)? {
            let mut held = self.held();
            held.hold(delivery.request.as_str(), &delivery.attachments);
            held.deliveries.push((call.to_owned(), delivery.clone(), now_ms()));
        }
        Ok(())
    }

    fn is_delivered(&self, call: &str) -> Result<bool, JournalError> {
        Ok(self.held().deliveries.iter().any(|(of, ..)| of == call))
    }
}

pub(super) fn turn_of(call: &str) -> &str {
    call.rsplit_once('/').map_or(call, |(turn, _)| turn)
}
