//! What a component is linked with: WASI 0.2 with nothing behind it, our own filesystem, what is
//! granted, and [stubs] for everything else that it imports.
//!
//! [stubs]: crate::stubs

use crate::bindings::cofferdam::tool::{
    messaging, progress, recent_attachments, reply_attachments, turn_attachments, workspace_write,
};
use crate::http;
use crate::state::StoreState;
use crate::stubs;
use cofferdam_core::capability::{Grants, Interface};
use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::random::WasiRandom;

/// A linker that has every import of the component: what `grants` allow, and stubs.
///
/// # Errors
/// Imports that no stub can stand for, such as a module.
pub(crate) fn linker(component: &Component, grants: &Grants) -> wasmtime::Result<Linker<StoreState>> {
    let mut linker = Linker::new(component.engine());
    baseline(&mut linker)?;
    add_granted(&mut linker, grants)?;
    // Last: what is linked by now is not stubbed.
    stubs::link(&mut linker, component, grants)?;
    Ok(linker)
}

/// What every guest is given: `cofferdam_core::interfaces` has the same list by name.
fn baseline(linker: &mut Linker<StoreState>) -> wasmtime::Result<()> {
    // Streams, polls, clocks, secure random numbers and the three standard streams.
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(linker)?;
    random::insecure::add_to_linker::<StoreState, WasiRandom>(linker, |state| state.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<StoreState, WasiRandom>(linker, |state| state.ctx().ctx.random())?;
    cli::environment::add_to_linker::<StoreState, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_input::add_to_linker::<StoreState, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_output::add_to_linker::<StoreState, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_stdin::add_to_linker::<StoreState, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_stdout::add_to_linker::<StoreState, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_stderr::add_to_linker::<StoreState, WasiCli>(linker, StoreState::cli)?;
    cli::exit::add_to_linker::<StoreState, WasiCli>(linker, StoreState::cli)?;
    filesystem::types::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)?;
    filesystem::preopens::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)?;
    progress::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)
}

fn add_granted(linker: &mut Linker<StoreState>, grants: &Grants) -> wasmtime::Result<()> {
    if grants.allows(Interface::TurnAttachments) {
        turn_attachments::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)?;
    }
    if grants.allows(Interface::RecentAttachments) {
        recent_attachments::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)?;
    }
    if grants.allows(Interface::ReplyAttachments) {
        reply_attachments::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)?;
    }
    if grants.allows(Interface::Messaging) {
        messaging::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)?;
    }
    if grants.network.is_some() {
        http::add_to_linker(linker)?;
    }
    if grants.may_write() {
        workspace_write::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)?;
    }
    Ok(())
}
