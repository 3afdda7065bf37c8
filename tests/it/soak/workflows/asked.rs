//! One run: who began it, whom it asks, what happens to it, and what may come of it.

use crate::soak::faults::Random;
use support::platform::{Message, Platform, Telegram, Written};

/// People, each alone with the bot. Each begins runs, and is asked by those of others.
pub(super) const PEOPLE: usize = 8;

/// Asks somebody by a message, and waits for the reply; what it does next would be there twice if
/// it were resumed twice.
pub(super) const ASK: &str = r#"workflow: ask
on: { command: ask }
input:
  type: object
  properties: { n: { type: string }, to: { type: string }, timeout: { type: string } }
  required: [n, to, timeout]
tasks:
  - { id: ask, send: { to: "telegram:{{ input.to }}", text: "question {{ input.n }}" } }
  - { id: answer, wait: { reply_to: ask, timeout: "{{ input.timeout }}", otherwise: silence } }
  - { id: keep, tool: file_write, with: { path: "/shared/{{ input.n }}.txt", content: "{{ tasks.answer.output.text }};", append: true } }
output: "run {{ input.n }}: {{ tasks.answer.output.text }}"
"#;

/// The same with a file.
pub(super) const SEND: &str = r#"workflow: send
on: { command: send }
input:
  type: object
  properties: { n: { type: string }, to: { type: string }, timeout: { type: string } }
  required: [n, to, timeout]
tasks:
  - { id: plan, tool: file_write, with: { path: "/shared/{{ input.n }}.plan", content: "plan {{ input.n }}" } }
  - { id: ask, send: { to: "telegram:{{ input.to }}", text: "question {{ input.n }}", files: ["/shared/{{ input.n }}.plan"] } }
  - { id: answer, wait: { reply_to: ask, timeout: "{{ input.timeout }}", otherwise: silence } }
  - { id: keep, tool: file_write, with: { path: "/shared/{{ input.n }}.txt", content: "{{ tasks.answer.output.text }};", append: true } }
output: "run {{ input.n }}: {{ tasks.answer.output.text }}"
"#;

/// Asks somebody to decide.
pub(super) const AGREE: &str = r#"workflow: agree
on: { command: agree }
input:
  type: object
  properties: { n: { type: string }, to: { type: string }, timeout: { type: string } }
  required: [n, to, timeout]
tasks:
  - { id: ok, approve: { from: "telegram:{{ input.to }}", text: "question {{ input.n }}", timeout: "{{ input.timeout }}" } }
  - { id: keep, tool: file_write, with: { path: "/shared/{{ input.n }}.txt", content: "{{ tasks.ok.output.by }};", append: true } }
output: "run {{ input.n }}: {{ tasks.ok.output.by }}"
"#;

/// What happens to a run while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Whom it asks replies, or agrees.
    Answered,
    /// They say no.
    Denied,
    /// Nobody says anything in time.
    Silence,
    /// Somebody cancels it.
    Cancelled,
    /// A reply and a cancellation come at once.
    Contested,
}

/// A run that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Its number, among all.
    pub(super) n: usize,
    /// Who asks, and who is asked.
    pub(super) by: usize,
    pub(super) to: usize,
    pub(super) workflow: &'static str,
    pub(super) fate: Fate,
}

impl Asked {
    /// The next one, of a wave in which days go by, or not.
    pub(super) fn next(n: usize, random: &mut Random, days: bool) -> Self {
        let by = random.below(PEOPLE as u64) as usize;
        let to = (by + 1 + random.below(PEOPLE as u64 - 1) as usize) % PEOPLE;
        let workflow = random.one_of(&["ask", "ask", "send", "agree"]);
        let fate = match random.below(10) {
            0 | 1 if days => Fate::Silence,
            2 => Fate::Cancelled,
            3 => Fate::Contested,
            4 if workflow == "agree" => Fate::Denied,
            _ => Fate::Answered,
        };
        Self { n, by, to, workflow, fate }
    }

    /// The message that begins it.
    pub(super) fn message(&self) -> Message {
        let timeout = if self.fate == Fate::Silence { "24h" } else { "240h" };
        let Self { workflow, n, .. } = self;
        let text = format!("/{workflow} n=q{n} to={} timeout={timeout}", Telegram::person(self.to));
        Message::text(Telegram::person(self.by), &text)
    }

    /// What it asks.
    pub(super) fn question(&self) -> String {
        format!("question q{}", self.n)
    }

    /// One of the replies to that.
    pub(super) fn reply(&self, which: usize) -> String {
        format!("reply {which} to q{}", self.n)
    }

    /// What it does once it is resumed, below the workspace.
    pub(super) fn path(&self) -> String {
        format!("/shared/q{}.txt", self.n)
    }

    /// Whether it waits for so long that it must be known to wait before time goes by, or by its
    /// name.
    pub(super) fn is_awaited_waiting(&self) -> bool {
        matches!(self.fate, Fate::Silence | Fate::Cancelled | Fate::Contested)
    }

    /// What resumed it, by its end; none where that was not a resumption.
    ///
    /// # Errors
    /// When it may not have ended so.
    pub(super) fn resumed_by(&self, end: &str) -> anyhow::Result<Option<String>> {
        let output = end.strip_prefix(&format!("run q{}: ", self.n));
        let is_reply = |text: &str| (0..REPLIES_MAX).any(|which| self.reply(which) == text);
        let by = format!("telegram:{}", Telegram::person(self.to));
        let may = match (self.workflow, self.fate, output) {
            ("agree", Fate::Answered | Fate::Contested, Some(text)) => text == by,
            ("agree", Fate::Denied, None) => end.starts_with("approval_denied: "),
            ("agree", Fate::Silence, None) => end.starts_with("timed_out: "),
            (_, Fate::Silence, Some(text)) => text == "silence",
            (_, Fate::Answered | Fate::Contested, Some(text)) => is_reply(text),
            (_, Fate::Cancelled | Fate::Contested, None) => end.starts_with("cancelled: "),
            _ => false,
        };
        anyhow::ensure!(may, "{self:?} ended so: {end:?}");
        Ok(output.map(str::to_owned))
    }
}

/// Replies to one message at most.
pub(super) const REPLIES_MAX: usize = 3;

/// A run, and the message that began it.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) asked: Asked,
    pub(super) written: Written,
}
