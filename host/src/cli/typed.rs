//! The lines that are typed into a chat, up to its end: `/quit`, or Ctrl-D. After that there are none, whoever asks: a
//! terminal would go on where Ctrl-D was typed.

use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, Lines};

/// The lines, one after the other.
pub(super) struct Typed<R> {
    lines: Lines<R>,
    ended: bool,
}

impl<R: AsyncBufRead + Unpin> Typed<R> {
    /// What is typed here.
    pub(super) fn into(reader: R) -> Self {
        Self { lines: reader.lines(), ended: false }
    }

    /// The next line; none at the end, and never again after it. Nothing is lost by not waiting for it.
    ///
    /// # Errors
    /// When it cannot be read, or is no text.
    pub(super) async fn next(&mut self) -> io::Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        let line = self.lines.next_line().await?.filter(|line| line.trim() != "/quit");
        self.ended = line.is_none();
        Ok(line)
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
            [vec!["a\n", "", "b\n"], vec!["a\n", " /quit \n", "b\n"], vec!["a\n/quit\nb\n"], vec!["a\n"]]
        {
            let mut lines = Typed::into(BufReader::new(Terminal(typed.clone())));
            let mut found = Vec::new();
            for _ in 0..4 {
                found.push(lines.next().await.expect("text"));
            }
            assert_eq!(found, [Some("a".to_owned()), None, None, None], "{typed:?}");
        }
    }
}
