//! Voice messages: what is said in one is its text, and the file stays a file; a reply to one is
//! spoken where its sender asks for that. Neither ever costs the text or the file.

use super::world::{ANN, BEN, EVE, GROUP, PATIENCE, World};
use support::containing;
use support::home::Home;
use support::llm::{Dialect, Gate, LlmServer, Turn};
use support::telegram::{Incoming, Media, Pushed, SentMessage};
use support::voice::{VoiceAnswer, VoiceServer, ogg};

/// The sections of a server that listens, and of one that speaks.
fn sections(server: &VoiceServer, speaks: bool) -> String {
    let url = server.base_url();
    let listens =
        format!("[transcription]\nbase_url = {url:?}\nmodel = \"whisper-1\"\napi_key_env = \"VOICE_KEY\"\n");
    let spoken = format!(
        "[speech]\nbase_url = {url:?}\nmodel = \"tts\"\nvoice = \"alloy\"\napi_key_env = \"VOICE_KEY\"\n"
    );
    if speaks { listens + &spoken } else { listens }
}

fn start(world: &mut World, server: &VoiceServer) -> anyhow::Result<()> {
    world.launch(&[], &[("VOICE_KEY", server.key())])?;
    world.says("polling as ")
}

async fn hearing(speaks: bool, fit: impl FnOnce(Home) -> Home) -> anyhow::Result<(World, VoiceServer)> {
    let server = VoiceServer::start().await?;
    let mut world = World::stopped(|home| fit(home).config(&sections(&server, speaks))).await?;
    start(&mut world, &server)?;
    Ok((world, server))
}

fn voice(person: i64) -> Incoming {
    Incoming::private(person).voice(Media::with_content("said", ogg(5000)))
}

fn says(text: &str) -> VoiceAnswer {
    VoiceAnswer::Heard(text.to_owned())
}

