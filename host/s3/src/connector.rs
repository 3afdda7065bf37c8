//! What the library asks over HTTP, by the client that all edges have.

use cofferdam_agent::server::{ServerScope, client};
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::{Body, Client, Request};
use std::time::Duration;

/// One request, with all that it sends or brings.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// No byte for so long.
const SILENCE_MAX: Duration = Duration::from_secs(15);
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
        let mut asked = Request::new(parts.method, url);
        *asked.headers_mut() = parts.headers;
        *asked.body_mut() = Some(Body::wrap(body));
        let answer: http::Response<Body> = self.0.execute(asked).await.map_err(failed)?.into();
        let (parts, body) = answer.into_parts();
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body.map_err(failed))))
    }
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
