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
    let granted = |is_there: bool| is_there.then_some("granted");
    of.diff_right(Subject::Network, granted(before.is_some()), granted(after.is_some()), after.is_none());
    hosts(of, before, after);
    let methods = |network: Option<&Network>| -> BTreeSet<String> {
        network.into_iter().flat_map(|network| network.methods.iter().cloned()).collect()
    };
    let (had, has) = (methods(before), methods(after));
    for method in had.symmetric_difference(&has) {
        let (old, new) = (granted(had.contains(method)), granted(has.contains(method)));
        of.diff_right(Subject::NetworkMethod(method.clone()), old, new, new.is_none());
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
        let subject = Subject::NetworkHeader(name.to_string());
        of.diff_right(subject, old.as_deref(), new.as_deref(), new.is_none());
    }
}
