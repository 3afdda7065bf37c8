//! Schedules: what is due begins a run for the person whom its file names, while they are served.

use super::{OfferedWorkflow, StartRefusal, WorkflowService};
use cofferdam_chat::runs::{PrivateChat, SendError, Served};
use cofferdam_core::id::Caller;
use cofferdam_store::{AnswerTo, StoreError, now_ms};
use cofferdam_workflow::schedule;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A platform gets so long to say where somebody is written to: everything else that `serve` looks
/// after waits meanwhile.
const OPENING_MAX: Duration = Duration::from_secs(5);
/// How long after a failure a person is tried again.
const AGAIN: Duration = Duration::from_secs(15);

/// What one look at the schedules leaves for the next.
#[derive(Default)]
pub(super) struct ScheduleNotes {
    /// The workflows of which was said that they begin nothing, which is once and not every minute.
    unserved: BTreeSet<String>,
    /// Those that could not begin for now, such as where their person was not reached, and when.
    failed: BTreeMap<String, Instant>,
}

impl ScheduleNotes {
    /// Says that a workflow begins nothing, unless that was said.
    fn tell(&mut self, workflow: &str, why: &str) {
        if self.unserved.insert(workflow.to_owned()) {
            tracing::warn!(workflow, "its schedule begins nothing: {why}");
        }
    }

    /// What opening the chat of a workflow's person comes to; why it never does where that is so.
    /// None where it is tried again at a later look. What has just failed is not tried.
    async fn open(
        &mut self,
        workflow: &str,
        opening: impl Future<Output = Result<PrivateChat, SendError>>,
    ) -> Option<Result<PrivateChat, String>> {
        if self.failed.get(workflow).is_some_and(|failed| failed.elapsed() < AGAIN) {
            return None;
        }
        let late = |_| Err(SendError::Unreachable("its platform does not answer".to_owned()));
        match timeout(OPENING_MAX, opening).await.unwrap_or_else(late) {
            Ok(private) => {
                self.unserved.remove(workflow);
                self.failed.remove(workflow);
                Some(Ok(private))
            }
            Err(error @ (SendError::Refused(_) | SendError::Gone(_))) => Some(Err(error.to_string())),
            Err(error) => {
                tracing::warn!(why = %error, workflow, "who is answered cannot be reached; trying again");
                self.leave_for_later(workflow);
                None
            }
        }
    }

    /// Has a workflow tried again after a pause.
    fn leave_for_later(&mut self, workflow: &str) {
        self.failed.insert(workflow.to_owned(), Instant::now());
    }
}

impl WorkflowService {
    /// Forgets the schedules of files that are not offered any more: one that comes back has missed
    /// nothing meanwhile.
    pub(super) async fn forget_removed_schedules(&self) -> Result<(), StoreError> {
        let mut named = Vec::new();
        for of in &self.0.catalog.offered {
            if let Some((times, _)) = &of.workflow.on.schedule {
                named.push((of.workflow.id.as_str(), times.as_str()));
            }
        }
        self.0.store.forget_schedules_but(&named).await
    }

    /// Begins what is due. Of times that were missed one is made up. Where the person is not
    /// served, or never to be reached, the time passes: it is not made up once the operator has let
    /// them in. Where nobody knows, or the audit takes nothing in, it waits.
    pub(super) async fn look_at_schedules(&self, notes: &mut ScheduleNotes) -> Result<(), StoreError> {
        for of in &self.0.catalog.offered {
            let Some((times, to)) = &of.workflow.on.schedule else { continue };
            let (now, id) = (now_ms(), of.workflow.id.as_str());
            let key = (id, times.as_str());
            let before = self.0.store.begin_schedule_check(key, now).await?;
            // A clock that was set back makes nothing due twice.
            let Some(due) = schedule::latest(times, before, now) else { continue };
            let Some(messenger) = self.0.runs.messenger(&to.channel) else { continue };
            match messenger.served(&to.sender) {
                Served::Yes => {}
                Served::No => {
                    notes.tell(id, "the person whom it is for is not served");
                    self.0.store.end_schedule_check(key, due).await?;
                    continue;
                }
                // It is due still at the next look.
                Served::Unknown => continue,
            }
            let stop = self.0.executors.borrow().stop.clone();
            let opening = notes.open(id, messenger.open(&to.sender));
            // A platform that does not answer would hold the stop up; nothing has been written yet.
            let Some(opened) = stop.run_until_cancelled(opening).await else { return Ok(()) };
            match opened {
                Some(Ok(private)) => {
                    let answer_to = AnswerTo { channel: messenger.channel(), target: private.target };
                    if !self.begin_scheduled(of, to, (due, answer_to)).await? {
                        notes.leave_for_later(id);
                        continue;
                    }
                }
                Some(Err(why)) => {
                    notes.tell(id, &format!("the person whom it is for cannot be reached: {why}"));
                }
                None => continue,
            }
            self.0.store.end_schedule_check(key, due).await?;
        }
        Ok(())
    }

