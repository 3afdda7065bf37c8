//! The approvals on a board that is a list.

use super::*;
use crate::people::Served;
use crate::send_error::SendError;
use crate::session_queue::{TurnPlaces, TurnSlot};
use async_trait::async_trait;
use cofferdam_agent::tools::{ApprovalRequest, Decision};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_store::{NewApproval, Store, new_name};
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// What was shown: the ids of questions; and what was put in their place.
struct List {
    shown: UnboundedSender<String>,
    /// A question comes to stand there once it has one.
    sent: Arc<Semaphore>,
    changed: Arc<Mutex<Vec<String>>>,
    served: Arc<Mutex<Served>>,
}

#[async_trait]
impl ApprovalDisplay for List {
    fn chat(&self) -> String {
        "here".to_owned()
    }

    fn approvers(&self, mut named: Vec<String>) -> Vec<String> {
        named.retain(|person| person != "stranger");
        named
    }

    fn asker_served(&self) -> Served {
        *self.served.lock().expect("held shortly")
    }

    async fn show(&self, id: &str, _: &ApprovalRequest) -> Result<String, SendError> {
        self.shown.send(id.to_owned()).map_err(|_| SendError::Gone("nobody looks".to_owned()))?;
        self.sent.acquire().await.expect("it stays open").forget();
        Ok("message".to_owned())
    }

    fn change(&self, message: &str, _: &str, outcome: &str) -> Changing {
        let (changed, line) = (self.changed.clone(), format!("{message}: {outcome}"));
        Box::pin(async move {
            changed.lock().expect("held shortly").push(line);
            true
        })
    }
}

/// A approvals with one question on its way.
struct Fixture {
    approvals: ApprovalService,
    shown: UnboundedReceiver<String>,
    sent: Arc<Semaphore>,
    changed: Arc<Mutex<Vec<String>>>,
    /// Whether the asker is.
    served: Arc<Mutex<Served>>,
    cancel: CancellationToken,
    decision: tokio::task::JoinHandle<Decision>,
}

fn asked(approvers: &[&str], expires: Duration) -> Fixture {
    slowly(approvers, expires, Semaphore::MAX_PERMITS)
}

/// The same where so many questions are shown.
fn slowly(approvers: &[&str], expires: Duration, sent: usize) -> Fixture {
    let approvers = approvers.iter().map(ToString::to_string).collect();
    asked_under(Rules { approvers, expires, are_named: false }, sent)
}

/// The same under these rules.
fn asked_under(rules: Rules, sent: usize) -> Fixture {
    let (stop, cancel) = (Stop::default(), CancellationToken::new());
    let store_retry = StoreRetry::new(stop.soon.clone(), |_| {});
    let approvals = ApprovalService::new(
        Store::in_memory().expect("a store"),
        (store_retry, stop),
        "test".to_owned(),
        rules,
    );
    approvals.names.insert(2, "Ben \"B\"");
    let (tell, shown) = unbounded_channel();
    let changed = Arc::<Mutex<Vec<String>>>::default();
    let sent = Arc::new(Semaphore::new(sent));
    let served = Arc::new(Mutex::new(Served::Yes));
    let board = List { shown: tell, sent: sent.clone(), changed: changed.clone(), served: served.clone() };
    let approver = approvals.new_approver(board, "ann".to_owned(), TurnSlot::new(&TurnPlaces::new(1)));
    let turn = TurnId::new("t");
    let approval = ApprovalRequest {
        call: turn.call(0),
        turn,
        caller: Caller { channel: "test".into(), sender: "ann".into() },
        tool: "file_write".to_owned(),
        text: "writes".to_owned(),
        sha256: "00".repeat(32),
        remember: Vec::new(),
    };
    let cancelled = cancel.clone();
    let decision = tokio::spawn(async move { approver.decide(&approval, &cancelled).await });
    Fixture { approvals, shown, sent, changed, served, cancel, decision }
}

