//! What a channel is set up from, at its start and while it runs: its token, the services that it
//! is given, another configuration, and the commands that it shows.

mod menu;
mod probe;
mod renew;
mod run;
mod serve_error;
mod services;
mod token;
mod wait;

pub use menu::{MenuEntry, MenuTool};
pub use probe::{ProbeError, ProbeResponse};
pub use renew::{Renewal, RenewedSettings, renew};
pub use run::{run, speak};
pub use serve_error::ServeError;
pub use services::{ChannelService, Services, prune};
pub use token::{PlatformNames, TokenAt};
pub use wait::wait_for;
