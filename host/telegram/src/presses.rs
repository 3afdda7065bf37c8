//! Presses of buttons below approvals: decided by the approvals before the update is confirmed. The
//! presser's number is looked at before anything else.
//!
//! They pass by the queues: the queue of a press is busy with the very turn that waits for it.

use super::api::REQUEST_MAX;
use super::bot::TelegramBot;
use super::wire::ButtonPress;
use cofferdam_chat::approvals::PressAnswer;
use teloxide_core::payloads::AnswerCallbackQuery;
use teloxide_core::types::CallbackQueryId;

/// Answers to presses that are under way at once; more presses are not answered, and count all the
/// same.
pub(super) const ANSWERS_AT_ONCE_MAX: usize = 16;

/// Decides what the presses ask for. When it returns, that is on disk; `None` once the bot stops.
pub(super) async fn take(bot: &TelegramBot, presses: Vec<ButtonPress>) -> Option<()> {
    for press in presses {
        let said = answer_press(bot, &press).await?;
        let Ok(permit) = bot.answers.clone().try_acquire_owned() else { continue };
        let api = bot.api.clone();
        tokio::spawn(async move {
            let mut answer = AnswerCallbackQuery::new(CallbackQueryId(press.query));
            answer.text = Some(said.text);
            // In a window to be closed.
            answer.show_alert = Some(said.alert);
            if let Err(failure) = api.call(&answer, REQUEST_MAX).await {
                tracing::debug!(%failure, "a press was not answered");
            }
            drop(permit);
        });
    }
    Some(())
}

/// What the presser is told; `None` once the bot stops.
async fn answer_press(bot: &TelegramBot, press: &ButtonPress) -> Option<PressAnswer> {
    let rules = bot.rules();
    let person = press.from.filter(|user| !user.is_bot && rules.people.allowed.contains(&user.id));
    if let Some(person) = person {
        bot.base.approvals.names.insert(person.id, &press.name);
    }
    let by = person.map(|user| user.id.to_string());
    let home = |chat: i64| rules.moves.home(chat);
    let here = |chat: &str| chat.parse().is_ok_and(|chat| press.chat.map(home) == Some(home(chat)));
    bot.base.approvals.press(&press.data, by.as_deref(), here).await
}
