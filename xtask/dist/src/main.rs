//! Packs what `cargo xtask dist` has built: a tarball of each architecture, its debug information,
//! its bill of materials, an OCI image layout, the installer, and the checksums of all that.
//!
//! `cofferdam-dist OUT SECONDS ARCH=FOLDER…`: in each folder lie `cofferdam`, stripped, and
//! `cofferdam.debug`. `SECONDS` since 1970 is the time of everything packed. It builds nothing.
//! `cofferdam-dist verify OUT` reads the image layout back.

mod archive;
mod image;
mod licenses;
mod packages;
mod sbom;
#[cfg(test)]
mod tests;
mod verify;

use anyhow::{Context, Result, bail};
use archive::Entry;
use image::Built;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [verb, out] if verb == "verify" => verify(out.as_ref()),
        _ => pack(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cofferdam-dist: {why:#}");
            ExitCode::FAILURE
        }
    }
}

/// Says what is in the image layout, or what is wrong with it.
fn verify(out: &Path) -> Result<()> {
    for line in verify::image(&out.join("oci"))? {
        println!("    {line}");
    }
    Ok(())
}

fn pack(arguments: &[String]) -> Result<()> {
    let [out, seconds, built @ ..] = arguments else { bail!("usage: OUT SECONDS ARCH=FOLDER…") };
    let (out, seconds): (&Path, u64) = (out.as_ref(), seconds.parse().context("SECONDS is a number")?);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let time = jiff::Timestamp::from_second(i64::try_from(seconds)?)?.to_string();
    let mut images = Vec::new();
    for built in built {
        let (arch, folder) = built.split_once('=').context("an architecture and a folder")?;
        images.push(pack_one(out, &root, (arch, folder.as_ref()), (seconds, &time))?);
    }
    image::write(&out.join("oci"), &images, VERSION, (seconds, &time))?;
    fs::write(out.join("install.sh"), include_str!("../install.sh"))?;
    fs::write(out.join("SHA256SUMS"), checksums(out)?)?;
    Ok(())
}

fn pack_one(
    out: &Path,
    root: &Path,
    (arch, folder): (&str, &Path),
    (seconds, time): (u64, &str),
) -> Result<Built> {
    let architecture = match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("no image for {other}"),
    };
    let name = format!("cofferdam-{VERSION}-{arch}-linux-musl");
    let read = |file: PathBuf| fs::read(&file).with_context(|| format!("cannot read {}", file.display()));
    let program = read(folder.join("cofferdam"))?;
    let packages = packages::of_program(root, &format!("{arch}-unknown-linux-musl"))?;
    let bill = sbom::of(&packages, &program, time)?;
    let licenses = licenses::of(&packages)?;
    let files = vec![
        Entry::program(format!("{name}/cofferdam"), program.clone()),
        Entry::file(format!("{name}/README.md"), read(root.join("README.md"))?),
        Entry::file(format!("{name}/LICENSE"), read(root.join("LICENSE"))?),
        Entry::file(format!("{name}/LICENSES.txt"), licenses.clone()),
        Entry::file(format!("{name}/sbom.cdx.json"), bill.clone()),
    ];
    let debug = vec![Entry::file(format!("{name}/cofferdam.debug"), read(folder.join("cofferdam.debug"))?)];
    let write = |suffix: &str, content: Vec<u8>| fs::write(out.join(format!("{name}{suffix}")), content);
    write(".tar.gz", archive::gzip(&archive::tar(files, seconds)?)?)?;
    write(".debug.tar.gz", archive::gzip(&archive::tar(debug, seconds)?)?)?;
    write(".cdx.json", bill)?;
    Ok(Built { architecture, program, licenses })
}

/// As `sha256sum --check` reads them. The image's index names its blobs by their own.
fn checksums(out: &Path) -> Result<String> {
    let mut names = vec!["oci/index.json".to_owned()];
    for entry in fs::read_dir(out)?.flatten() {
        if entry.file_type()?.is_file() && entry.file_name() != "SHA256SUMS" {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let line =
        |name: &String| Ok(format!("{}  {name}\n", hex::encode(Sha256::digest(fs::read(out.join(name))?))));
    names.iter().map(line).collect()
}
