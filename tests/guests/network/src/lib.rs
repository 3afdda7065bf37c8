//! `network`: a tool that asks for whatever the tests want, and tells what it saw of it.

use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool};
use http_client::{Method, Request, Response, said, send};
use std::io::Read;
use wasip2::http::types::{Fields, OutgoingBody, OutgoingRequest};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// The address, which the policy judges.
    url: Option<String>,
    /// An address that the policy takes for a value.
    unjudged: Option<String>,
    /// GET unless it is named.
    method: Option<String>,
    /// `NAME: VALUE`.
    header: Option<String>,
    /// What is sent.
    body: Option<String>,
    /// Bytes that are read at once.
    piece: Option<usize>,
    /// How often it is asked.
    times: Option<u32>,
    /// Answers that are held while the next one is asked for.
    held: Option<bool>,
    /// Requests that are made before it is asked, each with a body of a mebibyte, and never sent.
    unsent: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Seen {
    status: u16,
    bytes: usize,
    /// The beginning of the body.
    text: String,
    /// The header `x-echo` of the answer, and what of a state is in it.
    echo: Option<String>,
    cookie: Option<String>,
}

enum Network {}

impl Tool for Network {
    const NAME: &str = "network";
    const SUMMARY: &str = "Asks a server for something.";
    type Arguments = Arguments;
    type Output = Seen;

    fn call(arguments: Arguments) -> Result<Seen, ToolError> {
        let url =
            arguments.url.as_ref().or(arguments.unjudged.as_ref()).map(String::as_str).unwrap_or_default();
        let method = match arguments.method.as_deref() {
            None | Some("GET") => Method::Get,
            Some("POST") => Method::Post,
            Some("CONNECT") => Method::Connect,
            Some(other) => Method::Other(other.to_owned()),
        };
        let header = arguments.header.as_deref().and_then(|header| header.split_once(": "));
        let headers: Vec<_> = header.into_iter().collect();
        let body = arguments.body.as_deref().map(str::as_bytes);
        let request = Request { method, url, headers: &headers, body };
        let unsent: Result<Vec<_>, _> = (0..arguments.unsent.unwrap_or(0)).map(unsent).collect();
        drop(unsent?);
        let mut held = Vec::new();
        let mut seen = None;
        for _ in 0..arguments.times.unwrap_or(1) {
            let mut response = send(&request).map_err(failed)?;
            if arguments.held == Some(true) {
                held.push(response);
                continue;
            }
            seen = Some(read(&mut response, arguments.piece.unwrap_or(64 << 10))?);
        }
        seen.ok_or_else(|| ToolError::new(ErrorCode::InvalidArguments, format!("{} are held", held.len())))
    }
}

fn read(response: &mut Response, piece: usize) -> Result<Seen, ToolError> {
    let (mut body, mut buffer) = (Vec::new(), vec![0; piece]);
    loop {
        match response.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => body.extend_from_slice(&buffer[..read]),
            Err(error) => {
                let said = format!("after {} bytes: {error}", body.len());
                return Err(ToolError::new(ErrorCode::WriteFailed, said));
            }
        }
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(2000)]).into_owned();
    Ok(Seen {
        status: response.status,
        bytes: body.len(),
        text,
        echo: response.header("x-echo"),
        cookie: response.header("set-cookie"),
    })
}

/// One request of those that are not sent, and its body, which is dropped first.
fn unsent(before: u32) -> Result<(OutgoingBody, OutgoingRequest), ToolError> {
    let lost = |()| ToolError::new(ErrorCode::WriteFailed, "it has a body already");
    let request = OutgoingRequest::new(Fields::new());
    let body = request.body().map_err(lost)?;
    let stream = body.write().map_err(lost)?;
    for _ in 0..256 {
        if let Err(error) = stream.blocking_write_and_flush(&[b'x'; 4096]) {
            let said = format!("{before} bodies are kept: {error}");
            return Err(ToolError::new(ErrorCode::WriteFailed, said));
        }
    }
    drop(stream);
    Ok((body, request))
}

fn failed(code: http_client::ErrorCode) -> ToolError {
    ToolError::new(ErrorCode::WriteFailed, format!("nothing was answered: {}", said(&code)))
}

export_tool!(Network);
