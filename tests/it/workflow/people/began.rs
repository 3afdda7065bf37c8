//! What a run of a chat knows, whom it reaches, and that its agents hear of nothing else.

use super::{ANN, ASK, BEN, EVE, World};
use serde_json::{Value, json};
use support::llm::{Dialect, LlmServer, Turn};
use support::telegram::{Fault, Incoming, Media, Target};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_began_a_run_is_known_to_its_templates() -> anyhow::Result<()> {
    let text = "workflow: told\non: { command: tell-me }\ninput: { properties: { x: { type: string } } }\n\
        tasks: [{ id: a, tool: file_list, with: { path: /shared } }]\noutput:\n\
        \x20 { kind: \"{{ trigger.kind }}\", channel: \"{{ trigger.channel }}\", sender: \"{{ trigger.sender }}\",\n\
        \x20   session: \"{{ trigger.session }}\", request: \"{{ trigger.request }}\", text: \"{{ trigger.text }}\",\n\
        \x20   files: \"{{ trigger.files }}\", first: \"{{ trigger.files[0] }}\", run: \"{{ workflow.run }}\" }\n";
    let world = World::running(&[text]).await?;
    let document = Media::with_content("plan", "the plan").name("plan.txt");
    let asked = world.server.push(Incoming::private(ANN).document(document).caption("/tell-me x=\"a b\""));
    let told: Value = serde_json::from_str(&world.answer(&asked, "{").await?.text)?;
    let shown = world.stands("done").await?;
    let expected = json!({
        "kind": "command", "channel": "telegram", "sender": ANN.to_string(), "session": shown["session"],
        "request": shown["request"], "text": "/tell-me x=\"a b\"", "files": ["plan.txt"], "first": "plan.txt",
        "run": shown["run"],
    });
    assert_eq!(told, expected);
    assert!(shown["session"].is_string() && shown["request"].is_string(), "{shown}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_end_of_a_run_holds_no_secret_of_the_gateway() -> anyhow::Result<()> {
    let text = "workflow: told\non: { command: tell-me }\ninput: { properties: { x: { type: string } } }\n\
        tasks: [{ id: a, tool: file_list, with: { path: /shared } }]\noutput: \"{{ input.x }}\"\n";
    let world = World::running(&[text]).await?;
    let asked = world.ask(&format!("/tell-me x=\"is it {}, then?\"", world.server.token()));
    assert_eq!(world.answer(&asked, "is it ").await?.text, "is it ***, then?");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_hears_nothing_of_other_conversations() -> anyhow::Result<()> {
    let text = "workflow: look\non: { command: look }\nagents: [{ id: a, actions: [{ id: b, prompt: \"Say it.\" }] }]\n\
        tasks: [{ id: one, agent: a, action: b }, { id: two, agent: a, action: b }]\n";
    let llm = LlmServer::start().await?;
    llm.script(["Noted.", "the first", "the second", "It is hunter2."].map(Turn::say));
    let mut world = World::stopped(&[text]).await?;
    world.home = std::mem::take(&mut world.home).model(&llm, Dialect::Chat, "");
    world.start()?;
    let told = world.ask("the password is hunter2");
    world.answer(&told, "Noted.").await?;
    let asked = world.ask("/look");
    world.answer(&asked, "{\"text\":\"the second\"}").await?;
    let later = world.ask("what is it?");
    world.answer(&later, "It is hunter2.").await?;
    let said: Vec<String> = llm.requests().iter().map(|request| request.text()).collect();
    assert_eq!(said.len(), 4);
    for of_agent in &said[1..3] {
        assert!(of_agent.contains("Say it."), "{of_agent}");
        for other in ["hunter2", "/look", "the first"] {
            assert!(!of_agent.contains(other), "{other}: {of_agent}");
        }
    }
    assert!(said[3].contains("hunter2") && !said[3].contains("Say it."), "{}", said[3]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_run_may_not_send_or_ask_is_refused() -> anyhow::Result<()> {
    let send = |files: &str| format!("send: {{ to: \"telegram:{BEN}\", text: hi, files: [{files}] }}");
    for (task, said) in [
        (send("/vault/key"), "path_denied: "),
        (send("/etc/passwd"), "path_denied: "),
        (send("../key"), "path_denied: "),
        (send("/shared/none"), "not_found: "),
        // What is empty comes of a template as well, so it is looked at when it is sent.
        (
            format!("send: {{ to: \"telegram:{BEN}\", text: \"{{{{ input.x | default(' ') }}}}\" }}"),
            "invalid_arguments: ",
        ),
        (format!("send: {{ to: \"telegram:{BEN}\", text: {} }}", "x".repeat((32 << 10) + 1)), "too_large: "),
        (format!("approve: {{ from: \"telegram:{EVE}\", text: ok, timeout: 1h }}"), "recipient_denied: "),
        ("approve: { from: \"discord:1\", text: ok, timeout: 1h }".to_owned(), "recipient_denied: "),
    ] {
        let world =
            World::running(&[&format!("workflow: w\non: {{ command: w }}\ntasks: [{{ id: a, {task} }}]\n")])
                .await?;
        world.server.open_chat(EVE);
        let asked = world.ask("/w");
        world.answer(&asked, said).await?;
        let others = world.server.sent_messages().into_iter().filter(|sent| sent.chat_id != ANN);
        assert_eq!(others.count(), 0, "{task}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_that_is_refused_fails_its_task_and_goes_out_when_the_run_is_resumed() -> anyhow::Result<()>
{
    let world = World::running(&[ASK]).await?;
    let to_ben = Target::method("sendMessage").with("chat_id", BEN);
    world.server.fault(to_ben, usize::MAX, Fault::blocked_by_user());
    let asked = world.ask("/ask question=one");
    world.answer(&asked, "send_failed: ").await?;
    let failed = world.stands("failed").await?;
    assert_eq!((&failed["error"]["code"], &failed["error"]["task"]), (&json!("send_failed"), &json!("ask")));
    assert_eq!(failed["tasks"][1]["state"], "pending");
    world.server.clear_faults();
    let resumed = world.home.run(&["workflow", "resume", &world.run_id(), "--json"]);
    assert_eq!((resumed.code, &resumed.json()["state"]), (Some(4), &json!("waiting")), "{resumed:?}");
    let question = world.said_to(BEN, "5000000001 asks: one").await?;
    world.reply(BEN, &question, "noon");
    let done = world.stands("done").await?;
    assert_eq!(done["output"], "They say: noon");
    assert_eq!(world.texts_to(BEN).len(), 1, "{:?}", world.texts_to(BEN));
    Ok(())
}

/// What is out of it stays so.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn of_a_message_that_is_refused_in_part_the_rest_goes_out_when_the_run_is_resumed() -> anyhow::Result<()>
{
    let (first, second) = ("a".repeat(4096), "b".repeat(20));
    let text = format!(
        "workflow: tell\non: {{ command: tell }}\ntasks:\n\
         \x20 - {{ id: say, send: {{ to: \"telegram:{BEN}\", text: \"{first}{second}\" }} }}\n\
         output: \"told by {{{{ tasks.say.output.messageId }}}}\"\n"
    );
    let world = World::running(&[&text]).await?;
    let of_the_second = Target::method("sendMessage").with("text", &second);
    world.server.fault(of_the_second, usize::MAX, Fault::blocked_by_user());
    let asked = world.ask("/tell");
    world.answer(&asked, "send_failed: ").await?;
    world.stands("failed").await?;
    assert_eq!(world.texts_to(BEN), [first.as_str()]);
    world.server.clear_faults();
    let resumed = world.home.run(&["workflow", "resume", &world.run_id()]);
    assert_eq!(resumed.code, Some(4), "{resumed:?}");
    let begun = world.said_to(BEN, &first).await?;
    world.answer(&asked, &format!("told by {}", begun.message_id)).await?;
    assert_eq!(world.texts_to(BEN), [first, second]);
    Ok(())
}

/// Each task of it may need the chat, such as this one, which writes to its person.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_chat_began_goes_on_in_serve_when_it_is_resumed_and_its_end_is_told() -> anyhow::Result<()> {
    let text = "workflow: tell\non: { command: tell }\ntasks:\n\
        \x20 - { id: read, tool: file_read, with: { path: /shared/words.txt } }\n\
        \x20 - { id: say, tool: message_send, with: { to: \"telegram:5000000001\", text: \"{{ tasks.read.output.content }}\" } }\n\
        output: told\n";
    let world = World::running(&[text]).await?;
    let asked = world.ask("/tell");
    world.answer(&asked, "not_found: ").await?;
    world.stands("failed").await?;
    put(&world, "/shared/words.txt")?;
    let resumed = world.home.run(&["workflow", "resume", &world.run_id()]);
    assert_eq!(resumed.code, Some(4), "{resumed:?}");
    world.said_to(ANN, "the words").await?;
    world.answer(&asked, "told").await?;
    assert_eq!(world.stands("done").await?["output"], "told");
    Ok(())
}

/// The files of a reply are fetched where its channel is.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_task_behind_a_reply_has_its_files_when_the_run_is_resumed() -> anyhow::Result<()> {
    let workflow = "workflow: collect\non: { command: collect }\ntasks:\n\
        \x20 - { id: ask, send: { to: \"telegram:5000000002\", text: \"The plan, please.\" } }\n\
        \x20 - { id: answer, wait: { reply_to: ask, timeout: 1h } }\n\
        \x20 - { id: keep, tool: attachment_save, with: { index: 0, path: /shared/plan.txt } }\n\
        output: kept\n";
    let mut world = World::stopped(&[workflow]).await?;
    put(&world, "/shared/plan.txt")?;
    // Begun by the command, so that nothing but its tasks makes it serve's.
    let ran = world.home.run(&["run", "collect"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    world.start()?;
    let question = world.said_to(BEN, "The plan, please.").await?;
    let document = Media::with_content("plan", "the plan").name("plan.txt");
    world.server.push(Incoming::private(BEN).document(document).reply_to(&question.message));
    assert_eq!(world.stands("failed").await?["error"]["task"], "keep");
    std::fs::remove_file(world.home.host("/shared/plan.txt"))?;
    let resumed = world.home.run(&["workflow", "resume", &world.run_id()]);
    assert_eq!(resumed.code, Some(4), "{resumed:?}");
    world.stands("done").await?;
    assert_eq!(std::fs::read(world.home.host("/shared/plan.txt"))?, b"the plan");
    Ok(())
}

/// Puts a text into the workspace.
fn put(world: &World, path: &str) -> anyhow::Result<()> {
    let file = world.home.host(path);
    std::fs::create_dir_all(file.parent().expect("a folder"))?;
    Ok(std::fs::write(file, "the words")?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_stops_a_run_in_a_group_has_cancelled_it_and_not_who_began_it() -> anyhow::Result<()> {
    const GROUP: i64 = -1_001_234_567_890;
    let with = format!("{{ to: \"telegram:{BEN}\", text: hi }}");
    let text = format!(
        "workflow: w\non: {{ command: w }}\ntasks: [{{ id: a, tool: message_send, with: {with} }}]\n"
    );
    let world = World::running(&[&text]).await?;
    let says = |person, text: &str| world.server.push(Incoming::group(GROUP, person).text(text));
    let asked = says(ANN, "/w");
    // Its call waits for Ann.
    super::approve::question(&world).await?;
    says(BEN, "/cancel");
    world.answer(&asked, "cancelled: ").await?;
    world.stands("cancelled").await?;
    let expected = [format!("started by telegram:{ANN}"), format!("cancelled by telegram:{BEN}")];
    assert_eq!(world.audited(), expected);
    assert!(world.texts_to(BEN).is_empty(), "{:?}", world.texts_to(BEN));
    Ok(())
}
