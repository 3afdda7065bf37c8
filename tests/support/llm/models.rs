//! What models there are: the list of them, and Anthropic's page of one. It knows `test-model`
//! alone.
//!
//! Such a request takes no turn of the script and is not in the journal: nothing is asked of a
//! model.

use serde_json::json;

use super::check;
use super::dialect::Dialect;
use super::journal::RequestRecord;
use super::state::State;
use super::wire::{self, Next};
use crate::http::Connection;

/// The one model.
const MODEL: &str = "test-model";

/// What is said of a page that is not there.
const NOT_FOUND: &str = "{\"detail\":\"Not Found\"}";

/// How the server shows its models.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// To anybody, not only to those who have the key.
    pub(super) to_anybody: bool,
    /// In a list, and none by itself.
    pub(super) listed_alone: bool,
    /// The server's clock, as a `Date` header has it.
    pub(super) date: Option<String>,
    /// So many others stand before it in the list.
    pub(super) others: usize,
}

/// The list: an entry is 100 bytes long as JSON, its comma included.
fn list(others: usize) -> String {
    let other = |n| format!(r#"{{"id":"{n:0>73}","object":"model"}},"#);
    let others: String = (0..others).map(other).collect();
    format!(r#"{{"object":"list","data":[{others}{{"id":"{MODEL}","object":"model"}}]}}"#)
}

/// Answers a `GET`.
pub(super) async fn answer(
    state: &State,
    connection: &mut Connection,
    record: &RequestRecord,
) -> std::io::Result<Next> {
    let shown = state.read(|inner| inner.models.clone());
    let (dialect, model) = match record.target.strip_prefix("/v1/models") {
        Some("") => (Dialect::Chat, None),
        Some(rest) => (Dialect::Anthropic, Some(rest.trim_start_matches('/'))),
        None => return wire::plain(connection, 404, &[], NOT_FOUND).await,
    };
    if model.is_some() && shown.listed_alone {
        return wire::plain(connection, 404, &[], NOT_FOUND).await;
    }
    let (status, body) = match check::key(dialect, record, &state.key) {
        Err(sent) if !shown.to_anybody => {
            (401, dialect.error(401, &format!("Incorrect API key provided: {sent}")).to_string())
        }
        _ => match model {
            None => (200, list(shown.others)),
            Some(MODEL) => (200, json!({ "type": "model", "id": MODEL }).to_string()),
            Some(other) => (404, dialect.error(404, &format!("model: {other}")).to_string()),
        },
    };
    let headers: Vec<_> = shown.date.map(|date| ("Date".to_owned(), date)).into_iter().collect();
    wire::plain(connection, status, &headers, &body).await
}
