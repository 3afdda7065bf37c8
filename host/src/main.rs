//! The `cofferdam` program: hands its arguments to the command line room and exits as that says.

use std::process::ExitCode;

/// musl's own is slow where threads share work, and glibc's keeps what bursts in many threads needed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cofferdam::cli::main()
}
