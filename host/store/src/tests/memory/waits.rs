//! What runs say to people and wait for.

use super::*;

/// A message of a run.
pub(super) struct Said {
    new: NewMessage,
    state: &'static str,
    answer: Option<String>,
    album: Option<String>,
}

#[async_trait]
impl WaitStore for Memory {
    async fn keep_message(&self, new: NewMessage) -> Result<Option<StoredReply>, StoreError> {
        let mut held = self.held();
        let is_open =
            held.runs.iter().any(|(run, _)| run.new.run == new.run && run.state == RunState::Running);
        let is_known = held.messages.iter().any(|said| said.new.turn == new.turn);
        if !is_open || is_known {
            return Ok(None);
        }
        let reply = held.reply(&new.channel, &new.turn, new.reply.clone());
        held.blobs.extend(new.files.iter().map(|file| (new.turn.to_string(), file.sha256.clone())));
        let state = if new.is_awaited { "open" } else { "unawaited" };
        held.messages.push(Said { new, state, answer: None, album: None });
        Ok(Some(reply))
    }

    async fn load_send_state(&self, turn: &TurnId) -> Result<SendState, StoreError> {
        let held = self.held();
        let Some(stored) = held.replies.iter().find(|stored| stored.reply.turn == *turn) else {
            return Ok(SendState::Unknown);
        };
        Ok(match (stored.done, &stored.reply.last_sent) {
            (false, _) => SendState::NotYet,
            (true, Some(id)) => SendState::Out(vec![id.clone()]),
            (true, None) => SendState::Failed("refused".into()),
        })
    }

    async fn wait(&self, new: NewWait, now: i64) -> Result<WaitState, StoreError> {
        let mut held = self.held();
        let Some((run, _)) = held.runs.iter_mut().find(|(run, _)| run.new.run == new.run) else {
            return Ok(WaitState::TimedOut);
        };
        let running = |task: &&mut KeptTask| task.state == TaskState::Running;
        let Some(task) = run.tasks.get_mut(new.task).filter(running) else { return Ok(WaitState::TimedOut) };
        let begins = task.waits.is_none();
        let waits = WaitsFor { from: new.from, until: now.saturating_add(new.patience) };
        let until = task.waits.get_or_insert(waits).until;
        let Some(of) = new.of else { return Ok(WaitState::Open { begins, until }) };
        held.patience.insert((new.run.clone(), new.task), (of, new.patience));
        let is_it = |said: &&mut Said| said.new.run == new.run && said.new.task == of;
        let Some(said) = held.messages.iter_mut().find(is_it) else { return Ok(WaitState::TimedOut) };
        if until <= now && said.state == "open" {
            said.state = "timed_out";
        }
        Ok(match (said.state, &said.answer) {
            ("replied", Some(answer)) => WaitState::Replied(answer.clone()),
            ("open", _) => WaitState::Open { begins, until },
            _ => WaitState::TimedOut,
        })
    }

    async fn files_of_reply(&self, _: &str, _: usize) -> Result<Option<(String, String)>, StoreError> {
        Ok(None)
    }

    async fn runs_to_go_on(&self, now: i64, deadline: i64) -> Result<Vec<String>, StoreError> {
        let held = self.held();
        let waits = |run: &KeptRun, began_at: i64| {
            run.tasks.iter().enumerate().any(|(n, task)| {
                let of = held.patience.get(&(run.new.run.clone(), n)).map(|(of, _)| *of);
                let is_open = held.messages.iter().any(|said| {
                    said.new.run == run.new.run && Some(said.new.task) == of && said.state == "open"
                });
                let has_time = task.waits.as_ref().is_some_and(|waits| waits.until > now);
                is_open && has_time && began_at > now - deadline && task.state == TaskState::Running
            })
        };
        let open = |run: &KeptRun| run.state == RunState::Running && run.new.owner == RunOwner::Serve;
        let found = held.runs.iter().filter(|(run, began_at)| open(run) && !waits(run, *began_at));
        Ok(found.map(|(run, _)| run.new.run.clone()).collect())
    }

    async fn hand_over_run(&self, run: &str) -> Result<bool, StoreError> {
        self.on_run(run, |kept| {
            let may = kept.state == RunState::Running;
            if may {
                kept.new.owner = RunOwner::Serve;
            }
            may
        })
    }

    async fn acknowledge_run(&self, run: &str) -> Result<bool, StoreError> {
        self.on_run(run, |kept| {
            kept.new.answers |= kept.state == RunState::Running;
            kept.new.answers
        })
    }

    async fn load_unanswered_runs(&self) -> Result<Vec<String>, StoreError> {
        let held = self.held();
        let open = |run: &KeptRun| {
            run.state != RunState::Running
                && run.new.answers
                && run.new.answer_to.is_some()
                && !held.answered.contains(&run.new.run)
        };
        Ok(held.runs.iter().filter(|(run, _)| open(run)).map(|(run, _)| run.new.run.clone()).collect())
    }

