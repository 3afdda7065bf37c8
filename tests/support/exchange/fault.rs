//! Faults: how the next requests of a target go wrong. Those that replace the answer happen instead
//! of the effect; those that spoil the answer's way to the client happen after it.

use std::time::Duration;

use bytes::Bytes;

use super::target::{Call, Target};
use super::wire::Answer;

/// Whether the request does what it asks for before it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It never happens.
    Skipped,
    /// It happens, and the client does not hear of it.
    Taken,
}

/// How the answer goes out.
#[derive(Clone, Debug, Default)]
pub(crate) enum Wire {
    /// Faultlessly.
    #[default]
    Plain,
    /// This answer instead of the real one.
    Replaced(Answer),
    /// Nothing is sent.
    Closed,
    /// Half of the head is sent.
    ClosedInHead,
    /// The head announces everything, this many bytes of the body are sent at most, and at least
    /// one is missing.
    Truncated(u64),
    /// So many further bytes follow the body, announced in the head.
    Overlong(u64),
    /// The head announces no length; the end is the end of the connection.
    Unsized,
    /// The body arrives in pieces of this many bytes with a pause before each.
    Dripped(usize, Duration),
    /// Faultlessly, after a pause.
    Delayed(Duration),
    /// So many bytes of the body are sent and then nothing, with the connection open; `None`: not
    /// even the head.
    Stalled(Option<u64>),
}

/// One way in which a request goes wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    pub(crate) effect: Effect,
    pub(crate) wire: Wire,
}

impl Fault {
    /// This HTTP status and body instead of the effect.
    pub fn status(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::instead(Answer::new(status, content_type, body))
    }

    /// 502 with the HTML page of the proxy in front of an API.
    pub fn bad_gateway() -> Self {
        let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
            <center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.18.0</center>\r\n\
            </body>\r\n</html>\r\n";
        Self::status(502, "text/html", page)
    }

    /// HTTP 200 with a body that announces JSON and is none.
    pub fn garbage() -> Self {
        Self::instead(Answer::json(200, &b"{\"ok\":true,\"result\":[{\"upd\xff\x00"[..]))
    }

    /// HTTP 200 without a body.
    pub fn empty_body() -> Self {
        Self::instead(Answer::json(200, ""))
    }

    /// 302 to another address, for example a [`RedirectSink`](super::RedirectSink)'s.
    pub fn redirect(location: &str) -> Self {
        Self::redirect_by(302, location)
    }

    /// The same by another status: 301, 303, 307 or 308.
    pub fn redirect_by(status: u16, location: &str) -> Self {
        Self::instead(Answer::new(status, "text/html", "").with_header("Location", location.to_owned()))
    }

    /// The connection closes without an answer and without the effect.
    pub fn close() -> Self {
        Self { effect: Effect::Skipped, wire: Wire::Closed }
    }

    /// Nothing happens, and the connection stays open until the client gives up.
    pub fn stall() -> Self {
        Self { effect: Effect::Skipped, wire: Wire::Stalled(None) }
    }

    /// The connection closes after half of the answer's head.
    pub fn close_in_head() -> Self {
        Self::after(Wire::ClosedInHead)
    }

    /// The connection closes after so many bytes of the body, at the latest before its last one;
    /// `Content-Length` announces all of it.
    pub fn truncated(bytes: u64) -> Self {
        Self::after(Wire::Truncated(bytes))
    }

    /// The body is longer by so many bytes (blanks, which JSON ignores) than the file's declared
    /// size; as HTTP it is correct.
    pub fn overlong(bytes: u64) -> Self {
        Self::after(Wire::Overlong(bytes))
    }

    /// The answer has no `Content-Length`: the client learns its length from its end.
    pub fn without_length() -> Self {
        Self::after(Wire::Unsized)
    }

    /// The body arrives in pieces of `bytes`, each after a pause.
    pub fn drip(bytes: usize, pause: Duration) -> Self {
        Self::after(Wire::Dripped(bytes.max(1), pause))
    }

    /// The answer comes after a pause.
    pub fn delayed(pause: Duration) -> Self {
        Self::after(Wire::Delayed(pause))
    }

    /// The head and so many bytes of the body arrive, then nothing until the client gives up.
    pub fn stall_after(bytes: u64) -> Self {
        Self::after(Wire::Stalled(Some(bytes)))
    }

    /// The same fault, but the request takes effect first: the message is sent and nobody hears of
    /// it.
    #[must_use]
    pub fn after_effect(mut self) -> Self {
        self.effect = Effect::Taken;
        self
    }

    pub(crate) fn instead(answer: Answer) -> Self {
        Self { effect: Effect::Skipped, wire: Wire::Replaced(answer) }
    }

    fn after(wire: Wire) -> Self {
        Self { effect: Effect::Taken, wire }
    }
}

/// The faults to come, in the order in which they were planned.
#[derive(Default)]
pub(crate) struct FaultPlan {
    planned: Vec<(Target, usize, Fault)>,
}

impl FaultPlan {
    pub(crate) fn add(&mut self, target: Target, times: usize, fault: Fault) {
        if times > 0 {
            self.planned.push((target, times, fault));
        }
    }

    /// The fault for this call, if one is planned; it is used up by one.
    pub(crate) fn take(&mut self, call: &Call) -> Option<Fault> {
        let matching = |(target, ..): &(Target, usize, Fault)| target.matches(&call.kind, &call.params);
        let index = self.planned.iter().position(matching)?;
        let (_, times, fault) = &mut self.planned[index];
        *times -= 1;
        let (used_up, fault) = (*times == 0, fault.clone());
        if used_up {
            self.planned.remove(index);
        }
        Some(fault)
    }

    /// Takes every planned fault back.
    pub(crate) fn clear(&mut self) {
        self.planned.clear();
    }

    /// How many requests are still to go wrong.
    pub(crate) fn remaining(&self) -> usize {
        self.planned.iter().map(|(_, times, _)| times).sum()
    }
}
