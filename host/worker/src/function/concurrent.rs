//! Functions with streams or futures, and asynchronous ones. The engine knows none of them, and
//! refuses a component at the first such type, without a name; here the function is found.

use cofferdam_core::text::one_line;
use std::collections::HashSet;
use wasmparser::component_types::{
    ComponentDefinedType, ComponentEntityType, ComponentFuncType, ComponentValType,
};
use wasmparser::types::TypesRef;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// Why a component has no place here, if it is for such a function that it exports or imports.
pub(crate) fn refusal(component: &[u8]) -> Option<String> {
    let types = Validator::new_with_features(WasmFeatures::all()).validate_all(component).ok()?;
    let types = types.as_ref();
    // Those of components within it as well, but only its own are found by their names.
    for payload in Parser::new(0).parse_all(component) {
        let found = match payload.ok()? {
            Payload::ComponentExportSection(exports) => exports.into_iter().flatten().find_map(|export| {
                let item = types.component_item_for_export(export.name.name)?;
                Some(("its function", concurrent(types, export.name.name, &item.ty)?))
            }),
            Payload::ComponentImportSection(imports) => imports.into_iter().flatten().find_map(|import| {
                let item = types.component_item_for_import(import.name.name)?;
                Some(("it needs", concurrent(types, import.name.name, &item.ty)?))
            }),
            _ => None,
        };
        if let Some((what, (function, why))) = found {
            return Some(format!("{what} {} {why}, which no tool can have here", one_line(&function, 200)));
        }
    }
    None
}

/// The first such function of what has this name and type, and what it is or has.
fn concurrent(types: TypesRef<'_>, name: &str, ty: &ComponentEntityType) -> Option<(String, &'static str)> {
    let of = |ty: &ComponentEntityType| match ty {
        ComponentEntityType::Func(id) => why(types, &types[*id]),
        _ => None,
    };
    match ty {
        ComponentEntityType::Instance(id) => types[*id]
            .exports
            .iter()
            .find_map(|(function, item)| Some((format!("{name}#{function}"), of(&item.ty)?))),
        ty => Some((name.to_owned(), of(ty)?)),
    }
}

fn why(types: TypesRef<'_>, function: &ComponentFuncType) -> Option<&'static str> {
    if function.async_ {
        return Some("is asynchronous");
    }
    let mut left: Vec<ComponentValType> = function.params.iter().map(|(_, ty)| *ty).collect();
    left.extend(function.result);
    let mut seen = HashSet::new();
    while let Some(ty) = left.pop() {
        let ComponentValType::Type(id) = ty else { continue };
        if !seen.insert(id) {
            continue;
        }
        match &types[id] {
            ComponentDefinedType::Stream { .. } => return Some("has a stream"),
            ComponentDefinedType::Future { .. } => return Some("has a future"),
            ComponentDefinedType::Record(record) => left.extend(record.fields.values()),
            ComponentDefinedType::Variant(variant) => {
                left.extend(variant.cases.values().filter_map(|case| case.ty));
            }
            ComponentDefinedType::Tuple(tuple) => left.extend(&tuple.types),
            ComponentDefinedType::List { element, .. }
            | ComponentDefinedType::FixedLengthList { element, .. } => left.push(*element),
            ComponentDefinedType::Map { key, value, .. } => left.extend([*key, *value]),
            ComponentDefinedType::Option { ty, .. } => left.push(*ty),
            ComponentDefinedType::Result { ok, err, .. } => left.extend(ok.iter().chain(err)),
            ComponentDefinedType::Primitive(_)
            | ComponentDefinedType::Flags(_)
            | ComponentDefinedType::Enum(_)
            | ComponentDefinedType::Own(_)
            | ComponentDefinedType::Borrow(_) => {}
        }
    }
    None
}
