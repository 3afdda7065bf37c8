//! The one request that sends a part of a reply: a message of its channel, or the answer to a
//! command; with files streamed from their blobs. Sent again it is there once.

use super::api::{BucketWait, RequestBody};
use super::bot::DiscordBot;
use super::failure::{ApiFailure, codes};
use super::route::{self, Route};
use super::target::{ChannelRef, ReplyTarget};
use super::text::{TEXT_CHARS_MAX, length, to_markdown};
use super::wire::{Snowflake, id};
use cofferdam_chat::outbound::{
    ChannelLimits, FileBundle, PartContent, PlaceholderRef, SendError, SendingPart, StyledText,
};
use cofferdam_core::audit::sha256_hex;
use cofferdam_warden::attachments::outgoing::Outgoing;
use reqwest::Body;
use reqwest::multipart::{self, Form};
use serde_json::{Value, json};

/// What Discord's messages carry: <https://discord.com/developers/docs/reference#uploading-files>.
/// All files are shown by what they are.
pub(super) const CHANNEL_LIMITS: ChannelLimits = ChannelLimits {
    text_units_max: TEXT_CHARS_MAX,
    caption_units_max: TEXT_CHARS_MAX,
    first_text_carries_files: true,
    group_max: 10,
    file_bytes_max: 10 << 20,
    photo_bytes_max: 10 << 20,
    // The words and the frame of a request count as well.
    message_bytes_max: (25 << 20) - (64 << 10),
    shown: &[],
    length,
};

/// Embeds are not made of links: Discord would fetch an address that a file or a model has written.
const SUPPRESS_EMBEDS: u64 = 1 << 2;

/// In place of the id of a message that was there and that somebody has deleted.
const DELETED: &str = "deleted";

/// The same name for the same message for ever; Discord takes 25 characters.
pub(super) fn nonce(of: &str, part: &str) -> String {
    let mut digest = sha256_hex(format!("{of}/{part}").as_bytes());
    digest.truncate(24);
    digest
}

/// A text as every request carries it: nobody is mentioned by it.
pub(super) fn payload(words: &StyledText) -> Value {
    json!({
        "content": to_markdown(words),
        "allowed_mentions": { "parse": [], "replied_user": false },
        "flags": SUPPRESS_EMBEDS,
    })
}

/// A message that is there once however often it is sent; a message that it replies to may be gone.
pub(super) fn message(words: &StyledText, nonce: String, reply_to: Option<Snowflake>) -> Value {
    let mut message = payload(words);
    message["nonce"] = nonce.into();
    message["enforce_nonce"] = true.into();
    if let Some(id) = reply_to {
        message["message_reference"] = json!({ "message_id": id.to_string(), "fail_if_not_exists": false });
    }
    message
}

impl DiscordBot {
    /// Sends a part of a reply.
    pub(super) async fn send_part(
        &self,
        target: ReplyTarget,
        SendingPart { turn, part, after, .. }: SendingPart<'_>,
    ) -> Result<String, SendError> {
        let channel = match target.to {
            ChannelRef::Channel(channel) => channel,
            ChannelRef::Person(person) => self.private_channel(person).await?,
        };
        let content = PartContent::load(part, &self.base.outgoing).await?;
        if part.n == 0
            && let Some(message) = self.take_place(&target, channel, &content).await?
        {
            return Ok(message);
        }
        // The first message points at the question; files that follow, at what they follow.
        let reply_to = match (part.n, &content.files) {
            (0, _) => target.reply_to,
            (_, Some(_)) => after.and_then(|ids| ids.rsplit(',').next()?.parse().ok()),
            (_, None) => None,
        };
        let message = message(&content.words, nonce(turn.as_str(), &part.n.to_string()), reply_to);
        Ok(self.create(channel, message, content.files.as_ref()).await?)
    }

    /// Creates a message and returns its id.
    pub(super) async fn create(
        &self,
        channel: Snowflake,
        payload: Value,
        files: Option<&FileBundle>,
    ) -> Result<String, ApiFailure> {
        created_id(self.request(&Route::bot(route::CREATE, &[channel]), payload, files).await)
    }

    async fn request(
        &self,
        route: &Route,
        mut payload: Value,
        files: Option<&FileBundle>,
    ) -> Result<Value, ApiFailure> {
        let Some(bundle) = files else { return self.api.call(route, RequestBody::Json(&payload)).await };
        let listed = bundle.files.iter().enumerate();
        let listed = listed.map(|(n, shown)| json!({ "id": n, "filename": shown.file.name }));
        payload["attachments"] = Value::Array(listed.collect());
        let form = || form(&self.base.outgoing, &payload, bundle);
        self.api
            .call_within(route, RequestBody::Files(&form), (bundle.upload_timeout(), BucketWait::Waits))
            .await
    }

