//! What a model says, on a terminal as it comes. Elsewhere the answer comes as a whole.

use cofferdam_agent::turn::{StepListener, TurnStep};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Takes the steps of a turn and hands on what is said. Not bounded here: an answer is, where it is
/// read.
struct AnswerStream {
    steps: UnboundedSender<TurnStep>,
    others: Arc<dyn StepListener>,
}

/// What was said of the answer so far.
pub(super) struct StreamedAnswer {
    /// None where nothing is shown as it comes.
    steps: Option<UnboundedReceiver<TurnStep>>,
    /// What stands on the screen of the step that is under way.
    said: String,
}

impl StreamedAnswer {
    /// For one turn whose steps also go to `others`; where to put them.
    pub(super) fn new(others: Arc<dyn StepListener>) -> (Self, Arc<dyn StepListener>) {
        if !std::io::stdout().is_terminal() {
            return (Self::nothing(), others);
        }
        let (tell, steps) = unbounded_channel();
        (Self { steps: Some(steps), said: String::new() }, Arc::new(AnswerStream { steps: tell, others }))
    }

    /// Where nobody speaks.
    pub(super) fn nothing() -> Self {
        Self { steps: None, said: String::new() }
    }

    /// The next step that says more or ends what was said; never where nothing is shown.
    pub(super) async fn next(&mut self) -> TurnStep {
        if let Some(steps) = &mut self.steps
            && let Some(step) = steps.recv().await
        {
            return step;
        }
        std::future::pending().await
    }

    /// Writes what a step says; after another step what was said is a text of its own. What a
    /// terminal would obey is left out.
    pub(super) fn write(&mut self, step: TurnStep, out: &mut impl Write) -> std::io::Result<()> {
        let TurnStep::Text(text) = step else { return self.end(out) };
        if self.said.is_empty() {
            // What a call was doing may stand on the line.
            write!(out, "\r\x1b[K")?;
        }
        let harmless: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
        self.said.push_str(&text);
        write!(out, "{harmless}")?;
        out.flush()
    }

    fn end(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if !self.said.is_empty() {
            writeln!(out)?;
        }
        self.said.clear();
        Ok(())
    }

    /// Ends the line, and returns what of an answer does not stand on the screen yet.
    pub(super) fn rest(mut self, answer: String, out: &mut impl Write) -> std::io::Result<Option<String>> {
        let said = self.said.trim().to_owned();
        self.end(out)?;
        let Some((before, after)) = answer.split_once(&said).filter(|_| !said.is_empty()) else {
            return Ok(Some(answer));
        };
        let rest = [before.trim(), after.trim()].into_iter().filter(|part| !part.is_empty());
        Ok(Some(rest.collect::<Vec<_>>().join("\n")).filter(|rest| !rest.is_empty()))
    }
}

impl StepListener for AnswerStream {
    fn step(&self, step: TurnStep) {
        if matches!(step, TurnStep::Text(_) | TurnStep::Asking | TurnStep::Calling { .. }) {
            // Nobody listens once the turn is over.
            let _ = self.steps.send(step.clone());
        }
        self.others.step(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&str], answer: &str) -> String {
        let mut spoken = StreamedAnswer::nothing();
        let mut out = Vec::new();
        for piece in pieces {
            let step = if piece.is_empty() { TurnStep::Asking } else { TurnStep::Text((*piece).into()) };
            spoken.write(step, &mut out).expect("written");
        }
        let rest = spoken.rest(answer.into(), &mut out).expect("written");
        format!("{}|{}", String::from_utf8_lossy(&out), rest.unwrap_or_default())
    }

    #[test]
    fn what_was_shown_as_it_came_is_not_shown_again() {
        assert_eq!(shown(&[], "the answer"), "|the answer");
        assert_eq!(shown(&["Hel", "lo\n"], "Hello\n"), "\r\x1b[KHello\n\n|");
        assert_eq!(shown(&["first", "", "", "last"], "last"), "\r\x1b[Kfirst\n\r\x1b[Klast\n|");
        assert_eq!(
            shown(&["x"], "[0] a: too large\nx\n\n(cut off)"),
            "\r\x1b[Kx\n|[0] a: too large\n(cut off)"
        );
        assert_eq!(shown(&["half"], "The model broke off."), "\r\x1b[Khalf\n|The model broke off.");
        assert_eq!(shown(&["a\x1b[2Jb"], "a\x1b[2Jb"), "\r\x1b[Ka[2Jb\n|");
    }
}
