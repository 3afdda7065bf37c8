//! Nodes whose database has a full disk: what it cannot keep is not accepted, it is told why, and
//! all goes on when there is room.

use super::*;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use support::namespace::{self, Namespace};

/// Of the disk, in MiB: an empty database has half of it.
const DISK: usize = 64;
/// Messages that find room at most, in what the database has of its disk already.
const KEPT_MAX: usize = 100;
/// Letters of a message that it cannot keep beside others, nor shortened.
const LONG: usize = 3500;
/// Turns that end without a database, of both nodes.
const ENDED_MAX: usize = 16;

/// The disk of a database, which exists for it alone.
struct Disk {
    mounts: Namespace,
    dir: tempfile::TempDir,
}

impl Disk {
    fn new() -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        // The server runs as nobody, and gets there by way of a process of the same user.
        let script = format!(
            "chmod 755 .\nmkdir disk\nmount -t tmpfs -o size={DISK}m,mode=700,uid=65534,gid=65534 none disk\n\
             exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'echo ready; cat'"
        );
        let mounts = Namespace::new(dir.path(), &script);
        Ok(Self { mounts, dir })
    }

    /// A path on it, for who is outside.
    fn path(&self, name: &str) -> PathBuf {
        self.mounts.seen(&self.dir.path().join("disk").join(name))
    }

    /// From here on nothing more finds room.
    fn fill(&self) -> anyhow::Result<()> {
        let (mut filler, zeroes) = (File::create(self.path("filler"))?, vec![0; 1 << 20]);
        // No more than it holds: else it would be another disk.
        for _ in 0..DISK {
            match filler.write_all(&zeroes) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        anyhow::bail!("the disk is not full")
    }

    fn make_room(&self) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(self.path("filler"))?)
    }
}

/// What the `n`th message has written.
fn text(n: usize) -> String {
    let mut random = Random(n as u64);
    let mut digit = || char::from_digit(random.below(16) as u32, 16).expect("below 16");
    (0..LONG).map(|_| digit()).collect()
}

fn write(n: usize) -> Incoming {
    let command = format!("/file_write path=/shared/{n} content=x{}", text(n));
    Incoming::private(PEOPLE[n % PEOPLE.len()]).text(&command)
}

/// What `status` says, asked for a node.
fn status(world: &World, node: &str) -> anyhow::Result<String> {
    let mut status = world.home.command(&["status"]);
    let told = status.env("COFFERDAM_CLUSTER_NODE", node).output()?;
    Ok(String::from_utf8(told.stdout)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_full_database_cannot_keep_is_not_accepted_and_nothing_is_lost() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::full::what_a_full_database_cannot_keep";
    let Some(_) = shared(TEST).filter(|_| namespace::available(TEST)) else { return Ok(()) };
    let disk = Disk::new()?;
    let server = PostgresServer::start_on(&disk.path("data")).expect("it is there");
    // Neither makes room, nor needs some, while the disk is full.
    for (setting, value) in [("autovacuum", "off"), ("checkpoint_timeout", "1h")] {
        server.set(setting, value);
    }
    let (world, first, schema) = two(&server, |home| home).await?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    disk.fill()?;
    let mut pushed = Vec::new();
    let unkept = loop {
        assert!(pushed.len() < KEPT_MAX, "there is room still: {}", first.log());
        let question = world.server.push(write(pushed.len()));
        let update = question.update_id;
        pushed.push(question);
        let is_kept = world.server.wait_until_confirmed(2 * LEASE, update).await.is_ok();
        if !is_kept && first.log().contains("its disk is full") {
            break update;
        }
    };
    let since = Instant::now();
    while !status(&world, "a")?.contains("its disk is full (") {
        assert!(since.elapsed() < PATIENCE, "{}", status(&world, "a")?);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // Also while smaller things find room.
    for _ in 0..20 {
        assert!(status(&world, "a")?.contains("its disk is full ("), "{}", status(&world, "a")?);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(world.server.unconfirmed_updates().contains(&unkept), "it was accepted");
    let kept = server.sql(&format!("SELECT count(*) FROM {schema}.inbox WHERE update_id = {unkept}"));
    assert_eq!(kept, "0");
    are_there(&world, &[("a", 2), ("b", 0)]).await;
    disk.make_room()?;
    for question in &pushed {
        let to = (question.chat_id, Some(question.message_id));
        let is_it = |sent: &SentMessage| is_answer(sent) && (sent.chat_id, sent.reply_to) == to;
        let found = world.server.wait_for_message(PATIENCE, is_it).await;
        found.map_err(|error| anyhow::anyhow!("{error}\n{}\n---\n{}", first.log(), world.tail()))?;
    }
    let sent = world.server.sent_messages();
    let answers: Vec<_> = sent.iter().filter(|sent| is_answer(sent)).collect();
    assert_eq!(answers.len(), 1 + pushed.len(), "each once");
    let mut ended = 0;
    for (n, question) in pushed.iter().enumerate() {
        let to = (question.chat_id, Some(question.message_id));
        let answer = answers.iter().find(|sent| (sent.chat_id, sent.reply_to) == to).expect("it is there");
        if answer.text.contains("its database takes no changes") {
            ended += 1;
        } else {
            assert!(answer.text.contains(r#""outcome":"created""#), "{n}: {}", answer.text);
            assert_eq!(world.saved(&format!("/shared/{n}")), format!("x{}", text(n)).into_bytes(), "{n}");
        }
    }
    assert!(ended <= ENDED_MAX, "{ended} ended");
    end(world, [first], sent.len())
}
