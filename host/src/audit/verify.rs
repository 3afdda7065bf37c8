//! Checking a whole log: every record, in bounded memory, without changing anything.
//!
//! It refuses to say more than the file can show: a chain alone cannot show that its tail was cut or
//! that all of it was written anew. A head kept elsewhere can.

use super::chain::{BadRecord, Chain, Fault, Link};
use super::lines::{LineEnd, Lines};
use super::{AuditError, Head, open};
use cofferdam_core::audit::{Event, Record};
use std::path::Path;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verification {
    /// Every record is what it must be.
    Sound(Report),
    /// The first record that is not.
    Bad(BadRecord),
}

/// What a sound log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Records, which is also the last `seq`.
    pub records: u64,
    /// Records that continue after a line torn by a crash.
    pub recovered: u64,
    /// Intents that no outcome names: publications under way, or cut off by a crash.
    pub intents_open: u64,
    /// How the file ends.
    pub ending: Ending,
    /// The last record, to keep elsewhere.
    pub head: Head,
}

/// How a sound log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a record.
    Whole,
    /// With a line that a crash tore; the next append records that and goes on.
    Torn {
        /// The line, from 1.
        line: u64,
        /// How many bytes of it there are.
        bytes: u64,
    },
}

/// What the log at `path` shows, and whether it still holds the head `kept` elsewhere, if one is given.
///
/// Reads what is there when it starts; appends go on meanwhile. Needs memory for a few lines.
///
/// # Errors
/// [`AuditError`] when the file cannot be read; a bad record is not an error.
pub fn verify(path: &Path, kept: Option<&Head>) -> Result<Verification, AuditError> {
    let file = open::for_reading(path)?;
    let end = open::settled_length(&file)?;
    let mut lines = Lines::new(&file, 0, end);
    let mut chain = Chain::new();
    let mut counts = Counts::default();
    let mut last_end = LineEnd::Newline;
    while let Some(line) = lines.next()? {
        last_end = line.end;
        match chain.follow(&line, &file)? {
            Link::Torn => {}
            Link::Bad(bad) => return Ok(Verification::Bad(bad)),
            Link::Record(record) => {
                counts.count(&record);
                if kept.is_some_and(|k| k.seq == record.seq && *k != chain.head) {
                    return Ok(Verification::Bad(chain.fault_here(Fault::OtherHead)));
                }
            }
        }
    }
    if let Some(bad) = chain.close(last_end) {
        return Ok(Verification::Bad(bad));
    }
    if let Some(kept) = kept.filter(|k| k.seq > chain.head.seq) {
        return Ok(Verification::Bad(chain.cut(kept)));
    }
    let ending = match chain.torn {
        Some(torn) => Ending::Torn { line: torn.line, bytes: end - torn.start },
        None => Ending::Whole,
    };
    Ok(Verification::Sound(Report {
        records: chain.head.seq,
        recovered: counts.recovered,
        intents_open: counts.intents.saturating_sub(counts.settled),
        ending,
        head: chain.head,
    }))
}

/// Counted, not listed: a chain is checked in the same memory whatever it holds.
#[derive(Default)]
struct Counts {
    recovered: u64,
    intents: u64,
    settled: u64,
}

impl Counts {
    fn count(&mut self, record: &Record) {
        match &record.event {
            Event::Intent(_) => self.intents += 1,
            Event::Outcome(outcome) if outcome.intent.is_some() => self.settled += 1,
            Event::Outcome(_) => {}
            Event::Recovered(_) => self.recovered += 1,
        }
    }
}
