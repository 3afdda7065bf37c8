//! `run`: every call judged, every result kept before the next task.

mod agents;
mod approvals;
mod kept;

use super::{put, refused_on_paper};
use serde_json::{Value, json};
use support::home::{Home, Ran};

fn run(home: &Home, text: &str, more: &[&str]) -> Ran {
    let file = put(home, "w.yaml", text.as_bytes());
    home.run(&[&["run", &file], more].concat())
}

/// The codes and states of a run's tasks, such as `done failed:not_found pending`.
fn states(line: &Value) -> String {
    let task = |task: &Value| match task["error"]["code"].as_str() {
        Some(code) => format!("{}:{code}", task["state"].as_str().expect("a state")),
        None => task["state"].as_str().expect("a state").to_owned(),
    };
    line["tasks"].as_array().expect("tasks").iter().map(task).collect::<Vec<_>>().join(" ")
}

const COPY: &str = "workflow: copy\ninput: { properties: { name: { type: string } }, required: [name] }\ntasks:\n\
    \x20 - { id: write, tool: file_write, with: { path: \"/shared/{{ input.name }}.txt\", content: \"by {{ trigger.kind }}\" } }\n\
    \x20 - { id: read, tool: file.read, with: { path: \"{{ tasks.write.output.path }}\" } }\n\
    output: { text: \"{{ tasks.read.output.content }}\", run: \"{{ workflow.run }}\" }\n";

