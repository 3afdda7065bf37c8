//! Shows what a turn has to show, by a screen that knows how, at a pace of its own: always the
//! newest, and nothing any more once it is ended.

use crate::{LatestStep, StatusDelays, StatusText, StatusWatcher};
use async_trait::async_trait;
use cofferdam_agent::turn::StepListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Where a turn is shown: a message that is edited, a line on a terminal.
#[async_trait]
pub trait TurnDisplay: Send + 'static {
    /// Before anything else.
    async fn begin(&mut self) {}

    /// Waits until there is room for something that could be left out; for ever once nothing more
    /// can be shown. Dropping the future loses nothing.
    async fn room(&mut self);

    /// Shows it in the place of what was shown before; how long that is left so.
    async fn show(&mut self, sight: StatusText) -> Duration;

    /// Whether that was left out, and nothing stands there: then it comes again.
    fn is_left_out(&self) -> bool {
        false
    }
}

/// A turn that is shown until this is ended.
pub struct LiveStatus<S> {
    newest: Arc<LatestStep>,
    task: JoinHandle<S>,
    end: CancellationToken,
}

impl<S: TurnDisplay> LiveStatus<S> {
    /// Waits for something to show that has been going on for as long as `patience` says.
    pub fn start(screen: S, patience: StatusDelays) -> Self {
        let (newest, watcher) = LatestStep::new();
        let end = CancellationToken::new();
        Self { newest, task: tokio::spawn(run(screen, watcher, patience, end.clone())), end }
    }

    /// Takes what is to be shown.
    pub fn progress(&self) -> Arc<dyn StepListener> {
        self.newest.clone()
    }

    /// Stops, once nothing about it is under way; the screen as it is then. `None`: it has
    /// panicked, and said so.
    pub async fn end(mut self) -> Option<S> {
        self.end.cancel();
        (&mut self.task).await.ok()
    }
}

impl<S> Drop for LiveStatus<S> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run<S: TurnDisplay>(
    mut screen: S,
    mut watcher: StatusWatcher,
    patience: StatusDelays,
    end: CancellationToken,
) -> S {
    let mut pause = Duration::ZERO;
    screen.begin().await;
    loop {
        // What comes while there is no room takes the place of what was there: nothing waits behind
        // another.
        let seen = async {
            sleep(pause).await;
            let seen = watcher.next(patience).await?;
            screen.room().await;
            Some(watcher.newest().unwrap_or(seen))
        };
        let Some(Some(seen)) = end.run_until_cancelled(seen).await else { return screen };
        pause = screen.show(seen).await;
        if screen.is_left_out() {
            watcher.return_again();
        }
    }
}
