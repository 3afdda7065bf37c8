//! Where the file of a token may lie, and what it may be.

use super::client;
use anyhow::ensure;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use support::home::Home;

/// Nobody is at its other end.
#[test]
fn a_fifo_for_a_token_file_is_refused_and_not_waited_for() -> anyhow::Result<()> {
    let home = Home::new();
    let fifo = home.dir().join("token");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into())?;
    std::thread::scope(|scope| {
        let running = scope.spawn(|| home.run(&["mcp", "--http", "127.0.0.1:0", "--token-file", "token"]));
        let ended = client::wait_until(|| running.is_finished());
        // One that did wait goes on.
        drop(std::fs::File::options().read(true).write(true).open(&fifo)?);
        let ran = running.join().expect("it runs");
        ended?;
        ensure!(ran.code == Some(2) && ran.stderr.contains("it is not a regular file"), "{ran:?}");
        Ok(())
    })
}

/// What reads it could send it on, and what writes it could let others in.
#[test]
fn a_token_file_where_tools_read_and_write_is_refused() -> anyhow::Result<()> {
    let home = Home::new();
    // Nobody can listen there, so that it ends in any case.
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    for folder in ["shared", "tmp"] {
        std::fs::create_dir_all(home.workspace().join(folder))?;
        let file = home.file(&format!("workspace/{folder}/token"), b"a-token-of-a-file\n");
        std::fs::set_permissions(&file, Permissions::from_mode(0o600))?;
        let ran = home.run(&["mcp", "--http", &address, "--token-file", &file]);
        let said = format!("--token-file ({file}) lies in /{folder}, where tools read and write; move it");
        ensure!(ran.code == Some(2) && ran.stderr.contains(&said), "{ran:?}");
    }
    Ok(())
}
