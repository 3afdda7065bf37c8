//! Stubs: what a component imports and is not granted is there, and refuses when it is called, so
//! that a component loads whose runtime imports more than the tool uses.
//!
//! A function whose result has an error returns one; any other ends the guest, and the message
//! names interface and function. A stub reaches nothing.

mod refusal;

use crate::state::StoreState;
use cofferdam_core::capability::Grants;
use cofferdam_core::interfaces::needs;
use cofferdam_core::text::one_line;
use refusal::refusal;
use std::convert::Infallible;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType};

/// Versions of what is linked for every guest: a component may ask for a function that a later
/// version brought.
const LINKED: [(&str, &str); 2] = [("wasi:", "0.2.12"), ("cofferdam:tool/", "0.1.0")];

/// Links everything that the component imports and `grants` do not allow with stubs: whole
/// interfaces, and single functions that a linked interface does not have.
///
/// # Errors
/// An import that is neither a function nor an interface nor a resource.
pub(crate) fn link(
    linker: &mut Linker<StoreState>,
    component: &Component,
    grants: &Grants,
) -> wasmtime::Result<()> {
    let engine = linker.engine().clone();
    let ty = component.component_type();
    // In the order in which the component's imports introduce them.
    let mut seen = Vec::new();
    for (name, import) in ty.imports(&engine) {
        let is_linked = needs(name).is_none_or(|needs| needs.is_granted_by(grants));
        match import.ty {
            ComponentItem::ComponentInstance(instance) if is_linked => {
                let Some(known) = stub_name(name) else { continue };
                let mut place = linker.instance(&known)?;
                for (item, export) in instance.exports(&engine) {
                    match export.ty {
                        // What is there already is refused here, and stays.
                        ComponentItem::ComponentFunc(_) => drop(function(&mut place, Some(name), item)),
                        ComponentItem::Resource(ty) => seen.push(ty),
                        _ => {}
                    }
                }
            }
            item => link_item(&mut linker.root(), None, name, item, &engine, &mut seen)?,
        }
    }
    Ok(())
}

/// The name under which the host links an interface that the component asks for.
fn stub_name(name: &str) -> Option<String> {
    let (interface, _) = name.split_once('@')?;
    let (_, version) = LINKED.iter().find(|(package, _)| interface.starts_with(package))?;
    Some(format!("{interface}@{version}"))
}

/// Links one item, or all that an interface has. `interface` is the import that it is a part of.
fn link_item(
    place: &mut LinkerInstance<'_, StoreState>,
    interface: Option<&str>,
    name: &str,
    item: ComponentItem,
    engine: &wasmtime::Engine,
    seen: &mut Vec<ResourceType>,
) -> wasmtime::Result<()> {
    match item {
        ComponentItem::ComponentFunc(_) => function(place, interface, name),
        ComponentItem::Resource(ty) => resource(place, name, ty, seen),
        ComponentItem::Type(_) => Ok(()),
        ComponentItem::ComponentInstance(instance) => {
            let import = Some(interface.unwrap_or(name));
            let mut within = place.instance(name)?;
            for (name, export) in instance.exports(engine) {
                link_item(&mut within, import, name, export.ty, engine, seen)?;
            }
            Ok(())
        }
        _ => Err(stub_error(&interface.map_or_else(|| name.to_owned(), |import| format!("{import}#{name}")))),
    }
}

fn function(
    place: &mut LinkerInstance<'_, StoreState>,
    interface: Option<&str>,
    name: &str,
) -> wasmtime::Result<()> {
    let name_of = |name: &str| one_line(name, 200);
    let whole = match interface {
        Some(interface) => format!("{} of `{}`", name_of(name), name_of(interface)),
        None => format!("`{}`", name_of(name)),
    };
    let said = format!("it called {whole}, which is not granted to this tool");
    place.func_new(name, move |_, ty, _, results| {
        let refused = ty.results().next().and_then(|result| refusal(&result, &said));
        match (refused, results) {
            (Some(refused), [result]) => {
                *result = refused;
                Ok(())
            }
            _ => Err(wasmtime::Error::msg(said.clone())),
        }
    })
}

/// A resource that is introduced here. One that another interface has introduced is known by that.
fn resource(
    place: &mut LinkerInstance<'_, StoreState>,
    name: &str,
    ty: ResourceType,
    seen: &mut Vec<ResourceType>,
) -> wasmtime::Result<()> {
    if seen.contains(&ty) {
        return Ok(());
    }
    seen.push(ty);
    // There is none of an interface that is not granted: its functions refuse.
    place.resource(name, ResourceType::host::<Infallible>(), |_, _| Ok(()))
}

fn stub_error(name: &str) -> wasmtime::Error {
    let said = format!("it imports {}, which is neither a function nor an interface", one_line(name, 200));
    wasmtime::Error::msg(said)
}
