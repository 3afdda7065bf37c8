//! What a channel is set up from, at its start and while it runs: its token, the services that it is given, another
//! configuration, and the commands that it shows.

mod menu;
mod probe;
mod renew;
mod services;
mod token;

pub use menu::{MenuEntry, MenuTool};
pub use probe::{Answered, ProbeError};
pub use renew::{Renewable, Renewal, Renewed, renew};
pub use services::{Services, prune};
pub use token::{TokenAt, TokenError};
