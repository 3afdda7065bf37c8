//! `cargo xtask dist check`: what `dist` made, as people meet it: checked, installed, refused when
//! it was changed, and run in a root with nothing else in it.

use crate::dist::{architectures, dir};
use crate::steps::{cargo, step, target_dir};
use crate::{debian, setup};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn run(named: &[&str]) -> Result<(), String> {
    let architectures = architectures(named)?;
    step(
        "checksums",
        Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(dir()),
    )?;
    image()?;
    let here = target_dir().join("dist-check");
    let _ = fs::remove_dir_all(&here);
    fs::create_dir_all(&here).map_err(|e| e.to_string())?;
    if architectures.contains(&std::env::consts::ARCH) {
        install(&here)?;
        in_empty_root(&here)?;
        demo(&here)?;
    }
    for arch in architectures.into_iter().filter(|arch| *arch != std::env::consts::ARCH) {
        in_a_machine(arch, &here)?;
    }
    println!("\nWhat is in {} installs and runs.", dir().display());
    Ok(())
}

/// The image layout is read back by our own check, and by skopeo where there is one.
fn image() -> Result<(), String> {
    let mut verify = cargo(&["run", "--quiet", "--locked", "--release", "-p", "cofferdam-dist", "--"]);
    step("image layout", verify.arg("verify").arg(dir()))?;
    if let Err(why) = setup::program("skopeo", "skopeo") {
        println!("    {why}; skopeo has not read the image layout");
        return Ok(());
    }
    let copied = target_dir().join("dist-check-image");
    let _ = fs::remove_dir_all(&copied);
    let mut skopeo = Command::new("skopeo");
    // Nothing is signed, which the policy of a machine may want.
    skopeo.args(["--insecure-policy", "copy", "--all", "--quiet"]);
    skopeo.arg(format!("oci:{}", dir().join("oci").display())).arg(format!("oci:{}", copied.display()));
    step("skopeo copies all of the image", &mut skopeo)?;
    fs::remove_dir_all(&copied).map_err(|e| e.to_string())
}

/// The installer takes what is whole, and nothing else.
fn install(here: &Path) -> Result<(), String> {
    let script = |from: &Path, prefix: &Path| {
        let mut sh = Command::new("sh");
        sh.arg(dir().join("install.sh")).arg("--from").arg(from).arg("--prefix").arg(prefix);
        sh
    };
    step("install", &mut script(&dir(), &here.join("installed")))?;
    let changed = here.join("changed");
    fs::create_dir_all(&changed).map_err(|e| e.to_string())?;
    for name in files(&dir())? {
        fs::copy(dir().join(&name), changed.join(&name)).map_err(|e| e.to_string())?;
        if name.ends_with("-linux-musl.tar.gz") {
            use std::io::Write;
            let mut tarball = fs::File::options().append(true).open(changed.join(&name));
            tarball.as_mut().map_err(|e| e.to_string())?.write_all(b"\0").map_err(|e| e.to_string())?;
        }
    }
    let prefix = here.join("refused");
    let refused = output(&mut script(&changed, &prefix))?;
    let said = String::from_utf8_lossy(&refused.stderr);
    if refused.status.success() || !said.contains("checksum") || prefix.exists() {
        return Err(format!("a changed tarball was not refused: {refused:?}"));
    }
    println!("    a changed tarball is refused: {}", said.trim());
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<String>, String> {
    let entries =
        fs::read_dir(folder).map_err(|e| format!("{}: {e}; run: cargo xtask dist", folder.display()))?;
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    Ok(entries
        .flatten()
        .filter(is_file)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect())
}

/// Runs a program in a mount namespace whose root can only be read, as that of the image: it has
/// the program, the folder of its configuration, an empty `/tmp`, and what every container has:
/// `/proc`, `/dev/null` and `/dev/urandom`. No loader, no library, no shell, no `/etc`.
const IN_EMPTY_ROOT: &str = r#"#!/bin/sh
set -eu
if [ "${1-}" != --inside ]; then
    account=
    [ "$(id -u)" -eq 0 ] || account=--map-root-user
    # shellcheck disable=SC2086
    exec unshare $account --mount --propagation private "$0" --inside "$@"
fi
shift
root=ROOT
folder=
before=
for argument do
    [ "$before" != --config ] || folder=$(dirname -- "$argument")
    before=$argument
done
mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir -p "$root/proc" "$root/dev" "$root/tmp"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir -p "$root$folder"
: >"$root/cofferdam"
for device in null urandom; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount --bind PROGRAM "$root/cofferdam"
mount --rbind /proc "$root/proc"
[ -z "$folder" ] || mount --bind "$folder" "$root$folder"
mount -o remount,ro "$root"
if touch "$root/written" 2>/dev/null; then
    echo "the root can be written" >&2
    exit 1
fi
exec chroot "$root" /cofferdam "$@"
"#;

/// Calls, the audit and `doctor` where there is nothing but the program.
fn in_empty_root(here: &Path) -> Result<(), String> {
    let program = empty_root(here, &here.join("installed/bin/cofferdam"))?;
    let config = configuration(&here.join("home"), "[isolation]\nrequire = true\n")?;
    println!("\n==> in an empty root");
    let cofferdam = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--config").arg(&config).args(arguments);
        command
    };
    for (arguments, expected) in STEPS {
        let done = output(&mut cofferdam(arguments))?;
        let said = String::from_utf8_lossy(&done.stdout);
        if !done.status.success() || !said.contains(expected) {
            return Err(format!("{arguments:?} does not end well with {expected:?}: {done:?}"));
        }
        println!("    cofferdam {}: {}", arguments.join(" "), said.trim());
    }
    Ok(())
}

