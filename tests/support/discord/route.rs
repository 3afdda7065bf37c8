//! Turns a request into a call: which route it is, and whether its sender may ask.

use serde_json::{Map, Value};

use super::error::RestError;
use super::params;
use crate::exchange::multipart::Uploads;
use crate::exchange::{Answer, Call, Kind, Routed, form};
use crate::http::Request;

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Only the bot, with its token.
    Bot,
    /// Anybody: the path holds the token of an interaction, or nothing is secret.
    Path,
}

/// Verb, path below the API, name for faults, gates and the journal, and who may ask.
const ROUTES: [(&str, &str, &str, Access); 30] = [
    ("GET", "gateway", "get_gateway", Access::Path),
    ("GET", "gateway/bot", "get_gateway_bot", Access::Bot),
    ("GET", "users/@me", "get_current_user", Access::Bot),
    ("POST", "users/@me/channels", "create_dm", Access::Bot),
    ("GET", "applications/@me", "get_current_application", Access::Bot),
    ("GET", "oauth2/applications/@me", "get_current_application", Access::Bot),
    ("GET", "applications/{application_id}/commands", "get_commands", Access::Bot),
    ("PUT", "applications/{application_id}/commands", "put_commands", Access::Bot),
    ("POST", "interactions/{interaction_id}/{token}/callback", "create_response", Access::Path),
    ("GET", "webhooks/{application_id}/{token}/messages/@original", "get_response", Access::Path),
    ("PATCH", "webhooks/{application_id}/{token}/messages/@original", "edit_response", Access::Path),
    ("DELETE", "webhooks/{application_id}/{token}/messages/@original", "delete_response", Access::Path),
    ("POST", "webhooks/{application_id}/{token}", "create_followup", Access::Path),
    ("GET", "webhooks/{application_id}/{token}/messages/{message_id}", "get_followup", Access::Path),
    ("PATCH", "webhooks/{application_id}/{token}/messages/{message_id}", "edit_followup", Access::Path),
    ("DELETE", "webhooks/{application_id}/{token}/messages/{message_id}", "delete_followup", Access::Path),
    ("GET", "channels/{channel_id}", "get_channel", Access::Bot),
    ("GET", "channels/{channel_id}/messages", "get_messages", Access::Bot),
    ("POST", "channels/{channel_id}/messages", "create_message", Access::Bot),
    ("GET", "channels/{channel_id}/messages/{message_id}", "get_message", Access::Bot),
    ("PATCH", "channels/{channel_id}/messages/{message_id}", "edit_message", Access::Bot),
    ("DELETE", "channels/{channel_id}/messages/{message_id}", "delete_message", Access::Bot),
    ("POST", "channels/{channel_id}/typing", "typing", Access::Bot),
    (
        "PUT",
        "channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me",
        "create_reaction",
        Access::Bot,
    ),
    (
        "DELETE",
        "channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me",
        "delete_reaction",
        Access::Bot,
    ),
    ("GET", "guilds/{guild_id}", "get_guild", Access::Bot),
    ("GET", "guilds/{guild_id}/channels", "get_guild_channels", Access::Bot),
    ("GET", "users/{user_id}", "get_user", Access::Bot),
    ("GET", "applications/{application_id}/emojis", "get_application_emojis", Access::Bot),
    ("GET", "sticker-packs", "get_sticker_packs", Access::Bot),
];

/// Where the API begins.
const BASE: &str = "/api/v10/";

/// Whether this name is a route's: a test that plans for another one waits in vain.
pub(super) fn is_route(name: &str) -> bool {
    name == "gateway" || ROUTES.iter().any(|(_, _, known, _)| *known == name)
}

