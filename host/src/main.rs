//! The `cofferdam` program: hands its arguments to the command line room and exits as that says.

use std::process::ExitCode;

/// What people install is linked to musl, whose own allocator is slow where threads share work.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cofferdam::cli::main()
}
