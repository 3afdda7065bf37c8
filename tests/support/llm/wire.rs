//! Writes answers: plain ones, and streams in chunks that break where a test wants it.

use tokio::io::AsyncWriteExt;

use super::gate::Gate;
use super::script::{Answer, Ending};
use crate::http::Connection;

/// Whether the connection can serve another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Request,
    Close,
}

/// An answer with a length.
pub(super) async fn plain(
    connection: &mut Connection,
    status: u16,
    headers: &[(String, String)],
    body: &str,
) -> std::io::Result<Next> {
    let mut head = format!("HTTP/1.1 {status} As Scripted\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        head.push_str("Content-Type: application/json\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    connection.stream.write_all(head.as_bytes()).await?;
    connection.stream.write_all(body.as_bytes()).await?;
    Ok(Next::Request)
}

/// A stream of events.
pub(super) async fn stream(
    connection: &mut Connection,
    mut events: Vec<String>,
    answer: &Answer,
    error: impl Fn(&str) -> String,
) -> std::io::Result<Next> {
    match &answer.ending {
        Ending::Whole => {}
        Ending::Breaks(count) | Ending::EndsEarly(count) | Ending::Stalls(count) => events.truncate(*count),
        Ending::Fails(count, kind) => {
            events.truncate(*count);
            events.push(error(kind));
        }
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    connection.stream.write_all(head.as_bytes()).await?;
    match answer.bytes_at_once {
        None => {
            for (n, event) in events.iter().enumerate() {
                chunk(connection, event.as_bytes()).await?;
                for (_, gate) in answer.pauses.iter().filter(|(after, _)| *after == n + 1) {
                    if passes(connection, gate).await == Next::Close {
                        return Ok(Next::Close);
                    }
                }
            }
        }
        Some(bytes) => {
            for piece in events.concat().as_bytes().chunks(bytes) {
                chunk(connection, piece).await?;
            }
        }
    }
    match answer.ending {
        Ending::Breaks(_) => return Ok(Next::Close),
        Ending::Stalls(_) => {
            connection.closed().await;
            return Ok(Next::Close);
        }
        Ending::Whole | Ending::EndsEarly(_) | Ending::Fails(..) => {}
    }
    if let Some(gate) = &answer.ends_at
        && passes(connection, gate).await == Next::Close
    {
        return Ok(Next::Close);
    }
    connection.stream.write_all(b"0\r\n\r\n").await?;
    Ok(Next::Request)
}

/// Waits at a gate, or until the client goes.
pub(super) async fn passes(connection: &mut Connection, gate: &Gate) -> Next {
    tokio::select! {
        () = gate.opened() => Next::Request,
        () = connection.closed() => Next::Close,
    }
}

async fn chunk(connection: &mut Connection, piece: &[u8]) -> std::io::Result<()> {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    connection.stream.write_all(&bytes).await
}
