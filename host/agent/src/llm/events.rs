//! The events of a streamed answer (server-sent events), read within bounds of size and of silence.

use super::failure::AttemptFailure;
use super::timeouts::RequestTimeouts;
use bytes::Bytes;
use eventsource_stream::{Event, EventStreamError, Eventsource};
use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use reqwest::Response;
use std::time::Duration;

/// One event.
pub(super) const EVENT_BYTES_MAX: usize = 2 << 20;
/// A whole answer: each token comes in an event of some hundred bytes.
pub(super) const STREAM_BYTES_MAX: usize = 64 << 20;
/// What follows an answer's last event is read for so long.
const REST_MAX: Duration = Duration::from_secs(1);

/// The events of one answer, in order.
pub(super) struct Events(BoxStream<'static, Result<Event, EventStreamError<AttemptFailure>>>);

impl Events {
    /// Reads them from an answer whose head has come, waiting `first_byte` for the rest to begin.
    pub(super) fn new(response: Response, first_byte: Duration, patience: &RequestTimeouts) -> Self {
        let reading =
            EventStream { response, meter: Meter::default(), wait: first_byte, silence: patience.silence };
        let pieces = try_unfold(reading, |mut reading| async move {
            Ok(reading.next().await?.map(|piece| (piece, reading)))
        });
        Self(pieces.eventsource().boxed())
    }

    /// The next event; none at the end of the stream.
    ///
    /// # Errors
    /// [`AttemptFailure`] when it breaks, is silent, or grows too large.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, AttemptFailure> {
        match self.0.next().await {
            None => Ok(None),
            Some(Ok(event)) => Ok(Some(event)),
            Some(Err(EventStreamError::Transport(failure))) => Err(failure),
            Some(Err(_)) => Err(AttemptFailure::Unreadable("it is no stream of events".into())),
        }
    }

    /// Reads to the end of the body, while the caller goes on: a connection serves the next
    /// question only when the last answer on it was read whole, and each new one costs a handshake.
    pub(super) fn rest(mut self) {
        tokio::spawn(async move {
            let reading = async { while let Ok(Some(_)) = self.next().await {} };
            // A body without an end costs its connection, as if nobody had read on.
            let _ = tokio::time::timeout(REST_MAX, reading).await;
        });
    }
}

/// A body that is read piece by piece.
struct EventStream {
    response: Response,
    meter: Meter,
    /// How long the next piece is waited for.
    wait: Duration,
    silence: Duration,
}

impl EventStream {
    async fn next(&mut self) -> Result<Option<Bytes>, AttemptFailure> {
        let piece = tokio::time::timeout(self.wait, self.response.chunk()).await;
        let piece = piece.map_err(|_| AttemptFailure::Silent(self.wait))?;
        self.wait = self.silence;
        // A body that breaks is an answer that was cut.
        let Some(piece) = piece.map_err(|_| AttemptFailure::Cut)? else { return Ok(None) };
        self.meter.take(&piece)?;
        Ok(Some(piece))
    }
}

/// Measures a stream of events before anybody holds its pieces together.
#[derive(Default)]
struct Meter {
    stream: usize,
    /// Bytes since the last blank line, which ends an event.
    event: usize,
    /// Bytes of the line so far.
    line: usize,
    after_return: bool,
}

impl Meter {
    fn take(&mut self, piece: &[u8]) -> Result<(), AttemptFailure> {
        self.stream += piece.len();
        if self.stream > STREAM_BYTES_MAX {
            return Err(AttemptFailure::TooMuch("bytes of one answer"));
        }
        for byte in piece {
            self.event += 1;
            match byte {
                // The second half of one line end.
                b'\n' if self.after_return => {}
                b'\n' | b'\r' => {
                    if self.line == 0 {
                        self.event = 0;
                    }
                    self.line = 0;
                }
                _ => self.line += 1,
            }
            self.after_return = *byte == b'\r';
            if self.event > EVENT_BYTES_MAX {
                return Err(AttemptFailure::TooMuch("bytes of one event"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_measured_from_blank_line_to_blank_line() {
        for end in ["\n", "\r\n", "\r"] {
            let mut meter = Meter::default();
            let event = format!("event: x{end}data: {}{end}{end}", "x".repeat(EVENT_BYTES_MAX / 2));
            for _ in 0..4 {
                meter.take(event.as_bytes()).expect("each is small enough");
            }
            let lines = format!("data: {}{end}", "x".repeat(EVENT_BYTES_MAX / 2));
            meter.take(lines.as_bytes()).expect("half of it");
            let refused = meter.take(lines.as_bytes()).expect_err("without a blank line between");
            assert_eq!(refused, AttemptFailure::TooMuch("bytes of one event"), "{end:?}");
        }
    }

    #[test]
    fn a_stream_of_small_events_ends_somewhere() {
        let mut meter = Meter::default();
        let piece = "data: x\n\n".repeat(1 << 16);
        let pieces = STREAM_BYTES_MAX / piece.len();
        for _ in 0..pieces {
            meter.take(piece.as_bytes()).expect("fits");
        }
        assert_eq!(meter.take(piece.as_bytes()), Err(AttemptFailure::TooMuch("bytes of one answer")));
    }
}
