//! The seam through which a durable turn remembers what its calls did.

use serde_json::Value;

/// Remembers results of side-effecting calls, so that a replayed turn answers what already happened.
///
/// [`Journal::record`] is durable when it returns; it is called before anything is published.
pub trait Journal: Send + Sync {
    /// The result recorded for a call with these very arguments (by their SHA-256).
    ///
    /// # Errors
    /// A sentence; the call is then refused before it changes anything.
    fn recorded(&self, call: &str, arguments_sha256: &str) -> Result<Option<Value>, String>;

    /// Records a result.
    ///
    /// # Errors
    /// A sentence; the call is then refused before it changes anything.
    fn record(&self, call: &str, arguments_sha256: &str, result: &Value) -> Result<(), String>;
}
