//! What gateway and worker say to each other, and the socket that carries it.
//!
//! Plain data: no permit and no secret crosses. Either side bounds what it takes from the other,
//! and the gateway takes no descriptor from a worker.

mod protocol;
mod socket;

pub use protocol::{
    COMPILED_BYTES_MAX, CallSpec, Compiled, DESCRIPTION_BYTES_MAX, DescribeError, Description,
    ExportedFunction, FUNCTIONS_MAX, FromWorker, Hello, REQUEST_BYTES_MAX, Ready, StartError,
    TO_WORKER_BYTES_MAX, ToWorker,
};
pub use socket::{Broken, Socket, decode};
