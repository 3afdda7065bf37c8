//! The ways in which the Bot API itself refuses; those of any server are in `exchange`.

use super::error::ApiError;
use crate::exchange::{Answer, Fault};

impl Fault {
    /// A refusal of the Bot API instead of the effect; `description` as the API words it.
    pub fn api_error(code: u16, description: &str) -> Self {
        Self::instead(ApiError::new(code, description).to_answer())
    }

    /// 500 as the Bot API sends it.
    pub fn internal_error() -> Self {
        Self::api_error(500, "Internal Server Error")
    }

    /// 409 as a poller receives it when another one has taken over.
    pub fn conflict() -> Self {
        Self::instead(ApiError::other_poller().to_answer())
    }

    /// 429, with `retry_after` in seconds as parameter and as header.
    pub fn too_many_requests(retry_after: u32) -> Self {
        let description = format!("Too Many Requests: retry after {retry_after}");
        let error = ApiError::new(429, description).with_parameter("retry_after", retry_after);
        Self::instead(error.to_answer())
    }

    /// 403 as a user's block causes it.
    pub fn blocked_by_user() -> Self {
        Self::api_error(403, "Forbidden: bot was blocked by the user")
    }

    /// 400 with `migrate_to_chat_id`: the group became a supergroup of another id. The new chat
    /// must be opened for messages to arrive there.
    pub fn migrated_to(chat_id: i64) -> Self {
        let error = ApiError::bad_request("group chat was upgraded to a supergroup chat");
        Self::instead(error.with_parameter("migrate_to_chat_id", chat_id).to_answer())
    }

    /// HTTP 200 that carries a refusal.
    pub fn refused_with_200(code: u16, description: &str) -> Self {
        let body = ApiError::new(code, description).to_json().to_string();
        Self::instead(Answer::json(200, body))
    }
}
