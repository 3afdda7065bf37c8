//! Walks over trees in memory, each compared with sorting everything at once: any page length, any
//! memory, any cursor, and trees that change between two pages.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::*;

#[derive(Clone, Debug)]
enum Node {
    Leaf(Kind),
    Folder(Tree),
    Closed,
}

#[derive(Clone, Debug, Default)]
struct Tree {
    entries: Rc<BTreeMap<String, Node>>,
    nameless: usize,
    reads: Rc<Cell<usize>>,
}

impl Tree {
    /// A tree of files, folders where a path ends in `/`, closed folders where in `/!`, links where
    /// in `@`.
    fn of(paths: &[&str]) -> Self {
        let mut children: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut entries = BTreeMap::new();
        for path in paths {
            match path.split_once('/') {
                Some((name, "!")) => drop(entries.insert(name.to_owned(), Node::Closed)),
                Some((name, rest)) => children.entry(name.into()).or_default().push(rest),
                None if path.is_empty() => {}
                None => {
                    let kind = if path.ends_with('@') { Kind::Symlink } else { Kind::File };
                    entries.insert((*path).to_owned(), Node::Leaf(kind));
                }
            }
        }
        for (name, below) in children {
            entries.insert(name, Node::Folder(Self::of(&below)));
        }
        Self { entries: Rc::new(entries), ..Self::default() }
    }
}

