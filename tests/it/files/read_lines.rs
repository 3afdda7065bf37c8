//! `file_read` by lines: counted from the beginning however long the file is, in little memory.

use super::check::{home, patient, refuses};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use support::home::Home;

fn lines(home: &Home, path: &str, range: &str) -> Value {
    let ran = home.call(&["file_read", &format!("path={path}"), &format!("lines={range}")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

#[test]
fn ranges_that_mean_nothing_are_refused() {
    let home = home();
    fs::write(home.host("/shared/a"), "1\n2\n").expect("writable");
    for bad in [
        &["lines={\"from\":0}"][..],
        &["lines={\"from\":-1}"],
        &["lines={\"from\":2,\"to\":1}"],
        &["lines={\"to\":1}"],
        &["lines={\"from\":1,\"until\":2}"],
        &["lines=3"],
        &["lines={\"from\":1}", "offset=0"],
        &["lines={\"from\":1}", "length=5"],
    ] {
        refuses(&home, "invalid_arguments", &[&["file_read", "path=/shared/a"], bad].concat());
    }
    refuses(&home, "is_a_directory", &["file_read", "path=/shared", "lines={\"from\":1}"]);
}

#[test]
fn lines_of_a_file() {
    let home = home();
    fs::write(home.host("/shared/a"), "one\r\ntwö\n\nfour").expect("writable");
    let check = |range: &str, content: &str, offset: u64, told: Value| {
        let found = lines(&home, "/shared/a", range);
        assert_eq!(
            (&found["content"], &found["offset"]),
            (&json!(content), &json!(offset)),
            "{range}: {found}"
        );
        assert_eq!(found["lines"], told, "{range}: {found}");
        assert_eq!(found["total_bytes"], 15);
    };
    check("{\"from\":1,\"to\":1}", "one\r\n", 0, json!({ "from": 1, "to": 1, "more": true, "cut": false }));
    check("{\"from\":2,\"to\":3}", "twö\n\n", 5, json!({ "from": 2, "to": 3, "more": true, "cut": false }));
    check(
        "{\"from\":3}",
        "\nfour",
        10,
        json!({ "from": 3, "to": 4, "more": false, "cut": false, "total": 4 }),
    );
    check(
        "{\"from\":5,\"to\":9}",
        "",
        15,
        json!({ "from": 5, "to": 4, "more": false, "cut": false, "total": 4 }),
    );
    fs::write(home.host("/shared/b"), b"a\n\xff\xfe\nb\n").expect("writable");
    let found = lines(&home, "/shared/b", "{\"from\":2,\"to\":2}");
    assert_eq!(found["content_base64"], STANDARD.encode(b"\xff\xfe\n"), "{found}");
}

#[test]
fn too_many_lines_end_with_a_whole_one_and_go_on() {
    let home = home();
    let all: String = (1..=30_000).map(|n| format!("this is line {n:06}\n")).collect();
    fs::write(home.host("/shared/a"), &all).expect("writable");
    let (mut joined, mut from) = (String::new(), 1);
    loop {
        let found = lines(&home, "/shared/a", &format!("{{\"from\":{from}}}"));
        joined.push_str(found["content"].as_str().expect("text"));
        from = found["lines"]["to"].as_u64().expect("a number") + 1;
        if found["lines"]["more"] == false {
            break;
        }
    }
    assert!(joined == all && from == 30_001, "{from}");
}

#[test]
fn lines_at_the_end_of_a_gigabyte_and_one_line_of_a_gigabyte() {
    let home = patient("file_read");
    let mut huge = File::create(home.host("/shared/huge")).expect("writable");
    huge.write_all(b"first\n").expect("writable");
    huge.set_len((1 << 30) - 12).expect("sparse files are possible");
    huge.seek(SeekFrom::End(0)).expect("ours");
    huge.write_all(b"\nthird\nlast\n").expect("writable");
    // The memory of the tool is 32 MiB, by its policy: more would end it.
    let found = lines(&home, "/shared/huge", "{\"from\":3}");
    assert_eq!(found["content"], "third\nlast\n");
    assert_eq!((&found["offset"], &found["lines"]["total"]), (&json!((1 << 30) - 11), &json!(4)));
    let long = lines(&home, "/shared/huge", "{\"from\":2,\"to\":3}");
    assert_eq!(long["lines"], json!({ "from": 2, "to": 2, "more": true, "cut": true }));
    assert_eq!(
        (&long["bytes"], &long["offset"], &long["truncated"]),
        (&json!(256 << 10), &json!(6), &json!(true))
    );
}
