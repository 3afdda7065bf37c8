//! What a test has a model do: one turn for each request.

use serde_json::Value;

use super::gate::Gate;

/// What comes of one request.
#[derive(Clone, Debug)]
pub struct Turn {
    pub(super) what: What,
    pub(super) gate: Option<Gate>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A streamed answer.
    Answer(Answer),
    /// An HTTP answer of its own.
    Plain { status: u16, headers: Vec<(String, String)>, body: Option<String> },
    /// Nothing, until the client gives up.
    Silence,
}

/// A streamed answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    /// Events that the text comes in.
    pub(super) text_pieces: usize,
    pub(super) calls: Vec<Call>,
    pub(super) stop: Stop,
    pub(super) ending: Ending,
    /// Bytes of a piece on the wire; none: an event each.
    pub(super) bytes_at_once: Option<usize>,
    pub(super) usage: (u64, u64),
    /// After so many events it waits at a gate.
    pub(super) pauses: Vec<(usize, Gate)>,
    /// After the last event it waits at this gate before it ends.
    pub(super) ends_at: Option<Gate>,
}

/// Why the model stops, in no API's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Done,
    Length,
    Declined,
}

/// What becomes of the stream.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Whole,
    /// The connection breaks after so many events.
    Breaks(usize),
    /// The body ends after so many events, as if that were all.
    EndsEarly(usize),
    /// Nothing more comes after so many events, until the client gives up.
    Stalls(usize),
    /// An error of this type comes after so many events.
    Fails(usize, String),
}

/// A tool call of the model's.
#[derive(Clone, Debug)]
pub struct Call {
    pub(super) tool: String,
    pub(super) arguments: String,
    pub(super) pieces: usize,
    /// None: the server makes one up. Empty: the call comes without.
    pub(super) id: Option<String>,
}

impl Call {
    /// A call with these arguments.
    pub fn new(tool: &str, arguments: Value) -> Self {
        Self::raw(tool, &arguments.to_string())
    }

    /// A call with any text as its arguments.
    pub fn raw(tool: &str, arguments: &str) -> Self {
        Self { tool: tool.to_owned(), arguments: arguments.to_owned(), pieces: 1, id: None }
    }

    /// The arguments come in so many pieces.
    #[must_use]
    pub fn in_pieces(mut self, pieces: usize) -> Self {
        self.pieces = pieces;
        self
    }

    /// With this id; an empty one is left out.
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }
}

impl Turn {
    fn of(what: What) -> Self {
        Self { what, gate: None }
    }

    /// Says this and ends its turn.
    pub fn say(text: &str) -> Self {
        Self::of(What::Answer(Answer {
            text: text.to_owned(),
            text_pieces: 1,
            calls: Vec::new(),
            stop: Stop::Done,
            ending: Ending::Whole,
            bytes_at_once: None,
            usage: (100, 10),
            pauses: Vec::new(),
            ends_at: None,
        }))
    }

    /// Calls these tools, at once.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::say("").and_calls(calls)
    }

    /// An HTTP status, with an error of the API as its body.
    pub fn status(status: u16) -> Self {
        Self::of(What::Plain { status, headers: Vec::new(), body: None })
    }

    /// An HTTP status, with this body as JSON.
    pub fn refusal(status: u16, body: &str) -> Self {
        Self::of(What::Plain { status, headers: Vec::new(), body: Some(body.to_owned()) })
    }

    /// A redirect.
    pub fn redirect(to: &str) -> Self {
        Self::status(307).header("Location", to)
    }

    /// Status 200 with this body and type, whatever it is.
    pub fn plain(content_type: &str, body: &str) -> Self {
        Self::of(What::Plain { status: 200, headers: Vec::new(), body: Some(body.to_owned()) })
            .header("Content-Type", content_type)
    }

    /// Takes the request and says nothing, until the client gives up.
    pub fn silence() -> Self {
        Self::of(What::Silence)
    }

    /// Calls these tools as well.
    #[must_use]
    pub fn and_calls(self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.answer(|answer| answer.calls.extend(calls))
    }

    /// The text comes in so many events.
    #[must_use]
    pub fn in_pieces(self, pieces: usize) -> Self {
        self.answer(|answer| answer.text_pieces = pieces)
    }

    /// The stream comes in pieces of so many bytes, which cut lines and characters in two.
    #[must_use]
    pub fn bytes_at_once(self, bytes: usize) -> Self {
        self.answer(|answer| answer.bytes_at_once = Some(bytes))
    }

    /// It waits at this gate once so many events are sent; in Chat Completions the first has no
    /// text.
    #[must_use]
    pub fn pauses_after(self, events: usize, gate: &Gate) -> Self {
        self.answer(|answer| answer.pauses.push((events, gate.clone())))
    }

    /// The body ends once this gate is open, though all is said before.
    #[must_use]
    pub fn ends_at(self, gate: &Gate) -> Self {
        self.answer(|answer| answer.ends_at = Some(gate.clone()))
    }

    /// It says that this many tokens were read and written.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.answer(|answer| answer.usage = (input, output))
    }

    /// It stops at its limit of tokens.
    #[must_use]
    pub fn stops_for_length(self) -> Self {
        self.answer(|answer| answer.stop = Stop::Length)
    }

    /// It declines to go on.
    #[must_use]
    pub fn declines(self) -> Self {
        self.answer(|answer| answer.stop = Stop::Declined)
    }

    /// The connection breaks after so many events.
    #[must_use]
    pub fn breaks_after(self, events: usize) -> Self {
        self.answer(|answer| answer.ending = Ending::Breaks(events))
    }

    /// The body ends after so many events, as if that were all.
    #[must_use]
    pub fn ends_after(self, events: usize) -> Self {
        self.answer(|answer| answer.ending = Ending::EndsEarly(events))
    }

    /// Nothing more comes after so many events, until the client gives up.
    #[must_use]
    pub fn stalls_after(self, events: usize) -> Self {
        self.answer(|answer| answer.ending = Ending::Stalls(events))
    }

    /// An error of this type, such as `overloaded_error`, comes after so many events.
    #[must_use]
    pub fn fails_after(self, events: usize, kind: &str) -> Self {
        self.answer(|answer| answer.ending = Ending::Fails(events, kind.to_owned()))
    }

    /// A header of an HTTP answer of its own.
    ///
    /// # Panics
    /// For a streamed answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let What::Plain { headers, .. } = &mut self.what else { panic!("an answer has its own headers") };
        headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits at this gate before anything of it is sent.
    #[must_use]
    pub fn held_by(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    fn answer(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        let What::Answer(answer) = &mut self.what else { panic!("only an answer is streamed") };
        change(answer);
        self
    }
}
