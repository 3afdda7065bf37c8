//! Why a call has to end before it is done, for the sandbox and for the publisher.

/// Why a call has to end before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Its time is over.
    Deadline,
    /// Somebody cancelled it.
    Cancelled,
}
