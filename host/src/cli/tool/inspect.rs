//! `cofferdam tool inspect`: what a component is, what it wants, what it takes, and whether it loads under a
//! policy; and, asked to, pins it there. The tool is not called.

use super::super::Exit;
use crate::config::Config;
use crate::gateway::candidate::Candidate;
use anyhow::{Context, bail};
use cofferdam_core::text::{one_line, spelled_out, spelled_out_json};
use cofferdam_policy::schema::{Leaf, leaves};
use cofferdam_policy::{ArgumentClass, ComponentSource, PathUse, ToolPolicy};
use cofferdam_warden::sandbox::imports::{Import, Needs};
use serde_json::{Value, json};
use std::fmt::Write as _;
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
    /// A folder of policies, or one tool's policy file, to hold it against [default: nothing is granted]
    #[arg(long, value_name = "P")]
    policy: Option<PathBuf>,
    /// A tool's policy file: copies the component beside it and writes its sha256 there, if it loads otherwise
    #[arg(long, value_name = "POLICY.toml", conflicts_with = "policy")]
    pin: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let Some(candidate) = super::candidate(config, &arguments.file)? else { return Ok(Exit::ToolFailed) };
    let chosen = arguments.pin.as_deref().or(arguments.policy.as_deref());
    if let Some(missing) = chosen.filter(|path| !path.exists()) {
        bail!("cannot read {}: there is no such file or folder", missing.display());
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
        problems.extend(policy.as_ref().and_then(|policy| candidate.unpinned(policy)));
    }
    let seen = Seen { candidate: &candidate, policy: policy.as_ref(), chosen, problems: &problems };
    let mut out = std::io::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{}", spelled_out_json(&seen.json().to_string()))?,
        false => write!(out, "{}", seen.text())?,
    }
    Ok(if problems.is_empty() || chosen.is_none() { Exit::Done } else { Exit::ProblemFound })
}

/// What there is to tell.
struct Seen<'a> {
    candidate: &'a Candidate,
    policy: Option<&'a ToolPolicy>,
    chosen: Option<&'a Path>,
    problems: &'a [String],
}

impl Seen<'_> {
    fn json(&self) -> Value {
        let Candidate { file, binary, interfaces, description } = self.candidate;
        let beyond: Vec<_> = interfaces
            .beyond_baseline()
            .iter()
            .map(|Import { name, needs }| json!({ "name": name, "needs": needs.to_string() }))
            .collect();
        let described = description.as_ref().ok();
        json!({
            "file": file.display().to_string(), "sha256": binary.sha256(), "bytes": binary.bytes().len(),
            "exports": interfaces.exports, "imports": interfaces.imports, "imports_beyond_baseline": beyond,
            "name": described.map(|d| d.name.as_str()), "summary": described.map(|d| d.summary.as_str()),
            "arguments": described.map(|d| &d.arguments), "result": described.map(|d| &d.result),
            "texts": self.texts().into_iter().map(|(at, class)| json!({ "argument": at, "class": class.map(word) }))
                .collect::<Vec<_>>(),
            "policy": self.chosen.map(|path| path.display().to_string()),
            "loads": self.problems.is_empty(), "problems": self.problems,
        })
    }

    fn text(&self) -> String {
        let Candidate { file, binary, interfaces, description } = self.candidate;
        let mut text = String::new();
        // Names, summaries and schemas are a stranger's words.
        let mut row = |name: &str, said: &str| {
            let _ = writeln!(text, "{name:<10}{}", spelled_out(said));
        };
        if let Ok(described) = description {
            row("tool", &format!("{}: {}", described.name, described.summary));
        }
        row("file", &file.display().to_string());
        row("sha256", binary.sha256());
        row("size", &format!("{} bytes", binary.bytes().len()));
        row("exports", &listed(&interfaces.exports));
        let beyond = interfaces.beyond_baseline();
        if beyond.is_empty() {
            row("imports", "nothing beyond the baseline");
        }
        for Import { name, needs } in &beyond {
            match needs {
                Needs::Unknown => row("imports", &format!("{name} ({needs})")),
                _ => row("imports", &format!("{name} (in the profile: {needs})")),
            }
        }
        for (at, class) in self.texts() {
            let class = class.map_or_else(|| "not classified".into(), |class| format!("is {}", word(class)));
            row("text", &format!("{} {class}", one_line(&at, 200)));
        }
        if let Ok(described) = description {
            row("arguments", &spelled_out_json(&described.arguments.to_string()));
            row("result", &spelled_out_json(&described.result.to_string()));
        }
        let under = self.chosen.map_or_else(|| "nothing granted".into(), |p| p.display().to_string());
        match self.problems {
            [] => row("verdict", &format!("loads under {under}")),
            problems => {
                row("verdict", &format!("does not load under {under}:"));
                problems.iter().for_each(|problem| row("", problem));
            }
        }
        if let (None, Ok(described)) = (self.chosen, description) {
            let _ = write!(text, "\nA policy that grants nothing, for tools/{}.toml:\n\n", described.name);
            text.push_str(&self.candidate.granting_nothing(described));
        }
        text
    }

    /// Every argument that can hold text, with its class under the policy that was chosen.
    fn texts(&self) -> Vec<(String, Option<ArgumentClass>)> {
        let Ok(described) = &self.candidate.description else { return Vec::new() };
        let found = leaves(&described.arguments).unwrap_or_default();
        let texts = found.into_iter().filter(|(_, leaf)| *leaf == Leaf::MayBeText).map(|(at, _)| at);
        let policy = self.policy.filter(|_| self.chosen.is_some());
        texts.map(|at| (at.clone(), policy.and_then(|policy| policy.class(&at)))).collect()
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

fn word(class: ArgumentClass) -> &'static str {
    match class {
        ArgumentClass::Value => "\"value\"",
        ArgumentClass::Content => "\"content\"",
        ArgumentClass::Path(PathUse::Read) => "{ path = \"read\" }",
        ArgumentClass::Path(PathUse::Write) => "{ path = \"write\" }",
        ArgumentClass::Path(PathUse::WriteBelow) => "{ path = \"write-below\" }",
    }
}

/// Puts the component where the policy file expects it, and its sha256 into the file; the component
/// first, so that a stop in between leaves a tool that does not load.
fn pin(candidate: &Candidate, policy: &ToolPolicy, file: &Path) -> anyhow::Result<()> {
    let ComponentSource::File { file: component, sha256 } = &policy.component else {
        bail!(
            "{}: {} takes the builtin component; write: component = {{ file = \"{1}.wasm\", sha256 = \"{}\" }}",
            file.display(),
            policy.tool,
            candidate.binary.sha256()
        );
    };
    if *sha256 == candidate.binary.sha256() {
        return place(candidate, &beside(file, component));
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
    place(candidate, &beside(file, component))?;
    replace(file, text.replace(&quoted, &format!("\"{}\"", candidate.binary.sha256())).as_bytes())
}

fn beside(file: &Path, component: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(component)
}

fn place(candidate: &Candidate, to: &Path) -> anyhow::Result<()> {
    let there = std::fs::read(to).is_ok_and(|bytes| bytes == candidate.binary.bytes());
    if there { Ok(()) } else { replace(to, candidate.binary.bytes()) }
}

/// All of the new content or the old, readable as any file that a person writes.
fn replace(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
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
