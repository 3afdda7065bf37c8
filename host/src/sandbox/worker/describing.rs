//! What a component says of itself, asked of a worker: bounded in time and length.

use super::super::SandboxError;
use super::super::clock::Clock;
use super::super::machine::DESCRIBE_LIMITS;
use super::pool::{Known, millis};
use super::process::Worker;
use super::protocol::{Described, ToWorker};
use super::socket::{Broken, Socket, decode};
use cofferdam_core::capability::Grants;
use std::borrow::Cow;
use std::time::Instant;

/// Longest description: two schemas, and what stands around them.
const DESCRIBED_BYTES_MAX: usize = 1 << 20;

/// Asks a worker for it.
///
/// # Errors
/// [`SandboxError::Describe`]: the worker is of no use any more.
pub(super) fn describe_in(
    worker: &mut Worker,
    known: Known<'_>,
    grants: &Grants,
) -> Result<Described, SandboxError> {
    described(&mut worker.socket, known.sha256, grants).map_err(|broken| {
        SandboxError::Describe(match broken {
            Broken::Stopped => format!("it did not finish within {}", DESCRIBE_LIMITS.deadline),
            broken => format!("its process ended ({}; {broken})", worker.epitaph()),
        })
    })
}

fn described(socket: &mut Socket, sha256: &str, grants: &Grants) -> Result<Described, Broken> {
    let time = DESCRIBE_LIMITS.deadline.0;
    let clock = Clock::until(Instant::now() + time);
    let late = || clock.stop().is_some();
    let asked = ToWorker::Describe {
        sha256: Cow::Borrowed(sha256),
        grants: Cow::Borrowed(grants),
        time_ms: millis(time),
    };
    socket.send(&asked, &[], late)?;
    socket.receive(DESCRIBED_BYTES_MAX, late, |bytes| decode::<Described>(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::socket::pair;
    use super::*;
    use std::io::Write;

    /// What comes of a worker that promises an answer of so many bytes and ends.
    fn promised(bytes: usize) -> Broken {
        let (mut socket, mut peer) = pair();
        peer.write_all(&u32::try_from(bytes).expect("fits").to_le_bytes()).expect("there is room");
        peer.shutdown(std::net::Shutdown::Write).expect("open");
        let nothing = Grants { mounts: Vec::new(), interfaces: Vec::new() };
        described(&mut socket, "0", &nothing).expect_err("there is no answer")
    }

    #[test]
    fn a_description_has_a_longest_length() {
        assert!(matches!(promised(DESCRIBED_BYTES_MAX), Broken::Closed));
        assert!(matches!(promised(DESCRIBED_BYTES_MAX + 1), Broken::TooLong));
    }
}
