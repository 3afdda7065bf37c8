//! A message, and the reply to it: who resolves a wait, and who does not; timeouts, and the end of
//! a run.

use super::{ANN, ASK, BEN, CAT, EVE, World};
use serde_json::json;
use support::guests::sha256;
use support::llm::{Dialect, LlmServer};
use support::telegram::{Incoming, Media};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_colleague_is_asked_and_the_answer_comes_back_in_the_thread() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let asked = world.ask("/ask question=\"when is it?\"");
    let question = world.said_to(BEN, "5000000001 asks: when is it?").await?;
    world.answer(&asked, "ask-colleague-").await?;

    let shown = world.stands("waiting").await?;
    assert_eq!(shown["waiting"]["task"], "answer");
    assert_eq!(shown["waiting"]["from"], "telegram:5000000002");
    assert!(shown["waiting"]["until"].as_str().expect("a time").ends_with('Z'), "{shown}");
    assert_eq!((&shown["by"], &shown["channel"]), (&json!("telegram:5000000001"), &json!("telegram")));
    let session = shown["session"].as_str().expect("a session");
    assert!(session.starts_with("telegram-") && session.ends_with(":5000000001/0"), "{session}");
    assert!(shown["request"].as_str().is_some_and(|request| request.starts_with("telegram-")), "{shown}");
    let sent = &shown["tasks"][0]["output"];
    assert_eq!(sent["channelId"], BEN.to_string());
    assert_eq!(sent["messageId"], question.message_id.to_string());
    assert_eq!(shown["tasks"][1]["state"], "waiting");
    let listed = world.home.run(&["workflow", "list", "--json"]).json();
    assert_eq!(listed["runs"][0]["state"], "waiting");
    let told = world.home.run(&["workflow", "show", &world.run_id()]).stdout;
    assert!(told.contains("answer  waiting for telegram:5000000002 until 20"), "{told}");

    let reply = world.reply(BEN, &question, "at {{ noon }}");
    let answer = world.answer(&asked, "They say:").await?;
    assert_eq!(answer.text, "They say: at {{ noon }}", "what came in is data");
    let shown = world.stands("done").await?;
    assert_eq!(
        shown["tasks"][1]["output"],
        json!({ "text": "at {{ noon }}", "from": "telegram:5000000002", "messageId": reply.message_id.to_string(),
            "files": [] })
    );
    assert_eq!(shown.get("waiting"), None);
    let expected = [
        "started by telegram:5000000001",
        "sends to telegram:5000000002",
        "waiting",
        "resumed by telegram:5000000002",
        "done",
    ];
    assert_eq!(world.audited(), expected);
    let sends = world.home.audit().into_iter().find(|record| record["to"].is_string()).expect("audited");
    assert_eq!(sends["text_sha256"].as_str().map(str::len), Some(64));

    // The same update once more, and a second reply: the first changes nothing, the second is an
    // ordinary message.
    world.server.redeliver(reply.update_id)?;
    let second = world.reply(BEN, &question, "/help file_read");
    world.answer(&second, "").await?;
    assert_eq!(world.texts_to(BEN).len(), 2, "the reply itself was answered by nothing");
    assert_eq!(world.texts_to(ANN).len(), 2, "an acknowledgement and the answer");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn only_a_reply_of_who_was_asked_to_that_very_message_counts() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let asked = world.ask("/ask question=one");
    let question = world.said_to(BEN, "5000000001 asks: one").await?;
    world.stands("waiting").await?;
    // Not a reply; a reply to something else; somebody else's; one that only sends words on.
    let plain = world.server.push(Incoming::private(BEN).text("/help file_read"));
    let answer = world.answer(&plain, "").await?;
    let to_another = world.reply(BEN, &answer, "/help file_list");
    world.answer(&to_another, "").await?;
    let of_another =
        world.server.push(Incoming::private(CAT).text("/help file_info").reply_to(&question.message));
    world.answer(&of_another, "").await?;
    let sent_on = world
        .server
        .push(Incoming::private(BEN).text("noon").reply_to(&question.message).forwarded_from("Eve"));
    world.server.wait_until_confirmed(super::PATIENCE, sent_on.update_id).await?;
    // One that says nothing.
    let place = Incoming::private(BEN).field("location", json!({ "latitude": 1.5, "longitude": 2.5 }));
    let place = world.server.push(place.reply_to(&question.message));
    world.answer(&place, "A message of this kind (location) cannot be used here.").await?;
    assert_eq!(world.shown()["state"], "waiting");
    // A file in the reply is told of.
    let photo = Media::with_content("p", b"none is fetched".to_vec());
    world.server.push(Incoming::private(BEN).document(photo).caption("see").reply_to(&question.message));
    world.answer(&asked, "They say: see").await?;
    let files = &world.shown()["tasks"][1]["output"]["files"];
    assert_eq!(files.as_array().map(Vec::len), Some(1), "{files}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_album_is_one_reply_with_all_its_files() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let (asked, question) = world.asked().await?;
    world.stands("waiting").await?;
    let part = |n: i64| {
        let media = Media::with_content(&format!("part-{n}"), format!("part {n}"));
        let document = Incoming::private(BEN).document(media.name(&format!("{n}.txt")));
        document.media_group("g").reply_to(&question.message)
    };
    // The words are below the second one.
    world.server.push_all([part(1), part(2).caption("noon"), part(3)]);
    world.answer(&asked, "They say: noon").await?;
    let output = &world.shown()["tasks"][1]["output"];
    assert_eq!(output["files"].as_array().map(Vec::len), Some(3), "{output}");
    assert_eq!(world.texts_to(BEN).len(), 1, "no part is a message of its own");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_of_a_task_holds_no_secret_of_the_gateway() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    world.ask(&format!("/ask question=\"is it {}, then?\"", world.server.token()));
    let sent = world.said_to(BEN, "5000000001 asks: is it ").await?;
    assert_eq!(sent.text, "5000000001 asks: is it ***, then?");
    let sends = world.home.audit().into_iter().find(|record| record["to"].is_string()).expect("audited");
    assert_eq!(sends["text_sha256"], sha256(b"5000000001 asks: is it ***, then?"));
    Ok(())
}

