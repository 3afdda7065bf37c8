//! Voice messages: what is said in one becomes its text; the reply to one is spoken where its
//! sender asked for that with `/voice on`. Neither ever costs the text or the file.

use super::{Channel, ChannelTurn};
use crate::outbound::markdown;
use crate::words as said;
use cofferdam_agent::voice::{TRANSCRIBED_BYTES_MAX, Transcription, VoiceError};
use cofferdam_core::command::{ControlWord, split_command, word};
use cofferdam_core::id::{SessionId, TurnId};
use cofferdam_core::message::OutgoingResponse;
use cofferdam_store::StoreError;
use cofferdam_warden::attachments::Attachments;
use std::io::Read;

/// Has what is said in a voice message stand for its text, or its sender told why none could be
/// had; `None` once the program stops. What was noted is not asked again.
pub(super) async fn transcribe<C: Channel>(
    channel: &C,
    turn: &TurnId,
    asked: &mut ChannelTurn<C>,
    came: &Attachments,
) -> Option<()> {
    let base = channel.base();
    let is_spoken = asked.is_voice && asked.text.trim().is_empty();
    let Some(transcription) = base.voice.transcription.as_ref().filter(|_| is_spoken) else {
        return Some(());
    };
    let look = || base.store.transcript(turn);
    if let Some(words) = base.store_until_done("look for what was said", look).await? {
        asked.text = words;
        return Some(());
    }
    match listen(transcription, came).await {
        Some(Ok(words)) if words.is_empty() => {
            asked.notices.push(not_transcribed("nothing was understood"));
        }
        Some(Ok(words)) => {
            let keep = || base.store.keep_transcript(turn, &words);
            base.store_until_done("keep what was said", keep).await?;
            asked.text = words;
        }
        Some(Err(error)) => asked.notices.push(not_transcribed(&error.to_string())),
        // That it could not be fetched is told anyway.
        None => {}
    }
    Some(())
}

/// What is said in the place of a turn where a voice message asks for what its sender may not have
/// by typing it either.
pub(super) fn refuse_heard<C: Channel>(channel: &C, asked: &ChannelTurn<C>) -> Option<OutgoingResponse> {
    let asks_anew = asked.is_voice && word(&asked.text) == Some(ControlWord::New);
    let rules = asks_anew.then(|| channel.base().people_rules())?;
    let may = asked.sender.parse().is_ok_and(|sender| rules.may_begin_anew(sender));
    (!may).then(|| OutgoingResponse::text(said::NOT_YOURS_TO_FORGET))
}

fn not_transcribed(why: &str) -> String {
    format!("The voice message could not be turned into text: {why}. It is here as a file all the same.")
}

/// What is said in the first file; none where its bytes are not there.
async fn listen(transcription: &Transcription, came: &Attachments) -> Option<Result<String, VoiceError>> {
    let first = came.iter().next()?;
    let blob = first.blob.clone()?;
    if blob.len() > TRANSCRIBED_BYTES_MAX {
        return Some(Err(VoiceError::TooLarge));
    }
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        blob.reader().read_to_end(&mut bytes).map(|_| bytes)
    });
    let Ok(Ok(bytes)) = read.await else { return Some(Err(VoiceError::Unreadable)) };
    // Servers tell the type by the name as well; the sender's own is nobody's business there.
    let mime_type = first.info.mime_type.as_str();
    let name = match mime_type {
        "audio/mp4" | "video/mp4" => "voice.mp4",
        "audio/mpeg" => "voice.mp3",
        "audio/webm" | "video/webm" => "voice.webm",
        "audio/wav" => "voice.wav",
        _ => "voice.ogg",
    };
    Some(transcription.transcribe(bytes, (name, mime_type)).await)
}

/// What a text asks of the voice, if it is `/voice`: `on`, `off`, or nothing, or what is not known;
/// as an option of an application command too.
fn switch(text: &str) -> Option<String> {
    let typed = split_command(text).filter(|typed| typed.name.eq_ignore_ascii_case("voice"))?;
    let said = serde_json::from_str::<serde_json::Value>(typed.arguments());
    let said = said.ok().and_then(|value| value["state"].as_str().map(str::to_owned));
    let said = said.unwrap_or_else(|| typed.arguments().to_owned()).to_ascii_lowercase();
    Some(said.trim_start_matches("state=").to_owned())
}

/// The answer to `/voice`, where this gateway speaks and that is what is asked.
pub(super) async fn switch_voice<C: Channel>(
    channel: &C,
    (session, sender): (&SessionId, &str),
    text: &str,
) -> Option<OutgoingResponse> {
    let base = channel.base();
    base.voice.speech.as_ref()?;
    let switch = switch(text)?;
    let told = async {
        let on = match switch.as_str() {
            "on" | "off" => {
                base.store.set_spoken_to(session, sender, switch == "on").await?;
                switch == "on"
            }
            "" => base.store.is_spoken_to(session, sender).await?,
            _ => return Ok("Write /voice on or /voice off.".to_owned()),
        };
        Ok::<_, StoreError>(match on {
            true => {
                "Replies to your voice messages here are spoken as well. /voice off ends that.".to_owned()
            }
            false => "Replies to your voice messages here are written. /voice on has them spoken as well."
                .to_owned(),
        })
    };
    let said = told.await.unwrap_or_else(|error| {
        tracing::error!(%error, "whether replies are spoken cannot be kept");
        "This could not be kept. Try again later.".to_owned()
    });
    Some(OutgoingResponse::text(said))
}

/// The response to a voice message of this session, with its words to be spoken where its sender
/// wants that; any other one as it is.
pub(super) async fn to_be_spoken<C: Channel>(
    channel: &C,
    (by_voice, sender): (Option<SessionId>, &str),
    response: OutgoingResponse,
) -> OutgoingResponse {
    let base = channel.base();
    let Some(session) = by_voice.filter(|_| base.voice.speech.is_some()) else { return response };
    match base.store.is_spoken_to(&session, sender).await {
        Ok(true) => OutgoingResponse { voice: words(&response), ..response },
        Ok(false) => response,
        Err(error) => {
            tracing::error!(%error, "whether a reply is spoken is not known; it is not");
            response
        }
    }
}

/// The words of a response as they are read, without marks.
fn words(response: &OutgoingResponse) -> Option<String> {
    let text = response.text.as_ref()?;
    let words = match response.markdown_from.and_then(|from| text.split_at_checked(from)) {
        Some((plain, source)) => plain.to_owned() + &markdown(source).text,
        None => text.clone(),
    };
    Some(words).filter(|words| !words.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_read_however_it_is_typed() {
        for (text, expected) in [
            ("/voice", Some("")),
            ("/VOICE ON", Some("on")),
            ("/voice off ", Some("off")),
            ("/voice {\"state\":\"on\"}", Some("on")),
            ("/voice state=off", Some("off")),
            ("/voice loud", Some("loud")),
            ("/voices", None),
            ("voice on", None),
        ] {
            assert_eq!(switch(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_spoken_has_no_marks() {
        let text = "Notice.\n**Bold** and `code`".to_owned();
        let response = OutgoingResponse { markdown_from: Some(8), ..OutgoingResponse::text(text) };
        assert_eq!(words(&response).as_deref(), Some("Notice.\nBold and code"));
        assert_eq!(words(&OutgoingResponse::text("*as it is*")).as_deref(), Some("*as it is*"));
        assert_eq!(words(&OutgoingResponse::text(" ")), None);
    }
}
