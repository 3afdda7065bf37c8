//! Messages over a UNIX socket pair: four bytes of length, then the message in postcard; descriptors travel
//! with the first byte.
//!
//! The peer may be hostile: a length over the bound and a message that does not decode end the conversation,
//! and never more descriptors are taken in than a message may bring.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use tests::pair;

/// Descriptors that one message may bring: a folder for each mount, and the cache.
const DESCRIPTORS_MAX: usize = 8;
/// Given to the socket at once.
const SLICE_BYTES: usize = 256 << 10;
/// Taken from the socket at once.
const PIECE_BYTES: usize = 64 << 10;

/// Why a conversation is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The other side ended.
    #[error("the other side ended")]
    Closed,
    /// Whoever waits has no more time.
    #[error("the time is over")]
    Stopped,
    /// A message is longer than any may be.
    #[error("a message does not fit: it is too long")]
    TooLong,
    /// The other side does not keep to the protocol.
    #[error("a message does not fit: {0}")]
    Malformed(&'static str),
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for Broken {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PIPE | Errno::CONNRESET => Self::Closed,
            errno => Self::Io(errno.into()),
        }
    }
}

/// One end of the pair.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    /// What came and was not looked at yet begins at `read`.
    inbox: Vec<u8>,
    read: usize,
    descriptors: VecDeque<OwnedFd>,
}

impl Socket {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { fd, inbox: Vec::new(), read: 0, descriptors: VecDeque::new() }
    }

    /// Sends one message, with descriptors if it brings any. Between pieces `stop` is asked, and between waits
    /// where the socket has a time-out.
    pub(super) fn send(
        &mut self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
        stop: impl Fn() -> bool,
    ) -> Result<(), Broken> {
        self.send_encoded(Self::encode(message)?, descriptors, stop)
    }

    /// A message with room for its length before it.
    pub(super) fn encode(message: &impl Serialize) -> Result<Vec<u8>, Broken> {
        postcard::to_extend(message, vec![0; 4]).map_err(|_| Broken::Malformed("it does not encode"))
    }

    /// Sends what [`Socket::encode`] made.
    pub(super) fn send_encoded(
        &mut self,
        mut frame: Vec<u8>,
        descriptors: &[BorrowedFd<'_>],
        stop: impl Fn() -> bool,
    ) -> Result<(), Broken> {
        let length = u32::try_from(frame.len() - 4).map_err(|_| Broken::TooLong)?;
        frame[..4].copy_from_slice(&length.to_le_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Broken::Malformed("it brings too many descriptors"));
        }
        let mut sent = 0;
        while sent < frame.len() {
            // The system goes on until all of a slice is sent, however slowly it is taken.
            let slice = &frame[sent..frame.len().min(sent + SLICE_BYTES)];
            match sendmsg(&self.fd, &[IoSlice::new(slice)], &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(n) => {
                    sent += n;
                    ancillary.clear();
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
            // After a piece too: a peer that takes them one by one must not go on for ever.
            if sent < frame.len() && stop() {
                return Err(Broken::Stopped);
            }
        }
        Ok(())
    }

    /// Lets waits end now and then, so that `stop` is asked.
    pub(super) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        use rustix::net::sockopt::{Timeout, set_socket_timeout};
        for direction in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&self.fd, direction, Some(patience))?;
        }
        Ok(())
    }

    /// The next message of at most `bytes_max`, handed to `take`. Between pieces `stop` is asked, and between
    /// waits where the socket has a time-out.
    pub(super) fn receive<T>(
        &mut self,
        bytes_max: usize,
        stop: impl Fn() -> bool,
        take: impl FnOnce(&[u8]) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        self.fill(4, &stop)?;
        let header = self.inbox[self.read..self.read + 4].try_into().expect("four bytes");
        let length = u32::from_le_bytes(header) as usize;
        if length > bytes_max {
            return Err(Broken::TooLong);
        }
        self.fill(4 + length, &stop)?;
        let start = self.read + 4;
        let taken = take(&self.inbox[start..start + length]);
        self.read = start + length;
        if self.read == self.inbox.len() {
            self.inbox.clear();
            self.read = 0;
            // A large message must not stay in memory while nothing happens.
            self.inbox.shrink_to(PIECE_BYTES);
        }
        taken
    }

    /// The next descriptor that came, in the order in which they were sent.
    pub(super) fn descriptor(&mut self) -> Result<OwnedFd, Broken> {
        self.descriptors.pop_front().ok_or(Broken::Malformed("a descriptor is missing"))
    }

    /// Waits until `bytes` of the message are there.
    fn fill(&mut self, bytes: usize, stop: &impl Fn() -> bool) -> Result<(), Broken> {
        while self.inbox.len() - self.read < bytes {
            if self.read > 0 {
                self.inbox.drain(..self.read);
                self.read = 0;
            }
            let start = self.inbox.len();
            let room = bytes.saturating_sub(start).clamp(PIECE_BYTES, 1 << 20);
            self.inbox.resize(start + room, 0);
            let received = self.receive_some(start);
            self.inbox.truncate(start + *received.as_ref().unwrap_or(&0));
            match received {
                Ok(0) => return Err(Broken::Closed),
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
            // After a piece too: a peer that brings them one by one must not go on for ever.
            if self.inbox.len() - self.read < bytes && stop() {
                return Err(Broken::Stopped);
            }
        }
        Ok(())
    }

    fn receive_some(&mut self, start: usize) -> Result<usize, Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            self.fd.as_fd(),
            &mut [IoSliceMut::new(&mut self.inbox[start..])],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                let room = DESCRIPTORS_MAX.saturating_sub(self.descriptors.len());
                self.descriptors.extend(descriptors.take(room));
            }
        }
        Ok(received.bytes)
    }
}

/// A message, decoded whole: what is left over is as wrong as what is missing.
pub(super) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Broken> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok(_) => Err(Broken::Malformed("it goes on after its end")),
        Err(_) => Err(Broken::Malformed("it does not decode")),
    }
}
