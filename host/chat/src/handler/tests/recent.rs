//! What is noted of files, message by message.

use super::super::RequestFiles;
use super::super::recent::{NOTED_MAX, NotedFiles, read};
use super::Sheet;
use cofferdam_store::RecentFiles;

fn sheet(n: i64) -> Sheet {
    Sheet { n, name: "a.txt".into() }
}

fn ids(files: &[Sheet]) -> Vec<i64> {
    files.iter().map(|file| file.n).collect()
}

fn all(ids: &[i64]) -> Vec<Sheet> {
    ids.iter().copied().map(sheet).collect()
}

fn own(ids: &[i64], album: Option<&str>) -> RequestFiles<Sheet> {
    RequestFiles::new(all(ids), album.map(str::to_owned))
}

#[test]
fn what_is_noted_comes_back() {
    let noted = NotedFiles { files: all(&[3, 4]), before: all(&[2]), album: Some("a".into()) };
    let files = serde_json::to_string(&noted).expect("plain data");
    let found = |files: &str| read::<Sheet>(RecentFiles { album: Some("a".into()), files: files.to_owned() });
    assert_eq!(found(&files), noted);
    let of_one = serde_json::to_string(&noted.files).expect("plain data");
    assert_eq!(found(&of_one), NotedFiles { before: vec![], ..noted }, "as earlier releases have noted them");
    for nothing in ["[]", "{", "[{}]", "{}"] {
        assert_eq!(
            found(nothing),
            NotedFiles { album: Some("a".into()), ..NotedFiles::default() },
            "{nothing}"
        );
    }
}

#[test]
fn files_of_earlier_messages_are_noted_behind_the_latest_each_once() {
    let check = |noted: &NotedFiles<Sheet>, files: &[i64], before: &[i64]| {
        assert_eq!((ids(&noted.files).as_slice(), ids(&noted.before).as_slice()), (files, before));
    };
    let noted = NotedFiles::default().add_message(&own(&[1], None));
    check(&noted, &[1], &[]);
    let noted = noted.add_message(&own(&[14, 11], Some("a")));
    check(&noted, &[11, 14], &[1]);
    assert!(noted.has(&own(&[1, 14], None)) && noted.has(&own(&[], None)));
    assert!(!noted.has(&own(&[1, 13], None)));
    // Late parts of an album come in their place.
    let noted = noted.add_message(&own(&[13, 11], Some("a")));
    check(&noted, &[11, 13, 14], &[1]);
    let noted = noted.add_message(&own(&[21], Some("b")));
    check(&noted, &[21], &[11, 13, 14, 1]);
    let noted = noted.add_message(&RequestFiles { replied: all(&[9, 13]), ..own(&[], None) });
    check(&noted, &[21], &[9, 13, 11, 14, 1]);
    assert_eq!(noted.album.as_deref(), Some("b"));
    let many = (100..300).fold(noted, |noted, n| noted.add_message(&own(&[n], None)));
    assert_eq!((ids(&many.files), many.before.len()), (vec![299], NOTED_MAX - 1));
    assert_eq!(ids(&many.before)[0], 298);
    let numbers: Vec<i64> = (0..200).collect();
    assert_eq!(many.add_message(&own(&numbers, None)).files.len(), NOTED_MAX);
}
