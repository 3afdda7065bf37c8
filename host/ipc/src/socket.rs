//! Messages over a UNIX socket pair: four bytes of length, four of the call's number, then the
//! message in postcard; descriptors travel with the first byte.
//!
//! The peer may be hostile: a length over the bound, a message that does not decode or belongs to
//! another call, and a descriptor that nobody expects end the conversation.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Descriptors that one message to a worker may bring: machine code, and a folder for each mount.
const DESCRIPTORS_MAX: usize = 8;
/// Length and number of a message.
const HEADER_BYTES: usize = 8;
/// Given to the socket at once.
const SLICE_BYTES: usize = 256 << 10;
/// Taken from the socket at once.
const PIECE_BYTES: usize = 64 << 10;

/// Why a conversation is over.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The other side ended.
    #[error("the other side ended")]
    Closed,
    /// The caller who waits has no more time.
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
pub struct Socket {
    fd: OwnedFd,
    /// Whether a message may bring descriptors.
    takes_descriptors: bool,
    /// The number of the call that messages belong to.
    call: u32,
    /// How long a wait lasts before it is asked whether to go on.
    patience: Option<Timespec>,
    /// Room for what comes. It is kept as it is between messages: zeroing it for each would cost
    /// more than the message.
    inbox: Vec<u8>,
    /// What came and was not looked at yet is `read..filled` of it.
    read: usize,
    filled: usize,
    descriptors: VecDeque<OwnedFd>,
}

impl Socket {
    /// The gateway's end, which takes no descriptor, and nothing that it did not ask for.
    pub fn of_gateway(fd: OwnedFd) -> Self {
        let (takes_descriptors, descriptors) = (false, VecDeque::new());
        let (inbox, read, filled) = (Vec::new(), 0, 0);
        Self { fd, takes_descriptors, call: 0, patience: None, inbox, read, filled, descriptors }
    }

    /// The worker's end, which takes what it is told.
    pub fn of_worker(fd: OwnedFd) -> Self {
        Self { takes_descriptors: true, ..Self::of_gateway(fd) }
    }

    /// Begins another call: from now on messages carry its number, and those of the one before end
    /// the conversation.
    pub fn begin_call(&mut self) {
        self.call = self.call.wrapping_add(1);
    }

