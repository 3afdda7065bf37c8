//! How nodes get to their servers: to the database by a relay each, and where network namespaces
//! can be had over a wire each, which can be cut.

use super::*;
use std::net::{Ipv4Addr, TcpListener};
use support::telegram::TelegramServer;
use support::wires::Wires;

/// What a node can be cut off from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Far {
    Database,
    Messengers,
}

/// The ways of all nodes.
pub(super) struct Ways {
    /// Without them nothing can be cut, and the servers are where the nodes are.
    wires: Option<Wires>,
    /// PostgreSQL stays on its UNIX socket, which is in no network. The relay of a node is its end
    /// of the wire, also when another server takes its place.
    relays: BTreeMap<&'static str, Relay>,
    /// Ports of the servers of messengers.
    messengers: Vec<u16>,
}

impl Ways {
    /// From nodes of these names to a database.
    pub(super) fn start(
        wires: Option<Wires>,
        server: &PostgresServer,
        names: &[&'static str],
    ) -> anyhow::Result<Self> {
        let mut relays = BTreeMap::new();
        for name in names {
            let relay = match &wires {
                None => Relay::start(server)?,
                Some(wires) => {
                    let listener = wires.beside_servers(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
                    Relay::start_on(listener, server)?
                }
            };
            relays.insert(*name, relay);
        }
        Ok(Self { wires, relays, messengers: Vec::new() })
    }

    /// Whether a node can be cut off.
    pub(super) fn are_wired(&self) -> bool {
        self.wires.is_some()
    }

    /// Starts a messenger's server at the other end.
    pub(super) async fn start_messenger<T: Send>(
        &self,
        server: impl Future<Output = anyhow::Result<T>> + Send,
    ) -> anyhow::Result<T> {
        match &self.wires {
            None => server.await,
            Some(wires) => wires.start(server),
        }
    }

    /// The same with Telegram's, and a gateway that is not started yet; `fit` is told the server's
    /// address.
    pub(super) async fn world(&mut self, fit: impl FnOnce(Home, &str) -> Home) -> anyhow::Result<World> {
        let server = self.start_messenger(TelegramServer::start()).await?;
        let address = server.api_url();
        self.note_messenger(&address);
        Ok(World::around(server, |home| fit(home, &address)))
    }

    /// Who is cut off from messengers does not get to this address, such as
    /// `http://127.0.0.1:40001/api`.
    pub(super) fn note_messenger(&mut self, address: &str) {
        let (_, port) = address.rsplit_once(':').expect("a port");
        let port = port.split('/').next().expect("digits");
        self.messengers.push(port.parse().expect("a number"));
    }

    /// Starts a node, with more variables in its environment.
    pub(super) fn launch(
        &self,
        world: &World,
        name: &'static str,
        more: &[(&str, &str)],
    ) -> anyhow::Result<Serving> {
        let (words, file) = (self.words(name), self.write_url(world, name));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let own = [("COFFERDAM_CLUSTER_NODE", name), ("COFFERDAM_STORE_URL_FILE", file.as_str())];
        Serving::launch(&world.home, world.server.token(), &words, &[&own[..], more].concat())
    }

    /// Starts the world's own node, which hears the bot when nobody else does.
    pub(super) fn launch_own(&self, world: &mut World, name: &'static str) -> anyhow::Result<()> {
        let (words, file) = (self.words(name), self.write_url(world, name));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let own = [("COFFERDAM_CLUSTER_NODE", name), ("COFFERDAM_STORE_URL_FILE", file.as_str())];
        world.launch(&words, &own)
    }

    /// The words before a program that have it run at its end of the wire.
    fn words(&self, name: &str) -> Vec<String> {
        self.wires.as_ref().map(|wires| wires.wrapper(name).to_vec()).unwrap_or_default()
    }

    /// The file of the gateway's folder that names the way of a node to its database.
    fn write_url(&self, world: &World, name: &str) -> String {
        let file = format!("url-of-{name}");
        world.home.write_url(&file, &self.relays[name].url());
        file
    }

    /// The way of a node to its database.
    pub(super) fn relay(&self, name: &str) -> &Relay {
        &self.relays[name]
    }

    /// From here on all ways lead to this database.
    pub(super) fn lead_to(&self, server: &PostgresServer) {
        for relay in self.relays.values() {
            relay.lead_to(server);
        }
    }

    /// From here on what a node and these say to each other is lost.
    pub(super) fn cut(&self, name: &str, from: &[Far]) {
        self.change(name, from, Wires::cut);
    }

    /// From here on it arrives.
    pub(super) fn mend(&self, name: &str, from: &[Far]) {
        self.change(name, from, Wires::mend);
    }

    fn change(&self, name: &str, from: &[Far], change: fn(&Wires, &str, u16)) {
        let wires = self.wires.as_ref().expect("there are wires");
        for far in from {
            let database = self.relays[name].port().expect("a relay at a wire has one");
            let ports = match far {
                Far::Database => vec![database],
                Far::Messengers => self.messengers.clone(),
            };
            ports.into_iter().for_each(|port| change(wires, name, port));
        }
    }
}
