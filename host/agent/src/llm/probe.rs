//! One request without cost that tells whether a model can be asked: its server's list of models,
//! or the one model where the API has such a page. It says no more than the answer shows.

use super::config::{Config, ProviderKind};
use super::dialect::Dialect;
use super::failure::AttemptFailure;
use super::http::ModelServer;
use crate::server::{UnusableKey, http_date};
use cofferdam_core::secret::{Secret, redact};
use reqwest::header::DATE;
use serde::Serialize;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Where servers that speak Anthropic's API and are not Anthropic's have their models: in a list
/// alone.
const ANTHROPIC_LIST: &str = "v1/models";
/// A longer list is not read: then it is not known whether the model is in it.
const LIST_BYTES_MAX: usize = 4 << 20;

/// What the model's server has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// What is known, or why nothing is.
    pub known: Result<ServerFacts, ProbeError>,
    /// The time by the server's clock; none if it told none.
    pub date: Option<SystemTime>,
}

/// What is known of a server that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// What it thinks of the key.
    pub key: KeyStanding,
    /// Whether it has the model.
    pub model: ModelStanding,
}

/// What a server thinks of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyStanding {
    /// None is configured, and it asks for none.
    NoKey,
    /// It answers with the key and refuses without it.
    Accepted,
    /// It answers anybody, so that its answer proves nothing.
    Unproven,
}

/// Whether a server has a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelStanding {
    /// It names it.
    Listed,
    /// It names others only.
    NotListed,
    /// It does not say which models it has.
    Unknown,
}

/// Why nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// It does not accept the key, or wants one.
    #[error("the model's server does not accept the key ({0})")]
    Key(String),
    /// Nothing is where the models are listed.
    #[error("the model's server answers, but has no list of models where base_url says (HTTP status {0})")]
    NoList(u16),
    /// Not reached, or an answer that says nothing.
    #[error("{0}")]
    Unreachable(String),
}

/// Asks the server of this configuration for its models, with this key, for at most `limit`; none
/// where the configuration has no model.
pub async fn probe(config: &Config, key: Option<Secret>, limit: Duration) -> Option<Probed> {
    if config.kind == ProviderKind::Commands {
        return None;
    }
    let asked = match ProbeRequest::open(config, key) {
        Ok(asking) => tokio::time::timeout(limit, asking.ask()).await,
        Err(error) => return Some(Probed::unreachable(error.to_string())),
    };
    Some(asked.unwrap_or_else(|_| Probed::unreachable(format!("no answer within {limit:?}"))))
}

impl Probed {
    fn unreachable(why: String) -> Self {
        Self { known: Err(ProbeError::Unreachable(why)), date: None }
    }
}

struct ProbeRequest {
    server: ModelServer,
    path: String,
    model: String,
}

/// The answer to one request.
struct ProbeAnswer {
    status: u16,
    body: String,
    date: Option<SystemTime>,
}

impl ProbeRequest {
    fn open(config: &Config, key: Option<Secret>) -> Result<Self, UnusableKey> {
        let server = ModelServer::new(config, key)?;
        let model = config.model()?.to_owned();
        let path = match server.dialect {
            Dialect::Chat(_) | Dialect::Responses { .. } => "models".into(),
            // Its list names dated models alone; the page of one knows its other names, too.
            Dialect::Anthropic => format!("{ANTHROPIC_LIST}/{model}"),
        };
        Ok(Self { server, path, model })
    }

    async fn ask(mut self) -> Probed {
        let mut page = self.page(self.server.key.as_ref()).await;
        if page.as_ref().is_ok_and(|page| self.has_no_page_of_one(page)) {
            ANTHROPIC_LIST.clone_into(&mut self.path);
            page = self.page(self.server.key.as_ref()).await;
        }
        let page = match page {
            Ok(page) => page,
            Err(failure) => return Probed::unreachable(redact(&failure.to_string()).into_owned()),
        };
        let date = page.date;
        Probed { known: self.read_facts(&page).await, date }
    }

