//! Standard output whose failures say that they are of it: what fails beside it, such as a file or
//! a socket, is told by the same words of the system.

use std::io::{self, Write};

/// Standard output. The kinds of its errors are the system's.
pub(super) struct NamedStdout(io::Stdout);

/// Standard output, as every command writes to it.
pub(super) fn stdout() -> NamedStdout {
    NamedStdout(io::stdout())
}

impl Write for NamedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| name_stdout(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| name_stdout(&error))
    }
}

fn name_stdout(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}
