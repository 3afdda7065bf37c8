//! What the gateway keeps within its own reach before it starts, and whether that is enough.
//!
//! Decides which places and ports; how the kernel is told is `confine`'s business.

use super::{GatewayError, load_policies, make_folder, make_state};
use crate::config::{Config, resolved};
use cofferdam_confine::{self as confine, ConfineError, GatewayPaths};
use cofferdam_core::network::HostPattern;
use cofferdam_policy::{ComponentSource, PolicySet, ToolPolicy};
use cofferdam_s3::S3Config;
use cofferdam_store::StoreLocation;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a command reads of a person's own files, besides what the gateway needs.
#[derive(Clone, Copy, Debug)]
pub enum ReadScope<'a> {
    /// These, named on the command line.
    Listed(&'a [PathBuf]),
    /// What the configuration is read anew from while it runs.
    Renewable,
    /// Any: the person at the terminal names files as they go.
    Anything,
}

/// TCP ports that are always needed: names that do not fit a datagram, and https.
const PORTS: &[u16] = &[53, 443];
/// What libraries read while names are resolved, programs started, and threads counted.
const SYSTEM: &[&str] = &[
    "/etc",
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    // Of its workers too, which look at themselves before they confine themselves.
    "/proc",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
];

/// Confines this process as the gateway: workspace and state to write, the rest of what it needs to
/// read, its own program to start, the ports of its servers to connect to. What comes back is what
/// it lacks of a whole isolation, to be logged.
///
/// Legal after the configuration is read and before any thread is started. Workspace and state are
/// made when they are missing. With `[isolation] require` an isolation that is not whole is
/// refused.
///
/// # Errors
/// [`GatewayError`]; the process must exit.
pub fn confine(config: &Config, readable: ReadScope<'_>) -> Result<Vec<String>, GatewayError> {
    // First: nothing is made under policies that are wrong.
    let policies = load_policies(config.policies_dir.as_deref()).map_err(GatewayError::Policies)?;
    let components = components(config, &policies);
    let _ = GRANTED.set(granted_ports(&policies));
    make_state(config)?;
    let root = &config.workspace.root;
    make_folder(root)
        .map_err(|cause| GatewayError::State(format!("the workspace {}", root.display()), cause))?;
    let confined = places(config, readable).and_then(|mut places| {
        places.read_only.extend(components);
        confine::gateway(&places, ports(config).as_deref())
    });
    match confined {
        Ok(report) => {
            let whole = config.isolation.demand(&report);
            whole.map_err(|lack| GatewayError::Isolation(lack.to_string()))?;
            let missing = report.missing_controls();
            let anywhere = ports(config).is_none().then_some(ANYWHERE);
            Ok(missing.iter().map(ToString::to_string).chain(anywhere.map(str::to_owned)).collect())
        }
        // The kernel cannot even be asked, as if it lacked everything.
        Err(error @ ConfineError::Proc(..)) if !config.isolation.require => {
            Ok(vec![format!("it is not confined at all: {error}")])
        }
        Err(error) => Err(GatewayError::Isolation(format!("cannot confine the gateway: {error}"))),
    }
}

/// The files of components that policies name, which may lie anywhere.
fn components(config: &Config, policies: &PolicySet) -> Vec<PathBuf> {
    let Some(dir) = config.policies_dir.as_deref() else { return Vec::new() };
    let file = |policy: &ToolPolicy| match &policy.component {
        ComponentSource::File { file, .. } => Some(dir.join(&policy.file).parent()?.join(file)),
        // What was fetched lies in the state.
        ComponentSource::Builtin | ComponentSource::Fetched { .. } => None,
    };
    policies.iter().filter_map(file).collect()
}

/// The ports that profiles grant, as of the confinement of this process.
static GRANTED: OnceLock<BTreeSet<u16>> = OnceLock::new();

fn granted_ports(policies: &PolicySet) -> BTreeSet<u16> {
    let networks = policies.iter().filter_map(|policy| policy.grants.network.as_ref());
    networks.flat_map(|network| network.hosts.iter().map(HostPattern::port)).collect()
}

/// Whether the confined process can connect to every port that these policies grant.
pub(super) fn reaches_network(policies: &PolicySet) -> bool {
    let reached = |port: &u16| PORTS.contains(port) || GRANTED.get().is_none_or(|ports| ports.contains(port));
    granted_ports(policies).iter().all(reached)
}

fn places(config: &Config, readable: ReadScope<'_>) -> Result<GatewayPaths, ConfineError> {
    let mut places = confine::own_program()?;
    places.read_write.extend([config.workspace.root.clone(), config.state_dir.clone()]);
    places.read_only.extend(SYSTEM.iter().map(PathBuf::from));
    // Often a link to where another service keeps it.
    places.read_only.extend(Path::new("/etc/resolv.conf").canonicalize().ok());
    places.read_only.extend(config.policies_dir.clone());
    places.read_only.extend(config.audit.sign_key_file.clone());
    places.read_only.extend(config.workflows.dir.clone());
    places.read_only.extend(config.network.files().cloned());
    match readable {
        ReadScope::Listed(files) => places.read_only.extend(files.iter().cloned()),
        ReadScope::Renewable => places.read_only.extend(renewable(config)),
        ReadScope::Anything => places.read_only.push("/".into()),
    }
    Ok(places)
}

/// The files that a reload reads: each with its folder where that is the gateway's own.
fn renewable(config: &Config) -> Vec<PathBuf> {
    let files = [
        &config.file,
        &config.provider.api_key_file,
        &config.provider.instructions_file,
        &config.store.url_file,
        // Of it alone a store in PostgreSQL is read anew with the configuration.
        &config.network.ca_file,
    ];
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let mut places = Vec::new();
    for file in files.into_iter().flatten() {
        places.push(file.clone());
        places.extend(own_folder(config, file, home.as_deref()));
    }
    places
}

