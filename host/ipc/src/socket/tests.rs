//! A peer that does not keep to the protocol: what it sends is refused, and what it brings is let
//! go.

use super::*;
use rustix::fd::AsFd;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

/// Our end, which looks up now and then, and the peer's.
fn pair() -> (Socket, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let mut socket = Socket::of_worker(ours.into());
    socket.set_patience(Duration::from_millis(5)).expect("it has timeouts");
    (socket, theirs)
}

/// What becomes of these bytes and an end after them, read as texts of at most 100 bytes.
fn sent(bytes: &[u8]) -> Vec<String> {
    let (mut socket, mut peer) = pair();
    peer.write_all(bytes).expect("there is room");
    drop(peer);
    let mut said = Vec::new();
    loop {
        match socket.receive(100, || false, |bytes| decode::<String>(bytes)) {
            Ok(text) => said.push(text),
            Err(broken) => {
                said.push(broken.to_string());
                return said;
            }
        }
    }
}

fn frame(text: &str) -> Vec<u8> {
    let mut frame = Socket::encode(&text).expect("a text");
    let length = u32::try_from(frame.len() - HEADER_BYTES).expect("short");
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame
}

#[test]
fn messages_come_as_they_were_sent() {
    assert_eq!(
        sent(&[frame("a"), frame(""), frame("ccc")].concat()),
        ["a", "", "ccc", "the other side ended"]
    );
}

#[test]
fn what_is_no_message_ends_the_conversation() {
    let (closed, long) = ("the other side ended", "a message does not fit: it is too long");
    let (garbage, more) =
        ("a message does not fit: it does not decode", "a message does not fit: it goes on after its end");
    for (bytes, said) in [
        (&b""[..], closed),
        (&[5], closed),
        // Cut off after its length, after its number, and in the middle.
        (&[5, 0, 0, 0], closed),
        (&[5, 0, 0, 0, 0, 0, 0, 0], closed),
        (&[5, 0, 0, 0, 0, 0, 0, 0, 4, b'a'], closed),
        (&[101, 0, 0, 0, 0, 0, 0, 0], long),
        (&[0xff; 8], long),
        (&[0; 8], garbage),
        // Of another call than the one that is asked about.
        (&[2, 0, 0, 0, 1, 0, 0, 0, 1, b'a'], "a message does not fit: it belongs to another call"),
        // A text that says to be longer than the message, and one that is no UTF-8.
        (&[2, 0, 0, 0, 0, 0, 0, 0, 9, b'a'], garbage),
        (&[2, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], garbage),
        (&[3, 0, 0, 0, 0, 0, 0, 0, 1, b'a', b'b'], more),
    ] {
        assert_eq!(sent(bytes), [said], "{bytes:?}");
    }
}

#[test]
fn a_length_over_the_bound_takes_no_memory() {
    let (mut socket, mut peer) = pair();
    peer.write_all(&[0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]).expect("there is room");
    let refused = socket.receive(1 << 20, || false, |_| Ok(()));
    assert!(matches!(refused, Err(Broken::TooLong)));
    assert!(socket.inbox.capacity() <= 2 * PIECE_BYTES, "{}", socket.inbox.capacity());
}

/// Within the bound as well: what was promised is taken in as it comes.
#[test]
fn a_length_that_promises_gigabytes_takes_no_memory_before_they_come() {
    let (mut socket, mut peer) = pair();
    peer.write_all(&u32::MAX.to_le_bytes()).expect("there is room");
    peer.write_all(&[0; 1004]).expect("there is room");
    drop(peer);
    let ended = socket.receive(usize::MAX, || false, |_| Ok(()));
    assert!(matches!(ended, Err(Broken::Closed)), "{ended:?}");
    assert!(socket.inbox.capacity() <= 2 << 20, "{}", socket.inbox.capacity());
}

#[test]
fn a_large_message_does_not_stay_in_memory() {
    let (mut socket, mut peer) = pair();
    let large = frame(&"x".repeat(3 << 20));
    let sender = thread::spawn(move || peer.write_all(&large).map(|()| peer));
    let text = socket.receive(4 << 20, || false, |bytes| decode::<String>(bytes)).expect("sound");
    assert_eq!(text.len(), 3 << 20);
    assert!(socket.inbox.capacity() <= PIECE_BYTES, "{}", socket.inbox.capacity());
    sender.join().expect("no panic").expect("all was read");
}

/// Sends a text with `count` copies of a descriptor.
fn send_with(peer: &UnixStream, text: &str, fd: &OwnedFd, count: usize) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let copies = vec![fd.as_fd(); count];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&copies)));
    sendmsg(peer, &[IoSlice::new(&frame(text))], &mut ancillary, SendFlags::NOSIGNAL).expect("sent");
}