    /// Sees whether the peer is there and has said nothing that it was not asked for. Does not
    /// wait.
    ///
    /// # Errors
    /// [`Broken::Closed`]; [`Broken::Malformed`] for a peer that spoke.
    pub fn is_quiet(&self) -> Result<(), Broken> {
        let spoke = Err(Broken::Malformed("it speaks without being asked"));
        if self.read < self.filled {
            return spoke;
        }
        match recv(&self.fd, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => Ok(()),
            Ok((0, _)) => Err(Broken::Closed),
            Ok(_) => spoke,
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sends one message, with descriptors if it brings any. Between pieces `stop` is asked, and
    /// between waits where the socket has a time-out.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn send(
        &mut self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
        stop: impl Fn() -> bool,
    ) -> Result<(), Broken> {
        let mut frame = Self::encode(message)?;
        let length = u32::try_from(frame.len() - HEADER_BYTES).map_err(|_| Broken::TooLong)?;
        frame[..4].copy_from_slice(&length.to_le_bytes());
        frame[4..HEADER_BYTES].copy_from_slice(&self.call.to_le_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Broken::Malformed("it brings too many descriptors"));
        }
        let mut sent = 0;
        while sent < frame.len() {
            // The system goes on until all of a slice is sent, however slowly it is taken.
            let slice = &frame[sent..frame.len().min(sent + SLICE_BYTES)];
            let taken = match sent == 0 && !descriptors.is_empty() {
                true => sendmsg(&self.fd, &[IoSlice::new(slice)], &mut ancillary, SendFlags::NOSIGNAL),
                // Not `sendmsg`: a worker is not allowed the call that could hand out a descriptor.
                false => send(&self.fd, slice, SendFlags::NOSIGNAL),
            };
            match taken {
                Ok(n) => sent += n,
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

    /// A message with room for its header before it.
    fn encode(message: &impl Serialize) -> Result<Vec<u8>, Broken> {
        postcard::to_extend(message, vec![0; HEADER_BYTES])
            .map_err(|_| Broken::Malformed("it does not encode"))
    }

    /// Lets waits end now and then, so that `stop` is asked.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.patience = Some(Timespec::try_from(patience).map_err(io::Error::other)?);
        set_socket_timeout(&self.fd, Timeout::Send, Some(patience))?;
        Ok(())
    }

    /// The next message of this call, of at most `bytes_max`, handed to `take`. Between pieces
    /// `stop` is asked, and between waits where the socket has a time-out.
    ///
    /// # Errors
    /// [`Broken`]: the peer is of no use any more.
    pub fn receive<T>(
        &mut self,
        bytes_max: usize,
        stop: impl Fn() -> bool,
        take: impl FnOnce(&[u8]) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        self.receive_of(Some(self.call), bytes_max, stop, take)
    }

    /// The next message of any call: from now on that is the one that answers belong to.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn receive_next<T>(
        &mut self,
        bytes_max: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        self.receive_of(None, bytes_max, || false, take)
    }

    fn receive_of<T>(
        &mut self,
        call: Option<u32>,
        bytes_max: usize,
        stop: impl Fn() -> bool,
        take: impl FnOnce(&[u8]) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        self.fill(HEADER_BYTES, &stop)?;
        let number = |at: usize| {
            let bytes = &self.inbox[self.read + at..self.read + at + 4];
            u32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        let (length, of) = (number(0) as usize, number(4));
        if length > bytes_max {
            return Err(Broken::TooLong);
        }
        if call.is_some_and(|call| call != of) {
            return Err(Broken::Malformed("it belongs to another call"));
        }
        self.call = of;
        self.fill(HEADER_BYTES + length, &stop)?;
        let start = self.read + HEADER_BYTES;
        let taken = take(&self.inbox[start..start + length]);
        self.read = start + length;
        if self.read == self.filled {
            (self.read, self.filled) = (0, 0);
            // A large message must not stay in memory while nothing happens.
            if self.inbox.len() > PIECE_BYTES {
                self.inbox.truncate(PIECE_BYTES);
                self.inbox.shrink_to_fit();
            }
        }
        taken
    }

    /// The next descriptor that came, in the order in which they were sent.
    ///
    /// # Errors
    /// [`Broken::Malformed`] when none came.
    pub fn descriptor(&mut self) -> Result<OwnedFd, Broken> {
        self.descriptors.pop_front().ok_or(Broken::Malformed("a descriptor is missing"))
    }

    /// Waits until `bytes` of the message are there.
    fn fill(&mut self, bytes: usize, stop: &impl Fn() -> bool) -> Result<(), Broken> {
        while self.filled - self.read < bytes {
            if self.read > 0 {
                self.inbox.copy_within(self.read..self.filled, 0);
                (self.read, self.filled) = (0, self.filled - self.read);
            }
            // No more than came is made room for: a peer must bring what it has announced.
            let room = bytes.saturating_sub(self.filled).clamp(PIECE_BYTES, 1 << 20);
            if self.inbox.len() == self.filled || self.inbox.len() < PIECE_BYTES {
                self.inbox.resize(self.filled + room, 0);
            }
            self.filled += self.receive_some()?;
            // After a piece too: a peer that brings them one by one must not go on for ever.
            if self.filled - self.read < bytes && stop() {
                return Err(Broken::Stopped);
            }
        }
        Ok(())
    }

    fn receive_some(&mut self) -> Result<usize, Broken> {
        // A thread that waits in `recvmsg` is woken whenever the peer takes what was sent to it.
        match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], self.patience.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Ok(0),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let room = if self.takes_descriptors { space.len() } else { 0 };
        let mut ancillary = RecvAncillaryBuffer::new(&mut space[..room]);
        let pieces = &mut [IoSliceMut::new(&mut self.inbox[self.filled..])];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = match recvmsg(&self.fd, pieces, &mut ancillary, flags) {
            Ok(received) => received,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(0),
            Err(errno) => return Err(errno.into()),
        };
        // The system let go what found no room.
        if received.flags.contains(ReturnFlags::CTRUNC) {
            return Err(Broken::Malformed("it brings a descriptor that nobody expects"));
        }
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        if self.descriptors.len() > DESCRIPTORS_MAX {
            return Err(Broken::Malformed("it brings more descriptors than it may"));
        }
        if received.bytes == 0 { Err(Broken::Closed) } else { Ok(received.bytes) }
    }
}

/// A message, decoded whole: what is left over is as wrong as what is missing.
///
/// # Errors
/// [`Broken::Malformed`].
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Broken> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok(_) => Err(Broken::Malformed("it goes on after its end")),
        Err(_) => Err(Broken::Malformed("it does not decode")),
    }
}
