//! What comes from Debian and is not installed: packages, perhaps of another architecture, unpacked
//! into a folder.

use crate::setup::program;
use crate::steps::{output_of, root, step};
use std::path::{Path, PathBuf};
use std::process::Command;

/// This machine's architecture, by Debian's name.
const HERE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };

/// The emulator of programs of another architecture. It is static, so that it runs where nothing
/// else is, and knows `openat2`, which QEMU before 9.2 does not.
pub(crate) fn emulator(arch: &str) -> Result<PathBuf, String> {
    let program = root().join("target/tools/qemu/usr/bin").join(format!("qemu-{arch}"));
    let answers = || output_of(&program.display().to_string(), &["--version"]).is_some();
    if !answers() {
        unpack("qemu", HERE, &["qemu-user/bookworm-backports"])
            .map_err(|why| format!("{why}; put a static {} of QEMU 9.2 or newer there", program.display()))?;
    }
    if answers() { Ok(program) } else { Err(format!("{} does not run", program.display())) }
}

/// What a whole emulated machine of aarch64 needs besides its emulator.
pub(crate) struct Machine {
    pub(crate) kernel: PathBuf,
    /// A static busybox: the machine's `/init` is a script of its.
    pub(crate) busybox: PathBuf,
}

/// The newest kernel for this release of Debian: the release's own knows an older Landlock.
pub(crate) fn machine() -> Result<Machine, String> {
    program("qemu-system-aarch64", "qemu-system-arm")?;
    program("cpio", "cpio")?;
    let to = root().join("target/tools/machine");
    let found = || {
        let boot = std::fs::read_dir(to.join("boot")).ok()?;
        let mut files = boot.flatten().map(|entry| entry.path());
        let kernel = files.find(|file| file.display().to_string().contains("/vmlinuz-"))?;
        let busybox = to.join("bin/busybox");
        busybox.exists().then_some(Machine { kernel, busybox })
    };
    if found().is_none() {
        unpack("machine", "arm64", &["linux-image-cloud-arm64/bookworm-backports", "busybox-static"])?;
    }
    found().ok_or(format!("{} has no kernel or no busybox; remove that folder and try again", to.display()))
}

fn unpack(name: &str, arch: &str, packages: &[&str]) -> Result<(), String> {
    let to: &Path = &root().join("target/tools").join(name);
    std::fs::create_dir_all(to).map_err(|e| format!("cannot make {}: {e}", to.display()))?;
    let mut fetch = Command::new("sh");
    fetch.args(["-c", FETCH, "fetch", arch]).args(packages).current_dir(to);
    step(&format!("fetch {} (once)", packages.join(", ")), &mut fetch)
}

/// With sources, lists and cache of its own, apt leaves those of the machine as they are. It checks
/// Debian's signature. A package that stands for the newest of its kind, as a kernel's does, is
/// followed.
const FETCH: &str = r#"
set -eu
arch=$1
shift
mkdir -p lists/partial cache/archives/partial
: >status
keys=/usr/share/keyrings/debian-archive-keyring.gpg
for suite in bookworm bookworm-backports; do
    echo "deb [arch=$arch signed-by=$keys] http://deb.debian.org/debian $suite main"
done >sources.list
own() {
    "$@" -qq -o APT::Sandbox::User= -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
        -o Dir::Etc::SourceList="$PWD/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$PWD/lists" -o Dir::State::Status="$PWD/status" -o Dir::Cache="$PWD/cache"
}
own apt-get update
for package do
    case $package in
        linux-image-*) package=$(own apt-cache depends "$package" | sed -n 's/.*Depends: //p' | head -n 1) ;;
    esac
    own apt-get download "$package"
done
for file in *.deb; do
    dpkg-deb --extract "$file" .
done
rm -rf ./*.deb lists cache status sources.list
"#;
