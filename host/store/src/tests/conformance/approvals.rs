//! Calls that wait for a person.

use super::*;

fn approval(call: &str, sha256: &str) -> NewApproval {
    NewApproval {
        id: format!("id of {call} {sha256}"),
        channel: CHANNEL.into(),
        call: call.into(),
        sha256: sha256.into(),
        place: "here".into(),
        expires_at: now_ms() + 60_000,
    }
}

pub(super) async fn an_approval_waits_through_restarts_and_is_decided_once<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let (first, none) = fixture.store.ask(approval("t/0", "a")).await.expect("it");
    assert_eq!((first.state, first.message.clone(), none), (ApprovalState::Asked, None, vec![]));
    fixture.store.mark_approval_shown(&first.id, "77").await.expect("it");
    let fixture = fixture.restart();
    // The same call again: the row that is there, whatever id the new one would have had.
    let (again, _) =
        fixture.store.ask(NewApproval { id: "x".into(), ..approval("t/0", "a") }).await.expect("it");
    assert_eq!((again.id.as_str(), again.message.as_deref()), (first.id.as_str(), Some("77")));
    let decided =
        fixture.store.decide(&first.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    assert_eq!(
        decided.map(|row| (row.state, row.decided_by)),
        Some((ApprovalState::Approved, Some("7".into())))
    );
    let late = fixture.store.decide(&first.id, ApprovalState::Denied, Some("8".into())).await.expect("it");
    assert_eq!(
        late.map(|row| (row.state, row.decided_by)),
        Some((ApprovalState::Approved, Some("7".into())))
    );
    let fixture = fixture.restart();
    let (known, _) = fixture.store.ask(approval("t/0", "a")).await.expect("it");
    assert_eq!(known.state, ApprovalState::Approved);
    assert_eq!(fixture.store.decide("nobody's", ApprovalState::Approved, None).await.expect("it"), None);
    assert_eq!(fixture.store.approval("nobody's").await.expect("it"), None);
}

pub(super) async fn of_many_who_decide_at_once_one_does<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for round in 0..20 {
        let (asked, _) = fixture.store.ask(approval(&format!("t/{round}"), "a")).await.expect("it");
        let mut deciding = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (store, id) = (fixture.store.clone(), asked.id.clone());
            let state = if n % 2 == 0 { ApprovalState::Approved } else { ApprovalState::Denied };
            deciding.spawn(async move { (n, state, store.decide(&id, state, Some(n.to_string())).await) });
        }
        let mut winners = 0;
        while let Some(decided) = deciding.join_next().await {
            let (n, state, row) = decided.expect("no panic");
            let row = row.expect("it").expect("there");
            winners += usize::from(row.decided_by == Some(n.to_string()) && row.state == state);
        }
        assert_eq!(winners, 1, "round {round}");
    }
}

pub(super) async fn an_answer_that_comes_too_late_is_none<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let late = NewApproval { expires_at: now_ms() - 60_000, ..approval("t/0", "a") };
    let (asked, _) = fixture.store.ask(late).await.expect("it");
    let decided =
        fixture.store.decide(&asked.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    assert_eq!(decided.map(|row| (row.state, row.decided_by)), Some((ApprovalState::Expired, None)));
}

pub(super) async fn what_a_call_asks_now_withdraws_what_it_asked_before<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let (old, _) = fixture.store.ask(approval("t/0", "a")).await.expect("it");
    fixture.store.ask(approval("t/1", "a")).await.expect("it");
    let (_, outdated) = fixture.store.ask(approval("t/0", "b")).await.expect("it");
    let outdated: Vec<_> = outdated.into_iter().map(|row| (row.id, row.state)).collect();
    assert_eq!(outdated, [(old.id.clone(), ApprovalState::Withdrawn)]);
    let late = fixture.store.decide(&old.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    assert_eq!(late.map(|row| row.state), Some(ApprovalState::Withdrawn));
}

