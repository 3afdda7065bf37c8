//! What a long call is doing, on standard error: on a terminal one line that is written over,
//! elsewhere a line now and then. Standard output stays the answers'.

use async_trait::async_trait;
use cofferdam_chat::{LiveStatus, StatusDelays, StatusText, TurnDisplay};
use cofferdam_core::text::one_line;
use std::io::IsTerminal;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, Stderr};

/// How old a call must be to be worth a line, and the time between two lines.
const EVERY: Duration = Duration::from_millis(500);
const PATIENCE: StatusDelays = StatusDelays { doing: EVERY, saying: EVERY };
/// On a terminal a line must not wrap, or it could not be written over.
const COLUMNS: usize = 76;

pub(super) struct ProgressLine {
    err: Stderr,
    on_terminal: bool,
    /// Whether it stands on the terminal.
    stands: bool,
}

impl ProgressLine {
    /// Shows one turn until it is ended.
    pub(super) fn start() -> LiveStatus<Self> {
        let on_terminal = std::io::stderr().is_terminal();
        LiveStatus::start(Self { err: tokio::io::stderr(), on_terminal, stands: false }, PATIENCE)
    }

    pub(super) async fn clear(mut self) {
        if self.stands {
            self.write("\r\x1b[K").await;
        }
    }

    async fn write(&mut self, text: &str) {
        // If nobody reads it: the answer is what counts.
        let _ = self.err.write_all(text.as_bytes()).await;
        let _ = self.err.flush().await;
    }
}

#[async_trait]
impl TurnDisplay for ProgressLine {
    async fn room(&mut self) {}

    async fn show(&mut self, sight: StatusText) -> Duration {
        self.stands = match sight {
            StatusText::Doing(words) if self.on_terminal => {
                self.write(&format!("\r\x1b[K⏳ {}", one_line(&words, COLUMNS))).await;
                true
            }
            StatusText::Doing(words) => {
                self.write(&format!("⏳ {words}\n")).await;
                false
            }
            // It is on standard output, and has taken the line.
            StatusText::Saying(_) => false,
        };
        EVERY
    }
}
