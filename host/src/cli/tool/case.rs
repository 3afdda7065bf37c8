//! A case as an author writes it: one call and what is expected of it. Read strictly; what is not
//! understood is refused before anything runs.

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::json::parse_strict;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::GuestPath;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest case file.
const CASE_BYTES_MAX: u64 = 4 << 20;
/// Cases of one tool.
const CASES_MAX: usize = 1000;

/// One call and what is expected of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// For people; the file's name when absent.
    #[serde(default)]
    pub(super) name: String,
    /// The arguments of the call.
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    /// Files that come with the call, relative to the case's file.
    #[serde(default)]
    pub(super) attachments: Vec<PathBuf>,
    /// What is in the workspace before the call, by virtual path.
    #[serde(default)]
    pub(super) workspace: BTreeMap<String, Content>,
    /// What becomes of the call.
    pub(super) expect: Expect,
    /// Where the case was read from.
    #[serde(skip)]
    pub(super) file: PathBuf,
}

/// What becomes of a call; exactly one of result, part of a result, and error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    /// The whole result.
    pub(super) result: Option<Value>,
    /// Fields that the result has, among others.
    pub(super) result_includes: Option<Value>,
    /// The code of a refusal or failure.
    pub(super) error: Option<ErrorCode>,
    /// Words in the message of that error.
    pub(super) message_contains: Option<String>,
    /// Files that the call writes (null: removes). Every other file stays as it was.
    #[serde(default)]
    pub(super) files: BTreeMap<String, Option<Content>>,
    /// Files that go out with the reply, in order, and no others.
    #[serde(default)]
    pub(super) reply: Vec<Sent>,
}

/// A file of a reply.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    /// The name that the person sees.
    pub(super) name: String,
    /// Its bytes.
    pub(super) content: Content,
}

/// Bytes of a file: a text, or `{ "base64": "…" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Encoded {
            base64: String,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Encoded(Encoded),
        }
        let how =
            || serde::de::Error::custom("not the content of a file; write \"text\" or { \"base64\": \"…\" }");
        match Written::deserialize(d) {
            Ok(Written::Text(text)) => Ok(Self(text.into_bytes())),
            Ok(Written::Encoded(Encoded { base64 })) => STANDARD.decode(base64).map(Self).map_err(|_| how()),
            Err(_) => Err(how()),
        }
    }
}

/// The cases of a folder, by file name.
///
/// # Errors
/// Every file that is no case, each with what is wrong; and a folder without cases.
pub(super) fn read_all(dir: &Path) -> anyhow::Result<Vec<Case>> {
    let entries = std::fs::read_dir(dir)
        .with_context(|| format!("cannot read the cases in {}; --cases DIR names them", dir.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", dir.display()))?.path();
        if path.extension().is_some_and(|e| e == "json") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("there are no cases in {}; write one, e.g. {}/works.json", dir.display(), dir.display());
    }
    if files.len() > CASES_MAX {
        bail!("{} has {} cases; at most {CASES_MAX} are run", dir.display(), files.len());
    }
    let (mut cases, mut wrong) = (Vec::new(), Vec::new());
    for file in files {
        match read(&file) {
            Ok(case) => cases.push(case),
            Err(why) => wrong.push(format!("{}: {why:#}", file.display())),
        }
    }
    if wrong.is_empty() { Ok(cases) } else { bail!("{}", wrong.join("\n")) }
}

fn read(file: &Path) -> anyhow::Result<Case> {
    // Not blocking: a FIFO may be called case.json.
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let opened = std::fs::File::options().read(true).custom_flags(flags).open(file)?;
    if !opened.metadata()?.is_file() {
        bail!("it is not a regular file");
    }
    let mut text = String::new();
    opened.take(CASE_BYTES_MAX + 1).read_to_string(&mut text).context("it is not UTF-8 text")?;
    if text.len() as u64 > CASE_BYTES_MAX {
        bail!("it is longer than {CASE_BYTES_MAX} bytes; put large content into an attachment");
    }
    parse_strict(&text).map_err(|e| anyhow::anyhow!("it is not JSON: {e}"))?;
    let mut case: Case =
        serde_json::from_str(&text).map_err(|e| anyhow::anyhow!("{}", one_line(&e.to_string(), 400)))?;
    check(&case)?;
    if case.name.is_empty() {
        case.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    case.name = one_line(&case.name, 120);
    file.clone_into(&mut case.file);
    Ok(case)
}

fn check(case: &Case) -> anyhow::Result<()> {
    let Expect { result, result_includes, error, message_contains, files, reply } = &case.expect;
    let given = [result.is_some(), result_includes.is_some(), error.is_some()];
    if given.into_iter().filter(|given| *given).count() != 1 {
        bail!("expect takes exactly one of result, result_includes and error");
    }
    if message_contains.is_some() && error.is_none() {
        bail!("message_contains goes with error; a result is compared field by field");
    }
    if error.is_some() && files.values().any(Option::is_some) {
        bail!("a call that fails writes nothing; remove files from expect");
    }
    if error.is_some() && !reply.is_empty() {
        bail!("a call that fails sends nothing; remove reply from expect");
    }
    for path in case.workspace.keys().chain(files.keys()) {
        let parsed = GuestPath::parse(path)?;
        if parsed.is_mount() || !cofferdam_core::capability::MOUNTS.contains(&parsed.mount()) {
            bail!("{} is no file of a workspace; write e.g. /shared/a.txt", one_line(path, 200));
        }
    }
    Ok(())
}