/// The bot's messages about one message, once there are so many.
async fn replies(world: &World, to: &Pushed, count: usize) -> anyhow::Result<Vec<SentMessage>> {
    let sent = world.server.wait_for_messages(PATIENCE, count).await?;
    Ok(sent.into_iter().filter(|sent| sent.chat_id == to.chat_id).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_said_is_the_text_and_the_file_is_there() -> anyhow::Result<()> {
    let (world, server) = hearing(false, |home| home).await?;
    server.plan([says("/attachment_save index=0 path=/shared/said.ogg")]);
    let answer = world.ask(voice(ANN)).await?;
    assert!(answer.starts_with(r#"{"saved":true"#), "{answer}");
    assert_eq!(world.saved("/shared/said.ogg"), &ogg(5000)[..]);
    let requests = server.requests();
    assert_eq!((requests.len(), &requests[0].file), (1, &ogg(5000)));
    assert_eq!(requests[0].fields["model"], "whisper-1");
    // Words that are there already are the message's.
    let answer = world.ask(voice(ANN).caption("/attachment_save index=0 path=/shared/2.ogg")).await?;
    assert!(answer.contains("/shared/2.ogg"), "{answer}");
    assert_eq!(server.requests().len(), 1, "nobody listens to what has words");
    assert!(world.ask(Incoming::private(ANN).text("/voice on")).await?.starts_with("unknown_tool"));
    assert!(!world.ask(Incoming::private(ANN).text("/help")).await?.contains("/voice"));
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_failure_is_told_and_the_file_can_be_used() -> anyhow::Result<()> {
    let (world, server) = hearing(false, |home| home).await?;
    for (answer, why) in [
        (VoiceAnswer::Status(400, "{}".into()), "the server refuses it (400)"),
        (VoiceAnswer::Status(401, "{}".into()), "refuses the gateway's key"),
        (says(""), "nothing was understood"),
        (says(&"x".repeat(70_000)), "answer cannot be used"),
    ] {
        server.plan([answer]);
        let told = world.ask(voice(ANN)).await?;
        assert!(told.contains("could not be turned into text") && told.contains(why), "{told}");
        assert!(told.contains("[0]"), "and what came is listed: {told}");
    }
    let pushed = world.server.push(voice(BEN));
    world.answer(&pushed).await?;
    let save = Incoming::private(BEN).text("/attachment_save index=0 path=/shared/b.ogg");
    world.ask(save.reply_to(&pushed.message)).await?;
    assert_eq!(world.saved("/shared/b.ogg"), &ogg(5000)[..]);
    world.end(6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_heard_is_not_asked_again_after_a_kill() -> anyhow::Result<()> {
    let (gate, llm) = (Gate::new(), LlmServer::start().await?);
    llm.script([Turn::say("lost").held_by(&gate)]);
    let (mut world, server) = hearing(false, |home| home.model(&llm, Dialect::Chat, "")).await?;
    server.plan([says("what is the time?"), says("something else")]);
    let asked = world.server.push(voice(ANN));
    llm.wait_for_requests(PATIENCE, 1).await?;
    world.kill();
    llm.script([Turn::say("Noon.")]);
    start(&mut world, &server)?;
    assert_eq!(world.answer(&asked).await?.text, "Noon.");
    assert_eq!(server.requests().len(), 1, "it was noted");
    let shown = llm.requests();
    assert!(format!("{:?}", shown[1].messages()).contains("what is the time?"));
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_is_spoken_after_its_text_where_its_sender_asks() -> anyhow::Result<()> {
    let (mut world, server) = hearing(true, |home| home).await?;
    std::fs::write(world.home.host("/shared/a.txt"), "a file")?;
    assert!(world.ask(Incoming::private(ANN).text("/help")).await?.contains("/voice on"));
    assert!(world.ask(Incoming::private(ANN).text("/voice")).await?.contains("are written"));
    let list = || says("/attachment_add path=/shared/a.txt");
    server.plan([list()]);
    // Its text goes with the file while nobody wants to hear it.
    world.ask(voice(ANN)).await?;
    assert!(world.ask(Incoming::private(ANN).text("/voice on")).await?.contains("are spoken"));
    world.stop()?;
    start(&mut world, &server)?;
    assert!(world.ask(Incoming::private(ANN).text("/voice")).await?.contains("are spoken"));
    server.plan([list()]);
    let asked = world.server.push(voice(ANN));
    let sent = replies(&world, &asked, 8).await?.split_off(5);
    let kinds: Vec<_> = sent.iter().map(|sent| sent.file.as_ref().map(|file| file.kind)).collect();
    assert_eq!(kinds, [None, Some("voice"), Some("document")], "text, then voice, then files");
    assert_eq!(sent[1].file.as_ref().expect("a voice").bytes, ogg(1000));
    let spoken: Vec<_> = server.requests().into_iter().filter(|one| one.path.ends_with("speech")).collect();
    assert_eq!((spoken.len(), &spoken[0].fields["input"]), (1, &sent[0].text.as_str().into()));
    // Nobody else asked for it, and what is written is answered in writing.
    world.ask(Incoming::private(ANN).text("/file_list path=/shared")).await?;
    server.plan([says("/file_list path=/shared")]);
    world.ask(voice(BEN)).await?;
    assert!(world.ask(Incoming::private(ANN).text("/voice off")).await?.contains("are written"));
    server.plan([says("/file_list path=/shared")]);
    world.ask(voice(ANN)).await?;
    assert_eq!(world.home.leftovers(), Vec::<std::path::PathBuf>::new());
    world.end(12)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_spoken_is_written() -> anyhow::Result<()> {
    let (world, server) = hearing(true, |home| home).await?;
    world.ask(Incoming::private(ANN).text("/voice on")).await?;
    let failing = VoiceAnswer::Status(500, "{}".into());
    server.plan([says("/file_list path=/shared"), failing.clone(), failing]);
    let asked = world.server.push(voice(ANN));
    let sent = replies(&world, &asked, 3).await?;
    assert!(sent[1].text.starts_with('{'), "{sent:?}");
    assert_eq!(sent[2].text, "The answer could not be spoken: the server does not answer");
    world.logs("ROUTING_ERROR").await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_sent_on_is_not_heard() -> anyhow::Result<()> {
    let (world, server) = hearing(true, |home| home).await?;
    world.ask(Incoming::private(ANN).text("/voice on")).await?;
    let told = world.ask(voice(ANN).forwarded_from("Eve")).await?;
    assert!(told.contains("[0]"), "{told}");
    assert_eq!(server.requests().len(), 0);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_member_of_an_open_group_has_nothing_forgotten_by_voice_either() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.script([Turn::say("Noted."), Turn::say("Tiger.")]);
    let rules = "members = \"all\"\nprofiles = [\"file-read-only\"]\n";
    let open = format!("[channels.telegram.groups.\"{GROUP}\"]\n{rules}");
    let fit = |home: Home| home.model(&llm, Dialect::Chat, "").telegram_more(&open);
    let (world, server) = hearing(false, fit).await?;
    let text = |text: &str| Incoming::group(GROUP, ANN).text(&format!("@cofferdam_test_bot {text}"));
    world.ask(text("my cat is called Tiger")).await?;
    server.plan([says("/new")]);
    let heard = Incoming::group(GROUP, EVE).voice(Media::with_content("said", ogg(5000)));
    let told = world.ask(heard.caption("@cofferdam_test_bot")).await?;
    assert!(told.starts_with("This conversation is everybody's here: "), "{told}");
    world.ask(text("what is it called?")).await?;
    assert!(llm.requests()[1].text().contains("Tiger"), "nothing was forgotten");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_key_is_the_servers_alone() -> anyhow::Result<()> {
    let (world, server) = hearing(true, |home| home).await?;
    world.ask(Incoming::private(ANN).text("/voice on")).await?;
    // A server that repeats it.
    server.plan([VoiceAnswer::Status(400, format!("bad key {}", server.key()))]);
    let asked = world.server.push(voice(ANN));
    replies(&world, &asked, 3).await?;
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    for request in requests {
        assert_eq!(request.authorization, Some(format!("Bearer {}", server.key())));
    }
    assert!(containing(&world.home.state(), server.key().as_bytes()).is_empty());
    assert!(!world.log().contains(server.key()));
    world.end(3)
}
