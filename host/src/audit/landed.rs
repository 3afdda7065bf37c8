//! Whether a call that was cut off by a crash had done its work, asked when its turn is replayed.

use super::{AuditError, AuditLog, Entry, Span, show};
use cofferdam_core::audit::{Effect, Event};
use cofferdam_core::id::CallId;

impl AuditLog {
    /// The files of the call's last outcome, if that outcome was success; none if there is no outcome,
    /// or it failed.
    ///
    /// Reads the whole log: only a replayed call asks.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn landed(&self, call: &CallId) -> Result<Option<Vec<Effect>>, AuditError> {
        let mut landed = None;
        for entry in show(&self.path, Span::All)? {
            if let Entry::Record { record, .. } = entry?
                && let Event::Outcome(outcome) = record.event
                && outcome.facts.call == *call
            {
                landed = outcome.code.is_none().then_some(outcome.files);
            }
        }
        Ok(landed)
    }
}
