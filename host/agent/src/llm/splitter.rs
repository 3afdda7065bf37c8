//! Splits a streamed answer into its events, as the HTML standard reads server-sent events (section
//! 9.2.6), and refuses events and streams without end.
//!
//! Of an event it keeps the data alone: no dialect reads its name or its id.

use super::failure::AttemptFailure;
use bytes::{Buf, Bytes};

/// One event.
pub(super) const EVENT_BYTES_MAX: usize = 2 << 20;
/// A whole answer: each token comes in an event of some hundred bytes.
pub(super) const STREAM_BYTES_MAX: usize = 64 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What a line brings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SplitStep {
    /// The end of an event, which has this data.
    Event(String),
    /// Nothing that is whole.
    Line,
    /// The piece ended before the line did.
    PieceEnd,
}

/// A stream that comes in pieces, which end anywhere. Each byte is searched once for a line end and
/// copied at most twice, however the stream is cut: a server chooses its pieces and its lines.
#[derive(Default)]
pub(super) struct EventSplitter {
    /// What is left of the newest piece.
    piece: Bytes,
    /// The beginning of a line that goes on in the piece.
    line: Vec<u8>,
    /// The first line, which may begin with a byte-order mark, was read.
    begun: bool,
    /// The last line ended with a carriage return, of which a line feed is the second half.
    after_return: bool,
    /// The data of the event so far.
    data: Option<String>,
    /// Bytes since the last blank line, which ends an event.
    event_bytes: usize,
    stream_bytes: usize,
}

impl EventSplitter {
    /// Takes the next piece, when the one before is read.
    ///
    /// # Errors
    /// [`AttemptFailure::TooMuch`] beyond [`STREAM_BYTES_MAX`].
    pub(super) fn take(&mut self, piece: Bytes) -> Result<(), AttemptFailure> {
        self.stream_bytes += piece.len();
        if self.stream_bytes > STREAM_BYTES_MAX {
            return Err(AttemptFailure::TooMuch("bytes of one answer"));
        }
        self.piece = piece;
        Ok(())
    }

    /// Reads one line.
    ///
    /// # Errors
    /// [`AttemptFailure::TooMuch`] beyond [`EVENT_BYTES_MAX`].
    pub(super) fn next_line(&mut self) -> Result<SplitStep, AttemptFailure> {
        if self.piece.is_empty() {
            return Ok(SplitStep::PieceEnd);
        }
        if std::mem::take(&mut self.after_return) && self.piece[0] == b'\n' {
            self.piece.advance(1);
        }
        let end = self.piece.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        self.event_bytes += end.map_or(self.piece.len(), |end| end + 1);
        if self.event_bytes > EVENT_BYTES_MAX {
            return Err(AttemptFailure::TooMuch("bytes of one event"));
        }
        let Some(end) = end else {
            self.line.extend_from_slice(&self.piece);
            self.piece.clear();
            return Ok(SplitStep::PieceEnd);
        };
        let mut line = self.piece.split_to(end);
        self.after_return = self.piece.get_u8() == b'\r';
        if !self.line.is_empty() {
            self.line.extend_from_slice(&line);
            line = Bytes::from(std::mem::take(&mut self.line));
        }
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        Ok(self.hear(&line))
    }

    fn hear(&mut self, line: &[u8]) -> SplitStep {
        if line.is_empty() {
            self.event_bytes = 0;
            return self.data.take().map_or(SplitStep::Line, SplitStep::Event);
        }
        if let Some(more) = data_of(line) {
            // A line end is never part of a character, so each line is decoded by itself.
            let more = String::from_utf8_lossy(more);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&more);
                }
                None => self.data = Some(more.into_owned()),
            }
        }
        SplitStep::Line
    }
}