    /// Begins the run of one time, unless it was begun; false where it is to be tried again.
    async fn begin_scheduled(
        &self,
        of: &OfferedWorkflow,
        by: &Caller,
        (due, answer_to): (i64, AnswerTo),
    ) -> Result<bool, StoreError> {
        let id = format!("{}-at-{:x}", of.workflow.id, due / 1000);
        if self.0.store.load_run(&id).await?.is_some() {
            return Ok(true);
        }
        let trigger = json!({
            "kind": "schedule", "channel": by.channel, "sender": by.sender, "files": [],
        });
        let begun = match of.workflow.input.complete(json!({})) {
            Ok(input) => {
                let (context, answers) = (self.new_context(id, input, trigger), true);
                self.begin(of, context, by, (answer_to, answers)).await
            }
            Err(why) => Err(StartRefusal::Refused(why)),
        };
        match begun {
            Err(StartRefusal::Store(error)) => return Err(error),
            Err(StartRefusal::Unrecorded(error)) => {
                tracing::error!(workflow = of.workflow.id, %error, "a scheduled run waits for the audit");
                return Ok(false);
            }
            Err(StartRefusal::Refused(why)) => {
                tracing::error!(workflow = of.workflow.id, why, "a scheduled run does not begin");
            }
            Ok(()) => {}
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::pending;

    /// Long after what is waited for here.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Is reached, and counts how often that is tried.
    async fn reach(tries: &Cell<usize>) -> Result<PrivateChat, SendError> {
        tries.set(tries.get() + 1);
        Ok(PrivateChat { target: "ben".to_owned(), chat: "1".to_owned(), place: None })
    }

    #[tokio::test]
    async fn who_cannot_be_reached_in_time_is_tried_again_after_a_pause() {
        let (mut notes, tries) = (ScheduleNotes::default(), Cell::new(0));
        let opened = timeout(PATIENCE, notes.open("daily", pending())).await;
        assert!(opened.expect("it is not waited for any longer").is_none());
        assert!(notes.open("daily", reach(&tries)).await.is_none());
        assert_eq!(tries.get(), 0, "it has just failed");
        let other = notes.open("weekly", reach(&tries)).await;
        assert!(matches!(other, Some(Ok(_))), "it does not wait for that: {other:?}");
        let failed = notes.failed.get_mut("daily").expect("it is noted");
        *failed = failed.checked_sub(AGAIN).expect("a time");
        for _ in 0..2 {
            let opened = notes.open("daily", reach(&tries)).await;
            assert!(matches!(opened, Some(Ok(_))), "the pause is over: {opened:?}");
        }
        assert_eq!(tries.get(), 3);
    }

    #[tokio::test]
    async fn what_the_audit_does_not_take_in_is_tried_again_after_a_pause() {
        let (mut notes, tries) = (ScheduleNotes::default(), Cell::new(0));
        assert!(matches!(notes.open("daily", reach(&tries)).await, Some(Ok(_))));
        notes.leave_for_later("daily");
        assert!(notes.open("daily", reach(&tries)).await.is_none());
        assert_eq!(tries.get(), 1, "the audit has just refused it");
    }
}