/// Of five calls whose names are much alike one is that of a task which is not done.
pub(super) async fn what_was_denied_is_asked_anew_once_its_run_is_opened_again<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    for run in ["w-1", "w-2"] {
        assert!(store.begin_run(super::runs::new(run), 9).await.expect("begun"));
        store.begin_task(run, 0).await.expect("begun");
        store.end_task(run, 0, Ok("1".into())).await.expect("ended");
        store.begin_task(run, 1).await.expect("begun");
    }
    let about = |call: &str, state: ApprovalState| approval(call, &format!("{state:?}"));
    let (denied, expired, withdrawn) =
        (ApprovalState::Denied, ApprovalState::Expired, ApprovalState::Withdrawn);
    for call in ["w-1/one/0", "w-1/two/0", "w-1/two/1", "w-1/two/0/0", "w-2/two/0"] {
        // What is still asked comes last: a later question would withdraw it.
        for state in [denied, expired, withdrawn, ApprovalState::Approved, ApprovalState::Asked] {
            let (row, _) = store.ask(about(call, state)).await.expect("it");
            store.mark_approval_shown(&row.id, "77").await.expect("it");
            if state != ApprovalState::Asked {
                store.decide(&row.id, state, None).await.expect("it");
            }
        }
    }
    store.end_task("w-1", 1, Err("{}".into())).await.expect("ended");
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    let fixture = fixture.restart();
    let store = &fixture.store;
    let stands = async |call: &str, state: ApprovalState| {
        let id = format!("again {call} {state:?}");
        let (row, _) = store.ask(NewApproval { id: id.clone(), ..about(call, state) }).await.expect("it");
        (row.state, row.id == id)
    };
    for state in [ApprovalState::Asked, ApprovalState::Approved] {
        assert_eq!(stands("w-1/two/0", state).await, (state, false), "it stays");
    }
    for state in [denied, expired, withdrawn] {
        assert_eq!(stands("w-1/two/0", state).await, (ApprovalState::Asked, true), "{state:?}");
        for other in ["w-1/one/0", "w-1/two/1", "w-1/two/0/0", "w-2/two/0"] {
            assert_eq!(stands(other, state).await, (state, false), "{other}: {state:?}");
        }
    }
    // A press on what the earlier message shows is too late, and its choices are taken away.
    let earlier = about("w-1/two/0", denied).id;
    let late = store.decide(&earlier, ApprovalState::Approved, Some("7".into())).await.expect("it");
    assert_eq!(late.map(|row| row.state), Some(denied));
    let open = store.open_choices(CHANNEL).await.expect("it");
    assert!(open.iter().any(|row| row.id == earlier), "{open:?}");
}

pub(super) async fn an_approval_follows_a_clock_that_is_set<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    // The clock went an hour ahead, so its time seems to be over.
    let hour = 3_600_000;
    let new = approval("w-1/ok/0", "a");
    let (asked, _) = store.ask(NewApproval { expires_at: new.expires_at - hour, ..new }).await.expect("it");
    let (denied, _) = store.ask(approval("t/0", "a")).await.expect("it");
    let before = store.decide(&denied.id, ApprovalState::Denied, None).await.expect("it");
    store.shift_waits(hour).await.expect("shifted");
    let approved = store.decide(&asked.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    let approved = approved.map(|row| (row.state, row.expires_at));
    assert_eq!(approved, Some((ApprovalState::Approved, asked.expires_at + hour)));
    assert_eq!(store.approval(&denied.id).await.expect("it"), before, "it is over");
}

pub(super) async fn the_time_of_an_approval_begins_anew_until_it_is_shown<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let (hour, began) = (super::waits::HOUR, now_ms());
    assert!(store.begin_run(super::waits::run("w-1"), 9).await.expect("begun"));
    store.begin_task("w-1", 0).await.expect("begun");
    let wait = NewWait { task: 0, of: None, ..super::waits::wait("w-1") };
    // Nobody could be reached for an hour.
    let waits = store.wait(wait.clone(), began - hour).await.expect("waits");
    assert_eq!(waits, WaitState::Open { begins: true, until: began });
    let late = NewApproval { expires_at: began, ..approval("w-1/ok/0", "a") };
    let (asked, _) = store.ask(late).await.expect("it");
    store.restart_approval(&asked.id, hour).await.expect("it");
    let until = store.approval(&asked.id).await.expect("it").expect("there").expires_at;
    assert!(until >= began + hour, "{until}");
    let waits = store.wait(wait.clone(), began).await.expect("waits");
    assert_eq!(waits, WaitState::Open { begins: false, until });
    store.mark_approval_shown(&asked.id, "77").await.expect("it");
    store.restart_approval(&asked.id, 2 * hour).await.expect("it");
    let shown = store.approval(&asked.id).await.expect("it").expect("there");
    assert_eq!((shown.expires_at, shown.state), (until, ApprovalState::Asked), "its time runs");
    assert_eq!(store.wait(wait, began).await.expect("waits"), WaitState::Open { begins: false, until });
}

