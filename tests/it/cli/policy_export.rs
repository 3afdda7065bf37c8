//! `policy export`: the embedded policies as files that the gateway accepts, and nothing that was
//! there lost.

use support::home::Home;

#[test]
fn what_is_exported_is_what_is_embedded() {
    let home = Home::new();
    let dir = home.state().join("mine");
    let named = dir.to_str().expect("plain text");
    let exported = home.run(&["policy", "export", named]);
    assert_eq!((exported.code, exported.stderr.as_str()), (Some(0), ""), "{exported:?}");
    assert!(exported.stdout.contains("cofferdam policy check"), "{exported:?}");
    let sha256 = |words: &[&str]| home.run(words).json()["policies_sha256"].clone();
    let embedded = sha256(&["policy", "show", "--json"]);
    assert_eq!(sha256(&["policy", "show", "--policies", named, "--json"]), embedded);
    assert!(embedded.is_string());
    let checked = home.run(&["policy", "check", named]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let diff = home.run(&["policy", "diff", named, named]);
    assert_eq!(diff.code, Some(0), "{diff:?}");
}

#[test]
fn the_command_that_checks_it_takes_any_folder() {
    let exported = Home::new().run(&["policy", "export", "my own"]);
    assert!(exported.stdout.contains("run `cofferdam policy check 'my own'`"), "{exported:?}");
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let home = Home::new();
    let dir = home.state().join("mine");
    std::fs::create_dir_all(&dir).expect("a folder");
    std::fs::write(dir.join("notes"), "kept").expect("writable");
    let refused = home.run(&["policy", "export", dir.to_str().expect("plain text")]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("is not empty; name a folder that does not exist yet"), "{refused:?}");
    let left: Vec<_> = std::fs::read_dir(&dir).expect("there").map(|e| e.expect("one").file_name()).collect();
    assert_eq!(left, ["notes"]);
}