/// What a line adds to the data of its event. Other fields, and comments, add nothing.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    match line.strip_prefix(b"data")? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, AttemptFailure> {
        let (mut splitter, mut events) = (EventSplitter::default(), Vec::new());
        for piece in pieces {
            splitter.take(Bytes::copy_from_slice(piece))?;
            loop {
                match splitter.next_line()? {
                    SplitStep::Event(data) => events.push(data),
                    SplitStep::Line => {}
                    SplitStep::PieceEnd => break,
                }
            }
        }
        Ok(events)
    }

    /// That a stream has these events, wherever it is cut.
    #[track_caller]
    fn check(stream: impl AsRef<[u8]>, expected: &[&str]) {
        let stream = stream.as_ref();
        for at in 0..=stream.len() {
            let (first, second) = stream.split_at(at);
            assert_eq!(split([first, second]).expect("within bounds"), expected, "cut at {at}");
        }
        assert_eq!(split(stream.chunks(1)).expect("within bounds"), expected, "byte by byte");
    }

    #[test]
    fn events_are_those_of_the_standard() {
        check("data: a\n\ndata:b\n\ndata:  c\n\n", &["a", "b", " c"]);
        check("data: a\ndata\ndata: b: c\n\n", &["a\n\nb: c"]);
        check("data\n\ndata:\n\n", &["", ""]);
        check(": a comment\n\n:\n\n\n\nevent: x\nid: 1\nretry: 5\n\n", &[]);
        check("event: x\ndata: a\nid: 1\n\n", &["a"]);
        check("dataset: a\nDATA: b\n data: c\ndatum\n\n", &[]);
        // The rest of an event that was cut is none.
        check("data: a\n\ndata: b\n", &["a"]);
    }

    #[test]
    fn lines_end_in_three_ways() {
        check("data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", &["a\nb", "c"]);
        check("data: a\rdata: b\r\rdata: c\r\r", &["a\nb", "c"]);
        check("data: a\r\n\ndata: b\n\rdata: c\r\r\n", &["a", "b", "c"]);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_at_the_beginning_alone() {
        check("\u{feff}data: a\n\n", &["a"]);
        check("\u{feff}\ndata: \u{feff}a\n\n", &["\u{feff}a"]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
        check("\ndata: a\n\n\u{feff}data: b\n\n", &["a"]);
        check("\u{feff}", &[]);
    }

    #[test]
    fn a_byte_that_is_no_text_holds_nothing_back() {
        check("data: Grüße 📎\n\n", &["Grüße 📎"]);
        check(b"data: a\xff\n\ndata: b\n\n", &["a\u{fffd}", "b"]);
        check(b"data: \xf0\x9f\n\ndata\xff: x\n\ndata: b\n\n", &["\u{fffd}", "b"]);
    }

    #[test]
    fn a_long_line_is_searched_once_however_it_is_cut() {
        let line = "x".repeat(512 << 10);
        let stream = format!("data: {line}\n\n");
        assert_eq!(split(stream.as_bytes().chunks(1)), Ok(vec![line]));
    }

    #[test]
    fn an_event_is_measured_from_blank_line_to_blank_line() {
        let half = "x".repeat(EVENT_BYTES_MAX / 2);
        for end in ["\n", "\r\n", "\r"] {
            let event = format!("event: x{end}data: {half}{end}{end}");
            let count = split([event.as_bytes(); 4]).map(|events| events.len());
            assert_eq!(count, Ok(4), "each is small enough: {end:?}");
            let line = format!("data: {half}{end}");
            for size in [line.len(), 1000] {
                assert_eq!(split(line.as_bytes().chunks(size)), Ok(Vec::new()), "half of it");
                let twice = line.repeat(2);
                let refused = split(twice.as_bytes().chunks(size));
                assert_eq!(refused, Err(AttemptFailure::TooMuch("bytes of one event")), "{end:?}");
            }
        }
    }

    #[test]
    fn a_stream_of_small_events_ends_somewhere() {
        let piece = Bytes::from("data: x\n\n".repeat(1 << 16));
        let mut splitter = EventSplitter::default();
        for _ in 0..STREAM_BYTES_MAX / piece.len() {
            splitter.take(piece.clone()).expect("fits");
        }
        assert_eq!(splitter.take(piece), Err(AttemptFailure::TooMuch("bytes of one answer")));
    }
}