impl Fixture {
    /// The question's id, once it is noted that it is shown.
    async fn shown(&mut self) -> String {
        let id = self.shown.recv().await.expect("a question");
        let store = &self.approvals.store;
        while store.approval(&id).await.expect("the store").expect("asked").message.is_none() {
            tokio::task::yield_now().await;
        }
        id
    }

    async fn press(&self, data: &str, by: Option<&str>, chat: &str) -> (String, bool) {
        let said = self.approvals.press(data, by, |shown| shown == chat).await;
        let said = said.expect("the program runs");
        (said.text, said.alert)
    }

    async fn ended(self) -> (Decision, Vec<String>) {
        let decision = self.decision.await.expect("no panic");
        // A task of its own changes the question.
        tokio::task::yield_now().await;
        (decision, std::mem::take(&mut *self.changed.lock().expect("held shortly")))
    }
}

fn person(sender: &str) -> Caller {
    Caller { channel: "test".into(), sender: sender.into() }
}

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn whoever_may_decides_once_and_nobody_else_does() {
    let mut fixture = asked(&["ann", "2"], LONG);
    let id = fixture.shown().await;
    let (yes, no) = (Verb::Approve.data(&id), Verb::Deny.data(&id));
    let gone = ("There is nothing to decide here any more.".to_owned(), true);
    assert_eq!(fixture.press(&yes, None, "here").await.0, words::NOT_SERVED);
    assert_eq!(fixture.press("approve:x", Some("ann"), "here").await, gone);
    assert_eq!(fixture.press(&yes, Some("ann"), "elsewhere").await, gone);
    assert!(fixture.press(&yes, Some("eve"), "here").await.0.starts_with("Only the people"));
    let (ben, ann) =
        tokio::join!(fixture.press(&no, Some("2"), "here"), fixture.press(&yes, Some("ann"), "here"));
    // Of two at once either may be the first; the other one is told so.
    assert_eq!((&ben.0, ben.1), (&ann.0, !ann.1));
    let (text, decision) = match ben.1 {
        false => ("❌ Denied by 2 (\"Ben \\\"B\\\"\").", Decision::Denied(person("2"))),
        true => ("✅ Approved by ann.", Decision::Approved(person("ann"))),
    };
    assert_eq!(ben.0, text);
    assert_eq!(fixture.ended().await, (decision, vec![format!("message: {text}")]));
}

#[tokio::test]
async fn who_approves_no_more_decides_nothing_that_waits() {
    let mut fixture = asked(&[], LONG);
    let yes = Verb::Approve.data(&fixture.shown().await);
    let rules = Rules { approvers: vec!["ben".to_owned()], expires: LONG, are_named: false };
    let renewed = fixture.approvals.renewed(rules);
    let said = renewed.press(&yes, Some("ann"), |_| true).await.expect("the program runs");
    assert_eq!(said, PressAnswer { text: "Only ann may decide this.".to_owned(), alert: true });
    renewed.look_again();
    // Nor does it wait for somebody to whom it was not shown.
    assert_eq!(fixture.ended().await.0, Decision::Withdrawn);
}

/// Who asked was not named when it was shown, and the others decide over nobody any more.
#[tokio::test]
async fn a_question_that_nobody_may_decide_any_more_is_withdrawn() {
    let mut fixture = asked(&["2"], LONG);
    let yes = Verb::Approve.data(&fixture.shown().await);
    let rules = Rules { approvers: Vec::new(), expires: LONG, are_named: false };
    let renewed = fixture.approvals.renewed(rules);
    renewed.look_again();
    for person in ["ann", "2"] {
        let said = renewed.press(&yes, Some(person), |_| true).await.expect("the program runs");
        assert_eq!(said, PressAnswer { text: "Only 2 may decide this.".to_owned(), alert: true });
    }
    let changed = vec!["message: 🚫 Withdrawn: this is not asked any more.".to_owned()];
    assert_eq!(fixture.ended().await, (Decision::Withdrawn, changed));
}

