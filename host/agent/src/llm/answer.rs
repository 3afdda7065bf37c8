//! An answer as it grows from the pieces of a stream, in any dialect. It refuses to grow
//! without bounds.

use super::failure::AttemptFailure;
use crate::turn::{StepReply, Stop, TokenUsage, ToolCall};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

/// Text of one answer.
pub(super) const ANSWER_TEXT_BYTES_MAX: usize = 1 << 20;
/// Tool calls of one answer, as many as a turn may make by default.
pub(super) const ANSWER_CALLS_MAX: usize = 64;
/// Arguments of one call: as many as a tool takes without a policy that says otherwise.
pub(super) const CALL_ARGUMENTS_BYTES_MAX: usize = 1 << 20;
/// Tokens that one answer has read, or written, however many more its server tells: what all of a
/// day come to can be added up.
pub(super) const COUNTED_TOKENS_MAX: u64 = 1_000_000_000_000;
/// A call's name; a longer one is cut, and then belongs to no tool.
const NAME_BYTES_MAX: usize = 200;
/// A call's id, which goes back as it came: some servers keep in it what the model thought.
const CALL_ID_BYTES_MAX: usize = 64 << 10;

/// What has come of an answer.
#[derive(Debug, Default)]
pub(super) struct ModelAnswer {
    text: String,
    /// Bytes of the text that were handed on.
    told: usize,
    /// What is said next begins a paragraph.
    apart: bool,
    calls: Vec<PartialCall>,
    pub(super) stop: Stop,
    /// What it cost, as far as the server says.
    pub(super) usage: TokenUsage,
    /// Whether the server has sent anything, be it a thought: from then on the request is paid for.
    pub(super) heard: bool,
    /// About how many tokens the request is, for a server that does not count.
    asked: u64,
    /// Bytes of what the model thought, which nobody is shown.
    thought: usize,
}

/// A tool call that grows.
#[derive(Debug)]
struct PartialCall {
    /// Its place, as the stream counts.
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl ModelAnswer {
    /// Nothing yet, of an answer to a request of about so many tokens.
    pub(super) fn for_request(tokens: u64) -> Self {
        Self { asked: tokens, ..Self::default() }
    }

    /// More text.
    pub(super) fn say(&mut self, piece: &str) -> Result<(), AttemptFailure> {
        let apart = if self.apart && !piece.is_empty() { "\n\n" } else { "" };
        if self.text.len() + apart.len() + piece.len() > ANSWER_TEXT_BYTES_MAX {
            return Err(AttemptFailure::TooMuch("text in one answer"));
        }
        self.apart &= apart.is_empty();
        self.text.push_str(apart);
        self.text.push_str(piece);
        Ok(())
    }

    /// More of what the model thinks.
    pub(super) fn think(&mut self, piece: &str) {
        self.thought += piece.len();
    }

    /// What is said next begins a paragraph, unless it is the first.
    pub(super) fn begin_paragraph(&mut self) {
        self.apart = !self.text.is_empty();
    }

    /// The text that came since the last time.
    pub(super) fn take_new_text(&mut self) -> Option<&str> {
        let fresh = self.text.get(self.told..).filter(|fresh| !fresh.is_empty());
        self.told = self.text.len();
        fresh
    }

    /// A call begins at this place.
    pub(super) fn begin_call(&mut self, index: u64, id: &str, name: &str) -> Result<(), AttemptFailure> {
        if self.calls.len() == ANSWER_CALLS_MAX {
            return Err(AttemptFailure::TooMuch("tool calls in one answer"));
        }
        if id.len() > CALL_ID_BYTES_MAX {
            return Err(AttemptFailure::TooMuch("an id of a tool call"));
        }
        let name = name[..name.floor_char_boundary(NAME_BYTES_MAX)].to_owned();
        self.calls.push(PartialCall { index, id: id.to_owned(), name, arguments: String::new() });
        Ok(())
    }

    /// The id of the newest call at this place; none when there is no call.
    pub(super) fn call_at(&self, index: u64) -> Option<&str> {
        self.calls.iter().rev().find(|call| call.index == index).map(|call| call.id.as_str())
    }

    /// The place of the newest call.
    pub(super) fn newest_call(&self) -> Option<u64> {
        self.calls.last().map(|call| call.index)
    }

    /// More of the arguments of the newest call at this place. Without a call there, nothing.
    pub(super) fn argue(&mut self, index: u64, fragment: &str) -> Result<(), AttemptFailure> {
        let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) else { return Ok(()) };
        if call.arguments.len() + fragment.len() > CALL_ARGUMENTS_BYTES_MAX {
            return Err(AttemptFailure::TooMuch("arguments of one tool call"));
        }
        call.arguments.push_str(fragment);
        Ok(())
    }

