//! Files for another request than the call's own: as far as the operator lets calls reach, and
//! while that request is being answered.

use super::*;
use crate::telegram::world::{BEN, GROUP, PATIENCE};
use support::llm::Gate;

fn put(world: &World, bytes: &[u8]) -> anyhow::Result<()> {
    let path = world.home.host("/shared/a.txt");
    std::fs::create_dir_all(path.parent().expect("below a mount"))?;
    Ok(std::fs::write(path, bytes)?)
}

/// What two people have under way: Ann asks in private while somebody's question in the group is
/// being answered.
struct Two {
    world: World,
    llm: LlmServer,
    /// Lets the answer in the group come.
    gate: Gate,
}

impl Two {
    async fn of(reach: &str, who: i64) -> anyhow::Result<Self> {
        let gate = Gate::new();
        let held = Turn::say("Here it is.").held_by(&gate);
        let reach = format!("[turns]\nreach = {reach:?}\n");
        let (world, llm) = agent_in(|home| home.config(&reach), [held]).await?;
        put(&world, b"for the group")?;
        world.server.push(Incoming::group(GROUP, who).text("@cofferdam_test_bot ask"));
        llm.wait_for_requests(PATIENCE, 1).await?;
        Ok(Self { world, llm, gate })
    }

    /// What comes of Ann's call that names the group's session.
    async fn sends(&self, arguments: Value) -> anyhow::Result<String> {
        self.llm.script([Turn::calls([Call::new("attachment_add", arguments)]), Turn::say("I tried.")]);
        let asked = self.world.server.push(text("send it there"));
        assert_eq!(self.world.answer(&asked).await?.text, "I tried.");
        let last = self.llm.requests().pop().expect("requests");
        Ok(last.results().pop().expect("a result"))
    }

    async fn ends(self, messages: usize) -> anyhow::Result<()> {
        self.gate.open();
        self.world.server.wait_for_messages(PATIENCE, messages).await?;
        end(self.world, &self.llm, messages)
    }

    fn there(&self) -> Value {
        json!({ "path": "/shared/a.txt", "session": self.world.session(GROUP) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_session_is_refused_unless_the_operator_lets_calls_reach_it() -> anyhow::Result<()> {
    let two = Two::of("own", ANN).await?;
    let refused = two.sends(two.there()).await?;
    assert!(refused.contains("invalid_arguments") && refused.contains("[turns] reach"), "{refused}");
    let own = json!({ "path": "/shared/a.txt", "session": two.world.session(ANN) });
    assert!(two.sends(own).await?.contains("a.txt"));
    assert_eq!(outcomes(&two.world, "attachment_add"), [Some("invalid_arguments".into()), None]);
    let sent = two.world.server.sent_messages();
    assert!(sent.iter().any(|sent| sent.chat_id == ANN && sent.file.is_some()), "{sent:?}");
    two.ends(3).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_reaches_another_request_goes_out_with_its_reply_alone() -> anyhow::Result<()> {
    let two = Two::of("person", ANN).await?;
    assert!(two.sends(two.there()).await?.contains("a.txt"));
    let missing = json!({ "path": "/shared/a.txt", "session": "telegram-1:9/0" });
    let refused = two.sends(missing).await?;
    assert!(refused.contains("not_found") && refused.contains("no message is being answered"), "{refused}");
    assert!(two.world.server.sent_messages().iter().all(|sent| sent.file.is_none()));
    two.gate.open();
    let sent = two.world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!(sent.chat_id, GROUP);
    two.ends(3).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_call_composed_reaches_as_far_and_no_further() -> anyhow::Result<()> {
    let composed = |two: &Two| {
        let session = two.world.session(GROUP);
        json!({ "content": "for the group", "filename": "a.txt", "session": session })
    };
    let two = Two::of("own", ANN).await?;
    let refused = two.sends(composed(&two)).await?;
    assert!(refused.contains("invalid_arguments") && refused.contains("[turns] reach"), "{refused}");
    two.ends(2).await?;
    let two = Two::of("person", ANN).await?;
    assert!(two.sends(composed(&two)).await?.contains("a.txt"));
    two.gate.open();
    let sent = two.world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!((sent.chat_id, &sent.file.expect("a file").bytes[..]), (GROUP, &b"for the group"[..]));
    two.ends(2).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_persons_request_looks_as_if_it_were_not_there() -> anyhow::Result<()> {
    let two = Two::of("person", BEN).await?;
    let refused = two.sends(two.there()).await?;
    assert!(refused.contains("no message is being answered"), "{refused}");
    two.ends(2).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_sends_what_was_handed_over_once() -> anyhow::Result<()> {
    let mut two = Two::of("everyone", BEN).await?;
    let add = Turn::calls([Call::new("attachment_add", two.there())]);
    two.llm.script([add, Turn::say("lost").held_by(&Gate::new())]);
    two.world.server.push(text("send it there"));
    // Handed over, and neither of the two requests is answered.
    two.llm.wait_for_requests(PATIENCE, 3).await?;
    two.world.kill();
    two.llm.script([Turn::say("Here it is."), Turn::say("Here it is.")]);
    two.world.start()?;
    let sent = two.world.server.wait_for_messages(PATIENCE, 2).await?;
    let with_file: Vec<_> = sent.iter().filter(|sent| sent.file.is_some()).map(|sent| sent.chat_id).collect();
    assert_eq!(with_file, [GROUP]);
    assert_eq!(outcomes(&two.world, "attachment_add"), [None]);
    two.ends(2).await
}

/// The dotted name is the same tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_tool_is_known_by_its_dotted_name() -> anyhow::Result<()> {
    let world = World::running().await?;
    put(&world, b"x")?;
    world.server.push(text("/attachment.add path=/shared/a.txt"));
    world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!(outcomes(&world, "attachment_add"), [None]);
    world.end(1)
}