/// Its length is that of what is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_of_a_task_that_is_too_long_for_a_secret_alone_goes_out() -> anyhow::Result<()> {
    let long = "x".repeat((32 << 10) - 4);
    let text = format!(
        "workflow: tell\non: {{ command: tell }}\n\
         input: {{ type: object, properties: {{ word: {{ type: string }} }}, required: [word] }}\n\
         tasks: [{{ id: a, send: {{ to: \"telegram:{BEN}\", text: \"{long} {{{{ input.word }}}}\" }} }}]\n\
         output: told\n"
    );
    let world = World::running(&[&text]).await?;
    let asked = world.ask(&format!("/tell word=\"{}\"", world.server.token()));
    world.answer(&asked, "told").await?;
    assert_eq!(world.texts_to(BEN).concat(), format!("{long} ***"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nobody_who_is_not_served_is_written_to() -> anyhow::Result<()> {
    let to = |whom: &str| {
        format!(
            "workflow: w\non: {{ command: w }}\ntasks: [{{ id: a, send: {{ to: \"{whom}\", text: hi }} }}]\n"
        )
    };
    // Of the last one no reply could be told for theirs.
    let others = ["discord:1".to_owned(), "telegram:none".to_owned(), format!("telegram:0{BEN}")];
    for whom in [format!("telegram:{EVE}")].into_iter().chain(others) {
        let world = World::running(&[&to(&whom)]).await?;
        world.server.open_chat(EVE);
        let asked = world.ask("/w");
        world.answer(&asked, "recipient_denied: ").await?;
        assert_eq!(world.server.sent_messages().iter().filter(|sent| sent.chat_id != ANN).count(), 0);
    }
    Ok(())
}

/// A wait for so long, with more of it.
fn waiting(timeout: &str, more: &str) -> String {
    ASK.replace("timeout: 24h", &format!("timeout: {timeout}{more}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_reply_in_time_the_task_fails_or_says_something_else() -> anyhow::Result<()> {
    let world = World::running(&[&waiting("300ms", ", otherwise: \"(nothing)\"")]).await?;
    let asked = world.ask("/ask question=one");
    let question = world.said_to(BEN, "5000000001 asks").await?;
    world.answer(&asked, "They say: (nothing)").await?;
    // It is too late: an ordinary message.
    let late = world.reply(BEN, &question, "/help file_read");
    world.answer(&late, "").await?;

    let mut world = World::running(&[&waiting("2s", "")]).await?;
    let asked = world.ask("/ask question=one");
    world.said_to(BEN, "5000000001 asks").await?;
    world.stands("waiting").await?;
    // Its time goes on while nobody serves.
    world.kill();
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    world.start()?;
    world.answer(&asked, "timed_out: telegram:5000000002 did not reply within 2s").await?;
    assert_eq!(world.shown()["error"]["code"], "timed_out");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_that_is_cancelled_says_so_in_the_thread_and_waits_no_longer() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let asked = world.ask("/ask question=one");
    let question = world.said_to(BEN, "5000000001 asks").await?;
    world.answer(&asked, "ask-colleague-").await?;
    world.stands("waiting").await?;
    assert_eq!(world.cancel().code, Some(0));
    world.answer(&asked, "cancelled: ").await?;
    let late = world.reply(BEN, &question, "/help file_read");
    world.answer(&late, "").await?;
    assert_eq!(world.cancel().code, Some(1), "it has ended");
    assert_eq!(world.shown()["tasks"][1]["state"], "cancelled");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_of_the_command_line_waits_and_serve_goes_on_with_it() -> anyhow::Result<()> {
    let mut world = World::stopped(&[ASK]).await?;
    let ran = world.home.run(&["run", "ask-colleague", "--input", "question=one"]);
    assert_eq!((ran.code, &ran.json()["state"]), (Some(4), &json!("waiting")), "{ran:?}");
    assert_eq!(ran.json()["tasks"][0]["state"], "pending");
    assert_eq!(world.shown()["state"], "waiting");
    let resumed = world.home.run(&["workflow", "resume", &world.run_id(), "--json"]);
    assert_eq!((resumed.code, &resumed.json()["state"]), (Some(4), &json!("waiting")), "it is serve's");
    world.start()?;
    let question = world.said_to(BEN, &format!("{} asks: one", uid())).await?;
    world.reply(BEN, &question, "noon");
    let shown = world.stands("done").await?;
    assert_eq!(shown["output"], "They say: noon");
    // Another one beside it.
    let file = world.home.dir().join("offered/0.yaml");
    let ran = world.home.run(&["run", file.to_str().expect("text"), "--input", "question=two"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    world.said_to(BEN, &format!("{} asks: two", uid())).await?;
    let unknown = world.home.run(&["run", "ask"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
    assert!(unknown.stderr.contains("there is ask-colleague"), "{unknown:?}");
    Ok(())
}

fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_wrong_with_a_command_is_said_at_once() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    for (text, said) in [
        ("/ask", "invalid_arguments: "),
        ("/ask question", "invalid_arguments: "),
        ("/ask question=one other=two", "invalid_arguments: "),
    ] {
        let asked = world.ask(text);
        let answer = world.answer(&asked, said).await?;
        assert!(answer.text.contains("write /ask question=…"), "{answer:?}");
    }
    for n in 0..5 {
        let asked = world.ask(&format!("/ask question=number-{n}"));
        world.said_to(BEN, &format!("5000000001 asks: number-{n}")).await?;
        world.answer(&asked, "ask-colleague-").await?;
    }
    let asked = world.ask("/ask question=one");
    world.answer(&asked, "quota_exceeded: 5 runs of workflows are open").await?;
    Ok(())
}

/// Asks an agent about a file of the web.
const LOOK: &str = "workflow: look\non: { command: look }\ninput: { properties: { at: { type: string } } }\n\
    agents: [{ id: a, actions: [{ id: b, prompt: c, attachments: [{ type: pdf, url: \"AT\" }] }] }]\n\
    tasks: [{ id: t, agent: a, action: b }]\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_address_that_is_wrong_on_paper_begins_nothing_in_a_chat_either() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let mut world = World::stopped(&[&LOOK.replace("AT", "{{ input.at }}")]).await?;
    world.home = std::mem::take(&mut world.home).model(&llm, Dialect::Chat, "");
    world.start()?;
    for (at, said) in [
        ("http://example.com/a.pdf", "network_denied: task t: http://example.com/a.pdf is not https"),
        ("https://me:s3cret@example.com/", "network_denied: task t: example.com:443 comes with a user name"),
        ("ftp://example.com/a.pdf", "network_denied: "),
    ] {
        let asked = world.ask(&format!("/look at={at}"));
        let answer = world.answer(&asked, said).await?;
        assert!(!answer.text.contains("s3cret"), "{answer:?}");
    }
    assert_eq!(world.audited(), [""; 0], "nothing began");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn serve_refuses_to_start_with_a_file_that_is_wrong() -> anyhow::Result<()> {
    for (texts, said) in [
        (vec!["workflow: w\n"], "0.yaml"),
        (vec![ASK, ASK], "there is a workflow ask-colleague already"),
        (
            vec![ASK, "workflow: other\non: { command: ask }\ntasks: [{ id: a, tool: file_list }]\n"],
            "/ask is the command of",
        ),
        (
            vec!["workflow: w\non: { command: file_read }\ntasks: [{ id: a, tool: file_list }]\n"],
            "/file_read is a tool",
        ),
        (
            vec![
                "workflow: w\non: { schedule: \"* * * * *\", to: \"discord:1\" }\ntasks: [{ id: a, tool: file_list }]\n",
            ],
            "[channels.discord] is not configured",
        ),
        (
            vec![&LOOK.replace("AT", "http://example.com/a.pdf")],
            "0.yaml: http://example.com/a.pdf is not https",
        ),
        (vec![&LOOK.replace("AT", "https://example.com/a.pdf")], "0.yaml: its agents need a model"),
        (
            vec![&ASK.replace("command: ask", "schedule: \"* * * * *\", to: \"telegram:5000000002\"")],
            "0.yaml: its schedule begins nothing: the input does not fit: ",
        ),
    ] {
        let world = World::stopped(&texts).await?;
        let mut command = world.home.command(&["serve"]);
        let ran = command.env("TELEGRAM_BOT_TOKEN", world.server.token()).output()?;
        let log = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(2) && log.contains(said), "{said}: {log}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn people_who_ask_each_other_at_the_same_moment_do_not_wait_for_each_other() -> anyhow::Result<()> {
    // Each turn runs until its message is out, and neither message waits for the other one's turn.
    let text = "workflow: ask\non: { command: ask }\n\
        input: { properties: { to: { type: string } }, required: [to] }\ntasks:\n\
        \x20 - { id: look, tool: file_list, with: { path: /shared } }\n\
        \x20 - { id: ask, send: { to: \"telegram:{{ input.to }}\", text: \"asked by {{ trigger.sender }}\" } }\n\
        \x20 - { id: answer, wait: { reply_to: ask, timeout: 24h } }\n";
    let world = World::running(&[text]).await?;
    let people = [ANN, BEN];
    let other = |person: i64| people[usize::from(person == ANN)];
    let ask = |person: i64| Incoming::private(person).text(&format!("/ask to={}", other(person)));
    let asked = world.server.push_all(people.map(ask));
    for (person, asked) in people.into_iter().zip(asked) {
        world.said_to(other(person), &format!("asked by {person}")).await?;
        world.answer(&asked, "ask-").await?;
    }
    Ok(())
}

/// Writes into `/tmp`, and where a policy may want somebody to agree.
const NOTE: &str = "workflow: note\non: { command: note }\ninput: { properties: { text: { type: string } } }\ntasks:\n\
    \x20 - { id: write, tool: file_write, with: { path: /tmp/note.txt, content: \"{{ input.text }}\" } }\n\
    \x20 - { id: read, tool: file_read, with: { path: /tmp/note.txt } }\n\
    output: \"noted: {{ tasks.read.output.content }}\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_that_waits_for_nobody_is_one_answer_in_the_session_where_it_was_begun() -> anyhow::Result<()> {
    let world = World::running(&[NOTE]).await?;
    let asked = world.ask("/note text=hello");
    assert_eq!(world.answer(&asked, "noted:").await?.text, "noted: hello");
    let read = world.ask("/file_read path=/tmp/note.txt");
    assert!(world.answer(&read, "").await?.text.contains("hello"), "the chat's own /tmp");
    assert_eq!(world.texts_to(ANN).len(), 2);
    assert_eq!(world.audited(), ["started by telegram:5000000001", "done"]);
    let calls = world.home.audit().into_iter().filter(|record| record["event"] == "outcome");
    let of_run = calls.filter(|call| call["call"].as_str().is_some_and(|call| call.starts_with("note-")));
    assert!(of_run.clone().count() == 2, "judged and audited");
    assert!(of_run.clone().all(|call| call["sender"] == "5000000001" && call["session"].is_string()));
    // It fails as its task does.
    let failing = world.ask("/note");
    world.answer(&failing, "template_failed: ").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_policy_asks_about_is_asked_below_the_message_that_began_the_run() -> anyhow::Result<()> {
    let mut world = World::stopped(&[NOTE]).await?;
    let policies = std::mem::take(&mut world.home).own_policies();
    let file = policies.policies_dir().join("tools/file_write.toml");
    let policy = std::fs::read_to_string(&file)?;
    world.home =
        policies.policy("tools/file_write.toml", &format!("{policy}\n[approval]\n\"*\" = \"always\"\n"));
    world.start()?;
    let asked = world.ask("/note text=hello");
    let question = super::approve::question(&world).await?;
    assert_eq!((question.chat_id, question.reply_to), (ANN, Some(asked.message_id)));
    world.server.push(super::approve::press(ANN, &question, 0));
    world.answer(&asked, "noted: hello").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_replys_file_is_an_attachment_of_the_tools_that_follow() -> anyhow::Result<()> {
    let workflow = "workflow: collect\non: { command: collect }\ntasks:\n\
        \x20 - { id: ask, send: { to: \"telegram:5000000002\", text: \"The plan, please.\" } }\n\
        \x20 - { id: answer, wait: { reply_to: ask, timeout: 1h } }\n\
        \x20 - { id: keep, tool: attachment_save, with: { index: 0, path: /shared/plan.txt } }\n\
        output: \"{{ tasks.answer.output.files[0].name }} of {{ tasks.keep.output.bytes_written }} bytes\"\n";
    let world = World::running(&[workflow]).await?;
    let asked = world.ask("/collect");
    let question = world.said_to(BEN, "The plan, please.").await?;
    let document = support::telegram::Media::with_content("plan", "the plan").name("plan.txt");
    world.server.push(Incoming::private(BEN).document(document).reply_to(&question.message));
    world.answer(&asked, "plan.txt of 8 bytes").await?;
    assert_eq!(std::fs::read(world.home.host("/shared/plan.txt"))?, b"the plan");
    Ok(())
}