pub(super) async fn what_a_turn_has_asked_is_withdrawn_with_its_end<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    // The name of one is the beginning of another's.
    let (ended, dismissed, open) = (fixture.bound(1).await, fixture.bound(2).await, fixture.bound(11).await);
    for turn in [&ended, &dismissed, &open] {
        let (asked, _) = store.ask(approval(turn.call(0).as_str(), "a")).await.expect("it");
        store.mark_approval_shown(&asked.id, "77").await.expect("it");
    }
    let (decided, _) = store.ask(approval(ended.call(1).as_str(), "a")).await.expect("it");
    store.decide(&decided.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    store.end(CHANNEL, &ended, text_reply(&["x"])).await.expect("ended");
    store.dismiss(&dismissed).await.expect("ended");
    let id_of = |turn: &TurnId| format!("id of {} a", turn.call(0).as_str());
    for (id, state) in [
        (id_of(&ended), ApprovalState::Withdrawn),
        (id_of(&dismissed), ApprovalState::Withdrawn),
        (id_of(&open), ApprovalState::Asked),
        (decided.id, ApprovalState::Approved),
    ] {
        let found = store.approval(&id).await.expect("it").map(|row| row.state);
        assert_eq!(found, Some(state), "{id}");
    }
    let choices = store.open_choices(CHANNEL).await.expect("it");
    assert_eq!(choices.len(), 2, "a start takes their choices away: {choices:?}");
}

pub(super) async fn approved_paths_are_each_persons_and_tools_own_and_forgotten_in_time<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let of = |sender: &str, tool: &str| ApprovedPaths {
        channel: CHANNEL.into(),
        sender: sender.into(),
        tool: tool.into(),
    };
    let known = |fixture: &Fixture<E>, sender: &str, tool: &str| {
        let paths = ["/shared/a".to_owned(), "/shared/b".to_owned()];
        fixture.store.approved_paths(&of(sender, tool), &paths).expect("it")
    };
    fixture.store.remember_paths(of("7", "t"), vec!["/shared/a".into()]).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(known(&fixture, "7", "t"), ["/shared/a"]);
    assert_eq!((known(&fixture, "8", "t"), known(&fixture, "7", "u")), (vec![], vec![]));
    let (asked, _) = fixture.store.ask(approval("t/0", "a")).await.expect("it");
    fixture.store.prune(now_ms()).await.expect("it");
    assert!(fixture.store.approval(&asked.id).await.expect("it").is_some());
    fixture.store.prune(much_later()).await.expect("it");
    assert_eq!(known(&fixture, "7", "t"), [""; 0]);
    assert_eq!(fixture.store.approval(&asked.id).await.expect("it"), None);
}

pub(super) async fn a_path_that_is_too_long_to_be_remembered_holds_nothing_up<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let of = ApprovedPaths { channel: CHANNEL.into(), sender: "7".into(), tool: "t".into() };
    // No three bytes of it come twice, so no engine makes it shorter.
    let path = |letters: usize| "/a".chars().chain(('\u{4E00}'..).take(letters)).collect::<String>();
    let longest = path((APPROVED_PATH_BYTES_MAX - 2) / 3);
    assert_eq!(longest.len(), APPROVED_PATH_BYTES_MAX);
    let paths = vec![longest.clone(), format!("{longest}b"), path(1364), "/shared/a".to_owned()];
    fixture.store.remember_paths(of.clone(), paths.clone()).await.expect("it");
    let known = fixture.store.approved_paths(&of, &paths).expect("it");
    assert_eq!(known, [longest, "/shared/a".to_owned()]);
}
