//! One message of a client, from its bytes. What is no message of the protocol is told from what is
//! one here, before the library sees it: it answers with the request's id where that is readable.
//!
//! The arguments of a call stay text, as the client wrote them: a key that is given twice is still
//! there to be refused.

use cofferdam_core::text::one_line;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    ErrorData, GetExtensions, GetMeta, InputResponses, JsonRpcError, JsonRpcMessage, RequestId,
    RequestMetaObject,
};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The longest id of a request, and the longest token of its progress: both are kept, and repeated.
pub const ID_BYTES_MAX: usize = 1 << 10;

/// Brackets, commas and colons of a message, without those in strings and in a call's arguments: as
/// values they take many times the room that they take as text.
pub const STRUCTURE_MAX: usize = 50_000;

/// The parameters of `initialize`, which may have an icon of the client: they are kept for as long
/// as the session lasts.
pub const INITIALIZE_BYTES_MAX: usize = 256 << 10;

/// What a client's own words may take of the answer to them.
const SAID_BYTES_MAX: usize = 400;

/// What came, by what it is.
#[derive(Debug)]
pub enum RpcFrame {
    /// A message of the protocol.
    Message(Box<ClientJsonRpcMessage>),
    /// None, or a request of a wrong shape: this is the answer.
    Refused(Box<JsonRpcError>),
    /// Nothing that is ever answered.
    Ignored,
}

/// The arguments of a call as the client wrote them: a JSON object as text.
#[derive(Clone, Debug)]
pub struct RawArguments(pub Arc<str>);

/// The outermost keys. A key that is given twice is an error of its own.
#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    name: String,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta", default)]
    meta: Option<RequestMetaObject>,
    #[serde(default)]
    input_responses: Option<InputResponses>,
    #[serde(default)]
    request_state: Option<String>,
}

/// What of a call's parameters is never made a value of.
#[derive(Deserialize)]
struct ArgumentsAlone<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
}

/// Tells `null` from a key that is not there.
fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

/// What these bytes are. They hold one message, without the end of its line.
pub fn read(bytes: &[u8]) -> RpcFrame {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return RpcFrame::Ignored;
    }
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Box::new(JsonRpcError::new(None, ErrorData::parse_error("the message is not UTF-8 text", None)))
    });
    text.and_then(parse).unwrap_or_else(RpcFrame::Refused)
}

