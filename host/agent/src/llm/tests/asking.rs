//! The way to a server and back, with little patience: what is waited for, tried again, bounded and
//! given up.

use crate::llm::config::{Config, ProviderKind};
use crate::llm::http::ERROR_BYTES_MAX;
use crate::llm::model::{ModelProvider, REQUEST_BYTES_MAX};
use crate::llm::timeouts::{REQUEST_ATTEMPTS_MAX, RequestTimeouts};
use crate::turn::{Delta, HistoryEntry, Provider, ProviderError, StepReply, StepRequest, TokenUsage};
use cofferdam_warden::attachments::Attachments;
use serde_json::json;
use std::time::Duration;
use support::llm::{Call, Dialect, LlmServer, Turn};

/// Longer than anything takes that works.
const SOON: Duration = Duration::from_secs(60);
/// Long enough for what works on a busy machine, and waited for in vain where something is silent.
const SHORT: Duration = Duration::from_millis(500);

/// Takes all texts, and the newest cost.
#[derive(Default)]
struct Heard(Vec<String>, Option<TokenUsage>);

impl Heard {
    fn take(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.0.push(text),
            Delta::Spent(spent) => self.1 = Some(spent),
        }
    }
}

fn quick() -> RequestTimeouts {
    RequestTimeouts {
        first_byte: SOON,
        silence: SOON,
        pause: Duration::from_millis(1),
        pause_longest: Duration::from_millis(4),
        ..RequestTimeouts::default()
    }
}

fn model(llm: &LlmServer, patience: RequestTimeouts) -> ModelProvider {
    model_of(ProviderKind::OpenaiChat, llm.base_url(Dialect::Chat), patience)
}

fn model_of(kind: ProviderKind, base_url: String, patience: RequestTimeouts) -> ModelProvider {
    let config =
        Config { kind, base_url: Some(base_url), model: Some("m".into()), patience, ..Config::default() };
    config.check().expect("sound");
    ModelProvider::open(&config).expect("ready")
}

/// A server that asks for no key, and a model that is there.
async fn ask(model: &ModelProvider, text: &str) -> (Result<StepReply, ProviderError>, Vec<String>) {
    let (reply, heard) = hear(model, text).await;
    (reply, heard.0)
}

/// The same with all that is told on the way.
async fn hear(model: &ModelProvider, text: &str) -> (Result<StepReply, ProviderError>, Heard) {
    let user = HistoryEntry::User { text: text.into(), attachments: Attachments::default(), addendum: None };
    let conversation = [user];
    let mut heard = Heard::default();
    let request = StepRequest { instructions: "", conversation: &conversation, tools: &[] };
    let reply = model.respond(request, &mut |delta| heard.take(delta)).await;
    (reply, heard)
}