    async fn answer_run(
        &self,
        run: &str,
        to: AnswerTo,
        said: NewReply,
    ) -> Result<Option<StoredReply>, StoreError> {
        let may = self.on_run(run, |kept| kept.state != RunState::Running && kept.new.answers)?;
        let mut held = self.held();
        if !may || !held.answered.insert(run.to_owned()) {
            return Ok(None);
        }
        let turn = TurnId::new(format!("{run}/answer"));
        Ok(Some(held.reply(&to.channel, &turn, said)))
    }

    async fn shift_waits(&self, by: i64) -> Result<(), StoreError> {
        let mut held = self.held();
        let is_served = |run: &KeptRun| run.new.owner == RunOwner::Serve && run.state == RunState::Running;
        for (run, began_at) in held.runs.iter_mut().filter(|(run, _)| is_served(run)) {
            *began_at += by;
            run.began_at += by;
            run.tasks.iter_mut().filter_map(|task| task.waits.as_mut()).for_each(|waits| waits.until += by);
        }
        Ok(())
    }

    async fn bound_waits(&self, now: i64) -> Result<(), StoreError> {
        let mut held = self.held();
        let patience = held.patience.clone();
        for (run, _) in &mut held.runs {
            let id = run.new.run.clone();
            for (n, task) in run.tasks.iter_mut().enumerate() {
                if let (Some(waits), Some((_, patience))) = (&mut task.waits, patience.get(&(id.clone(), n)))
                {
                    waits.until = waits.until.min(now + patience);
                }
            }
        }
        Ok(())
    }

    async fn begin_schedule_check(&self, workflow: &str, now: i64) -> Result<i64, StoreError> {
        Ok(*self.held().schedules.entry(workflow.to_owned()).or_insert(now))
    }

    async fn end_schedule_check(&self, workflow: &str, until: i64) -> Result<(), StoreError> {
        self.held().schedules.insert(workflow.to_owned(), until);
        Ok(())
    }
}

impl Held {
    /// A run is opened again: who was late may reply, and what was refused was never said.
    pub(super) fn say_again(&mut self, run: &str) {
        let of_run = |said: &Said| said.new.run == run;
        for said in self.messages.iter_mut().filter(|said| of_run(said) && said.state == "timed_out") {
            said.state = "open";
        }
        let refused = |stored: &Stored| stored.done && stored.reply.last_sent.is_none();
        let turns: Vec<_> = self.replies.iter().filter(|stored| refused(stored)).collect();
        let turns: Vec<_> = turns.into_iter().map(|stored| stored.reply.turn.clone()).collect();
        let again = |said: &Said| of_run(said) && turns.contains(&said.new.turn);
        let messages = &self.messages;
        let is_again = |turn: &TurnId| messages.iter().any(|said| again(said) && said.new.turn == *turn);
        self.replies.retain(|stored| !is_again(&stored.reply.turn));
        self.messages.retain(|said| !again(said));
    }

    /// Whether an update is the reply that a run waits for.
    pub(super) fn resolve(&mut self, channel: &str, headers: &Headers, album: Option<&str>) -> bool {
        let Some(answers) = &headers.answers else { return false };
        let to = |said: &Said| said.new.channel == channel && said.new.recipient == headers.sender;
        if album.is_some() && self.messages.iter().any(|said| to(said) && said.album.as_deref() == album) {
            return true;
        }
        let id_of = |said: &Said| {
            let stored = self.replies.iter().find(|stored| stored.reply.turn == said.new.turn);
            stored.and_then(|stored| stored.reply.last_sent.clone())
        };
        let by_id =
            self.messages.iter().position(|said| to(said) && id_of(said).as_ref() == Some(&answers.message));
        let text = plain_letters(&answers.text);
        let replies = &self.replies;
        let is_noted = |said: &Said| {
            replies.iter().any(|stored| {
                stored.reply.target == said.new.reply.target
                    && stored.reply.last_sent.as_ref() == Some(&answers.message)
            })
        };
        let is_copy = |said: &Said| {
            to(said) && said.state == "open" && said.new.texts.contains(&text) && !is_noted(said)
        };
        let by_text = || self.messages.iter().rposition(is_copy);
        let Some(at) = by_id.or_else(by_text) else { return false };
        let run = self.messages[at].new.run.clone();
        let is_running =
            self.runs.iter().any(|(kept, _)| kept.new.run == run && kept.state == RunState::Running);
        let said = &mut self.messages[at];
        let counts = is_running && said.state == "open";
        if counts {
            (said.state, said.answer) = ("replied", Some(answers.reply.clone()));
            said.album = album.map(str::to_owned);
        }
        counts
    }
}