#[tokio::test]
async fn a_question_for_one_person_waits_for_them_whatever_else_is_configured() {
    let mut fixture = asked(&["ann"], LONG);
    let own = fixture.approvals.of_one("2", LONG);
    assert!(own.current_rules().are_named && !fixture.approvals.current_rules().are_named);
    let place = r#"{"chat":"here","approvers":["2"],"asker":"ann","named":true}"#;
    assert!(own.can_be_decided(place) && !own.can_be_decided(&place.replace("true", "false")));
    fixture.shown().await;
}

#[tokio::test]
async fn the_time_of_a_question_for_one_person_begins_once_it_is_shown() {
    let (approvers, expires) = (vec!["2".to_owned()], Duration::from_millis(50));
    let mut fixture = asked_under(Rules { approvers, expires, are_named: true }, 0);
    let id = fixture.shown.recv().await.expect("it is being sent");
    let store = fixture.approvals.store.clone();
    let row = async || store.approval(&id).await.expect("the store").expect("asked");
    let first = row().await.expires_at;
    tokio::time::sleep(expires * 3).await;
    fixture.sent.add_permits(1);
    while row().await.message.is_none() {
        tokio::task::yield_now().await;
    }
    assert!(row().await.expires_at >= first + 100, "all of its time is left");
    let changed = vec!["message: ⌛ Expired: nobody decided in time. Nothing was changed.".to_owned()];
    assert_eq!(fixture.ended().await, (Decision::Expired, changed));
}

/// It stands there before its platform has answered, and may be pressed at once.
#[tokio::test]
async fn a_press_counts_before_it_is_noted_that_the_question_is_shown() {
    let (approvers, expires) = (vec!["2".to_owned()], Duration::from_millis(50));
    let mut fixture = asked_under(Rules { approvers, expires, are_named: true }, 0);
    let yes = Verb::Approve.data(&fixture.shown.recv().await.expect("it is being sent"));
    tokio::time::sleep(expires * 3).await;
    let (text, alert) = fixture.press(&yes, Some("2"), "here").await;
    assert!(!alert, "{text}");
    fixture.sent.add_permits(1);
    assert_eq!(fixture.ended().await.0, Decision::Approved(person("2")));
}

#[tokio::test]
async fn once_nobody_approves_for_others_whoever_asked_decides_alone() {
    let mut fixture = asked(&["ann", "2"], LONG);
    let yes = Verb::Approve.data(&fixture.shown().await);
    let rules = Rules { approvers: Vec::new(), expires: LONG, are_named: false };
    let renewed = fixture.approvals.renewed(rules);
    let said = renewed.press(&yes, Some("2"), |_| true).await.expect("the program runs");
    assert!(said.alert && said.text.starts_with("Only the people"), "{said:?}");
    // Of what an earlier release has asked nobody knows who that was.
    let id = new_name().expect("random numbers");
    let before = NewApproval {
        id: id.clone(),
        channel: "test".to_owned(),
        call: "before/0".to_owned(),
        sha256: "11".repeat(32),
        place: r#"{"chat":"here","approvers":["2"]}"#.to_owned(),
        expires_at: i64::MAX,
    };
    renewed.store.ask(before).await.expect("the store");
    let said = renewed.press(&Verb::Approve.data(&id), Some("2"), |_| true).await.expect("the program runs");
    assert!(!said.alert, "{said:?}");
    let said = renewed.press(&yes, Some("ann"), |_| true).await.expect("the program runs");
    assert!(!said.alert, "{said:?}");
    assert_eq!(fixture.ended().await.0, Decision::Approved(person("ann")));
}