fn said(reply: (Result<StepReply, ProviderError>, Vec<String>)) -> String {
    match reply.0 {
        Ok(reply) => reply.text.unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

async fn server() -> LlmServer {
    LlmServer::start_keyless().await.expect("a port")
}

#[tokio::test]
async fn texts_are_handed_on_as_they_come_and_returned_whole() {
    let llm = server().await;
    llm.script([Turn::say("one two three").in_pieces(3).usage(7, 5).and_calls([Call::raw(
        "file_read",
        "{\"path\": ",
    )
    .id("c")])]);
    let (reply, heard) = ask(&model(&llm, quick()), "hello").await;
    let reply = reply.expect("an answer");
    assert_eq!((heard.len(), heard.concat()), (3, "one two three".to_owned()));
    assert_eq!(reply.text.as_deref(), Some("one two three"));
    assert_eq!(reply.usage, TokenUsage { input_tokens: 7, output_tokens: 5 });
    let call = &reply.tool_calls[0];
    assert_eq!((call.id.as_str(), call.arguments.clone()), ("c", Ok("{\"path\": ".into())), "as it came");
}

#[tokio::test]
async fn silence_before_the_first_byte_is_tried_again() {
    let llm = server().await;
    // Once without a head, once with a head alone.
    llm.script([Turn::silence(), Turn::say("never").stalls_after(0)]);
    llm.otherwise(|_| Turn::say("At last."));
    let model = model(&llm, RequestTimeouts { first_byte: SHORT, ..quick() });
    assert_eq!(said(ask(&model, "hello").await), "At last.");
    assert!(llm.requests().len() >= 3);
}

#[tokio::test]
async fn silence_in_the_middle_breaks_an_answer_off() {
    let llm = server().await;
    llm.script([Turn::say("one two").in_pieces(2).stalls_after(2)]);
    let (reply, heard) = ask(&model(&llm, RequestTimeouts { silence: SHORT, ..quick() }), "hello").await;
    assert_eq!(heard, ["one "], "it had begun");
    let half = reply.expect_err("half");
    assert!(half.to_string().starts_with("The model's answer broke off"));
    // Four bytes are a token, also of what was read.
    let input_tokens = TokenUsage::estimate_tokens(llm.requests()[0].bytes);
    let usage = TokenUsage { input_tokens, output_tokens: 1 };
    assert!(matches!(half, ProviderError::BrokeOff { usage: spent, .. } if spent == usage));
    assert_eq!(llm.requests().len(), 1, "and is not asked for again");
}

/// A server that tells what it has read, and then says nothing.
#[tokio::test]
async fn what_a_server_has_counted_is_paid_for_though_nothing_came_of_it() {
    let llm = server().await;
    let mute = || Turn::say("never").usage(7, 5).ends_after(1);
    let model = model_of(ProviderKind::Anthropic, llm.base_url(Dialect::Anthropic), quick());
    llm.script([mute(), mute(), Turn::say("At last.").usage(7, 5)]);
    let reply = ask(&model, "hello").await.0.expect("an answer");
    assert_eq!((reply.usage.input_tokens, reply.text.as_deref()), (21, Some("At last.")));
    llm.otherwise(move |_| mute());
    let Err(ProviderError::BrokeOff { said, usage }) = ask(&model, "hello").await.0 else {
        panic!("no answer")
    };
    assert!(said.contains("cannot be reached"), "{said}");
    assert_eq!(usage.input_tokens, 7 * u64::from(REQUEST_ATTEMPTS_MAX));
    // What tells nothing and says nothing costs nothing.
    llm.otherwise(|_| Turn::status(503));
    let down = ask(&model, "hello").await.0.expect_err("no answer");
    assert!(matches!(down, ProviderError::Unavailable(_)), "{down:?}");
}

/// A server whose model thinks, and breaks off before it says anything.
#[tokio::test]
async fn every_attempt_at_which_a_model_thought_is_paid_for() {
    let llm = server().await;
    let thinks = json!({ "choices": [{ "delta": { "reasoning_content": "x".repeat(40) } }] });
    llm.otherwise(move |_| Turn::plain("text/event-stream", &format!("data: {thinks}\n\n")));
    let (reply, Heard(texts, told)) = hear(&model(&llm, quick()), "hello").await;
    let attempts = u64::from(REQUEST_ATTEMPTS_MAX);
    let asked = TokenUsage::estimate_tokens(llm.requests()[0].bytes);
    let all = TokenUsage { input_tokens: attempts * asked, output_tokens: attempts * 10 };
    assert_eq!((texts.len(), told), (0, Some(all)), "it was told as it came");
    let broke_off = reply.expect_err("no answer");
    assert!(matches!(broke_off, ProviderError::BrokeOff { usage, .. } if usage == all), "{broke_off:?}");
}

/// A person who stops an answer drops it with its cost: that is told before, of arguments too,
/// which nobody is shown.
#[tokio::test]
async fn what_an_answer_costs_is_told_while_it_comes() {
    let llm = server().await;
    let writes = || Turn::calls([Call::raw("four", &"y".repeat(36)).in_pieces(4)]).usage(7, 5);
    // The message, the call, and half of its arguments.
    llm.script([Turn::say("never").usage(7, 5).ends_after(1), writes().breaks_after(4)]);
    let model = model_of(ProviderKind::Anthropic, llm.base_url(Dialect::Anthropic), quick());
    let (reply, Heard(texts, told)) = hear(&model, "hello").await;
    assert_eq!((texts.len(), told), (0, Some(TokenUsage { input_tokens: 14, output_tokens: 6 })));
    let broke_off = reply.expect_err("half");
    assert!(matches!(broke_off, ProviderError::BrokeOff { usage, .. } if Some(usage) == told));
    // So little that it is no token by an estimate has begun all the same, and was asked for.
    llm.script([Turn::say("one").usage(0, 0), Turn::status(404)]);
    let chat = model_of(ProviderKind::OpenaiChat, llm.base_url(Dialect::Chat), quick());
    let told = hear(&chat, "hello").await.1.1;
    let input_tokens = TokenUsage::estimate_tokens(llm.requests()[2].bytes);
    assert_eq!(told, Some(TokenUsage { input_tokens, output_tokens: 0 }));
    assert_eq!(hear(&chat, "hello").await.1.1, None, "nothing came");
}

#[tokio::test]
async fn attempts_and_their_time_are_bounded() {
    let llm = server().await;
    llm.otherwise(|_| Turn::status(503));
    assert!(said(ask(&model(&llm, quick()), "hello").await).contains("cannot be reached"));
    assert_eq!(llm.requests().len(), REQUEST_ATTEMPTS_MAX as usize);
    let hurried = RequestTimeouts { retrying: Duration::ZERO, ..quick() };
    assert!(said(ask(&model(&llm, hurried), "hello").await).contains("cannot be reached"));
    assert_eq!(llm.requests().len(), REQUEST_ATTEMPTS_MAX as usize + 1, "no time for a second one");
}

#[tokio::test]
async fn a_server_that_loads_its_model_is_waited_for() {
    let loads = || {
        Turn::refusal(503, r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#)
    };
    let llm = server().await;
    let often = 3 * REQUEST_ATTEMPTS_MAX as usize;
    llm.script((0..often).map(|_| loads()).chain([Turn::status(502), Turn::say("At last.")]));
    assert_eq!(said(ask(&model(&llm, quick()), "hello").await), "At last.");
    assert_eq!(llm.requests().len(), often + 2);
    // It never ends.
    llm.otherwise(move |_| loads());
    let hurried = RequestTimeouts { retrying: SHORT, ..quick() };
    assert!(said(ask(&model(&llm, hurried), "hello").await).contains("still being loaded"));
    assert!(llm.requests().len() > often + 2 + REQUEST_ATTEMPTS_MAX as usize, "and no attempt counts");
}

#[tokio::test]
async fn a_pause_is_kept_up_to_a_bound() {
    let llm = server().await;
    let asked = |seconds: &str| Turn::status(429).header("Retry-After", seconds);
    llm.script([
        asked("0.01"),
        Turn::status(429).header("retry-after-ms", "10"),
        Turn::say("ok"),
        asked("31"),
    ]);
    let model = model(&llm, quick());
    assert_eq!(said(ask(&model, "hello").await), "ok");
    assert!(said(ask(&model, "hello").await).contains("for another 31 seconds"));
    // As long as a pause can be.
    llm.script([asked("18446744073709549568")]);
    assert!(said(ask(&model, "hello").await).contains("takes no requests for another"));
    assert_eq!(llm.requests().len(), 5, "it was not asked again");
}

#[tokio::test]
async fn a_server_is_not_asked_again_before_the_pause_that_it_asks_for() {
    let llm = server().await;
    llm.script([Turn::status(429).header("Retry-After", "1"), Turn::say("ok")]);
    let (model, begun) = (model(&llm, quick()), std::time::Instant::now());
    assert_eq!(said(ask(&model, "hello").await), "ok");
    // Its own pauses are of milliseconds.
    assert!(begun.elapsed() >= Duration::from_secs(1), "it was asked again after {:?}", begun.elapsed());
    assert_eq!(llm.requests().len(), 2);
}

/// Somebody whose queue of connections is full: one more is neither taken nor refused.
#[tokio::test]
async fn a_server_that_takes_no_connection_is_given_up() {
    use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, getsockname, listen, socket};
    let full = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&full, &SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listen(&full, 0).expect("listens");
    let address = SocketAddrV4::try_from(getsockname(&full).expect("bound")).expect("an address");
    let _waiting = std::net::TcpStream::connect(address).expect("the queue has one place");
    let config = Config {
        kind: ProviderKind::OpenaiChat,
        base_url: Some(format!("http://{address}/v1")),
        model: Some("m".into()),
        patience: RequestTimeouts { connect: SHORT, first_byte: 10 * SOON, ..quick() },
        ..Config::default()
    };
    let model = ModelProvider::open(&config).expect("ready");
    let told = tokio::time::timeout(SOON, ask(&model, "hello")).await.expect("it is given up");
    assert!(said(told).contains("cannot be reached"));
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let llm = server().await;
    let text = "x".repeat(600_000);
    let endless = Turn::say(&text.repeat(2)).in_pieces(2);
    let event = Turn::plain("text/event-stream", &format!("data: {}\n\n", "x".repeat(3 << 20)));
    let calls = Turn::calls((0..65).map(|_| Call::raw("t", "{}")));
    let arguments = Turn::calls([Call::raw("t", &format!("\"{}\"", "x".repeat(1 << 20))).in_pieces(3)]);
    for turn in [endless, event, calls, arguments] {
        llm.script([turn]);
        let told = said(ask(&model(&llm, quick()), "hello").await);
        assert!(told.starts_with("The model's answer was too large"), "{told}");
    }
    assert_eq!(llm.requests().len(), 4, "once each");
}

#[tokio::test]
async fn of_an_error_no_more_is_read_than_is_needed() {
    let llm = server().await;
    for (padding, told) in [(0, "too long for the model"), (ERROR_BYTES_MAX, "was not found where")] {
        let body =
            format!(r#"{{"x":"{}","error":{{"code":"context_length_exceeded"}}}}"#, "x".repeat(padding));
        llm.script([Turn::plain("application/json", &body)]);
        let said = said(ask(&model(&llm, quick()), "hello").await);
        assert!(said.contains(told), "{padding}: {said}");
    }
}

#[tokio::test]
async fn a_request_beyond_every_model_is_not_sent() {
    let llm = server().await;
    let told = said(ask(&model(&llm, quick()), &"x".repeat(REQUEST_BYTES_MAX)).await);
    assert!(told.contains("too long for the model"), "{told}");
    assert_eq!(llm.requests().len(), 0);
}

#[tokio::test]
async fn dropping_a_request_ends_it() {
    let llm = server().await;
    llm.script([Turn::say("one two").in_pieces(2).stalls_after(2)]);
    let model = model(&llm, quick());
    tokio::select! {
        _ = ask(&model, "hello") => panic!("it stalls"),
        requests = llm.wait_for_requests(SOON, 1) => drop(requests.expect("asked")),
    }
    llm.wait_until_idle(SOON).await.expect("the server sees it go");
}