#[test]
fn tools_run_one_after_the_other_as_in_a_turn() {
    let home = Home::new();
    let listed = home.run(&["workflow", "list"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), ""), "{listed:?}");
    assert!(listed.stderr.contains("no run is kept"), "{listed:?}");
    let ran = run(&home, COPY, &["--input", "name=a"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = ran.json();
    let id = line["run"].as_str().expect("an id");
    assert!(id.starts_with("copy-") && ran.stdout.lines().count() == 1);
    assert_eq!((&line["workflow"], &line["state"]), (&json!("copy"), &json!("done")));
    assert_eq!(states(&line), "done done");
    assert_eq!(line["output"], json!({ "text": "by cli", "run": id }));
    assert_eq!(std::fs::read(home.host("/shared/a.txt")).expect("written"), b"by cli");

    let audit = home.audit();
    let told: Vec<String> = audit
        .iter()
        .map(|record| match record["event"].as_str() {
            Some("workflow") => format!("workflow {}", record["state"].as_str().unwrap_or("-")),
            Some(event) => format!(
                "{event} {} {}",
                record["tool"].as_str().expect("a tool"),
                record["turn"].as_str().expect("a turn")
            ),
            None => panic!("{record}"),
        })
        .collect();
    let expected = [
        "workflow started".to_owned(),
        format!("intent file_write {id}/write"),
        format!("outcome file_write {id}/write"),
        format!("outcome file_read {id}/read"),
        "workflow done".to_owned(),
    ];
    assert_eq!(told, expected);
    assert_eq!(audit[0]["run"], id);
    assert!(audit[0]["by"].as_str().expect("somebody").starts_with("cli:"));
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    assert!(home.run(&["audit", "show"]).stdout.contains(&format!("workflow {id} started by cli:")));

    let listed = home.run(&["workflow", "list", "--json"]).json();
    assert_eq!(listed, json!({ "runs": [{ "run": id, "workflow": "copy", "state": "done" }] }));
    let shown = home.run(&["workflow", "show", id, "--json"]).json();
    assert_eq!(
        (&shown["tasks"], &shown["output"], &shown["file_sha256"]),
        (&line["tasks"], &line["output"], &audit[0]["file_sha256"])
    );
    for command in ["resume", "cancel"] {
        let ran = home.run(&["workflow", command, id]);
        assert_eq!(ran.code, Some(if command == "resume" { 0 } else { 1 }), "{ran:?}");
    }
    assert_eq!(home.audit().len(), 5, "what has ended neither goes on nor ends again");
    for command in ["show", "resume", "cancel"] {
        assert_eq!(home.run(&["workflow", command, "copy-0"]).code, Some(1), "{command}: no such run");
    }
}

#[test]
fn a_refused_call_fails_its_task_and_ends_the_run() {
    let home = Home::new();
    for (task, code) in [
        ("tool: file_read, with: { path: /vault/key }", "path_denied"),
        ("tool: file_read, with: { path: /shared/none }", "not_found"),
        ("tool: file_read, with: { paths: [] }", "invalid_arguments"),
        ("tool: no_such_tool", "unknown_tool"),
        ("tool: attachment_add, with: { content: x, filename: x.txt }", "path_denied"),
        ("tool: file_read, with: { path: \"{{ tasks.first.output.nope }}\" }", "template_failed"),
    ] {
        let text = format!(
            "workflow: w\ntasks:\n  - {{ id: first, tool: file_list, with: {{ path: /shared }} }}\n  - {{ id: second, {task} }}\n  - {{ id: third, tool: file_list }}\n"
        );
        let ran = run(&home, &text, &[]);
        let line = ran.json();
        assert_eq!((ran.code, states(&line)), (Some(1), format!("done failed:{code} pending")), "{ran:?}");
        assert_eq!(
            (&line["state"], &line["error"]["task"], &line["error"]["code"]),
            (&json!("failed"), &json!("second"), &json!(code))
        );
        let shown = home.run(&["workflow", "show", line["run"].as_str().expect("an id")]).stdout;
        assert!(shown.contains(&format!("\n  third  pending\n  {code}: ")), "{shown}");
        assert_eq!(home.audit().last().expect("a record")["state"], "failed");
    }
}

#[test]
fn what_tasks_write_counts_on_the_day_of_who_began_the_run() {
    let home = Home::new().config("[turns]\nuser_written_bytes_per_day = \"8 B\"\n");
    let write = |id: &str| {
        format!(
            "  - {{ id: {id}, tool: file_write, with: {{ path: /shared/{id}, content: \"12345678\" }} }}\n"
        )
    };
    let ran = run(&home, &format!("workflow: w\ntasks:\n{}{}", write("first"), write("second")), &[]);
    assert_eq!(
        (ran.code, states(&ran.json())),
        (Some(1), "done failed:quota_exceeded".to_owned()),
        "{ran:?}"
    );
    assert!(!home.host("/shared/second").exists());
    // What only reads goes on.
    let reads = "workflow: w\ntasks: [{ id: a, tool: file_read, with: { path: /shared/first } }]\n";
    assert_eq!(run(&home, reads, &[]).code, Some(0));
}

/// As if it had been killed when the file was there, before its result was kept.
#[test]
fn a_call_that_has_used_up_the_day_is_answered_when_its_run_is_resumed() {
    let home = Home::new().config("[turns]\nuser_written_bytes_per_day = \"8 B\"\n");
    let task = "id: a, tool: file_write, with: { path: /shared/a, content: \"12345678\" }";
    let ran = run(&home, &format!("workflow: w\ntasks: [{{ {task} }}]\n"), &[]);
    let id = ran.json()["run"].as_str().expect("an id").to_owned();
    let database = rusqlite::Connection::open(home.state().join("cofferdam.db")).expect("it is there");
    let cut_off = "UPDATE run SET state = 'running', output = NULL, ended_at = NULL;
         UPDATE run_task SET state = 'running', output = NULL";
    database.execute_batch(cut_off).expect("nobody holds it");
    drop(database);
    let resumed = home.run(&["workflow", "resume", &id, "--json"]);
    assert_eq!((resumed.code, states(&resumed.json())), (Some(0), "done".to_owned()), "{resumed:?}");
    assert_eq!(resumed.json()["output"], ran.json()["output"]);
}

#[test]
fn an_agents_task_without_a_model_is_refused_before_anything_begins() {
    let home = Home::new();
    let text = "workflow: w\nagents: [{ id: a, actions: [{ id: b, prompt: c }] }]\ntasks: [{ id: t, agent: a, action: b }]\n";
    refused_on_paper(&run(&home, text, &[]), "its agents need a model");
    assert!(home.audit().is_empty() && !home.state().join("cofferdam.db").exists(), "nothing began");
}
