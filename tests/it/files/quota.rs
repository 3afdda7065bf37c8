//! Quotas: of the workspace, which deleting frees, and of one call.

use super::check::{bytes, refuses, save, saves, tree, with_folders, works};
use std::fs::{self, File};
use support::home::Home;

#[test]
fn the_workspace_holds_so_much_and_deleting_frees_it() {
    let home = with_folders(Home::new().config("[workspace]\nroot = \"workspace\"\nmax_bytes = \"1 MiB\"\n"));
    let file = home.file("large", &bytes(200 << 10));
    // What people put there counts as well, wherever it lies.
    fs::write(home.host("/vault/filler"), bytes(900 << 10)).expect("writable");
    let ran = refuses(&home, "quota_exceeded", &save("path=/shared/new/a", "overwrite=false", &file));
    assert!(ran.message().contains("workspace.max_bytes"), "{ran:?}");
    fs::remove_file(home.host("/vault/filler")).expect("there");
    saves(&home, "/shared/new/a", "overwrite=false", &bytes(200 << 10));
    works(&home);
}

#[test]
fn the_quota_is_exact() {
    let home =
        with_folders(Home::new().config("[workspace]\nroot = \"workspace\"\nmax_bytes = \"64 KiB\"\n"));
    let over = home.file("over", &bytes((64 << 10) + 1));
    let before = tree(&home.workspace());
    let ran = home.call(&save("path=/shared/a", "overwrite=false", &over));
    assert_eq!(ran.error(), "quota_exceeded", "{ran:?}");
    assert_eq!(tree(&home.workspace()), before);
    saves(&home, "/shared/a", "overwrite=false", &bytes(64 << 10));
    let one = home.file("one", b"1");
    let ran = home.call(&save("path=/tmp/b", "overwrite=false", &one));
    assert_eq!(ran.error(), "quota_exceeded", "{ran:?}");
    // Nothing needs nothing.
    saves(&home, "/tmp/empty", "overwrite=false", b"");
}

#[test]
fn a_sparse_file_counts_as_long_as_it_is() {
    let home = with_folders(Home::new().config("[workspace]\nroot = \"workspace\"\nmax_bytes = \"1 MiB\"\n"));
    let sparse = File::create(home.host("/shared/sparse")).expect("writable");
    sparse.set_len(1 << 30).expect("sparse files are possible");
    let file = home.file("sent", b"abc");
    assert_eq!(home.call(&save("path=/shared/a", "overwrite=false", &file)).error(), "quota_exceeded");
    fs::remove_file(home.host("/shared/sparse")).expect("there");
    works(&home);
}

#[test]
fn a_call_writes_what_its_policy_allows() {
    let text =
        fs::read_to_string(Home::new().own_policies().policies_dir().join("tools/attachment_save.toml"));
    let text = text.expect("the default policies are there").replace("\"50 MiB\"", "\"10 KiB\"");
    let home = with_folders(Home::new().policy("tools/attachment_save.toml", &text));
    let (over, fits) = (home.file("over", &bytes((10 << 10) + 1)), bytes(10 << 10));
    let ran = refuses(&home, "quota_exceeded", &save("path=/shared/a", "overwrite=false", &over));
    assert!(ran.message().contains("written_bytes"), "{ran:?}");
    saves(&home, "/shared/a", "overwrite=false", &fits);
}
