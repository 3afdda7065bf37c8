//! What had become of a call that a crash cut off, asked when its turn is replayed.

use super::files::{LogFiles, LogSelection};
use super::lines::PositionedReader;
use super::reading::{LineKind, read};
use super::{AuditError, AuditLog};
use cofferdam_core::audit::{AuditEvent, CallOutcome, Effect};
use cofferdam_core::id::CallId;
use cofferdam_core::tool::ToolError;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::Path;

/// What a call has done, by its last outcome and the intent that this settles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LandedCall {
    /// All that it planned.
    All(Vec<Effect>),
    /// A crash came after some of it.
    Part {
        /// All that it planned, in order.
        planned: Vec<Effect>,
        /// What is found of it on disk.
        done: Vec<Effect>,
    },
    /// It failed after some of it, and this is how it said so.
    Failed {
        /// The answer that it got.
        error: ToolError,
        /// What it had done.
        done: Vec<Effect>,
    },
}

impl AuditLog {
    /// What the call has done; none if there is no outcome, or it says that nothing was changed.
    ///
    /// Reads the newest file of each chain first, then the one before, until one tells that all has
    /// landed: only a replayed call asks. A call that another node has begun may have gone on here:
    /// the chain counts that tells of most, and of two that tell as much the later one.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub(crate) fn find_landed(&self, call: &CallId) -> Result<Option<LandedCall>, AuditError> {
        let mut chains = vec![ChainSearch::new(&self.path)?];
        for chain in self.siblings()? {
            chains.push(ChainSearch::new(&chain.active)?);
        }
        let mut found = Vec::new();
        let tells_of_all = |(_, landed): &(String, LandedCall)| matches!(landed, LandedCall::All(_));
        while !chains.is_empty() && !found.iter().any(tells_of_all) {
            let mut further = Vec::new();
            for mut chain in chains {
                match chain.read_next(call)? {
                    Continue(()) => further.push(chain),
                    Break(told) => found.extend(told),
                }
            }
            chains = further;
        }
        let most = found.into_iter().max_by_key(|(time, landed)| (rank(landed), time.clone()));
        Ok(most.map(|(_, landed)| landed))
    }
}

/// How far a call has come.
fn rank(landed: &LandedCall) -> u8 {
    match landed {
        LandedCall::Part { .. } => 1,
        LandedCall::Failed { .. } => 2,
        LandedCall::All(_) => 3,
    }
}

/// The files of one chain, read from the newest back.
struct ChainSearch {
    files: LogFiles,
    /// So many were not read yet.
    left: usize,
    /// The last outcome of the call with its time, while its intent is looked for.
    last: Option<(String, CallOutcome)>,
    /// What the intents of the call planned that were read, by their `seq`.
    planned: BTreeMap<u64, Vec<Effect>>,
}

impl ChainSearch {
    fn new(active: &Path) -> Result<Self, AuditError> {
        let files = LogFiles::select(LogSelection::Log(active))?;
        Ok(Self { left: files.len(), files, last: None, planned: BTreeMap::new() })
    }

    /// Reads the next file. Breaks with what the chain tells, and when that was written, once
    /// nothing before can change it.
    fn read_next(&mut self, call: &CallId) -> Result<ControlFlow<Option<(String, LandedCall)>>, AuditError> {
        let Some(index) = self.left.checked_sub(1) else {
            // Without the intent nobody knows what else there was to do.
            let part = |files: Vec<Effect>| LandedCall::Part { planned: files.clone(), done: files };
            return Ok(Break(self.last.take().map(|(time, outcome)| (time, part(outcome.files)))));
        };
        self.left = index;
        let part = self.files.open(index)?;
        let outcome = self.read_outcome(part.lines(0), call)?;
        let Some((time, outcome)) = self.last.take().or(outcome) else { return Ok(Continue(())) };
        let Some(code) = outcome.code else {
            return Ok(Break(Some((time, LandedCall::All(outcome.files)))));
        };
        // What goes out with a reply changes no file of the workspace before that is sent.
        if outcome.files.iter().all(|effect| matches!(effect, Effect::Attached { .. })) {
            return Ok(Break(None));
        }
        if !outcome.reconciled {
            let error = ToolError::new(code, outcome.reason.unwrap_or_default());
            return Ok(Break(Some((time, LandedCall::Failed { error, done: outcome.files }))));
        }
        match outcome.intent.and_then(|seq| self.planned.remove(&seq)) {
            Some(planned) => Ok(Break(Some((time, LandedCall::Part { planned, done: outcome.files })))),
            // The file was rotated in between.
            None => {
                self.last = Some((time, outcome));
                Ok(Continue(()))
            }
        }
    }

    /// The last outcome of the call in a file, with its time; notes what its intents planned there.
    fn read_outcome(
        &mut self,
        mut lines: PositionedReader<&File>,
        call: &CallId,
    ) -> Result<Option<(String, CallOutcome)>, AuditError> {
        let named = serde_json::to_vec(call).map_err(AuditError::Encode)?;
        let mut last = None;
        while let Some(line) = lines.next()? {
            // Looking for the name is faster by far than reading every record.
            if line.bytes.windows(named.len()).any(|window| window == named)
                && let LineKind::Record(record) = read(line.bytes)
            {
                match record.event {
                    AuditEvent::Intent(intent) if intent.facts.call == *call => {
                        self.planned.insert(record.seq, intent.files);
                    }
                    AuditEvent::Outcome(outcome) if outcome.facts.call == *call => {
                        last = Some((record.time, outcome));
                    }
                    _ => {}
                }
            }
        }
        Ok(last)
    }
}
