//! Runs that a turn begins: of a reply, the end of the time and the end of the run one counts, and
//! what counts is in the inbox once.

use super::conformance::waits::{answering, waiting};
use super::postgres::nodes::join;
use super::*;

const HOUR: i64 = 3_600_000;

fn run() -> NewRun {
    NewRun {
        run: "turn-1".into(),
        workflow: "turn".into(),
        by: caller("ann"),
        began_with: "{}".into(),
        file_sha256: String::new(),
        tasks: Vec::new(),
        owner: RunOwner::Turn,
        answer_to: Some(AnswerTo { channel: CHANNEL.into(), target: "there".into() }),
        answers: false,
    }
}

fn message(turn: &str) -> NewMessage {
    NewMessage {
        run: "turn-1".into(),
        task: 0,
        channel: CHANNEL.into(),
        recipient: "ben".into(),
        texts: vec![plain_letters("When is it?")],
        is_awaited: true,
        telling: NewTelling {
            turn: TurnId::new(turn),
            reply: text_reply(&["When is it?"]),
            files: Vec::new(),
            place: None,
        },
    }
}

fn wait(id: &str, message: &str) -> NewTurnWait {
    NewTurnWait { run: "turn-1".into(), id: id.into(), message: message.into(), patience: HOUR }
}

fn replies(update_id: i64, album: Option<&str>, files: &str) -> NewUpdate {
    let answers = WaitReply {
        message: "77".into(),
        text: "When is it?".into(),
        reply: format!("{{\"n\":{update_id}}}"),
        files: Some(files.into()),
    };
    let headers = Headers { answers: Some(answers), ..headers("ben's", "ben", QueueMode::Turn) };
    NewUpdate { fate: UpdateFate::Pending(headers), ..new(update_id, album) }
}

fn going(due: &DueWait) -> GoingOn {
    GoingOn {
        run: due.run.clone(),
        task: due.task,
        reply: due.reply.clone(),
        output: "{}".into(),
        channel: CHANNEL.into(),
        session: SessionId::new("s"),
        sender: "ann".into(),
        update_id: -5,
        raw: "goes on".into(),
    }
}

struct World {
    dir: tempfile::TempDir,
    store: Store,
}

impl World {
    /// Turn 1 of Ann has begun a run, and its message to Ben is out as 77.
    async fn sent() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::open(dir.path()).expect("a store");
        store.persist(CHANNEL, vec![new(1, None)]).await.expect("it");
        let turn = store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it").expect("bound").turn;
        for _ in 0..2 {
            assert!(store.begin_turn_run(run(), turn.clone(), 1).await.expect("begun"), "one, however often");
        }
        let other = NewRun { run: "turn-2".into(), ..run() };
        assert!(!store.begin_turn_run(other, turn, 1).await.expect("asked"), "one is open");
        let kept = store.keep_turn_message("send-1", message("turn-1/send-1")).await.expect("kept");
        assert_eq!(kept.expect("the first time").parts.len(), 1);
        let again = store.keep_turn_message("send-1", message("turn-1/send-1")).await.expect("asked");
        assert_eq!(again, None, "kept once");
        let turn = TurnId::new("turn-1/send-1");
        store.mark_part_sent(&turn, 0, "77").await.expect("noted");
        assert_eq!(store.load_send_state(&turn).await.expect("asked"), SendState::Out(vec!["77".into()]));
        store.end_turn_task("turn-1", "send-1", Ok("{}".into())).await.expect("kept");
        Self { dir, store }
    }

    async fn waiting() -> Self {
        let world = Self::sent().await;
        assert_eq!(world.waits("wait-1", "77").await, TurnWaited::Begun);
        world
    }

    fn restart(self) -> Self {
        let store = Store::open(self.dir.path()).expect("a store");
        Self { dir: self.dir, store }
    }

    async fn waits(&self, id: &str, message: &str) -> TurnWaited {
        self.store.wait_in_turn(wait(id, message), now_ms()).await.expect("asked")
    }

    async fn due(&self, later: i64) -> Vec<DueWait> {
        self.store.due_waits(now_ms() + later).await.expect("asked")
    }

    async fn state(&self) -> RunState {
        self.store.load_run("turn-1").await.expect("asked").expect("there").state
    }

    async fn end_turn(&self, id: i64) {
        let turn = TurnId::new(format!("{CHANNEL}-{id}"));
        self.store.end(CHANNEL, &turn, text_reply(&["done"])).await.expect("ended");
    }

    async fn idle(&self, later: i64) -> Vec<String> {
        self.store.end_idle_turn_runs(now_ms() + later).await.expect("asked")
    }

    async fn pending(&self) -> Vec<i64> {
        ids(&self.store.pending(CHANNEL, None, 9).await.expect("it"))
    }
}