    /// Puts the first part of a reply in the place of what stands for it; `None` when it must be a
    /// message of its own, and then nothing stands there any more, as far as Discord lets a bot
    /// clear it away.
    async fn take_place(
        &self,
        target: &ReplyTarget,
        channel: Snowflake,
        content: &PartContent,
    ) -> Result<Option<String>, SendError> {
        let interaction = target.open_interaction(self.api.platform_now_ms());
        if let Some(PlaceholderRef::Delete(message)) = target.stand_in {
            let route = match interaction {
                Some(of) => Route::on_answer(route::DELETE_ANSWER, of),
                None => Route::bot(route::DELETE, &[channel, message]),
            };
            return match self.api.call(&route, RequestBody::Nothing).await {
                Ok(_) | Err(ApiFailure::Refused { .. }) => Ok(None),
                Err(failure) => Err(failure.into()),
            };
        }
        if let Some(of) = interaction {
            let route = Route::on_answer(route::EDIT_ANSWER, of);
            match self.request(&route, payload(&content.words), content.files.as_ref()).await {
                Ok(message) => return Ok(Some(sent_id(&message))),
                Err(failure) if failure.interaction_is_over() => {}
                Err(failure) => {
                    if matches!(failure, ApiFailure::Refused { .. }) {
                        // What follows in its place are messages: nobody is to wait for this one.
                        let route = Route::on_answer(route::DELETE_ANSWER, of);
                        let _ = self.api.call(&route, RequestBody::Nothing).await;
                    }
                    return Err(failure.into());
                }
            }
        }
        let Some(PlaceholderRef::Edit(message)) = target.stand_in.filter(|_| content.files.is_none()) else {
            return Ok(None);
        };
        match self.request(&Route::bot(route::EDIT, &[channel, message]), payload(&content.words), None).await
        {
            Ok(_) => Ok(Some(message.to_string())),
            // Somebody has deleted it.
            Err(ApiFailure::Refused { .. }) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The private channel of somebody.
    pub(super) async fn private_channel(&self, person: Snowflake) -> Result<Snowflake, ApiFailure> {
        let recipient = json!({ "recipient_id": person.to_string() });
        let channel =
            self.api.call(&Route::bot(route::OPEN_PRIVATE, &[]), RequestBody::Json(&recipient)).await?;
        id(&channel["id"]).ok_or_else(|| ApiFailure::Unreachable("Discord tells no id of the channel".into()))
    }
}

/// The files of a bundle, read as they go out, and the words with them.
fn form(outgoing: &Outgoing, payload: &Value, bundle: &FileBundle) -> Result<Form, ApiFailure> {
    let held = |error: std::io::Error| refusal(&format!("the file is not held any more ({error})"));
    let mut form = Form::new().text("payload_json", payload.to_string());
    for (n, shown) in bundle.files.iter().enumerate() {
        let file = outgoing.file(&shown.file.sha256).map_err(held)?;
        let length = file.metadata().map_err(held)?.len();
        let body = Body::from(tokio::fs::File::from_std(file));
        let part = multipart::Part::stream_with_length(body, length).file_name(shown.file.name.clone());
        let part =
            part.mime_str(&shown.file.mime_type).map_err(|_| refusal("the file's type is unreadable"))?;
        form = form.part(format!("files[{n}]"), part);
    }
    Ok(form)
}

/// The id of a message that was created, by the answer to that.
pub(super) fn created_id(answer: Result<Value, ApiFailure>) -> Result<String, ApiFailure> {
    match answer {
        Ok(message) if id(&message["id"]).is_some() => Ok(sent_id(&message)),
        // Whether it is there, nobody knows. Sent again it is there once.
        Ok(_) => Err(ApiFailure::Unreachable("Discord's answer to a message cannot be read".into())),
        // The nonce names a message that was there.
        Err(failure) if failure.is_code(codes::UNKNOWN_MESSAGE) => Ok(DELETED.to_owned()),
        Err(failure) => Err(failure),
    }
}

/// The id in a message that Discord has taken: it is out; the rest does not matter.
pub(super) fn sent_id(message: &Value) -> String {
    id(&message["id"]).map_or_else(|| "unknown".to_owned(), |id| id.to_string())
}

fn refusal(said: &str) -> ApiFailure {
    ApiFailure::Refused { status: 400, code: 0, said: said.to_owned() }
}

impl From<ApiFailure> for SendError {
    fn from(failure: ApiFailure) -> Self {
        if failure.channel_is_gone() {
            return Self::Gone(failure.to_string());
        }
        match failure {
            ApiFailure::TooMany(pause) => Self::Later(pause),
            ApiFailure::TooSlow(_) => Self::TooSlow(failure.to_string()),
            ApiFailure::Refused { .. } => Self::Refused(failure.to_string()),
            // Without its token the bot cannot send now; the program ends, and the next start, with
            // a token that is accepted, sends it.
            ApiFailure::Unauthorized | ApiFailure::Unreachable(_) => Self::Unreachable(failure.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_short_and_of_its_part_alone() {
        let one = nonce("discord-1-7", "0");
        assert!(one.len() <= 25 && one == nonce("discord-1-7", "0"));
        assert!(one != nonce("discord-1-7", "1") && one != nonce("discord-1-70", ""));
    }

    #[test]
    fn nobody_is_mentioned() {
        let payload = payload(&StyledText::plain("<@5> @everyone"));
        assert_eq!(payload["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
        assert_eq!(payload["content"], "\\<\\@5\\> \\@everyone");
    }
}
