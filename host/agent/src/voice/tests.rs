//! Both endpoints against a server on loopback: what is sent, what comes back, and every way in
//! which nothing usable does.

use super::*;
use bytes::Bytes;
use std::time::Duration;
use support::voice::{VoiceAnswer, VoiceServer, ogg};

fn patience() -> VoiceTimeouts {
    VoiceTimeouts { request: Duration::from_millis(500), pause: Duration::from_millis(5) }
}

fn listening(server: &VoiceServer) -> Transcription {
    let (base_url, model) = (Some(server.base_url()), Some("whisper-1".to_owned()));
    let config = TranscriptionConfig { base_url, model, patience: patience(), ..Default::default() };
    Transcription::open(&config).expect("sound").expect("on")
}

fn speaking(server: &VoiceServer) -> Speech {
    let config = SpeechConfig {
        base_url: Some(server.base_url()),
        model: Some("tts".to_owned()),
        voice: Some("alloy".to_owned()),
        patience: patience(),
        ..Default::default()
    };
    Speech::open(&config).expect("sound").expect("on")
}

#[tokio::test]
async fn a_voice_becomes_text_and_failures_are_told_apart() {
    let server = VoiceServer::start_keyless().await.expect("a server");
    let listening = listening(&server);
    let bytes = Bytes::from_static(b"OggS and more");
    let heard = listening.transcribe(bytes.to_vec(), ("voice.ogg", "audio/ogg")).await;
    assert_eq!(heard.as_deref(), Ok("hello"));
    let request = server.requests().remove(0);
    assert_eq!((request.path.as_str(), &request.file), ("/v1/audio/transcriptions", &bytes));
    assert_eq!(
        (&request.fields["model"], &request.fields["file"]),
        (&"whisper-1".into(), &"voice.ogg".into())
    );
    assert_eq!(request.authorization, None, "a local server wants no key");
    let status = |status: u16| VoiceAnswer::Status(status, "{}".to_owned());
    for (plan, expected, requests) in [
        (vec![status(400)], Err(VoiceError::Refused(400)), 1),
        (vec![status(401)], Err(VoiceError::Unauthorized), 1),
        (vec![status(302)], Err(VoiceError::Refused(302)), 1),
        (vec![status(503), status(503)], Err(VoiceError::Unreachable), VOICE_ATTEMPTS_MAX as usize),
        (vec![status(429), VoiceAnswer::Heard(" at last ".into())], Ok("at last"), 2),
        (vec![VoiceAnswer::Heard(String::new())], Ok(""), 1),
        (vec![status(200)], Err(VoiceError::BadAnswer), 1),
        (vec![VoiceAnswer::Status(200, String::new())], Err(VoiceError::BadAnswer), 1),
        (vec![VoiceAnswer::Silence], Err(VoiceError::TimedOut), 1),
        (vec![VoiceAnswer::Heard("x".repeat(TRANSCRIPT_BYTES_MAX))], Err(VoiceError::BadAnswer), 1),
    ] {
        let before = server.requests().len();
        server.plan(plan.clone());
        let heard = listening.transcribe(bytes.to_vec(), ("voice.ogg", "audio/ogg")).await;
        assert_eq!(heard, expected.map(str::to_owned), "{plan:?}");
        assert_eq!(server.requests().len() - before, requests, "{plan:?}");
    }
    let large = vec![0; usize::try_from(TRANSCRIBED_BYTES_MAX).expect("small") + 1];
    let before = server.requests().len();
    let refused = listening.transcribe(large, ("voice.ogg", "not a type")).await;
    assert_eq!((refused, server.requests().len()), (Err(VoiceError::TooLarge), before));
}

#[tokio::test]
async fn a_text_becomes_speech_and_nothing_else_passes_for_it() {
    let server = VoiceServer::start_keyless().await.expect("a server");
    let speaking = speaking(&server);
    assert_eq!(speaking.speak("good morning").await.as_deref(), Ok(&ogg(1000)[..]));
    let request = server.requests().remove(0);
    assert_eq!(request.path, "/v1/audio/speech");
    let fields = serde_json::json!({ "model": "tts", "voice": "alloy", "input": "good morning", "response_format": "opus" });
    assert_eq!(request.fields, fields);
    let mut large = ogg(0).to_vec();
    large.resize(SPEECH_BYTES_MAX + 1, 0);
    for (plan, expected) in [
        (VoiceAnswer::Spoken(Bytes::from_static(b"<html>")), VoiceError::BadAnswer),
        (VoiceAnswer::Spoken(large.into()), VoiceError::BadAnswer),
        (VoiceAnswer::Status(404, "no such voice".to_owned()), VoiceError::Refused(404)),
        (VoiceAnswer::Silence, VoiceError::TimedOut),
    ] {
        server.plan([plan.clone()]);
        assert_eq!(speaking.speak("x").await, Err(expected), "{:.80}", format!("{plan:?}"));
    }
    let long = "word ".repeat(SPOKEN_CHARS_MAX);
    speaking.speak(&long).await.expect("spoken");
    let said = server.requests().pop().expect("one").fields["input"].as_str().expect("text").to_owned();
    assert!(said.chars().count() <= SPOKEN_CHARS_MAX, "{}", said.len());
}

#[tokio::test]
async fn what_is_not_configured_is_off() {
    let voice = Voice::open(&TranscriptionConfig::default(), &SpeechConfig::default()).expect("sound");
    assert!(voice.transcription.is_none() && voice.speech.is_none());
}
