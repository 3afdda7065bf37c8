//! A process that compiles, or that is to take code, and does not do what it should: it is given up within its bounds.

use super::super::socket::pair;
use super::*;
use std::io::Write;

/// What comes of a process that promises code of so many bytes and ends.
fn promised(bytes: usize) -> Broken {
    let (mut socket, mut peer) = pair();
    peer.write_all(&u32::try_from(bytes).expect("fits").to_le_bytes()).expect("there is room");
    peer.shutdown(std::net::Shutdown::Write).expect("open");
    match compiled(&mut socket, b"component", || false, |_, _| ()) {
        Err(broken) => broken,
        Ok(compiled) => panic!("{compiled:?}"),
    }
}

#[test]
fn machine_code_has_a_longest_length() {
    assert!(matches!(promised(COMPILED_BYTES_MAX), Broken::Closed));
    assert!(matches!(promised(COMPILED_BYTES_MAX + 1), Broken::TooLong));
}

#[test]
fn what_was_compiled_is_kept_under_its_own_engine_or_refused_in_words() {
    let compatibility: Compatibility = decode(&[7]).expect("a number");
    let code = [1, 2, 3];
    for (answer, expected) in [
        (Compiled::Code(compatibility, Bytes::new(&code)), Ok((compatibility, code.to_vec()))),
        (Compiled::Refused("why".into()), Err("why".to_owned())),
    ] {
        let (mut socket, peer) = pair();
        let mut peer = Socket::new(peer.into());
        peer.send(&answer, &[], || false).expect("there is room");
        let kept = |compatibility, code: &[u8]| (compatibility, code.to_vec());
        assert_eq!(compiled(&mut socket, b"component", || false, kept).expect("sound"), expected);
    }
}

#[test]
fn a_worker_that_does_not_take_code_is_given_up() {
    let (mut socket, peer) = pair();
    // More than any socket holds.
    let code = vec![7; 8 << 20];
    let handed = hand(&mut socket, "0", &code, Duration::from_millis(20));
    assert!(matches!(handed, Err(Broken::Stopped)), "{handed:?}");
    drop(peer);
}
