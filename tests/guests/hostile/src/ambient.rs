//! Behaviours that look around: what of the host, the network and the turn is within reach.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

use cofferdam_sdk::attachments;
use cofferdam_sdk::serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Arguments, Seen};

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    Some(match arguments.name() {
        "env" => Ok(env()),
        "stdin" => {
            let mut text = String::new();
            Ok(told(std::io::stdin().read_to_string(&mut text).map(|bytes| json!({ "bytes": bytes }))))
        }
        "connect" => Ok(told(TcpStream::connect("127.0.0.1:1").map(|_| json!({ "connected": true })))),
        "resolve" => {
            Ok(told("localhost:1".to_socket_addrs().map(|found| json!({ "addresses": found.count() }))))
        }
        "listen" => Ok(told(TcpListener::bind("127.0.0.1:0").map(|_| json!({ "listening": true })))),
        "udp" => Ok(told(UdpSocket::bind("127.0.0.1:0").map(|_| json!({ "bound": true })))),
        "attachments" => Ok(list()),
        "read_attachment" => read_attachment(arguments),
        _ => return None,
    })
}

fn env() -> Value {
    json!({
        "variables": std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect::<Vec<_>>(),
        "arguments": std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>(),
        "directory": std::env::current_dir().ok().map(|it| it.to_string_lossy().into_owned()),
    })
}

fn list() -> Value {
    let all: Vec<Value> = attachments::list()
        .into_iter()
        .map(|it| {
            json!({
                "index": it.index, "name": it.name, "mime_type": it.mime_type, "size": it.size,
                "sha256": it.sha256, "unavailable": it.unavailable,
            })
        })
        .collect();
    json!({ "attachments": all })
}

/// Reads the attachment whose index is `bytes` to its end, through the guest.
fn read_attachment(arguments: &Arguments) -> Seen {
    let index = u32::try_from(arguments.bytes()?).unwrap_or(u32::MAX);
    let mut reader = attachments::open(index)?;
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut block = vec![0; 64 << 10];
    loop {
        match reader.read(&mut block) {
            Ok(0) => break,
            Ok(length) => {
                digest.update(&block[..length]);
                bytes += length as u64;
            }
            Err(error) => return Ok(json!({ "bytes": bytes, "error": error.to_string() })),
        }
    }
    let mut sha256 = Vec::new();
    for byte in digest.finalize() {
        // Writing to memory does not fail.
        let _ = write!(sha256, "{byte:02x}");
    }
    Ok(json!({ "bytes": bytes, "sha256": String::from_utf8_lossy(&sha256) }))
}

fn told(result: std::io::Result<Value>) -> Value {
    result.unwrap_or_else(|error| json!({ "error": format!("{:?}", error.kind()) }))
}
