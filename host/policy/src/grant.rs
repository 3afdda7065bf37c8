//! `network` of a profile: read strictly, so that what is granted is exactly what is written.

use super::source::{PolicyProblem, PolicySource};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::network::{HOSTS_MAX, HostPattern, METHODS, NETWORK_BYTES_MAX, Network};
use cofferdam_core::text::one_line;
use cofferdam_core::web::GATEWAY_HEADERS;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Headers with secrets that one profile may name.
const HEADERS_MAX: usize = 8;

/// `network = { hosts = […], methods = […], bytes = "…", headers = {…} }` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkTable {
    pub(super) hosts: Spanned<Vec<Spanned<String>>>,
    methods: Spanned<Vec<Spanned<String>>>,
    bytes: Spanned<ByteSize>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<HeaderTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderTable {
    secret: String,
}

impl NetworkTable {
    /// The grant.
    ///
    /// # Errors
    /// What cannot be granted, with what to write instead.
    pub(super) fn check(self, source: &PolicySource<'_>) -> Result<Network, PolicyProblem> {
        let hosts = self.hosts(source)?;
        let methods = self.methods(source)?;
        let bytes = *self.bytes.get_ref();
        if bytes > NETWORK_BYTES_MAX || bytes.0 == 0 {
            let said = format!(
                "bytes = \"{bytes}\" is not between 1 B and {NETWORK_BYTES_MAX}; write e.g. \"10 MiB\""
            );
            return Err(source.problem_at(self.bytes.span().start, &said));
        }
        let headers = self.headers(source, &hosts)?;
        Ok(Network { hosts, methods, bytes, headers })
    }

    fn hosts(&self, source: &PolicySource<'_>) -> Result<Vec<HostPattern>, PolicyProblem> {
        let written = self.hosts.get_ref();
        if written.len() > HOSTS_MAX {
            let said = format!(
                "network names {} hosts; at most {HOSTS_MAX} are taken, so make another profile",
                written.len()
            );
            return Err(source.problem_at(self.hosts.span().start, &said));
        }
        let mut hosts: Vec<HostPattern> = Vec::new();
        for entry in written {
            let at = entry.span().start;
            let host = entry
                .get_ref()
                .parse()
                .map_err(|bad| source.problem_at(at, &format!("network.hosts: {bad}")))?;
            if hosts.contains(&host) {
                return Err(source.problem_at(at, &format!("network.hosts names {host} twice; keep one")));
            }
            hosts.push(host);
        }
        Ok(hosts)
    }

    fn methods(&self, source: &PolicySource<'_>) -> Result<Vec<String>, PolicyProblem> {
        let mut methods: Vec<String> = Vec::new();
        for entry in self.methods.get_ref() {
            let (at, method) = (entry.span().start, entry.get_ref());
            if !METHODS.contains(&method.as_str()) {
                let said = format!(
                    "network.methods: {:?} cannot be granted; write some of {}",
                    one_line(method, 40),
                    METHODS.join(", ")
                );
                return Err(source.problem_at(at, &said));
            }
            if methods.contains(method) {
                return Err(source.problem_at(at, &format!("network.methods names {method} twice; keep one")));
            }
            methods.push(method.clone());
        }
        if methods.is_empty() {
            let at = self.methods.span().start;
            return Err(source.problem_at(at, "network.methods is empty; write e.g. methods = [\"GET\"]"));
        }
        Ok(methods)
    }

    fn headers(
        &self,
        source: &PolicySource<'_>,
        hosts: &[HostPattern],
    ) -> Result<BTreeMap<String, String>, PolicyProblem> {
        let mut headers = BTreeMap::new();
        for (name, entry) in &self.headers {
            let (at, lower, secret) =
                (entry.span().start, name.to_ascii_lowercase(), &entry.get_ref().secret);
            let shown = one_line(name, 80);
            let problem = if !is_token(name) || is_reserved(&lower) {
                format!("network.headers: {shown:?} is no header that can be set; write e.g. Authorization")
            } else if !is_secret_name(secret) {
                let secret = one_line(secret, 80);
                format!(
                    "{secret:?} is no name of a secret; write letters, digits and _, e.g. secret = \"API_KEY\""
                )
            } else if hosts.len() != 1 || hosts[0].is_wildcard() {
                "a secret is for one server: network.hosts must name exactly one host, without a wildcard"
                    .to_owned()
            } else if headers.len() == HEADERS_MAX {
                format!("network.headers has more than {HEADERS_MAX} headers; leave some out")
            } else if headers.insert(lower, secret.clone()).is_some() {
                format!("network.headers names {shown} twice; keep one")
            } else {
                continue;
            };
            return Err(source.problem_at(at, &problem));
        }
        Ok(headers)
    }
}

/// Whether a text is a header's name.
fn is_token(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

/// Whether a secret of the configuration can have this name.
pub fn is_secret_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The line that names another host besides those that are named.
pub(super) fn hosts_line(hosts: &[HostPattern], more: &HostPattern) -> String {
    // As many as fit into a message; the line must hold them all to be of use.
    let all: Vec<_> = hosts.iter().chain([more]).map(|host| format!("\"{host}\"")).collect();
    match all.join(", ") {
        line if line.len() <= 600 => format!("hosts = [{line}]"),
        _ => format!("hosts = [\"{more}\", …the others]"),
    }
}

/// Why an argument cannot be an address.
pub(super) fn explain_no_network(at: &str, profile: &str) -> String {
    format!(
        "{at:?} is an address, but profile {profile} grants no network; write there: \
         network = {{ hosts = [\"example.com\"], methods = [\"GET\"], bytes = \"10 MiB\" }}"
    )
}

/// A header that is the gateway's own, or that says how the body is packed, by its lower-case name.
fn is_reserved(name: &str) -> bool {
    name == "content-encoding" || GATEWAY_HEADERS.contains(&name)
}
