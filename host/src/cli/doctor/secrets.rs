//! The secrets that tools send: whether each is there. None is shown, and none is sent.

use super::finding::DoctorFinding;
use super::network;
use crate::config::Config;
use crate::gateway;
use cofferdam_agent::tools::Registry;

/// Finds each secret of a tool that loaded which the configuration does not name, or which cannot
/// be had from where it says.
pub(super) fn look(config: &Config, registry: Option<&Registry>, findings: &mut Vec<DoctorFinding>) {
    let unusable = registry.map(|registry| gateway::find_unusable_secrets(config, registry));
    for (name, tool, error) in unusable.into_iter().flatten() {
        let line = match config.network.secrets.contains_key(name) {
            true => "write the whole value of the header where the secret is".to_owned(),
            false => format!("[secrets.{name}] file = \"…\", a file that its owner alone can read"),
        };
        let mend = network::mend(&error, "", &line);
        findings.push(DoctorFinding::problem("secrets", format!("{tool} sends nothing: {error}"), mend));
    }
}
