//! What a fresh machine lacks: the guests' target, and the tools that some tests need.

use crate::steps::{Step, beside, output_of, step};
use std::path::{Path, PathBuf};
use std::process::Command;

const GUESTS: &str = "wasm32-wasip2";

/// Adds the guests' target.
pub(crate) fn guest_target() -> Result<(), String> {
    target(GUESTS)
}

/// Adds a target if it is missing, and says so.
pub(crate) fn target(target: &str) -> Result<(), String> {
    if has_target(target) {
        return Ok(());
    }
    println!("The {target} target is missing; adding it with rustup.");
    step("rustup target add", Command::new("rustup").args(["target", "add", target]))?;
    if has_target(target) {
        Ok(())
    } else {
        Err(format!("{target} is still missing; run: rustup target add {target}"))
    }
}

fn has_target(target: &str) -> bool {
    let libdir = output_of("rustc", &["--print", "target-libdir", "--target", target]);
    libdir.is_some_and(|dir| Path::new(dir.trim()).exists())
}

/// Installs what some tests need from Debian, where that is possible. A test that misses
/// something skips itself and says so; in CI that is a failure.
pub(crate) fn test_tools() {
    let wanted = [
        ("strace", &["--version"][..], "strace"),
        ("systemd-analyze", &["--version"], "systemd"),
        ("npm", &["--version"], "npm"),
        ("ip", &["-V"], "iproute2"),
        ("nft", &["--version"], "nftables"),
        // Debian keeps what makes an environment apart from Python.
        ("python3", &["-c", "import ensurepip, venv"], "python3-venv"),
    ];
    // Debian has the server's programs in a folder of each release, which is in no PATH.
    if !Path::new("/usr/lib/postgresql").exists()
        && output_of("postgres", &["--version"]).is_none()
        && let Err(why) = debian("PostgreSQL's server", "postgresql")
    {
        println!("    {why}; the tests that need it will be skipped");
    }
    for (program, asked, package) in wanted {
        if output_of(program, asked).is_none()
            && let Err(why) = debian(program, package)
        {
            println!("    {why}; the tests that need {program} will be skipped");
        }
    }
}

/// Installs the package of Debian that a missing program is in.
fn debian(program: &str, package: &str) -> Result<(), String> {
    println!("{program} ({package}) is missing; trying apt-get install {package}.");
    step("apt-get update", Command::new("apt-get").args(["update", "-qq"]))?;
    step("apt-get install", Command::new("apt-get").args(["install", "-y", "-qq", package]))
}

/// Installs a program from Debian, unless it answers already.
///
/// # Errors
/// What to install where that cannot be done.
pub(crate) fn program(program: &str, package: &str) -> Result<(), String> {
    needed(program, &["--version"], package)
}

fn needed(program: &str, asked: &[&str], package: &str) -> Result<(), String> {
    let answers = || output_of(program, asked).is_some();
    if answers() {
        return Ok(());
    }
    let why = debian(program, package).err();
    if answers() {
        return Ok(());
    }
    let why = why.unwrap_or_else(|| "it does not answer".to_owned());
    Err(format!("{program} is needed ({why}); install it, on Debian: apt-get install {package}"))
}

/// The Python that has Zig, from PyPI, as its checksum pins it, in `target/tools/zig`.
pub(crate) fn zig_python(step: Step) -> Result<PathBuf, String> {
    let to = crate::steps::root().join("target/tools/zig");
    let python = to.join("bin/python");
    if output_of(&python.display().to_string(), &["-m", "ziglang", "version"]).is_none() {
        needed("python3", &["-c", "import ensurepip, venv"], "python3-venv")?;
        python_environment("zig", &to, &crate::steps::root().join("xtask/dist/zig.txt"), step)?;
    }
    Ok(python)
}

/// A Python of its own in this folder, with what a list pins and nothing else.
fn python_environment(name: &str, to: &Path, list: &Path, step: Step) -> Result<(), String> {
    let mut venv = Command::new("python3");
    step(&format!("python3 -m venv for {name} (once)"), venv.args(["-m", "venv", "--clear"]).arg(to))?;
    let mut pip = Command::new(to.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
    pip.args(["--no-deps", "--only-binary", ":all:", "--requirement"]).arg(list);
    step(&format!("pip install of {name} (once)"), &mut pip)
}

/// A C compiler and archiver for another architecture and musl, from PyPI, as its checksum pins it,
/// in `target/tools/zig`: Debian's cross compilers come with another C library.
pub(crate) fn zig(arch: &str) -> Result<(PathBuf, PathBuf), String> {
    let python = zig_python(step)?;
    let to = crate::steps::root().join("target/tools/zig");
    let (compiler, archiver) = (to.join(format!("{arch}-cc")), to.join("ar"));
    let filled = |text: &str| text.replace("PYTHON", &python.display().to_string()).replace("ARCH", arch);
    write_program(&compiler, &filled(ZIG_CC))?;
    write_program(&archiver, &filled("#!/bin/sh\nexec 'PYTHON' -m ziglang ar \"$@\"\n"))?;
    Ok((compiler, archiver))
}

/// Writes a shell script that can be run.
pub(crate) fn write_program(file: &Path, text: &str) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(file, text)
        .and_then(|()| std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)))
        .map_err(|e| format!("cannot write {}: {e}", file.display()))
}

