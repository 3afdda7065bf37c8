//! The lines that are typed into a chat, up to its end: `/quit`, or Ctrl-D. After that there are
//! none, anyone who asks: a terminal would go on where Ctrl-D was typed. A line that is longer than
//! any message can be is refused, and one that is no text is passed over.

use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Bytes of a line: the longest arguments that any tool may take, and room for the command.
const TYPED_BYTES_MAX: usize = 17 << 20;

/// The lines, one after the other.
pub(super) struct TypedLines<R> {
    reader: R,
    /// What came of the next one.
    begun: Vec<u8>,
    ended: bool,
}

impl<R: AsyncBufRead + Unpin> TypedLines<R> {
    /// What is typed here.
    pub(super) fn into(reader: R) -> Self {
        Self { reader, begun: Vec::new(), ended: false }
    }

    /// The next line; none at the end, and never again after it. Nothing is lost by not waiting for
    /// it.
    pub(super) async fn next(&mut self) -> io::Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        let line = self.line().await?.filter(|line| line.trim() != "/quit");
        self.ended = line.is_none();
        Ok(line)
    }

    async fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            // What came of the line stays in `begun` where nobody waits for its end.
            let left = (TYPED_BYTES_MAX + 1).saturating_sub(self.begun.len());
            (&mut self.reader).take(left as u64).read_until(b'\n', &mut self.begun).await?;
            if self.begun.len() > TYPED_BYTES_MAX {
                let said = format!("a line is longer than {} MiB", TYPED_BYTES_MAX >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, said));
            }
            let is_last = !self.begun.ends_with(b"\n");
            if is_last && self.begun.is_empty() {
                return Ok(None);
            }
            let Ok(line) = String::from_utf8(std::mem::take(&mut self.begun)) else {
                super::tell("that line is not UTF-8 text");
                if is_last {
                    return Ok(None);
                }
                continue;
            };
            let line = line.strip_suffix('\n').unwrap_or(&line);
            return Ok(Some(line.strip_suffix('\r').unwrap_or(line).to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncRead, BufReader, ReadBuf};

    /// A terminal: each of these is typed, and an empty one is Ctrl-D, after which it goes on.
    struct Terminal(Vec<&'static str>);

    impl AsyncRead for Terminal {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if !self.0.is_empty() {
                buffer.put_slice(self.0.remove(0).as_bytes());
            }
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn the_end_is_for_good() {
        for typed in
            [vec!["a\n", "", "b\n"], vec!["a\r\n", " /quit \n", "b\n"], vec!["a\n/quit\nb\n"], vec!["a"]]
        {
            let mut lines = TypedLines::into(BufReader::new(Terminal(typed.clone())));
            let mut found = Vec::new();
            for _ in 0..4 {
                found.push(lines.next().await.expect("text"));
            }
            assert_eq!(found, [Some("a".to_owned()), None, None, None], "{typed:?}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_no_text_costs_no_other() {
        for typed in [&b"a\n\xff\nb\n"[..], b"a\nb\n\xfe\xff"] {
            let mut lines = TypedLines::into(typed);
            for expected in [Some("a"), Some("b"), None] {
                assert_eq!(lines.next().await.expect("read").as_deref(), expected);
            }
        }
    }

    #[tokio::test]
    async fn a_line_comes_whole_in_pieces_or_not_at_all_when_it_is_too_long() {
        let mut lines = TypedLines::into(BufReader::new(Terminal(vec!["a", "\u{e4}b", "c\nd", "\n", "\n"])));
        for expected in ["a\u{e4}bc", "d", ""] {
            assert_eq!(lines.next().await.expect("text").as_deref(), Some(expected));
        }
        let long = |bytes: usize| [vec![b'x'; bytes - 1], b"\nnext\n".to_vec()].concat();
        let long_enough = long(TYPED_BYTES_MAX);
        let mut lines = TypedLines::into(&long_enough[..]);
        assert_eq!(lines.next().await.expect("text").map(|line| line.len()), Some(TYPED_BYTES_MAX - 1));
        assert_eq!(lines.next().await.expect("text").as_deref(), Some("next"));
        let too_long = long(TYPED_BYTES_MAX + 1);
        let error = TypedLines::into(&too_long[..]).next().await.expect_err("too long");
        assert!(error.to_string().contains("longer than 17 MiB"), "{error}");
    }
}