#[tokio::test]
async fn a_reply_goes_on_once_and_is_answered_as_any_message() {
    let world = World::waiting().await;
    assert!(world.due(0).await.is_empty());
    assert_eq!(
        (world.waits("wait-1", "77").await, world.waits("wait-2", "77").await),
        (TurnWaited::Again, TurnWaited::Again)
    );
    world.store.persist(CHANNEL, vec![replies(2, None, "[1]")]).await.expect("kept");
    assert_eq!(world.pending().await, [0_i64; 0], "it begins no turn of its own");
    let world = world.restart();
    let due = world.due(0).await;
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].reply.as_deref(), due[0].files.as_deref()), (Some("{\"n\":2}"), Some("[1]")));
    assert_eq!(due[0].from, "telegram:ben");
    assert!(world.store.go_on(going(&due[0])).await.expect("kept"));
    let world = world.restart();
    assert!(!world.store.go_on(going(&due[0])).await.expect("asked"), "once");
    assert!(world.due(2 * HOUR).await.is_empty());
    world.end_turn(1).await;
    assert_eq!(world.pending().await, [-5]);
    assert_eq!(
        (world.idle(0).await, world.state().await),
        (vec![], RunState::Running),
        "its turn may ask further"
    );
    let bound = world.store.claim(CHANNEL, UpdateClaim::Update(-5)).await.expect("it").expect("bound");
    assert_eq!((bound.turn.as_str(), bound.updates[0].raw.as_str()), ("telegram-1--5", "goes on"));
    assert!(world.idle(0).await.is_empty());
    world.end_turn(-5).await;
    assert_eq!((world.idle(0).await, world.state().await), (vec!["turn-1".to_owned()], RunState::Done));
    assert!(world.store.load_unanswered_runs().await.expect("asked").is_empty(), "nothing more is told");
}

#[tokio::test]
async fn of_a_reply_and_the_end_of_the_time_one_counts() {
    let world = World::waiting().await;
    let late = world.due(HOUR + 1).await;
    assert_eq!((late.len(), late[0].reply.as_deref()), (1, None));
    world.store.persist(CHANNEL, vec![replies(2, None, "[1]")]).await.expect("kept");
    assert!(!world.store.go_on(going(&late[0])).await.expect("asked"), "somebody has replied meanwhile");
    let due = world.due(0).await;
    assert!(world.store.go_on(going(&due[0])).await.expect("kept"));

    let world = World::waiting().await;
    let late = world.due(HOUR + 1).await;
    assert!(world.store.go_on(going(&late[0])).await.expect("kept"));
    world.store.persist(CHANNEL, vec![replies(2, None, "[1]")]).await.expect("kept");
    assert_eq!(world.pending().await, [-5, 2], "a late one is an ordinary message");
}

#[tokio::test]
async fn whoever_ends_the_run_ends_what_waits_and_has_it_told() {
    let world = World::two().await;
    assert!(!world.store.reopen_run("turn-1").await.expect("asked"), "it goes on by itself alone");
    world.store.persist(CHANNEL, vec![replies(2, None, "[1]")]).await.expect("kept");
    let due = world.due(0).await;
    assert!(world.store.cancel_run("turn-1", Some(&caller("ann"))).await.expect("ended"));
    assert!(!world.store.go_on(going(&due[0])).await.expect("asked") && world.due(0).await.is_empty());
    assert_eq!(world.store.load_unanswered_runs().await.expect("asked"), ["turn-1"]);
    assert_eq!(world.waits("wait-2", "77").await, TurnWaited::Ended);
    assert_eq!(world.store.keep_turn_message("send-2", message("turn-1/send-2")).await.expect("asked"), None);
    assert!(!world.store.reopen_run("turn-1").await.expect("asked"));
}

#[tokio::test]
async fn what_is_no_message_of_the_run_is_not_waited_for() {
    let world = World::sent().await;
    for other in ["", "7", "770", "77,", "ben"] {
        assert_eq!(world.waits("wait-1", other).await, TurnWaited::NoMessage, "{other:?}");
    }
    let elsewhere = NewTurnWait { run: "turn-9".into(), ..wait("wait-1", "77") };
    assert_eq!(world.store.wait_in_turn(elsewhere, now_ms()).await.expect("asked"), TurnWaited::Ended);
}

