//! Grants of the network compared: hosts, methods, bytes, and the headers that carry secrets.

use super::{DiffSubjects, Direction, Subject};
use cofferdam_core::network::{HostPattern, Network};
use cofferdam_policy::ToolPolicy;
use std::collections::BTreeSet;

/// Compares what two policies of a tool may reach over the network.
pub(super) fn network(of: &mut DiffSubjects<'_>, old: &ToolPolicy, new: &ToolPolicy) {
    let (before, after) = (old.grants.network.as_ref(), new.grants.network.as_ref());
    if before == after {
        return;
    }
    let granted = |network: Option<&Network>| network.map(|_| "granted".to_owned());
    if before.is_some() != after.is_some() {
        let direction = if after.is_some() { Direction::Widens } else { Direction::Narrows };
        of.push(direction, Subject::Network, granted(before), granted(after));
    }
    hosts(of, before, after);
    let methods = |network: Option<&Network>| -> BTreeSet<String> {
        network.into_iter().flat_map(|network| network.methods.iter().cloned()).collect()
    };
    let (had, has) = (methods(before), methods(after));
    for method in had.symmetric_difference(&has) {
        let direction = if has.contains(method) { Direction::Widens } else { Direction::Narrows };
        let granted = |methods: &BTreeSet<String>| methods.contains(method).then(|| "granted".to_owned());
        of.push(direction, Subject::NetworkMethod(method.clone()), granted(&had), granted(&has));
    }
    of.diff_ranked(Subject::NetworkBytes, old, new, |policy| {
        let bytes = policy.grants.network.as_ref().map(|network| network.bytes);
        (bytes, bytes.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string()))
    });
    headers(of, before, after);
}

/// A host widens unless an entry of before covers it; one that is gone narrows unless an entry that
/// is left covers it.
fn hosts(of: &mut DiffSubjects<'_>, before: Option<&Network>, after: Option<&Network>) {
    let hosts = |network: Option<&Network>| -> BTreeSet<HostPattern> {
        network.into_iter().flat_map(|network| network.hosts.iter().cloned()).collect()
    };
    let (had, has) = (hosts(before), hosts(after));
    for host in has.difference(&had) {
        let covered = had.iter().any(|wide| wide.covers(host));
        let direction = if covered { Direction::Neutral } else { Direction::Widens };
        of.push(direction, Subject::NetworkHost(host.to_string()), None, Some("granted".into()));
    }
    for host in had.difference(&has) {
        let covered = has.iter().any(|wide| wide.covers(host));
        let direction = if covered { Direction::Neutral } else { Direction::Narrows };
        of.push(direction, Subject::NetworkHost(host.to_string()), Some("granted".into()), None);
    }
}

/// A secret that is sent is more than none, and another one must be reviewed anew.
fn headers(of: &mut DiffSubjects<'_>, before: Option<&Network>, after: Option<&Network>) {
    let secret = |network: Option<&Network>, name: &str| {
        network.and_then(|network| network.headers.get(name)).map(|secret| format!("secret {secret}"))
    };
    let all = [before, after].into_iter().flatten().flat_map(|network| network.headers.keys());
    for name in all.collect::<BTreeSet<_>>() {
        let (old, new) = (secret(before, name), secret(after, name));
        if old != new {
            let direction = if new.is_some() { Direction::Widens } else { Direction::Narrows };
            of.push(direction, Subject::NetworkHeader(name.to_string()), old, new);
        }
    }
}
