//! A turn that a crash cuts off at any point goes on where it was: no step is decided twice, no
//! call runs under another id.

use super::*;
use cofferdam_core::limits::TimeSpan;
use cofferdam_store::AttemptRow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the crash comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crash {
    /// Before the entry is kept.
    Before,
    /// As soon as it is.
    After,
}

/// Where the process dies that keeps a history: at entry number `at`, and by default nowhere.
pub(in crate::turn) struct CrashPoint {
    crash: Crash,
    at: usize,
    count: AtomicUsize,
    died: Notify,
    /// How much longer ago the turn `t` began than it did.
    older: TimeSpan,
}

impl Default for CrashPoint {
    fn default() -> Self {
        let (count, died, older) = (AtomicUsize::new(0), Notify::new(), TimeSpan::seconds(0));
        Self { crash: Crash::After, at: usize::MAX, count, died, older }
    }
}

impl CrashPoint {
    pub(in crate::turn) async fn before_entry(&self) {
        if self.count.fetch_add(1, Ordering::SeqCst) == self.at && self.crash == Crash::Before {
            self.die().await;
        }
    }

    /// Entries are kept one after another.
    pub(in crate::turn) async fn after_entry(&self) {
        if self.count.load(Ordering::SeqCst) == self.at.saturating_add(1) && self.crash == Crash::After {
            self.die().await;
        }
    }

    pub(in crate::turn) fn age(&self, turn: &TurnId, begun: AttemptRow) -> AttemptRow {
        let older = if turn.as_str() == "t" { self.older.0.as_millis() } else { 0 };
        AttemptRow { at: begun.at - i64::try_from(older).expect("not so old"), ..begun }
    }

    /// Returns once it has died.
    pub(super) async fn died(&self) {
        self.died.notified().await;
    }

    async fn die(&self) {
        self.died.notify_one();
        std::future::pending().await
    }
}

/// A history that dies at entry number `at`.
pub(super) fn dying(store: &Store, crash: Crash, at: usize) -> History {
    let mut history = History::durable(store.clone());
    history.crash = Arc::new(CrashPoint { crash, at, ..CrashPoint::default() });
    history
}

/// A history that lives, so much later.
fn later(store: &Store, older: TimeSpan) -> History {
    let mut history = History::durable(store.clone());
    history.crash = Arc::new(CrashPoint { older, ..CrashPoint::default() });
    history
}

