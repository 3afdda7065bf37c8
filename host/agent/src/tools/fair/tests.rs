//! The order of service, in tables: `a b` are pushed (a letter is a session), `.` takes the next,
//! `-a` is done with one of `a`.

use super::*;

/// Runs a script and says, for each `.`, which job came (`a1` is the first of `a`), and for each
/// push that was refused or held why.
fn run(shares: Shares, script: &str) -> String {
    let mut fair = Fair::new(shares);
    let mut pushed: HashMap<char, usize> = HashMap::new();
    let mut said = Vec::new();
    for word in script.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        match letters[..] {
            ['.'] => said.push(
                fair.pop().map_or("none".to_owned(), |(session, n): (char, usize)| format!("{session}{n}")),
            ),
            ['-', session] => fair.done(&session),
            [session] => {
                let n = pushed.entry(session).or_default();
                *n += 1;
                match fair.push(&session, *n) {
                    Ok(_) => {}
                    Err(full) => said.push(format!("{session}{n}:{full:?}")),
                }
            }
            _ => panic!("{word} is no step"),
        }
    }
    said.join(" ")
}

fn check(running: usize, script: &str, expected: &str) {
    let shares = Shares { running, waiting: 4, waiting_in_all: 6 };
    assert_eq!(run(shares, script), expected, "{script}");
}

#[test]
fn one_session_is_served_in_its_order() {
    check(9, ". a a a . . . .", "none a1 a2 a3 none");
}

#[test]
fn sessions_are_served_in_turns() {
    check(9, "a a a b b c . . . . . .", "a1 b1 c1 a2 b2 a3");
    // A session that comes later is next in the circle, not behind everything that waits.
    check(9, "a a a a . b . . .", "a1 a2 b1 a3");
}

#[test]
fn no_session_runs_more_than_its_share() {
    check(2, "a a a b . . . .", "a1 b1 a2 none");
    check(2, "a a a b . . . . -a .", "a1 b1 a2 none a3");
    // What one session is held for does not hold another up.
    check(1, "a a . . b . -b . -a . -a", "a1 none b1 none a2");
}

#[test]
fn whoever_is_held_stands_at_the_end_again() {
    check(1, "a a b b . . -a -b . .", "a1 b1 a2 b2");
    check(1, "a a b b . . -b -a . .", "a1 b1 b2 a2");
}

#[test]
fn each_session_waits_within_its_bound_and_all_within_theirs() {
    check(9, "a a a a a b b b", "a5:Session b3:All");
    // Running ones do not wait.
    check(1, "a . a a a a a", "a1 a6:Session");
    // Room is room again.
    check(9, "a a a a a . a", "a5:Session a1");
}

#[test]
fn sessions_that_have_nothing_left_are_forgotten() {
    let mut fair = Fair::new(Shares { running: 2, waiting: 4, waiting_in_all: 6 });
    for session in 0..1000 {
        assert_eq!(fair.push(&session, ()), Ok(true));
        assert!(fair.pop().is_some());
        fair.done(&session);
    }
    assert_eq!((fair.lines.len(), fair.circle.len()), (0, 0));
    // Nor is one made by a refusal, or by being done twice.
    let mut none = Fair::new(Shares { running: 1, waiting: 0, waiting_in_all: 6 });
    assert_eq!(none.push(&1, ()), Err(Full::Session));
    none.done(&1);
    assert_eq!(none.lines.len(), 0);
}

#[test]
fn what_is_held_is_told_apart_from_what_is_ready() {
    let mut fair = Fair::new(Shares { running: 2, waiting: 9, waiting_in_all: 9 });
    let taken: Vec<_> = (0..4).map(|n| fair.push(&'a', n)).collect();
    assert_eq!(taken, [Ok(true), Ok(true), Ok(false), Ok(false)]);
    assert!(fair.pop().is_some() && fair.pop().is_some() && fair.pop().is_none());
    assert_eq!(fair.push(&'b', 0), Ok(true));
}

/// In any order of arrival: nobody above the share, nobody passed over twice, nothing lost.
#[test]
fn nobody_starves_whatever_the_others_do() {
    let mut fair = Fair::new(Shares { running: 2, waiting: 50, waiting_in_all: 150 });
    let (mut seed, mut running, mut passed) = (7_u64, HashMap::<u64, usize>::new(), 0);
    let mut busy: VecDeque<u64> = VecDeque::new();
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let greedy = 1 + (seed >> 33) % 3;
        while fair.push(&greedy, ()).is_ok() {}
        if seed >> 62 == 0 {
            let _ = fair.push(&0, ());
        }
        if busy.len() == 5 {
            let ended = busy.pop_front().expect("five");
            *running.get_mut(&ended).expect("it runs") -= 1;
            fair.done(&ended);
        }
        let Some((session, ())) = fair.pop() else { continue };
        busy.push_back(session);
        let runs = running.entry(session).or_default();
        *runs += 1;
        assert!(*runs <= 2);
        let modest_waits = fair.lines.get(&0).is_some_and(|line| line.in_circle);
        passed = if session == 0 || !modest_waits { 0 } else { passed + 1 };
        assert!(passed <= 4, "the modest session was passed over {passed} times");
    }
}
