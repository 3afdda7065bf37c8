//! People of a channel: who is served, by the configuration or by a code, where, and what they call
//! themselves; what strangers are told.

mod access;
mod groups;
mod ids;
mod names;
mod paired;
mod served;
pub mod words;

pub use access::{AccessControl, ConfiguredPeople, PeopleRules, watch};
pub use groups::{Group, GroupMembers, Groups, SenderReply, deserialize_by_id, serialize_by_id};
pub use ids::{PAIRING_EXPIRES_MAX, allowed, approving, check_groups, check_users};
pub use names::PeopleNames;
pub use paired::PairedPeople;
pub use served::Served;
pub(crate) use served::UNKNOWN_LOOK;
