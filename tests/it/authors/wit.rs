//! `cofferdam wit`: the contract as the host binds from it, and nothing of the author's lost.

use std::collections::BTreeMap;
use std::path::Path;
use support::home::{Home, Ran};

/// Every file below a folder: its path there, and its bytes.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut dirs) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("one").path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").to_str().expect("text").to_owned();
                found.insert(name, std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

/// The command in the home's own folder, as an author has it.
fn wit(home: &Home, words: &[&str]) -> Ran {
    super::within(home, home.dir(), &[&["wit"], words].concat())
}

#[test]
fn the_contract_is_written_whole_and_told() {
    let home = Home::new();
    let contract = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit"));
    assert!(contract.contains_key("tool.wit") && contract.contains_key("deps/io.wit"));
    let ran = wit(&home, &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(files(&home.dir().join("wit")), contract);
    for name in contract.keys() {
        assert!(ran.stdout.contains(&format!("wrote wit/{name}\n")), "{name}: {ran:?}");
    }
    let count = contract.len();
    assert!(ran.stdout.ends_with(&format!("wit: {count} files written, 0 were there already\n")), "{ran:?}");

    // A world of the author's own stays, and what is missing is written again.
    std::fs::write(home.dir().join("wit/mine.wit"), "world mine {}").expect("writable");
    std::fs::remove_file(home.dir().join("wit/deps/io.wit")).expect("there");
    let ran = wit(&home, &["wit"]);
    let said = format!("wrote wit/deps/io.wit\nwit: 1 files written, {} were there already\n", count - 1);
    assert_eq!((ran.code, ran.stdout), (Some(0), said));
    assert_eq!(files(&home.dir().join("wit")).len(), count + 1);
}

#[test]
fn nothing_else_is_overwritten() {
    let home = Home::new();
    let dir = home.dir().join("mine");
    std::fs::create_dir(&dir).expect("a folder");
    std::fs::write(dir.join("tool.wit"), "mine").expect("writable");
    let ran = wit(&home, &["mine"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let says = "mine/tool.wit says something else, and nothing is overwritten; name another folder";
    assert!(ran.stderr.contains(says), "{ran:?}");
    assert_eq!(files(&dir), BTreeMap::from([("tool.wit".to_owned(), b"mine".to_vec())]));

    std::fs::remove_file(dir.join("tool.wit")).expect("there");
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.join("tool.wit"), 0o600.into()).expect("ours");
    let ran = wit(&home, &["mine"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("cannot read mine/tool.wit: it is not a regular file"), "{ran:?}");

    std::fs::write(home.dir().join("file"), "mine").expect("writable");
    let ran = wit(&home, &["file"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert_eq!(std::fs::read(home.dir().join("file")).expect("there"), b"mine");
}
