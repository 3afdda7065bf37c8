//! Calls through a gateway in this process: small and large ones, one after the other and many at
//! once, and what a new worker costs.

use super::median;
use super::process::{children, cpu_time, has_ended, memory};
use anyhow::{Context, Result};
use cofferdam::config::{Config, Flags};
use cofferdam::gateway::{Gateway, Role};
use cofferdam_agent::tools::{CallRequest, follow_work};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_warden::attachments::{Attachments, DeclaredFile, Intake};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::home::Home;

pub(super) struct Bench {
    home: Home,
    config: Config,
    gateway: Gateway,
}

impl Bench {
    pub(super) fn open() -> Result<Self> {
        let attachments = "[attachments]\nmax_bytes = \"64 MiB\"\nmax_turn_bytes = \"64 MiB\"\n";
        let home = Home::new().config(attachments);
        let config = Config::load(Some(&home.config_file()), &Flags::default(), &BTreeMap::new())?;
        let gateway = Gateway::open(&config, Role::Serve)?;
        std::fs::write(home.host("/shared/4k.txt"), "x".repeat(4096))?;
        Ok(Self { home, config, gateway })
    }

    fn request(&self, n: usize, tool: &str, arguments: String, attachments: Attachments) -> CallRequest {
        let turn = TurnId::new(format!("bench-{n}"));
        let caller = Caller { channel: "bench".into(), sender: "0".into() };
        CallRequest { attachments, ..CallRequest::new(turn, caller, tool.into(), Ok(arguments)) }
    }

