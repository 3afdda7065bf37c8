//! `cofferdam tool inspect`: what a component is, what it wants, what it takes, and whether it
//! loads under a policy; and, asked to, pins it there. The tool is not called.

use super::super::{Exit, Output};
use crate::config::Config;
use crate::gateway::candidate::Candidate;
use anyhow::{Context, bail};
use cofferdam_agent::tools::read_component;
use cofferdam_core::text::escape_deceptive_json;
use cofferdam_policy::{ComponentSource, ToolPolicy};
use cofferdam_review::tool::Inspected;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 1 no gateway takes the file; 3 it does not load under the given policy.\n\
                  Example: cofferdam tool inspect hello.wasm --policy policies"
)]
pub(in crate::cli) struct Arguments {
    /// The component
    file: PathBuf,
    /// A folder of policies, or one tool's policy file, to hold it against [default: nothing is
    /// granted]
    #[arg(long, value_name = "P")]
    policy: Option<PathBuf>,
    /// A tool's policy file: copies the component beside it and writes its sha256 there, if it
    /// loads otherwise
    #[arg(long, value_name = "POLICY.toml", conflicts_with = "policy")]
    pin: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let Some(candidate) = super::candidate(config, &arguments.file)? else { return Ok(Exit::ToolFailed) };
    let chosen = arguments.pin.as_deref().or(arguments.policy.as_deref());
    if let Some(missing) = chosen.filter(|path| !path.exists()) {
        bail!("cannot read {}: there is no such file or folder", missing.display());
    }
    // The component lies beside the file that pins it, which a folder does not say.
    if let Some(other) = arguments.pin.as_deref().filter(|path| !path.is_file()) {
        bail!(
            "cannot pin in {}: it is not a file; name the tool's policy file, e.g. policies/tools/hello.toml",
            other.display()
        );
    }
    let (policy, mut problems) = match candidate.policy(chosen) {
        Ok(policy) => {
            let problems = candidate.problems(&policy);
            (Some(policy), problems)
        }
        Err(problems) => (None, problems),
    };
    if let (Some(file), Some(policy), true) = (&arguments.pin, &policy, problems.is_empty()) {
        pin(&candidate, policy, file)?;
        super::super::tell(&format!("pinned {} in {}", &candidate.binary.sha256()[..12], file.display()));
    } else {
        problems.extend(policy.as_ref().and_then(|policy| candidate.pin_problem(policy)));
    }
    let skeletons: Vec<(String, String)> = match chosen {
        None => candidate.skeletons().into_iter().map(|(tool, text)| (tool.to_string(), text)).collect(),
        Some(_) => Vec::new(),
    };
    let could_be = candidate.possible_kinds();
    let seen = Inspected {
        file: &candidate.file,
        binary: &candidate.binary,
        interfaces: &candidate.interfaces,
        description: candidate.description.as_ref().ok(),
        could_be: &could_be,
        functions: &candidate.functions,
        policy: policy.as_ref(),
        chosen,
        problems: &problems,
        skeletons: &skeletons,
    };
    let mut out = crate::cli::stdout();
    match arguments.output.json {
        true => writeln!(out, "{}", escape_deceptive_json(&seen.json().to_string()))?,
        false => write!(out, "{}", seen.text())?,
    }
    Ok(if problems.is_empty() || chosen.is_none() { Exit::Done } else { Exit::ProblemFound })
}

/// Puts the component where the policy file expects it, and its sha256 into the file; the component
/// first, so that a stop in between leaves a tool that does not load.
fn pin(candidate: &Candidate, policy: &ToolPolicy, file: &Path) -> anyhow::Result<()> {
    let ComponentSource::File { file: component, sha256 } = &policy.component else {
        bail!(
            "{}: {} takes the component {}, not a file; write: component = {{ file = \"{1}.wasm\", sha256 = \"{}\" }}",
            file.display(),
            policy.tool,
            policy.component.describe(),
            candidate.binary.sha256()
        );
    };
    if *sha256 == candidate.binary.sha256() {
        return place(candidate, file, component);
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let quoted = format!("\"{sha256}\"");
    if text.matches(&quoted).count() != 1 {
        bail!(
            "{}: its sha256 does not stand there once; write: component = {{ file = {component:?}, sha256 = \"{}\" }}",
            file.display(),
            candidate.binary.sha256()
        );
    }
    place(candidate, file, component)?;
    replace(file, text.replace(&quoted, &format!("\"{}\"", candidate.binary.sha256())).as_bytes())
}

/// Has the component lie where the policy says, which may be a stranger's: beside the policy it is
/// copied, anywhere else it would take the place of a file that is none of the tool's.
fn place(candidate: &Candidate, policy: &Path, component: &str) -> anyhow::Result<()> {
    let bytes = candidate.binary.bytes().expect("a candidate was read from its file");
    let to = policy.parent().unwrap_or(Path::new("")).join(component);
    if read_component(&to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if Path::new(component).file_name() != Some(OsStr::new(component)) {
        bail!(
            "{}: --pin copies a component only beside the policy file, not to {component:?}; copy it there by hand, \
             or write a name alone, e.g. file = \"hello.wasm\"",
            policy.display()
        );
    }
    replace(&to, bytes)
}

/// All of the new content or the old, readable as any file that a person writes. What is there and
/// is no file stays: root could put a file in the place of a device, or of a link such as
/// /dev/stdout, wherever that leads.
pub(super) fn replace(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::symlink_metadata(file).is_ok_and(|there| !there.is_file()) {
        bail!("cannot write {}: it is not a regular file; name another one", file.display());
    }
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        let mode = std::fs::Permissions::from_mode(0o644);
        let mut temporary = tempfile::Builder::new().permissions(mode).tempfile_in(dir)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_data()?;
        temporary.persist(file).map(drop).map_err(|e| e.error)
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}
