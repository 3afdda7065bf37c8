//! What an agent of a run is shown, which tools it has, and what its answers must be.

use super::super::{PDF, PNG, put};
use super::{run, states};
use serde_json::{Value, json};
use support::containing;
use support::home::Home;
use support::llm::{Call, Dialect, LlmServer, Turn};

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

/// Two names of one file, which an earlier task makes, are one attachment; the agent's tools have
/// it as the files of a turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_tasks_name_alike_is_one_attachment_and_its_agents_tools_have_it() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "");
    put(&home, "note.txt", b"a note");
    let text = "workflow: w\nagents:\n  - id: a\n    tools: [attachment_save]\n\
        \x20   attachments: [{ type: file, path: /shared/made.txt, name: Last }, { type: file, path: note.txt }]\n\
        \x20   actions: [{ id: b, prompt: c }]\ntasks:\n\
        \x20 - { id: make, tool: file_write, with: { path: /shared/made.txt, content: made } }\n\
        \x20 - id: t\n    agent: a\n    action: b\n    attachments:\n\
        \x20     - { type: file, path: \"{{ tasks.make.output.path }}\", name: First, meta: { n: \"{{ tasks.make.output.path }}\" } }\n";
    let save = |index: u32, path: &str| Call::new("attachment_save", json!({ "index": index, "path": path }));
    llm.script([Turn::calls([save(0, "/shared/0.txt"), save(1, "/shared/1.txt")]), Turn::say("saved")]);
    let ran = run(&home, text, &[]);
    assert_eq!((ran.code, states(&ran.json())), (Some(0), "done done".to_owned()), "{ran:?}");
    let list = parts(&llm.requests()[0])
        .iter()
        .filter_map(|part| part["text"].as_str().map(str::to_owned))
        .find(|text| text.starts_with("{\"index\":0,\"type\""))
        .expect("a list");
    let lines: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let file = |index: u32, bytes: u32| json!({ "index": index, "type": "file", "mime_type": "text/plain", "bytes": bytes });
    let mut first = file(0, 4);
    (first["name"], first["meta"]) = (json!("Last"), json!({ "n": "/shared/made.txt" }));
    assert_eq!(lines, [first, file(1, 6)]);
    for (path, bytes) in [("/shared/0.txt", "made"), ("/shared/1.txt", "a note")] {
        assert_eq!(std::fs::read_to_string(home.host(path))?, bytes);
    }
    Ok(())
}
