//! The `cofferdam` program: hands its arguments to the command line room and exits as that says.

use std::process::ExitCode;

fn main() -> ExitCode {
    cofferdam::cli::main()
}
