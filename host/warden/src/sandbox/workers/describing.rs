//! What a component says of itself, asked of a worker: bounded in time and length.

use super::answer::KILL_GRACE;
use super::bound_words;
use super::process::Worker;
use crate::sandbox::SandboxError;
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::EntryPoint;
use cofferdam_core::limits::Limits;
use cofferdam_ipc::{
    Broken, DESCRIPTION_BYTES_MAX, DescribeError, Description, ExportedFunction, Socket, ToWorker, decode,
};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::time::Instant;

/// Asks a worker for it, which is of no use afterwards.
pub(super) fn describe_in(
    worker: &mut Worker,
    grants: &Grants,
    point: &EntryPoint,
) -> Result<Description, SandboxError> {
    let question = ToWorker::Describe { grants: Cow::Borrowed(grants), point: point.clone() };
    match ask::<Result<Description, DescribeError>>(&mut worker.socket, &question) {
        Ok(Ok(description)) => Ok(description),
        Ok(Err(why)) => Err(undescribed_error(&why)),
        Err(Broken::Stopped) => {
            let time = Limits::DESCRIBE.deadline;
            Err(SandboxError::Describe(format!("it did not finish within {time}")))
        }
        Err(broken) => {
            let how = worker.describe_end();
            Err(SandboxError::Describe(format!("its process ended ({how}; {broken})")))
        }
    }
}

/// The error for what a worker says of a component without a description.
fn undescribed_error(why: &DescribeError) -> SandboxError {
    match why {
        DescribeError::Link(why) => SandboxError::Link(bound_words(why)),
        DescribeError::Describe(why) => SandboxError::Describe(bound_words(why)),
    }
}

/// The functions that the component of a worker exports; it is of no use afterwards.
pub(super) fn functions_in(worker: &mut Worker) -> Result<Vec<ExportedFunction>, SandboxError> {
    let listed = ask(&mut worker.socket, &ToWorker::Functions);
    listed.map_err(|broken| SandboxError::Describe(format!("its functions are not listed: {broken}")))
}

fn ask<T: DeserializeOwned>(socket: &mut Socket, question: &ToWorker<'_>) -> Result<T, Broken> {
    let end = Instant::now() + Limits::DESCRIBE.deadline.0 + KILL_GRACE;
    let late = || Instant::now() >= end;
    socket.begin_call();
    socket.send(question, &[], late)?;
    socket.receive(DESCRIPTION_BYTES_MAX, late, |bytes| decode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// What comes of a worker that promises an answer of so many bytes and ends.
    fn promised(bytes: usize) -> Broken {
        let (ours, mut peer) = UnixStream::pair().expect("a pair");
        let header = [u32::try_from(bytes).expect("fits").to_le_bytes(), 1_u32.to_le_bytes()].concat();
        peer.write_all(&header).expect("there is room");
        peer.shutdown(std::net::Shutdown::Write).expect("open");
        let mut socket = Socket::of_gateway(ours.into());
        let question =
            ToWorker::Describe { grants: Cow::Borrowed(&Grants::NOTHING), point: EntryPoint::Tool };
        ask::<Result<Description, DescribeError>>(&mut socket, &question).expect_err("there is no answer")
    }

    #[test]
    fn a_description_has_a_longest_length() {
        assert!(matches!(promised(DESCRIPTION_BYTES_MAX), Broken::Closed));
        assert!(matches!(promised(DESCRIPTION_BYTES_MAX + 1), Broken::TooLong));
    }

    #[test]
    fn why_there_is_no_description_is_told_on_one_bounded_line() {
        let said = format!("a\nb\u{1b}[2J{}", "x".repeat(10_000));
        for (why, begins) in [
            (DescribeError::Link(said.clone()), "the component does not load: a b [2Jx"),
            (DescribeError::Describe(said), "the component does not describe a tool: a b [2Jx"),
        ] {
            let told = undescribed_error(&why).to_string();
            assert!(told.starts_with(begins) && told.len() < 3000, "{told}");
        }
    }
}