#[tokio::test]
async fn a_reply_counts_before_the_wait_and_without_one() {
    let world = World::sent().await;
    world.store.persist(CHANNEL, vec![replies(2, None, "[1]")]).await.expect("kept");
    assert_eq!((world.pending().await, world.due(0).await.len()), (vec![], 0));
    assert_eq!(world.waits("wait-1", "77").await, TurnWaited::Begun);
    assert_eq!(world.due(0).await.len(), 1);

    let world = World::sent().await;
    world.store.persist(CHANNEL, vec![replies(2, None, "[1]")]).await.expect("kept");
    assert!(world.idle(0).await.is_empty() && world.due(0).await.is_empty(), "its turn may wait yet");
    world.end_turn(1).await;
    assert!(world.idle(0).await.is_empty());
    let due = world.due(0).await;
    assert_eq!(due.len(), 1, "nobody came to wait, and nothing is lost");
    assert!(world.store.go_on(going(&due[0])).await.expect("kept"));
    assert_eq!(world.waits("wait-1", "77").await, TurnWaited::Over);
}

#[tokio::test]
async fn a_run_in_which_nothing_was_waited_for_ends_later() {
    let world = World::sent().await;
    assert!(world.idle(2 * HOUR).await.is_empty(), "its turn runs");
    world.end_turn(1).await;
    assert!(world.idle(0).await.is_empty(), "a person types each step");
    assert_eq!(world.idle(HOUR + 60_000).await, ["turn-1"]);
}

#[tokio::test]
async fn an_album_is_one_reply_with_all_its_files() {
    let world = World::two().await;
    world.store.persist(CHANNEL, vec![replies_to("78", 20)]).await.expect("kept");
    let parts = [replies(2, Some("a"), "[1]"), replies(3, Some("a"), "[2,3]")];
    world.store.persist(CHANNEL, parts[..1].to_vec()).await.expect("kept");
    assert_eq!(world.runs_due(0).await, ["turn-2"], "further parts may come");
    world.store.persist(CHANNEL, parts[1..].to_vec()).await.expect("kept");
    let due = world.due(3_000).await;
    let files: Vec<_> = due.iter().map(|due| due.files.as_deref()).collect();
    assert_eq!(files, [Some("[1,2,3]"), Some("[1]")], "each has its own");
    assert!(world.pending().await.is_empty());
}

#[tokio::test]
async fn a_part_of_an_album_that_comes_once_its_reply_is_read_is_not_lost() {
    let world = World::waiting().await;
    let part = |update_id: i64| {
        let mut update = replies(update_id, Some("a"), &format!("[{update_id}]"));
        if let UpdateFate::Pending(Headers { answers: Some(answers), .. }) = &mut update.fate {
            answers.reply = json!({ "text": "", "files": [update_id] }).to_string();
        }
        update
    };
    world.store.persist(CHANNEL, vec![part(2)]).await.expect("kept");
    let read = world.due(3_000).await;
    world.store.persist(CHANNEL, vec![part(3)]).await.expect("kept");
    assert!(!world.store.go_on(going(&read[0])).await.expect("asked"), "there is more of it");
    let due = world.due(3_000).await;
    assert_eq!(due[0].files.as_deref(), Some("[2,3]"));
    assert!(world.store.go_on(going(&due[0])).await.expect("kept"));
    world.store.persist(CHANNEL, vec![part(4)]).await.expect("kept");
    assert_eq!(world.pending().await, [-5, 4], "a message of its own");
}

#[tokio::test]
async fn a_message_of_no_run_is_kept_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Store::open(dir.path()).expect("a store");
    let new = || NewTelling {
        turn: TurnId::new("telegram-1-1/0/send-1"),
        reply: text_reply(&["hello"]),
        files: vec![file("ab")],
        place: None,
    };
    assert!(store.tell_noting(CHANNEL, new()).await.expect("kept").is_some());
    assert!(store.blobs_in_use().expect("asked").contains("ab"));
    let store = Store::open(dir.path()).expect("a store");
    assert_eq!(store.tell_noting(CHANNEL, new()).await.expect("asked"), None);
    assert_eq!(
        store.take_over(CHANNEL, &[]).await.expect("asked").replies.len(),
        1,
        "it is sent at the next start"
    );
}

