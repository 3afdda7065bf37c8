//! `cofferdam mcp`: the tools for an MCP client, over standard input and output or HTTP, until the
//! client ends or a signal comes. It runs beside a `serve`, as `call` does.

mod print;

use super::Exit;
use super::serve::cancelled_by_signals;
use crate::config::Config;
use crate::gateway::{self, Gateway, ReadScope, Role};
use anyhow::{Context, bail};
use cofferdam_agent::server::{SECRET_BYTES_MAX, read_secret};
use cofferdam_core::secret::Secret;
use cofferdam_mcp::http::{self, BoundListener, TOKEN_VARIABLE};
use cofferdam_mcp::{McpServer, ServerParts, serve_stdio};
use cofferdam_warden::sandbox::workers;
use print::Client;
use std::env::VarError;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Over standard input and output the client starts this command; --print writes the lines that tell it to. \
                  Over HTTP the path is /mcp; on another address than loopback a token is needed, from \
                  COFFERDAM_MCP_TOKEN or --token-file, which clients send as Authorization: Bearer.\nExample: cofferdam \
                  mcp --workspace ~/agent --print claude-desktop"
)]
pub(super) struct Arguments {
    /// Listen there instead, for streamable HTTP at /mcp, e.g. 127.0.0.1:8722
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "print")]
    http: Option<SocketAddr>,
    /// A file (mode 600) with the token that clients must send, instead of COFFERDAM_MCP_TOKEN
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// A name under which clients reach the server, e.g. behind a proxy; repeat for several
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Print the lines of a client's configuration that start this command, and exit
    #[arg(long, value_name = "CLIENT", value_enum)]
    print: Option<Client>,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    if let Some(client) = arguments.print {
        return print::run(config, client);
    }
    // Both before the process is confined: afterwards neither is within reach.
    let listening = arguments.http.map(|address| listen(config, address, arguments)).transpose()?;
    for missing in gateway::confine(config, ReadScope::Listed(&[]))? {
        tracing::warn!("the gateway is less isolated than it can be: {missing}");
    }
    let gateway = Gateway::open(config, Role::Beside)?;
    for (name, tool) in gateway.toolbox.registry().iter() {
        if let Err(why) = tool {
            super::tell(&format!("{name} is not offered: {why}"));
        }
    }
    let sender = match &listening {
        None => rustix::process::getuid().as_raw().to_string(),
        Some((_, sender)) => (*sender).to_owned(),
    };
    let server = McpServer::new(ServerParts {
        toolbox: gateway.toolbox.clone(),
        blobs: gateway.blobs.clone(),
        attachments: config.attachments.clone(),
        outgoing: gateway.warden.outgoing().clone(),
        expires: config.approvals.expires.0,
        sender,
    });
    let runtime = match listening {
        Some(_) => super::runtime()?,
        None => runtime_of_one_client()?,
    };
    let served = runtime.block_on(async {
        let stop = cancelled_by_signals()?;
        tokio::spawn(super::let_start_go());
        match listening {
            Some((listening, _)) => {
                super::tell(&format!("MCP at http://{}{}", listening.address()?, http::PATH));
                listening.serve(server, stop).await?;
            }
            None => {
                let (input, output) = (std::io::stdin(), std::io::stdout());
                let (input, output) =
                    (input.as_fd().try_clone_to_owned()?, output.as_fd().try_clone_to_owned()?);
                serve_stdio(server, input, output, stop).await?;
            }
        }
        Ok(Exit::Done)
    });
    // Not waited for: a thread of it may hold a call that does not end.
    runtime.shutdown_background();
    served
}

/// A runtime for one client, on this thread: what comes is taken up, and what ends is answered,
/// without another thread that is woken for it. Calls have threads of their own.
fn runtime_of_one_client() -> std::io::Result<tokio::runtime::Runtime> {
    workers::run_with_calls();
    tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(8)
        .on_thread_start(workers::run_anywhere)
        .enable_all()
        .build()
}

/// The listener, and what the audit calls those who come: all that is known of them.
fn listen(
    config: &Config,
    address: SocketAddr,
    arguments: &Arguments,
) -> anyhow::Result<(BoundListener, &'static str)> {
    let file = arguments.token_file.as_deref();
    if let Some(lies) = file.and_then(|file| config.say_if_in_reach(file)) {
        bail!("--token-file {lies}");
    }
    let token = token(file)?;
    let sender = if token.is_some() { "token" } else { "loopback" };
    let hosts = arguments.allow_host.clone();
    Ok((
        BoundListener::open(http::Config { address, token, hosts, bounds: http::ClientBounds::default() })?,
        sender,
    ))
}

fn token(file: Option<&Path>) -> anyhow::Result<Option<Secret>> {
    let Some(file) = file else {
        return match std::env::var(TOKEN_VARIABLE) {
            Ok(token) if token.is_empty() => bail!("{TOKEN_VARIABLE} is empty; write a token or unset it"),
            Ok(token) => Ok(Some(Secret::new(token))),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(_)) => {
                bail!("{TOKEN_VARIABLE} is not UTF-8 text; write it as UTF-8 text or unset it")
            }
        };
    };
    let text = read_secret(file).context("--token-file")?;
    // What is read ends there: the beginning of a text is not the token that was meant.
    if text.len() > SECRET_BYTES_MAX {
        bail!(
            "the token file {} has more than {SECRET_BYTES_MAX} bytes; write the token alone into it",
            file.display()
        );
    }
    if text.trim().is_empty() {
        bail!("the token file {} is empty; write a token into it", file.display());
    }
    Ok(Some(Secret::new(text.trim())))
}
