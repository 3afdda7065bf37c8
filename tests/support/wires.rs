//! Nodes at wires that can be cut. Each is in a network namespace of its own, joined to the one in
//! which the servers listen. What is sent over a wire that is cut is lost, and nobody is told: no
//! connection is reset or refused, as where a switch is gone.
//!
//! The servers of the tests listen on loopback, and a gateway speaks in the clear with loopback
//! alone. So the kernel translates at both ends of a wire (nftables): what a node sends to
//! 127.0.0.1 comes out at 127.0.0.1 of the servers. A process that hands bytes on would be simpler,
//! and would acknowledge to the gateway what is lost behind it.

use crate::namespace::{self, Namespace};
use crate::needs;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::Command;

/// Of the servers, where the wire to a node is `to-NODE`. A wire is cut for a port; what is cut is
/// dropped before the kernel looks which connection it is of.
const SERVERS: &str = "ip link set lo up
nft -f - <<'END'
table ip wires {
    set cut { type ifname . inet_service; }
    chain arrives { type filter hook prerouting priority -300; iifname . tcp dport @cut drop; }
    chain leaves { type filter hook postrouting priority 0; oifname . tcp sport @cut drop; }
    chain leads { type nat hook prerouting priority -100; meta l4proto tcp iifname != \"lo\" dnat to 127.0.0.1; }
}
END";

/// The servers' end of the wire to a node, whose process, name and number stand for these words.
const NEAR: &str = "ip link add to-NAME type veth peer name wire netns PID
ip addr add 10.0.N.1/30 dev to-NAME
ip link set to-NAME up
echo 1 > /proc/sys/net/ipv4/conf/to-NAME/route_localnet";

/// The node's end.
const FAR: &str = "ip link set lo up
ip addr add 10.0.N.2/30 dev wire
ip link set wire up
echo 1 > /proc/sys/net/ipv4/conf/wire/route_localnet
nft -f - <<'END'
table ip wires {
    chain leads { type nat hook output priority -100; meta l4proto tcp ip daddr 127.0.0.0/8 dnat to 10.0.N.1; }
    chain leaves { type nat hook postrouting priority 100; oifname \"wire\" masquerade; }
}
END";

/// Wires from nodes to their servers.
pub struct Wires {
    servers: Namespace,
    nodes: BTreeMap<&'static str, Namespace>,
}

/// Whether wires can be had: root may make them, unless a container forbids it or a program is
/// missing.
pub fn available(test: &str) -> bool {
    let tried = || {
        let script = format!(
            "set -e\n{SERVERS}\nip link add to-a type veth peer name wire\n\
             echo 1 > /proc/sys/net/ipv4/conf/to-a/route_localnet"
        );
        let tried = Command::new("unshare").args(["-n", "sh", "-c", &script]).output();
        tried.is_ok_and(|ran| ran.status.success())
    };
    namespace::available(test) && needs::available(test, "ip (iproute2) and nft (nftables)", tried())
}

impl Wires {
    /// Those of the nodes of these names, each of at most ten letters.
    ///
    /// # Panics
    /// Where [`available`] says that there can be none.
    pub fn new(names: &[&'static str]) -> Self {
        let servers = Namespace::network(SERVERS);
        let mut nodes = BTreeMap::new();
        for (n, name) in names.iter().enumerate() {
            let node = Namespace::network("");
            let pid = node.pid().to_string();
            let of_node = |script: &str| {
                script.replace("NAME", name).replace("PID", &pid).replace(".N.", &format!(".{n}."))
            };
            servers.sh(&of_node(NEAR));
            node.sh(&of_node(FAR));
            nodes.insert(*name, node);
        }
        Self { servers, nodes }
    }

    /// The words before a program that make it run at a node's end.
    pub fn wrapper(&self, name: &str) -> [String; 5] {
        self.nodes[name].wrapper()
    }

    /// Does this where the servers listen: a socket stays where it was made.
    ///
    /// # Panics
    /// When that does.
    pub fn beside_servers<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let there = File::open(format!("/proc/{}/ns/net", self.servers.pid())).expect("it is held");
        std::thread::scope(|scope| {
            // A namespace is a thread's, and this one ends with it.
            let worker = scope.spawn(|| {
                let network = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(there.as_fd(), network).expect("root may");
                work()
            });
            worker.join().expect("no panic")
        })
    }

    /// Starts a server there.
    ///
    /// # Errors
    /// Its own.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn start<T: Send>(
        &self,
        server: impl Future<Output = anyhow::Result<T>> + Send,
    ) -> anyhow::Result<T> {
        let runtime = tokio::runtime::Handle::current();
        self.beside_servers(move || runtime.block_on(server))
    }

    /// From here on nothing gets through between this node and this port.
    pub fn cut(&self, name: &str, port: u16) {
        self.change("add", name, port);
    }

    /// From here on everything does; what was lost meanwhile is sent again, as TCP does.
    pub fn mend(&self, name: &str, port: u16) {
        self.change("delete", name, port);
    }

    fn change(&self, verb: &str, name: &str, port: u16) {
        self.servers.sh(&format!("nft {verb} element ip wires cut '{{ \"to-{name}\" . {port} }}'"));
    }
}
