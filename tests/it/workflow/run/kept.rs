//! What is kept of a run: through kills and stops it goes on where it was, and does everything
//! once.

use super::super::{put, refused_on_paper};
use super::{COPY, run, states};
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use support::home::{Home, Ran};
use support::llm::{Dialect, Gate, LlmServer, Turn};
use support::postgres::{new_schema, shared};

const TWO: &str = "workflow: two\nagents: [{ id: a, actions: [{ id: b, prompt: \"Say it.\" }] }]\ntasks:\n\
    \x20 - { id: make, tool: file_write, with: { path: /shared/made.txt, content: made } }\n\
    \x20 - { id: ask, agent: a, action: b }\n\
    \x20 - { id: keep, tool: file_write, with: { path: /shared/kept.txt, content: \"{{ tasks.ask.output.text }}\" } }\n";

/// Starts the workflow with more in its configuration, and waits until its model is asked, which
/// says this behind the gate.
async fn asked(says: &str, config: &str) -> anyhow::Result<(LlmServer, Home, Gate, Child)> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "").config(config);
    let gate = Gate::new();
    llm.script([Turn::say(says).held_by(&gate)]);
    let file = put(&home, "two.yaml", TWO.as_bytes());
    let mut command = home.command(&["run", &file]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let until = Instant::now() + Duration::from_secs(60);
    while llm.requests().is_empty() {
        anyhow::ensure!(Instant::now() < until, "the model is not asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok((llm, home, gate, child))
}

fn only_run(home: &Home) -> (String, String) {
    let listed = home.run(&["workflow", "list", "--json"]).json();
    let run = &listed["runs"][0];
    (run["run"].as_str().expect("an id").to_owned(), run["state"].as_str().expect("a state").to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_killed_run_is_interrupted_and_resumed_where_it_was() -> anyhow::Result<()> {
    let (llm, home, gate, mut child) = asked("never heard", "").await?;
    let (id, state) = only_run(&home);
    assert_eq!(state, "running");
    let beside = home.run(&["workflow", "resume", &id, "--json"]);
    assert_eq!((beside.code, beside.stdout.as_str()), (Some(1), ""), "one executor a run: {beside:?}");
    child.kill()?;
    child.wait()?;
    assert_eq!(only_run(&home), (id.clone(), "interrupted".to_owned()));
    let shown = home.run(&["workflow", "show", &id, "--json"]).json();
    assert_eq!(states(&shown), "done running pending");
    // The file changes meanwhile, and the run does not.
    put(&home, "two.yaml", b"workflow: two\ntasks: [{ id: other, tool: file_list }]\n");
    gate.open();
    llm.forget();
    llm.script([Turn::say("heard")]);
    let ran = home.run(&["workflow", "resume", &id, "--json"]);
    assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done done".to_owned()), "{ran:?}");
    assert_eq!(std::fs::read(home.host("/shared/kept.txt"))?, b"heard");
    let audit = home.audit();
    let made = audit
        .iter()
        .filter(|record| record["event"] == "outcome" && record["turn"] == format!("{id}/make"))
        .count();
    assert_eq!(made, 1, "what is done is not done again");
    let states: Vec<_> = audit.iter().filter_map(|record| record["state"].as_str()).collect();
    assert_eq!(states, ["started", "resumed", "done"]);
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    Ok(())
}

/// What it does after the copy would not be there, and would be done once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_store_is_copied_once_nobody_carries_a_run_out() -> anyhow::Result<()> {
    let Some(server) = shared("workflow::run::kept::a_store_is_copied") else { return Ok(()) };
    let (llm, home, gate, mut child) = asked("never heard", "").await?;
    let (id, _) = only_run(&home);
    let home = home.postgres(server, &new_schema());
    let refused = home.run(&["store", "copy", "sqlite", "postgres"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("stop that command"), "{refused:?}");
    child.kill()?;
    child.wait()?;
    assert!(home.state().join(format!("runs/{id}.lock")).exists(), "nobody holds it");
    let copied = home.run(&["store", "copy", "sqlite", "postgres"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    gate.open();
    llm.forget();
    llm.script([Turn::say("heard")]);
    let ran = home.run(&["workflow", "resume", &id, "--json"]);
    assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done done".to_owned()), "{ran:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stopped_run_says_that_it_is_interrupted() -> anyhow::Result<()> {
    let (llm, home, gate, child) = asked("never heard", "").await?;
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)?;
    let ran: Ran = child.wait_with_output()?.into();
    assert_eq!((ran.code, states(&ran.json())), (Some(1), "done running pending".to_owned()), "{ran:?}");
    assert_eq!(ran.json()["state"], "interrupted");
    gate.open();
    llm.forget();
    llm.script([Turn::say("heard")]);
    let id = ran.json()["run"].as_str().expect("an id").to_owned();
    assert_eq!(home.run(&["workflow", "resume", &id]).code, Some(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_is_cancelled_from_beside() -> anyhow::Result<()> {
    let (_llm, home, gate, child) = asked("too late", "").await?;
    let (id, _) = only_run(&home);
    let cancelled = home.run(&["workflow", "cancel", &id, "--json"]);
    assert_eq!((cancelled.code, &cancelled.json()["state"]), (Some(0), &json!("cancelled")), "{cancelled:?}");
    let ran: Ran = child.wait_with_output()?.into();
    assert_eq!((ran.code, states(&ran.json())), (Some(1), "done cancelled pending".to_owned()), "{ran:?}");
    assert!(!home.host("/shared/kept.txt").exists());
    let resumed = home.run(&["workflow", "resume", &id]);
    assert_eq!(
        (resumed.code, resumed.stdout.starts_with(&format!("{id}  cancelled\n"))),
        (Some(1), true),
        "it has ended: {resumed:?}"
    );
    assert!(resumed.stderr.contains(&format!("{id} was cancelled and does not go on")), "{resumed:?}");
    let audit = home.audit();
    let states: Vec<_> = audit.iter().filter_map(|record| record["state"].as_str()).collect();
    assert_eq!(states, ["started", "cancelled"]);
    gate.open();
    Ok(())
}

#[test]
fn a_failed_run_goes_on_from_its_first_task_that_is_not_done() {
    let home = Home::new();
    let text = "workflow: w\ntasks:\n  - { id: one, tool: file_write, with: { path: /shared/one.txt, content: x } }\n\
                \x20 - { id: two, tool: file_read, with: { path: /shared/late.txt } }\n";
    let first = run(&home, text, &[]);
    let id = first.json()["run"].as_str().expect("an id").to_owned();
    assert_eq!(states(&first.json()), "done failed:not_found");
    std::fs::write(home.host("/shared/late.txt"), b"here").expect("writable");
    let ran = home.run(&["workflow", "resume", &id, "--json"]);
    assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done".to_owned()), "{ran:?}");
    assert_eq!(ran.json()["output"]["content"], "here");
}

/// As if it had been killed when the run had failed, before that was written down.
#[test]
fn that_a_run_had_failed_is_written_down_before_it_goes_on() -> anyhow::Result<()> {
    let home = Home::new();
    let text = "workflow: w\ntasks: [{ id: a, tool: file_read, with: { path: /shared/late.txt } }]\n";
    let id = run(&home, text, &[]).json()["run"].as_str().expect("an id").to_owned();
    let database = rusqlite::Connection::open(home.state().join("cofferdam.db"))?;
    database.execute("UPDATE run SET unnoted = 1", [])?;
    drop(database);
    std::fs::write(home.host("/shared/late.txt"), b"here")?;
    assert_eq!(home.run(&["workflow", "resume", &id]).code, Some(0));
    let audit = home.audit();
    let states: Vec<_> = audit.iter().filter_map(|record| record["state"].as_str()).collect();
    // The first one is what it had written all the same.
    assert_eq!(states, ["started", "failed", "failed", "resumed", "done"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn so_many_runs_are_open_each_for_its_time() -> anyhow::Result<()> {
    let lines = "[workflows]\nmax_open = 1\nrun_deadline = \"2s\"\n";
    let (_llm, home, gate, child) = asked("never heard", lines).await?;
    refused_on_paper(
        &run(&home, COPY, &["--input", "name=a"]),
        "[workflows] max_open = 1, and so many runs are open",
    );
    let ran: Ran = child.wait_with_output()?.into();
    assert_eq!(
        (ran.code, states(&ran.json())),
        (Some(1), "done failed:timed_out pending".to_owned()),
        "{ran:?}"
    );
    let again = home.run(&["workflow", "resume", ran.json()["run"].as_str().expect("an id"), "--json"]);
    assert_eq!((again.code, &again.json()["error"]["code"]), (Some(1), &json!("timed_out")), "{again:?}");
    assert_eq!(run(&home, COPY, &["--input", "name=a"]).code, Some(0), "there is room again");
    gate.open();
    Ok(())
}

/// None of its tasks can be done twice: the second time there would be a file already.
const FOUR: &str = "workflow: four\ntasks:\n\
    \x20 - { id: one, tool: file_write, with: { path: /shared/1.txt, content: x } }\n\
    \x20 - { id: two, tool: file_write, with: { path: /shared/2.txt, content: \"{{ tasks.one.output.path }}\" } }\n\
    \x20 - { id: three, tool: file_copy, with: { from: /shared/2.txt, to: /shared/3.txt } }\n\
    \x20 - { id: four, tool: file_move, with: { from: /shared/3.txt, to: /shared/4.txt } }\n";

#[test]
fn killed_at_any_moment_a_run_does_everything_once() {
    let (mut kills, mut resumes) = (0, 0);
    for round in 0..6_u64 {
        let home = Home::new();
        let file = put(&home, "four.yaml", FOUR.as_bytes());
        let killed_once = |arguments: &[&str], seen: &std::path::Path, ms: u64| {
            let mut child = home
                .command(arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            let until = Instant::now() + Duration::from_secs(60);
            while !seen.exists() && Instant::now() < until && child.try_wait().expect("known").is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(ms));
            // It may have ended by itself.
            let _ = child.kill();
            child.wait().expect("it ends");
        };
        // The lock, before anything is kept; then what one task or another has made.
        let seen = [home.state().join("runs"), home.host("/shared/1.txt"), home.host("/shared/2.txt")];
        killed_once(&["run", &file], &seen[usize::try_from(round % 3).expect("small")], 4 * round);
        kills += 1;
        let listed = home.run(&["workflow", "list", "--json"]).json();
        let Some(id) = listed["runs"][0]["run"].as_str().map(str::to_owned) else { continue };
        for again in 0..4_u64 {
            killed_once(&["workflow", "resume", &id], &home.workspace(), 90 + 53 * (again + round));
            kills += 1;
        }
        resumes += 1;
        let ran = home.run(&["workflow", "resume", &id, "--json"]);
        assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done done done".to_owned()), "{ran:?}");
        assert_eq!(std::fs::read(home.host("/shared/4.txt")).expect("moved"), b"/shared/1.txt");
        assert!(!home.host("/shared/3.txt").exists());
        let audit = home.audit();
        for task in ["one", "two", "three", "four"] {
            // An intent that was cut off before anything was published is settled with no file, and
            // comes again.
            let carried_out = |record: &&Value| {
                record["turn"] == format!("{id}/{task}")
                    && record["event"] == "outcome"
                    && record["intent"].is_number()
                    && record["files"].as_array().is_some_and(|files| !files.is_empty())
            };
            assert_eq!(audit.iter().filter(carried_out).count(), 1, "{task} is carried out once");
        }
        assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    }
    assert!(resumes > 0, "of {kills} kills none came after a run began");
}

/// The store refuses the last small write, which says that the audit has the end.
#[test]
fn a_run_that_has_ended_is_told_as_it_ended_where_that_cannot_be_noted() -> anyhow::Result<()> {
    let home = Home::new();
    assert_eq!(run(&home, COPY, &["--input", "name=a"]).code, Some(0));
    let database = rusqlite::Connection::open(home.state().join("cofferdam.db"))?;
    database.execute_batch(
        "CREATE TRIGGER away BEFORE UPDATE OF unnoted ON run WHEN NEW.unnoted = 0
         BEGIN SELECT RAISE(ABORT, 'it is away'); END",
    )?;
    let failing = "workflow: w\ntasks: [{ id: a, tool: file_read, with: { path: /shared/none } }]\n";
    for (text, more, code, state) in
        [(COPY, &["--input", "name=b"][..], 0, "done"), (failing, &[][..], 1, "failed")]
    {
        let ran = run(&home, text, more);
        assert_eq!((ran.code, &ran.json()["state"]), (Some(code), &json!(state)), "{ran:?}");
        assert_eq!(home.audit().last().expect("a record")["state"], state);
        let id = ran.json()["run"].as_str().expect("an id").to_owned();
        assert_eq!(home.run(&["workflow", "show", &id, "--json"]).json()["state"], state);
    }
    let owed = "SELECT count(*) FROM run WHERE unnoted = 1";
    assert_eq!(database.query_row(owed, [], |row| row.get::<_, i64>(0))?, 2, "`serve` makes up for them");
    Ok(())
}

/// Left alone, the call would be made again beside itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_goes_on_while_its_run_cannot_be_looked_up() -> anyhow::Result<()> {
    let (llm, home, gate, child) = asked("heard", "").await?;
    let database = rusqlite::Connection::open(home.state().join("cofferdam.db"))?;
    database.execute_batch("ALTER TABLE run RENAME TO run_away")?;
    // Several looks fail: one is made every half second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    database.execute_batch("ALTER TABLE run_away RENAME TO run")?;
    gate.open();
    let ran = Ran::from(child.wait_with_output()?);
    assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done done".to_owned()), "{ran:?}");
    assert_eq!(llm.requests().len(), 1, "the model is asked once");
    Ok(())
}
