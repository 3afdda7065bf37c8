//! Which one `serve` writes: a row with a time by the database's clock. The time decides when
//! another one may take over; the row itself decides who writes, because each transaction of the one
//! who serves reads it. So one that stood still meanwhile changes nothing when it goes on.

use super::Postgres;
use crate::tx::Tx;
use crate::value::params;
use crate::{Engine, Store, StoreError};
use std::time::Duration;

/// How long a silent `serve` keeps the others waiting, in milliseconds.
pub const LEASE_MS: i64 = 10_000;
/// How often it says that it is there.
const RENEWED_EVERY: Duration = Duration::from_millis(LEASE_MS as u64 / 3);
const LOOKED_EVERY: Duration = Duration::from_millis(200);

/// The server's clock, in milliseconds since 1970 UTC.
const NOW: &str = "CAST(extract(epoch FROM now()) * 1000 AS bigint)";

/// What the one who serves has.
pub(super) struct Lease {
    /// Of no other process, and no other start.
    holder: String,
}

impl Lease {
    /// Refuses who has it no more.
    pub(super) fn check(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        let mine = tx.exists("SELECT 1 FROM lease WHERE name = 'serve' AND holder = ?1", [&self.holder])?;
        if mine { Ok(()) } else { Err(StoreError::TakenOver) }
    }
}

impl Postgres {
    /// Makes this process the one that serves. Waits for one that may have died, until its time is
    /// over; refused where it says that it is there. Blocks.
    pub(crate) fn take_lease(&self) -> Result<(), StoreError> {
        let holder = new_holder()?;
        let mut seen = None;
        loop {
            match self.run_unfenced(&|tx| take(tx, &holder))? {
                None => break,
                Some((who, until)) => {
                    if *seen.get_or_insert(until) != until {
                        return Err(StoreError::Served { server: self.server.name.clone(), who });
                    }
                    std::thread::sleep(LOOKED_EVERY);
                }
            }
        }
        let _ = self.lease.set(Lease { holder });
        Ok(())
    }

    /// Says that this process still serves.
    pub(crate) fn renew_lease(&self) -> Result<(), StoreError> {
        let Some(lease) = self.lease.get() else { return Ok(()) };
        let renew = format!("UPDATE lease SET until = {NOW} + ?2 WHERE name = 'serve' AND holder = ?1");
        let renewed = self.run_unfenced(&|tx| tx.execute(&renew, params![lease.holder, LEASE_MS]))?;
        if renewed == 1 { Ok(()) } else { Err(StoreError::TakenOver) }
    }

    /// Lets another one serve at once.
    pub(crate) fn end_lease(&self) -> Result<(), StoreError> {
        let Some(lease) = self.lease.get() else { return Ok(()) };
        let end = "DELETE FROM lease WHERE name = 'serve' AND holder = ?1";
        let ended = self.run_unfenced(&|tx| tx.execute(end, [&lease.holder]))?;
        if ended == 1 { Ok(()) } else { Err(StoreError::TakenOver) }
    }
}

/// Says on and on that this process serves, for as long as somebody keeps the store open.
pub(crate) fn keep(store: &Store) -> Result<(), StoreError> {
    let weak = store.downgrade();
    let keep = move || loop {
        std::thread::sleep(RENEWED_EVERY);
        let Some(store) = weak.upgrade() else { return };
        let Engine::Postgres(postgres) = &store.database.engine else { return };
        match postgres.renew_lease() {
            Ok(()) => {}
            Err(error @ StoreError::TakenOver) => {
                tracing::error!(%error);
                return store.database.taken_over.cancel();
            }
            // Those who write are told it as well; the server may be back in time.
            Err(error) => tracing::warn!(%error, "cannot say that this process serves"),
        }
    };
    let began = std::thread::Builder::new().name("lease".to_owned()).spawn(keep);
    began.map(drop).map_err(|error| StoreError::Engine(Box::new(error)))
}

/// Who serves now, as far as the database knows.
pub(crate) fn who_serves(tx: &Tx<'_>) -> Result<Option<String>, StoreError> {
    let found = format!("SELECT who FROM lease WHERE name = 'serve' AND until > {NOW}");
    tx.query_optional(&found, params![], |row| row.get(0))
}

/// Takes it where nobody has it; who has it, and until when, otherwise.
fn take(tx: &Tx<'_>, holder: &str) -> Result<Option<(String, i64)>, StoreError> {
    let insert = format!(
        "INSERT INTO lease (name, holder, who, until) VALUES ('serve', ?1, ?2, {NOW} + ?3)
         ON CONFLICT (name) DO UPDATE SET holder = ?1, who = ?2, until = {NOW} + ?3 WHERE lease.until <= {NOW}"
    );
    if tx.execute(&insert, params![holder, this_process(), LEASE_MS])? == 1 {
        return Ok(None);
    }
    let found = "SELECT who, until FROM lease WHERE name = 'serve'";
    tx.query_row(found, params![], |row| Ok(Some((row.get(0)?, row.get(1)?))))
}

/// For people: the machine and the process.
fn this_process() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("process {} on {}", std::process::id(), host.trim())
}

fn new_holder() -> Result<String, StoreError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| StoreError::Engine(error.to_string().into()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
