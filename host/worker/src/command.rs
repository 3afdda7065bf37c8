//! WASI commands: what one is run with, and what its streams and its status come to.
//!
//! An exit is an end like any other: WASI 0.2 has one bit of status, and a command that exits says
//! it as one does that returns.

mod streams;

pub(crate) use streams::Streams;

use crate::state::StoreState;
use cofferdam_core::text::one_line;
use wasmtime::Store;
use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{ComponentExportIndex, InstancePre};
use wasmtime_wasi::I32Exit;

/// The interface of a command, of any 0.2.x.
const RUN: &str = "wasi:cli/run@0.2.";

/// A command that is linked.
#[derive(Clone)]
pub(crate) struct LinkedCommand {
    pre: InstancePre<StoreState>,
    run: ComponentExportIndex,
}

impl LinkedCommand {
    /// The command of a linked component.
    ///
    /// # Errors
    /// What it lacks.
    pub(crate) fn new(pre: InstancePre<StoreState>) -> Result<Self, String> {
        let component = pre.component();
        let ty = component.component_type();
        let engine = pre.engine().clone();
        let none = "it exports no wasi:cli/run@0.2.x, so it is no command";
        let name = ty.exports(&engine).map(|(name, _)| name.to_owned()).find(|name| name.starts_with(RUN));
        let name = name.ok_or(none)?;
        let interface = component.get_export_index(None, name.as_str()).ok_or(none)?;
        let Some((ComponentItem::ComponentFunc(ty), run)) = component.get_export(Some(&interface), "run")
        else {
            return Err(format!("its {} has no function run", one_line(&name, 80)));
        };
        let plain =
            matches!(ty.results().next(), Some(Type::Result(of)) if of.ok().is_none() && of.err().is_none());
        if !plain || ty.params().next().is_some() {
            return Err(format!("its {}#run is no func() -> result", one_line(&name, 80)));
        }
        Ok(Self { run, pre })
    }

    /// Runs it to its end; how it ended is all that WASI 0.2 lets it say.
    pub(crate) async fn run(&self, store: &mut Store<StoreState>) -> wasmtime::Result<Result<(), ()>> {
        let ended = async {
            let instance = self.pre.instantiate_async(&mut *store).await?;
            let run = instance.get_typed_func::<(), (Result<(), ()>,)>(&mut *store, &self.run)?;
            run.call_async(&mut *store, ()).await
        };
        match ended.await {
            Ok((status,)) => Ok(status),
            Err(error) => match error.downcast_ref() {
                Some(I32Exit(0)) => Ok(Ok(())),
                Some(I32Exit(_)) => Ok(Err(())),
                None => Err(error),
            },
        }
    }
}
