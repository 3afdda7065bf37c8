//! One arm per method of the Bot API that this server knows.

use serde_json::{Value, json};

use super::error::ApiError;
use super::params;
use super::state::{Inner, State};
use super::updates::get_updates;
use super::uploads;
use crate::exchange::{Answer, Call, Kind};

const CHAT_ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// Lets a call take effect and makes its answer. Only `getUpdates` ever waits: everything else has
/// happened when this future is polled for the first time.
pub(super) async fn perform(state: &State, call: &Call) -> Answer {
    let Kind::Method(method) = &call.kind else {
        return state.read(|inner| inner.files.download(call));
    };
    let result = if method == "getupdates" {
        get_updates(state, &call.params).await
    } else {
        state.change(|inner| act(inner, method, call)).map(|value| value.to_string())
    };
    match result {
        // Updates are text that need not be JSON, hence no serializer here.
        Ok(result) => Answer::json(200, format!("{{\"ok\":true,\"result\":{result}}}")),
        Err(error) => error.to_answer(),
    }
}

fn act(inner: &mut Inner, method: &str, call: &Call) -> Result<Value, ApiError> {
    let params = &call.params;
    inner.floods.take(method, params)?;
    let known = inner.chats.sent.len();
    let sent = match (uploads::field_of(method), method) {
        (Some(field), _) => Some(uploads::send_one(&mut inner.chats, &inner.bot.user, field, call)),
        (None, "sendmediagroup") => Some(uploads::send_album(&mut inner.chats, &inner.bot.user, call)),
        _ => None,
    };
    if let Some(sent) = sent {
        // What the bot has sent can be had again, as people's files can.
        for (file, id) in inner.chats.sent[known..].iter().filter_map(uploads::stored) {
            inner.files.put(&id, file, "sent", "");
        }
        return sent;
    }
    match method {
        "getme" => Ok(inner.bot.me()),
        "setmycommands" => inner.bot.set_commands(params),
        "getmycommands" => inner.bot.get_commands(params),
        "deletemycommands" => inner.bot.delete_commands(params),
        "getwebhookinfo" => Ok(json!({
            "url": inner.bot.webhook.clone().unwrap_or_default(),
            "has_custom_certificate": false,
            "pending_update_count": inner.updates.unconfirmed().len(),
        })),
        "deletewebhook" => {
            inner.bot.webhook = None;
            if params::flag(params, "drop_pending_updates") {
                inner.updates.clear();
            }
            Ok(Value::Bool(true))
        }
        "getfile" => inner.files.get(params),
        "sendmessage" => inner.chats.send(&inner.bot.user, params),
        "editmessagetext" => inner.chats.edit(params),
        "editmessagereplymarkup" => inner.chats.edit_markup(params),
        "deletemessage" => inner.chats.delete(params),
        "sendchataction" => {
            inner.chats.chat_id(params)?;
            let action = params::string(params, "action").unwrap_or_default();
            match CHAT_ACTIONS.contains(&action.as_str()) {
                true => Ok(Value::Bool(true)),
                false => Err(ApiError::bad_request("wrong parameter action in request")),
            }
        }
        "answercallbackquery" => {
            let id = params::string(params, "callback_query_id").unwrap_or_default();
            let text = params::string(params, "text").unwrap_or_default();
            if text.chars().count() > 200 {
                return Err(ApiError::bad_request("MESSAGE_TOO_LONG"));
            }
            match inner.chats.callbacks.remove(&id) {
                true => Ok(Value::Bool(true)),
                false => Err(ApiError::bad_request(
                    "query is too old and response timeout expired or query ID is invalid",
                )),
            }
        }
        _ => Err(ApiError::new(404, "Not Found: method not found")),
    }
}
