//! Where the gateway is: what Discord names counts only where it can be Discord.

use cofferdam_agent::server::ServerScope;
use reqwest::Url;

/// The host of the gateway, and what may stand before it.
const HOST: &str = "discord.gg";
/// Asked for in the address: version 10, JSON, no compression of the connection.
const QUERY: &str = "v=10&encoding=json";

/// The address of a gateway as it is connected to; `None` for one that is not taken. `ws://` is
/// taken only where the API is on loopback, and then on loopback alone; otherwise `wss://` below
/// `discord.gg`.
pub(super) fn gateway(text: &str, api: ServerScope) -> Option<Url> {
    let mut url = Url::parse(text).ok()?;
    let host = url.host_str()?;
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let on_loopback = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
    let discord = host == HOST || host.strip_suffix(HOST).is_some_and(|before| before.ends_with('.'));
    let taken = match (url.scheme(), api) {
        ("ws" | "wss", ServerScope::Loopback) if on_loopback => true,
        ("wss", _) => discord && url.port().is_none(),
        _ => false,
    };
    if !taken || !bare {
        return None;
    }
    url.set_query(Some(QUERY));
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_discord_is_connected_to() {
        let check = |text: &str, api: ServerScope, expected: Option<&str>| {
            assert_eq!(gateway(text, api).as_ref().map(Url::as_str), expected, "{text}");
        };
        let remote = |text| check(text, ServerScope::Remote, None);
        check(
            "wss://gateway.discord.gg",
            ServerScope::Remote,
            Some("wss://gateway.discord.gg/?v=10&encoding=json"),
        );
        check(
            "wss://gateway-us-east1-b.discord.gg/x?y=1",
            ServerScope::Remote,
            Some("wss://gateway-us-east1-b.discord.gg/x?v=10&encoding=json"),
        );
        check("ws://127.0.0.1:5", ServerScope::Loopback, Some("ws://127.0.0.1:5/?v=10&encoding=json"));
        check("ws://10.0.0.1:5", ServerScope::Loopback, None);
        for text in [
            "",
            "gateway.discord.gg",
            "ws://gateway.discord.gg",
            "https://gateway.discord.gg",
            "wss://discord.gg.evil.example",
            "wss://evildiscord.gg",
            "wss://gateway.discord.gg:8443",
            "wss://u:p@gateway.discord.gg",
            "wss://127.0.0.1",
            "ws://127.0.0.1",
            "wss://gateway.discord.gg/#x",
        ] {
            remote(text);
        }
    }
}