/// Routes the API, the gateway's handshake and the CDN.
pub(super) fn route(token: &str, request: &Request) -> Routed {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut params = Map::new();
    form::decode(query, &mut params);
    let upgrade = request.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
    if upgrade {
        for name in ["host", "sec-websocket-key", "sec-websocket-version"] {
            let value = request.header(name).unwrap_or_default();
            params.insert(name.to_owned(), value.into());
        }
        params.insert("path".to_owned(), path.into());
        return routed("gateway", Kind::method("gateway"), params);
    }
    if let Some(rest) = ["/attachments/", "/ephemeral-attachments/"].iter().find_map(|p| path.strip_prefix(p))
    {
        name_download(path, rest, &mut params);
        let mut routed = routed("download", Kind::Download, params);
        if !matches!(request.verb.as_str(), "GET" | "HEAD") {
            routed.refusal = Some(RestError::plain(405, "Method Not Allowed").to_answer());
        }
        return routed;
    }
    route_api(token, request, path, params)
}

fn route_api(token: &str, request: &Request, path: &str, mut params: Map<String, Value>) -> Routed {
    let Some(path) = path.strip_prefix(BASE) else {
        return refused("", params, RestError::plain(404, "Not Found").to_answer());
    };
    let mut other_verb = false;
    let found = ROUTES.iter().find(|(verb, template, ..)| {
        let fits = captures(template, path).is_some();
        other_verb |= fits;
        fits && *verb == request.verb
    });
    let Some((_, template, name, access)) = found else {
        let (status, message) = if other_verb { (405, "Method Not Allowed") } else { (404, "Not Found") };
        return refused("", params, RestError::plain(status, message).to_answer());
    };
    params.extend(captures(template, path).unwrap_or_default());
    // Interactions are answered under other names, too: discord.py has none for them.
    let named = is_known_agent(request.header("user-agent").unwrap_or_default());
    if *access == Access::Bot && !named {
        // As the proxy in front of the API does, in its own words.
        return refused(name, params, Answer::new(403, "text/plain; charset=UTF-8", "error code: 1010"));
    }
    let given = request.header("authorization").unwrap_or_default();
    if *access == Access::Bot && given.strip_prefix("Bot ") != Some(token) {
        return refused(name, params, RestError::plain(401, "Unauthorized").to_answer());
    }
    match params::read_body(request, &mut params) {
        Ok(uploads) => {
            let call = Call { kind: Kind::method(name), params, uploads };
            Routed { call, name: (*name).to_owned(), refusal: None }
        }
        Err(error) => refused(name, params, error.to_answer()),
    }
}

/// What stands in the places of a template; `None` for another path.
fn captures(template: &str, path: &str) -> Option<Map<String, Value>> {
    let mut found = Map::new();
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(found),
            (Some(place), Some(step)) => match place.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
                // `@me` is nobody's id.
                Some("user_id") if step.starts_with('@') => return None,
                Some(name) => drop(found.insert(name.to_owned(), form::percent_decode(step).into())),
                None if place == step => {}
                None => return None,
            },
            _ => return None,
        }
    }
}

/// `DiscordBot (address, version)`; clients in use leave the comma out.
fn is_known_agent(agent: &str) -> bool {
    let inner = agent.strip_prefix("DiscordBot (").and_then(|rest| rest.split_once(')'));
    inner.is_some_and(|(inner, _)| inner.starts_with("http") && inner.contains(' '))
}

/// `<channel>/<attachment>/<name>`; `file_id` is for targets.
fn name_download(path: &str, rest: &str, params: &mut Map<String, Value>) {
    params.insert("path".to_owned(), path.into());
    for (name, step) in ["channel_id", "file_id", "filename"].into_iter().zip(rest.splitn(3, '/')) {
        params.insert(name.to_owned(), form::percent_decode(step).into());
    }
}

fn routed(name: &str, kind: Kind, params: Map<String, Value>) -> Routed {
    let call = Call { kind, params, uploads: Uploads::new() };
    Routed { call, name: name.to_owned(), refusal: None }
}

fn refused(name: &str, params: Map<String, Value>, answer: Answer) -> Routed {
    Routed { refusal: Some(answer), ..routed(name, Kind::method(name), params) }
}
