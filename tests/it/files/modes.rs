//! Permissions: new files get 0666 less the umask, replaced ones keep what they had, and no file
//! becomes one that runs as somebody else.

use super::check::{home, save, works};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use support::home::{Home, Ran};

fn save_under(home: &Home, umask: &str, path: &str) -> Ran {
    let file = home.file("sent", b"new");
    let script = format!("umask {umask}; exec \"$@\"");
    let mut arguments = vec!["call"];
    arguments.extend(save(path, "overwrite=true", &file));
    home.command_under(&["sh", "-c", &script, "sh"], &arguments).output().expect("a shell").into()
}

fn mode(home: &Home, guest: &str) -> String {
    format!("{:o}", fs::metadata(home.host(guest)).expect("there").mode() & 0o7777)
}

#[test]
fn a_new_file_follows_the_umask() {
    let home = home();
    for (umask, file, folder) in
        [("022", "644", "755"), ("077", "600", "700"), ("002", "664", "775"), ("027", "640", "750")]
    {
        let ran = save_under(&home, umask, &format!("path=/shared/u{umask}/a"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(mode(&home, &format!("/shared/u{umask}/a")), file, "umask {umask}");
        assert_eq!(mode(&home, &format!("/shared/u{umask}")), folder, "umask {umask}");
    }
    works(&home);
}

#[test]
fn a_replaced_file_keeps_its_mode_less_the_special_bits() {
    let home = home();
    for (before, after) in [
        (0o600, "600"),
        (0o640, "640"),
        (0o755, "755"),
        (0o444, "444"),
        (0o4755, "755"),
        (0o2755, "755"),
        (0o1644, "644"),
    ] {
        for umask in ["022", "077"] {
            let guest = format!("/shared/m{before:o}-{umask}");
            fs::write(home.host(&guest), "old").expect("writable");
            fs::set_permissions(home.host(&guest), Permissions::from_mode(before)).expect("ours");
            let ran = save_under(&home, umask, &format!("path={guest}"));
            assert_eq!(ran.code, Some(0), "{ran:?}");
            assert_eq!(fs::read(home.host(&guest)).expect("there"), b"new");
            assert_eq!(mode(&home, &guest), after, "{before:o} under umask {umask}");
        }
    }
    works(&home);
}