/// A run was ended while nobody served, or anyone who waited was killed before it could say so.
#[tokio::test]
async fn nobody_is_asked_for_a_run_that_has_ended() {
    let world = World::waiting().await;
    let ask = |call: &str| NewApproval {
        id: call.into(),
        channel: CHANNEL.into(),
        call: call.into(),
        sha256: "a".into(),
        place: "there".into(),
        expires_at: now_ms() + HOUR,
    };
    for call in ["turn-1/keep/0", "turn-11/keep/0", "other/0"] {
        world.store.ask(ask(call)).await.expect("asked");
        world.store.mark_approval_shown(call, "77").await.expect("noted");
    }
    assert_eq!(world.store.open_choices(CHANNEL).await.expect("read"), [], "it goes on");
    assert!(world.store.cancel_run("turn-1", Some(&caller("ann"))).await.expect("cancelled"));
    let open = world.store.open_choices(CHANNEL).await.expect("read");
    let open: Vec<_> = open.iter().map(|one| (one.id.as_str(), one.state)).collect();
    assert_eq!(open, [("turn-1/keep/0", ApprovalState::Withdrawn)]);
}

impl World {
    async fn kept(&self, run: &str) -> KeptRun {
        self.store.load_run(run).await.expect("asked").expect("there")
    }

    /// A message of a run to Ben that is out under this id, and whose task still runs.
    async fn sends(&self, run: &str, id: &str, message: &str) {
        let turn = TurnId::new(format!("{run}/{id}"));
        let new = NewMessage { run: run.into(), ..self::message(turn.as_str()) };
        self.store.keep_turn_message(id, new).await.expect("kept").expect("the first time");
        self.store.mark_part_sent(&turn, 0, message).await.expect("noted");
        assert_eq!(
            self.store.load_send_state(&turn).await.expect("asked"),
            SendState::Out(vec![message.into()])
        );
    }

    async fn ends(&self, run: &str, id: &str, ended: Result<String, String>) {
        self.store.end_turn_task(run, id, ended).await.expect("kept");
    }

    /// The runs whose wait is over then.
    async fn runs_due(&self, later: i64) -> Vec<String> {
        self.due(later).await.into_iter().map(|due| due.run).collect()
    }

    /// Turn 1's run waits for the reply to 77; so does one of turn 9, to 78.
    async fn two() -> Self {
        let world = Self::sent().await;
        world.store.persist(CHANNEL, vec![new(9, None)]).await.expect("it");
        let turn = world.store.claim(CHANNEL, UpdateClaim::Update(9)).await.expect("it").expect("bound").turn;
        let second = NewRun { run: "turn-2".into(), ..run() };
        assert!(world.store.begin_turn_run(second, turn, 9).await.expect("begun"));
        // The first one has sent more, and nobody has noted yet what came of that.
        world.sends("turn-1", "send-2", "79").await;
        world.sends("turn-2", "send-1", "78").await;
        let second = world.kept("turn-2").await;
        world.ends("turn-1", "send-1", Ok("{}".into())).await;
        assert_eq!(world.waits("wait-1", "77").await, TurnWaited::Begun);
        assert_eq!(world.kept("turn-2").await, second);
        let first = world.kept("turn-1").await;
        world.ends("turn-2", "send-1", Ok("{}".into())).await;
        let wait = NewTurnWait { run: "turn-2".into(), patience: 2 * HOUR, ..wait("wait-1", "78") };
        assert_eq!(world.store.wait_in_turn(wait, now_ms()).await.expect("asked"), TurnWaited::Begun);
        assert_eq!(world.kept("turn-1").await, first);
        world
    }
}

fn replies_to(message: &str, update_id: i64) -> NewUpdate {
    let mut update = replies(update_id, None, "[1]");
    if let UpdateFate::Pending(Headers { answers: Some(answers), .. }) = &mut update.fate {
        (answers.message, answers.text) = (message.into(), "Edited".into());
    }
    update
}

#[tokio::test]
async fn of_two_runs_that_wait_each_goes_on_by_itself() {
    let world = World::two().await;
    assert_eq!(world.runs_due(HOUR + 1).await, ["turn-1"]);
    let second = world.kept("turn-2").await;
    let late = world.due(HOUR + 1).await;
    assert!(world.store.go_on(going(&late[0])).await.expect("kept"));
    assert_eq!(world.kept("turn-2").await, second);
    // The end of the first one's time is none of the second one's.
    world.store.persist(CHANNEL, vec![replies_to("78", 2)]).await.expect("kept");
    assert_eq!(world.pending().await, [-5], "it begins no turn of its own");
    let due = world.due(0).await;
    assert_eq!((due.len(), due[0].run.as_str(), due[0].reply.is_some()), (1, "turn-2", true));
    // It was promised that the second one is told of, and no longer that the first one is.
    for run in ["turn-1", "turn-2"] {
        assert!(world.store.cancel_run(run, Some(&caller("ann"))).await.expect("ended"));
    }
    assert_eq!(world.store.load_unanswered_runs().await.expect("asked"), ["turn-2"]);
}

