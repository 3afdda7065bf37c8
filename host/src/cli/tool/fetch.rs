//! `cofferdam tool fetch`: brings components of OCI registries into the state, by digest, so that
//! policies can pin them. The one command that fetches a component; nothing runs here.

use super::super::doctor::shell;
use super::super::{Exit, Output, runtime, tell};
use crate::config::Config;
use crate::gateway;
use anyhow::{Context, bail, ensure};
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_core::oci::{ContentDigest, ImageReference, SignerKey};
use cofferdam_core::secret::Secret;
use cofferdam_oci::{Fetched, Settings, Store};
use cofferdam_policy::{ComponentSource, PolicySet};
use cofferdam_warden::sandbox::COMPONENT_BYTES_MAX;
use cofferdam_warden::sandbox::imports::{NotAComponent, interfaces};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(in crate::cli) struct Arguments {
    /// REGISTRY/NAME@sha256:DIGEST, several if you like [default: all that the policies name]
    #[arg(value_name = "REF", value_parser = reference)]
    references: Vec<ImageReference>,
    /// A file with the public key of who must have signed them (P-256 or Ed25519, in PEM), besides
    /// those that policies name
    #[arg(long, value_name = "FILE", requires = "references")]
    signer: Option<PathBuf>,
    /// The policies that name components and signers [default: the configured ones]
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// The variable that holds USER:PASSWORD for the registry [default: it is asked anonymously]
    #[arg(long, value_name = "VAR")]
    credentials_env: Option<String>,
    /// Ask registries on this machine over plain http; no others
    #[arg(long)]
    plain_http: bool,
    /// How long one component may take, at most 1h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_timeout)]
    timeout: TimeSpan,
    #[command(flatten)]
    output: Output,
}

const HELP: &str = "A policy pins such a component by the digest of its manifest, and no tool is fetched when it loads:\n  \
component = { oci = \"ghcr.io/acme/tool@sha256:…\", signer = \"PUBLIC KEY\" }\nsigner is optional: the key, in PEM or as the one \
word between its lines, of who must have signed it with cosign (cosign sign --key). Identities of certificates are not verified. \
What is fetched is verified whole, then kept in components/ of the state, and verified again whenever it loads.\nExit codes: 0 all \
of them are there; 1 one is not, and nothing of it was kept; 2 usage or configuration.\nExample: cofferdam tool fetch \
ghcr.io/acme/tool@sha256:DIGEST --signer cosign.pub";

/// Between two lines of progress.
const EVERY: Duration = Duration::from_secs(5);
const TIME_MAX: Duration = Duration::from_secs(3600);
/// A longer file holds no key.
const KEY_BYTES_MAX: u64 = 64 << 10;

fn reference(text: &str) -> Result<ImageReference, String> {
    text.parse().map_err(|why| format!("it {why}"))
}

fn parse_timeout(text: &str) -> Result<TimeSpan, String> {
    let span = TimeSpan::parse(text)?;
    if span.0 > TIME_MAX { Err("at most 1h; write e.g. 10m".to_owned()) } else { Ok(span) }
}

/// What is to be there, each with those who must have signed it.
type WantedComponents = BTreeMap<ImageReference, BTreeSet<SignerKey>>;

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let dir = arguments.policies.as_deref().or(config.policies_dir.as_deref());
    let policies = gateway::load_policies(dir).map_err(gateway::GatewayError::Policies)?;
    let wanted = wanted_components(arguments, &policies)?;
    if wanted.is_empty() {
        tell(
            "no policy names a component of a registry; write component = { oci = \"REGISTRY/NAME@sha256:…\" }",
        );
    }
    let settings = Settings {
        named: config.network.private_hosts.clone(),
        plain_http: arguments.plain_http,
        credentials: arguments
            .credentials_env
            .as_deref()
            .map(|name| credentials(name, &wanted))
            .transpose()?,
        time_max: arguments.timeout.0,
        component_bytes_max: COMPONENT_BYTES_MAX as u64,
    };
    let store = gateway::open_fetched_for_writing(config)?;
    let mut all = Vec::new();
    for (reference, signers) in &wanted {
        let there = match is_there(&store, reference, signers) {
            true => Ok(false),
            false => fetch_one(&store, reference, signers, &settings).map(|()| true),
        };
        if let Err(why) = &there {
            tell(&format!("not fetched: {why:#}"));
        }
        all.push(FetchResult { reference, signers, there, store: &store, policies: &policies });
    }
    print(&all, arguments.output.json)?;
    Ok(if all.iter().all(|done| done.there.is_ok()) { Exit::Done } else { Exit::ToolFailed })
}

/// What the command line names, or else the policies; signed by all whom either names for it.
fn wanted_components(arguments: &Arguments, policies: &PolicySet) -> anyhow::Result<WantedComponents> {
    let given = arguments.signer.as_deref().map(signer).transpose()?;
    let mut wanted = WantedComponents::new();
    for reference in &arguments.references {
        wanted.entry(reference.clone()).or_default().extend(given.clone());
    }
    for policy in policies.iter() {
        let ComponentSource::Fetched { oci, signer } = &policy.component else { continue };
        if arguments.references.is_empty() || wanted.contains_key(oci) {
            wanted.entry(oci.clone()).or_default().extend(signer.clone());
        }
    }
    Ok(wanted)
}

