//! What components said of themselves, kept beside their code: a start that finds both runs no
//! guest.
//!
//! An entry holds for one component, one set of grants, one entry point and one worker program,
//! since these decide whether the component links and what it says. It is read as code is: under
//! its seal, and only where no other user could have written it. One whose code is gone counts for
//! nothing, so that a start leaves every tool compiled.

use super::cache::{CacheMiss, CompileCache, DESCRIPTION};
use super::workers::WORKER_SHA256;
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::EntryPoint;
use cofferdam_ipc::Description;
use sha2::{Digest, Sha256};
use std::io;

impl CompileCache {
    /// What the component said, linked with these grants, if that is known and its code is there.
    pub(super) fn description(
        &self,
        sha256: &str,
        grants: &Grants,
        point: &EntryPoint,
    ) -> Option<Description> {
        let bytes = match self.read_sealed(&entry_name(sha256, grants, point).ok()?) {
            Ok(bytes) => bytes,
            Err(CacheMiss::Absent) => return None,
            Err(why) => {
                let component = &sha256[..12];
                tracing::warn!(component, ?why, "not reading a kept description; the tool is asked again");
                return None;
            }
        };
        let description = postcard::from_bytes(&bytes).ok()?;
        self.has_code(sha256).then_some(description)
    }

    /// Keeps what a component said; without the entry the next start asks it again.
    pub(super) fn keep_description(
        &self,
        sha256: &str,
        grants: &Grants,
        point: &EntryPoint,
        description: &Description,
    ) {
        let written = entry_name(sha256, grants, point).and_then(|name| {
            let bytes = postcard::to_stdvec(description).map_err(io::Error::other)?;
            self.write(&name, &bytes)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "cannot keep what a tool says of itself");
        }
    }
}

/// Named by everything that decides what is said.
fn entry_name(sha256: &str, grants: &Grants, point: &EntryPoint) -> io::Result<String> {
    let grants = postcard::to_stdvec(&(grants, point)).map_err(io::Error::other)?;
    let of = Sha256::new().chain_update(WORKER_SHA256).chain_update(grants).finalize();
    Ok(format!("{sha256}-{}.{DESCRIPTION}", hex::encode(&of[..8])))
}
