//! SIGHUP: another configuration comes into force as a whole, from the next message on and without
//! losing any, or the last good one stays, and why is told.

use super::world::{ANN, BEN, CAT, EVE, PATIENCE, World, save};
use rustix::process::Signal;
use serde_json::Value;
use support::guests::sha256;
use support::home::Home;
use support::llm::{Dialect, LlmServer, Turn};
use support::program;
use support::serving::Serving;
use support::telegram::{Hold, Incoming, Media, Target};

const APPLIED: &str = "the configuration was reloaded and is in force";
const REFUSED: &str = "the configuration is not reloaded, the one before stays in force";

/// Has the program read its configuration anew, and waits until it says so for the `n`th time in
/// this run.
async fn reload(world: &mut World, said: &str, n: usize) -> anyhow::Result<()> {
    world.serving().signal(Signal::USR1)?;
    world.logs_times(said, n).await
}

/// Serves these people from the next reload on.
fn serve(world: &mut World, users: &[i64]) {
    let url = world.server.api_url();
    world.refit(|home| home.telegram(&url, users));
}

fn reloads(home: &Home) -> Vec<Value> {
    home.audit().into_iter().filter(|record| record["event"] == "reload").collect()
}

fn text(user: i64, text: &str) -> Incoming {
    Incoming::private(user).text(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_is_removed_is_refused_from_the_next_message_on() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    assert!(world.ask(text(ANN, "/file_read path=/shared/x")).await?.starts_with("not_found"));
    // What she began ends as it began.
    let gate = world.server.gate(Target::download(), Hold::InBody(10));
    let file = Media::with_content("d", "x".repeat(1000));
    let begun = world.server.push(Incoming::private(ANN).document(file).caption(&save(0, "/shared/a")));
    gate.reached().await?;
    let waiting = world.server.push(text(ANN, "/file_read path=/shared/a"));
    world.server.wait_until_confirmed(PATIENCE, waiting.update_id).await?;
    serve(&mut world, &[BEN, EVE]);
    reload(&mut world, APPLIED, 1).await?;
    gate.release();
    assert!(world.answer(&begun).await?.text.contains("\"saved\":true"));
    let stranger = world.ask(text(ANN, "/file_read path=/shared/a")).await?;
    assert!(stranger.contains(&ANN.to_string()), "she is told her id, as strangers are: {stranger}");
    assert!(world.ask(text(EVE, "/file_read path=/shared/a")).await?.contains("xxx"));
    assert!(world.ask(text(BEN, "/file_read path=/shared/b")).await?.starts_with("not_found"));
    let told = reloads(&world.home);
    let file = std::fs::read(world.home.config_file())?;
    assert_eq!((told.len(), &told[0]["reload"]), (1, &"applied".into()), "{told:?}");
    assert_eq!(told[0]["config_sha256"], sha256(&file));
    assert_eq!(told[0]["policies_sha256"].as_str().map(str::len), Some(64));
    // The message that waited was never answered: it is not hers to ask any more.
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whatever_is_wrong_leaves_the_last_good_one_in_force() -> anyhow::Result<()> {
    let mut world = World::running_in(Home::own_policies).await?;
    let good = std::fs::read_to_string(world.home.config_file())?;
    let policy = world.home.policies_dir().join("tools/file_read.toml");
    let sound = std::fs::read_to_string(&policy)?;
    let token = world.server.token().to_owned();
    let lines = good.lines().count();
    let mut refused = 0;
    for (broken, said) in [
        (format!("{good}nope = 1\n"), format!("cofferdam.toml:{}: unknown field `nope`", lines + 1)),
        (format!("{good}[turns\n"), format!("cofferdam.toml:{}: ", lines + 1)),
        (good.replace("5000000001", "-1"), "-1 is not a user's id".to_owned()),
        (format!("{good}[turns]\nrounds = 0\n"), "[turns] rounds = 0 lets no turn be answered".to_owned()),
        // That the token is in no audit is held against every test here.
        (format!("{good}[turns]\nrounds = {token:?}\n"), "invalid type: string \"***\"".to_owned()),
        (
            format!("{good}[provider]\nkind = \"openai-chat\"\nmodel = \"m\"\napi_key_env = \"NO_KEY\"\n"),
            "[provider]: the environment variable NO_KEY is not set".to_owned(),
        ),
        (String::new(), "channels.telegram".to_owned()),
    ] {
        std::fs::write(world.home.config_file(), &broken)?;
        refused += 1;
        reload(&mut world, REFUSED, refused).await?;
        let log = world.log();
        let line = log.lines().rfind(|line| line.contains(REFUSED)).expect("said");
        assert!(line.contains(&said), "{said:?}: {line}");
        let told = reloads(&world.home).pop().expect("audited");
        assert_eq!(told["reload"], "refused", "{told}");
        assert!(told["reason"].as_str().expect("why").contains(&said), "{said:?}: {told}");
        assert!(world.ask(text(ANN, "/file_read path=/shared/x")).await?.starts_with("not_found"));
    }
    std::fs::write(world.home.config_file(), &good)?;
    for (broken, said) in [
        (sound.replace("why = ", "wy = "), "tools/file_read.toml:"),
        (sound.replace("profile = \"", "profile = \"no-"), "tools/file_read.toml:"),
        (sound.replace("\"builtin\"", "{ file = \"x.wasm\", sha256 = \"00\" }"), "tools/file_read.toml"),
    ] {
        assert_ne!(broken, sound);
        std::fs::write(&policy, broken)?;
        refused += 1;
        reload(&mut world, REFUSED, refused).await?;
        let told = reloads(&world.home).pop().expect("audited");
        assert!(told["reason"].as_str().expect("why").contains(said), "{told}");
        assert!(world.ask(text(ANN, "/file_read path=/shared/x")).await?.starts_with("not_found"));
    }
    std::fs::write(&policy, sound)?;
    reload(&mut world, APPLIED, 1).await?;
    assert_eq!(reloads(&world.home).pop().expect("audited")["reload"], "applied");
    world.end(refused)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_needs_a_restart_is_named_and_nothing_of_the_rest_comes_into_force() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let good = std::fs::read_to_string(world.home.config_file())?;
    let changes = [
        ("workspace.root", good.replace("root = \"workspace\"", "root = \"elsewhere\"")),
        ("state.dir", good.replace("dir = \"state\"", "dir = \"elsewhere\"")),
        ("policies.dir", format!("[policies]\ndir = \"p\"\n{good}")),
        ("isolation.require", format!("{good}[isolation]\nrequire = true\n")),
        ("metrics.listen", format!("{good}[metrics]\nlisten = \"127.0.0.1:0\"\n")),
        ("channels.telegram.token_env", good.replace("api_url", "token_env = \"OTHER\"\napi_url")),
        ("workspace.per_user", good.replace("[workspace]", "[workspace]\nper_user = true")),
        (
            "the port of provider.base_url",
            format!(
                "{good}[provider]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1/v1\"\n"
            ),
        ),
    ];
    let mut refused = 0;
    for (key, changed) in changes {
        assert_ne!(changed, good, "{key}");
        // ANN is removed as well, and served all the same: it is one configuration or the other.
        std::fs::write(world.home.config_file(), changed.replace(&format!("{ANN}, "), ""))?;
        refused += 1;
        reload(&mut world, REFUSED, refused).await?;
        let reason = reloads(&world.home).pop().expect("audited")["reason"].clone();
        let said = format!("{key} changed, which needs a restart");
        assert!(reason.as_str().expect("why").contains(&said), "{said}: {reason}");
        assert!(world.ask(text(ANN, "/file_read path=/shared/x")).await?.starts_with("not_found"));
    }
    assert!(!world.home.dir().join("elsewhere").exists());
    world.end(refused)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_the_file_changes_in_vain_is_named() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    let root = world.home.workspace();
    let root = root.to_str().expect("plain");
    world.launch(&[], &[("COFFERDAM_WORKSPACE", root)])?;
    let good = std::fs::read_to_string(world.home.config_file())?;
    world.logs("polling as ").await?;
    reload(&mut world, APPLIED, 1).await?;
    assert!(!world.log().contains("changed in the file"));
    let changed = good.replace("root = \"workspace\"", "root = \"elsewhere\"");
    assert_ne!(changed, good);
    std::fs::write(world.home.config_file(), changed)?;
    reload(&mut world, APPLIED, 2).await?;
    let said = "workspace.root changed in the file and not in force: a flag or a variable decides";
    world.logs(said).await?;
    world.end(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn limits_and_policies_hold_from_the_next_call_on() -> anyhow::Result<()> {
    let mut world = World::running_in(Home::own_policies).await?;
    let file = || Incoming::private(ANN).document(Media::with_content("d", "four"));
    world.ask(file().caption(&save(0, "/shared/a"))).await?;
    let policy = world.home.policies_dir().join("tools/file_read.toml");
    let sound = std::fs::read_to_string(&policy)?;
    std::fs::remove_file(&policy)?;
    world.refit(|home| {
        home.config("[attachments]\nmax_count = 1\nmax_bytes = \"3 B\"\n[turns]\nwritten_bytes = \"2 B\"\n")
    });
    reload(&mut world, APPLIED, 1).await?;
    assert!(world.ask(text(ANN, "/file_read path=/shared/a")).await?.starts_with("unknown_tool"));
    let said = world.ask(file().caption(&save(0, "/shared/b"))).await?;
    assert!(said.contains("and the limit is 3 B"), "{said}");
    let said = world.ask(text(ANN, "/file_write path=/shared/b content=four")).await?;
    assert!(said.contains("one turn may write 2 B in all"), "{said}");
    // And back, with a smaller workspace.
    std::fs::write(&policy, sound)?;
    let text_of = std::fs::read_to_string(world.home.config_file())?;
    let (before, _) = text_of.split_once("[attachments]").expect("there");
    let before = before.replace("[workspace]", "[workspace]\nmax_bytes = \"5 B\"");
    std::fs::write(world.home.config_file(), before)?;
    reload(&mut world, APPLIED, 2).await?;
    assert!(world.ask(text(ANN, "/file_read path=/shared/a")).await?.contains("four"));
    let said = world.ask(text(ANN, "/file_write path=/shared/b content=four")).await?;
    assert!(said.starts_with("quota_exceeded"), "{said}");
    world.end(6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_that_waits_for_approval_is_judged_by_what_holds_then() -> anyhow::Result<()> {
    let mut world = World::running_in(Home::own_policies).await?;
    let policy = world.home.policies_dir().join("tools/file_write.toml");
    let sound = std::fs::read_to_string(&policy)?;
    std::fs::write(&policy, format!("{sound}\n[approval]\n\"*\" = \"always\"\n"))?;
    reload(&mut world, APPLIED, 1).await?;
    world.server.push(text(ANN, "/file_write path=/shared/a content=hello"));
    let asked = |sent: &support::telegram::SentMessage| sent.message["reply_markup"].is_object();
    let approval = world.server.wait_for_message(PATIENCE, asked).await?;
    // Meanwhile nobody may write there any more.
    std::fs::remove_file(&policy)?;
    reload(&mut world, APPLIED, 2).await?;
    let buttons = &approval.message["reply_markup"]["inline_keyboard"][0];
    let data = buttons[0]["callback_data"].as_str().expect("a button");
    world.server.push(Incoming::callback(ANN, &approval.message, data));
    world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("unknown_tool")).await?;
    assert!(!world.home.host("/shared/a").exists());
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_model_is_told_and_asked_anew() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.script([Turn::say("one"), Turn::say("two")]);
    let mut world = World::stopped(|home| {
        std::fs::write(home.dir().join("how.md"), "Be kind.").expect("writable");
        home.model(&llm, Dialect::Chat, "instructions_file = \"how.md\"\n")
    })
    .await?;
    world.start()?;
    assert_eq!(world.ask(text(ANN, "hello")).await?, "one");
    std::fs::write(world.home.dir().join("how.md"), "Be short.")?;
    let config = std::fs::read_to_string(world.home.config_file())?;
    std::fs::write(world.home.config_file(), config.replace("test-model", "other-model"))?;
    reload(&mut world, APPLIED, 1).await?;
    assert_eq!(world.ask(text(ANN, "hello again")).await?, "two");
    let bodies: Vec<String> = llm.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(bodies[0].contains("Be kind.") && bodies[0].contains("test-model"));
    assert!(bodies[1].contains("Be short.") && bodies[1].contains("other-model"));
    // The conversation goes on.
    assert!(bodies[1].contains("hello again") && bodies[1].contains("\"one\""), "{}", bodies[1]);
    // A key that others may read does not come into force.
    use std::os::unix::fs::PermissionsExt;
    let key = world.home.dir().join("model-key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644))?;
    reload(&mut world, REFUSED, 1).await?;
    assert!(
        reloads(&world.home).pop().expect("audited")["reason"].as_str().expect("why").contains("chmod 600")
    );
    assert!(!world.log().contains(llm.key()));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn reloads_under_load_lose_no_call() -> anyhow::Result<()> {
    const CALLS: usize = 100;
    let world = World::running().await?;
    let mut asked = Vec::new();
    for n in 0..CALLS {
        let user = [ANN, BEN, CAT][n % 3];
        let line = format!("/file_write path=/shared/{n} content={n}");
        asked.push(world.server.push(text(user, &line)));
        if n % 20 == 10 {
            world.serving().signal(Signal::USR1)?;
        }
    }
    for asked in &asked {
        let answer = world.answer(asked).await?.text;
        assert!(answer.starts_with('{'), "{answer}");
    }
    for n in 0..CALLS {
        assert_eq!(std::fs::read_to_string(world.home.host(&format!("/shared/{n}")))?, n.to_string());
    }
    world.logs(APPLIED).await?;
    assert!(!world.log().contains(REFUSED));
    world.end(CALLS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_put_in_the_place_of_another_is_read_from_a_folder_of_its_own() -> anyhow::Result<()> {
    // A home is not opened up for its sake.
    let mut world = World::running().await?;
    let config = world.home.config_file();
    let replace = |config: &std::path::Path, text: &str| {
        let new = config.with_extension("new");
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, config))
    };
    let good = std::fs::read_to_string(&config)?;
    replace(&config, &good)?;
    reload(&mut world, REFUSED, 1).await?;
    let reason = reloads(&world.home).pop().expect("audited")["reason"].clone();
    assert!(reason.as_str().expect("why").contains("keep it in a folder of its own, or restart"), "{reason}");
    world.stop()?;
    // The gateway's own folder holds no more than what it reads anyway.
    let mut command = world.home.command(&["serve"]);
    command.env("HOME", "/nonexistent");
    let serving = Serving::spawn(command, world.server.token())?.polling()?;
    replace(&config, &good.replace(&ANN.to_string(), &EVE.to_string()))?;
    serving.signal(Signal::USR1)?;
    let serving = serving.says(APPLIED)?;
    assert!(world.ask(text(EVE, "/file_read path=/shared/x")).await?.starts_with("not_found"));
    // A kill here could leave the answer to be sent again.
    serving.stop(Signal::TERM, PATIENCE)?;
    let own = world.home.dir().join("etc/cofferdam.toml");
    std::fs::create_dir(own.parent().expect("a folder"))?;
    let dir = world.home.dir().display();
    let absolute = good
        .replace("\"workspace\"", &format!("\"{dir}/workspace\""))
        .replace("\"state\"", &format!("\"{dir}/state\""));
    std::fs::write(&own, &absolute)?;
    let mut command = std::process::Command::new(program::cofferdam());
    command.arg("--config").arg(&own).arg("serve").env_clear().env("HOME", world.home.dir());
    let serving = Serving::spawn(command, world.server.token())?.polling()?;
    replace(&own, &absolute.replace(&ANN.to_string(), &EVE.to_string()))?;
    serving.signal(Signal::USR1)?;
    let serving = serving.says(APPLIED)?;
    assert!(world.ask(text(EVE, "/file_read path=/shared/x")).await?.starts_with("not_found"));
    // A kill here could leave the answer to be sent again.
    serving.stop(Signal::TERM, PATIENCE)?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_signal_that_comes_before_the_first_poll_is_followed() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    let gate = world.server.gate("getMe", Hold::BeforeAnswer);
    world.launch(&[], &[])?;
    gate.reached().await?;
    serve(&mut world, &[EVE]);
    world.serving().signal(Signal::USR1)?;
    gate.release();
    world.logs(APPLIED).await?;
    assert!(world.ask(text(EVE, "/file_read path=/shared/x")).await?.starts_with("not_found"));
    world.end(1)
}
