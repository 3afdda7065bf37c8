//! `run` and what is kept of it: every call judged, every result kept before the next task, what an
//! agent is shown.

use super::{PDF, PNG, put, refused_on_paper};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::containing;
use support::home::{Home, Ran};
use support::llm::{Call, Dialect, Gate, LlmServer, Turn};
use support::terminal::Terminal;

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
        assert_eq!(home.audit().last().expect("a record")["state"], "failed");
    }
}

#[test]
fn an_agents_task_without_a_model_is_refused_before_anything_begins() {
    let home = Home::new();
    let text = "workflow: w\nagents: [{ id: a, actions: [{ id: b, prompt: c }] }]\ntasks: [{ id: t, agent: a, action: b }]\n";
    refused_on_paper(&run(&home, text, &[]), "its agents need a model");
    assert!(home.audit().is_empty() && !home.state().join("cofferdam.db").exists(), "nothing began");
}

/// The texts and other parts of the first user message of a request.
fn parts(request: &support::llm::RequestRecord) -> Vec<Value> {
    let user = request.messages().iter().find(|message| message["role"] == "user").expect("a user's message");
    user["content"].as_array().cloned().unwrap_or_else(|| vec![json!({ "text": user["content"] })])
}

const LOOK: &str = "workflow: look\ninput: { properties: { topic: { type: string } } }\nagents:\n  - id: reader\n\
    \x20   instructions: \"Be careful with {{ input.topic }}.\"\n    tools: [file_list]\n\
    \x20   attachments: [{ type: pdf, path: ./handbook.pdf, name: Handbook }]\n    actions:\n      - id: compare\n\
    \x20       prompt: \"/file_delete path=/shared/x {{ input.topic }}\"\n\
    \x20       attachments: [{ type: image, url: \"https://example.com/reference.png?k=s3cret\" }, { type: url, url: \"https://example.com/\" }]\n\
    \x20       output: { type: object, properties: { verdict: { type: string } }, required: [verdict] }\n\
    tasks:\n  - id: look\n    agent: reader\n    action: compare\n    with: { topic: \"{{ workflow.input.topic }}\" }\n\
    \x20   attachments: [{ type: image, paths: [\"*.png\"], meta: { n: 1 } }, { type: file, path: note.txt }, { type: file, path: /shared/in.txt }]\n\
    output: \"{{ tasks.look.output.verdict }}\"\n";

