//! A few harmless requests that tell whether the bot could connect: whether its token is accepted,
//! whether the intent that is configured is switched on, and where the gateway is. It never
//! connects there, which would count against a limit.

use super::address::gateway;
use super::api::{BucketWait, DiscordApi, REQUEST_MAX, RequestBody};
use super::bot::BotUser;
use super::config::Config;
use super::failure::ApiFailure;
use super::gateway::wait_for_sessions;
use super::route::{self, Route};
use super::token::BotToken;
use super::wire::{Snowflake, id};
use cofferdam_chat::setup::{BotFacts, LIMITED, Obstacle, ProbeError};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The Message Content intent is on, of a large application or of a small one.
const CONTENT_FLAGS: u64 = 1 << 18 | 1 << 19;

/// Asks the API of this configuration about the bot with this token, for at most `limit`.
pub async fn examine(config: &Config, token: BotToken, limit: Duration) -> BotFacts {
    let stop = CancellationToken::new();
    let api = config.address().map_err(|error| error.to_string()).and_then(|address| {
        let reach = address.reach;
        let api = DiscordApi::new(address, token, stop.clone(), None);
        Ok((api.map_err(|failure| failure.to_string())?, reach))
    });
    let (api, reach) = match api {
        Ok(api) => api,
        Err(said) => return BotFacts::unknown(ProbeError::Unreachable(said), None),
    };
    // A limit is an answer as well: it may last for longer than anybody looks.
    let ask = async |name| {
        let at_once = (REQUEST_MAX, BucketWait::Now);
        api.call_within(&Route::bot(name, &[]), RequestBody::Nothing, at_once).await
    };
    let asked = async {
        let me = BotUser::ask(&api).await?;
        Ok::<_, ApiFailure>((me, ask(route::APPLICATION).await, ask(route::GATEWAY).await))
    };
    let asked = match timeout(limit, asked).await {
        Ok(asked) => asked,
        Err(_) => {
            let said = format!("it has not answered within {} s", limit.as_secs());
            return BotFacts::unknown(ProbeError::Unreachable(said), None);
        }
    };
    let date = api.date();
    let (me, application, at) = match asked {
        Ok(asked) => asked,
        Err(failure) => return BotFacts::unknown(probe_error(failure), date),
    };
    let look = format!("curl -sSI {}", config.api_url);
    let (mut obstacles, mut invite) = (Vec::new(), None);
    match application {
        Ok(application) => {
            // Of older bots it is another one than the bot's own.
            invite = Some(link(id(&application["id"]).unwrap_or(me.id)));
            let flags = application["flags"].as_u64().unwrap_or_default();
            if config.message_content && flags & CONTENT_FLAGS == 0 {
                obstacles.push(Obstacle::new(
                    "message_content = true, and the Message Content intent is off: Discord would close the connection (4014)",
                    "Discord's Developer Portal: Bot, Message Content Intent; or [channels.discord] message_content = false",
                ));
            }
        }
        Err(failure) => obstacles.push(unanswered_obstacle(failure, &look)),
    }
    match at {
        Ok(at) => {
            if gateway(at["url"].as_str().unwrap_or_default(), reach).is_none() {
                obstacles.push(Obstacle::new("GET /gateway/bot tells no address of Discord's", &look));
            }
            obstacles.extend(wait_for_sessions(&at["session_start_limit"]).map(|wait| {
                let what = format!("no session can be begun for {} s more; serve would wait", wait.as_secs());
                Obstacle::new(what, "wait; something has begun a thousand sessions within a day")
            }));
        }
        Err(failure) => obstacles.push(unanswered_obstacle(failure, &look)),
    }
    BotFacts { bot: Ok(me.display_name()), date, obstacles, invite }
}

fn probe_error(failure: ApiFailure) -> ProbeError {
    match failure {
        ApiFailure::Unauthorized => ProbeError::Refused("Discord", 401),
        ApiFailure::TooMany(wait) => ProbeError::Limited("Discord", wait),
        other => ProbeError::Unreachable(other.to_string()),
    }
}

/// Something that is not answered; `look` is how one looks at the server.
fn unanswered_obstacle(failure: ApiFailure, look: &str) -> Obstacle {
    let error = probe_error(failure);
    let mend = if matches!(error, ProbeError::Limited(..)) { LIMITED } else { look };
    Obstacle::new(error.to_string(), mend)
}

/// What the bot asks for in a guild, by name and bit.
const PERMISSIONS: [(&str, u64); 5] = [
    ("View Channels", 1 << 10),
    ("Send Messages", 1 << 11),
    ("Attach Files", 1 << 15),
    ("Read Message History", 1 << 16),
    ("Send Messages in Threads", 1 << 38),
];

/// The names of the permissions that the link asks for.
pub fn permissions() -> String {
    PERMISSIONS.map(|(name, _)| name).join(", ")
}

/// The link by which a bot is invited: its messages, its commands, and no more than it needs.
fn link(application: Snowflake) -> String {
    let bits: u64 = PERMISSIONS.iter().map(|(_, bit)| bit).sum();
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot%20applications.commands&permissions={bits}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_asks_for_what_the_manual_says() {
        let link = link(42);
        assert!(
            link.ends_with("client_id=42&scope=bot%20applications.commands&permissions=274878008320"),
            "{link}"
        );
    }
}
