//! `policy diff`: exit 3 when the new folder allows more, 0 when it does not, 2 when one does not
//! load.

use super::help::compare;
use super::line;
use std::path::PathBuf;
use support::home::Home;

/// The default policies in a folder of this name, changed.
fn changed(home: &Home, name: &str, file: &str, from: &str, to: &str) -> String {
    let dir: PathBuf = home.dir().join(name);
    for folder in ["profiles", "tools"] {
        std::fs::create_dir_all(dir.join(folder)).expect("writable");
        for entry in std::fs::read_dir(home.policies_dir().join(folder)).expect("there") {
            let entry = entry.expect("readable");
            std::fs::copy(entry.path(), dir.join(folder).join(entry.file_name())).expect("writable");
        }
    }
    let text = std::fs::read_to_string(dir.join(file)).expect("there");
    assert!(text.contains(from), "{from} in {file}");
    std::fs::write(dir.join(file), text.replace(from, to)).expect("writable");
    name.to_owned()
}

#[test]
fn the_exit_code_tells_whether_anything_widens() {
    let home = Home::new().own_policies();
    // The other tools under the same profile would have to change with it.
    for tool in ["file_info", "file_list", "file_search"] {
        std::fs::remove_file(home.policies_dir().join(format!("tools/{tool}.toml"))).expect("ours");
    }
    let save = "tools/attachment_save.toml";
    let write = "profiles/file-read-write.toml";
    let read = "profiles/file-read-only.toml";
    for (n, (code, file, from, to)) in [
        (3, read, "access = \"read-only\" },\n]", "access = \"atomic-write\" },\n]"),
        (3, read, "mounts = [", "mounts = [\n{ guest = \"/vault\", access = \"read-only\" },"),
        (3, save, "memory = \"32 MiB\"", "memory = \"33 MiB\""),
        (3, save, "index = \"value\"\n", ""),
        (3, save, "overwrite = \"value\"", "overwrite = \"content\"\nnew = \"value\""),
        (3, "tools/file_write_bytes.toml", "\"content\"", "\"value\""),
        (
            3,
            save,
            "component = \"builtin\"",
            &format!("component = {{ file = \"x.wasm\", sha256 = \"{}\" }}", "a".repeat(64)),
        ),
        (0, save, "memory = \"32 MiB\"", "memory = \"31 MiB\""),
        (0, save, "\"side-effecting\"", "\"privileged\""),
        (0, write, "interfaces = [\"turn-attachments\"]\n", ""),
        (0, save, "why = \"saves", "why = \"Saves"),
        (0, write, "why = \"tools", "# a remark\nwhy = \"tools"),
    ]
    .into_iter()
    .enumerate()
    {
        // A read-only tool does not load under a profile that may write.
        let safety = if n == 0 { "\"side-effecting\"" } else { "\"read-only\"" };
        let old = changed(&home, &format!("old{n}"), "tools/file_read.toml", "\"read-only\"", safety);
        let new = changed(&home, &format!("new{n}"), "tools/file_read.toml", "\"read-only\"", safety);
        let path = home.dir().join(&new).join(file);
        let text = std::fs::read_to_string(&path).expect("there");
        assert!(text.contains(from), "{from} in {file}");
        std::fs::write(&path, text.replace(from, to)).expect("writable");
        let ran = home.run(&["policy", "diff", &old, &new]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{to}: {ran:?}");
        assert_eq!(ran.stdout.contains("widens: "), code == 3, "{ran:?}");
        let json = line(&home.run(&["policy", "diff", &old, &new, "--json"]));
        assert_eq!(json["widens"], code == 3, "{json}");
        assert_eq!(home.run(&["policy", "diff", &new, &new]).stdout, "no difference in what is allowed\n");
    }
}

#[test]
fn a_folder_that_does_not_load_is_never_compared() {
    let home = Home::new().own_policies();
    let broken = changed(&home, "broken", "tools/file_read.toml", "schema = 1", "schema = 2");
    for (old, new, side) in
        [("policies", &*broken, "new"), (&*broken, "policies", "old"), ("policies", "nowhere", "new")]
    {
        let ran = home.run(&["policy", "diff", old, new]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(&format!("{side} policies: ")), "{ran:?}");
        let json = line(&home.run(&["policy", "diff", old, new, "--json"]));
        assert_eq!(json["problems"][0]["side"], side, "{json}");
    }
    assert!(
        home.run(&["policy", "diff", "policies", &broken]).stderr.contains("broken/tools/file_read.toml:1: ")
    );
}

#[test]
fn a_comparison_reads_as_reviewed() {
    let home = Home::new().own_policies();
    let mounts = "{ guest = \"/shared\", access = \"atomic-write\" },\n  { guest = \"/vault\", access = \"atomic-write\" },";
    let new = changed(
        &home,
        "new",
        "profiles/file-read-write.toml",
        "{ guest = \"/shared\", access = \"atomic-write\" },",
        mounts,
    );
    std::fs::remove_file(home.dir().join("new/tools/file_read.toml")).expect("ours");
    let save = home.dir().join("new/tools/attachment_save.toml");
    let text = std::fs::read_to_string(&save).expect("there");
    let text = text.replace("60s", "2m").replace("50 MiB", "1 MiB").replace("\"write\"", "\"write-below\"");
    std::fs::write(&save, text.replace("saves what", "keeps what")).expect("writable");
    compare("policy-diff", &home.run(&["policy", "diff", "policies", &new]).stdout);
}