    async fn read(&self, n: usize) -> Result<()> {
        let request =
            self.request(n, "file_read", r#"{"path":"/shared/4k.txt"}"#.into(), Attachments::default());
        let result = self.gateway.toolbox.call(request).await?.result;
        anyhow::ensure!(result["bytes"] == 4096);
        Ok(())
    }

    /// One caller, one call after the other: schema, judge, sandbox, audit.
    pub(super) async fn small_reads(self: &Arc<Self>, count: usize) -> Result<()> {
        let bench = self.clone();
        // As a turn is run.
        let reads = follow_work(async move { bench.one_after_the_other(count).await });
        reads.await.map_err(|_| anyhow::anyhow!("it panicked"))?
    }

    async fn one_after_the_other(&self, count: usize) -> Result<()> {
        for n in 0..count / 10 {
            self.read(n).await?;
        }
        let mut times = Vec::with_capacity(count);
        let cpu = cpu_time()?;
        for n in 0..count {
            let started = Instant::now();
            self.read(n).await?;
            times.push(started.elapsed());
        }
        let cpu = (cpu_time()? - cpu) / u32::try_from(count)?;
        times.sort();
        let at = |p: usize| times[(times.len() - 1) * p / 100];
        let mut native = Vec::with_capacity(count);
        for _ in 0..count {
            let started = Instant::now();
            let mut file = File::open(self.home.host("/shared/4k.txt"))?;
            let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len())?);
            file.read_to_end(&mut bytes)?;
            native.push(started.elapsed());
        }
        println!(
            "open, fstat, read, close:      p50 {:?} (natively, to tell this machine's pace)",
            median(native)
        );
        println!("file_read 4 KiB:   p50 {:?}  p99 {:?}  cpu {cpu:?} a call", at(50), at(99));
        Ok(())
    }

    /// 64 callers at once.
    pub(super) async fn concurrent_reads(self: &Arc<Self>, count: usize) -> Result<()> {
        let (started, cpu) = (Instant::now(), cpu_time()?);
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..64 {
            let bench = self.clone();
            callers.spawn(follow_work(async move {
                for n in 0..count / 64 {
                    bench.read(caller * count + n).await?;
                }
                anyhow::Ok(())
            }));
        }
        while let Some(done) = callers.join_next().await {
            done?.map_err(|_| anyhow::anyhow!("it panicked"))??;
        }
        let seconds = started.elapsed().as_secs_f64();
        let cpu = (cpu_time()? - cpu) / u32::try_from(count)?;
        println!("file_read 4 KiB, 64 callers:   {:.0} calls/s  cpu {cpu:?} a call", count as f64 / seconds);
        Ok(())
    }

    pub(super) async fn no_growth(&self, count: usize) -> Result<()> {
        let before = memory("VmRSS:")?;
        for n in 0..count {
            self.read(n).await?;
        }
        let after = memory("VmRSS:")?;
        let descriptors = std::fs::read_dir("/proc/self/fd")?.count();
        println!(
            "{count} further calls:          resident {before} KiB -> {after} KiB, {descriptors} descriptors"
        );
        Ok(())
    }

    /// A call in a worker that has just been started, against one in a worker that was there; and
    /// what an idle worker holds.
    pub(super) async fn new_workers(&self, rounds: usize) -> Result<()> {
        let (mut fresh, mut warm) = (Vec::new(), Vec::new());
        for n in 0..rounds {
            // Until none runs, since one more may just be being started.
            while let Some(pid) = children()?.into_iter().find(|pid| !has_ended(*pid)) {
                match rustix::process::kill_process(pid, rustix::process::Signal::KILL) {
                    Ok(()) | Err(rustix::io::Errno::SRCH) => tokio::task::yield_now().await,
                    Err(error) => return Err(error.into()),
                }
            }
            for times in [&mut fresh, &mut warm] {
                let started = Instant::now();
                self.read(n).await?;
                times.push(started.elapsed());
            }
        }
        println!(
            "a call in a new worker:        {:?} (median of {rounds}; in one that was there {:?})",
            median(fresh),
            median(warm)
        );
        for pid in children()?.into_iter().filter(|pid| !has_ended(*pid)) {
            let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero()))?;
            let kib = |what: &str| -> u64 {
                let lines = rollup.lines().filter_map(|line| line.strip_prefix(what));
                lines.filter_map(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok()).sum()
            };
            println!(
                "  an idle worker:              {} KiB resident, {} KiB in proportion, {} KiB of its own",
                kib("Rss:"),
                kib("Pss:"),
                kib("Private_Dirty:") + kib("Private_Clean:")
            );
        }
        Ok(())
    }

    async fn call(&self, n: usize, tool: &str, arguments: String) -> Result<(serde_json::Value, Duration)> {
        let started = Instant::now();
        let result =
            self.gateway.toolbox.call(self.request(n, tool, arguments, Attachments::default())).await?.result;
        Ok((result, started.elapsed()))
    }

    /// `folders` of 100 small files each: searched, against ripgrep where there is one, and listed
    /// page by page.
    pub(super) async fn many_files(&self, folders: usize, rounds: usize) -> Result<()> {
        for folder in 0..folders {
            let dir = self.home.host(&format!("/shared/tree/d{folder:04}"));
            std::fs::create_dir_all(&dir)?;
            for file in 0..100 {
                let needle = if file == 50 { "the needle is here\n" } else { "" };
                std::fs::write(
                    dir.join(format!("f{file:03}.txt")),
                    format!("line one of {file}\n{needle}{}", "some words of a text\n".repeat(10)),
                )?;
            }
        }
        let (mut ours, mut native) = (Vec::new(), Vec::new());
        for n in 0..rounds {
            let arguments = r#"{"path":"/shared/tree","pattern":"no such needle"}"#.to_owned();
            let (result, time) = self.call(n, "file_search", arguments).await?;
            anyhow::ensure!(result["files_searched"] == folders * 100, "{result}");
            ours.push(time);
            let started = Instant::now();
            let ripgrep = std::process::Command::new("rg")
                .args(["--no-config", "--no-ignore", "-j", "1", "-F", "no such needle"])
                .arg(self.home.host("/shared/tree"))
                .output();
            if ripgrep.is_ok_and(|ran| ran.status.code() == Some(1)) {
                native.push(started.elapsed());
            }
        }
        let ours = median(ours);
        match native.is_empty() {
            true => println!(
                "file_search, {} files:      {ours:?} (no ripgrep here to compare with)",
                folders * 100
            ),
            false => {
                let native = median(native);
                let ratio = ours.as_secs_f64() / native.as_secs_f64();
                println!(
                    "file_search, {} files:      {ours:?} against ripgrep on one thread {native:?}; ratio {ratio:.1}",
                    folders * 100
                );
            }
        }
        let (started, mut listed, mut cursor, mut pages) = (Instant::now(), 0, serde_json::Value::Null, 0);
        loop {
            let mut arguments =
                serde_json::json!({ "path": "/shared/tree", "recursive": true, "limit": 1000 });
            if !cursor.is_null() {
                arguments["cursor"] = cursor;
            }
            let (mut result, _) = self.call(pages, "file_list", arguments.to_string()).await?;
            listed += result["entries"].as_array().map_or(0, Vec::len);
            pages += 1;
            cursor = result["cursor"].take();
            if cursor.is_null() {
                break;
            }
        }
        anyhow::ensure!(listed == folders * 101, "{listed} entries");
        println!("file_list, {listed} entries:   {:?} in {pages} pages", started.elapsed());
        Ok(())
    }

    /// One line in the middle of 10 MB is replaced and replaced back.
    pub(super) async fn large_edit(&self, rounds: usize) -> Result<()> {
        let line = "some words of a text that is long\n";
        let half = line.repeat(5_000_000 / line.len());
        std::fs::write(self.home.host("/shared/large.txt"), format!("{half}before\n{half}"))?;
        let mut times = Vec::new();
        for n in 0..rounds {
            let (old, new) = if n % 2 == 0 { ("before", "after") } else { ("after", "before") };
            let edits =
                serde_json::json!([{ "old_text": format!("\n{old}\n"), "new_text": format!("\n{new}\n") }]);
            let arguments = serde_json::json!({ "path": "/shared/large.txt", "edits": edits });
            times.push(self.call(n, "file_edit", arguments.to_string()).await?.1);
        }
        println!("file_edit of 10 MB:            {:?} (median of {rounds})", median(times));
        Ok(())
    }

    fn attachment(&self, bytes: &[u8]) -> Attachments {
        let mut intake = Intake::new(&self.gateway.blobs, &self.config.attachments);
        intake.read(DeclaredFile::default(), &mut &*bytes);
        intake.finish()
    }

    /// 40 MiB through the tool against write + fsync + rename + fsync of the folder, in turn.
    pub(super) async fn large_saves(&self, rounds: usize) -> Result<()> {
        let bytes: Vec<u8> = (0..40u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        let attachments = self.attachment(&bytes);
        let (mut ours, mut native, mut extra) = (Vec::new(), Vec::new(), 0);
        for n in 0..rounds {
            let path = self.home.host(&format!("/shared/native-{n}"));
            let started = Instant::now();
            native_save(&path, &bytes)?;
            native.push(started.elapsed());
            let arguments = format!(r#"{{"index":0,"path":"/shared/ours-{n}"}}"#);
            let request = self.request(n, "attachment_save", arguments, attachments.clone());
            std::fs::write("/proc/self/clear_refs", "5")?;
            let before = memory("VmRSS:")?;
            let started = Instant::now();
            self.gateway.toolbox.call(request).await?;
            ours.push(started.elapsed());
            extra = extra.max(memory("VmHWM:")?.saturating_sub(before));
            for name in [format!("/shared/native-{n}"), format!("/shared/ours-{n}")] {
                std::fs::remove_file(self.home.host(&name))?;
            }
        }
        let mut ratios: Vec<f64> =
            ours.iter().zip(&native).map(|(o, n)| o.as_secs_f64() / n.as_secs_f64()).collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "attachment_save 40 MiB:        {:?} against native {:?}; ratio {:.2} (median of {rounds} pairs)",
            median(ours),
            median(native),
            ratios[ratios.len() / 2]
        );
        println!("  memory on top of the bytes:  {extra} KiB at most");
        Ok(())
    }
}

fn native_save(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    File::open(path.parent().context("a parent")?)?.sync_all()?;
    Ok(())
}
