//! A case as an author writes it: one call and what is expected of it. Read strictly; what is not
//! understood is refused before anything runs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::json::parse_strict;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::GuestPath;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One call and what is expected of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// For people; the file's name when absent.
    #[serde(default)]
    pub name: String,
    /// The arguments of the call.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Files that come with the call, relative to the case's file.
    #[serde(default)]
    pub attachments: Vec<PathBuf>,
    /// What is in the workspace before the call, by virtual path.
    #[serde(default)]
    pub workspace: BTreeMap<String, CaseContent>,
    /// What becomes of the call.
    pub expect: Expectation,
    /// Where the case was read from.
    #[serde(skip)]
    pub file: PathBuf,
}

/// What becomes of a call; exactly one of result, part of a result, and error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The whole result.
    pub result: Option<Value>,
    /// Fields that the result has, among others.
    pub result_includes: Option<Value>,
    /// The code of a refusal or failure.
    pub error: Option<ErrorCode>,
    /// Words in the message of that error.
    pub message_contains: Option<String>,
    /// Files that the call writes (null: removes). Every other file stays as it was.
    #[serde(default)]
    pub files: BTreeMap<String, Option<CaseContent>>,
    /// Files that go out with the reply, in order, and no others.
    #[serde(default)]
    pub reply: Vec<ExpectedFile>,
}

/// A file of a reply.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFile {
    /// The name that the person sees.
    pub name: String,
    /// Its bytes.
    pub content: CaseContent,
}

/// Bytes of a file: a text, or `{ "base64": "…" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseContent(pub Vec<u8>);

impl Case {
    /// The case that a file's text holds.
    ///
    /// # Errors
    /// What is not understood, or says too much or too little.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse_strict(text).map_err(|e| format!("it is not JSON: {e}"))?;
        let case = serde_json::from_str(text).map_err(|e| one_line(&e.to_string(), 400))?;
        check(&case)?;
        Ok(case)
    }
}

impl<'de> Deserialize<'de> for CaseContent {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, deny_unknown_fields)]
        enum CaseFile {
            Text(String),
            Encoded { base64: String },
        }
        let how =
            || serde::de::Error::custom("not the content of a file; write \"text\" or { \"base64\": \"…\" }");
        match CaseFile::deserialize(d) {
            Ok(CaseFile::Text(text)) => Ok(Self(text.into_bytes())),
            Ok(CaseFile::Encoded { base64 }) => STANDARD.decode(base64).map(Self).map_err(|_| how()),
            Err(_) => Err(how()),
        }
    }
}

fn check(case: &Case) -> Result<(), String> {
    let Expectation { result, result_includes, error, message_contains, files, reply } = &case.expect;
    let given = [result.is_some(), result_includes.is_some(), error.is_some()];
    if given.into_iter().filter(|given| *given).count() != 1 {
        return Err("expect takes exactly one of result, result_includes and error".to_owned());
    }
    if message_contains.is_some() && error.is_none() {
        return Err("message_contains goes with error; a result is compared field by field".to_owned());
    }
    if error.is_some() && files.values().any(Option::is_some) {
        return Err("a call that fails writes nothing; remove files from expect".to_owned());
    }
    if error.is_some() && !reply.is_empty() {
        return Err("a call that fails sends nothing; remove reply from expect".to_owned());
    }
    for path in case.workspace.keys().chain(files.keys()) {
        let parsed = GuestPath::parse(path).map_err(|e| e.to_string())?;
        if parsed.is_mount() || !cofferdam_core::capability::MOUNTS.contains(&parsed.mount()) {
            return Err(format!(
                "{} is no file of a workspace; write e.g. /shared/a.txt",
                one_line(path, 200)
            ));
        }
    }
    Ok(())
}
