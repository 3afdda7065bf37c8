//! Progress of a call, for a client that gave a token: it rises, says what happens, and ends before
//! the answer.

use cofferdam_core::text::one_line;
use cofferdam_warden::sandbox::Reports;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Reports that wait to be sent; more are dropped, since the next one says more.
const REPORTS_MAX: usize = 16;
/// A report's longest text.
const REPORT_BYTES_MAX: usize = 400;
/// How often a call that says nothing is told of, so that a client's patience does not end.
const BEAT: Duration = Duration::from_secs(5);

/// Progress that is being told.
pub(crate) struct ProgressReport {
    reports: Sender<String>,
    over: CancellationToken,
    telling: JoinHandle<()>,
}

impl ProgressReport {
    /// Tells of a call of this tool from here on, until `closing` is cancelled.
    pub(crate) fn begin(
        peer: Peer<RoleServer>,
        token: ProgressToken,
        tool: &str,
        closing: CancellationToken,
    ) -> Self {
        let (reports, reported) = channel(REPORTS_MAX);
        let over = CancellationToken::new();
        let telling = tell((peer, token), one_line(tool, 80), (over.clone(), closing), reported);
        Self { reports, over, telling: tokio::spawn(telling) }
    }

    /// Takes what the call says.
    pub(crate) fn reports(&self) -> Reports {
        let reports = self.reports.clone();
        Arc::new(move |text| drop(reports.try_send(one_line(text, REPORT_BYTES_MAX))))
    }

    /// Returns when nothing more is sent.
    pub(crate) async fn end(self) {
        self.over.cancel();
        // Not aborted: what is on its way must be out before the answer.
        let _ = self.telling.await;
    }
}

async fn tell(
    (peer, token): (Peer<RoleServer>, ProgressToken),
    tool: String,
    (over, closing): (CancellationToken, CancellationToken),
    mut reported: Receiver<String>,
) {
    let mut step = 0;
    let mut text = format!("{tool} runs");
    let mut beat = tokio::time::interval(BEAT);
    beat.reset();
    loop {
        step += 1;
        let said = ProgressNotificationParam::new(token.clone(), f64::from(step)).with_message(text);
        let is_sent = tokio::select! {
            sent = peer.notify_progress(said) => sent.is_ok(),
            // The library takes none then, and says nothing of that: the answer would wait for it.
            () = closing.cancelled() => false,
        };
        if !is_sent {
            return;
        }
        text = tokio::select! {
            () = over.cancelled() => return,
            report = reported.recv() => match report {
                Some(report) => report,
                None => return,
            },
            _ = beat.tick() => format!("{tool} is still at it"),
        };
    }
}
