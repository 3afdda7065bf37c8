//! `[metrics]` of the configuration: where anyone who watches the gateway may ask.

use cofferdam_core::text::one_line;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The section as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// An address of loopback with a port; none: nobody may ask. Port 0 takes one that is free.
    pub listen: Option<String>,
}

impl Config {
    /// Refuses what is not an address of loopback.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(&self) -> Result<(), String> {
        self.address().map(drop)
    }

    /// The address.
    pub(super) fn address(&self) -> Result<Option<SocketAddr>, String> {
        let Some(listen) = &self.listen else { return Ok(None) };
        let shown = one_line(listen, 80);
        match listen.parse::<SocketAddr>() {
            Err(_) => {
                Err(format!("listen = {shown:?} is no address with a port; write e.g. \"127.0.0.1:9464\""))
            }
            Ok(address) if !address.ip().is_loopback() => Err(format!(
                "listen = {shown:?} is not on loopback, and nobody is asked who they are there; write \
                 \"127.0.0.1:{}\", and let a proxy on this machine hand it on to whom it may concern",
                address.port()
            )),
            Ok(address) => Ok(Some(address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_the_only_place() {
        let check = |listen: &str| Config { listen: Some(listen.into()) }.check();
        for listen in ["127.0.0.1:9464", "127.8.9.1:1", "[::1]:9464", "127.0.0.1:0"] {
            assert_eq!(check(listen), Ok(()), "{listen}");
        }
        for (listen, said) in [
            ("0.0.0.0:9464", "write \"127.0.0.1:9464\""),
            ("[::]:80", "write \"127.0.0.1:80\""),
            ("192.168.1.2:9464", "not on loopback"),
            ("[::ffff:127.0.0.1]:9464", "not on loopback"),
            ("localhost:9464", "no address with a port"),
            ("127.0.0.1", "no address with a port"),
            ("9464", "no address with a port"),
            ("", "no address with a port"),
        ] {
            let refused = check(listen).expect_err(listen);
            assert!(refused.contains(said), "{listen}: {refused}");
        }
    }
}
