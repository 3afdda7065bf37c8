//! What a call means, from its JSON.

use super::wanted;
use crate::Arguments;
use cofferdam_sdk::reply::Source;
use cofferdam_sdk::serde_json;

/// The files as `path name type`, with the bytes in the path's place where they are there, and `-`
/// for what is not given; or what is said against them.
fn check(arguments: &str, expected: &[&str]) {
    let arguments: Arguments = serde_json::from_str(arguments).expect("they fit the schema");
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let source = |source: &Source| match source {
        Source::Path(path) => path.clone(),
        Source::Contents(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
    };
    match wanted(arguments) {
        Ok(files) => {
            let found: Vec<_> = files
                .iter()
                .map(|f| format!("{} {} {}", source(&f.source), shown(&f.name), shown(&f.mime_type)))
                .collect();
            assert_eq!(found, expected);
        }
        Err(error) => {
            for part in expected {
                assert!(error.message.contains(part), "{part:?} is not in {:?}", error.message);
            }
        }
    }
}

#[test]
fn one_file_many_files_and_both() {
    check(r#"{"path":"/shared/a"}"#, &["/shared/a - -"]);
    check(r#"{"paths":"/shared/a"}"#, &["/shared/a - -"]);
    check(
        r#"{"paths":["/shared/a","/tmp/b","/shared/a"]}"#,
        &["/shared/a - -", "/tmp/b - -", "/shared/a - -"],
    );
    check(r#"{"path":"/shared/ignored","paths":["/shared/a"]}"#, &["/shared/a - -"]);
    check(r#"{"path":"/shared/a","paths":null,"filename":null}"#, &["/shared/a - -"]);
}

#[test]
fn names_and_types_belong_to_the_paths_by_position() {
    check(r#"{"path":"/shared/a","filename":"b","mimeType":"text/csv"}"#, &["/shared/a b text/csv"]);
    check(
        r#"{"paths":["/shared/a","/shared/b","/shared/c"],"filenames":[null,"x"],"mimeTypes":["t/u"]}"#,
        &["/shared/a - t/u", "/shared/b x -", "/shared/c - -"],
    );
    check(r#"{"paths":["/shared/a"],"filename":"x"}"#, &["/shared/a x -"]);
    check(r#"{"paths":["/shared/a","/shared/b"],"filenames":"x"}"#, &["/shared/a x -", "/shared/b - -"]);
    check(r#"{"path":"/shared/a","filename":"x","filenames":["y"]}"#, &["/shared/a y -"]);
}

#[test]
fn what_could_mean_two_things_is_refused() {
    check("{}", &["no file is named"]);
    check(r#"{"paths":[]}"#, &["no file is named"]);
    check(r#"{"path":"/shared/a","paths":[]}"#, &["no file is named"]);
    check(
        r#"{"paths":["/shared/a","/shared/b"],"filename":"x"}"#,
        &["\"filename\" is for one file", "\"filenames\""],
    );
    check(
        r#"{"path":"/shared/a","mimeTypes":["a/b","c/d"]}"#,
        &["more entries (2) than there are files (1)"],
    );
}

#[test]
fn one_file_that_the_call_brings() {
    check(r#"{"content":"a,b\n","filename":"t.csv"}"#, &[r#""a,b\n" t.csv -"#]);
    check(r#"{"contentBase64":"YSxi","filename":"t","mimeType":"text/csv"}"#, &[r#""a,b" t text/csv"#]);
    check(r#"{"content":"x","filenames":["t.txt"],"mimeTypes":[null],"path":null}"#, &[r#""x" t.txt -"#]);
    check(r#"{"content":"x","filename":" Report May.txt"}"#, &[r#""x"  Report May.txt -"#]);
}

#[test]
fn two_sources_are_one_too_many() {
    for also in [r#""path":"/shared/a""#, r#""paths":["/shared/a"]"#, r#""paths":[]"#] {
        let both = format!(r#"{{"content":"x","filename":"t.txt",{also}}}"#);
        check(&both, &["a path and a content are both given", "a call for each"]);
    }
    check(
        r#"{"content":"x","contentBase64":"eA==","filename":"t.txt"}"#,
        &["\"content\" and \"contentBase64\" are both given"],
    );
    check(r#"{"content":"x","filenames":["a","b"]}"#, &["more entries (2) than there are files (1)"]);
    check(r#"{"filename":"t.txt"}"#, &["no file is named", "\"content\""]);
}
