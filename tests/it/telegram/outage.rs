//! A network that is down: at the start, and while a turn is under way. The bot waits, says so
//! once, and goes on where it was.

use super::world::{ANN, PATIENCE, World, save};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use support::home::Home;
use support::telegram::{Hold, Incoming, Media, Target};
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};

/// A line to the server that can be cut and mended. Dropped, it is cut.
struct Line {
    address: SocketAddr,
    server: String,
    up: Option<AbortHandle>,
}

impl Line {
    /// A line that is down, at an address that no server of another test can get.
    fn to(api_url: &str) -> anyhow::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), 0))?.local_addr()?;
        Ok(Self { address, server: api_url.trim_start_matches("http://").to_owned(), up: None })
    }

    async fn mend(&mut self) -> anyhow::Result<()> {
        let (listener, server) = (tokio::net::TcpListener::bind(self.address).await?, self.server.clone());
        let accepting = tokio::spawn(async move {
            // Owned by this task: aborting it cuts the connections, too.
            let mut connections = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let server = server.clone();
                connections.spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(server).await {
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        self.up = Some(accepting.abort_handle());
        Ok(())
    }

    fn cut(&mut self) {
        if let Some(up) = self.up.take() {
            up.abort();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.cut();
    }
}

/// A gateway at the end of a line that is down.
async fn at_the_end_of_a_line() -> anyhow::Result<(World, Line)> {
    let mut world = World::stopped(|home| home).await?;
    let line = Line::to(&world.server.api_url())?;
    let api_url = format!("http://{}", line.address);
    world.refit(|home: Home| home.telegram(&api_url, &[ANN]));
    Ok((world, line))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_start_waits_for_the_network_and_can_be_stopped_meanwhile() -> anyhow::Result<()> {
    let (mut world, mut line) = at_the_end_of_a_line().await?;
    world.launch(&[], &[])?;
    world.logs("waiting for Telegram: ").await?;
    let took = world.stop()?;
    assert!(took.as_secs() < 5, "{took:?}");
    world.launch(&[], &[])?;
    world.logs("waiting for Telegram: ").await?;
    line.mend().await?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    assert_eq!(world.log().matches("waiting for Telegram: ").count(), 2, "once a start: {}", world.tail());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_outlives_the_network() -> anyhow::Result<()> {
    let (mut world, mut line) = at_the_end_of_a_line().await?;
    line.mend().await?;
    world.start()?;
    let gate = world.server.gate(Target::download(), Hold::InBody(100_000));
    let bytes = support::samples::jpeg(300_000);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone()));
    let question = world.server.push(photo.caption(&save(0, "/shared/a.jpg")));
    gate.reached().await?;
    line.cut();
    gate.discard();
    let meanwhile = world.server.push(Incoming::private(ANN).text("hello"));
    world.logs("polling fails: ").await?;
    line.mend().await?;
    let said = world.answer(&question).await?.text;
    assert!(said.contains(r#""saved":true"#), "{said}");
    assert!(world.saved("/shared/a.jpg") == bytes);
    world.answer(&meanwhile).await?;
    world.server.wait_until_confirmed(PATIENCE, meanwhile.update_id).await?;
    world.end(2)
}
