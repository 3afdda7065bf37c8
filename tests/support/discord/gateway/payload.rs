//! The payloads of a client: heartbeats, identifies and resumes, answered as Discord answers them.

use std::time::Instant;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::record::Heartbeat;
use super::{Control, Intent, KNOWN_INTENTS, MESSAGE_CONTENT, Session};
use crate::discord::bot::BOT_ID;
use crate::discord::state::Inner;

/// Longest payload, in bytes.
const MAX_PAYLOAD_BYTES: usize = 4096;
/// Most payloads of a connection in a minute.
const MAX_A_MINUTE: usize = 120;

/// Why a payload is answered with a close frame, or with a session that is void.
enum Refused {
    Close(u16),
    /// Op 9: the session is gone for good.
    InvalidSession,
}

/// Handles what came on a connection.
pub(super) fn handle(inner: &mut Inner, token: &str, number: usize, text: &str) {
    let refused = match serde_json::from_str::<Value>(text) {
        Ok(payload) if payload.is_object() && text.len() <= MAX_PAYLOAD_BYTES => {
            let connection = &mut inner.gateway.connections[number];
            connection.payloads.push(payload.clone());
            connection.times.push(Instant::now());
            connection.times.retain(|time| time.elapsed().as_secs() < 60);
            match connection.times.len() > MAX_A_MINUTE {
                true => Err(Refused::Close(4008)),
                false => act(inner, token, number, &payload),
            }
        }
        _ => Err(Refused::Close(4002)),
    };
    let control = match refused {
        Ok(()) => return,
        Err(Refused::Close(code)) => Control::Close(code, reason(code)),
        Err(Refused::InvalidSession) => invalid_session(false),
    };
    inner.gateway.control_one(number, control);
}

/// Op 9.
pub(in crate::discord) fn invalid_session(resumable: bool) -> Control {
    Control::Text(json!({ "op": 9, "d": resumable, "s": null, "t": null }).to_string())
}

fn act(inner: &mut Inner, token: &str, number: usize, payload: &Value) -> Result<(), Refused> {
    let data = &payload["d"];
    let has_session = inner.gateway.connections[number].session.is_some();
    match payload["op"].as_u64() {
        Some(1) => {
            let beat = Heartbeat { at: Instant::now(), seq: data.as_u64() };
            inner.gateway.connections[number].heartbeats.push(beat);
            if !inner.gateway.withholds_acks {
                let ack = json!({ "op": 11, "d": null, "s": null, "t": null }).to_string();
                inner.gateway.control_one(number, Control::Text(ack));
            }
            Ok(())
        }
        Some(2 | 6) if has_session => Err(Refused::Close(4005)),
        Some(2 | 6) if inner.gateway.withholds_sessions => Ok(()),
        Some(2) => identify(inner, token, number, data),
        Some(6) => resume(inner, token, number, data),
        Some(3 | 4 | 8 | 31) if has_session => Ok(()),
        Some(3 | 4 | 8 | 31) => Err(Refused::Close(4003)),
        _ => Err(Refused::Close(4001)),
    }
}

fn check_token(data: &Value, token: &str) -> Result<(), Refused> {
    let given = data["token"].as_str().unwrap_or_default();
    let given = given.strip_prefix("Bot ").unwrap_or(given);
    if given == token { Ok(()) } else { Err(Refused::Close(4004)) }
}

fn identify(inner: &mut Inner, token: &str, number: usize, data: &Value) -> Result<(), Refused> {
    inner.gateway.connections[number].identify = Some(data.clone());
    check_token(data, token)?;
    if !inner.gateway.refusals.is_empty() {
        return Err(Refused::Close(inner.gateway.refusals.remove(0)));
    }
    let Some(intents) = data["intents"].as_u64().filter(|bits| bits & !KNOWN_INTENTS == 0) else {
        return Err(Refused::Close(4013));
    };
    let wants_content = intents & MESSAGE_CONTENT != 0;
    if intents & inner.gateway.refused_intents != 0 || wants_content && !inner.bot.message_content {
        return Err(Refused::Close(4014));
    }
    if let Some(shard) = data.get("shard").filter(|shard| !shard.is_null())
        && shard[0].as_u64().zip(shard[1].as_u64()).is_none_or(|(id, of)| id >= of)
    {
        return Err(Refused::Close(4010));
    }
    let early =
        inner.gateway.pace.zip(inner.gateway.identified).is_some_and(|(pace, at)| at.elapsed() < pace);
    if inner.gateway.limit.remaining == 0 || early {
        return Err(Refused::InvalidSession);
    }
    inner.gateway.limit.remaining -= 1;
    inner.gateway.identified = Some(Instant::now());
    begin_session(inner, number, intents);
    Ok(())
}

fn begin_session(inner: &mut Inner, number: usize, intents: u64) {
    let id = hex::encode(&Sha256::digest(format!("session {number} {}", inner.gateway.url))[..16]);
    let guilds: Vec<u64> = inner.world.guilds.keys().copied().collect();
    let unavailable = |id: &u64| json!({ "id": id.to_string(), "unavailable": true });
    let mut ready = json!({
        "v": 10,
        "user_settings": {},
        "user": inner.bot.me(),
        "session_type": "normal",
        "session_id": id,
        "resume_gateway_url": inner.gateway.resume_url,
        "relationships": [],
        "private_channels": [],
        "presences": [],
        "guilds": guilds.iter().map(unavailable).collect::<Vec<_>>(),
        "guild_join_requests": [],
        "geo_ordered_rtc_regions": [],
        "game_relationships": [],
        "auth": {},
        "application": { "id": BOT_ID.to_string(), "flags": inner.bot.application_flags() },
        "_trace": [],
        "shard": [0, 1],
    });
    if inner.gateway.resume_url.is_none() {
        ready.as_object_mut().expect("it is one").remove("resume_gateway_url");
    }
    let mut session = Session::new(intents, number);
    session.append("READY", &ready);
    if Intent::Guilds.is_in(intents) {
        for guild in guilds {
            session.append("GUILD_CREATE", &inner.world.guild_create(guild));
        }
    }
    inner.gateway.attach(number, &id, 0);
    inner.gateway.sessions.insert(id, session);
}

fn resume(inner: &mut Inner, token: &str, number: usize, data: &Value) -> Result<(), Refused> {
    inner.gateway.connections[number].resume = Some(data.clone());
    check_token(data, token)?;
    let id = data["session_id"].as_str().unwrap_or_default().to_owned();
    let Some(session) = inner.gateway.sessions.get_mut(&id) else { return Err(Refused::InvalidSession) };
    let Some(from) = data["seq"].as_u64().and_then(|seq| session.after(seq)) else {
        return Err(Refused::Close(4007));
    };
    session.owner = number;
    session.append("RESUMED", &json!({ "_trace": [] }));
    inner.gateway.attach(number, &id, from);
    Ok(())
}

/// The words that go with a close code.
pub(in crate::discord) fn reason(code: u16) -> &'static str {
    match code {
        4000 => "Unknown error.",
        4001 => "Unknown opcode.",
        4002 => "Error while decoding payload.",
        4003 => "Not authenticated.",
        4004 => "Authentication failed.",
        4005 => "Already authenticated.",
        4007 => "Invalid seq.",
        4008 => "Rate limited.",
        4009 => "Session timed out.",
        4010 => "Invalid shard.",
        4011 => "Sharding required.",
        4012 => "Invalid API version.",
        4013 => "Invalid intent(s).",
        4014 => "Disallowed intent(s).",
        _ => "",
    }
}
