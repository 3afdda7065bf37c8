//! One turn's questions: shown on its board, and waited for until somebody decides, it is too late,
//! or the turn is stopped.

use super::{ApprovalPlace, ApprovalService, words};
use crate::people::{Served, UNKNOWN_LOOK};
use crate::send_error::SendError;
use crate::session_queue::TurnSlot;
use async_trait::async_trait;
use cofferdam_agent::server::Backoff;
use cofferdam_agent::tools::{ApprovalRequest, Approver, Decision};
use cofferdam_core::id::Caller;
use cofferdam_policy::GuestPath;
use cofferdam_store::{self as store, ApprovalState, ApprovedPaths, NewApproval, new_name, now_ms};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where the questions of one turn are shown, and what its channel knows of the people there.
#[async_trait]
pub trait ApprovalDisplay: Send + Sync + 'static {
    /// The chat, in the channel's own words: kept with each question, and handed back when it is
    /// pressed.
    fn chat(&self) -> String;

    /// Those of these people who are served, and so may decide; none where nobody of them sees it
    /// here.
    fn approvers(&self, named: Vec<String>) -> Vec<String>;

    /// Whether the person who asked is served still: one who was removed meanwhile gets nothing.
    fn asker_served(&self) -> Served;

    /// Whether a question that is shown as this message can be answered there, or has to be shown
    /// again.
    fn is_shown_as(&self, _message: &str) -> bool {
        true
    }

    /// Whether a question that is shown twice is there once, as the same message.
    fn is_shown_once(&self) -> bool {
        false
    }

    /// Shows a question with a choice for each [`Verb`](super::Verb), which carries its data of
    /// this id. Returns what names the message. What time may heal is tried again.
    async fn show(&self, id: &str, approval: &ApprovalRequest) -> Result<String, SendError>;

    /// Says below a question what came of it, which takes its choices away.
    fn change(&self, message: &str, question: &str, outcome: &str) -> Changing;
}

/// Changes a message; whether that is done, or never can be. Best effort: it gives up in time.
pub type Changing = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Tries to take the choices away, over some minutes: a press after that is told that it is too
/// late all the same.
const EDITS_MAX: u32 = 12;

/// After this it is looked whether a question to one person, whose time begins then, is shown.
const UNSHOWN_LOOK: Duration = Duration::from_secs(1);

/// How long a question that ends is waited for while it is being sent: one that comes to stand
/// there has choices, which must go.
const IN_FLIGHT_MAX: Duration = Duration::from_secs(5);

