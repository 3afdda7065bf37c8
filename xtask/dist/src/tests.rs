//! The installer, on a release of a stand-in: what is whole is installed, and nothing else.

use crate::pack;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that goes with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("cofferdam-install-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        Self(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Packs a release of two lines for this machine.
fn release(dir: &Path) -> PathBuf {
    let (parts, out) = (dir.join("parts"), dir.join("release"));
    for folder in [&parts, &out] {
        fs::create_dir_all(folder).expect("a folder");
    }
    fs::write(parts.join("cofferdam"), "a stand-in").expect("written");
    fs::write(parts.join("cofferdam.debug"), "its debug information").expect("written");
    let arguments = [
        out.display().to_string(),
        "0".to_owned(),
        format!("{}={}", std::env::consts::ARCH, parts.display()),
    ];
    pack(&arguments).expect("packed");
    out
}

fn install(from: &str, prefix: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
    let mut sh = Command::new("sh");
    sh.arg(script).args(["--from", from]).arg("--prefix").arg(prefix);
    sh.output().expect("sh runs")
}

fn refused(from: &str, prefix: &Path, why: &str) {
    let refused = install(from, prefix);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains(why), "not refused with {why:?}: {refused:?}");
    assert!(!prefix.exists(), "something was installed");
}

/// What is in the tarball: nothing else, and the licence of each part.
fn has_what_people_are_owed(from: &Path) {
    let is_tarball = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with("-linux-musl.tar.gz")
    };
    let entries = fs::read_dir(from).expect("there").flatten().map(|entry| entry.path());
    let tarball = entries.into_iter().find(is_tarball).expect("a tarball");
    let tar = |flag: &str, name: &[&str]| {
        let output = Command::new("tar").arg(flag).arg(&tarball).args(name).output().expect("tar runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let listed = tar("-tzf", &[]);
    let mut names: Vec<&str> =
        listed.lines().filter_map(|line| line.split_once('/').map(|(_, name)| name)).collect();
    names.sort_unstable();
    assert_eq!(names, ["LICENSE", "LICENSES.txt", "README.md", "cofferdam", "sbom.cdx.json"]);
    let within = |name: &str| {
        listed.lines().find(|line| line.ends_with(&format!("/{name}"))).expect("listed").to_owned()
    };
    let licenses = tar("-xzOf", &[&within("LICENSES.txt")]);
    for part in ["the C library musl", "\nwasmtime ", "\nring ", "\ncranelift-codegen "] {
        assert!(licenses.contains(part), "{part:?} is missing");
    }
    // Each text that a line of the table names by its number is there.
    let (table, _) = licenses.split_once("\n====").expect("texts below the table");
    let numbers = table.split('[').skip(1).filter_map(|rest| rest.split(']').next()?.parse::<usize>().ok());
    let mut named = 0;
    for number in numbers {
        assert!(licenses.contains(&format!("\n[{number}]\n\n")), "the text of [{number}] is missing");
        named += 1;
    }
    assert!(named > 100, "{named}");
    let bill: serde_json::Value =
        serde_json::from_str(&tar("-xzOf", &[&within("sbom.cdx.json")])).expect("JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
}

/// What lies beside the program's place under any name stays as it is.
fn takes_a_name_of_its_own(dir: &Path, from: &str) {
    let (bin, other) = (dir.join("shared/bin"), dir.join("other"));
    fs::create_dir_all(&bin).expect("a folder");
    fs::write(&other, "kept").expect("written");
    std::os::unix::fs::symlink(&other, bin.join(".cofferdam-new")).expect("written");
    let installed = install(from, &dir.join("shared"));
    assert!(installed.status.success(), "{installed:?}");
    assert_eq!(fs::read_to_string(&other).expect("there"), "kept");
    let program = fs::symlink_metadata(bin.join("cofferdam")).expect("the program");
    assert!(program.is_file() && program.permissions().mode() & 0o777 == 0o755, "{program:?}");
    assert_eq!(fs::read_dir(&bin).expect("there").count(), 2, "something else is left");
}

#[test]
fn the_installer_takes_what_is_whole_and_nothing_else() {
    let dir = Folder::new();
    let from = release(&dir.0);
    let shown = from.display().to_string();
    let prefix = dir.0.join("installed");
    let installed = install(&shown, &prefix);
    assert!(installed.status.success(), "{installed:?}");
    let program = fs::read_to_string(prefix.join("bin/cofferdam")).expect("the program");
    assert_eq!(program, "a stand-in");
    has_what_people_are_owed(&from);
    takes_a_name_of_its_own(&dir.0, &shown);

    let prefix = dir.0.join("refused");
    let sums = fs::read_to_string(from.join("SHA256SUMS")).expect("the checksums");
    let is_tarball = |line: &&str| line.contains("-linux-musl.tar.gz");
    let line = sums.lines().find(is_tarball).expect("the tarball's");
    let with_sums = |text: &str| fs::write(from.join("SHA256SUMS"), text).expect("written");
    with_sums(&sums.lines().filter(|line| !is_tarball(line)).collect::<Vec<_>>().join("\n"));
    refused(&shown, &prefix, "names no tarball");
    with_sums(&format!("{sums}{line}\n"));
    refused(&shown, &prefix, "names several");
    with_sums(&sums.replace("  cofferdam-", "  ../cofferdam-"));
    refused(&shown, &prefix, "names no tarball");
    with_sums(&sums);
    refused("http://127.0.0.1/release", &prefix, "only https://");
    refused(&dir.0.join("nowhere").display().to_string(), &prefix, "cannot get SHA256SUMS");

    let tarball = from.join(line.split_once("  ").expect("a name").1);
    let mut bytes = fs::read(&tarball).expect("the tarball");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&tarball, bytes).expect("changed");
    refused(&shown, &prefix, "the checksum of");
}
