//! A time of day that jumps while the gateway runs: a library between it and the kernel, made by
//! the machine's C compiler.

use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::needs;

/// The clock of one gateway.
pub(crate) struct Clock {
    library: PathBuf,
    told: PathBuf,
    file: File,
}

impl Clock {
    /// Made in this folder; none where there is no compiler.
    ///
    /// # Errors
    /// When the compiler or the disk refuses.
    pub(crate) fn make(folder: &Path) -> Result<Option<Self>> {
        let there = Command::new("cc").arg("--version").output().is_ok_and(|ran| ran.status.success());
        if !needs::available("soak (jumps of the clock)", "a C compiler, cc", there) {
            return Ok(None);
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/soak/ahead.c");
        let (library, told) = (folder.join("ahead.so"), folder.join("ahead"));
        let made =
            Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(source).output()?;
        ensure!(made.status.success(), "{made:?}");
        std::fs::write(&told, [0; 8])?;
        let file = File::options().write(true).open(&told)?;
        Ok(Some(Self { library, told, file }))
    }

    /// What makes a program believe it.
    pub(crate) fn environment(&self) -> Result<[(&'static str, String); 2]> {
        let text = |path: &Path| path.to_str().map(str::to_owned).context("text");
        Ok([("LD_PRELOAD", text(&self.library)?), ("AHEAD", text(&self.told)?)])
    }

    /// From now on it is so many seconds later than it is, or earlier.
    pub(crate) fn jump(&self, seconds: i64) -> Result<()> {
        Ok(self.file.write_all_at(&seconds.to_ne_bytes(), 0)?)
    }
}
