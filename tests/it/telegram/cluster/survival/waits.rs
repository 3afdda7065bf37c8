//! Runs of a workflow that wait for a reply, and calls that wait for a yes, while nodes and servers
//! are struck: each goes on when somebody has said so, and what it does then is done once.

use super::*;
use crate::telegram::approvals::asking;

/// Begins runs, and asks for calls.
const DAN: i64 = 5_000_000_004;
/// Is asked by runs.
const FAY: i64 = 5_000_000_005;
/// Chats of Dan: one for runs, one for calls.
const RUNS: i64 = 1;
const CALLS: i64 = 2;

/// What it does when it has its reply would be there twice if it were resumed twice.
const ASK: &str = "workflow: ask\non: { command: ask }\n\
    input: { type: object, properties: { n: { type: string } }, required: [n] }\ntasks:\n\
    \x20 - { id: ask, send: { to: \"telegram:5000000005\", text: \"question {{ input.n }}\" } }\n\
    \x20 - { id: answer, wait: { reply_to: ask, timeout: 24h } }\n\
    \x20 - { id: keep, tool: file_write, with: { path: \"/shared/run-{{ input.n }}\", content: \"{{ tasks.answer.output.text }};\", append: true } }\n\
    output: \"run {{ input.n }}: {{ tasks.answer.output.text }}\"\n";

/// Between two looks whether something has ended, after which people say it again: what they have
/// replied to or pressed may have been a copy of a question that no node knows of.
const SAID_AGAIN: Duration = Duration::from_secs(5);

/// A run and a call that were asked for.
struct Wait {
    n: usize,
    run: Pushed,
    call: Pushed,
}

/// All of them.
pub(super) struct Waits {
    begun: Vec<Wait>,
    /// Those before this one were decided.
    decided: usize,
}

/// Has a gateway of this bot's server serve who waits, and offer the workflow.
pub(super) fn fit(home: Home, api_url: &str) -> Home {
    std::fs::create_dir_all(home.host("/shared/asked")).expect("written");
    let home = home.telegram(api_url, &[ANN, BEN, CAT, DAN, FAY, minutes::GUS]);
    asking(home, "file_write", "\"/shared/asked\" = \"always\"").offering("ask.yaml", ASK)
}

impl Waits {
    /// None yet.
    pub(super) fn new(world: &World) -> Self {
        // Who is written to has written to the bot before.
        world.server.open_chat(FAY);
        world.server.open_chat(minutes::GUS);
        Self { begun: Vec::new(), decided: 0 }
    }

    /// One more of each.
    pub(super) fn begin(&mut self, world: &World) {
        let n = self.begun.len();
        let push = |chat, text: String| world.server.push(Incoming::private(DAN).thread(chat).text(&text));
        let run = push(RUNS, format!("/ask n=q{n}"));
        let call = push(CALLS, format!("/file_write path=/shared/asked/q{n} content=yes"));
        self.begun.push(Wait { n, run, call });
    }

    /// Who is asked by those that nobody has decided says yes.
    pub(super) async fn decide(&mut self, world: &World) -> anyhow::Result<()> {
        for wait in &self.begun[self.decided..] {
            let is_asked = |sent: &SentMessage| wait.is_asked_by_run(sent) || wait.is_end_of_run(sent);
            world.server.wait_for_message(PATIENCE, is_asked).await?;
            let is_asked = |sent: &SentMessage| wait.is_asked_by_call(sent) || wait.is_end_of_call(sent);
            world.server.wait_for_message(PATIENCE, is_asked).await?;
            wait.say_yes(world, &world.server.sent_messages());
        }
        self.decided = self.begun.len();
        Ok(())
    }

