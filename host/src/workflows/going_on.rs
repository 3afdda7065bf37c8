//! Requests that go on: a run that a turn began waits in the database alone; once somebody has
//! replied, or the time is over, its request is in the inbox again, once.

use super::in_turn::BeganInTurn;
use super::serving::WorkflowService;
use cofferdam_chat::runs::{ResumedTurn, Served};
use cofferdam_core::audit::{WorkflowState, sha256_hex};
use cofferdam_core::id::{Caller, SessionId};
use cofferdam_core::limits::TimeSpan;
use cofferdam_store::{DueWait, GoingOn, KeptRun, StoreError, now_ms};
use serde_json::{Value, json};
use std::time::Duration;

impl WorkflowService {
    /// Has requests go on whose wait is over, and ends what nobody goes on with.
    pub(super) async fn look_at_turns(&self) -> Result<(), StoreError> {
        for due in self.0.store.due_waits(now_ms()).await? {
            if let Some(kept) = self.0.store.load_run(&due.run).await? {
                self.go_on(&kept, due).await?;
            }
        }
        let ended = self.0.store.end_idle_turn_runs(now_ms()).await?;
        self.note_ends(ended).await
    }

    /// Has one request go on, once its channel is up.
    async fn go_on(&self, kept: &KeptRun, due: DueWait) -> Result<(), StoreError> {
        let by = &kept.new.by;
        let Some(messenger) = self.0.runs.messenger(&by.channel) else {
            let may_come_up = self.0.runs.may_come_up(&by.channel);
            return if may_come_up { Ok(()) } else { self.put_off(kept).await };
        };
        let (Some(to), Ok(began)) = (&kept.new.answer_to, BeganInTurn::from_kept(kept)) else {
            tracing::error!(run = due.run, "what was kept of a run is unreadable");
            return self.cancel(kept, None).await;
        };
        match messenger.served(&by.sender) {
            Served::No if began.was_served => {
                // Nothing is done any more for somebody who was taken away.
                tracing::info!(run = due.run, "a run is cancelled: who began it is not served any more");
                return self.cancel(kept, None).await;
            }
            // The next look knows more.
            Served::Unknown if began.was_served => return Ok(()),
            Served::Yes | Served::No | Served::Unknown => {}
        }
        if messenger.channel() != to.channel {
            return self.put_off(kept).await;
        }
        let reply = due.reply.as_deref().map(|text| serde_json::from_str::<Value>(text).unwrap_or_default());
        let session = SessionId::new(began.begun.trigger["session"].as_str().unwrap_or_default());
        let update_id = update_id(&due);
        let patience = Duration::from_millis(u64::try_from(due.patience).unwrap_or(0));
        let resumed = ResumedTurn {
            run: due.run.clone(),
            request: began.request,
            target: to.target.clone(),
            sender: by.sender.clone(),
            summary: began.summary,
            from: due.from.clone(),
            patience: TimeSpan(patience).to_string(),
            reply: reply.clone(),
            files: due.files,
        };
        let going = GoingOn {
            run: due.run.clone(),
            task: due.task,
            reply: due.reply,
            output: reply.unwrap_or_else(|| json!({ "timed_out": true })).to_string(),
            channel: to.channel.clone(),
            session: session.clone(),
            sender: by.sender.clone(),
            update_id,
            raw: resumed.to_raw(),
        };
        let is_late = going.reply.is_none();
        if self.0.store.go_on(going).await? {
            let replied = Caller::parse(&due.from).filter(|_| !is_late);
            self.note(kept, WorkflowState::Resumed, replied.as_ref());
            messenger.arrive().await;
        }
        Ok(())
    }

    /// Leaves a request whose place is not configured for when it is again. One that has had its
    /// time ends: it would be open for ever, and so many are open at once.
    async fn put_off(&self, kept: &KeptRun) -> Result<(), StoreError> {
        if self.current_executor().is_late(kept).is_none() {
            return Ok(());
        }
        tracing::info!(run = kept.new.run, "a run is cancelled: its channel is not configured any more");
        self.cancel(kept, None).await
    }
}

/// The number in the inbox of a request that goes on: below zero, where no platform's is, and the
/// same for the same wait.
fn update_id(due: &DueWait) -> i64 {
    let digest = sha256_hex(format!("{}/{}", due.run, due.task).as_bytes());
    let number = i64::from_str_radix(&digest[..13], 16).unwrap_or(0);
    -1 - number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_one_number_and_no_platforms() {
        let due = |run: &str, task| DueWait {
            run: run.into(),
            task,
            from: "telegram:2".into(),
            patience: 0,
            reply: None,
            files: None,
        };
        let all = [due("turn-1", 0), due("turn-1", 1), due("turn-2", 0)].map(|due| update_id(&due));
        assert!(all.iter().all(|id| *id < 0), "{all:?}");
        assert!(all[0] != all[1] && all[0] != all[2] && all[0] == update_id(&due("turn-1", 0)));
    }
}
