//! `cofferdam tool new`: a crate for a new tool, in a folder of its own. It never writes into a
//! folder that is there already.

use super::super::Exit;
use super::super::doctor::shell;
use super::super::new_file::write_new;
use super::languages::{self, Language};
use super::template::{SdkSource, files, is_dependency};
use anyhow::{Context, bail};
use cofferdam_core::command::is_word;
use cofferdam_core::tool::ToolName;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --sdk and --sdk-version the SDK's sources are written into NAME/cofferdam-sdk, so that nothing \
                  else is needed.\nExample: cofferdam tool new word_count"
)]
pub(in crate::cli) struct Arguments {
    /// The tool's name: lower-case letters, digits and _, starting with a letter, at most 64
    name: String,
    /// What it is written in
    #[arg(long, value_enum, value_name = "LANG", default_value_t = Language::Rust, hide_default_value = true)]
    lang: Language,
    /// The folder to make [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The SDK from a checkout: the folder guest-tools/sdk of the repository
    #[arg(long, value_name = "PATH", conflicts_with = "sdk_version")]
    sdk: Option<PathBuf>,
    /// The SDK from a registry that has it
    #[arg(long, value_name = "V")]
    sdk_version: Option<String>,
}

/// Words that no Rust crate can be called by, and crates that come with Rust.
const TAKEN: &str = "abstract alloc as async await become box break const continue core crate do dyn \
    else enum extern false final fn for gen if impl in let loop macro match mod move mut override priv proc_macro pub \
    ref return self static std struct super test trait true try type typeof unsafe unsized use virtual where while \
    yield";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let name = ToolName::parse(&arguments.name).map_err(anyhow::Error::msg)?;
    let name = name.as_str();
    if is_word(name) {
        bail!("/{name} is a word to the gateway itself; choose another name, e.g. my_tool");
    }
    let is_crate = arguments.lang == Language::Rust;
    let files = match arguments.lang {
        Language::Rust => crate_files(name, arguments)?,
        _ if arguments.sdk.is_some() || arguments.sdk_version.is_some() => {
            bail!("the SDK is for Rust; leave --sdk and --sdk-version out")
        }
        language => languages::files(name, language),
    };
    let dir = arguments.dir.clone().unwrap_or_else(|| PathBuf::from(name));
    make(&dir)?;
    if let Err(error) = write_all(&dir, &files) {
        // Made a moment ago, by us: half a tool would only be in the way.
        let _ = fs::remove_dir_all(&dir);
        return Err(error);
    }
    let what = if is_crate { "a crate" } else { "a tool, the contract" };
    let mut out = crate::cli::stdout();
    writeln!(out, "wrote {}: {what}, its policy with nothing granted, and two cases", dir.display())?;
    if is_crate {
        writeln!(out, "Next:\n    cd {}", shell(&dir))?;
        writeln!(out, "    cargo build --release --target wasm32-wasip2\n    cofferdam tool test")?;
    } else {
        let build = dir.join("build.sh");
        writeln!(out, "Next: read {}, which says what it takes to build it", build.display())?;
    }
    Ok(Exit::Done)
}

fn crate_files(name: &str, arguments: &Arguments) -> anyhow::Result<Vec<(String, String)>> {
    if TAKEN.split_whitespace().any(|word| word == name) || name.contains("__") || is_dependency(name) {
        bail!("{name:?} is a tool name, but no good name for a Rust crate; write e.g. my_tool");
    }
    Ok(files(name, &sdk(arguments)?))
}

fn sdk(arguments: &Arguments) -> anyhow::Result<SdkSource> {
    if let Some(version) = &arguments.sdk_version {
        let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let parts = version.split('.').count();
        if !(1..=3).contains(&parts) || !version.split('.').all(number) {
            bail!("{version:?} is not a version; write e.g. --sdk-version 0.1.0");
        }
        return Ok(SdkSource::Version(version.clone()));
    }
    let Some(path) = &arguments.sdk else { return Ok(SdkSource::Written) };
    let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
    let named = toml::from_str::<toml::Table>(&manifest).ok();
    let named = named.as_ref().and_then(|m| m.get("package")?.get("name")?.as_str());
    if named != Some("cofferdam-sdk") {
        bail!(
            "{} is not the SDK: it has no Cargo.toml of cofferdam-sdk; give the folder guest-tools/sdk of a checkout",
            path.display()
        );
    }
    let path = path.canonicalize().with_context(|| format!("cannot use {}", path.display()))?;
    let text = path.to_str().context("the path of the SDK is not UTF-8 text; move the checkout")?;
    Ok(SdkSource::Path(text.to_owned()))
}

/// Makes the folder, which must not be there: not as a file, a folder, or a link to nowhere.
fn make(dir: &Path) -> anyhow::Result<()> {
    let place = || format!("cannot create {}; choose another place with --dir", dir.display());
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).with_context(place)?;
    }
    match fs::create_dir(dir) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            bail!(
                "{} is there already, and nothing is overwritten; choose another place with --dir",
                dir.display()
            )
        }
        made => made.with_context(place),
    }
}

fn write_all(dir: &Path, files: &[(String, String)]) -> anyhow::Result<()> {
    for (name, text) in files {
        let path = dir.join(name);
        write_new(&path, 0o666, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
