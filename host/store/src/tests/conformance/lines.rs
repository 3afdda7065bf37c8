//! What was said in a session, and what it cost: in order, once, for as long as it is kept.

use super::*;
use cofferdam_core::message::Delivery;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) async fn lines_come_back_in_order_after_a_restart_and_each_once<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for (turn, n, body) in [("t1", 0, "a"), ("t1", 1, "b"), ("t1", 1, "other"), ("t2", 0, "c")] {
        fixture.says("here", turn, n, body).await;
    }
    fixture.says("there", "t3", 0, "d").await;
    let fixture = fixture.restart();
    assert_eq!(fixture.said("here", "t2").await, "t1:a t1:b t2:c");
    assert_eq!(fixture.said("there", "t3").await, "t3:d");
    assert_eq!(fixture.said("nowhere", "t").await, "");
    fixture.store.forget_lines(&SessionId::new("here")).await.expect("forgotten");
    let fixture = fixture.restart();
    assert_eq!(
        (fixture.said("here", "t2").await, fixture.said("there", "t").await),
        (String::new(), "t3:d".into())
    );
    fixture.store.prune(much_later()).await.expect("it");
    assert_eq!(fixture.said("there", "t").await, "", "by age");
}

pub(super) async fn a_line_takes_the_place_of_older_ones<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for (session, turn, body) in [("s", "1", "a"), ("x", "2", "z"), ("s", "3", "b"), ("s", "4", "c")] {
        fixture.says(session, turn, 0, body).await;
    }
    let replace = async |from: &str, body: &str| {
        let from = TurnId::new(from);
        fixture.store.replace_lines(&whose("s", "4"), &from, body.into(), 0).await.expect("replaced");
    };
    // What a summary's own turn is called is the engine's affair.
    let said = async |session: &str| {
        let lines = fixture.store.lines(&SessionId::new(session), &TurnId::new("4")).await.expect("lines");
        lines.into_iter().map(|line| line.body).collect::<Vec<_>>().join(" ")
    };
    replace("nobody", "no").await;
    replace("1", "nothing is older").await;
    assert_eq!(said("s").await, "a b c");
    replace("3", "sum").await;
    assert_eq!(said("s").await, "sum b c");
    replace("4", "sums").await;
    assert_eq!(said("s").await, "sums c");
    assert_eq!(said("x").await, "z");
}

pub(super) async fn of_earlier_turns_only_the_latest_are_loaded_and_all_of_the_own<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let half = "x".repeat(LOADED_BYTES_MAX / 2);
    for turn in ["1", "2", "3", "now"] {
        fixture.says("s", turn, 0, &half).await;
        fixture.says("s", turn, 1, "").await;
    }
    let lines = fixture.store.lines(&SessionId::new("s"), &TurnId::new("now")).await.expect("lines");
    let turns: Vec<_> = lines.iter().map(|line| line.turn.as_str()).collect();
    assert_eq!(turns, ["1", "2", "2", "3", "3", "now", "now"]);
}

pub(super) async fn a_step_is_charged_once_to_its_person_and_day<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for (turn, n) in [("1", 0), ("1", 0), ("1", 1), ("2", 0)] {
        fixture.store.add_line(&whose("s", turn), n, "x".into(), 10).await.expect("added");
    }
    let kept_from = TurnId::new("2");
    fixture.store.replace_lines(&whose("s", "2"), &kept_from, "sum".into(), 5).await.expect("replaced");
    let fixture = fixture.restart();
    assert_eq!((fixture.used("ann").await, fixture.used("ben").await), ((35, 0), (0, 0)));
    let tomorrow = fixture.store.load_usage(&caller("ann"), now_ms() + DAY_MS).await.expect("known");
    assert_eq!(tomorrow, UsedToday::default(), "it starts anew");
    fixture.store.prune(now_ms() + 40 * DAY_MS).await.expect("it");
    assert_eq!(fixture.used("ann").await, (0, 0));
}

pub(super) async fn what_a_turn_begins_with_is_what_each_look_would_find<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let (own, other) = (whose("s", "t"), whose("s", "other"));
    let beginning = fixture.store.load_turn_beginning(&own).await.expect("known");
    assert_eq!(beginning, TurnBeginning::default());
    for whose in [&other, &own] {
        fixture.store.attempt(&whose.turn, &whose.caller).await.expect("noted");
        fixture.store.add_line(whose, 0, "x".into(), 7).await.expect("added");
    }
    fixture.store.spend(&own, 5).await.expect("charged");
    let beginning = fixture.store.load_turn_beginning(&own).await.expect("known");
    let TurnBeginning { lines, begun, used, was_given_files } = beginning;
    assert!(!was_given_files);
    let delivery = Delivery { request: own.turn.clone(), attachments: vec![file("a")] };
    fixture.store.deliver(other.turn.call(0).as_str(), &delivery).expect("handed over");
    let beginning = fixture.store.load_turn_beginning(&own).await.expect("known");
    assert!(beginning.was_given_files);
    assert_eq!(lines, fixture.store.lines(&own.session, &own.turn).await.expect("lines"));
    assert_eq!(begun, fixture.store.load_attempt(&own.turn).await.expect("known"));
    assert_eq!((lines.len(), begun.map(|begun| begun.spent), used.tokens), (2, Some(5), 19));
}
