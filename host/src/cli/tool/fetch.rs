//! `cofferdam tool fetch`: brings components of OCI registries into the state, by digest, so that
//! policies can pin them. The one command that fetches a component; nothing runs here.

use super::super::doctor::shell;
use super::super::{Exit, Output, runtime, tell};
use crate::config::Config;
use crate::gateway;
use anyhow::{Context, bail, ensure};
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_core::oci::{ImageReference, SignerKey};
use cofferdam_core::secret::Secret;
use cofferdam_oci::{Fetched, Settings, Store};
use cofferdam_policy::{ComponentSource, PolicySet};
use cofferdam_warden::sandbox::COMPONENT_BYTES_MAX;
use cofferdam_warden::sandbox::imports::{NotAComponent, interfaces};
use serde_json::json;
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
            .map(|name| credentials(name, wanted.keys()))
            .transpose()?,
        time_max: arguments.timeout.0,
        component_bytes_max: COMPONENT_BYTES_MAX as u64,
    };
    let store = gateway::open_fetched_for_writing(config)?;
    let (mut components, mut lines, mut exit) = (Vec::new(), Vec::new(), Exit::Done);
    for (reference, signers) in &wanted {
        let there = match is_there(&store, reference, signers) {
            true => Ok(false),
            false => fetch_one(&store, reference, signers, &settings).map(|()| true),
        };
        let oci = reference.to_string();
        match there {
            Ok(is_new) => {
                let sha256 = store.component_digest(reference).ok().map(|digest| digest.hex().to_owned());
                let told = (is_new, sha256.as_deref().unwrap_or_default());
                lines.extend(describe_fetched(&store, &policies, (reference, signers), told));
                components.push(json!({
                    "oci": oci,
                    "fetched": is_new,
                    "sha256": sha256,
                    "file": store.file(reference.digest()),
                    "signers": signers.iter().map(SignerKey::fingerprint).collect::<Vec<_>>(),
                }));
            }
            Err(why) => {
                tell(&format!("not fetched: {why:#}"));
                components.push(json!({ "oci": oci, "error": format!("{why:#}") }));
                exit = Exit::ToolFailed;
            }
        }
    }
    let mut out = crate::cli::stdout();
    if arguments.output.json {
        writeln!(out, "{}", json!({ "components": components }))?;
        return Ok(exit);
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(exit)
}

/// What is to be there, each with those who must have signed it: what the command line names, or
/// else the policies; signed by all whom either names for it.
fn wanted_components(
    arguments: &Arguments,
    policies: &PolicySet,
) -> anyhow::Result<BTreeMap<ImageReference, BTreeSet<SignerKey>>> {
    let given = arguments.signer.as_deref().map(signer).transpose()?;
    let mut wanted = BTreeMap::<ImageReference, BTreeSet<SignerKey>>::new();
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
fn credentials<'w>(name: &str, wanted: impl Iterator<Item = &'w ImageReference>) -> anyhow::Result<Secret> {
    let registries: BTreeSet<_> = wanted.map(ImageReference::registry).collect();
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

/// One that is there now, for people.
fn describe_fetched(
    store: &Store,
    policies: &PolicySet,
    (reference, signers): (&ImageReference, &BTreeSet<SignerKey>),
    (is_new, sha256): (bool, &str),
) -> Vec<String> {
    let what = if is_new { "fetched" } else { "already there:" };
    let keys: Vec<_> = signers.iter().map(|key| key.fingerprint()[..12].to_owned()).collect();
    let signed = match &keys[..] {
        [] => "no signer was asked for".to_owned(),
        keys => format!("signed by the key {}", keys.join(" and ")),
    };
    let mut lines = vec![
        format!("{what} {reference}"),
        format!("  component sha256 {sha256}, {signed}"),
        format!("  look at it: cofferdam tool inspect {}", shell(&store.file(reference.digest()))),
    ];
    let names =
        |source: &ComponentSource| matches!(source, ComponentSource::Fetched { oci, .. } if oci == reference);
    if !policies.iter().any(|policy| names(&policy.component)) {
        let signer = signers.iter().next().map(|key| format!(", signer = \"{key}\"")).unwrap_or_default();
        lines.push(format!("  have it in a policy: component = {{ oci = \"{reference}\"{signer} }}"));
    }
    lines
}
