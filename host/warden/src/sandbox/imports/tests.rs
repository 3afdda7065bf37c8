//! Names told apart: the baseline, what a profile grants, what nobody knows; and bytes that are no
//! component.

use super::*;
use cofferdam_core::capability::Interface;

#[test]
fn the_baseline_is_told_from_what_needs_a_grant() {
    let turn = Some(Needs::Interface(Interface::TurnAttachments));
    for (name, expected) in [
        ("wasi:io/streams@0.2.0", None),
        ("wasi:io/streams@0.2.6", None),
        ("wasi:cli/environment@0.2.12", None),
        ("wasi:sockets/tcp@0.2.3", Some(Needs::Unknown)),
        ("cofferdam:tool/types@0.1.0", None),
        ("cofferdam:tool/turn-attachments@0.1.0", turn),
        ("cofferdam:tool/turn-attachments@0.1.7", turn),
        ("cofferdam:tool/workspace-write@0.1.0", Some(Needs::WritableMount)),
        ("wasi:io/streams@0.3.0", Some(Needs::Unknown)),
        ("wasi:io/streams@0.2.0-rc-1", Some(Needs::Unknown)),
        ("wasi:io/streams", Some(Needs::Unknown)),
        ("wasi:io/secrets@0.2.0", Some(Needs::Unknown)),
        ("wasi:http/outgoing-handler@0.2.0", Some(Needs::Network)),
        ("wasi:http/types@0.2.12", Some(Needs::Network)),
        ("wasi:http/incoming-handler@0.2.0", Some(Needs::Unknown)),
        ("wasi:http/outgoing-handler@0.3.0", Some(Needs::Unknown)),
        ("wasi:config/store@0.2.0-draft", Some(Needs::Unknown)),
        ("cofferdam:tool/turn-attachments@0.2.0", Some(Needs::Unknown)),
        ("cofferdam:tool/shell@0.1.0", Some(Needs::Unknown)),
        ("backdoor:host/shell@0.1.0", Some(Needs::Unknown)),
        ("wasi:cli/stdout@0.2.99", None),
        ("wasi:cli/stdout@0.20.0", Some(Needs::Unknown)),
        ("wasi:cli/run@0.2.0", Some(Needs::Unknown)),
        ("wasi:http/outgoing-handler@0.2.99", Some(Needs::Network)),
        ("cofferdam:tool/progress@0.1.7", None),
        ("cofferdam:tool/types@1.1.0", Some(Needs::Unknown)),
        ("cofferdam:tool/messaging@0.1.0", Some(Needs::Interface(Interface::Messaging))),
        ("", Some(Needs::Unknown)),
    ] {
        assert_eq!(needs(name), expected, "{name}");
    }
}

#[test]
fn the_line_to_write_is_named() {
    assert_eq!(
        Needs::Interface(Interface::TurnAttachments).to_string(),
        "interfaces = [\"turn-attachments\"]"
    );
    let mount = "mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]";
    assert_eq!(Needs::WritableMount.to_string(), mount);
}

/// A component that imports this many functions.
fn importing(count: u32) -> Vec<u8> {
    let leb = |mut n: u32| {
        let mut bytes = Vec::new();
        while n >= 0x80 {
            bytes.push((n as u8 & 0x7f) | 0x80);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes
    };
    // A plain name of one letter, and a function of type 0.
    let section = [leb(count), [0, 1, b'f', 1, 0].repeat(count as usize)].concat();
    [b"\0asm\x0d\0\x01\0\x0a".to_vec(), leb(section.len() as u32), section].concat()
}

#[test]
fn more_imports_than_anybody_reads_are_refused() {
    let found = interfaces(&importing(INTERFACES_MAX as u32)).expect("as many as may be");
    assert_eq!(found.beyond_baseline().len(), INTERFACES_MAX);
    assert_eq!(interfaces(&importing(INTERFACES_MAX as u32 + 1)), Err(NotAComponent::TooMany));
}

#[test]
fn what_is_no_component_is_refused() {
    let module = b"\0asm\x01\0\0\0";
    for (bytes, expected) in [
        (&b""[..], "empty"),
        (b"#!/bin/sh", "this is not WebAssembly: it begins otherwise; "),
        (b"\0as", "this is not WebAssembly: it begins otherwise; "),
        (module, "core WebAssembly"),
    ] {
        let said = interfaces(bytes).expect_err("refused").to_string();
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(interfaces(b"\0asm\x0d\0\x01\0"), Ok(Interfaces::default()), "an empty component");
    assert!(matches!(interfaces(b"\0asm\x0d\0\x01\0\x0a\xff"), Err(NotAComponent::NoWasm(_))), "cut");
}