    /// Waits until all have ended, and holds what came of them against what may; how many ended
    /// without the database.
    pub(super) async fn finish(&mut self, world: &World) -> anyhow::Result<usize> {
        self.decide(world).await?;
        let mut ended = 0;
        for wait in &self.begun {
            let said = wait.ends(world).await?;
            let kept = |path: String| std::fs::read_to_string(world.home.host(&path)).ok();
            let (run, call) =
                (kept(format!("/shared/run-q{}", wait.n)), kept(format!("/shared/asked/q{}", wait.n)));
            for (said, done, kept, expected) in [
                (&said.0, wait.is_run_done(&said.0), run, format!("{};", wait.reply())),
                (&said.1, said.1.starts_with('{'), call, "yes".to_owned()),
            ] {
                // Once, or not at all where that was said.
                assert!(kept.as_ref() == Some(&expected) || !done && kept.is_none(), "{said}: {kept:?}");
                ended += usize::from(!done);
            }
        }
        Ok(ended)
    }
}

impl Wait {
    /// What Fay replies.
    fn reply(&self) -> String {
        format!("noon q{}", self.n)
    }

    fn is_asked_by_run(&self, sent: &SentMessage) -> bool {
        sent.chat_id == FAY && sent.text == format!("question q{}", self.n)
    }

    fn is_asked_by_call(&self, sent: &SentMessage) -> bool {
        is_to(sent, &self.call) && sent.message["reply_markup"].is_object()
    }

    fn is_run_done(&self, said: &str) -> bool {
        said == format!("run q{}: {}", self.n, self.reply())
    }

    fn is_end_of_run(&self, sent: &SentMessage) -> bool {
        is_to(sent, &self.run) && (self.is_run_done(&sent.text) || is_without_database(&sent.text))
    }

    fn is_end_of_call(&self, sent: &SentMessage) -> bool {
        is_to(sent, &self.call) && (sent.text.starts_with('{') || is_without_database(&sent.text))
    }

    /// Replies to the questions of the run, and approves the call, as far as they stand and have
    /// not ended.
    fn say_yes(&self, world: &World, sent: &[SentMessage]) {
        if !sent.iter().any(|sent| self.is_end_of_run(sent)) {
            for question in sent.iter().filter(|sent| self.is_asked_by_run(sent)) {
                let reply = Incoming::private(FAY).text(&self.reply());
                world.server.push(reply.reply_to(&question.message));
            }
        }
        if !sent.iter().any(|sent| self.is_end_of_call(sent)) {
            for approval in sent.iter().filter(|sent| self.is_asked_by_call(sent)) {
                world.server.push(press(DAN, approval, APPROVE));
            }
        }
    }

    /// What was said at the end of the run and of the call.
    async fn ends(&self, world: &World) -> anyhow::Result<(String, String)> {
        let (since, mut said_yes) = (Instant::now(), Instant::now());
        loop {
            let sent = world.server.sent_messages();
            let text = |found: Option<&SentMessage>| found.map(|sent| sent.text.clone());
            let run = text(sent.iter().find(|sent| self.is_end_of_run(sent)));
            let call = text(sent.iter().find(|sent| self.is_end_of_call(sent)));
            if let (Some(run), Some(call)) = (&run, &call) {
                return Ok((run.clone(), call.clone()));
            }
            anyhow::ensure!(
                since.elapsed() < PATIENCE,
                "run {run:?} and call {call:?} of {} do not end: {:#?}\n{}",
                self.n,
                sent.iter().filter(|sent| [DAN, FAY].contains(&sent.chat_id)).collect::<Vec<_>>(),
                world.tail()
            );
            if said_yes.elapsed() > SAID_AGAIN {
                said_yes = Instant::now();
                self.say_yes(world, &sent);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn is_to(sent: &SentMessage, to: &Pushed) -> bool {
    (sent.chat_id, sent.reply_to) == (to.chat_id, Some(to.message_id))
}

/// Whether a turn or a run was ended by a database that was away.
fn is_without_database(text: &str) -> bool {
    text.contains("its database") || text.contains("PostgreSQL")
}