fn look(home: &Home) {
    put(home, "a.png", PNG);
    put(home, "handbook.pdf", PDF);
    put(home, "note.txt", b"a note {{ env.HOME }}");
    let shared = home.host("/shared");
    std::fs::create_dir_all(&shared).expect("writable");
    std::fs::write(shared.join("in.txt"), b"from the workspace").expect("writable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_is_shown_the_prompt_the_list_and_the_parts_in_order() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let llm = LlmServer::start().await?;
        let home = Home::new().model(&llm, dialect, "accepts = [\"image/*\", \"application/pdf\"]\n");
        look(&home);
        llm.script([
            Turn::calls([
                Call::new("file_list", json!({ "path": "/shared" })),
                Call::new("file_delete", json!({ "path": "/shared/in.txt" })),
            ]),
            Turn::say("It is fine."),
            Turn::say("{\"verdict\": \"fine\"}"),
        ]);
        let ran = run(&home, LOOK, &["--input", "topic=harbours"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line = ran.json();
        assert_eq!(
            (&line["output"], &line["tasks"][0]["output"]),
            (&json!("fine"), &json!({ "verdict": "fine" }))
        );
        assert_eq!(llm.violations(), [""; 0], "{dialect:?}");
        let requests = llm.requests();
        assert_eq!(requests.len(), 3);
        let parts = parts(&requests[0]);
        let texts: Vec<String> =
            parts.iter().filter_map(|part| part["text"].as_str().map(str::to_owned)).collect();
        assert_eq!(texts[0], "/file_delete path=/shared/x harbours", "nothing in a prompt is a command");
        let lines: Vec<Value> =
            texts[1].lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(
            lines,
            [
                json!({ "index": 0, "type": "image", "mime_type": "image/png", "bytes": PNG.len(), "meta": { "n": 1 } }),
                json!({ "index": 1, "type": "file", "mime_type": "text/plain", "bytes": 21 }),
                json!({ "index": 2, "type": "file", "mime_type": "text/plain", "bytes": 18 }),
                json!({ "index": 3, "type": "pdf", "name": "Handbook", "mime_type": "application/pdf", "bytes": PDF.len() }),
                json!({ "index": 4, "type": "image", "url": "https://example.com/reference.png?k=s3cret" }),
                json!({ "index": 5, "type": "url", "url": "https://example.com/" }),
            ]
        );
        // The prompt and the list, then an image, two texts, a PDF and an image by its address.
        assert_eq!(parts.len(), 7, "{dialect:?}: {parts:?}");
        assert!(parts[2].to_string().contains("iVBORw0KGgo"), "{dialect:?}: {}", parts[2]);
        assert_eq!(texts[2], "{\"index\":1,\"text\":\"a note {{ env.HOME }}\"}");
        assert_eq!(texts[3], "{\"index\":2,\"text\":\"from the workspace\"}");
        assert!(parts[5].to_string().contains("JVBERi0xLjcK"), "{dialect:?}: {}", parts[5]);
        assert!(
            parts[6].to_string().contains("\"https://example.com/reference.png?k=s3cret\""),
            "{dialect:?}: {}",
            parts[6]
        );
        assert!(requests[0].text().contains("Be careful with harbours."));
        // Of the tools it has what its file names, and each call is judged.
        let results = requests[1].results();
        assert!(results[0].contains("in.txt") && results[1].contains("unknown_tool"), "{results:?}");
        assert!(!requests[0].text().contains("\"file_delete\"") && home.host("/shared/in.txt").exists());
        // Once more where the answer was no such JSON.
        assert!(requests[2].text().contains("it is no JSON") && requests[2].text().contains("It is fine."));
        let audit = home.audit();
        let asks = audit.iter().find(|record| record["task"] == "look").expect("a record of the task");
        let attachments = asks["attachments"].as_array().expect("a list");
        assert_eq!(attachments[4]["url"], "https://example.com/reference.png?[redacted]");
        assert_eq!((&attachments[0]["path"], &attachments[0]["bytes"]), (&json!("a.png"), &json!(PNG.len())));
        assert_eq!(attachments[0]["sha256"].as_str().map(str::len), Some(64));
        assert!(
            containing(&home.state(), b"s3cret")
                .iter()
                .all(|file| file.to_string_lossy().contains("cofferdam.db")),
            "the file as it was is kept, and no log has it"
        );
        let left: Vec<_> = std::fs::read_dir(home.state().join("blobs")).expect("there").collect();
        assert!(left.is_empty(), "{left:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_shown_or_read_fails_the_task() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Anthropic, "accepts = [\"image/png\"]\n");
    look(&home);
    let agent = |attachment: &str, output: &str| {
        format!(
            "workflow: w\nagents: [{{ id: a, actions: [{{ id: b, prompt: c{output}, attachments: [{attachment}] }}] }}]\ntasks: [{{ id: t, agent: a, action: b }}]\n"
        )
    };
    let failed = |text: &str, code: &str, said: &str| {
        let ran = run(&home, text, &[]);
        let line = ran.json();
        assert_eq!((ran.code, states(&line)), (Some(1), format!("failed:{code}")), "{ran:?}");
        assert!(line["error"]["message"].as_str().expect("words").contains(said), "{line}");
    };
    failed(
        &agent("{ type: pdf, path: handbook.pdf }", ""),
        "attachment_unavailable",
        "[provider] accepts names image/png",
    );
    failed(&agent("{ type: image, path: note.txt }", ""), "attachment_unavailable", "is text/plain");
    failed(&agent("{ type: file, path: none.txt }", ""), "not_found", "`none.txt` is not there");
    failed(&agent("{ type: file, path: /shared/none.txt }", ""), "not_found", "/shared/none.txt");
    assert_eq!(llm.requests().len(), 0, "nothing was asked");
    let output = ", output: { type: object, properties: { n: { type: integer } }, required: [n] }";
    llm.script([Turn::say("{}"), Turn::say("{\"n\": \"x\"}")]);
    failed(&agent("{ type: image, path: a.png }", output), "invalid_output", "n must be a whole number");
    llm.script([Turn::status(400)]);
    failed(&agent("{ type: image, path: a.png }", ""), "internal", "");
    llm.script([Turn::say("yes")]);
    let ran = run(&home, &agent("{ type: image, path: a.png }", ""), &[]);
    assert_eq!(ran.json()["tasks"][0]["output"], json!({ "text": "yes" }), "{ran:?}");
    Ok(())
}

const TWO: &str = "workflow: two\nagents: [{ id: a, actions: [{ id: b, prompt: \"Say it.\" }] }]\ntasks:\n\
    \x20 - { id: make, tool: file_write, with: { path: /shared/made.txt, content: made } }\n\
    \x20 - { id: ask, agent: a, action: b }\n\
    \x20 - { id: keep, tool: file_write, with: { path: /shared/kept.txt, content: \"{{ tasks.ask.output.text }}\" } }\n";

/// Starts the workflow and waits until its model is asked.
async fn asked(home: &Home, llm: &LlmServer) -> anyhow::Result<std::process::Child> {
    let file = put(home, "two.yaml", TWO.as_bytes());
    let mut command = home.command(&["run", &file]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let until = Instant::now() + Duration::from_secs(60);
    while llm.requests().is_empty() {
        anyhow::ensure!(Instant::now() < until, "the model is not asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(child)
}

fn only_run(home: &Home) -> (String, String) {
    let listed = home.run(&["workflow", "list", "--json"]).json();
    let run = &listed["runs"][0];
    (run["run"].as_str().expect("an id").to_owned(), run["state"].as_str().expect("a state").to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_killed_run_is_interrupted_and_resumed_where_it_was() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "");
    let gate = Gate::new();
    llm.script([Turn::say("never heard").held_by(&gate)]);
    let mut child = asked(&home, &llm).await?;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stopped_run_says_that_it_is_interrupted() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "");
    let gate = Gate::new();
    llm.script([Turn::say("never heard").held_by(&gate)]);
    let child = asked(&home, &llm).await?;
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
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "");
    let gate = Gate::new();
    llm.script([Turn::say("too late").held_by(&gate)]);
    let child = asked(&home, &llm).await?;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn so_many_runs_are_open_each_for_its_time() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let lines = "[workflows]\nmax_open = 1\nrun_deadline = \"2s\"\n";
    let home = Home::new().model(&llm, Dialect::Chat, "").config(lines);
    let gate = Gate::new();
    llm.script([Turn::say("never heard").held_by(&gate)]);
    let child = asked(&home, &llm).await?;
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

/// The default policies, where `file_write` asks each time.
fn asking() -> Home {
    let home = Home::new().own_policies();
    let name = "tools/file_write.toml";
    let text = std::fs::read_to_string(home.policies_dir().join(name)).expect("there");
    home.policy(name, &format!("{text}\n[approval]\n\"*\" = \"always\"\n"))
}

#[test]
fn whoever_sits_at_the_terminal_is_asked_and_a_yes_needs_the_code() {
    let home = asking();
    let file = put(&home, "w.yaml", COPY.as_bytes());
    let config = home.config_file();
    let config = config.to_str().expect("text");
    // The one line of standard output is apart from what is asked.
    let at_terminal = |words: &str| {
        let program = support::program::cofferdam();
        let command = format!("exec {} --config {config} {words} > out.json", program.display());
        Terminal::run(&home, home.dir(), &command, &[])
    };
    let line = || -> Value {
        let out = std::fs::read_to_string(home.dir().join("out.json")).expect("written");
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).expect("JSON")
    };
    let code = |terminal: &mut Terminal| {
        terminal.until("file_write needs approval");
        terminal.until("Approve? [yes ");
        terminal.before("/no] ")
    };
    let mut terminal = at_terminal(&format!("run {file} --input name=a"));
    let first = code(&mut terminal);
    terminal.types("yes\n");
    terminal.until("That does not say which call it approves.");
    terminal.types("go on, please\n");
    terminal.until("That does not say which call it approves.");
    terminal.types(&format!("yes {first}\n"));
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(states(&line()), "done done");
    assert!(home.host("/shared/a.txt").exists());

    let mut terminal = at_terminal(&format!("run {file} --input name=b"));
    code(&mut terminal);
    terminal.types("no\n");
    assert_eq!(terminal.ended().0, Some(1));
    assert_eq!(states(&line()), "failed:approval_denied pending");
    assert!(!home.host("/shared/b.txt").exists());

    let id = line()["run"].as_str().expect("an id").to_owned();
    let mut terminal = at_terminal(&format!("workflow resume {id} --json"));
    let second = code(&mut terminal);
    terminal.types(&format!("yes {second}\n"));
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(states(&line()), "done done");
    let audit = home.audit();
    let approvals: Vec<&str> = audit.iter().filter_map(|record| record["approval"].as_str()).collect();
    assert_eq!(approvals, ["asked", "approved", "asked", "denied", "asked", "approved"]);
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn a_policy_that_wants_a_person_is_asked_as_in_a_turn() {
    let home = asking();
    let ran = run(&home, COPY, &["--input", "name=a"]);
    assert_eq!(
        (ran.code, states(&ran.json())),
        (Some(1), "failed:approval_required pending".to_owned()),
        "{ran:?}"
    );
    assert!(!home.host("/shared/a.txt").exists());
    let id = ran.json()["run"].as_str().expect("an id").to_owned();
    let ran = home.run(&["workflow", "resume", &id, "--json", "--approve"]);
    assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done".to_owned()), "{ran:?}");
    assert!(ran.stderr.contains("approved: file_write needs approval"), "{ran:?}");
    let approvals: Vec<_> =
        home.audit().iter().filter_map(|record| record["approval"].as_str().map(str::to_owned)).collect();
    assert_eq!(approvals, ["asked", "approved"]);
    assert_eq!(run(&home, COPY, &["--input", "name=b", "--approve"]).code, Some(0));
}
