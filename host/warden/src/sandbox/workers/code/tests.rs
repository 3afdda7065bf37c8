//! A process that compiles and does not do what it should is given up within its bounds; and code
//! is held within a bound.

use super::*;
use std::io::Write;
use std::os::unix::net::UnixStream;

/// What comes of a process that promises code of so many bytes and ends.
fn promised(bytes: usize) -> Broken {
    let (ours, mut peer) = UnixStream::pair().expect("a pair");
    let header = [u32::try_from(bytes).expect("fits").to_le_bytes(), 1_u32.to_le_bytes()].concat();
    peer.write_all(&header).expect("there is room");
    peer.shutdown(std::net::Shutdown::Write).expect("open");
    match compiled(&mut Socket::of_gateway(ours.into()), b"component", || false, |_| ()) {
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
fn what_was_compiled_is_taken_or_refused_in_words() {
    let code = [1, 2, 3];
    let answers: [(Compiled<'_>, _); 3] = [
        (Ok(Bytes::new(&code)), Ok(code.to_vec())),
        (Err("why".into()), Err("why".to_owned())),
        // A process that was taken over says anything.
        (Err("a\nb\u{1b}[2J".into()), Err("a b [2J".to_owned())),
    ];
    for (answer, expected) in answers {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut socket = Socket::of_gateway(ours.into());
        let mut peer = Socket::of_worker(theirs.into());
        peer.begin_call();
        peer.send(&answer, &[], || false).expect("there is room");
        assert_eq!(compiled(&mut socket, b"component", || false, <[u8]>::to_vec).expect("sound"), expected);
    }
}

#[test]
fn so_many_bytes_are_held_and_what_was_wanted_longest_ago_goes() {
    let mut held = CodeFiles::new(10);
    for (name, bytes, there) in
        [("a", 4, "a"), ("b", 6, "ab"), ("c", 1, "bc"), ("b", 6, "bc"), ("d", 4, "bd"), ("a", 10, "a")]
    {
        held.keep(name, bytes, Arc::new(()));
        let kept: String = ["a", "b", "c", "d"]
            .into_iter()
            .filter(|name| held.codes.iter().any(|(of, ..)| of == name))
            .collect();
        assert_eq!(kept, there, "after {bytes} of {name}");
        assert!(held.bytes() <= 10);
    }
    // What no bound would let in is not held, and goes after everything else.
    held.keep("b", 11, Arc::new(()));
    assert_eq!(held.bytes(), 0);
    // Wanted again, it goes later.
    for name in ["a", "b"] {
        held.keep(name, 5, Arc::new(()));
    }
    assert!(held.get("a").is_some());
    held.keep("c", 1, Arc::new(()));
    assert!(held.get("b").is_none() && held.get("a").is_some());
}

#[test]
fn what_one_component_may_have_is_held_and_a_byte_more_makes_the_first_go() {
    let mut held = CodeFiles::new(CODE_BYTES_MAX);
    held.keep("a", COMPILED_BYTES_MAX, Arc::new(()));
    assert!(held.get("a").is_some());
    held.keep("b", 1, Arc::new(()));
    assert!(held.get("a").is_none() && held.get("b").is_some());
}
