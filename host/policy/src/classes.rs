//! What a policy file says of arguments by a word: their classes, and the safety of a tool.

use super::complete::Completion;
use serde::{Deserialize, Deserializer, Serialize, de};

/// How a path argument is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathUse {
    /// Read.
    Read,
    /// Written: this very path.
    Write,
    /// A directory below which files are written.
    WriteBelow,
}

/// How a policy classifies an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArgumentClass {
    /// Audited as it is, bounded.
    Value,
    /// Audited as length and SHA-256 only.
    Content,
    /// Somebody who is written to, `CHANNEL:USER`; audited as it is.
    Recipient,
    /// A guest path, judged for this use.
    Path(PathUse),
    /// An address, judged against the hosts of the profile. Audited without its query.
    Url(UrlUse),
}

impl ArgumentClass {
    /// Whether what stands at such an argument, or below it, is written.
    pub fn is_written(self) -> bool {
        matches!(self, Self::Path(PathUse::Write | PathUse::WriteBelow))
    }

    /// As a policy file writes it, as a whole value.
    pub fn spell(&self) -> String {
        match self {
            Self::Value | Self::Content | Self::Recipient => format!("\"{}\"", spell_word(self)),
            Self::Path(how) => format!("{{ path = \"{}\" }}", spell_word(how)),
            Self::Url(how) => format!("{{ url = \"{}\" }}", spell_word(how)),
        }
    }
}

/// How an address is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UrlUse {
    /// Asked.
    Read,
}

/// What a policy says of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Classified {
    pub(super) class: ArgumentClass,
    pub(super) completion: Completion,
}

impl<'de> Deserialize<'de> for Classified {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, deny_unknown_fields)]
        enum ClassText {
            Word(String),
            Path { path: PathUse, default: Option<String>, home: Option<String> },
            Url { url: UrlUse, default: Option<String> },
        }
        const HOW: &str = r#"write "value", "content", "recipient", { path = "read" | "write" | "write-below" } or { url = "read" }"#;
        let plain = |class| Self { class, completion: Completion::default() };
        match ClassText::deserialize(d) {
            Ok(ClassText::Word(word)) if word == "value" => Ok(plain(ArgumentClass::Value)),
            Ok(ClassText::Word(word)) if word == "content" => Ok(plain(ArgumentClass::Content)),
            Ok(ClassText::Word(word)) if word == "recipient" => Ok(plain(ArgumentClass::Recipient)),
            Ok(ClassText::Path { path, default, home }) => {
                Ok(Self { class: ArgumentClass::Path(path), completion: Completion { default, home } })
            }
            Ok(ClassText::Url { url, default }) => {
                let completion = Completion { default, home: None };
                Ok(Self { class: ArgumentClass::Url(url), completion })
            }
            Ok(ClassText::Word(word)) => {
                Err(de::Error::custom(format_args!("unknown class {word:?}; {HOW}")))
            }
            Err(_) => Err(de::Error::custom(format_args!("not a class; {HOW}"))),
        }
    }
}

/// What a tool may do to the world, for approvals and replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// Changes nothing.
    ReadOnly,
    /// Changes files or sends something.
    SideEffecting,
    /// Changes what the gateway itself relies on.
    Privileged,
}

/// What becomes of imports that the profile does not grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Imports {
    /// They are linked to stubs that refuse when they are called.
    #[default]
    Stub,
    /// The tool does not load.
    Strict,
}

/// One word as a policy file writes it, without its quotes.
pub fn spell_word<T: Serialize>(word: &T) -> String {
    serde_json::to_value(word).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}
