//! Components of many parts: how many instances, memories and tables one may have, what its
//! memories may have together, and how far a table grows while it runs. The parts stand beside
//! those of a sound tool, so that nothing else is wrong with it.

use super::compiling::{leb, section};
use support::guests::{self, sha256};
use support::home::{Home, Ran};

/// The outside author's tool with so many instances of this core module beside its own.
fn beside(module: &[u8], count: usize) -> Vec<u8> {
    let tool = guests::bytes("minimal");
    let instance = [&[0][..], &leb(modules(&tool)), &[0]].concat();
    let instances = [leb(u32::try_from(count).expect("few")), instance.repeat(count)].concat();
    [tool, section(1, module.to_vec()), section(2, instances)].concat()
}

/// How many core modules a component has: the number of the next one.
fn modules(component: &[u8]) -> u32 {
    let (mut rest, mut count) = (&component[8..], 0);
    while let [id, after @ ..] = rest {
        let digits = after.iter().take_while(|byte| **byte >= 0x80).count() + 1;
        let length =
            after[..digits].iter().rev().fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f));
        count += u32::from(*id == 1);
        rest = &after[digits + length..];
    }
    count
}

/// A core module of these sections.
fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    [b"\0asm\x01\0\0\0".to_vec(), sections.concat()].concat()
}

/// A module with one memory of so many pages of 64 KiB.
fn memory(pages: u32) -> Vec<u8> {
    module(&[section(5, [vec![1, 0], leb(pages)].concat())])
}

/// What a module does when its table did not grow.
#[derive(Clone, Copy)]
enum Then {
    GoesOn,
    Traps,
}

/// A module whose table of one element grows by so many as soon as there is an instance.
fn growing(elements: u32, then: Then) -> Vec<u8> {
    let grow = [vec![0, 0xd0, 0x70, 0x41], leb(elements), vec![0xfc, 0x0f, 0]].concat();
    let look = match then {
        Then::GoesOn => vec![0x1a],
        // Where it answers -1, which is no.
        Then::Traps => vec![0x41, 0x7f, 0x46, 0x04, 0x40, 0, 0x0b],
    };
    let body = [grow, look, vec![0x0b]].concat();
    module(&[
        section(1, vec![1, 0x60, 0, 0]),
        section(3, vec![1, 0]),
        section(4, vec![1, 0x70, 0, 1]),
        section(8, vec![0]),
        section(10, [vec![1], leb(u32::try_from(body.len()).expect("short")), body].concat()),
    ])
}

/// What the tool says in this form; another tool works beside it.
fn greeted(component: &[u8]) -> Ran {
    let policy = format!(
        "schema = 1\ntool = \"hello\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\nsafety = \"read-only\"\n\
         component = {{ file = \"hello.wasm\", sha256 = {:?} }}\n[arguments]\nname = \"value\"\n",
        sha256(component)
    );
    let home = Home::new().policy("tools/hello.toml", &policy);
    std::fs::write(home.policies_dir().join("tools/hello.wasm"), component).expect("ours");
    let ran = home.call(&["hello", "name=Ada"]);
    assert_eq!(home.call(&["file_read", "path=/shared/none"]).error(), "not_found", "the others work");
    ran
}

fn works(component: &[u8]) {
    let ran = greeted(component);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"greeting\":\"Hello, Ada!\"}\n"), "{ran:?}");
}

/// The tool does not load; the message, which says this.
fn refused(component: &[u8], says: &str) -> String {
    let ran = greeted(component);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{ran:?}");
    assert!(ran.message().contains(says), "{says:?} in {ran:?}");
    ran.message()
}

/// A component has at most so many parts of a kind, of which each instance of the module brings
/// one.
fn has_at_most(most: usize, what: &str, module: &[u8]) {
    let says = format!("exceeds the configured maximum of {most} ");
    let said = refused(&beside(module, most + 1), &says);
    // The tool has some of its own.
    let (before, _) = said.split_once(&format!(" {what}")).unwrap_or_else(|| panic!("{what} in {said}"));
    let all: usize = before.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    let own = all - (most + 1);
    assert!(own < most, "{said}");
    works(&beside(module, most - own));
    refused(&beside(module, most - own + 1), &says);
}

#[test]
fn a_component_has_so_many_instances_and_no_more() {
    has_at_most(64, "core module instances", &module(&[]));
}

#[test]
fn a_component_has_so_many_memories_and_no_more() {
    has_at_most(2, "Wasm linear memories", &memory(1));
}

#[test]
fn a_component_has_so_many_tables_and_no_more() {
    has_at_most(8, "tables", &module(&[section(4, vec![1, 0x70, 0, 1])]));
}

#[test]
fn a_table_grows_up_to_the_limit() {
    works(&beside(&growing(19_999, Then::Traps), 1));
    // Whoever looks is told no, and whoever ends for that is told why.
    works(&beside(&growing(20_000, Then::GoesOn), 1));
    refused(&beside(&growing(20_000, Then::Traps), 1), "the tool wanted a table of more than 20000 elements");
}

#[test]
fn two_memories_have_no_more_than_one() {
    works(&beside(&memory(64), 1));
    // As large as what may describe itself may be, and there is one already.
    refused(&beside(&memory(2048), 1), "the tool wanted more memory than its limit of 128 MiB");
}
