//! What the library asks over HTTP, by the client that all edges have.

use cofferdam_agent::server::{ServerScope, client};
use http::Method;
use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::{Body, Client, Request};
use std::error::Error;
use std::time::Duration;

/// One request, with all that it sends or brings.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// No byte for so long.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// An answer that the library reads whole, such as a page of a listing: up to 1000 names of 1 KiB.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// What is read of an error, which the library repeats in its own.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// Tests wait for a part of these.
pub(crate) const HASTE: u32 = if cfg!(test) { 15 } else { 1 };

/// Makes the client.
#[derive(Debug)]
pub(crate) struct Connector(pub(crate) ServerScope);

#[derive(Debug)]
struct Service(Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let builder = client(self.0, concat!("cofferdam/", env!("CARGO_PKG_VERSION")));
        let built = builder.timeout(REQUEST_MAX / HASTE).read_timeout(SILENCE_MAX / HASTE).build();
        let failed =
            |source: reqwest::Error| object_store::Error::Generic { store: "S3", source: source.into() };
        built.map(Service).map(HttpClient::new).map_err(failed)
    }
}

#[async_trait::async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let unreadable = |source| HttpError::new_boxed(HttpErrorKind::Unknown, source);
        let url = parts.uri.to_string().parse().map_err(|error| unreadable(Box::new(error)))?;
        // A listing has a query.
        let asks_for_object = parts.method == Method::GET && parts.uri.query().is_none();
        let mut asked = Request::new(parts.method, url);
        *asked.headers_mut() = parts.headers;
        *asked.body_mut() = Some(Body::wrap(body));
        let answer: http::Response<Body> = self.0.execute(asked).await.map_err(failed)?.into();
        let (parts, body) = answer.into_parts();
        let body = body.map_err(failed);
        let is_success = parts.status.is_success();
        // The bytes of an object are taken in pieces, and counted by who takes them.
        let body = match asks_for_object && is_success {
            true => HttpResponseBody::new(body),
            false => {
                let most = if is_success { ANSWER_BYTES_MAX } else { ERROR_BYTES_MAX };
                HttpResponseBody::new(Limited::new(body, most).map_err(unbox_error))
            }
        };
        Ok(HttpResponse::from_parts(parts, body))
    }
}

/// What a bounded body failed by: its own error, or its length, which no other try mends.
fn unbox_error(error: Box<dyn Error + Send + Sync>) -> HttpError {
    error
        .downcast::<HttpError>()
        .map_or_else(|long| HttpError::new_boxed(HttpErrorKind::Decode, long), |own| *own)
}

/// What the library tries again.
fn failed(error: reqwest::Error) -> HttpError {
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else {
        HttpErrorKind::Interrupted
    };
    // The address has the bucket and the blob, which the library says anyway.
    HttpError::new(kind, error.without_url())
}

#[cfg(test)]
mod tests;
