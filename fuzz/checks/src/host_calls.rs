//! What a worker asks and remarks during a call: whatever its bytes are, reading them ends and
//! holds no more than they say; what was understood is understood the same when it is written
//! again.

use cofferdam_core::host_call::{FILES_MAX, Notification, ReplyFile, ReplySource, Request};
use cofferdam_core::web::{HEADERS_MAX, HttpRequest};

/// Reads a request, and a remark.
pub fn host_calls(data: &[u8]) {
    check(data, ask);
    check(data, tell);
}

fn check(data: &[u8], read: fn(&[u8]) -> Option<Understood>) {
    let Some(first) = read(data) else { return };
    let Understood { taken, held, written } = &first;
    assert!(held < taken, "{held} bytes are held of {taken}");
    assert!(written.len() <= *taken, "{} bytes are written of {taken}", written.len());
    let again = read(written).expect("what was written can be read");
    assert_eq!(again, Understood { taken: written.len(), ..first.clone() });
}

/// A message at the beginning of some bytes.
#[derive(Clone, Debug, PartialEq)]
struct Understood {
    /// So many of the bytes are the message.
    taken: usize,
    /// So many bytes of text and content are in it; each file of a list counts as one more.
    held: usize,
    written: Vec<u8>,
}

fn ask(data: &[u8]) -> Option<Understood> {
    let (ask, rest) = postcard::take_from_bytes::<Request<'_>>(data).ok()?;
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let held = match &ask {
        Request::Attachments | Request::Attachment(_) | Request::Cancelled => 0,
        Request::AppendAttachment { .. } | Request::Seal(_) | Request::HttpRead(_) => 0,
        Request::Stage { path, .. } | Request::AppendFile { path, .. } | Request::Remove { path, .. } => {
            path.len()
        }
        Request::Write { bytes, .. } | Request::HttpBody(bytes) => bytes.len(),
        Request::HttpSend(HttpRequest { method, url, headers }) => {
            assert!(headers.len() <= HEADERS_MAX, "{} headers", headers.len());
            let headers = headers.iter().map(|(name, value)| 1 + name.len() + value.len());
            method.len() + url.len() + headers.sum::<usize>()
        }
        Request::Expect { sha256, .. } => sha256.len(),
        Request::Rename { from, to, .. } => from.len() + to.len(),
        Request::AddToReply(files, to) => {
            assert!(files.len() <= FILES_MAX, "{} files", files.len());
            let source = |source: &ReplySource| match source {
                ReplySource::Path(path) => path.len(),
                ReplySource::Contents(bytes) => bytes.len(),
            };
            let of = |file: &ReplyFile| 1 + source(&file.source) + text(&file.name) + text(&file.mime_type);
            files.iter().map(of).sum::<usize>() + text(&to.session) + text(&to.request)
        }
    };
    let written = postcard::to_stdvec(&ask).expect("what was read can be written");
    Some(Understood { taken: data.len() - rest.len(), held, written })
}

fn tell(data: &[u8]) -> Option<Understood> {
    let (tell, rest) = postcard::take_from_bytes::<Notification<'_>>(data).ok()?;
    let held = match &tell {
        Notification::Discard(_) | Notification::HttpClose(_) => 0,
        Notification::Report(text) | Notification::Log(text) => text.len(),
    };
    let written = postcard::to_stdvec(&tell).expect("what was read can be written");
    Some(Understood { taken: data.len() - rest.len(), held, written })
}
