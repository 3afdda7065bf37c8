//! `cofferdam attach`: adds files of this machine to the reply of a request that a running `serve`
//! is at. The gateway takes them, under the limits of replies, and writes down who has added what.

use super::Exit;
use crate::config::Config;
use crate::gateway::attaching::{self, AttachAnswer, AttachFile, AttachRequest, HEAD_BYTES_MAX};
use anyhow::Context as _;
use cofferdam_core::text::escape_deceptive_json;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_warden::files::open_regular;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
// Whose reply they go with.
#[command(group(clap::ArgGroup::new("target").args(["session", "request"]).required(true)))]
pub(super) struct Arguments {
    /// The files, as they are now
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The request that is being answered in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The request of this id
    #[arg(long, value_name = "ID")]
    request: Option<String>,
}

const EXAMPLE: &str = "`cofferdam status --json` lists the requests. One line of JSON. Exit codes: 0 added; 1 nothing is \
being answered there, or a file is over a limit of replies; 2 usage or configuration.\nExample: cofferdam attach report.pdf \
--session \"$(cofferdam status --json | jq -r '.requests[0].session')\"";

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut files = arguments.files.iter().map(|file| open(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let asked = AttachRequest {
        session: arguments.session.clone(),
        request: arguments.request.clone(),
        say: None,
        files: files.iter().map(|(file, _)| file.clone()).collect(),
    };
    let answer = match attaching::connect(config) {
        Ok(stream) => ask(stream, &asked, &[], &mut files)?,
        Err(error) => {
            let state = config.state_dir.display();
            let message = format!(
                "no gateway that takes files runs with {state} ({error}); start it with cofferdam serve"
            );
            AttachAnswer::Refused { error: ToolError::new(ErrorCode::NotFound, message) }
        }
    };
    let (line, exit) = match answer {
        AttachAnswer::Added { attachments } => {
            (json!({ "ok": true, "attachments": attachments }), Exit::Done)
        }
        AttachAnswer::Said(_) => anyhow::bail!("the gateway answered something else; look into its log"),
        AttachAnswer::Refused { error } => (error.to_json(), Exit::ToolFailed),
    };
    writeln!(super::stdout(), "{}", escape_deceptive_json(&line.to_string()))?;
    Ok(exit)
}

/// A regular file, without waiting for a FIFO.
pub(super) fn open(path: &Path) -> anyhow::Result<(AttachFile, std::fs::File)> {
    let shown = || path.display().to_string();
    let file = open_regular(path).with_context(shown)?;
    let bytes = file.metadata().with_context(shown)?.len();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((AttachFile { name, bytes }, file))
}

/// The gateway's answer to what is asked, which words and files follow.
pub(super) fn ask(
    stream: UnixStream,
    asked: &AttachRequest,
    words: &[u8],
    files: &mut [(AttachFile, std::fs::File)],
) -> anyhow::Result<AttachAnswer> {
    let sent = send(&stream, asked, words, files);
    // The gateway would wait for what does not come any more, and serve nobody else meanwhile.
    let ended = stream.shutdown(Shutdown::Write);
    if let Ok(Some(changed)) = &sent {
        anyhow::bail!("{changed} changed while it was read; try again");
    }
    // What is refused before it is read has been answered all the same.
    let mut line = String::new();
    let read = BufReader::new(&stream).take(HEAD_BYTES_MAX).read_line(&mut line);
    match serde_json::from_str(&line) {
        Ok(answer) => Ok(answer),
        Err(_) => {
            sent.and(ended).context("not all of it reached the gateway")?;
            read.context("the gateway did not answer")?;
            anyhow::bail!("the gateway ended without an answer; look into its log, and try again")
        }
    }
}

/// Sends it all; up to a file that has fewer bytes now than was said, which is returned.
fn send(
    mut stream: &UnixStream,
    asked: &AttachRequest,
    words: &[u8],
    files: &mut [(AttachFile, std::fs::File)],
) -> std::io::Result<Option<String>> {
    writeln!(stream, "{}", serde_json::to_string(asked)?)?;
    stream.write_all(words)?;
    for (said, file) in files {
        let copied = std::io::copy(&mut file.take(said.bytes), &mut stream)?;
        if copied != said.bytes {
            return Ok(Some(said.name.clone()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_that_changes_while_it_is_sent_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("report.txt");
        for (now, heard, told) in [
            ("six", "six", "report.txt changed while it was read; try again"),
            // What came to it later is not sent.
            (
                "six by and more",
                "six by",
                "the gateway ended without an answer; look into its log, and try again",
            ),
        ] {
            std::fs::write(&path, "six by").expect("written");
            let mut files = vec![open(&path).expect("a file")];
            std::fs::write(&path, now).expect("written");
            let asked = AttachRequest {
                files: files.iter().map(|(file, _)| file.clone()).collect(),
                ..AttachRequest::default()
            };
            let (stream, gateway) = UnixStream::pair().expect("a pair");
            gateway.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
            let hears = std::thread::spawn(move || std::io::read_to_string(gateway));
            let error = ask(stream, &asked, b"", &mut files).expect_err("nothing is added");
            assert_eq!(error.to_string(), told);
            let sent = hears.join().expect("no panic").expect("it comes to an end");
            assert_eq!(sent.split_once('\n').map(|(_, bytes)| bytes), Some(heard));
        }
    }
}