fn parse(text: &str) -> Result<RpcFrame, Box<JsonRpcError>> {
    let without_id = |error| Box::new(JsonRpcError::new(None, error));
    // Its members would be taken for the values of the keys, in order.
    if text.trim_start().starts_with('[') && serde_json::from_str::<&RawValue>(text).is_ok() {
        let said = "send one message at a time: batches are not taken";
        return Err(without_id(ErrorData::invalid_request(said, None)));
    }
    let envelope: RpcEnvelope<'_> = serde_json::from_str(text).map_err(|e| without_id(unreadable(&e)))?;
    // It tells of something that this server sent, its errors too: two sides that answered each
    // other's would not come to an end.
    if envelope.method.is_none() && envelope.error.is_some() {
        return Ok(error_answer(text, &envelope));
    }
    let invalid = |said: &str| ErrorData::invalid_request(said.to_owned(), None);
    let id = match envelope.id {
        None => None,
        Some(raw) => Some(request_id(raw).ok_or_else(|| {
            let said = format!(
                "id must be an integer, or a string of at most {ID_BYTES_MAX} bytes; give each request one of \
                 its own"
            );
            without_id(invalid(&said))
        })?),
    };
    let refused = |error| Box::new(JsonRpcError::new(id.clone(), error));
    if envelope.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
        return Err(refused(invalid(r#"write "jsonrpc": "2.0""#)));
    }
    let Some(method) = envelope.method else {
        if let Some(id) = id.clone().filter(|_| envelope.result.is_some()) {
            return Ok(result_answer(text, id));
        }
        return Err(refused(invalid("it is neither a request nor a notification nor a response")));
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return Err(refused(invalid("method must be a string")));
    };
    let Some(request_id) = id.clone() else { return Ok(unanswerable(text)) };
    let params = envelope.params.map(RawValue::get).filter(|params| *params != "null");
    if params.is_some_and(|params| !params.starts_with('{')) {
        let said = "params must be an object, with each parameter by its name";
        return Err(refused(ErrorData::invalid_params(said, None)));
    }
    if method == "initialize" && params.is_some_and(|params| params.len() > INITIALIZE_BYTES_MAX) {
        let said = format!("the params of initialize have at most {INITIALIZE_BYTES_MAX} bytes; send less");
        return Err(refused(ErrorData::invalid_params(said, None)));
    }
    let is_call = method == "tools/call";
    if is_too_intricate(text, params.filter(|_| is_call)) {
        return Err(refused(ErrorData::invalid_params(too_intricate(), None)));
    }
    if is_call {
        let call = call(params.unwrap_or("{}")).map_err(&refused)?;
        return request(ClientJsonRpcMessage::request(call, request_id)).map_err(refused);
    }
    let wrong = |e: serde_json::Error| ErrorData::invalid_params(describe_fault(&method, &e), None);
    serde_json::from_str(text).map_err(wrong).and_then(request).map_err(refused)
}

/// A result of the client.
fn result_answer(text: &str, id: RequestId) -> RpcFrame {
    if is_too_intricate(text, None) {
        return unusable_answer(id, too_intricate());
    }
    let unusable = |e: serde_json::Error| unusable_answer(id, describe_fault("the result is unreadable", &e));
    serde_json::from_str(text).map_or_else(unusable, message)
}

/// An error of the client, which has an id where it answers something.
fn error_answer(text: &str, envelope: &RpcEnvelope<'_>) -> RpcFrame {
    let is_ours = envelope.jsonrpc.map(RawValue::get) == Some(r#""2.0""#);
    match (unanswerable(text), envelope.id.and_then(request_id).filter(|_| is_ours)) {
        (RpcFrame::Ignored, Some(id)) => unusable_answer(id, "the error is unreadable".to_owned()),
        (taken, _) => taken,
    }
}

/// What stands for an answer that cannot be taken: an error that says why, so that nobody waits for
/// another one.
fn unusable_answer(id: RequestId, why: String) -> RpcFrame {
    message(ClientJsonRpcMessage::error(ErrorData::invalid_request(why, None), Some(id)))
}

/// A notification, or an error: never answered, however wrong it is.
fn unanswerable(text: &str) -> RpcFrame {
    if is_too_intricate(text, None) {
        return RpcFrame::Ignored;
    }
    let Ok(told) = serde_json::from_str::<ClientJsonRpcMessage>(text) else { return RpcFrame::Ignored };
    if let JsonRpcMessage::Notification(notification) = &told
        && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
        && cancelled.params.request_id.as_ref().is_some_and(is_too_long)
    {
        // No request has it.
        return RpcFrame::Ignored;
    }
    message(told)
}

/// A request whose progress can be told of.
fn request(asked: ClientJsonRpcMessage) -> Result<RpcFrame, ErrorData> {
    if let JsonRpcMessage::Request(request) = &asked
        && request.request.get_meta().get_progress_token().is_some_and(|token| is_too_long(&token.0))
    {
        let said = format!("progressToken has at most {ID_BYTES_MAX} bytes; send a shorter one");
        return Err(ErrorData::invalid_params(said, None));
    }
    Ok(message(asked))
}

fn is_too_long(id: &RequestId) -> bool {
    matches!(id, RequestId::String(text) if text.len() > ID_BYTES_MAX)
}

/// Whether a message has more structure than is made values of. The arguments of a call stay text.
fn is_too_intricate(text: &str, call: Option<&str>) -> bool {
    // Most messages are shorter than that, and not looked at.
    if text.len() <= STRUCTURE_MAX {
        return false;
    }
    let params = call.and_then(|params| serde_json::from_str::<ArgumentsAlone<'_>>(params).ok());
    let arguments = params.and_then(|params| params.arguments).map_or("", RawValue::get);
    text.len() - arguments.len() > STRUCTURE_MAX && structure(text) - structure(arguments) > STRUCTURE_MAX
}

fn too_intricate() -> String {
    format!(
        "a message has at most {STRUCTURE_MAX} brackets, commas and colons, beside those in strings and in the \
         arguments of a call; send less at once"
    )
}

/// The opening brackets, commas and colons of a JSON text that are not in strings.
fn structure(json: &str) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' | b',' | b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

fn message(message: ClientJsonRpcMessage) -> RpcFrame {
    RpcFrame::Message(Box::new(message))
}

/// An integer that fits 64 bits, or a string that is not too long. Others have no one spelling to
/// answer with.
fn request_id(raw: &RawValue) -> Option<RequestId> {
    let id = if raw.get().starts_with('"') {
        serde_json::from_str::<String>(raw.get()).map(|text| RequestId::String(text.into()))
    } else {
        serde_json::from_str::<i64>(raw.get()).map(RequestId::Number)
    };
    id.ok().filter(|id| !is_too_long(id))
}

/// A call whose arguments stay text.
fn call(params: &str) -> Result<ClientRequest, ErrorData> {
    let wrong = |e: serde_json::Error| ErrorData::invalid_params(describe_fault("tools/call", &e), None);
    let params: CallParams<'_> = serde_json::from_str(params).map_err(wrong)?;
    let arguments = params.arguments.map_or("{}", RawValue::get);
    let arguments = if arguments == "null" { "{}" } else { arguments };
    if !arguments.starts_with('{') {
        let said = "arguments must be an object, with each argument by its name";
        return Err(ErrorData::invalid_params(said, None));
    }
    let mut request = CallToolRequestParams::new(params.name);
    request.input_responses = params.input_responses;
    request.request_state = params.request_state;
    let mut call = ClientRequest::CallToolRequest(CallToolRequest::new(request));
    call.extensions_mut().insert(RawArguments(arguments.into()));
    if let Some(meta) = params.meta {
        call.extensions_mut().insert(meta);
    }
    Ok(call)
}

/// Takes the arguments out of a message, if it is a call.
pub(crate) fn take_arguments(message: &mut ClientJsonRpcMessage) -> Option<RawArguments> {
    let JsonRpcMessage::Request(request) = message else { return None };
    request.request.extensions_mut().remove::<RawArguments>()
}

fn unreadable(error: &serde_json::Error) -> ErrorData {
    match error.classify() {
        Category::Data => ErrorData::invalid_request(describe_fault("not a JSON-RPC message", error), None),
        _ => ErrorData::parse_error(describe_fault("not JSON", error), None),
    }
}

/// What is wrong with a text, on one short line: the library repeats values of any length, and
/// makes them several times as long.
fn describe_fault(what: &str, error: &serde_json::Error) -> String {
    one_line(&format!("{what}: {error}"), SAID_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::ErrorCode;

    /// Checks which error a text comes to, and whether the answer names the request.
    fn check(text: &str, code: ErrorCode, id: Option<&str>) {
        match read(text.as_bytes()) {
            RpcFrame::Refused(refusal) => {
                assert_eq!(refusal.error.code, code, "{text}: {refusal:?}");
                assert_eq!(refusal.id.map(|id| id.to_string()).as_deref(), id, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    /// Checks that an answer is an error to what waits for it, under its id 7.
    fn check_unusable(text: &str) {
        let RpcFrame::Message(taken) = read(text.as_bytes()) else { panic!("{text}: nobody hears of it") };
        let JsonRpcMessage::Error(error) = *taken else { panic!("{text}: it is no error") };
        assert_eq!((error.id, error.error.code), (Some(RequestId::Number(7)), ErrorCode::INVALID_REQUEST));
        assert!(error.error.message.len() <= SAID_BYTES_MAX, "{}", error.error.message.len());
    }

    #[test]
    fn an_answer_that_cannot_be_read_ends_what_waits_for_it() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for answer in [
            format!(r#""result":{{"action":"accept","content":{{"a":{deep}}}}}"#),
            r#""error":null"#.to_owned(),
            r#""error":"no""#.to_owned(),
            r#""error":{"code":"x","message":"no"}"#.to_owned(),
            format!(r#""error":{{"code":1,"message":"no","data":{deep}}}"#),
        ] {
            check_unusable(&format!(r#"{{"jsonrpc":"2.0","id":7,{answer}}}"#));
        }
    }

    #[test]
    fn what_is_no_message_is_answered_by_its_fault() {
        for text in ["{", "nonsense", "{\"jsonrpc\":\"2.0\",\"id\":1", "\u{0}", "{'a':1}"] {
            check(text, ErrorCode::PARSE_ERROR, None);
        }
        for text in [
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            // The values of a request's keys, in the order in which they are declared here.
            r#"["2.0", 7, "ping"]"#,
            r#" ["2.0", 7, "tools/call", {"name":"file_list"}]"#,
            "1",
            "\"ping\"",
            "{}",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        ] {
            check(text, ErrorCode::INVALID_REQUEST, None);
        }
        for text in [
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            r#"{"id":7,"method":"ping"}"#,
            r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":3}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
        ] {
            check(text, ErrorCode::INVALID_REQUEST, Some("7"));
        }
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":"x"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":3}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":"{}"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{},"\u0061rguments":{}}}"#,
        ] {
            check(text, ErrorCode::INVALID_PARAMS, Some("7"));
        }
        let RpcFrame::Refused(refusal) = read(b"\xff\xfe{}") else { panic!("not text") };
        assert_eq!(refusal.error.code, ErrorCode::PARSE_ERROR);
    }

    #[test]
    fn no_refusal_repeats_what_is_long() {
        // The library writes this letter in six.
        let long = "\u{7f}".repeat(100_000);
        let params = format!(r#"{{"name":"a","_meta":"{long}"}}"#);
        let call = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        for text in [format!("\"{long}\""), call] {
            let RpcFrame::Refused(refusal) = read(text.as_bytes()) else { panic!("no message") };
            assert!(refusal.error.message.len() <= SAID_BYTES_MAX, "{}", refusal.error.message.len());
        }
    }

    /// A request with this id and this token.
    fn with_token(method: &str, id: &str, token: &str) -> String {
        let params = format!(r#"{{"name":"t","_meta":{{"progressToken":"{token}"}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params}}}"#)
    }

    #[test]
    fn ids_and_tokens_that_are_too_long_are_not_kept() {
        // As many bytes as they may have, in letters of two each.
        let longest = "é".repeat(ID_BYTES_MAX / 2);
        let too_long = format!("{longest}.");
        for method in ["tools/call", "tools/list", "ping", "no/such"] {
            check(&with_token(method, &too_long, "t"), ErrorCode::INVALID_REQUEST, None);
            check(&with_token(method, "7", &too_long), ErrorCode::INVALID_PARAMS, Some("7"));
            let taken = read(with_token(method, &longest, &longest).as_bytes());
            assert!(matches!(taken, RpcFrame::Message(_)), "{method}: {taken:?}");
        }
        let cancelled = |id: &str| {
            let told = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ID"}}"#;
            read(told.replace("ID", id).as_bytes())
        };
        assert!(matches!(cancelled(&longest), RpcFrame::Message(_)));
        assert!(matches!(cancelled(&too_long), RpcFrame::Ignored));
    }

    #[test]
    fn what_a_session_keeps_of_its_client_is_short() {
        let request = |method: &str, name: &str| {
            let client = format!(r#"{{"name":"{name}","version":"1"}}"#);
            let params =
                format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{client}}}"#);
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
        };
        let long = "n".repeat(INITIALIZE_BYTES_MAX);
        check(&request("initialize", &long), ErrorCode::INVALID_PARAMS, Some("7"));
        // Of another method nothing is kept.
        for (method, name) in [("initialize", &long[1000..]), ("no/such", &*long)] {
            let taken = read(request(method, name).as_bytes());
            assert!(matches!(taken, RpcFrame::Message(_)), "{method}: {taken:?}");
        }
    }

    #[test]
    fn what_would_be_too_many_values_is_refused_as_text() {
        let list = |length: usize| format!("[{}]", vec!["0"; length].join(","));
        let request = |method: &str, meta: &str, arguments: &str| {
            let params = format!(r#"{{"name":"t","_meta":{{"a":{meta}}},"arguments":{arguments}}}"#);
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
        };
        // What a message has beside the list.
        let most = STRUCTURE_MAX - structure(&request("tools/call", "0", "0"));
        let (longest, too_long) = (list(most), list(most + 1));
        let brackets = "[{,:".repeat(STRUCTURE_MAX);
        let quoted = format!(r#""\"{brackets}\\""#);
        let more = format!(r#"{{"a":{}}}"#, list(4 * STRUCTURE_MAX));
        for (meta, arguments) in [(&*longest, "{}"), ("0", &*more), (&*quoted, &*more)] {
            let taken = read(request("tools/call", meta, arguments).as_bytes());
            assert!(matches!(taken, RpcFrame::Message(_)), "{meta}");
        }
        for (method, meta, arguments) in [
            ("tools/call", &*too_long, "{}"),
            ("tools/call", &*too_long, &*more),
            ("tools/call", &*format!(r#"["\\",{longest}]"#), "{}"),
            ("tools/call", &*longest, r#"{},"arguments":{}"#),
            // Of another method they are made values of.
            ("tools/list", "0", &*more),
            ("no/such", "0", &*more),
        ] {
            check(&request(method, meta, arguments), ErrorCode::INVALID_PARAMS, Some("7"));
        }
        let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{more}}}"#);
        check_unusable(&answer);
        let told = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"arguments":{more}}}}}"#);
        assert!(matches!(read(told.as_bytes()), RpcFrame::Ignored));
    }

    #[test]
    fn what_is_never_answered_is_ignored() {
        for text in ["", "  ", "\r", "\u{feff}"] {
            assert!(matches!(read(text.as_bytes()), RpcFrame::Ignored), "{text:?}");
        }
    }

    #[test]
    fn an_error_is_never_answered() {
        let error = r#""error":{"code":-32600,"message":"no"}"#;
        for text in [
            format!(r#"{{"jsonrpc":"2.0",{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":7,{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":null,{error}}}"#),
        ] {
            let taken = read(text.as_bytes());
            assert!(matches!(taken, RpcFrame::Message(_)), "{text}: {taken:?}");
        }
        for text in [
            format!(r#"{{{error}}}"#),
            format!(r#"{{"jsonrpc":"1.0","id":7,{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1.5,{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","result":{{}},{error}}}"#),
            r#"{"jsonrpc":"2.0","id":null,"error":null}"#.to_owned(),
        ] {
            let taken = read(text.as_bytes());
            assert!(matches!(taken, RpcFrame::Ignored), "{text}: {taken:?}");
        }
    }

    #[test]
    fn arguments_are_kept_as_they_were_written() {
        let check = |arguments: &str, expected: &str| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"t"{arguments}}}}}"#
            );
            let RpcFrame::Message(mut message) = read(text.as_bytes()) else { panic!("{text}") };
            assert_eq!(&*take_arguments(&mut message).expect("a call").0, expected, "{text}");
        };
        check("", "{}");
        check(r#","arguments":null"#, "{}");
        check(r#","arguments":{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#);
        check(r#","arguments": { "a" : 1.0 } "#, r#"{ "a" : 1.0 }"#);
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        check(&format!(r#","arguments":{deep}"#), &deep);
    }
}