#[tokio::test]
async fn a_run_is_idle_by_its_own_turn_alone() {
    let world = World::sent().await;
    world.store.persist(CHANNEL, vec![new(9, None)]).await.expect("it");
    let turn = world.store.claim(CHANNEL, UpdateClaim::Update(9)).await.expect("it").expect("bound").turn;
    let second = NewRun { run: "turn-2".into(), ..run() };
    assert!(world.store.begin_turn_run(second, turn, 9).await.expect("begun"));
    world.end_turn(1).await;
    assert_eq!(world.idle(HOUR + 60_000).await, ["turn-1"]);
    assert_eq!(world.kept("turn-2").await.state, RunState::Running, "its turn runs");
    // A wait keeps its own run open, and no other one.
    let world = World::two().await;
    world.store.persist(CHANNEL, vec![replies(2, None, "[1]")]).await.expect("kept");
    let due = world.due(0).await;
    assert!(world.store.go_on(going(&due[0])).await.expect("kept"));
    for turn in [1, 9] {
        world.end_turn(turn).await;
    }
    world.store.claim(CHANNEL, UpdateClaim::Update(-5)).await.expect("it").expect("bound");
    world.end_turn(-5).await;
    assert_eq!(world.idle(2 * HOUR).await, ["turn-1"]);
    assert_eq!(world.kept("turn-2").await.state, RunState::Running, "it waits");
    let late = world.due(2 * HOUR + 1).await;
    assert!(world.store.go_on(GoingOn { update_id: -6, ..going(&late[0]) }).await.expect("kept"));
}

#[tokio::test]
async fn of_a_runs_messages_and_waits_each_is_its_own() {
    let world = World::sent().await;
    world.sends("turn-1", "send-2", "79").await;
    assert_eq!(world.waits("wait-1", "77").await, TurnWaited::Begun);
    let waits = |kept: &KeptRun| kept.tasks.iter().map(|task| task.waits.is_some()).collect::<Vec<_>>();
    let kept = world.kept("turn-1").await;
    assert_eq!(waits(&kept), [false, false, true], "{kept:?}");
    world.ends("turn-1", "send-2", Ok("{}".into())).await;
    // What is done stays so.
    let kept = world.kept("turn-1").await;
    world.ends("turn-1", "send-2", Err("{}".into())).await;
    assert_eq!(world.kept("turn-1").await, kept);
    assert_eq!(waits(&kept), [false, false, true], "{kept:?}");
    let longer = NewTurnWait { patience: 3 * HOUR, ..wait("wait-2", "79") };
    assert_eq!(world.store.wait_in_turn(longer, now_ms()).await.expect("asked"), TurnWaited::Begun);
    let late = world.due(HOUR + 1).await;
    assert_eq!(late.len(), 1, "{late:?}");
    assert!(world.store.go_on(going(&late[0])).await.expect("kept"));
    world.store.persist(CHANNEL, vec![replies_to("79", 2)]).await.expect("kept");
    let due = world.due(0).await;
    assert_eq!((due.len(), due[0].reply.is_some()), (1, true), "the other one waits on, and is replied to");
    // What still waits was promised.
    assert!(world.store.cancel_run("turn-1", Some(&caller("ann"))).await.expect("ended"));
    assert_eq!(world.store.load_unanswered_runs().await.expect("asked"), ["turn-1"]);
}

/// Nobody answers it, so no node has its session for that.
#[tokio::test]
async fn a_reply_that_a_run_waits_for_claims_no_session() {
    if !Schema::is_there("a_reply_that_a_run_waits_for_claims") {
        return;
    }
    let fixture = waiting::<Schema>("w-1").await;
    let node = join(&fixture.engine.location, "a").expect("a node");
    let reply = answering(1, "ben", "77", "When is it?");
    let kept = node.persist(CHANNEL, vec![reply.clone(), reply]).await.expect("kept");
    assert_eq!((kept.kept, kept.claimed, kept.pending), (0, Vec::new(), Vec::new()));
    assert_eq!(fixture.sql("SELECT count(*) FROM claim"), "0");
    // What replies to something else is a message like any other.
    let kept = node.persist(CHANNEL, vec![answering(2, "eve", "77", "No")]).await.expect("kept");
    assert_eq!((kept.kept, kept.claimed), (1, vec![SessionId::new("s")]));
}
