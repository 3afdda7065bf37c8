//! Reads an OCI image layout back, as a registry, a runtime and an auditor would, and refuses what
//! one of them would: a blob that is not what its name says or that nobody names, a user who is
//! root or has to be looked up, a program that needs a loader, and anything else that could be run.

use crate::image::{CONFIG, INDEX, LAYER, MANIFEST, digest};
use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use tar::EntryType;

/// What OCI calls an architecture, and what ELF does.
const MACHINES: [(&str, u16); 2] = [("amd64", 62), ("arm64", 183)];
/// The type of the part of an ELF program that names its loader.
const INTERPRETER: u32 = 3;

/// What each image of the layout is, one line an architecture.
pub(crate) fn image(dir: &Path) -> Result<Vec<String>> {
    let layout: Value = serde_json::from_slice(&fs::read(dir.join("oci-layout"))?)?;
    ensure!(layout["imageLayoutVersion"] == "1.0.0", "oci-layout: {layout}");
    let mut layout = Layout { dir, reached: BTreeSet::new() };
    let index: Value = serde_json::from_slice(&fs::read(dir.join("index.json"))?)?;
    let [image] = list(&index["manifests"]) else { anyhow::bail!("index.json names not one image: {index}") };
    let name = text(&image["annotations"]["org.opencontainers.image.ref.name"])?;
    let images = layout.json(image, INDEX)?;
    let mut told = Vec::new();
    for manifest in list(&images["manifests"]) {
        let architecture = text(&manifest["platform"]["architecture"])?;
        ensure!(manifest["platform"]["os"] == "linux", "{manifest}");
        let program = layout.architecture(manifest, architecture).with_context(|| architecture.to_owned())?;
        told.push(format!("{name} for {architecture}: {program}"));
    }
    ensure!(!told.is_empty(), "no architecture");
    for blob in fs::read_dir(dir.join("blobs/sha256"))?.flatten() {
        let blob = format!("sha256:{}", blob.file_name().to_string_lossy());
        ensure!(layout.reached.contains(&blob), "nothing names {blob}");
    }
    Ok(told)
}

struct Layout<'a> {
    dir: &'a Path,
    reached: BTreeSet<String>,
}

impl Layout<'_> {
    /// One image: its configuration, and what lies in its only layer.
    fn architecture(&mut self, manifest: &Value, architecture: &str) -> Result<String> {
        let manifest = self.json(manifest, MANIFEST)?;
        let config = self.json(&manifest["config"], CONFIG)?;
        ensure!(config["architecture"] == architecture && config["os"] == "linux", "{config}");
        let user = text(&config["config"]["User"])?;
        ensure!(is_numeric_user(user), "{user:?} is root, or no number");
        let [layer] = list(&manifest["layers"]) else { anyhow::bail!("not one layer: {manifest}") };
        let mut unpacked = Vec::new();
        GzDecoder::new(&self.blob(layer, LAYER)?[..]).read_to_end(&mut unpacked)?;
        ensure!(config["rootfs"]["diff_ids"] == serde_json::json!([digest(&unpacked)]), "diff_ids differ");
        let [entrypoint] = list(&config["config"]["Entrypoint"]) else { anyhow::bail!("no entrypoint") };
        let entrypoint = text(entrypoint)?;
        let machine = MACHINES.iter().find(|(name, _)| *name == architecture);
        let (_, machine) = machine.context("an architecture that nobody knows")?;
        only_program(&unpacked, entrypoint, *machine)?;
        Ok(format!("user {user}, static {entrypoint}, and nothing else that can be run"))
    }

    fn json(&mut self, descriptor: &Value, media: &str) -> Result<Value> {
        Ok(serde_json::from_slice(&self.blob(descriptor, media)?)?)
    }

    fn blob(&mut self, descriptor: &Value, media: &str) -> Result<Vec<u8>> {
        let name = text(&descriptor["digest"])?;
        ensure!(descriptor["mediaType"] == media, "{name} is no {media}");
        let hex = name.strip_prefix("sha256:").context("no SHA-256")?;
        ensure!(hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()), "{name} is no SHA-256");
        let content = fs::read(self.dir.join("blobs/sha256").join(hex)).with_context(|| name.to_owned())?;
        ensure!(descriptor["size"] == content.len(), "{name} has {} bytes", content.len());
        ensure!(digest(&content) == name, "{name} is not what its name says");
        self.reached.insert(name.to_owned());
        Ok(content)
    }
}