#[test]
fn descriptors_that_nobody_expects_end_the_conversation_and_are_let_go() {
    let worker: fn(OwnedFd) -> Socket = Socket::of_worker;
    let gateway: fn(OwnedFd) -> Socket = Socket::of_gateway;
    for (end, counts, taken) in [
        (worker, &[8, 1][..], 1),
        (worker, &[4, 4, 1], 2),
        (worker, &[9], 0),
        (worker, &[64], 0),
        // A gateway is handed none, ever.
        (gateway, &[1], 0),
        (gateway, &[64], 0),
    ] {
        let (ours, peer) = UnixStream::pair().expect("a pair");
        let mut socket = end(ours.into());
        let (mut read, write) = UnixStream::pair().expect("a pair");
        let write = OwnedFd::from(write);
        let mut received = Vec::new();
        for count in counts {
            send_with(&peer, "x", &write, *count);
            received.push(socket.receive(100, || false, |bytes| decode::<String>(bytes)).is_ok());
        }
        drop(write);
        let sound = received.iter().take_while(|ok| **ok).count();
        assert_eq!(sound, taken, "{counts:?}, where it takes any: {}", socket.takes_descriptors);
        drop(socket);
        // Nobody holds the other end any more, or this would wait.
        assert_eq!(read.read(&mut [0]).expect("an end"), 0);
    }
}

#[test]
fn messages_belong_to_the_call_they_were_sent_in() {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let (mut gateway, mut worker) = (Socket::of_gateway(ours.into()), Socket::of_worker(theirs.into()));
    let text = |bytes: &[u8]| decode::<String>(bytes);
    for call in ["one", "two"] {
        gateway.begin_call();
        gateway.send(&call, &[], || false).expect("there is room");
        assert_eq!(worker.receive_next(100, text).expect("asked"), call);
        worker.send(&"answer", &[], || false).expect("there is room");
        assert_eq!(gateway.receive(100, || false, text).expect("answered"), "answer");
        gateway.is_quiet().expect("all was asked for");
    }
    // What was said of the last call is none of the next.
    worker.send(&"late", &[], || false).expect("there is room");
    gateway.begin_call();
    let refused = gateway.receive(100, || false, text);
    assert!(matches!(refused, Err(Broken::Malformed("it belongs to another call"))), "{refused:?}");
}

#[test]
fn who_speaks_without_being_asked_is_found_before_anything_is_asked() {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let (mut gateway, mut worker) = (Socket::of_gateway(ours.into()), Socket::of_worker(theirs.into()));
    gateway.is_quiet().expect("silent");
    worker.send(&"a", &[], || false).expect("there is room");
    worker.send(&"b", &[], || false).expect("there is room");
    assert!(matches!(gateway.is_quiet(), Err(Broken::Malformed(_))));
    // Both came at once; the second was not asked for.
    gateway.receive(100, || false, |bytes| decode::<String>(bytes)).expect("the first");
    assert!(matches!(gateway.is_quiet(), Err(Broken::Malformed(_))));
    gateway.receive(100, || false, |bytes| decode::<String>(bytes)).expect("the second");
    gateway.is_quiet().expect("silent");
    drop(worker);
    assert!(matches!(gateway.is_quiet(), Err(Broken::Closed)));
}

#[test]
fn a_descriptor_that_did_not_come_is_missing() {
    let (mut socket, mut peer) = pair();
    peer.write_all(&frame("none")).expect("there is room");
    socket.receive(100, || false, |_| Ok(())).expect("a message");
    assert!(matches!(socket.descriptor(), Err(Broken::Malformed("a descriptor is missing"))));
    let (mut sender, _peer) = pair();
    let copies: Vec<_> = (0..2 * DESCRIPTORS_MAX).map(|_| sender.fd.try_clone().expect("a copy")).collect();
    let borrowed: Vec<_> = copies.iter().map(AsFd::as_fd).collect();
    assert!(matches!(sender.send(&"", &borrowed, || false), Err(Broken::Malformed(_))));
}

/// The peer never falls silent, so there is no wait to be asked in; nor would there be an end to
/// it.
#[test]
fn a_message_that_goes_piece_by_piece_can_be_stopped() {
    let (mut socket, mut peer) = pair();
    let trickle = thread::spawn(move || {
        let mut sent = peer.write_all(&u64::from(64_u32 << 20).to_le_bytes());
        while sent.is_ok() {
            sent = peer.write_all(b"x");
        }
    });
    let asked = std::cell::Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) == 10;
    let stopped = socket.receive(64 << 20, stop, |_| Ok(()));
    assert!(matches!(stopped, Err(Broken::Stopped)), "{stopped:?}");
    drop(socket);
    trickle.join().expect("no panic");

    let (mut socket, mut peer) = pair();
    let slow = thread::spawn(move || while peer.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {});
    asked.set(0);
    let stopped = socket.send(&"x".repeat(64 << 20), &[], stop);
    assert!(matches!(stopped, Err(Broken::Stopped)), "{stopped:?}");
    drop(socket);
    slow.join().expect("no panic");
}

#[test]
fn a_peer_that_is_silent_or_does_not_read_can_be_given_up() {
    let (mut socket, peer) = pair();
    let stopped = socket.receive(100, || true, |_| Ok(()));
    assert!(matches!(stopped, Err(Broken::Stopped)), "{stopped:?}");
    let large = "x".repeat(8 << 20);
    let stopped = socket.send(&large, &[], || true);
    assert!(matches!(stopped, Err(Broken::Stopped)), "{stopped:?}");
    drop(peer);
    assert!(matches!(socket.send(&"", &[], || false), Err(Broken::Closed)));
}
