//! People of a channel: who is served, by the configuration or by a code, where, and what they call
//! themselves; what strangers are told.

mod door;
mod groups;
mod guests;
mod ids;
mod names;
pub mod words;

pub use door::{Door, Named, Welcomes, watch};
pub use groups::{Group, Groups, Members, named_by};
pub use guests::Guests;
pub use ids::{PAIRING_EXPIRES_MAX, UsersError, allowed, approving, check_groups, check_users};
pub use names::Names;
