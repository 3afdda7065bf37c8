//! What components said of themselves, kept beside their code: a start that finds both runs no guest.
//!
//! An entry holds for one component, one set of grants and this very program, since these decide whether the
//! component links and what it says. It is read as code is: under its seal, and only where no other user
//! could have written it. One whose code is gone counts for nothing, so that a start leaves every tool compiled.

use super::cache::{Cache, Compatibility, DESCRIPTION};
use super::machine::Said;
use super::missing::Missing;
use cofferdam_core::capability::Grants;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::os::unix::fs::MetadataExt;

#[derive(Serialize, Deserialize)]
struct Kept {
    /// Of the code it was said by.
    compatibility: Compatibility,
    said: Said,
}

impl Cache {
    /// What the component said, linked with these grants by this program, if that is known and its code is there.
    pub(super) fn said(&self, sha256: &str, grants: &Grants) -> Option<Said> {
        let bytes = match self.entries.sealed(&entry_name(sha256, grants).ok()?) {
            Ok(bytes) => bytes,
            Err(Missing::Absent) => return None,
            Err(why) => {
                let component = &sha256[..12];
                tracing::warn!(component, ?why, "not reading a kept description; the tool is asked again");
                return None;
            }
        };
        let kept: Kept = postcard::from_bytes(&bytes).ok()?;
        self.entries.has_code(kept.compatibility, sha256).then_some(kept.said)
    }

    /// Keeps what a component said; without the entry the next start asks it again.
    pub(super) fn keep_said(&self, sha256: &str, grants: &Grants, compatibility: Compatibility, said: &Said) {
        let kept = Kept { compatibility, said: said.clone() };
        let written = entry_name(sha256, grants).and_then(|name| {
            let bytes = postcard::to_stdvec(&kept).map_err(io::Error::other)?;
            self.write(&name, &bytes)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "cannot keep what a tool says of itself");
        }
    }
}

/// Named by everything that decides what is said.
fn entry_name(sha256: &str, grants: &Grants) -> io::Result<String> {
    let mut of = Sha256::new();
    // A program that was replaced is another file or was changed at another time.
    let program = std::fs::metadata("/proc/self/exe")?;
    for number in [program.dev(), program.ino(), program.size()] {
        of.update(number.to_le_bytes());
    }
    for number in [program.ctime(), program.ctime_nsec()] {
        of.update(number.to_le_bytes());
    }
    of.update(postcard::to_stdvec(grants).map_err(io::Error::other)?);
    Ok(format!("{sha256}-{}.{DESCRIPTION}", hex::encode(&of.finalize()[..8])))
}
