//! Edits against a slow oracle.

use super::*;
use crate::testing::Random;

fn edit(old: &[u8], new: &[u8], all: bool) -> Edit {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Edit { old_text: text(old), new_text: text(new), all }
}

/// The same, byte by byte.
fn slow(text: &[u8], old: &[u8], new: &[u8], all: bool) -> Option<Vec<u8>> {
    let starts: Vec<usize> = (0..text.len()).filter(|&at| text[at..].starts_with(old)).collect();
    if starts.is_empty() || (!all && starts.len() > 1) {
        return None;
    }
    let (mut result, mut at) = (Vec::new(), 0);
    while at < text.len() {
        if text[at..].starts_with(old) {
            result.extend_from_slice(new);
            at += old.len();
        } else {
            result.push(text[at]);
            at += 1;
        }
    }
    Some(result)
}

#[test]
fn edits_agree_with_the_oracle() {
    let mut random = Random::new(1);
    let (mut made, mut refused) = (0, 0);
    for round in 0..50_000 {
        let text = random.bytes(b"ab\n", 30);
        let old = [random.bytes(b"ab\n", 1), random.bytes(b"ab\n", 3)].concat();
        if old.is_empty() {
            continue;
        }
        let (new, all) = (random.bytes(b"abc\n", 4), random.below(2) == 0);
        let result = edit(&old, &new, all).make(&text).ok().map(|(edited, _)| edited);
        assert_eq!(result, slow(&text, &old, &new, all), "round {round}");
        if result.is_some() { made += 1 } else { refused += 1 }
    }
    assert!(made > 10_000 && refused > 10_000, "{made} made, {refused} refused");
}

#[test]
fn overlapping_occurrences_are_several_and_are_replaced_from_the_left() {
    assert_eq!(edit(b"aa", b"b", false).make(b"aaa"), Err(Why::Several(vec![0, 1])));
    assert_eq!(edit(b"aa", b"b", true).make(b"aaa"), Ok((b"ba".to_vec(), 1)));
}

#[test]
fn counting_and_growing_have_an_end() {
    let text = vec![b'a'; 1 << 20];
    let Err(Why::Several(found)) = edit(b"a", b"b", false).make(&text) else { panic!("several") };
    assert_eq!(found.len(), COUNTED_MAX + 1);
    assert_eq!(edit(b"a", &[b'b'; 17], true).make(&text), Err(Why::TooLong(17 << 20)));
    let (edited, count) = edit(b"a", &[b'b'; 16], true).make(&text).unwrap();
    assert_eq!((edited.len(), count), (TEXT_BYTES_MAX, 1 << 20));
}
