//! `cargo xtask dist check`: what `dist` made, as people meet it: checked, installed, refused when it was changed, and run
//! in a root with nothing else in it.

use crate::dist::{architectures, dir};
use crate::setup;
use crate::steps::{cargo, step, target_dir};
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
        under_qemu(arch, &here)?;
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

/// Runs a program in a mount namespace whose root has the program, the folder of its configuration, an empty
/// `/tmp`, and what every container has: `/proc`, `/dev/null` and `/dev/urandom`. No loader, no library, no shell, no `/etc`.
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
mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root$folder"
: >"$root/cofferdam"
for device in null urandom; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount --bind PROGRAM "$root/cofferdam"
mount --rbind /proc "$root/proc"
[ -z "$folder" ] || mount --bind "$folder" "$root$folder"
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
    calls(cofferdam)?;
    let doctor = output(&mut cofferdam(&["doctor"]))?;
    println!("{}", String::from_utf8_lossy(&doctor.stdout));
    if !doctor.status.success() {
        return Err(format!("doctor finds a problem: {doctor:?}"));
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

/// A file is written, read, and found in the audit.
fn calls(cofferdam: impl Fn(&[&str]) -> Command) -> Result<(), String> {
    let steps: [(&[&str], &str); 4] = [
        (&["--version"], "cofferdam "),
        (
            &["call", "file_write", "path=/shared/hello.txt", "content=hello"],
            "\"path\":\"/shared/hello.txt\"",
        ),
        (&["call", "file_read", "path=/shared/hello.txt"], "hello"),
        (&["audit", "verify"], "audit ok"),
    ];
    for (arguments, expected) in steps {
        let done = output(&mut cofferdam(arguments))?;
        let said = String::from_utf8_lossy(&done.stdout);
        if !done.status.success() || !said.contains(expected) {
            return Err(format!("{arguments:?} does not say {expected:?}: {done:?}"));
        }
        println!("    cofferdam {}: {}", arguments.join(" "), said.trim());
    }
    Ok(())
}

/// One real turn: the demo looks for the program beside itself, and finds the one in the empty root.
fn demo(here: &Path) -> Result<(), String> {
    setup::guest_target()?;
    step("build the demo", &mut cargo(&["build", "--locked", "-p", "cofferdam-tests", "--bin", "demo"]))?;
    fs::copy(target_dir().join("debug/demo"), here.join("demo")).map_err(|e| e.to_string())?;
    step("one real turn in the empty root", &mut Command::new(here.join("demo")))
}

/// The emulator runs programs of another architecture, and whatever they start, in a user namespace: the machine's own
/// table of interpreters stays as it is.
const UNDER_QEMU: &str = r#"#!/bin/sh
set -eu
if [ "${1-}" != --inside ]; then
    exec unshare --user --map-root-user --mount --propagation private "$0" --inside "$@"
fi
shift
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
# The head of an ELF program of 64 bits for this machine. F: the emulator is opened now; OC: it is handed the program.
printf '%s' ':cofferdam:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00MACHINE\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:QEMU:OCF' \
    >/proc/sys/fs/binfmt_misc/register
exec PROGRAM "$@"
"#;

/// Calls of the program of another architecture in an empty root, as far as a user-mode emulator goes: it has neither
/// seccomp filters nor Landlock, so that nothing is confined here.
fn under_qemu(arch: &str, here: &Path) -> Result<(), String> {
    let here = here.join(arch);
    fs::create_dir_all(&here).map_err(|e| e.to_string())?;
    let tarball =
        files(&dir())?.into_iter().find(|name| name.ends_with(&format!("-{arch}-linux-musl.tar.gz")));
    let tarball = tarball.ok_or(format!("there is no tarball for {arch}; run: cargo xtask dist {arch}"))?;
    step("unpack", Command::new("tar").arg("-xzf").arg(dir().join(&tarball)).arg("-C").arg(&here))?;
    let program = here.join(tarball.trim_end_matches(".tar.gz")).join("cofferdam");
    // As ELF numbers them.
    let machine = if arch == "aarch64" { r"\xb7" } else { r"\x3e" };
    let script = UNDER_QEMU
        .replace("MACHINE", machine)
        .replace("QEMU", &setup::qemu(arch)?.display().to_string())
        .replace("PROGRAM", &empty_root(&here, &program)?.display().to_string());
    let started = here.join("under-qemu");
    setup::write_program(&started, &script)?;
    let config = configuration(&here.join("home"), "[isolation]\nrequire = false\n")?;
    println!(
        "\n==> {arch} under QEMU, which confines nothing: neither seccomp filters nor Landlock are there"
    );
    calls(|arguments| {
        let mut command = Command::new(&started);
        command.arg("--config").arg(&config).args(arguments);
        command
    })
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|e| format!("cannot start {command:?}: {e}"))
}
