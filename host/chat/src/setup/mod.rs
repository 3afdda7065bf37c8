//! What a channel is set up from, at its start and while it runs: its token, the services that it
//! is given, another configuration, and the commands that it shows.

mod probe;
mod renew;
mod run;
mod services;
mod token;
mod wait;

pub use probe::{BotFacts, LIMITED, Obstacle, ProbeError};
pub use renew::{ChannelSettings, Renewal, renew};
pub use run::{ServeError, run, speak};
pub use services::{MenuEntry, MenuTool, Services, prune};
pub use token::{PlatformNames, TokenAt};
pub use wait::wait_for;
