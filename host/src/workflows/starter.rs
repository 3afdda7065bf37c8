//! Commands of a chat that begin runs: `/NAME key=value …`.

use super::catalog::OfferedWorkflow;
use super::executor::describe_end;
use super::in_turn::TurnMessaging;
use super::serving::{StartRefusal, WorkflowService};
use async_trait::async_trait;
use cofferdam_agent::llm::commands::parse_arguments;
use cofferdam_chat::runs::{CallingTurn, RunStarter, RunningTurn};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::id::Caller;
use cofferdam_core::json::parse_strict;
use cofferdam_core::message::OutgoingResponse;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use cofferdam_store::{KeptRun, RunState, StoreError};
use cofferdam_warden::messaging::Messaging;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How often a run is looked at that nobody has said anything about.
const LOOK: Duration = Duration::from_millis(500);

#[async_trait]
impl RunStarter for WorkflowService {
    fn is_command(&self, text: &str) -> bool {
        self.0.catalog.by_command(text).is_some()
    }

    async fn run(
        &self,
        asking: &CallingTurn,
        text: &str,
        files: &[String],
        turn: &RunningTurn,
    ) -> Option<OutgoingResponse> {
        let said = loop {
            match self.answer_command(asking, (text, files), turn).await {
                Ok(said) => break said?,
                Err(error) => tracing::error!(%error, "a run of a workflow cannot be kept; trying again"),
            }
            if self.is_stopping() {
                return None;
            }
            tokio::time::sleep(LOOK).await;
        };
        Some(OutgoingResponse::text(said))
    }

    fn messaging(&self, asking: CallingTurn) -> Arc<dyn Messaging> {
        let (executor, runtime) = (self.current_executor(), Handle::current());
        Arc::new(TurnMessaging { executor, asking: Some(asking), runtime })
    }
}

impl WorkflowService {
    async fn answer_command(
        &self,
        asking: &CallingTurn,
        (text, files): (&str, &[String]),
        turn: &RunningTurn,
    ) -> Result<Option<String>, StoreError> {
        let Some((of, rest)) = self.0.catalog.by_command(text) else { return Ok(None) };
        if !asking.is_unlimited {
            return Ok(Some(format!(
                "{}: here only tools of some profiles may be called, and a workflow calls what its file names",
                ErrorCode::PathDenied
            )));
        }
        // The same for the same message, however often its turn is run, also where its file has
        // another id by then.
        let digest = sha256_hex(asking.turn.as_str().as_bytes());
        let known = self.0.store.find_run(&digest[..20]).await?;
        let is_new = known.is_none();
        let id = known.unwrap_or_else(|| format!("{}-{}", of.workflow.id, &digest[..20]));
        let mut progress = self.0.went_on.subscribe();
        if is_new {
            let begun = match input(of, rest) {
                Ok(input) => {
                    let trigger = describe_trigger(asking, (text, files));
                    let (context, answers) = (self.new_context(id.clone(), input, trigger), false);
                    self.begin(of, context, &asking.by, (asking.answer_to.clone(), answers)).await
                }
                Err(why) => Err(StartRefusal::Refused(why)),
            };
            match begun {
                Ok(()) => {}
                Err(StartRefusal::Store(error)) => return Err(error),
                Err(refused) => return Ok(Some(refused.to_string())),
            }
        }
        loop {
            progress.borrow_and_update();
            let Some(kept) = self.0.store.load_run(&id).await? else {
                return Ok(Some(format!("{id} is no longer kept")));
            };
            if kept.new.answers {
                // Its end was promised, and is told beside this.
                return Ok(Some(acknowledgement(&kept)));
            }
            if kept.state != RunState::Running {
                return Ok(Some(describe_end(&kept)));
            }
            if kept.tasks.iter().any(|task| task.waits.is_some()) && self.0.store.acknowledge_run(&id).await?
            {
                return Ok(Some(acknowledgement(&kept)));
            }
            tokio::select! {
                () = turn.cancel().cancelled() => {
                    // Where nobody has stopped it the program stops.
                    let Some(sender) = turn.stopper().filter(|_| !self.is_stopping()) else {
                        return Ok(None);
                    };
                    // In a group that may be somebody else.
                    let by = Caller { channel: kept.new.by.channel.clone(), sender };
                    self.cancel(&kept, Some(&by)).await?;
                    self.0.nudged.notify_one();
                    let kept = self.0.store.load_run(&id).await?;
                    return Ok(kept.as_ref().map(describe_end));
                }
                _ = progress.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

/// What templates are told of the message that begins a run.
fn describe_trigger(asking: &CallingTurn, (text, files): (&str, &[String])) -> Value {
    let CallingTurn { turn, session, by, .. } = asking;
    json!({
        "kind": "command", "channel": by.channel, "sender": by.sender, "session": session.as_str(),
        "request": turn.as_str(), "text": text, "files": files,
    })
}

/// What is typed behind a command, complete.
fn input(of: &OfferedWorkflow, rest: &str) -> Result<Value, String> {
    let input = &of.workflow.input;
    let wrong = |error: &dyn std::fmt::Display| {
        let command = of.workflow.on.command.as_deref().unwrap_or_default();
        let keys: Vec<String> = input.schema["properties"]
            .as_object()
            .map(|properties| properties.keys().map(|key| format!("{key}=…")).collect())
            .unwrap_or_default();
        let usage = format!("write /{command} {}", keys.join(" "));
        format!(
            "{}: {}; {}",
            ErrorCode::InvalidArguments,
            one_line(&error.to_string(), 500),
            usage.trim_end()
        )
    };
    let given = match rest.starts_with('{') {
        true => parse_strict(rest).map_err(|error| wrong(&error))?,
        false => parse_arguments(&input.schema, rest).map_err(|error| wrong(&error))?,
    };
    input.complete(given).map_err(|error| wrong(&error))
}

fn acknowledgement(kept: &KeptRun) -> String {
    let waits = kept.tasks.iter().find_map(|task| task.waits.as_ref());
    let whom = waits.map_or_else(|| "somebody".to_owned(), |waits| waits.from.clone());
    format!("{} waits for {whom}; its answer comes here.", kept.new.run)
}
