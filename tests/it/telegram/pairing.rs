//! Pairing: a stranger is told a one-time code, and the operator's own command, never a message,
//! lets them in.

use super::world::{ANN, EVE, PATIENCE, World};
use serde_json::{Value, json};
use support::home::{Home, Ran};
use support::telegram::{Hold, Incoming, Media, SentMessage, Target};

const LET_IN: &str = "The operator has let you in";

fn eve(text: &str) -> Incoming {
    Incoming::private(EVE).text(text)
}

/// The code in what a stranger was told.
fn code(said: &str) -> String {
    let (_, rest) = said.split_once("cofferdam allow ").unwrap_or_else(|| panic!("no code: {said}"));
    rest.lines().next().expect("a line").to_owned()
}

/// `cofferdam allow` with these words.
fn allow(world: &World, words: &[&str]) -> Ran {
    world.home.run(&[&["allow"], words].concat())
}

/// Waits until the person was told that they are served.
async fn let_in(world: &World, person: i64) -> anyhow::Result<()> {
    let told = |sent: &SentMessage| sent.chat_id == person && sent.text.starts_with(LET_IN);
    world.server.wait_for_message(PATIENCE, told).await.map(drop)
}

/// A world in which Eve was let in.
async fn with_eve(fit: impl FnOnce(Home) -> Home) -> anyhow::Result<World> {
    let world = World::running_in(fit).await?;
    let said = world.ask(eve("hello")).await?;
    assert_eq!(allow(&world, &[&code(&said)]).code, Some(0));
    let_in(&world, EVE).await?;
    Ok(world)
}

