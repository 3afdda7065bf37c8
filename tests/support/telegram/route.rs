//! Turns a request into a call: checks the token, takes the method or the file path from the URL.

use serde_json::{Map, Value};

use super::error::ApiError;
use super::params;
use crate::exchange::multipart::Uploads;
use crate::exchange::{Call, Kind, Routed, form};
use crate::http::Request;

/// Routes `/bot<TOKEN>/<Method>` and `/file/bot<TOKEN>/<file_path>`.
pub(super) fn route(token: &str, request: &Request) -> Routed {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let (name, kind, given) = if let Some(rest) = path.strip_prefix("/file/bot") {
        ("download", Kind::Download, rest)
    } else if let Some(rest) = path.strip_prefix("/bot") {
        let method = rest.split_once('/').map_or("", |(_, method)| method);
        (method, Kind::method(method), rest)
    } else {
        return refused("", ApiError::new(404, "Not Found"));
    };
    let name = name.to_owned();
    let Some((given, rest)) = given.split_once('/') else {
        return refused(&name, ApiError::new(404, "Not Found"));
    };
    let mut refusal = None;
    let (params, uploads) = match kind {
        Kind::Download => {
            let path = Value::String(form::percent_decode(rest));
            (Map::from_iter([("file_path".to_owned(), path)]), Uploads::new())
        }
        Kind::Method(_) => params::decode(query, request).unwrap_or_else(|error| {
            refusal = Some(error);
            Default::default()
        }),
    };
    if !matches!(request.verb.as_str(), "GET" | "POST") {
        refusal = Some(ApiError::new(405, "Method Not Allowed"));
    }
    if form::percent_decode(given) != token {
        refusal = Some(ApiError::new(401, "Unauthorized"));
    }
    let refusal = refusal.as_ref().map(ApiError::to_answer);
    Routed { call: Call { kind, params, uploads }, name, refusal }
}

fn refused(name: &str, refusal: ApiError) -> Routed {
    let call = Call { kind: Kind::method(name), params: Map::new(), uploads: Uploads::new() };
    Routed { call, name: name.to_owned(), refusal: Some(refusal.to_answer()) }
}