/// Changes a message; an attempt that fails is made again where that can help. Pauses grow to half
/// a minute.
pub fn change_message<F>(attempt: impl FnMut() -> F + Send + 'static) -> Changing
where
    F: Future<Output = Result<(), SendError>> + Send + 'static,
{
    Box::pin(retry_change(attempt, Backoff::new(Duration::from_secs(1), Duration::from_secs(30))))
}

async fn retry_change<F>(mut attempt: impl FnMut() -> F, mut backoff: Backoff) -> bool
where
    F: Future<Output = Result<(), SendError>>,
{
    for _ in 0..EDITS_MAX {
        let pause = match attempt().await {
            Ok(()) | Err(SendError::Refused(_) | SendError::Gone(_)) => return true,
            Err(SendError::Later(pause)) => pause,
            Err(SendError::Unreachable(_) | SendError::TooSlow(_)) => Duration::from_secs(1),
        };
        tokio::time::sleep(pause.max(backoff.pause())).await;
    }
    false
}

/// The approvals of one turn.
struct TurnApprovals<B> {
    approvals: ApprovalService,
    board: B,
    /// Who asked for its calls.
    asker: String,
    /// What they were called when they asked: the same for as long as the turn runs.
    asker_called: Option<String>,
    /// Given up while a person is waited for.
    slot: Arc<TurnSlot>,
}

impl ApprovalService {
    /// Asks about the calls of one turn, for the person who asked for them.
    pub fn new_approver(
        &self,
        board: impl ApprovalDisplay,
        asker: String,
        slot: Arc<TurnSlot>,
    ) -> Arc<dyn Approver> {
        let asker_called = self.names.get(&asker);
        Arc::new(TurnApprovals { approvals: self.clone(), board, asker, asker_called, slot })
    }

    /// Has the time of a question to one person begin now, unless it is noted as shown. `None` once
    /// the program stops.
    pub(super) async fn begin_time(&self, id: &str) -> Option<()> {
        let Self { store, store_retry, rules, .. } = self;
        let begin = || store.restart_approval(id, rules.expires_ms());
        store_retry.store_until_done("begin the time of an approval", begin).await
    }

    /// Returns while no other node can ask the same; `None` once the program stops.
    async fn ensure_lease(&self) -> Option<()> {
        let Self { store, store_retry, .. } = self;
        store_retry.store_until_done("ask whether this node is there", || store.ensure_lease()).await
    }
}

#[async_trait]
impl<B: ApprovalDisplay> Approver for TurnApprovals<B> {
    fn find_approved(&self, tool: &str, paths: &[GuestPath]) -> Vec<GuestPath> {
        let texts: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let known = self.approvals.store.approved_paths(&self.person(tool), &texts).unwrap_or_else(|error| {
            tracing::error!(%error, "what was approved before is unreadable, so it is asked about again");
            Vec::new()
        });
        paths.iter().filter(|path| known.iter().any(|known| known == path.as_str())).cloned().collect()
    }

    async fn remember_approved(&self, tool: &str, paths: &[GuestPath]) {
        let ApprovalService { store, store_retry, .. } = &self.approvals;
        let (person, paths) = (self.person(tool), paths.iter().map(ToString::to_string).collect::<Vec<_>>());
        let remember = || store.remember_paths(person.clone(), paths.clone());
        // Where the program stops first, they are asked about again.
        store_retry.store_until_done("remember approved paths", remember).await;
    }

    fn asker_name(&self) -> Option<String> {
        self.asker_called.clone()
    }

    async fn decide(&self, approval: &ApprovalRequest, cancel: &CancellationToken) -> Decision {
        self.slot.leave();
        let decision = self.decide(approval, cancel).await;
        tokio::select! {
            // First, so that it is not counted as left any more.
            biased;
            () = self.slot.take_back() => {}
            () = cancel.cancelled() => {}
        }
        decision.unwrap_or(Decision::Withdrawn)
    }
}

impl<B: ApprovalDisplay> TurnApprovals<B> {
    /// What came of it; `None`: the program stops, and the next start goes on waiting.
    async fn decide(&self, approval: &ApprovalRequest, cancel: &CancellationToken) -> Option<Decision> {
        let ApprovalService { store, store_retry, .. } = &self.approvals;
        let rules = self.approvals.current_rules();
        let named = match rules.approvers.as_slice() {
            [] => vec![self.asker.clone()],
            named => named.to_vec(),
        };
        let (chat, approvers) = (self.board.chat(), self.board.approvers(named));
        let asker = Some(self.asker.clone());
        let place = ApprovalPlace { chat, approvers, asker, are_named: rules.are_named };
        if place.approvers.is_empty() {
            return Some(Decision::Unasked(words::NOBODY_HERE.to_owned()));
        }
        let Ok(id) = new_name() else {
            return Some(Decision::Unasked("the system gives no random numbers".to_owned()));
        };
        let new = NewApproval {
            id,
            channel: self.approvals.channel.clone(),
            call: approval.call.as_str().to_owned(),
            sha256: approval.sha256.clone(),
            place: place.to_text(),
            expires_at: now_ms().saturating_add(rules.expires_ms()),
        };
        let (asked, outdated) =
            store_retry.store_until_done("note an approval", || store.ask(new.clone())).await?;
        for outdated in outdated {
            self.close(&outdated, &approval.tool, Served::Yes);
        }
        let is_earlier = asked.id != new.id;
        let mut settled = self.await_settled(asked, approval, cancel).await?;
        // An earlier run may have shown it without having noted where: its choices must not stay.
        if is_earlier && settled.message.is_none() && self.board.is_shown_once() {
            settled.message = tokio::select! {
                shown = self.show(&settled.id, approval, cancel) => shown.and_then(Result::ok),
                () = cancel.cancelled() => None,
            };
        }
        let mut served = self.board.asker_served();
        // Neither done nor refused for somebody of whom nobody knows now whether they are served.
        while (settled.state, served) == (ApprovalState::Approved, Served::Unknown)
            && cancel.run_until_cancelled(tokio::time::sleep(UNKNOWN_LOOK)).await.is_some()
        {
            served = self.board.asker_served();
        }
        self.close(&settled, &approval.text, served);
        self.to_decision(settled, approval, served, cancel.is_cancelled())
    }

    /// The approval once it is decided.
    async fn await_settled(
        &self,
        asked: store::ApprovalRow,
        approval: &ApprovalRequest,
        cancel: &CancellationToken,
    ) -> Option<store::ApprovalRow> {
        let id = asked.id.clone();
        let left = time_left(asked.expires_at, now_ms(), self.approvals.rules.expires);
        let over = CancellationToken::new();
        let waited = self.show_and_wait(asked, approval, &over);
        tokio::pin!(waited);
        let ends = tokio::select! {
            waited = &mut waited => return waited,
            expired = self.await_expiry(&id, left) => {
                expired?;
                ApprovalState::Expired
            }
            () = cancel.cancelled() => {
                if self.approvals.stop.now.is_cancelled() {
                    return None;
                }
                ApprovalState::Withdrawn
            }
        };
        over.cancel();
        if let Ok(Some(settled)) = tokio::time::timeout(IN_FLIGHT_MAX, waited).await {
            return Some(settled);
        }
        self.end(&id, ends).await
    }

    /// Returns once its time is over. That of a question to one person, who may be out of reach for
    /// long, begins once it is shown. `None` once the program stops.
    async fn await_expiry(&self, id: &str, mut left: Duration) -> Option<()> {
        let ApprovalService { store, store_retry, rules, .. } = &self.approvals;
        loop {
            tokio::time::sleep(left).await;
            if !rules.are_named {
                return Some(());
            }
            let asked = store_retry.store_until_done("look up an approval", || store.approval(id)).await??;
            if asked.message.is_some() {
                tokio::time::sleep(time_left(asked.expires_at, now_ms(), rules.expires)).await;
                return Some(());
            }
            left = rules.expires.max(UNSHOWN_LOOK);
        }
    }

    /// Shows it, unless it was shown before a restart, and waits for somebody's decision. None once
    /// it is `over`, and where it is shown is noted.
    async fn show_and_wait(
        &self,
        mut asked: store::ApprovalRow,
        approval: &ApprovalRequest,
        over: &CancellationToken,
    ) -> Option<store::ApprovalRow> {
        let ApprovalService { store, store_retry, decided, .. } = &self.approvals;
        let mut presses = decided.subscribe();
        loop {
            presses.borrow_and_update();
            asked =
                store_retry.store_until_done("look up an approval", || store.approval(&asked.id)).await??;
            if asked.state != ApprovalState::Asked {
                return Some(asked);
            }
            if self.board.asker_served() == Served::No || !self.approvals.can_be_decided(&asked.place) {
                return self.end(&asked.id, ApprovalState::Withdrawn).await;
            }
            if over.is_cancelled() {
                return None;
            }
            if asked.message.as_deref().is_some_and(|message| self.board.is_shown_as(message)) {
                tokio::select! {
                    changed = presses.changed() => changed.ok()?,
                    () = over.cancelled() => {}
                }
                continue;
            }
            // Not yet, or where nobody can press any more.
            match self.show(&asked.id, approval, over).await? {
                Ok(message) => {
                    let note = || store.mark_approval_shown(&asked.id, &message);
                    store_retry.store_until_done("note where an approval is shown", note).await?;
                    tracing::debug!(call = %approval.call, "an approval is shown");
                }
                Err(failure) => {
                    tracing::warn!(call = %approval.call, %failure, "an approval cannot be shown");
                    return self.end(&asked.id, ApprovalState::Withdrawn).await;
                }
            }
        }
    }

    /// Shows it, however often that takes, unless it never can be; none where it is `over` before.
    async fn show(
        &self,
        id: &str,
        approval: &ApprovalRequest,
        over: &CancellationToken,
    ) -> Option<Result<String, SendError>> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        loop {
            // A pause may have been longer than the lease: then another node asks.
            self.approvals.ensure_lease().await?;
            let shown = self.board.show(id, approval).await;
            // Where the answer was lost it may be there all the same.
            if self.approvals.rules.are_named {
                self.approvals.begin_time(id).await?;
            }
            let pause = match shown {
                Err(SendError::Later(pause)) => pause,
                Err(SendError::Unreachable(_) | SendError::TooSlow(_)) => Duration::ZERO,
                settled => return Some(settled),
            };
            tokio::select! {
                () = tokio::time::sleep(pause.max(backoff.pause())) => {}
                () = over.cancelled() => return None,
            }
        }
    }

    /// Ends it, unless somebody has decided it.
    async fn end(&self, id: &str, state: ApprovalState) -> Option<store::ApprovalRow> {
        let ApprovalService { store, store_retry, .. } = &self.approvals;
        store_retry.store_until_done("end an approval", || store.decide(id, state, None)).await?
    }

    fn to_decision(
        &self,
        settled: store::ApprovalRow,
        approval: &ApprovalRequest,
        served: Served,
        is_cancelled: bool,
    ) -> Option<Decision> {
        let by = settled.decided_by.unwrap_or_default();
        let by = Caller { channel: approval.caller.channel.clone(), sender: by };
        Some(match settled.state {
            ApprovalState::Approved => match served {
                Served::Yes => Decision::Approved(by),
                Served::No => Decision::Unasked(words::ASKER_REMOVED.to_owned()),
                Served::Unknown => return None,
            },
            ApprovalState::Denied => Decision::Denied(by),
            ApprovalState::Expired => Decision::Expired,
            ApprovalState::Withdrawn if settled.message.is_none() && !is_cancelled => {
                Decision::Unasked(words::NOT_SHOWN.to_owned())
            }
            ApprovalState::Withdrawn | ApprovalState::Asked => Decision::Withdrawn,
        })
    }

    /// Says below the call what was decided, in the background; that its choices are gone is noted,
    /// so that the next start does not look for them.
    fn close(&self, settled: &store::ApprovalRow, text: &str, served: Served) {
        let Some(message) = &settled.message else { return };
        let below = words::describe_settled(settled, served, &self.approvals.names);
        let changing = self.board.change(message, text, &below);
        let (approvals, id) = (self.approvals.clone(), settled.id.clone());
        tokio::spawn(async move {
            // Where others have taken this node's work over, they say it.
            if approvals.ensure_lease().await.is_some()
                && changing.await
                && let Err(error) = approvals.store.mark_choices_gone(&id).await
            {
                tracing::debug!(%error, "the next start takes the choices of a question away again");
            }
        });
    }

    /// Whose calls of a tool are meant.
    fn person(&self, tool: &str) -> ApprovedPaths {
        let (channel, sender) = (self.approvals.channel.clone(), self.asker.clone());
        ApprovedPaths { channel, sender, tool: tool.to_owned() }
    }
}

