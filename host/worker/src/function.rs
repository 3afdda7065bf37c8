//! Exported functions of any component: found by name, their types read, called with values that
//! JSON stands for.

pub(crate) mod concurrent;
mod shapes;
mod values;

use crate::state::StoreState;
use cofferdam_core::limits::Limits;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_core::wit::{Datum, FunctionShape};
use cofferdam_ipc::{DESCRIPTION_BYTES_MAX, ExportedFunction, FUNCTIONS_MAX};
use shapes::shape_of;
use std::sync::Arc;
use values::{datum, val};
use wasmtime::Store;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Val};

/// Bytes that the engine counts for one value that it hands out, which takes at least one as JSON.
pub(crate) const VALUE_BYTES: usize = 48;

/// Bytes of the schemas that are listed.
const LISTED_BYTES_MAX: usize = DESCRIPTION_BYTES_MAX / 2;

/// The functions that a component exports, with their schemas as long as there is room for them.
pub(crate) fn list(component: &Component) -> Vec<ExportedFunction> {
    let (engine, ty) = (component.engine(), component.component_type());
    let mut found = Vec::new();
    let mut left = LISTED_BYTES_MAX;
    let mut push = |export: String, ty: &ComponentFunc| {
        let schemas = shape_of(ty)
            .map(|shape| (shape.arguments_schema().to_string(), shape.result_schema().to_string()));
        let bytes = schemas.as_ref().map_or(0, |(arguments, result)| arguments.len() + result.len());
        let schemas = match left.checked_sub(bytes) {
            Some(rest) => {
                left = rest;
                schemas
            }
            None => Err("has schemas that are too long to be listed".to_owned()),
        };
        if found.len() < FUNCTIONS_MAX {
            found.push(ExportedFunction { export: one_line(&export, 200), schemas });
        }
    };
    for (name, export) in ty.exports(engine) {
        match export.ty {
            ComponentItem::ComponentFunc(ty) => push(name.to_owned(), &ty),
            ComponentItem::ComponentInstance(inner)
                if !OTHERS.iter().any(|other| name.starts_with(other)) =>
            {
                for (function, export) in inner.exports(engine) {
                    // Methods of resources have names in brackets, and no policy calls them.
                    if let ComponentItem::ComponentFunc(ty) = export.ty
                        && !function.starts_with('[')
                    {
                        push(format!("{name}#{function}"), &ty);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Exported interfaces that are entered in ways of their own.
const OTHERS: [&str; 2] = ["cofferdam:tool/", "wasi:"];

/// A function that is linked.
#[derive(Clone)]
pub(crate) struct Callable {
    pre: InstancePre<StoreState>,
    function: ComponentExportIndex,
    shape: Arc<FunctionShape>,
}

impl Callable {
    /// The function `name` or `interface#name` of a linked component.
    ///
    /// # Errors
    /// It is not there, or one of its types cannot be JSON.
    pub(crate) fn new(pre: InstancePre<StoreState>, export: &str) -> Result<Self, String> {
        let component = pre.component();
        let shown = one_line(export, 200);
        let absent =
            || format!("it exports no function {shown}; `cofferdam tool inspect` lists those that it has");
        let (interface, name) = match export.split_once('#') {
            None => (None, export),
            Some((interface, name)) => {
                (Some(component.get_export_index(None, interface).ok_or_else(absent)?), name)
            }
        };
        let Some((ComponentItem::ComponentFunc(ty), function)) =
            component.get_export(interface.as_ref(), name)
        else {
            return Err(absent());
        };
        let shape = shape_of(&ty).map_err(|why| format!("its function {shown} {why}"))?;
        Ok(Self { function, shape: Arc::new(shape), pre })
    }

    /// The parameters that these arguments stand for, a JSON object that fits the schema.
    ///
    /// # Errors
    /// `invalid_arguments`, naming the one that a schema could not refuse.
    pub(crate) fn parameters(&self, arguments: &str) -> Result<Vec<Datum>, ToolError> {
        let refused = |said: String| ToolError::new(ErrorCode::InvalidArguments, said);
        let arguments = serde_json::from_str(arguments).map_err(|e| refused(e.to_string()))?;
        self.shape.parameters(&arguments).map_err(|unfit| refused(format!("argument {unfit}")))
    }

    /// The result of a call that returned this.
    ///
    /// # Errors
    /// `failed` where the function says so, or JSON cannot hold what it returned; `too_large`.
    pub(crate) fn result(&self, returned: Option<&Datum>, limits: &Limits) -> Result<String, ToolError> {
        let result = self.shape.result(returned);
        let text = result.map_err(|why| ToolError::new(ErrorCode::Failed, why))?.to_string();
        ToolError::check_result(text.len(), limits)?;
        Ok(text)
    }

    /// The types of its parameters and its result.
    pub(crate) fn shape(&self) -> &FunctionShape {
        &self.shape
    }

    /// What it returns for these parameters, which are of its shape.
    pub(crate) async fn call(
        &self,
        store: &mut Store<StoreState>,
        parameters: &[Datum],
    ) -> wasmtime::Result<Option<Datum>> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let function = instance.get_func(&mut *store, self.function);
        let function = function.ok_or_else(|| wasmtime::Error::msg("its function is gone"))?;
        let shapes = self.shape.parameters.iter().map(|(_, shape)| shape);
        let parameters = shapes.zip(parameters).map(|(shape, datum)| val(shape, datum));
        let unfit = || wasmtime::Error::msg("a value is not of its type");
        let parameters: Vec<Val> = parameters.collect::<Option<_>>().ok_or_else(unfit)?;
        let Some(shape) = &self.shape.result else {
            function.call_async(&mut *store, &parameters, &mut []).await?;
            return Ok(None);
        };
        let mut results = [Val::Bool(false)];
        function.call_async(&mut *store, &parameters, &mut results).await?;
        Ok(Some(datum(shape, &results[0]).ok_or_else(unfit)?))
    }
}
