//! Open requests: who is being answered now, and how far one request may reach another. Commands
//! and what they come to are rows of the store ([`cofferdam_store`]), which outlive the process;
//! nothing is kept here.
//!
//! | Command | Waits as | Taken up by |
//! |---|---|---|
//! | `cmd.request.message` | an update of the inbox | a turn of its own, or the one it is said to |
//! | `cmd.attachment.add` | a file of a reply, or a delivery | the turn that answers the request |
//!
//! What a request comes to are the parts of its reply, in order.

mod requests;
mod scope;

pub use requests::{CallOrigin, NotOpen, OpenGuard, Requests};
pub use scope::CallScope;
