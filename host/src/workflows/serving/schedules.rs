//! Schedules: what is due begins a run for the person whom its file names, while they are served.

use super::{RunStart, StartRefusal, WorkflowService};
use cofferdam_chat::runs::Served;
use cofferdam_store::{AnswerTo, StoreError, now_ms};
use cofferdam_workflow::schedule;
use serde_json::json;
use std::collections::BTreeSet;

impl WorkflowService {
    /// Begins what is due. Of times that were missed one is made up. Where the person is not
    /// served, the time passes: it is not made up once the operator has let them in. Where nobody
    /// knows, it waits. `unserved` are the workflows of which was said that they begin nothing,
    /// which is once and not every minute.
    pub(super) async fn look_at_schedules(&self, unserved: &mut BTreeSet<String>) -> Result<(), StoreError> {
        for of in &self.0.catalog.offered {
            let Some((times, to)) = &of.workflow.on.schedule else { continue };
            let now = now_ms();
            let key = (of.workflow.id.as_str(), times.as_str());
            let before = self.0.store.begin_schedule_check(key, now).await?;
            // A clock that was set back makes nothing due twice.
            let Some(due) = schedule::latest(times, before, now) else { continue };
            let Some(messenger) = self.0.runs.messenger(&to.channel) else { continue };
            match messenger.served(&to.sender) {
                Served::Yes => {}
                Served::No => {
                    if unserved.insert(of.workflow.id.clone()) {
                        tracing::warn!(
                            workflow = of.workflow.id,
                            "its schedule begins nothing: the person whom it is for is not served"
                        );
                    }
                    self.0.store.end_schedule_check(key, due).await?;
                    continue;
                }
                // It is due still at the next look.
                Served::Unknown => continue,
            }
            unserved.remove(&of.workflow.id);
            let stop = self.0.executors.borrow().stop.clone();
            let opening = messenger.open(&to.sender);
            // A platform that does not answer would hold the stop up; nothing has been written yet.
            let Some(opened) = stop.run_until_cancelled(opening).await else { return Ok(()) };
            let target = match opened {
                Ok(private) => private.target,
                Err(error) => {
                    tracing::warn!(%error, workflow = of.workflow.id, "who is answered cannot be reached");
                    continue;
                }
            };
            let id = format!("{}-at-{:x}", of.workflow.id, due / 1000);
            if self.0.store.load_run(&id).await?.is_none() {
                let by = to.clone();
                let trigger = json!({
                    "kind": "schedule", "channel": by.channel, "sender": by.sender, "files": [],
                });
                let answer_to = AnswerTo { channel: messenger.channel(), target };
                let input = of.workflow.input.complete(json!({}));
                let begun = match input {
                    Ok(input) => {
                        let beginning = RunStart { id, by, input, trigger, answer_to, answers: true };
                        self.begin(of, beginning).await
                    }
                    Err(error) => Err(StartRefusal::Refused(error.to_string())),
                };
                match begun {
                    Ok(()) => {}
                    Err(StartRefusal::Store(error)) => return Err(error),
                    Err(StartRefusal::Refused(why)) => {
                        tracing::error!(workflow = of.workflow.id, why, "a scheduled run does not begin");
                    }
                }
            }
            self.0.store.end_schedule_check(key, due).await?;
        }
        Ok(())
    }
}
