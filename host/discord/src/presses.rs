//! Presses of buttons below approvals: decided by the approvals as they come, in anybody's turn;
//! and what people are told whose command is not taken. The person's number is looked at before
//! anything else.

use super::acks::ANSWER_MAX;
use super::api::{BucketWait, RequestBody};
use super::bot::DiscordBot;
use super::config::PLATFORM;
use super::route::Route;
use super::wire::{ButtonPress, Interaction};
use cofferdam_chat::outbound::StyledText;
use cofferdam_chat::people::PeopleRules;
use cofferdam_chat::people::words::to_stranger;
use serde_json::{Value, json};

/// Answers that are under way at once; more presses are not answered, and count all the same.
pub(super) const ANSWERS_AT_ONCE_MAX: usize = 64;
/// To somebody who is served elsewhere.
const NOBODY_SERVED_HERE: &str =
    "The operator has this bot serve nobody in this server; write to it in private.";
/// Seen by the person whom it answers alone.
const EPHEMERAL: u64 = 1 << 6;

/// Decides what a press asks for, and says so. When it returns, that is on disk; `None` once the
/// program stops.
pub(super) async fn take(bot: &DiscordBot, press: ButtonPress) -> Option<()> {
    let allowed = bot.base.door.allowed();
    let person = press.user.filter(|user| !user.bot && allowed.contains(&user.id));
    if let Some(person) = &person {
        bot.base.approvals.names.insert(person.id, &person.name);
    }
    let by = person.map(|user| user.id.to_string());
    let here = |channel: &str| channel.parse() == Ok(press.channel);
    let said = bot.base.approvals.press(&press.data, by.as_deref(), here).await?;
    // What was decided is shown below the call; what nobody expects is told to who pressed, alone.
    let answer = if said.alert { ephemeral_answer(&said.text) } else { json!({ "type": 6 }) };
    say(bot, press.interaction, answer);
    Some(())
}

/// Tells somebody whose command is not taken why: a stranger with their id; nobody else sees it.
pub(super) fn tell_stranger(
    bot: &DiscordBot,
    interaction: Interaction,
    (sender, rules): (i64, &PeopleRules),
) {
    let told = match rules.allowed.contains(&sender) {
        true => NOBODY_SERVED_HERE.to_owned(),
        false => to_stranger(PLATFORM, sender, None),
    };
    say(bot, interaction, ephemeral_answer(&told));
}

fn ephemeral_answer(text: &str) -> Value {
    let mut data = super::send::payload(&StyledText::plain(text));
    data["flags"] = (data["flags"].as_u64().unwrap_or_default() | EPHEMERAL).into();
    json!({ "type": 4, "data": data })
}

fn say(bot: &DiscordBot, interaction: Interaction, answer: Value) {
    let Ok(permit) = bot.answers.clone().try_acquire_owned() else { return };
    let api = bot.api.clone();
    tokio::spawn(async move {
        let route = Route::answer(&interaction);
        for _ in 0..2 {
            match api.call_within(&route, RequestBody::Json(&answer), (ANSWER_MAX, BucketWait::Now)).await {
                Ok(_) | Err(super::failure::ApiFailure::Refused { .. }) => break,
                Err(failure) => tracing::debug!(%failure, "an interaction was not answered"),
            }
        }
        drop(permit);
    });
}