/// Numbers alone: there is no `/etc/passwd` to look a name up.
fn is_numeric_user(user: &str) -> bool {
    let is_id = |id: &str| id.parse::<u32>().is_ok_and(|id| id != 0);
    user.split_once(':').is_some_and(|(user, group)| is_id(user) && is_id(group))
}

/// Refuses a layer that has more to run than this program, links, or devices.
fn only_program(layer: &[u8], entrypoint: &str, machine: u16) -> Result<()> {
    let mut found = false;
    for entry in tar::Archive::new(layer).entries()? {
        let mut entry = entry?;
        let path = format!("/{}", entry.path()?.display());
        let header = entry.header();
        match header.entry_type() {
            EntryType::Directory => {}
            EntryType::Regular if path == entrypoint => {
                ensure!(header.mode()? == 0o755 && header.uid()? == 0, "{path} is not root's to change");
                let mut program = Vec::new();
                entry.read_to_end(&mut program)?;
                is_static(&program, machine).with_context(|| path)?;
                found = true;
            }
            EntryType::Regular => ensure!(header.mode()? & 0o111 == 0, "{path} can be run"),
            other => anyhow::bail!("{path} is {other:?}"),
        }
    }
    ensure!(found, "{entrypoint} is not there");
    Ok(())
}

/// Refuses what is no program of this machine, or needs a loader
/// (<https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html>, the form of 64 bits,
/// little-endian).
fn is_static(program: &[u8], machine: u16) -> Result<()> {
    let bytes = |at: usize, count: usize| program.get(at..at + count).context("it is cut off");
    let u16_at = |at: usize| Ok::<_, anyhow::Error>(u16::from_le_bytes(bytes(at, 2)?.try_into()?));
    ensure!(bytes(0, 6)? == b"\x7fELF\x02\x01", "it is no program");
    ensure!(u16_at(18)? == machine, "it is for another machine: {}", u16_at(18)?);
    let parts = usize::try_from(u64::from_le_bytes(bytes(32, 8)?.try_into()?))?;
    let (size, count) = (usize::from(u16_at(54)?), usize::from(u16_at(56)?));
    for part in 0..count {
        let kind = u32::from_le_bytes(bytes(parts + part * size, 4)?.try_into()?);
        ensure!(kind != INTERPRETER, "it needs a loader");
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("{value} is no text"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::archive::{self, Entry};

    /// The head of a program for this machine, with a loader or without.
    pub(crate) fn program(machine: u16, loader: bool) -> Vec<u8> {
        let mut elf = vec![0_u8; 64 + 56];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18..20].copy_from_slice(&machine.to_le_bytes());
        elf[32] = 64;
        (elf[54], elf[56]) = (56, 1);
        elf[64] = if loader { 3 } else { 1 };
        elf
    }

    fn check(entries: Vec<Entry>, expected: Result<(), &str>) {
        let layer = archive::tar(entries, 0).expect("packed");
        let found = only_program(&layer, "/cofferdam", 62).map_err(|e| format!("{e:#}"));
        match expected {
            Ok(()) => assert_eq!(found, Ok(())),
            Err(why) => assert!(found.as_ref().is_err_and(|said| said.contains(why)), "{found:?}, not {why}"),
        }
    }

    #[test]
    fn a_layer_has_one_static_program_and_nothing_else_to_run() {
        let cofferdam = |elf| Entry::program("cofferdam", elf);
        check(vec![cofferdam(program(62, false)), Entry::file("LICENSES.txt", "l")], Ok(()));
        check(vec![cofferdam(program(62, true))], Err("needs a loader"));
        check(vec![cofferdam(program(183, false))], Err("another machine"));
        check(vec![cofferdam(b"#!/bin/sh\n".to_vec())], Err("no program"));
        check(vec![cofferdam(b"\x7fELF\x02\x01".to_vec())], Err("cut off"));
        check(vec![Entry { mode: 0o777, ..cofferdam(program(62, false)) }], Err("not root's"));
        check(vec![Entry { owner: 7, ..cofferdam(program(62, false)) }], Err("not root's"));
        let shell = Entry::program("bin/sh", program(62, false));
        check(vec![cofferdam(program(62, false)), shell], Err("/bin/sh can be run"));
        check(vec![Entry::folder_of(1, "cofferdam")], Err("is not there"));
    }

    #[test]
    fn a_user_is_two_numbers_and_not_root() {
        assert!(is_numeric_user("65532:65532"));
        for user in ["", "0:0", "65532", "65532:0", "0:65532", "nobody:nobody", "root", "65532:65532:1"] {
            assert!(!is_numeric_user(user), "{user}");
        }
    }
}