/// Decides by what has happened since the request, as a model would.
#[derive(Default)]
struct Model {
    /// The steps that it was told of, each time it was asked.
    asked: Mutex<Vec<usize>>,
    /// The words of the request, however often it was asked.
    told: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl Provider for Model {
    async fn respond(
        &self,
        request: StepRequest<'_>,
        _: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError> {
        let steps =
            request.conversation.iter().filter(|e| matches!(e, HistoryEntry::Assistant { .. })).count();
        self.asked.lock().expect("asked").push(steps);
        let user = |entry: &HistoryEntry| match entry {
            HistoryEntry::User { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.told.lock().expect("told").extend(request.conversation.iter().find_map(user));
        let step = match steps {
            0 => calls(&[call("WRITE"), ("WRITE", "{\"n\":1}".into()), call("read")]),
            1 => calls(&[call("fail"), call("SEND")]),
            _ => Vec::new(),
        };
        let text = (steps == 2).then(|| "done".to_owned());
        Ok(StepReply { text, tool_calls: step, usage: TEN, ..StepReply::default() })
    }

    fn has_memory(&self) -> bool {
        true
    }
}

const WHOLE: &str = "u:go a:WRITE+WRITE+read r r r a:fail+SEND x:not_found r a:done";
const ENTRIES: usize = 9;

#[tokio::test]
async fn wherever_a_crash_comes_the_turn_goes_on_from_there() {
    for crash in [Crash::After, Crash::Before] {
        for at in 0..ENTRIES {
            let (_dir, store) = store();
            let dying = dying(&store, crash, at);
            let (model, tools) = (Arc::new(Model::default()), Doing::meeting(1));
            let runner = |history: History, now: fn() -> jiff::Timestamp| {
                Runner::new(model.clone(), tools.clone(), history, Config::default(), String::new())
                    .by(WallClock::fixed(jiff::tz::TimeZone::UTC, now))
            };
            let later = || jiff::Timestamp::from_second(3600).expect("a time");
            let cancel = CancellationToken::new();
            let first = runner(dying.clone(), || jiff::Timestamp::UNIX_EPOCH);
            tokio::select! {
                said = first.run(turn("t", "go"), Arc::new(()), &cancel) => panic!("{crash:?} {at}: {said:?}"),
                () = dying.crash.died() => {}
            }
            drop(first);
            let said = runner(History::durable(store.clone()), later)
                .run(turn("t", "go"), Arc::new(()), &cancel)
                .await;
            assert_eq!(said.text.as_deref(), Some("done"), "{crash:?} {at}");
            assert_eq!(said.attachments.len(), 1, "{crash:?} {at}: what a call added is there once");
            let kept =
                History::durable(store.clone()).load(&session(), &TurnId::new("")).await.expect("kept");
            let kept: Vec<_> = kept.iter().map(|kept| shown(&kept.entry)).collect();
            // The time of the request, which is told anew only where nothing of it was kept.
            let later = FRAME.replace("00:00 +00:00", "01:00 +00:00");
            assert_eq!(kept.join(" ").replace(&later, ""), WHOLE, "{crash:?} {at}");
            assert_eq!(model.told.lock().expect("told").len(), 1, "{crash:?} {at}: in the same words");
            check_once(crash, at, &model.asked.lock().expect("asked"), &tools.done());
            let used = History::durable(store.clone()).load_usage(&ann()).await.expect("known");
            assert_eq!(used.tokens, 30, "{crash:?} {at}: each step is charged once");
        }
    }
}

/// A step or a call comes again only if the crash came before it was kept, and then under its own
/// id.
fn check_once(crash: Crash, at: usize, asked: &[usize], done: &[String]) {
    let ids: BTreeSet<_> = done.iter().collect();
    let expected = ["t/0 WRITE", "t/1 WRITE", "t/2 read", "t/3 fail", "t/4 SEND"];
    assert!(ids.iter().map(|id| id.as_str()).eq(expected), "{crash:?} {at}: {done:?}");
    let again = (asked.len() - 3) + (done.len() - 5);
    let most = usize::from(crash == Crash::Before && at > 0);
    assert_eq!(again, most, "{crash:?} {at}: {asked:?} {done:?}");
}

/// A world whose turns are kept, and of which the first two are counted.
async fn counted(store: &Store, acts: impl IntoIterator<Item = Act>) -> World {
    for turn in ["t", "t2"] {
        store.attempt(&TurnId::new(turn), &ann()).await.expect("noted");
    }
    World { history: History::durable(store.clone()), ..World::new(acts) }
}

#[tokio::test]
async fn a_crash_gives_a_turn_no_time_back_and_a_retry_begins_anew() {
    let (_dir, store) = store();
    let mut world = counted(&store, [Act::Call(vec![call("WRITE")]), Act::Hang]).await;
    tokio::select! {
        said = world.ask("t", "go") => panic!("{said}"),
        () = world.script.hangs.notified() => {}
    }
    let deadline = world.limits.deadline;
    store.attempt(&TurnId::new("t"), &ann()).await.expect("noted");
    world.history = later(&store, deadline);
    let too_slow =
        format!("The turn took longer than {deadline} and was stopped. Write /retry to go on from here.");
    assert_eq!(world.ask("t", "go").await, too_slow);
    assert_eq!(world.script.asked().len(), 2, "nobody is asked any more");
    world.then([Act::Say("done")]);
    assert_eq!(world.ask("t2", "/retry").await, "done", "its time is its own");
    assert_eq!(world.script.asked()[2], "u:go a:WRITE r");
}

#[tokio::test]
async fn what_was_answered_and_done_in_time_is_told_however_late() {
    let (_dir, store) = store();
    let mut world = counted(&store, [Act::Say("in time")]).await;
    assert_eq!(world.ask("t", "go").await, "in time");
    world.history = later(&store, TimeSpan::seconds(9000));
    assert_eq!(world.ask("t", "go").await, "in time");
    // A little of its time is left.
    let (_dir, store) = super::store();
    let mut world = counted(&store, [Act::Say("still in time")]).await;
    world.history = later(&store, TimeSpan::seconds(800));
    assert_eq!(world.ask("t", "go").await, "still in time");
}

#[tokio::test]
async fn what_broke_off_is_paid_for_by_the_turn_also_after_a_crash() {
    let (_dir, store) = store();
    let half = || {
        let usage = TokenUsage { input_tokens: 50, output_tokens: 5 };
        Act::Fail(ProviderError::BrokeOff { said: "It broke off.".into(), usage })
    };
    let world = counted(&store, [half(), half()]).await.limited(|limits| limits.tokens = 100);
    assert_eq!(world.ask("t", "go").await, "It broke off.");
    // The crash comes before the reply is kept.
    assert_eq!(world.ask("t", "go").await, "It broke off.");
    assert_eq!(world.ask("t", "go").await, "The turn used more than 100 tokens and was stopped.");
    assert_eq!(History::durable(store.clone()).load_usage(&ann()).await.expect("known").tokens, 110);
}

#[tokio::test]
async fn calls_that_were_left_out_of_a_step_are_told_after_a_crash() {
    const CALLS: usize = super::super::rounds::STEP_CALLS_MAX;
    // As soon as the step is kept, and before its last result is.
    for (crash, at) in [(Crash::After, 1), (Crash::Before, 1 + CALLS)] {
        let (_dir, store) = store();
        let many = (0..CALLS + 8).map(|n| ("read", format!("{{\"n\":{n}}}"))).collect();
        let dying = dying(&store, crash, at);
        let mut world = World::new([Act::Call(many), Act::Say("done")]);
        world.history = dying.clone();
        tokio::select! {
            said = world.ask("t", "go") => panic!("{said}"),
            () = dying.crash.died() => {}
        }
        world.history = History::durable(store);
        assert_eq!(world.ask("t", "go").await, "done");
        let shown = world.script.shown.lock().expect("shown").pop().expect("asked");
        let told = |shown: &&String| shown.contains("8 further calls of this step were not run");
        assert_eq!((shown.len(), shown.iter().filter(told).count()), (CALLS, 1), "{crash:?} {at}");
    }
}

/// Its calls may take long: what was used is looked up again behind them.
#[tokio::test]
async fn what_a_person_uses_while_the_calls_of_a_resumed_turn_run_counts() {
    let (_dir, store) = store();
    let dying = dying(&store, Crash::After, 1);
    let step = vec![call("meet"), call("meet")];
    let mut world = World::new([Act::Call(step)]).limited(|limits| limits.user_tokens_per_day = 20);
    world.history = dying.clone();
    tokio::select! {
        said = world.ask("t", "go") => panic!("{said}"),
        () = dying.crash.died() => {}
    }
    world.history = History::durable(store.clone());
    let (session, turn) = (session(), TurnId::new("beside"));
    let whose = cofferdam_store::WhoseTurn { session, turn, caller: ann() };
    let beside = async {
        // The same call twice runs one after the other: the first one is under way.
        world.tools.meeting.wait().await;
        store.spend(&whose, 10).await.expect("charged");
        world.tools.meeting.wait().await;
    };
    let (said, ()) = tokio::join!(world.ask("t", "go"), beside);
    assert!(said.starts_with("Today's budget of 20 tokens is used up"), "{said}");
    assert_eq!(world.script.asked().len(), 1, "nobody is asked any more");
}