    /// The arguments of the newest call at this place as a whole, in place of the fragments.
    pub(super) fn argue_whole(&mut self, index: u64, arguments: &str) -> Result<(), AttemptFailure> {
        if let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) {
            call.arguments.clear();
        }
        self.argue(index, arguments)
    }

    /// Whether anything of it has come that is shown or done.
    pub(super) fn has_begun(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// What it has cost so far: as the server said, and what has come of it at least by an
    /// estimate. What was read is estimated where the server does not say, once it has sent
    /// anything.
    pub(super) fn cost(&self) -> TokenUsage {
        let calls = self.calls.iter().map(|call| call.name.len() + call.arguments.len());
        let written = self.thought + self.text.len() + calls.sum::<usize>();
        let written = TokenUsage::estimate_tokens(written);
        let input_tokens = match self.usage.input_tokens {
            0 if self.heard || self.has_begun() => self.asked,
            told => told,
        };
        TokenUsage { input_tokens, output_tokens: self.usage.output_tokens.max(written) }
    }

    /// The whole answer. A call without an id, or with that of another, gets one that nobody else
    /// has; one without arguments has an empty object, unless the answer was cut off: they may have
    /// been to come.
    pub(super) fn into_reply(self) -> StepReply {
        let mut usage = self.cost();
        // What a server counts of a whole answer needs no estimate.
        if self.usage.output_tokens > 0 {
            usage.output_tokens = self.usage.output_tokens;
        }
        let mut taken = BTreeSet::new();
        let tool_calls = self.calls.into_iter().map(|call| {
            let id =
                if call.id.is_empty() || taken.contains(&call.id) { make_id(taken.len()) } else { call.id };
            taken.insert(id.clone());
            let empty = call.arguments.trim().is_empty() && self.stop != Stop::Length;
            let arguments = if empty { "{}".to_owned() } else { call.arguments };
            ToolCall { id, tool: call.name, arguments: Ok(arguments) }
        });
        StepReply {
            tool_calls: tool_calls.collect(),
            text: Some(self.text).filter(|text| !text.trim().is_empty()),
            stop: self.stop,
            usage,
        }
    }
}

