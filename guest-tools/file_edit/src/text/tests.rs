//! Edits against a slow oracle, and the changes they leave.

use super::*;

/// The same, byte by byte.
fn slow(text: &[u8], old: &[u8], new: &[u8], which: Occurrences) -> Option<Vec<u8>> {
    let starts: Vec<usize> = (0..text.len()).filter(|&at| text[at..].starts_with(old)).collect();
    if starts.is_empty() || (which == Occurrences::One && starts.len() > 1) {
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

/// The changes are in order, apart by a line end, and everything between them is the same on both sides.
fn sound(text: &Text) {
    let (original, current) = (text.original(), text.current());
    let (mut old, mut new) = (0, 0);
    for (n, change) in text.changes().iter().enumerate() {
        let between = &original[old..change.old.start];
        assert_eq!(between, &current[new..change.new.start], "{:?}", text.changes());
        assert!(n == 0 || between.contains(&b'\n'), "{:?}", text.changes());
        (old, new) = (change.old.end, change.new.end);
    }
    assert_eq!(original[old..], current[new..], "{:?}", text.changes());
}

#[test]
fn edits_agree_with_the_oracle() {
    let mut random = crate::testing::Random::new(1);
    let (mut made, mut refused) = (0, 0);
    for round in 0..30_000 {
        let mut text = Text::new(random.bytes(b"ab\n", 30));
        let mut expected = text.original().to_vec();
        for _ in 0..1 + random.below(5) {
            let old = [random.bytes(b"ab\n", 1), random.bytes(b"ab\n", 3)].concat();
            if old.is_empty() {
                continue;
            }
            let new = random.bytes(b"abc\n", 4);
            let which = if random.below(2) == 0 { Occurrences::One } else { Occurrences::All };
            match slow(&expected, &old, &new, which) {
                Some(result) => {
                    expected = result;
                    assert!(text.edit(&old, &new, which).is_ok(), "round {round}");
                    made += 1;
                }
                None => {
                    assert!(text.edit(&old, &new, which).is_err(), "round {round}");
                    refused += 1;
                }
            }
            assert_eq!(text.current(), expected, "round {round}");
            sound(&text);
        }
    }
    assert!(made > 10_000 && refused > 10_000, "{made} made, {refused} refused");
}

#[test]
fn overlapping_occurrences_are_several_and_are_replaced_from_the_left() {
    let mut text = Text::new(b"aaa".to_vec());
    assert_eq!(text.edit(b"aa", b"b", Occurrences::One), Err(Why::Several(vec![0, 1])));
    assert_eq!(text.edit(b"aa", b"b", Occurrences::All), Ok(1));
    assert_eq!(text.current(), b"ba");
}

#[test]
fn later_edits_see_what_earlier_ones_left() {
    let mut text = Text::new(b"one\ntwo\n".to_vec());
    assert_eq!(text.edit(b"one", b"two", Occurrences::One), Ok(1));
    assert_eq!(text.edit(b"two", b"three", Occurrences::One), Err(Why::Several(vec![0, 4])));
    assert_eq!(text.edit(b"two", b"three", Occurrences::All), Ok(2));
    assert_eq!(text.edit(b"one", b"x", Occurrences::One), Err(Why::Absent));
    assert_eq!(text.current(), b"three\nthree\n");
}

#[test]
fn counting_and_growing_have_an_end() {
    let mut text = Text::new(vec![b'a'; 1 << 20]);
    let Err(Why::Several(found)) = text.edit(b"a", b"b", Occurrences::One) else { panic!("several") };
    assert_eq!(found.len(), COUNTED_MAX + 1);
    let too_long = text.edit(b"a", &[b'b'; 17], Occurrences::All);
    assert_eq!(too_long, Err(Why::TooLong(17 << 20)));
    assert_eq!(text.current(), text.original());
    assert_eq!(text.edit(b"a", &[b'b'; 16], Occurrences::All), Ok(1 << 20));
    assert_eq!(text.current().len(), TEXT_BYTES_MAX);
}

#[test]
fn more_changes_than_are_kept_apart_are_still_sound() {
    let mut text = Text::new(b"a\nb\n".repeat(200_000));
    assert_eq!(text.edit(b"a", b"long", Occurrences::All), Ok(200_000));
    sound(&text);
    assert_eq!(text.edit(b"b", b"", Occurrences::All), Ok(200_000));
    sound(&text);
    assert!(text.changes().len() <= 65_536);
}
