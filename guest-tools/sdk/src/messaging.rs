//! Writing to people, and having what they reply go on with the request. Needs `interfaces =
//! ["messaging"]`, and a policy that classifies the argument which names somebody as `"recipient"`
//! and those that name files as `{ path = "read" }`.
//!
//! ```no_run
//! use cofferdam_sdk::messaging::{self, Message};
//!
//! # fn call(to: String) -> Result<(), cofferdam_sdk::ToolError> {
//! let workflow = messaging::begin_workflow(Some("Ann wants to know when the ship comes"))?;
//! let message = Message { to, text: "When does it come?".into(), files: Vec::new() };
//! let sent = messaging::send(&message, Some(&workflow))?;
//! messaging::wait_for_reply(&workflow, &sent.message_id, None)?;
//! # Ok(())
//! # }
//! ```
//!
//! A person whom the gateway does not serve, and a platform that refuses a message, end the call
//! with a code that only the host may say.

use crate::ToolError;
use crate::bindings::cofferdam::tool::messaging;
use std::time::Duration;

pub use messaging::{Message, SentMessage, begin_workflow, send};

/// Has the reply to a message of a workflow begin a further turn of this request, once, or the end
/// of `timeout`. Returns at once.
///
/// # Errors
/// `invalid_arguments`, and `not_found` for the workflow or its message.
pub fn wait_for_reply(workflow: &str, message_id: &str, timeout: Option<Duration>) -> Result<(), ToolError> {
    let milliseconds = |timeout: Duration| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    messaging::wait_for_reply(workflow, message_id, timeout.map(milliseconds))
}
