//! Nodes that are cut off by a network that loses what is sent: no connection is refused or reset,
//! so nobody is told.

use super::ways::{Far, Ways};
use super::*;
use support::wires::{self, Wires};

/// Node `a`, which hears the bot, and the world's own `b` beside it.
struct Apart {
    world: World,
    first: Serving,
    ways: Ways,
}

impl Apart {
    /// None where they cannot be.
    async fn start(test: &str) -> anyhow::Result<Option<Self>> {
        let Some(server) = shared(test).filter(|_| wires::available(test)) else { return Ok(None) };
        let names = ["a", "b"];
        let mut ways = Ways::start(Some(Wires::new(&names)), server, &names)?;
        // Commands are at no wire: they go to the server's socket.
        let mut world = ways.world(|home, _| cluster(home.postgres(server, &new_schema()))).await?;
        let first = ways.launch(&world, "a", &[])?.polling()?;
        ways.launch_own(&mut world, "b")?;
        world.says("another node hears telegram-")?;
        Ok(Some(Self { world, first, ways }))
    }

    /// A file from each person, with which `a` is when this returns: its requests are taken, and
    /// not answered until the wire is cut.
    async fn ask_and_cut(&self, from: &[Far]) -> anyhow::Result<Vec<Pushed>> {
        let server = &self.world.server;
        let gates = PEOPLE.map(|_| server.gate(Target::method("getFile"), Hold::BeforeEffect));
        let pushed = server.push_all((0..PEOPLE.len()).map(photo));
        for gate in &gates {
            gate.reached().await?;
        }
        self.ways.cut("a", from);
        drop(gates);
        Ok(pushed)
    }

    /// The answer to a message, which is more than a sign that there will be one.
    async fn answer(&self, to: &Pushed) -> anyhow::Result<String> {
        let is_it = |sent: &SentMessage| is_answer(sent) && is_to(sent, to);
        let found = self.world.server.wait_for_message(PATIENCE, is_it).await;
        found.map(|sent| sent.text).map_err(|error| {
            anyhow::anyhow!("{to:?}: {error}\n{}\n---\n{}", self.first.log(), self.world.tail())
        })
    }

    /// Each of these has one answer, and there is no other one.
    fn each_has_one_answer(&self, asked: &[Pushed]) {
        let sent = self.world.server.sent_messages();
        let answers: Vec<_> = sent.iter().filter(|sent| is_answer(sent)).collect();
        for to in asked {
            let of_it: Vec<_> = answers.iter().filter(|sent| is_to(sent, to)).collect();
            assert_eq!(of_it.len(), 1, "{of_it:#?}");
        }
        assert_eq!(answers.len(), asked.len(), "{answers:#?}");
    }
}

/// What the `n`th person sends, and where it is to be.
fn photo(n: usize) -> Incoming {
    let photo = Media::with_content(&format!("p{n}"), samples::jpeg(10_000));
    Incoming::private(PEOPLE[n]).photo(photo).caption(&save(0, &saved(n)))
}

fn saved(n: usize) -> String {
    format!("/shared/{n}.jpg")
}

/// One question of each person, behind what they sent.
fn behind(world: &World) -> Vec<Pushed> {
    world.server.push_all(PEOPLE.map(|who| Incoming::private(who).text("/file_info path=/tmp")))
}

fn is_to(sent: &SentMessage, to: &Pushed) -> bool {
    (sent.chat_id, sent.reply_to) == (to.chat_id, Some(to.message_id))
}

/// What `a` was at is answered by `b`, once. What `a` has said to the database meanwhile arrives
/// when the wire is mended, and changes nothing; `a` ends, and works when it is started again.
async fn is_taken_over(test: &str, from: &[Far]) -> anyhow::Result<()> {
    let Some(mut apart) = Apart::start(test).await? else { return Ok(()) };
    let mut asked = apart.ask_and_cut(from).await?;
    asked.extend(behind(&apart.world));
    for question in &asked {
        apart.answer(question).await?;
    }
    are_there(&apart.world, &[("b", 2)]).await;
    apart.ways.mend("a", from);
    apart.first.gives_up(PATIENCE, TAKEN_OVER)?;
    apart.each_has_one_answer(&asked);
    let chain = |node: &str| {
        std::fs::read_to_string(apart.world.home.state().join(format!("node-{node}/audit.jsonl")))
            .unwrap_or_default()
    };
    for n in 0..PEOPLE.len() {
        assert!(apart.world.saved(&saved(n)) == samples::jpeg(10_000), "{n}");
        // It may have noted that it was cut off before it changed anything.
        let has_begun = |chain: &str| {
            chain.lines().any(|line| line.contains(r#""event":"intent""#) && line.contains(&saved(n)))
        };
        let (a, b) = (chain("a"), chain("b"));
        assert!(has_begun(&b) && !has_begun(&a), "{n}: by whom:\n{a}---\n{b}");
    }
    let again = apart.ways.launch(&apart.world, "a", &[])?.says("another node hears telegram-")?;
    let Apart { mut world, .. } = apart;
    world.stop()?;
    let again = again.polling()?;
    let answer = world.ask(Incoming::private(BEN).text("/file_write path=/shared/again content=one")).await?;
    assert!(answer.contains(r#""outcome":"created""#), "{answer}");
    let sent = world.server.sent_messages().len();
    end(world, [again], sent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_loses_the_database_writes_nothing_when_it_is_back() -> anyhow::Result<()> {
    is_taken_over("telegram::cluster::partition::a_node_that_loses_the_database", &[Far::Database]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_loses_everything_writes_and_sends_nothing_when_it_is_back() -> anyhow::Result<()> {
    let all = [Far::Database, Far::Messengers];
    is_taken_over("telegram::cluster::partition::a_node_that_loses_everything", &all).await
}

/// It keeps its lease, so nobody takes its work over. What is said meanwhile is heard when it is
/// back.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_loses_its_messenger_goes_on_when_it_is_back() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::partition::a_node_that_loses_its_messenger";
    let Some(apart) = Apart::start(TEST).await? else { return Ok(()) };
    let mut asked = apart.ask_and_cut(&[Far::Messengers]).await?;
    asked.extend(behind(&apart.world));
    // Longer than a lease: who is to be taken out is taken out by then.
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    are_there(&apart.world, &[("a", 2), ("b", 0)]).await;
    let sent = apart.world.server.sent_messages();
    assert!(sent.is_empty(), "nothing gets through: {sent:#?}");
    apart.ways.mend("a", &[Far::Messengers]);
    for question in &asked {
        apart.answer(question).await?;
    }
    apart.each_has_one_answer(&asked);
    for n in 0..PEOPLE.len() {
        assert!(apart.world.saved(&saved(n)) == samples::jpeg(10_000), "{n}");
    }
    let Apart { world, first, .. } = apart;
    let sent = world.server.sent_messages().len();
    end(world, [first], sent)
}