fn signer(file: &Path) -> anyhow::Result<SignerKey> {
    let shown = file.display();
    let read = || std::io::read_to_string(std::fs::File::open(file)?.take(KEY_BYTES_MAX));
    let text = read().with_context(|| format!("cannot read {shown}"))?;
    text.parse().map_err(|why| anyhow::anyhow!("{shown} {why}"))
}

/// They are for one registry: no other is told them.
fn credentials(name: &str, wanted: &WantedComponents) -> anyhow::Result<Secret> {
    let registries: BTreeSet<_> = wanted.keys().map(ImageReference::registry).collect();
    ensure!(
        registries.len() < 2,
        "--credentials-env is for one registry, and these are of several: name those of one on the command line"
    );
    let Ok(text) = std::env::var(name) else {
        bail!("--credentials-env {name}: there is no such variable; set it to USER:PASSWORD")
    };
    let secret = Secret::new(text);
    let is_pair = secret.reveal().split_once(':').is_some_and(|(user, _)| !user.is_empty());
    ensure!(is_pair, "--credentials-env {name}: it does not hold USER:PASSWORD");
    Ok(secret)
}

/// Whether all of it is kept already; then nobody is asked.
fn is_there(store: &Store, reference: &ImageReference, signers: &BTreeSet<SignerKey>) -> bool {
    let is_signed = |signer| store.component(reference, Some(signer)).is_ok();
    store.component(reference, None).is_ok() && signers.iter().all(is_signed)
}

fn fetch_one(
    store: &Store,
    reference: &ImageReference,
    signers: &BTreeSet<SignerKey>,
    settings: &Settings,
) -> anyhow::Result<()> {
    let mut last: Option<Instant> = None;
    let mut progress = |bytes: u64, of: u64| {
        if last.is_some_and(|told| told.elapsed() < EVERY) {
            return;
        }
        match last.replace(Instant::now()) {
            None => tell(&format!("fetching {reference}: {}", ByteSize(of))),
            Some(_) => tell(&format!("fetching {reference}: {bytes} of {of} bytes")),
        }
    };
    let fetched = runtime()?.block_on(cofferdam_oci::fetch(reference, signers, settings, &mut progress))?;
    check(&fetched)?;
    let kept = store.begin_write().and_then(|writing| writing.keep(&fetched));
    kept.with_context(|| format!("cannot keep {reference} in the state"))
}

/// What no gateway would take is not kept.
fn check(fetched: &Fetched) -> anyhow::Result<()> {
    let reference = &fetched.reference;
    match interfaces(&fetched.component) {
        Ok(_) => Ok(()),
        Err(NotAComponent::CoreModule) => bail!(
            "{reference} is a core module, not a component; ask its author for a component, or bring the file, make one of it \
             (cofferdam tool adapt) and pin that"
        ),
        Err(why) => bail!("{reference} is not a component: {why}"),
    }
}

struct FetchResult<'d> {
    reference: &'d ImageReference,
    signers: &'d BTreeSet<SignerKey>,
    /// Whether it was fetched now, if it is there.
    there: anyhow::Result<bool>,
    store: &'d Store,
    policies: &'d PolicySet,
}

impl FetchResult<'_> {
    fn sha256(&self) -> Option<ContentDigest> {
        self.store.component_digest(self.reference).ok()
    }

    fn json(&self) -> Value {
        let oci = self.reference.to_string();
        match &self.there {
            Err(why) => json!({ "oci": oci, "error": format!("{why:#}") }),
            Ok(is_new) => json!({
                "oci": oci,
                "fetched": is_new,
                "sha256": self.sha256().map(|digest| digest.hex().to_owned()),
                "file": self.store.file(self.reference.digest()),
                "signers": self.signers.iter().map(SignerKey::fingerprint).collect::<Vec<_>>(),
            }),
        }
    }

    fn lines(&self) -> Vec<String> {
        let Ok(is_new) = self.there else { return Vec::new() };
        let what = if is_new { "fetched" } else { "already there:" };
        let signers: Vec<_> = self.signers.iter().map(|key| key.fingerprint()[..12].to_owned()).collect();
        let signed = match &signers[..] {
            [] => "no signer was asked for".to_owned(),
            keys => format!("signed by the key {}", keys.join(" and ")),
        };
        let sha256 = self.sha256().map(|digest| digest.hex().to_owned()).unwrap_or_default();
        let mut lines = vec![
            format!("{what} {}", self.reference),
            format!("  component sha256 {sha256}, {signed}"),
            format!(
                "  look at it: cofferdam tool inspect {}",
                shell(&self.store.file(self.reference.digest()))
            ),
        ];
        let names = |source: &ComponentSource| matches!(source, ComponentSource::Fetched { oci, .. } if oci == self.reference);
        if !self.policies.iter().any(|policy| names(&policy.component)) {
            let signer = self.signers.iter().next().map(|key| format!(", signer = \"{key}\""));
            let signer = signer.unwrap_or_default();
            lines.push(format!(
                "  have it in a policy: component = {{ oci = \"{}\"{signer} }}",
                self.reference
            ));
        }
        lines
    }
}

fn print(all: &[FetchResult<'_>], as_json: bool) -> anyhow::Result<()> {
    let mut out = crate::cli::stdout();
    if as_json {
        let components: Vec<_> = all.iter().map(FetchResult::json).collect();
        writeln!(out, "{}", json!({ "components": components }))?;
        return Ok(());
    }
    for line in all.iter().flat_map(FetchResult::lines) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