/// What the audit says of people: who, what, by whom.
fn audited(world: &World) -> Vec<(Value, Value)> {
    let records = world.home.audit().into_iter().filter(|record| record["event"] == "access");
    records
        .map(|record| {
            assert_eq!(record["channel"], "telegram");
            assert!(record["by"].as_str().is_some_and(|by| by.starts_with("cli:")), "{record}");
            (record["sender"].clone(), record["access"].clone())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_code_lets_its_stranger_in_while_the_bot_runs() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let said = world.ask(eve("/file_list path=/shared")).await?;
    assert!(said.contains("Your Telegram user id is 6660000000."), "{said}");
    let code = code(&said);
    world.server.push(eve("again"));
    world.server.push(eve(&format!("cofferdam allow {code}")));
    world.ask(Incoming::private(ANN).text("hello")).await?;

    let listed = allow(&world, &["--json"]).json();
    let waiting = &listed["waiting"];
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!((&waiting[0]["code"], &waiting[0]["id"]), (&json!(code), &json!("6660000000")));
    assert_eq!(waiting[0]["name"], "Ann", "as this server names everybody");
    assert!(listed["allowed"].as_array().expect("a list").iter().all(|one| one["origin"] == "config"));

    let accepted = allow(&world, &[&code.to_lowercase().replace('-', "")]);
    assert_eq!((accepted.code, accepted.stdout.as_str()), (Some(0), "allowed telegram:6660000000 \"Ann\"\n"));
    let_in(&world, EVE).await?;
    let help = world.ask(eve("/help")).await?;
    assert!(help.contains("/file_read "), "{help}");
    assert_eq!(audited(&world), [(json!("6660000000"), json!("allowed"))]);
    let again = allow(&world, &[&code]);
    assert_eq!(again.code, Some(2), "it is good once: {again:?}");

    // A restart forgets nothing, and nobody is told twice.
    world.stop()?;
    world.start()?;
    assert!(world.log().contains("(3 allowed users, 1 let in by a code)"), "{}", world.tail());
    world.ask(eve("/help")).await?;
    let listed = allow(&world, &[]).stdout;
    assert!(listed.contains("telegram:5000000001 from the configuration\n"), "{listed}");
    assert!(listed.contains("telegram:6660000000 \"Ann\" let in 2"), "{listed}");
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_code_is_accepted_while_nothing_runs() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let said = world.ask(eve("hello")).await?;
    world.stop()?;
    assert_eq!(allow(&world, &[&code(&said)]).code, Some(0));
    world.server.push(eve("/help"));
    world.start()?;
    let_in(&world, EVE).await?;
    world.server.wait_for_message(PATIENCE, |sent| sent.text.contains("/file_read ")).await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whoever_is_removed_is_a_stranger_from_the_next_message_on() -> anyhow::Result<()> {
    let world = with_eve(|home| home).await?;
    // One turn is under way, another waits behind it.
    let gate = world.server.gate(Target::download_of("slow"), Hold::BeforeEffect);
    let slow = Incoming::private(EVE).document(Media::with_content("slow", "x")).caption("/help");
    let slow = world.server.push(slow);
    gate.reached().await?;
    let queued = world.server.push(eve("/file_write path=/shared/eve content=x"));
    world.server.wait_until_confirmed(PATIENCE, queued.update_id).await?;
    let removed = allow(&world, &["--remove", "6660000000"]);
    assert_eq!((removed.code, removed.stdout.as_str()), (Some(0), "removed telegram:6660000000 \"Ann\"\n"));
    gate.release();
    world.answer(&slow).await?;
    let told = world.ask(eve("/file_write path=/shared/eve content=x")).await?;
    assert!(told.contains("does not know you"), "{told}");
    assert!(!world.home.host("/shared/eve").exists());
    assert!(world.server.sent_messages().iter().all(|sent| sent.reply_to != Some(queued.message_id)));
    assert_eq!(audited(&world).last(), Some(&(json!("6660000000"), json!("removed"))));
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_is_approved_for_whoever_was_removed() -> anyhow::Result<()> {
    let ask = "\n[approval]\n\"*\" = \"always\"\n";
    let world = with_eve(|home| {
        let home = home.own_policies();
        let file = home.policies_dir().join("tools/file_write.toml");
        let text = std::fs::read_to_string(file).expect("there");
        home.policy("tools/file_write.toml", &(text + ask))
    })
    .await?;
    world.server.push(eve("/file_write path=/shared/eve content=x"));
    let asked = |sent: &SentMessage| sent.message["reply_markup"].is_object();
    let approval = world.server.wait_for_message(PATIENCE, asked).await?;
    assert_eq!(allow(&world, &["--remove", "6660000000"]).code, Some(0));
    let withdrawn = |sent: &SentMessage| sent.text.ends_with("Withdrawn: this is not asked any more.");
    world.server.wait_for_message(PATIENCE, withdrawn).await?;
    let data = approval.message["reply_markup"]["inline_keyboard"][0][0]["callback_data"].as_str();
    world.server.push(Incoming::callback(EVE, &approval.message, data.expect("a button")));
    let press = world.server.wait_for_request(PATIENCE, "answerCallbackQuery").await?;
    assert!(
        press.params["text"].as_str().is_some_and(|said| said.starts_with("Only people whom")),
        "{press:?}"
    );
    world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("cancelled: ")).await?;
    assert!(!world.home.host("/shared/eve").exists());
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_pairing_a_stranger_is_told_the_own_id_alone() -> anyhow::Result<()> {
    let world = World::running_in(|home| home.telegram_more("pairing = false\n")).await?;
    let said = world.ask(eve("hello")).await?;
    assert!(said.contains("6660000000") && !said.contains("cofferdam allow"), "{said}");
    assert_eq!(allow(&world, &["--json"]).json()["waiting"], json!([]));
    world.server.push(eve("hello"));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(2)
}

/// Takes the codes out, as if they had expired.
fn expire_codes(world: &World) -> anyhow::Result<()> {
    let file = world.home.state().join("people.json");
    let mut people: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    people["waiting"] = json!([]);
    let new = world.home.dir().join("expired");
    std::fs::write(&new, people.to_string())?;
    Ok(std::fs::rename(new, file)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stranger_cannot_have_the_bot_speak_at_will() -> anyhow::Result<()> {
    const TOLD_MAX: usize = 3;
    let mut world = World::running().await?;
    let mut codes = Vec::new();
    for _ in 0..TOLD_MAX {
        let said = world.ask(eve("hello")).await?;
        assert_eq!(said.contains("6660000000"), codes.is_empty(), "the id once: {said}");
        codes.push(code(&said));
        // Once for each code, however much they write.
        world.server.push_all((0..3).map(|n| eve(&format!("hello? {n}"))));
        world.ask(Incoming::private(ANN).text("hello")).await?;
        expire_codes(&world)?;
    }
    codes.dedup();
    assert_eq!(codes.len(), TOLD_MAX, "{codes:?}");
    // From here on neither a word nor a code, through a restart as well.
    world.server.push(eve("hello"));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.stop()?;
    world.start()?;
    world.server.push(eve("hello"));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    assert_eq!(allow(&world, &["--json"]).json()["waiting"], json!([]));
    let told = world.server.sent_messages().iter().filter(|sent| sent.chat_id == EVE).count();
    assert_eq!(told, TOLD_MAX);
    world.end(2 * TOLD_MAX + 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_of_people_that_cannot_be_read_lets_nobody_in() -> anyhow::Result<()> {
    let world = with_eve(|home| home).await?;
    let file = world.home.state().join("people.json");
    let sound = std::fs::read(&file)?;
    std::fs::write(world.home.dir().join("broken"), "{\"paired\":")?;
    std::fs::rename(world.home.dir().join("broken"), &file)?;
    world.server.push(eve("/help"));
    // Those of the configuration are served as ever.
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.logs("only people whom the configuration names are served").await?;
    let refused = allow(&world, &["--remove", "6660000000"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("people.json is not what any release writes"), "{refused:?}");
    std::fs::write(world.home.dir().join("sound"), sound)?;
    std::fs::rename(world.home.dir().join("sound"), &file)?;
    let help = world.ask(eve("/help")).await?;
    assert!(help.contains("/file_read "), "{help}");
    world.end(4)
}
