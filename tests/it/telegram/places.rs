//! Whose files a chat sees: a session's `/tmp` is its own, and so is a user's workspace where that
//! is configured; which worker serves them; and when they go.

use super::tracer::{Tracer, available};
use super::world::{ANN, BEN, GROUP, World, save};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use support::telegram::{Hold, Incoming, Media, Target};
use support::{needs, samples, workers};

/// Workers that wait for a call, in all.
const IDLE_WORKERS_MAX: usize = 24;

fn write(path: &str, content: &str) -> String {
    format!("/file_write path={path} content={content}")
}

fn read(path: &str) -> String {
    format!("/file_read path={path}")
}

/// What a chat is answered.
async fn says(world: &World, chat: Incoming, text: &str) -> anyhow::Result<String> {
    world.ask(chat.text(text)).await
}

fn content(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    answer["content"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn two_chats_do_not_see_each_others_tmp() -> anyhow::Result<()> {
    let world = World::running().await?;
    let (private, group) = (|| Incoming::private(ANN), || Incoming::group(GROUP, ANN));
    for (text, ours) in [("hers", private()), ("theirs", group())] {
        let written = says(&world, ours, &write("/tmp/same", text)).await?;
        assert!(written.contains(r#""path":"/tmp/same""#), "{written}");
    }
    assert_eq!(content(&says(&world, private(), &read("/tmp/same")).await?), "hers");
    assert_eq!(content(&says(&world, Incoming::group(GROUP, BEN), &read("/tmp/same")).await?), "theirs");
    let missing = says(&world, Incoming::private(BEN), &read("/tmp/same")).await?;
    assert!(missing.starts_with("not_found: "), "{missing}");
    // What all share, they share; and a file moves there and back.
    says(&world, private(), "/file_move from=/tmp/same to=/shared/given").await?;
    let taken = says(&world, group(), "/file_move from=/shared/given to=/tmp/taken").await?;
    assert!(taken.contains("/tmp/taken"), "{taken}");
    let folders = [ANN, GROUP].map(|chat| world.home.session(None, &world.session(chat)).join("tmp"));
    let names = |dir: &Path| {
        let entries = std::fs::read_dir(dir).expect("as documented").flatten();
        entries.map(|entry| entry.file_name().into_string().expect("text")).collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&folders[0]), BTreeSet::new());
    assert_eq!(names(&folders[1]), BTreeSet::from(["same".to_owned(), "taken".to_owned()]));
    assert_eq!(names(&world.home.host("/tmp")), BTreeSet::new(), "no session is there");
    let mode = std::fs::metadata(folders[0].parent().expect("one"))?.permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    // No path, link or folder leads to the other one's.
    symlink(&folders[1], folders[0].join("absolute"))?;
    let other = folders[1].parent().and_then(Path::file_name).expect("one").to_str().expect("text");
    symlink(format!("../../{other}/tmp"), folders[0].join("relative"))?;
    for path in ["/tmp/absolute/same", "/tmp/relative/same"] {
        for command in [
            read(path),
            write(&format!("{path}-new"), "x"),
            format!("/file_copy from={path} to=/shared/stolen"),
            format!("/file_move from={path} to=/shared/stolen"),
            format!("/file_delete path={path}"),
        ] {
            let refused = says(&world, private(), &command).await?;
            assert!(refused.starts_with("path_denied: "), "{command}: {refused}");
        }
    }
    assert_eq!(names(&folders[1]), BTreeSet::from(["same".to_owned(), "taken".to_owned()]));

    // The audit says whose they were.
    let of =
        |chat: i64| world.home.run(&["audit", "show", "--all", "--json", "--session", &world.session(chat)]);
    for (chat, least) in [(ANN, 4), (GROUP, 5)] {
        let shown = of(chat);
        let records: Vec<Value> =
            shown.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(records.len() >= least, "{shown:?}");
        assert!(records.iter().all(|record| record["session"] == world.session(chat)), "{shown:?}");
        assert!(records.iter().all(|record| record.get("own_workspace").is_none()), "{shown:?}");
    }
    let count = world.server.sent_messages().len();
    world.end(count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn users_in_one_group_have_a_workspace_each_where_that_is_configured() -> anyhow::Result<()> {
    let own = "[workspace]\nroot = \"workspace\"\nper_user = true\n";
    let world = World::running_in(|home| home.config(own)).await?;
    let (ann, ben) = (|| Incoming::group(GROUP, ANN), || Incoming::group(GROUP, BEN));
    for path in ["/shared/same", "/tmp/same"] {
        says(&world, ann(), &write(path, "ann")).await?;
        let missing = says(&world, ben(), &read(path)).await?;
        assert!(missing.starts_with("not_found: "), "{missing}");
        says(&world, ben(), &write(path, "ben")).await?;
        assert_eq!(content(&says(&world, ann(), &read(path)).await?), "ann");
        assert_eq!(content(&says(&world, ben(), &read(path)).await?), "ben");
    }
    // In her private chat she has the same files, and another /tmp.
    assert_eq!(content(&says(&world, Incoming::private(ANN), &read("/shared/same")).await?), "ann");
    assert!(says(&world, Incoming::private(ANN), &read("/tmp/same")).await?.starts_with("not_found: "));
    let users = world.home.workspace().join("users");
    for (who, content) in [(ANN, "ann"), (BEN, "ben")] {
        let user = format!("telegram-{who}");
        assert_eq!(std::fs::read_to_string(users.join(&user).join("shared/same"))?, content);
        let session = world.home.session(Some(&user), &world.session(GROUP));
        assert_eq!(std::fs::read_to_string(session.join("tmp/same"))?, content);
    }
    // So has whoever calls from the command line.
    let ran = world.home.call(&["file_write", "path=/shared/same", "content=mine"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let me = format!("cli-{}", rustix::process::getuid().as_raw());
    assert_eq!(std::fs::read_to_string(users.join(me).join("shared/same"))?, "mine");
    assert!(!world.home.host("/shared/same").exists() && !world.home.host("/tmp/same").exists());
    assert!(world.home.audit().iter().all(|record| record["own_workspace"] == true));
    let count = world.server.sent_messages().len();
    world.end(count)
}

/// A turn that saves into a user's own `/tmp` of a group, killed before its outcome is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_intent_is_settled_from_the_folders_that_it_was_about() -> anyhow::Result<()> {
    if !available("telegram::places::an_intent_is_settled_from_the_folders_that_it_was_about") {
        return Ok(());
    }
    for users in ["false", "true"] {
        let own = format!("[workspace]\nroot = \"workspace\"\nper_user = {users}\n");
        let mut world = World::running_in(|home| home.config(&own)).await?;
        let bytes = samples::jpeg(400_000);
        let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone()));
        let gate = world.server.gate(Target::download(), Hold::InBody(399_999));
        let question = world.server.push(photo.caption(&save(0, "/tmp/a.jpg")));
        gate.reached().await?;
        let audit = world.home.state().join("audit.jsonl");
        // The intent is the first, the outcome the second.
        let tracer = Tracer::kills(world.serving().pid(), "write", 2, Some(&audit));
        gate.release();
        assert_eq!(world.ended()?, None, "it was not killed");
        drop(tracer);
        assert_eq!(world.home.audit().len(), 1);
        // Elsewhere another file has its name.
        std::fs::write(world.home.host("/tmp/a.jpg"), "not this one")?;
        // What is configured since does not matter: the record says where it was.
        let other = if users == "true" { "false" } else { "true" };
        let ran = world
            .home
            .command(&["call", "file_info", "path=/shared"])
            .env("COFFERDAM_WORKSPACE_PER_USER", other)
            .output()?;
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let settled = &world.home.audit()[1];
        assert_eq!((&settled["reconciled"], &settled["code"]), (&json!(true), &Value::Null), "{settled}");
        assert_eq!(
            settled["files"],
            json!([{ "path": "/tmp/a.jpg", "bytes": bytes.len(),
            "sha256": support::guests::sha256(&bytes) }])
        );
        assert_eq!(settled["session"], world.session(ANN));
        world.start()?;
        assert!(world.answer(&question).await?.text.contains(r#""saved":true"#));
        let user = format!("telegram-{ANN}");
        let user = (users == "true").then_some(&*user);
        let saved = world.home.session(user, &world.session(ANN)).join("tmp/a.jpg");
        assert!(std::fs::read(saved)? == bytes);
        assert_eq!(std::fs::read_to_string(world.home.host("/tmp/a.jpg"))?, "not this one");
        world.end(1)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_start_removes_what_no_session_used_for_long() -> anyhow::Result<()> {
    let age = "[workspace]\nroot = \"workspace\"\nsession_tmp_age = \"24h\"\n";
    let mut world = World::running_in(|home| home.config(age)).await?;
    for chat in [Incoming::private(ANN), Incoming::private(BEN), Incoming::group(GROUP, ANN)] {
        says(&world, chat, &write("/tmp/file", "x")).await?;
    }
    says(&world, Incoming::private(ANN), &write("/shared/file", "x")).await?;
    world.stop()?;
    let [ann, ben, group] = [ANN, BEN, GROUP].map(|chat| world.home.session(None, &world.session(chat)));
    for (folder, hours) in [(&ann, 25), (&ben, 23)] {
        let used = SystemTime::now() - Duration::from_secs(hours * 3600);
        std::fs::File::open(folder)?.set_modified(used)?;
    }
    world.start()?;
    world.logs("files of sessions that nobody uses any more").await?;
    assert!(!ann.exists() && ben.join("tmp/file").exists() && group.join("tmp/file").exists());
    assert!(world.home.host("/shared/file").exists());
    let gone = says(&world, Incoming::private(ANN), &read("/tmp/file")).await?;
    assert!(gone.starts_with("not_found: "), "{gone}");
    says(&world, Incoming::private(ANN), &write("/tmp/file", "again")).await?;
    assert_eq!(content(&says(&world, Incoming::private(BEN), &read("/tmp/file")).await?), "x");
    world.end(7)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_folder_that_cannot_be_opened_is_named_in_the_log_with_what_to_do() -> anyhow::Result<()> {
    let world = World::running().await?;
    let folder = world.home.session(None, &world.session(ANN));
    std::fs::create_dir(folder.parent().expect("one"))?;
    std::fs::write(&folder, "somebody's file")?;
    let refused = says(&world, Incoming::private(ANN), &write("/tmp/file", "x")).await?;
    assert!(
        refused.starts_with("internal: the folders of this conversation cannot be opened; "),
        "{refused}"
    );
    assert!(!refused.contains("sessions"), "{refused}");
    world.logs(&format!("{} must be a directory of the workspace", folder.display())).await?;
    // It is this conversation's alone, and the next call finds what was mended.
    says(&world, Incoming::private(BEN), &write("/tmp/file", "ben")).await?;
    std::fs::remove_file(&folder)?;
    says(&world, Incoming::private(ANN), &write("/tmp/file", "ann")).await?;
    assert_eq!(std::fs::read_to_string(folder.join("tmp/file"))?, "ann");
    world.end(3)
}

/// The folders that a worker holds.
fn folders(home: &support::home::Home, worker: u32) -> BTreeSet<String> {
    let workspace = home.workspace().to_string_lossy().into_owned();
    let open = workers::descriptors(worker).into_values().map(|open| open.target);
    open.filter_map(|target| Some(target.strip_prefix(&workspace)?.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_worker_serves_one_session_and_holds_nothing_of_another() -> anyhow::Result<()> {
    let test = "telegram::places::a_worker_serves_one_session_and_holds_nothing_of_another";
    if !needs::available(test, "root, to look into workers", needs::root()) {
        return Ok(());
    }
    for users in ["false", "true"] {
        let own = format!("[workspace]\nroot = \"workspace\"\nper_user = {users}\n");
        let world = World::running_in(|home| home.config(&own)).await?;
        // Again and again, so that idle workers of the one are there when the other comes.
        for _ in 0..3 {
            for who in [ANN, BEN] {
                says(&world, Incoming::private(who), &write("/tmp/file", "x overwrite=true")).await?;
                says(&world, Incoming::private(who), &read("/tmp/file")).await?;
            }
        }
        let pid = world.serving().pid();
        let mut served = BTreeSet::new();
        for worker in workers::of(pid) {
            let held = folders(&world.home, worker);
            let sessions: BTreeSet<_> = held.iter().filter(|at| at.contains("/sessions/")).collect();
            assert!(sessions.len() <= 1, "{worker} holds {held:?}");
            if users == "true" {
                let owner = |at: &String| at.split('/').nth(2).unwrap_or_default().to_owned();
                let owners: BTreeSet<_> = held.iter().map(owner).collect();
                assert!(owners.len() <= 1, "{worker} holds {held:?}");
            }
            served.extend(sessions.into_iter().cloned());
        }
        assert_eq!(served.len(), 2, "each has workers of its own: {served:?}");
        world.end(12)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn however_many_sessions_there_are_so_many_workers_wait() -> anyhow::Result<()> {
    let world = World::running().await?;
    let sessions = IDLE_WORKERS_MAX + 6;
    for n in 0..sessions {
        let chat = Incoming::group(GROUP - i64::try_from(n)?, ANN);
        let missing = says(&world, chat, &read("/tmp/file")).await?;
        assert!(missing.starts_with("not_found: "), "{missing}");
    }
    let pid = world.serving().pid();
    // And the process ahead, which serves nobody yet.
    const AT_MOST: usize = IDLE_WORKERS_MAX + 1;
    workers::until("the end of those that are too many", || workers::of(pid).len() <= AT_MOST);
    // The one that served longest ago ended; its session gets another.
    says(&world, Incoming::group(GROUP, ANN), &read("/tmp/file")).await?;
    workers::until("the end of those that are too many", || workers::of(pid).len() <= AT_MOST);
    world.end(sessions + 1)
}
