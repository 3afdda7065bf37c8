//! How often each question is answered: once, and once more for each time that nobody could know
//! that it was heard, on a platform where what is sent again is there twice. That is where the
//! acknowledgement of this very answer was lost, or where a kill fell between two copies of it
//! (decision 0005); and then nothing else is said in its chat between the two.

use super::people::{Outcome, Question};
use super::platforms::{Effect, RequestRecord, Soaked};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, HashMap};
use support::platform::{Sent, Written};

/// What may have been said without the gateway's knowing.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Whole answers that were sent and not acknowledged, by question.
    unheard: BTreeMap<usize, usize>,
    kills: Vec<Kill>,
    /// Whether what is sent again in a place is there once.
    sends_once: Option<fn(i64) -> bool>,
}

/// A kill, among the messages in the order of sending.
#[derive(Clone, Copy, Debug)]
struct Kill {
    /// So many were sent when the gateway was dead. One more may have been on its way.
    dead: usize,
    /// So many when the next one was up.
    up: usize,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) outcome: Outcome,
    /// Copies of the answer beyond the first.
    pub(super) repeats: usize,
}

impl Answers {
    /// Of a platform where what is sent again is there once, or not, by its place.
    pub(super) fn on(sends_once: fn(i64) -> bool) -> Self {
        Self { sends_once: Some(sends_once), ..Self::default() }
    }

    /// A kill between so many sent messages and so many.
    pub(super) fn killed(&mut self, dead: usize, up: usize) {
        self.kills.push(Kill { dead, up });
    }

    /// Notes those of the requests that were answers and of which the gateway did not hear.
    pub(super) fn note<P: Soaked>(&mut self, requests: &[RequestRecord], questions: &[Written]) {
        for request in requests.iter().filter(|request| request.fault == Some(Effect::Taken)) {
            let Some((place, to, text)) = P::said(request) else { continue };
            let asked = |written: &Written| (written.place, written.id) == (place, to);
            let Some(n) = questions.iter().rposition(asked) else { continue };
            if Question(n).outcome(&text).is_some() {
                *self.unheard.entry(n).or_default() += 1;
            }
        }
    }

    /// What these messages, of which the first is the `from`th that was sent, say to the questions
    /// from the `first` on: one outcome each.
    ///
    /// # Errors
    /// A question that is not answered, is answered in two ways, or once too often.
    pub(super) fn judge(
        &self,
        (asked, first): (&[Written], usize),
        (sent, from): (&[Sent], usize),
    ) -> Result<Vec<Answered>> {
        let places = asked.iter().enumerate().map(|(n, written)| ((written.place, written.id), n));
        let places: HashMap<_, _> = places.collect();
        let mut copies: Vec<Vec<(usize, Outcome)>> = vec![Vec::new(); asked.len()];
        let mut last_of_chat = HashMap::new();
        for (at, message) in (from..).zip(sent).filter(|(_, message)| !message.deleted) {
            let to = message.reply_to.and_then(|id| places.get(&(message.place, id)));
            let Some(&n) = to else { continue };
            let Some(outcome) = Question(first + n).outcome(&message.text) else { continue };
            let before = last_of_chat.insert(message.place, n);
            let follows = copies[n].is_empty() || before == Some(n);
            ensure!(follows, "{:?} is answered once more after another one", Question(first + n));
            copies[n].push((at, outcome));
        }
        let asked = (first..).map(Question).zip(asked);
        asked.zip(&copies).map(|(asked, copies)| self.one(asked, copies)).collect()
    }

