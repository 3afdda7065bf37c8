//! What a call means, from its JSON.

use super::wanted;
use crate::Arguments;
use cofferdam_sdk::serde_json;

/// The files as `path name type`, `-` for what is not given; or what is said against them.
fn check(arguments: &str, expected: &[&str]) {
    let arguments: Arguments = serde_json::from_str(arguments).expect("they fit the schema");
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    match wanted(arguments) {
        Ok(files) => {
            let found: Vec<_> = files
                .iter()
                .map(|f| format!("{} {} {}", f.path, shown(&f.name), shown(&f.mime_type)))
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
