//! The events of a streamed answer (server-sent events), read within bounds of size and of silence.

use super::failure::AttemptFailure;
use super::splitter::{EventSplitter, SplitStep};
use super::timeouts::RequestTimeouts;
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use reqwest::Response;
use std::time::Duration;
use tokio::time::timeout;

/// So many lines are read before other tasks run: a piece may hold hundreds of thousands, and a
/// gateway has few threads.
const LINES_AT_ONCE: usize = 256;
/// What follows a whole answer is waited for so long, and so long is read on after its last event.
pub(super) const REST_MAX: Duration = Duration::from_secs(3);

/// The events of one answer, in order.
pub(super) struct Events {
    pieces: BoxStream<'static, Result<Bytes, AttemptFailure>>,
    splitter: EventSplitter,
    /// Lines since other tasks could run.
    lines: usize,
}

impl Events {
    /// Reads them from an answer whose head has come, waiting `first_byte` for the rest to begin.
    pub(super) fn new(response: Response, first_byte: Duration, patience: &RequestTimeouts) -> Self {
        let silence = patience.silence;
        let pieces = try_unfold((response, first_byte), move |(mut response, wait)| async move {
            let piece = timeout(wait, response.chunk()).await.map_err(|_| AttemptFailure::Silent(wait))?;
            // A body that breaks is an answer that was cut.
            let piece = piece.map_err(|_| AttemptFailure::Cut)?;
            Ok(piece.map(|piece| (piece, (response, silence))))
        });
        Self::from_pieces(pieces.boxed())
    }

    /// Reads them from a body that comes in these pieces.
    pub(super) fn from_pieces(pieces: BoxStream<'static, Result<Bytes, AttemptFailure>>) -> Self {
        Self { pieces, splitter: EventSplitter::default(), lines: 0 }
    }

    /// The data of the next event; none at the end of the stream.
    ///
    /// # Errors
    /// [`AttemptFailure`] when it breaks, is silent, or grows too large.
    pub(super) async fn next(&mut self) -> Result<Option<String>, AttemptFailure> {
        loop {
            if self.lines == LINES_AT_ONCE {
                self.lines = 0;
                tokio::task::yield_now().await;
            }
            self.lines += 1;
            match self.splitter.next_line()? {
                SplitStep::Event(data) => return Ok(Some(data)),
                SplitStep::Line => {}
                SplitStep::PieceEnd => match self.pieces.next().await {
                    Some(piece) => self.splitter.take(piece?)?,
                    None => return Ok(None),
                },
            }
        }
    }

    /// Reads to the end of the body, while the caller goes on: a connection serves the next
    /// question only when the last answer on it was read whole, and each new one costs a handshake.
    pub(super) fn rest(mut self) {
        tokio::spawn(async move {
            let reading = async { while let Ok(Some(_)) = self.next().await {} };
            // A body without an end costs its connection, as if nobody had read on.
            let _ = timeout(REST_MAX, reading).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream::iter;
    use std::task::{Context, Waker};

    #[test]
    fn other_tasks_run_while_a_piece_of_many_lines_is_read() {
        const LINES: usize = 400 << 10;
        for line in ["\n", ":\n"] {
            let piece = Bytes::from(line.repeat(LINES));
            let mut events = Events::from_pieces(iter([Ok(piece)]).boxed());
            let mut next = std::pin::pin!(events.next());
            let mut pauses = 0;
            while next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                pauses += 1;
            }
            assert_eq!(pauses, LINES / LINES_AT_ONCE, "{line:?}");
        }
    }
}