    fn one(&self, (question, asked): (Question, &Written), copies: &[(usize, Outcome)]) -> Result<Answered> {
        let ((earliest, outcome), (latest, _)) =
            copies.first().zip(copies.last()).with_context(|| format!("{question:?} is not answered"))?;
        let same = copies.iter().all(|(_, other)| other == outcome);
        ensure!(same, "{question:?} has different answers: {copies:?}");
        let repeats = copies.len() - 1;
        let killed = self.kills.iter().filter(|kill| *earliest < kill.up && *latest >= kill.dead).count();
        let unheard = self.unheard.get(&question.0).copied().unwrap_or(0);
        let sends_once = self.sends_once.is_some_and(|sends_once| sends_once(asked.place));
        ensure!(!sends_once || repeats == 0, "{question:?} is answered {} times", repeats + 1);
        ensure!(
            repeats <= killed + unheard,
            "{question:?} is answered {} times, with {unheard} answers unheard and {killed} kills between",
            repeats + 1
        );
        Ok(Answered { outcome: outcome.clone(), repeats })
    }
}

/// All answers that were given.
pub(super) fn copies(answered: &[Answered]) -> usize {
    answered.iter().map(|one| 1 + one.repeats).sum()
}

/// Repeats of all questions, and the most of one, for whoever reads the end of a run.
pub(super) fn repeats(answered: &[Answered]) -> String {
    let all: usize = answered.iter().map(|one| one.repeats).sum();
    let most = answered.iter().map(|one| one.repeats).max().unwrap_or(0);
    format!("{all} answers came again, {most} times at most")
}

mod tests {
    use super::*;

    /// What becomes of two questions of one chat when this is sent: the question, and whether it
    /// went well.
    fn judged(answers: &Answers, said: &[(usize, &str)]) -> Result<Vec<usize>, String> {
        let asked = [0, 1].map(|n| Written { place: 7, id: n + 1, event: n });
        let sent = said.iter().map(|(n, said)| Sent {
            place: 7,
            id: 0,
            reply_to: Some(*n as i64 + 1),
            text: format!("turn {n}: {said}."),
            source: String::new(),
            files: Vec::new(),
            buttons: Vec::new(),
            deleted: false,
        });
        let judged = answers.judge((&asked, 0), (&sent.collect::<Vec<_>>(), 0));
        let repeats = |answered: Vec<Answered>| answered.iter().map(|one| one.repeats).collect();
        judged.map(repeats).map_err(|error| error.to_string())
    }

    #[test]
    fn a_repeat_needs_its_reason() {
        let (once, twice) = ([(0, "ok"), (1, "ok")], [(0, "ok"), (0, "ok"), (1, "ok")]);
        let refused = |answers: &Answers, said: &[(usize, &str)], why: &str| {
            let refused = judged(answers, said).expect_err(why);
            assert!(refused.contains(why), "{refused}");
        };
        let mut answers = Answers::default();
        assert_eq!(judged(&answers, &once), Ok(vec![0, 0]));
        refused(&answers, &once[..1], "Question(1) is not answered");
        refused(&answers, &twice, "answered 2 times, with 0 answers unheard and 0 kills");
        // A kill before both, or after both, is no reason; one between them is, once.
        answers.killed(0, 0);
        answers.killed(3, 3);
        refused(&answers, &twice, "answered 2 times");
        answers.killed(1, 1);
        assert_eq!(judged(&answers, &twice), Ok(vec![1, 0]));
        refused(&answers, &[(0, "ok"), (0, "ok"), (0, "ok"), (1, "ok")], "answered 3 times");
        refused(&answers, &[(0, "ok"), (0, "no_space"), (1, "ok")], "different answers");
        refused(&answers, &[(0, "ok"), (1, "ok"), (0, "ok")], "once more after another one");
        // Where what is sent again is there once, nothing is one.
        let mut answers = Answers::on(|_| true);
        answers.killed(1, 1);
        refused(&answers, &twice, "Question(0) is answered 2 times");
        let mut answers = Answers::default();
        answers.unheard.insert(1, 1);
        refused(&answers, &twice, "Question(0) is answered 2 times");
        assert_eq!(judged(&answers, &[(0, "ok"), (1, "ok"), (1, "ok")]), Ok(vec![0, 1]));
    }
}