#[tokio::test]
async fn what_nobody_decides_is_over_in_time_or_when_its_turn_is_stopped() {
    assert_eq!(asked(&[], Duration::ZERO).ended().await.0, Decision::Expired);
    let mut fixture = asked(&[], LONG);
    fixture.shown().await;
    fixture.cancel.cancel();
    let changed = vec!["message: 🚫 Withdrawn: this is not asked any more.".to_owned()];
    assert_eq!(fixture.ended().await, (Decision::Withdrawn, changed));
    let nobody = asked(&["stranger"], LONG).ended().await.0;
    assert_eq!(nobody, Decision::Unasked(words::NOBODY_HERE.to_owned()));
}

#[tokio::test]
async fn a_question_waits_while_nobody_knows_whether_its_asker_is_served() {
    let removed = words::ASKER_REMOVED;
    for (then, decision, told) in [
        (Served::Yes, Decision::Approved(person("ann")), "✅ Approved by ann.".to_owned()),
        (Served::No, Decision::Unasked(removed.to_owned()), format!("🚫 Not done: {removed}.")),
    ] {
        let mut fixture = asked(&[], LONG);
        let yes = Verb::Approve.data(&fixture.shown().await);
        *fixture.served.lock().expect("held shortly") = Served::Unknown;
        fixture.approvals.look_again();
        tokio::task::yield_now().await;
        assert!(!fixture.press(&yes, Some("ann"), "here").await.1, "it is asked still");
        assert!(!fixture.decision.is_finished(), "nothing comes of it yet");
        *fixture.served.lock().expect("held shortly") = then;
        assert_eq!(fixture.ended().await, (decision, vec![format!("message: {told}")]));
    }
}

#[tokio::test]
async fn a_question_that_is_being_sent_while_it_ends_loses_its_choices() {
    for (expires, decision, told) in [
        (LONG, Decision::Withdrawn, "message: 🚫 Withdrawn: this is not asked any more."),
        (
            Duration::from_millis(50),
            Decision::Expired,
            "message: ⌛ Expired: nobody decided in time. Nothing was changed.",
        ),
    ] {
        for comes_to_stand in [true, false] {
            let mut fixture = slowly(&[], expires, 0);
            fixture.shown.recv().await.expect("it is being sent");
            match expires {
                LONG => fixture.cancel.cancel(),
                _ => tokio::time::sleep(expires * 2).await,
            }
            tokio::task::yield_now().await;
            fixture.sent.add_permits(usize::from(comes_to_stand));
            let changed = comes_to_stand.then(|| told.to_owned()).into_iter().collect();
            assert_eq!(fixture.ended().await, (decision.clone(), changed), "{comes_to_stand}");
        }
    }
}

#[tokio::test]
async fn a_node_that_was_taken_out_shows_no_question_and_changes_none() {
    let mut fixture = asked(&[], LONG);
    // Before its turn comes to ask.
    fixture.approvals.store.note_taken_over();
    fixture.approvals.stop.soon.cancel();
    assert_eq!(fixture.shown.recv().await, None);
    assert_eq!(fixture.ended().await, (Decision::Withdrawn, Vec::new()));
    let mut fixture = asked(&[], LONG);
    let no = Verb::Deny.data(&fixture.shown().await);
    fixture.approvals.store.note_taken_over();
    fixture.press(&no, Some("ann"), "here").await;
    assert_eq!(fixture.ended().await, (Decision::Denied(person("ann")), Vec::new()));
}

#[test]
fn a_place_is_read_as_earlier_releases_have_kept_it() {
    let (chat, approvers) = ("-5".to_owned(), vec!["7".to_owned()]);
    let place = ApprovalPlace { chat, approvers, asker: Some("8".to_owned()), are_named: false };
    assert_eq!(ApprovalPlace::read(&place.to_text()), Some(place.clone()));
    let before = ApprovalPlace { asker: None, ..place };
    assert_eq!(ApprovalPlace::read(&before.to_text()), Some(before.clone()));
    assert_eq!(ApprovalPlace::read(r#"{"chat":-5,"approvers":[7]}"#), Some(before));
    assert_eq!((ApprovalPlace::read("x"), ApprovalPlace::read("{}")), (None, None));
}