impl Folder for Tree {
    fn open(&self, name: &str) -> io::Result<Self> {
        match self.entries.get(name) {
            Some(Node::Folder(tree)) => Ok(tree.clone()),
            Some(Node::Closed) => Err(io::ErrorKind::PermissionDenied.into()),
            Some(Node::Leaf(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn each(&self, visit: &mut Visit<'_>) -> io::Result<()> {
        self.reads.set(self.reads.get() + 1);
        // An order of its own: no one may rely on it.
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries
            .sort_by_key(|(name, _)| name.bytes().map(|b| u64::from(b) * 2_654_435_761 % 1009).sum::<u64>());
        for (name, node) in entries {
            let kind = match node {
                Node::Leaf(kind) => *kind,
                Node::Folder(_) | Node::Closed => Kind::Directory,
            };
            visit(Ok((name, kind)));
        }
        (0..self.nameless).for_each(|_| visit(Err(io::ErrorKind::InvalidData.into())));
        Ok(())
    }
}

fn plan(start: Start, names: usize) -> Plan {
    Plan { depth: Depth::Recursive, glob: None, start, names }
}

fn all(tree: &Tree, plan: Plan) -> Vec<String> {
    let mut walk = Walk::new(tree.clone(), plan).unwrap();
    let mut found = Vec::new();
    while let Some(entry) = walk.step() {
        assert!(entry.path.ends_with(entry.name));
        found.push(entry.path.to_owned());
    }
    found
}

const PATHS: &[&str] = &[
    "b", "a/z", "a/y/", "a/b/c/d", "a/b/c0", "a/b.txt", "a-b", "a.txt", "link@", "ü/1", "Z", "a/b/c/e",
    "n/10", "n/9", "closed/!", "~",
];

/// In the order of a walk: part by part.
fn sorted() -> Vec<String> {
    let mut paths = Vec::new();
    for path in PATHS {
        let path = path.trim_end_matches('!').trim_end_matches('/');
        for (at, _) in path.match_indices('/') {
            paths.push(path[..at].to_owned());
        }
        paths.push(path.to_owned());
    }
    paths.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    paths.dedup();
    paths
}

#[test]
fn every_entry_once_and_in_order_with_any_memory() {
    let tree = Tree::of(PATHS);
    for names in [1, 2, 3, 5, usize::MAX] {
        assert_eq!(all(&tree, plan(Start::Beginning, names)), sorted(), "{names} names at once");
    }
}

#[test]
fn a_walk_goes_on_after_any_entry() {
    let tree = Tree::of(PATHS);
    let sorted = sorted();
    for (at, path) in sorted.iter().enumerate() {
        for names in [1, 2, usize::MAX] {
            let rest = all(&tree, plan(Start::After(path.clone()), names));
            assert_eq!(rest, sorted[at + 1..], "after {path}");
            let from = all(&tree, plan(Start::At(path.clone()), names));
            assert_eq!(from, sorted[at..], "from {path}");
        }
    }
}

#[test]
fn a_walk_goes_on_after_what_is_gone_or_has_become_something_else() {
    let tree = Tree::of(PATHS);
    let check = |after: &str, next: &str| {
        let rest = all(&tree, plan(Start::After(after.into()), 2));
        assert_eq!(rest.first().map_or("", String::as_str), next, "after {after}");
    };
    check("a/b/bb", "a/b/c");
    check("a/b/c/zz", "a/b/c0");
    check("a/b/zz", "a/b.txt");
    // Was a folder and is a file.
    check("a/b.txt/c", "a/y");
    check("b/c", "closed");
    check("closed/x/y", "link@");
    // Not the "z" below "a", although the name is the same.
    check("a/zz/z", "a-b");
    check("nothing/here/b", "~");
    check("\u{10FFFF}", "");
}

#[test]
fn pages_of_a_changing_folder_show_what_stays_exactly_once() {
    let mut names: Vec<String> = (0..500).map(|n| format!("stays{n}")).collect();
    let mut seen = Vec::new();
    let mut after = Start::Beginning;
    for round in 0.. {
        // Comes and goes with every page.
        let mut now = names.clone();
        now.extend((0..50).map(|n| format!("{}{round}-{n}", ["a", "stays2", "z"][n % 3])));
        let tree = Tree::of(&now.iter().map(String::as_str).collect::<Vec<_>>());
        let mut walk = Walk::new(tree, plan(after, 8)).unwrap();
        let mut page = Vec::new();
        while page.len() < 7
            && let Some(found) = walk.step()
        {
            page.push(found.path.to_owned());
        }
        let Some(last) = page.last() else { break };
        after = Start::After(last.clone());
        seen.extend(page.into_iter().filter(|name| names.contains(name)));
    }
    names.sort();
    assert_eq!(seen, names);
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_there() {
    let mut tree = Tree::of(&["closed/!", "a/b"]);
    tree.nameless = 3;
    let mut walk = Walk::new(tree, plan(Start::Beginning, 1)).unwrap();
    let mut count = 0;
    while walk.step().is_some() {
        count += 1;
    }
    let (told, unreadable) = std::mem::take(walk.unreadable()).into_told("/shared");
    assert_eq!((count, unreadable), (3, 4));
    assert!(told[0].path == "/shared" && told[0].reason.starts_with("3 names"), "{told:?}");
    assert!(told[1].path == "/shared/closed" && told[1].reason.contains("may not"), "{told:?}");
}

#[test]
fn a_walk_is_as_deep_as_it_may_be() {
    let deep = "d/".repeat(DEPTH_MAX + 5);
    let mut walk = Walk::new(Tree::of(&[&deep]), plan(Start::Beginning, 4)).unwrap();
    let mut count = 0;
    while walk.step().is_some() {
        count += 1;
    }
    assert_eq!(count, DEPTH_MAX);
    let (told, _) = std::mem::take(walk.unreadable()).into_told("");
    assert!(told[0].path.matches('d').count() == DEPTH_MAX && told[0].reason.contains("deep"), "{told:?}");
}

#[test]
fn globs_show_and_folders_are_entered_all_the_same() {
    let tree = Tree::of(PATHS);
    let with = |glob: &str, depth| {
        let glob = Some(Glob::parse(glob).unwrap());
        all(&tree, Plan { depth, glob, start: Start::Beginning, names: 2 })
    };
    assert_eq!(with("*.txt", Depth::Recursive), ["a/b.txt", "a.txt"]);
    assert_eq!(with("*.txt", Depth::Flat), ["a.txt"]);
    assert_eq!(with("a/**/c*", Depth::Recursive), ["a/b/c", "a/b/c0"]);
    assert_eq!(with("[0-9]*", Depth::Recursive), ["n/10", "n/9", "ü/1"]);
}

#[test]
fn a_large_folder_is_read_as_often_as_its_memory_asks() {
    let names: Vec<String> = (0..20_000).map(|n| format!("{n:05}-{}", "x".repeat(200))).collect();
    let tree = Tree::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let reads = |names: usize| {
        tree.reads.set(0);
        assert_eq!(all(&tree, plan(Start::Beginning, names)).len(), 20_000);
        tree.reads.get()
    };
    // 4 MiB hold about all of them at a time, and never fewer than half as many.
    assert!((2..=3).contains(&reads(usize::MAX)), "{}", tree.reads.get());
    assert_eq!(reads(5000), 4);
}

#[test]
fn a_walk_that_finds_too_little_says_where_to_go_on() {
    let folders: Vec<String> = (0..2000).map(|n| format!("{n:04}/")).collect();
    let mut tree = Tree::of(&folders.iter().map(String::as_str).collect::<Vec<_>>());
    let large = Tree::of(
        &(0..1000)
            .map(|n| format!("f{n}"))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    let entries = tree.entries.keys().map(|name| (name.clone(), Node::Folder(large.clone()))).collect();
    tree.entries = Rc::new(entries);
    let glob = Some(Glob::parse("nothing").unwrap());
    let (mut start, mut calls) = (Start::Beginning, 0);
    loop {
        let plan = Plan { depth: Depth::Recursive, glob: glob.clone(), start, names: 10 };
        let mut walk = Walk::new(tree.clone(), plan).unwrap();
        assert!(walk.step().is_none());
        calls += 1;
        if !walk.stopped() {
            break;
        }
        start = Start::After(walk.position().to_owned());
    }
    // Two million entries, a million at a time.
    assert!((2..=3).contains(&calls), "{calls}");
}

#[test]
fn cursors_that_no_walk_gave() {
    for bad in ["", "/a", "a/", "a//b", ".", "a/..", "\\x", &"a".repeat(256)] {
        assert!(cursor_path(bad).is_err(), "{bad}");
    }
    for path in ["a", "a/b", "evil\u{202e}name", "a\\b"] {
        assert_eq!(cursor_path(&crate::text::escape(path)).unwrap(), path);
    }
}
