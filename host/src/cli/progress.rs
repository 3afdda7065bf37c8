//! What a long call is doing, on standard error: on a terminal one line that is written over, elsewhere a
//! line now and then. Standard output stays the answers'.

use crate::turn::{Newest, Patience, Progress, Sight, Watcher};
use cofferdam_core::text::one_line;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How old a call must be to be worth a line, and the time between two lines.
const EVERY: Duration = Duration::from_millis(500);
const PATIENCE: Patience = Patience { doing: EVERY, saying: EVERY };
/// On a terminal a line must not wrap, or it could not be written over.
const COLUMNS: usize = 76;

/// Shown until it is ended.
pub(super) struct Shown {
    newest: Arc<Newest>,
    task: JoinHandle<()>,
    end: CancellationToken,
}

impl Shown {
    /// For one turn.
    pub(super) fn start() -> Self {
        let (newest, watcher) = Newest::new();
        let end = CancellationToken::new();
        Self { newest, task: tokio::spawn(show(watcher, end.clone())), end }
    }

    /// Takes what is to be shown.
    pub(super) fn progress(&self) -> Arc<dyn Progress> {
        self.newest.clone()
    }

    /// Stops, and clears the line.
    pub(super) async fn end(self) {
        self.end.cancel();
        // It cannot fail but by a panic, which has said so itself.
        let _ = self.task.await;
    }
}

async fn show(mut watcher: Watcher, end: CancellationToken) {
    let (mut err, on_terminal) = (tokio::io::stderr(), std::io::stderr().is_terminal());
    let mut pause = Duration::ZERO;
    let mut shown = false;
    loop {
        let words = tokio::select! {
            biased;
            () = end.cancelled() => break,
            words = async { tokio::time::sleep(pause).await; watcher.next(PATIENCE).await } => words,
        };
        let words = match words {
            None => break,
            Some(Sight::Doing(words)) => words,
            // It is on standard output, and has taken the line.
            Some(Sight::Saying(_)) => {
                (shown, pause) = (false, EVERY);
                continue;
            }
        };
        let line = match on_terminal {
            true => format!("\r\x1b[K⏳ {}", one_line(&words, COLUMNS)),
            false => format!("⏳ {words}\n"),
        };
        // Nobody reads it: the answer is what counts.
        if err.write_all(line.as_bytes()).await.is_err() || err.flush().await.is_err() {
            break;
        }
        (shown, pause) = (true, EVERY);
    }
    if shown && on_terminal {
        let _ = err.write_all(b"\r\x1b[K").await;
        let _ = err.flush().await;
    }
}
