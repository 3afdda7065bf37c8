//! `kill -9` at each step of the gateway's own bookkeeping: where it keeps an update, records a result, writes
//! its intent, publishes, ends a turn and marks an answer as sent.

use super::tracer::{Tracer, available};
use super::world::{ANN, World, save};
use std::path::PathBuf;
use support::samples;
use support::telegram::{Hold, Incoming, Media, Target};

/// The system call that is its last.
struct Last {
    call: &'static str,
    nth: u32,
    /// Counts only on this file of the state.
    of: Option<&'static str>,
}

const fn last(call: &'static str, nth: u32, of: Option<&'static str>) -> Last {
    Last { call, nth, of }
}

/// A turn with a file, held at `gate` until the tracer has joined; killed; started again.
async fn killed(gate: (Target, Hold), last: Last, overwrite: bool, repeats: usize) -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let path = "/shared/a.jpg";
    let path = if overwrite { path.to_owned() } else { format!("/shared/new{}", &path[7..]) };
    if overwrite {
        std::fs::write(world.home.host(&path), "the old content")?;
    }
    // Spooled to disk, not held in memory.
    let bytes = samples::jpeg(400_000);
    let gate = world.server.gate(gate.0, gate.1);
    let command = format!("{} overwrite={overwrite}", save(0, &path));
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone())).caption(&command);
    let question = world.server.push(photo);
    gate.reached().await?;
    let of: Option<PathBuf> = last.of.map(|name| world.home.state().join(name));
    let tracer = Tracer::kills(world.serving().pid(), last.call, last.nth, of.as_deref());
    gate.release();
    let name = format!("{} {} of {:?}", last.call, last.nth, last.of);
    assert_eq!(world.ended()?, None, "it was not killed at {name}");
    drop(tracer);
    if let Ok(found) = std::fs::read(world.home.host(&path)) {
        assert!(found == bytes || (overwrite && found == b"the old content"), "torn by a kill at {name}");
    }
    world.start()?;
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains(r#""saved":true"#), "killed at {name}: {answer}");
    assert!(world.saved(&path) == bytes, "killed at {name}");
    world.server.redeliver(question.update_id)?;
    let next = world.server.push(Incoming::private(ANN).text("hello"));
    world.answer(&next).await?;
    let count = world.server.sent_messages().len();
    assert!((2..=2 + repeats).contains(&count), "{count} messages after a kill at {name}");
    world.end(count)
}

fn downloading() -> (Target, Hold) {
    (Target::download(), Hold::InBody(399_999))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn where_an_update_is_kept() -> anyhow::Result<()> {
    if !available("telegram::kill_inside::where_an_update_is_kept") {
        return Ok(());
    }
    for call in ["pwrite64", "fdatasync"] {
        let polled = (Target::method("getUpdates"), Hold::BeforeAnswer);
        killed(polled, last(call, 1, Some("cofferdam.db-wal")), false, 0).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn zz_trace() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let bytes = samples::jpeg(400_000);
    let gate = world.server.gate(Target::download(), Hold::InBody(399_999));
    world.server.push(
        Incoming::private(ANN)
            .photo(Media::with_content("p", bytes.clone()))
            .caption(&save(0, "/shared/new/a")),
    );
    gate.reached().await?;
    let mut c = std::process::Command::new("strace");
    c.args(["-f", "-yy", "-s", "60", "-o", "/tmp/st.txt", "-p", &world.serving().pid().to_string(), "-e", "trace=openat,openat2,write,pwrite64,copy_file_range,fsync,fdatasync,fchmod,linkat,renameat,renameat2,mkdirat,unlinkat,flock,ftruncate"]);
    let mut k = c.spawn()?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    gate.release();
    world.texts(1).await?;
    world.stop()?;
    k.wait()?;
    world.end(1)
}