/// An id in the form that every server takes. The hasher's keys are random, so no two conversations
/// share one.
fn make_id(number: usize) -> String {
    format!("call_{:016x}", RandomState::new().hash_one(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(answer: ModelAnswer) -> Vec<(String, String, String)> {
        let calls = answer.into_reply().tool_calls.into_iter();
        calls.map(|call| (call.id, call.tool, call.arguments.expect("text"))).collect()
    }

    #[test]
    fn text_is_handed_on_once_and_returned_whole() {
        let mut answer = ModelAnswer::default();
        assert!(answer.take_new_text().is_none() && !answer.has_begun());
        answer.say("ab").expect("fits");
        assert_eq!(answer.take_new_text(), Some("ab"));
        assert_eq!(answer.take_new_text(), None);
        answer.begin_paragraph();
        assert_eq!(answer.take_new_text(), None);
        answer.say("é").expect("fits");
        assert_eq!(answer.take_new_text(), Some("\n\né"));
        assert_eq!(answer.into_reply().text.as_deref(), Some("ab\n\né"));
        let mut blank = ModelAnswer::default();
        blank.say(" \n").expect("fits");
        assert_eq!(blank.into_reply().text, None);
    }

    #[test]
    fn each_call_has_an_id_of_its_own_and_arguments() {
        let mut answer = ModelAnswer::default();
        for (index, id) in [(0, "a"), (1, ""), (2, "a"), (0, "b")] {
            answer.begin_call(index, id, "t").expect("fits");
        }
        answer.argue(0, "{\"x\":").expect("fits");
        answer.argue(0, "1}").expect("fits");
        answer.argue_whole(2, " ").expect("fits");
        answer.argue(7, "lost").expect("no such call");
        let calls = calls(answer);
        let arguments: Vec<_> = calls.iter().map(|(_, _, arguments)| arguments.as_str()).collect();
        assert_eq!(arguments, ["{}", "{}", "{}", "{\"x\":1}"], "the newest call of a place grows");
        let ids: BTreeSet<_> = calls.iter().map(|(id, ..)| id.clone()).collect();
        assert_eq!(ids.len(), 4, "{calls:?}");
        assert!(ids.contains("a") && ids.contains("b"));
        assert!(ids.iter().all(|id| !id.is_empty()));
    }

    #[test]
    fn a_call_that_was_cut_off_before_its_arguments_has_none() {
        for (stop, arguments) in [(Stop::Done, "{}"), (Stop::Length, "")] {
            let mut answer = ModelAnswer { stop, ..ModelAnswer::default() };
            answer.begin_call(0, "a", "t").expect("fits");
            assert_eq!(calls(answer)[0].2, arguments);
        }
    }

    #[test]
    fn a_long_id_is_whole_or_refused() {
        let mut answer = ModelAnswer::default();
        let long = format!("call_1__thought__{}", "x".repeat(2000));
        answer.begin_call(0, &long, "t").expect("fits");
        let endless = "x".repeat(CALL_ID_BYTES_MAX + 1);
        assert_eq!(answer.begin_call(1, &endless, "t"), Err(AttemptFailure::TooMuch("an id of a tool call")));
        assert_eq!(calls(answer)[0].0, long);
    }

    #[test]
    fn what_has_come_costs_at_least_its_length() {
        let mut answer = ModelAnswer::default();
        assert_eq!(answer.cost(), TokenUsage::default());
        answer.say(&"x".repeat(40)).expect("fits");
        answer.begin_call(0, "a", "four").expect("fits");
        answer.argue(0, &"y".repeat(36)).expect("fits");
        assert_eq!(answer.cost(), TokenUsage { input_tokens: 0, output_tokens: 20 });
        // Servers tell what was read at the beginning, and what was written at the end.
        answer.usage = TokenUsage { input_tokens: 9, output_tokens: 1 };
        assert_eq!(answer.cost(), TokenUsage { input_tokens: 9, output_tokens: 20 });
        answer.usage.output_tokens = 30;
        assert_eq!(answer.cost().output_tokens, 30);
    }

    #[test]
    fn what_a_server_does_not_count_is_estimated() {
        let answer = |input_tokens, output_tokens| {
            let mut answer = ModelAnswer::for_request(100);
            assert_eq!(answer.cost(), TokenUsage::default(), "nothing has come");
            answer.say(&"x".repeat(40)).expect("fits");
            answer.usage = TokenUsage { input_tokens, output_tokens };
            answer
        };
        for ((input_tokens, output_tokens), expected) in
            [((0, 0), (100, 10)), ((9, 0), (9, 10)), ((0, 3), (100, 3)), ((9, 3), (9, 3))]
        {
            let usage = answer(input_tokens, output_tokens).into_reply().usage;
            assert_eq!((usage.input_tokens, usage.output_tokens), expected);
        }
        assert_eq!(answer(0, 3).cost(), TokenUsage { input_tokens: 100, output_tokens: 10 });
    }

    #[test]
    fn nothing_grows_without_end() {
        let mut answer = ModelAnswer::default();
        let whole = "x".repeat(ANSWER_TEXT_BYTES_MAX);
        answer.say(&whole).expect("just fits");
        assert_eq!(answer.say("x"), Err(AttemptFailure::TooMuch("text in one answer")));
        for index in 0..ANSWER_CALLS_MAX as u64 {
            answer.begin_call(index, "", &"n".repeat(1000)).expect("fits");
        }
        assert_eq!(answer.begin_call(99, "", "n"), Err(AttemptFailure::TooMuch("tool calls in one answer")));
        answer.argue(0, &"x".repeat(CALL_ARGUMENTS_BYTES_MAX)).expect("just fits");
        assert_eq!(answer.argue(0, "x"), Err(AttemptFailure::TooMuch("arguments of one tool call")));
        assert!(answer.into_reply().tool_calls.iter().all(|call| call.tool.len() == NAME_BYTES_MAX));
    }
}
