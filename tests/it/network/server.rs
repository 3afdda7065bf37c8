//! A server on loopback that says what a test wants, byte by byte.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What it was asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Request line and headers, as they came.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Asked {
    /// The path with the query.
    pub(super) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of a header; names compare without case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The server.
pub(super) struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Answers each request by this; a connection has one.
    pub(super) fn start(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (asked.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (kept.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &kept, &*answer));
            }
        });
        Self { port, asked }
    }

    /// Always says this.
    pub(super) fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        // Who has read enough is gone.
        Self::start(move |_, stream| drop(stream.write_all(&bytes)))
    }

    /// By path.
    pub(super) fn routing(routes: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(move |asked, stream| drop(stream.write_all(&routes(asked.path()))))
    }

    /// Host and port.
    pub(super) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host())
    }

    /// As an argument of the tool.
    pub(super) fn asks(&self, path: &str) -> String {
        format!("url={}", self.url(path))
    }

    /// All that it was asked.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("whole").clone()
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked, &mut TcpStream)) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let mut asked = Asked { head: String::from_utf8_lossy(&head).into_owned(), body: Vec::new() };
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    asked.body = vec![0; length];
    if stream.read_exact(&mut asked.body).is_err() {
        return;
    }
    kept.lock().expect("whole").push(asked.clone());
    answer(&asked, &mut stream);
    // Until the other side is gone, so that nothing it has not read is lost.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read(&mut [0]);
}

/// An answer with these headers, each with its line end, and this body.
pub(super) fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A redirect.
pub(super) fn to(status: u16, location: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    )
    .into()
}