/// How long an approval still waits: never longer than one that is asked for now, however the clock
/// was set since.
fn time_left(expires_at: i64, now: i64, expires: Duration) -> Duration {
    let left = u64::try_from(expires_at.saturating_sub(now)).unwrap_or(0);
    Duration::from_millis(left).min(expires)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn choices_that_cannot_be_taken_away_are_left_after_some_tries() {
        let (mut tries, none) = (0, Backoff::new(Duration::ZERO, Duration::ZERO));
        let failing = || {
            tries += 1;
            std::future::ready(Err(SendError::Later(Duration::ZERO)))
        };
        assert!(!retry_change(failing, none.clone()).await, "they are there still");
        assert_eq!(tries, EDITS_MAX);
        assert!(retry_change(|| std::future::ready(Ok(())), none).await);
    }

    #[test]
    fn an_approval_waits_no_longer_than_configured_whatever_the_clock_says() {
        let expires = Duration::from_secs(600);
        for (expires_at, now, seconds) in [
            (600_000, 0, 600),
            (600_000, 599_000, 1),
            (600_000, 600_000, 0),
            (600_000, 900_000, 0),
            // The clock was set back while the gateway was away, or the configuration allows less
            // now.
            (86_400_000, 0, 600),
            (i64::MAX, i64::MIN, 600),
            (i64::MIN, i64::MAX, 0),
        ] {
            assert_eq!(
                time_left(expires_at, now, expires),
                Duration::from_secs(seconds),
                "{expires_at} {now}"
            );
        }
    }
}
