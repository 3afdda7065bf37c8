//! The build has the worker make machine code of the builtin guests, run by another program where
//! the machine that builds is of another kind.

#[path = "../../../host/runner.rs"]
mod runner;

use runner::{RUNNER, runnable};
use std::path::Path;

#[test]
fn the_worker_is_run_by_the_program_that_the_environment_names() {
    for (runner, program) in [(None, "echo"), (Some(""), "echo"), (Some("env"), "env")] {
        let mut command = runnable(Path::new("echo"), runner.map(Into::into));
        assert_eq!(command.get_program(), program, "{runner:?}");
        let output = command.arg("embed").output().expect("it starts");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "embed\n",
            "{runner:?}: the worker's own argument"
        );
    }
    for named in [include_str!("../../../docs/distributing.md"), include_str!("../../../xtask/src/dist.rs")] {
        assert!(named.contains(RUNNER));
    }
}
