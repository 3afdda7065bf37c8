//! Whether a call that was cut off by a crash had done its work, asked when its turn is replayed.

use super::files::{Files, Source};
use super::lines::Lines;
use super::reading::{Reading, read};
use super::{AuditError, AuditLog};
use cofferdam_core::audit::{Effect, Event};
use cofferdam_core::id::CallId;

impl AuditLog {
    /// What the call's last outcome changed, if that outcome was success; none if there is no outcome, or
    /// it failed.
    ///
    /// Reads the newest file that tells of the call, and all of them if none does: only a replayed call asks.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn landed(&self, call: &CallId) -> Result<Option<Vec<Effect>>, AuditError> {
        let files = Files::of(Source::Log(&self.path))?;
        let named = serde_json::to_vec(call).map_err(AuditError::Encode)?;
        for index in (0..files.len()).rev() {
            let part = files.open(index)?;
            let mut lines = Lines::new(&*part.file, 0, part.end);
            let mut last = None;
            while let Some(line) = lines.next()? {
                // Looking for the name is faster by far than reading every record.
                if line.bytes.windows(named.len()).any(|window| window == named)
                    && let Reading::Record(record) = read(line.bytes)
                    && let Event::Outcome(outcome) = record.event
                    && outcome.facts.call == *call
                {
                    last = Some(outcome.code.is_none().then_some(outcome.files));
                }
            }
            if let Some(landed) = last {
                return Ok(landed);
            }
        }
        Ok(None)
    }
}