/// The script that runs `program` so, in this folder.
fn empty_root(here: &Path, program: &Path) -> Result<PathBuf, String> {
    let (root, script) = (here.join("root"), here.join("cofferdam"));
    fs::create_dir_all(&root).map_err(|e| e.to_string())?;
    let text = IN_EMPTY_ROOT.replace("ROOT", &root.display().to_string());
    setup::write_program(&script, &text.replace("PROGRAM", &program.display().to_string()))?;
    Ok(script)
}

/// A configuration with workspace and state beside it.
fn configuration(home: &Path, more: &str) -> Result<PathBuf, String> {
    let file = home.join("cofferdam.toml");
    let text = format!("[workspace]\nroot = \"workspace\"\n[state]\ndir = \"state\"\n{more}");
    fs::create_dir_all(home).and_then(|()| fs::write(&file, text)).map_err(|e| e.to_string())?;
    Ok(file)
}

/// A file is written, read, and found in the audit: each with what it says. `doctor` finds no
/// problem, since everything is confined.
const STEPS: [(&[&str], &str); 5] = [
    (&["--version"], "cofferdam "),
    (&["call", "file_write", "path=/shared/hello.txt", "content=hello"], "\"path\":\"/shared/hello.txt\""),
    (&["call", "file_read", "path=/shared/hello.txt"], "hello"),
    (&["audit", "verify"], "audit ok"),
    (&["doctor"], ""),
];

/// One real turn: the demo looks for the program beside itself, and finds the one in the empty
/// root.
fn demo(here: &Path) -> Result<(), String> {
    setup::guest_target()?;
    step("build the demo", &mut cargo(&["build", "--locked", "-p", "cofferdam-tests", "--bin", "demo"]))?;
    fs::copy(target_dir().join("debug/demo"), here.join("demo")).map_err(|e| e.to_string())?;
    step("one real turn in the empty root", &mut Command::new(here.join("demo")))
}

/// The first process of an emulated machine, which runs the program in a root with nothing else in
/// it.
const INIT: &str = r#"#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
$b mount -t tmpfs -o mode=755 root /root
for folder in proc dev tmp home; do $b mkdir /root/$folder; done
$b mount -t proc proc /root/proc
for device in null urandom; do
    : >/root/dev/$device
    $b mount -o bind /dev/$device /root/dev/$device
done
$b cp /cofferdam /root/
$b cp /cofferdam.toml /root/home/
$b ip link set lo up
run() {
    echo "==> $*"
    $b chroot /root /cofferdam --config /home/cofferdam.toml "$@"
    echo "<== $?"
}
"#;

/// Longer than it takes to boot and to call, emulated and on a busy machine.
const MACHINE_SECONDS: &str = "900";

/// The same calls, and `doctor`, of a program for aarch64 in a whole machine with Debian's kernel:
/// an emulator of single programs has neither seccomp filters nor Landlock.
fn in_a_machine(arch: &str, here: &Path) -> Result<(), String> {
    if arch != "aarch64" {
        return Err(format!("a program for {arch} is checked on a machine of that architecture"));
    }
    let tarball =
        files(&dir())?.into_iter().find(|name| name.ends_with(&format!("-{arch}-linux-musl.tar.gz")));
    let tarball = tarball.ok_or(format!("there is no tarball for {arch}; run: cargo xtask dist {arch}"))?;
    step("unpack", Command::new("tar").arg("-xzf").arg(dir().join(&tarball)).arg("-C").arg(here))?;
    let machine = debian::machine()?;
    let root = here.join("machine");
    let config = configuration(&root, "[isolation]\nrequire = true\n")?;
    let program = here.join(tarball.trim_end_matches(".tar.gz")).join("cofferdam");
    let copied = ["bin", "proc", "dev", "root"].iter().try_for_each(|dir| fs::create_dir_all(root.join(dir)));
    copied
        .and_then(|()| fs::copy(&program, root.join("cofferdam")))
        .and_then(|_| fs::copy(&machine.busybox, root.join("bin/busybox")))
        .map_err(|e| format!("cannot fill {}: {e}", config.display()))?;
    let runs = STEPS.map(|(arguments, _)| format!("run {}\n", arguments.join(" "))).concat();
    setup::write_program(&root.join("init"), &format!("{INIT}{runs}$b poweroff -f\n"))?;
    let disk = here.join("machine.cpio");
    let mut pack = Command::new("sh");
    pack.args(["-c", "find . | cpio --quiet --create --format=newc >\"$1\"", "pack"]).arg(&disk);
    step("pack the machine's first disk", pack.current_dir(&root))?;
    println!("\n==> {arch}, in a machine");
    let mut qemu = Command::new("timeout");
    qemu.args([MACHINE_SECONDS, "qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-smp", "2"]);
    qemu.args(["-m", "1024", "-nic", "none", "-nographic", "-no-reboot"]).arg("-kernel").arg(machine.kernel);
    qemu.arg("-initrd").arg(disk).args(["-append", "console=ttyAMA0 quiet panic=-1"]);
    let booted = output(qemu.stdin(std::process::Stdio::null()))?;
    let screen = String::from_utf8_lossy(&booted.stdout).replace('\r', "");
    for (arguments, expected) in STEPS {
        let run =
            screen.split("==> ").find_map(|run| run.strip_prefix(&format!("{}\n", arguments.join(" "))));
        let (said, code) = run.and_then(|run| run.split_once("<== ")).unwrap_or_default();
        if !code.starts_with("0\n") || !said.contains(expected) {
            return Err(format!("{arguments:?} does not end well with {expected:?}: {booted:?}"));
        }
        println!("    cofferdam {}: {}", arguments.join(" "), said.trim());
    }
    Ok(())
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|e| format!("cannot start {command:?}: {e}"))
}
