//! Transport compression as clients ask for it: one stream over the whole connection, flushed after
//! each payload.

use flate2::{Compress, Compression, FlushCompress};
use tokio_tungstenite::tungstenite::Message;

/// Largest block of a zstd stream, in bytes.
const ZSTD_BLOCK_BYTES: usize = 128 * 1024;

/// How payloads are packed.
pub(super) enum Packer {
    Plain,
    Zlib(Box<Compress>),
    /// Blocks as they are, behind the frame's header: a valid stream that nothing is needed for.
    Zstd {
        begun: bool,
    },
}

impl Packer {
    /// For the `compress` of a query.
    pub(super) fn new(compress: &str) -> Self {
        match compress {
            "zlib-stream" => Self::Zlib(Box::new(Compress::new(Compression::fast(), true))),
            "zstd-stream" => Self::Zstd { begun: false },
            _ => Self::Plain,
        }
    }

    /// The message for a payload.
    pub(super) fn pack(&mut self, text: &str) -> Message {
        match self {
            Self::Plain => Message::text(text.to_owned()),
            Self::Zlib(stream) => Message::binary(deflate(stream, text.as_bytes())),
            Self::Zstd { begun } => {
                let mut packed = Vec::with_capacity(text.len() + 16);
                if !std::mem::replace(begun, true) {
                    // The magic number, no checksum, no size, a window of 8 MiB (RFC 8878, 3.1.1).
                    packed.extend([0x28, 0xB5, 0x2F, 0xFD, 0x00, 13 << 3]);
                }
                for block in text.as_bytes().chunks(ZSTD_BLOCK_BYTES) {
                    let header = u32::try_from(block.len() << 3).unwrap_or_default();
                    packed.extend(&header.to_le_bytes()[..3]);
                    packed.extend(block);
                }
                Message::binary(packed)
            }
        }
    }
}

fn deflate(stream: &mut Compress, mut bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() / 2 + 64);
    loop {
        let (room, before) = (packed.capacity() - packed.len(), stream.total_in());
        stream.compress_vec(bytes, &mut packed, FlushCompress::Sync).expect("memory is all that it needs");
        bytes = &bytes[usize::try_from(stream.total_in() - before).unwrap_or(bytes.len())..];
        // Room that is left tells that everything was flushed.
        if bytes.is_empty() && packed.len() < packed.capacity() {
            return packed;
        }
        packed.reserve(room.max(64));
    }
}
