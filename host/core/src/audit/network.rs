//! What is written down of a request that a guest makes over the network.

use crate::id::{CallId, Caller, TurnId};
use crate::tool::ErrorCode;
use serde::{Deserialize, Serialize};

/// A request of a guest to one host. A redirect that is followed is one of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRequest {
    /// The call.
    pub call: CallId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// Channel and sender.
    #[serde(flatten)]
    pub caller: Caller,
    /// The tool.
    pub tool: String,
    /// The method.
    pub method: String,
    /// The host, with its port unless that is the scheme's own; empty where there is none.
    pub host: String,
    /// The path without the query.
    pub path: String,
    /// What the server answered; absent where nothing was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Bytes of the bodies, sent and received, unpacked.
    pub bytes: u64,
    /// Written before it is sent, because it may change something there; another record tells what
    /// came of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sending: bool,
    /// The error code; absent unless it was refused or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// Why; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
