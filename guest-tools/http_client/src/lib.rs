//! Requests over `wasi:http`: one at a time, and waiting. Whom it reaches is for the tool's policy
//! to say, and what is refused comes back as [`ErrorCode::HttpRequestDenied`].

use std::io::{self, Read};
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, IncomingBody, IncomingResponse, OutgoingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::{InputStream, StreamError};

pub use wasip2::http::types::{ErrorCode, Method};

/// What is asked.
#[derive(Debug)]
pub struct Request<'a> {
    /// How.
    pub method: Method,
    /// The whole address.
    pub url: &'a str,
    /// Names and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// None: there is no body.
    pub body: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// A GET without anything else.
    pub fn get(url: &'a str) -> Self {
        Self { method: Method::Get, url, headers: &[], body: None }
    }
}

/// What was answered; its body is read from it.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    headers: Vec<(String, Vec<u8>)>,
    // In the order in which they must be dropped.
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
}

impl Response {
    /// The first header of this name, which is in small letters.
    pub fn header(&self, name: &str) -> Option<String> {
        let (_, value) = self.headers.iter().find(|(known, _)| known == name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

/// Bytes that are read at once.
const READ_BYTES: u64 = 64 << 10;

impl Read for Response {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let piece = self.stream.blocking_read(READ_BYTES.min(buffer.len() as u64));
        match piece {
            Ok(piece) => {
                buffer[..piece.len()].copy_from_slice(&piece);
                Ok(piece.len())
            }
            Err(StreamError::Closed) => Ok(0),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = wasip2::http::types::http_error_code(&error);
                Err(io::Error::other(code.map_or_else(|| error.to_debug_string(), |code| said(&code))))
            }
        }
    }
}

/// Sends a request and waits for the beginning of its answer.
///
/// # Errors
/// What the host says.
pub fn send(request: &Request<'_>) -> Result<Response, ErrorCode> {
    let headers = request.headers.iter();
    let headers: Vec<_> =
        headers.map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
    let fields = Fields::from_list(&headers).map_err(|e| failed(&e))?;
    let outgoing = OutgoingRequest::new(fields);
    let (scheme, rest) = request.url.split_once("://").ok_or(ErrorCode::HttpRequestUriInvalid)?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => Scheme::Other(other.to_owned()),
    };
    // A fragment is never sent.
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };
    outgoing.set_method(&request.method).map_err(|()| ErrorCode::HttpRequestMethodInvalid)?;
    let set = outgoing
        .set_scheme(Some(&scheme))
        .and_then(|()| outgoing.set_authority(Some(authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(path)));
    set.map_err(|()| ErrorCode::HttpRequestUriInvalid)?;
    let body = match request.body {
        None => None,
        Some(_) => Some(outgoing.body().map_err(|()| ErrorCode::ConfigurationError)?),
    };
    let future = outgoing_handler::handle(outgoing, None)?;
    if let (Some(body), Some(bytes)) = (body, request.body) {
        write(&body, bytes)?;
        OutgoingBody::finish(body, None)?;
    }
    future.subscribe().block();
    let response = future.get().and_then(Result::ok).ok_or(ErrorCode::InternalError(None))??;
    let body = response.consume().map_err(|()| ErrorCode::InternalError(None))?;
    let stream = body.stream().map_err(|()| ErrorCode::InternalError(None))?;
    let (status, headers) = (response.status(), response.headers().entries());
    Ok(Response { status, headers, stream, _body: body, _response: response })
}

fn write(body: &OutgoingBody, bytes: &[u8]) -> Result<(), ErrorCode> {
    let stream = body.write().map_err(|()| ErrorCode::InternalError(None))?;
    // As much as one such write may carry.
    for piece in bytes.chunks(4096) {
        stream.blocking_write_and_flush(piece).map_err(|e| failed(&e))?;
    }
    Ok(())
}

/// A failure in words, for people.
pub fn said(code: &ErrorCode) -> String {
    match code {
        ErrorCode::InternalError(Some(said)) => said.clone(),
        ErrorCode::HttpRequestDenied => "the request was refused".into(),
        ErrorCode::HttpResponseBodySize(_) => "there is more than this call may take".into(),
        ErrorCode::HttpRequestBodySize(_) => "more is sent than one request may have".into(),
        ErrorCode::HttpResponseTimeout => "the server did not answer in time".into(),
        ErrorCode::HttpResponseContentCoding(_) => "the answer is packed in a way that is not known".into(),
        ErrorCode::DestinationNotFound => "the host is not found".into(),
        other => format!("{other:?}"),
    }
}

fn failed(error: &dyn std::fmt::Display) -> ErrorCode {
    ErrorCode::InternalError(Some(error.to_string()))
}
