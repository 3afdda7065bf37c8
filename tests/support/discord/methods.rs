//! One arm per route of the REST API that this server knows.

use serde_json::{Map, Value, json};

use super::bot::BOT_ID;
use super::draft::{Draft, channel_and_message};
use super::error::{self, RestError};
use super::interactions::{self, OnMessage};
use super::messages;
use super::params;
use super::state::Inner;
use crate::exchange::{Answer, Call, Kind};

/// Lets a call take effect and makes its answer.
pub(super) fn perform(inner: &mut Inner, call: &Call) -> Answer {
    let Kind::Method(route) = &call.kind else {
        return inner.cdn.download(&call.params, inner.clock.now_ms());
    };
    if route == "gateway" {
        return inner.gateway.accept(&call.params);
    }
    let headers = match inner.limits.take(route, &call.params) {
        Ok(headers) => headers,
        Err(refusal) => return refusal,
    };
    let answer = match act(inner, route, call) {
        Ok(Some(value)) => error::answer(200, &value),
        Ok(None) => {
            Answer::new(204, "text/html; charset=utf-8", "").with_header("Via", "1.1 google".to_owned())
        }
        Err(error) => error.to_answer(),
    };
    let date = inner.clock.date().map(|date| ("Date", date));
    headers.into_iter().chain(date).fold(answer, |answer, (name, value)| answer.with_header(name, value))
}

/// The body of the answer; `None` for 204.
fn act(inner: &mut Inner, route: &str, call: &Call) -> Result<Option<Value>, RestError> {
    let (params, uploads) = (&call.params, &call.uploads);
    match route {
        "create_message" => {
            let channel = params::required_id(params, "channel_id")?;
            let draft = Draft::read(params, uploads)?;
            messages::create(inner, channel, &draft, uploads).map(Some)
        }
        "edit_message" => {
            let (channel, id) = channel_and_message(params)?;
            let draft = Draft::read(params, uploads)?;
            messages::edit(inner, channel, id, &draft, uploads).map(Some)
        }
        "delete_message" => {
            let (channel, id) = channel_and_message(params)?;
            messages::delete(inner, channel, id).map(|()| None)
        }
        "get_message" => {
            let (channel, id) = channel_and_message(params)?;
            messages::shown(inner, channel, id).map(Some)
        }
        "get_messages" => {
            let channel = params::required_id(params, "channel_id")?;
            messages::list(inner, channel, params).map(Some)
        }
        "create_reaction" | "delete_reaction" => {
            let (channel, id) = channel_and_message(params)?;
            inner.world.message(channel, id).map(|_| None)
        }
        "typing" => {
            inner.world.writable(params::required_id(params, "channel_id")?)?;
            Ok(None)
        }
        "create_response" => interactions::respond(inner, params, uploads),
        "create_followup" => interactions::follow_up(inner, params, uploads).map(Some),
        "get_response" | "get_followup" => interactions::on_message(inner, params, uploads, OnMessage::Get),
        "edit_response" | "edit_followup" => {
            interactions::on_message(inner, params, uploads, OnMessage::Edit)
        }
        "delete_response" | "delete_followup" => {
            interactions::on_message(inner, params, uploads, OnMessage::Delete)
        }
        _ => look(inner, route, params).map(Some),
    }
}

/// The routes about the bot, its application, guilds, channels and people.
fn look(inner: &mut Inner, route: &str, params: &Map<String, Value>) -> Result<Value, RestError> {
    match route {
        "get_gateway" => Ok(json!({ "url": inner.gateway.url })),
        "get_gateway_bot" => Ok(inner.gateway.address()),
        "get_current_user" => Ok(inner.bot.me()),
        "get_current_application" => Ok(inner.bot.application()),
        "get_commands" => {
            own_application(params)?;
            Ok(Value::Array(inner.bot.commands.clone()))
        }
        "put_commands" => {
            own_application(params)?;
            inner.bot.put_commands(params, &mut inner.clock)
        }
        "create_dm" => {
            let user = params::required_id(params, "recipient_id")?;
            let id = inner.clock.next_id();
            let channel = inner.world.private_channel(user, id);
            Ok(inner.world.readable(channel)?.to_json())
        }
        "get_channel" => Ok(inner.world.readable(params::required_id(params, "channel_id")?)?.to_json()),
        "get_user" => {
            let user = inner.world.known_user(params::required_id(params, "user_id")?);
            user.ok_or_else(|| RestError::new(404, 10013, "Unknown User"))
        }
        "get_guild" | "get_guild_channels" => {
            let id = params::required_id(params, "guild_id")?;
            if !inner.world.guilds.contains_key(&id) {
                return Err(RestError::new(404, 10004, "Unknown Guild"));
            }
            Ok(match route {
                "get_guild" => inner.world.guild(id),
                _ => inner.world.guild_create(id)["channels"].clone(),
            })
        }
        "get_application_emojis" => Ok(json!({ "items": [] })),
        "get_sticker_packs" => Ok(json!({ "sticker_packs": [] })),
        _ => Err(RestError::plain(404, "Not Found")),
    }
}

fn own_application(params: &Map<String, Value>) -> Result<(), RestError> {
    match params::required_id(params, "application_id")? {
        BOT_ID => Ok(()),
        _ => Err(RestError::new(
            403,
            20012,
            "You are not authorized to perform this action on this application",
        )),
    }
}