/// Build scripts name the target as Rust does, which Zig does not know.
const ZIG_CC: &str = "\
#!/bin/sh
for argument do
    shift
    case $argument in --target=*) ;; *) set -- \"$@\" \"$argument\" ;; esac
done
exec 'PYTHON' -m ziglang cc -target ARCH-linux-musl \"$@\"
";

/// Installs the packages of a lock file in `tests/` into a folder of `target/tools`, once for each
/// lock file.
pub(crate) fn npm_packages(name: &str, step: Step) {
    let root = crate::steps::root();
    let (from, to) = (root.join("tests").join(name), root.join("target/tools").join(name));
    let lock = |dir: &Path| std::fs::read(dir.join("package-lock.json")).ok();
    if to.join("node_modules").exists() && lock(&to) == lock(&from) {
        return;
    }
    let files = ["package.json", "package-lock.json"];
    let copied = std::fs::create_dir_all(&to)
        .and_then(|()| files.iter().try_for_each(|f| std::fs::copy(from.join(f), to.join(f)).map(drop)));
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]).current_dir(&to);
    let installed =
        copied.map_err(|e| e.to_string()).and_then(|()| step(&format!("npm ci of {name} (once)"), &mut npm));
    if let Err(why) = installed {
        // Half an installation would fail the test that it is there for.
        let _ = std::fs::remove_dir_all(to.join("node_modules"));
        println!("    {why}; the tests that need it will be skipped");
    }
}

/// Installs clients and a model's server that nobody here wrote, as the lists in `tests/` pin them,
/// into `target/tools` once. Without npm, Python or the registries their tests skip themselves and
/// say so; in CI that is a failure.
pub(crate) fn clients(step: Step) {
    npm_packages("aimock", step);
    for name in ["aiogram", "discordpy"] {
        python_client(name, step);
    }
    mcp_clients(step);
}

/// The MCP clients among them: those of PyPI with a Node of its own, and in the same folder those
/// of the npm registry.
pub(crate) fn mcp_clients(step: Step) {
    python_client("mcp", step);
    npm_packages("mcp", step);
}

/// Installs the packages of a list in `tests/` into an environment of their own in `target/tools`,
/// once for each list.
pub(crate) fn python_client(name: &str, step: Step) {
    let root = crate::steps::root();
    let (from, to) = (root.join("tests").join(name), root.join("target/tools").join(name));
    let (list, whole) = (from.join("requirements.txt"), to.join("installed.txt"));
    // The list that is installed: another one is another installation.
    let wanted = std::fs::read(&list).unwrap_or_default();
    if std::fs::read(&whole).is_ok_and(|installed| installed == wanted) {
        return;
    }
    let installed = python_environment(name, &to, &list, step)
        .and_then(|()| std::fs::write(&whole, wanted).map_err(|e| e.to_string()));
    if let Err(why) = installed {
        // Half an installation would fail the test that it is there for.
        let _ = std::fs::remove_dir_all(&to);
        println!("    {why}; the tests that need it will be skipped");
    }
}

/// `cargo deny`, installed into `target/tools` once.
pub(crate) fn cargo_deny() -> Result<PathBuf, String> {
    tool("cargo-deny", DENY_VERSION, beside)
}

/// `cargo fuzz`, installed into `target/tools` once.
pub(crate) fn cargo_fuzz() -> Result<PathBuf, String> {
    tool("cargo-fuzz", FUZZ_VERSION, step)
}

fn tool(name: &str, version: &str, step: Step) -> Result<PathBuf, String> {
    if output_of(name, &["--version"]).is_some() {
        return Ok(name.into());
    }
    let tools = crate::steps::root().join("target/tools");
    let program = tools.join("bin").join(name);
    if !program.exists() {
        // A profile of its own keeps the one-time build short; it is run for seconds.
        let mut install = cargo_install(&tools, name, version);
        install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
        install.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        step(&format!("install {name} (once, a few minutes)"), &mut install)?;
    }
    Ok(program)
}

/// `cargo install` of a crate's version, with its own lock file, below a folder.
pub(crate) fn cargo_install(root: &Path, name: &str, version: &str) -> Command {
    let root = root.display().to_string();
    crate::steps::cargo(&["install", "--locked", "--quiet", "--root", &root, name, "--version", version])
}

const DENY_VERSION: &str = "0.20.2";
const FUZZ_VERSION: &str = "0.13.2";