    async fn read_facts(&self, page: &ProbeAnswer) -> Result<ServerFacts, ProbeError> {
        match page.status {
            200 => Ok(ServerFacts { key: self.standing().await, model: find_model(&page.body, &self.model) }),
            401 | 403 => Err(ProbeError::Key(format!("HTTP status {}", page.status))),
            404 if self.is_page_of_one() && names_model(&page.body, &self.model) => {
                Ok(ServerFacts { key: self.standing().await, model: ModelStanding::NotListed })
            }
            404 | 405 => Err(ProbeError::NoList(page.status)),
            status => {
                let failure = AttemptFailure::from_status(status, &page.body, None).to_string();
                Err(ProbeError::Unreachable(redact(&failure).into_owned()))
            }
        }
    }

    fn is_page_of_one(&self) -> bool {
        self.path.ends_with(&format!("/{}", self.model))
    }

    /// Whether the server has no such page, of any model.
    fn has_no_page_of_one(&self, page: &ProbeAnswer) -> bool {
        self.is_page_of_one() && matches!(page.status, 404 | 405) && !names_model(&page.body, &self.model)
    }

    /// Some servers show their models to anybody: only one that refuses without the key has looked
    /// at it.
    async fn standing(&self) -> KeyStanding {
        if self.server.key.is_none() {
            return KeyStanding::NoKey;
        }
        match self.page(None).await {
            Ok(ProbeAnswer { status: 401 | 403, .. }) => KeyStanding::Accepted,
            _ => KeyStanding::Unproven,
        }
    }

    async fn page(&self, key: Option<&Secret>) -> Result<ProbeAnswer, AttemptFailure> {
        let request = self.server.get(&self.path, key);
        let mut response = request.send().await.map_err(AttemptFailure::network)?;
        let date = response.headers().get(DATE).and_then(|date| http_date(date.to_str().ok()?));
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(AttemptFailure::network)? {
            body.extend_from_slice(&piece);
            if body.len() > LIST_BYTES_MAX {
                break;
            }
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(ProbeAnswer { status: response.status().as_u16(), body, date })
    }
}

/// Whether a refusal is about the model, and not about the address.
fn names_model(body: &str, model: &str) -> bool {
    let body = serde_json::from_str::<Value>(body).unwrap_or_default();
    body["error"]["message"].as_str().is_some_and(|said| said.contains(model))
}

/// Whether a list of models, or the page of one, names the model.
fn find_model(body: &str, model: &str) -> ModelStanding {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return ModelStanding::Unknown };
    let list = match &body["data"] {
        Value::Array(list) => list.as_slice(),
        // The page of one model, found under any of its names.
        _ if body["id"].is_string() => return ModelStanding::Listed,
        _ => return ModelStanding::Unknown,
    };
    // A local server's name without a tag stands for the latest.
    let is_it = |id: &str| id == model || id.strip_suffix(":latest") == Some(model);
    match list.iter().any(|entry| entry["id"].as_str().is_some_and(is_it)) {
        true => ModelStanding::Listed,
        false if list.is_empty() => ModelStanding::Unknown,
        false => ModelStanding::NotListed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_whether_it_names_the_model() {
        for (body, model, standing) in [
            (r#"{"data":[{"id":"a"},{"id":"b"}]}"#, "b", ModelStanding::Listed),
            (r#"{"data":[{"id":"qwen3:latest"}]}"#, "qwen3", ModelStanding::Listed),
            (r#"{"data":[{"id":"a"},{"id":5}]}"#, "5", ModelStanding::NotListed),
            (
                r#"{"type":"model","id":"claude-sonnet-4-5-20250929"}"#,
                "claude-sonnet-4-5",
                ModelStanding::Listed,
            ),
            (r#"{"data":[]}"#, "a", ModelStanding::Unknown),
            ("<html>", "a", ModelStanding::Unknown),
            ("[]", "a", ModelStanding::Unknown),
        ] {
            assert_eq!(find_model(body, model), standing, "{body}");
        }
    }
}