/// The folder of a file that a reload reads, if all of it may be readable for that: then another
/// file in its place is read as well, which is what most editors leave. `home` is that of the one
/// who serves.
///
/// Workspace and state right beside the file are no more than what the gateway reads anyway. A
/// folder that holds more (a home, or one with workspace or state further down) is not opened up:
/// of it the file that is there now is readable, and no other in its place.
pub fn own_folder(config: &Config, file: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = std::path::absolute(file).ok()?.parent()?.canonicalize().ok()?;
    // What is not there yet is made below the first folder that is.
    let holds = |path: &Path| resolved(path).starts_with(&folder);
    let holds_deep = |path: &Path| {
        let path = resolved(path);
        path.starts_with(&folder) && path.parent() != Some(folder.as_path())
    };
    let others = [config.workspace.root.as_path(), config.state_dir.as_path()];
    let is_more = home.is_some_and(holds) || others.into_iter().any(holds_deep);
    (!is_more && folder.parent().is_some()).then_some(folder)
}

/// What is told where ports are not limited.
const ANYWHERE: &str = "it may connect to every TCP port: channels.discord.api_url is on loopback, where the port of Discord's gateway is told by the server alone";

/// The TCP ports that the gateway connects to, and after its confinement no others; `None` where
/// nobody can know them: a Discord on loopback, as tests have it, tells the port of its gateway
/// when it is asked.
pub(super) fn ports(config: &Config) -> Option<Vec<u16>> {
    if config.discord.as_ref().is_some_and(|discord| discord.is_on_loopback()) {
        return None;
    }
    let mut ports = PORTS.to_vec();
    ports.extend(config.telegram.as_ref().and_then(|telegram| telegram.port()));
    ports.extend(config.discord.iter().flat_map(|discord| discord.ports()));
    if let StoreLocation::Postgres(at) = &config.store.location {
        ports.extend(at.ports());
    }
    ports.extend(config.store.bucket.as_ref().and_then(S3Config::port));
    ports.extend(config.provider.port());
    ports.extend(config.transcription.table().port());
    ports.extend(config.speech.table().port());
    ports.extend(config.network.private_hosts.iter().map(|host| host.port()));
    ports.extend(GRANTED.get().into_iter().flatten());
    ports.extend(config.workflow_attachments.private_hosts.iter().map(|host| host.port()));
    // A proxy of the environment stands between, and its port is the one that is connected to.
    for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy", "HTTP_PROXY"] {
        ports.extend(std::env::var(name).ok().and_then(|proxy| proxy_port(&proxy)));
    }
    ports.sort_unstable();
    ports.dedup();
    Some(ports)
}

/// The port of `http://user:password@host:port/`, or the one that such a proxy has by default.
fn proxy_port(proxy: &str) -> Option<u16> {
    let (scheme, rest) = proxy.split_once("://").unwrap_or(("http", proxy));
    let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let after = host.rsplit(']').next()?;
    match after.rsplit_once(':') {
        Some((_, port)) => port.parse().ok(),
        None if host.is_empty() => None,
        None if scheme.starts_with("socks") => Some(1080),
        None if scheme == "https" => Some(443),
        None => Some(80),
    }
}

#[cfg(test)]
mod tests {
    use super::{own_folder, proxy_port};
    use crate::config::{Config, Flags};
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn a_folder_is_opened_up_for_a_file_where_it_holds_no_more_than_the_gateways_own() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("there");
        std::fs::create_dir_all(root.join("etc/home/me")).expect("writable");
        let check = |file: &str, workspace: &str, state: &str, home: &str, own: bool| {
            let file = root.join(file);
            let text = format!("[workspace]\nroot = {workspace:?}\n[state]\ndir = {state:?}\n");
            std::fs::write(&file, text).expect("writable");
            let config = Config::load(Some(&file), &Flags::default(), &BTreeMap::new()).expect("valid");
            let home = (!home.is_empty()).then(|| root.join(home));
            let folder = own_folder(&config, &file, home.as_deref());
            assert_eq!(
                folder.as_deref(),
                file.parent().filter(|_| own),
                "{file:?} {workspace} {state} {home:?}"
            );
        };
        check("etc/c.toml", "../w", "../s", "", true);
        check("etc/c.toml", "w", "s", "", true);
        check("etc/c.toml", "../w", "s", "missing", true);
        check("etc/c.toml", "lib/w", "s", "", false);
        check("etc/c.toml", "w", "lib/s", "", false);
        check("etc/c.toml", "w", "s", "etc", false);
        check("etc/c.toml", "w", "s", "etc/home/me", false);
        assert_eq!(root.join("etc").parent(), Some(root.as_path()));
        check("c.toml", "w", "s", "etc", false);
        let config =
            Config::load(Some(&root.join("c.toml")), &Flags::default(), &BTreeMap::new()).expect("valid");
        assert_eq!(own_folder(&config, Path::new("/c.toml"), None), None, "never all there is");
    }

    #[test]
    fn the_port_of_a_proxy_is_found_however_it_is_written() {
        for (proxy, port) in [
            ("http://proxy:3128", Some(3128)),
            ("proxy:3128", Some(3128)),
            ("proxy", Some(80)),
            ("https://proxy/", Some(443)),
            ("socks5h://me:secret@proxy", Some(1080)),
            ("http://me:se:cret@[::1]:8080/x", Some(8080)),
            ("http://[::1]", Some(80)),
            ("http://proxy:none", None),
            ("", None),
        ] {
            assert_eq!(proxy_port(proxy), port, "{proxy}");
        }
    }
}
