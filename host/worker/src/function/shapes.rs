//! Types of a component as shapes, as far as JSON can hold their values.

use cofferdam_core::wit::{FunctionShape, Shape, Width};
use wasmtime::component::types::{ComponentFunc, Type};

/// Types within each other.
const DEPTH_MAX: usize = 12;
/// Types of one function, counted each time that they are used: named types that use each other
/// would otherwise multiply.
const TYPES_MAX: usize = 2000;

/// The shape of a function, or why it has none.
pub(super) fn shape_of(function: &ComponentFunc) -> Result<FunctionShape, String> {
    let mut types = 0;
    let parameters = function.params().map(|(name, ty)| {
        let shape = shape(&mut types, &ty, 0).map_err(|why| format!("has a parameter {name} that {why}"))?;
        Ok((name.to_owned(), shape))
    });
    let parameters = parameters.collect::<Result<_, String>>()?;
    let result = function.results().next();
    let result = result.map(|ty| shape(&mut types, &ty, 0).map_err(|why| format!("has a result that {why}")));
    Ok(FunctionShape { parameters, result: result.transpose()? })
}

/// The shape of a type at this depth; `types` counts those of its function.
fn shape(types: &mut usize, ty: &Type, depth: usize) -> Result<Shape, &'static str> {
    *types += 1;
    if depth > DEPTH_MAX || *types > TYPES_MAX {
        return Err("nests too deep, or has too many types");
    }
    let mut inner = |ty: &Type| shape(types, ty, depth + 1);
    Ok(match ty {
        Type::Bool => Shape::Bool,
        Type::S8 => Shape::Integer(Width::S8),
        Type::U8 => Shape::Integer(Width::U8),
        Type::S16 => Shape::Integer(Width::S16),
        Type::U16 => Shape::Integer(Width::U16),
        Type::S32 => Shape::Integer(Width::S32),
        Type::U32 => Shape::Integer(Width::U32),
        Type::S64 => Shape::Integer(Width::S64),
        Type::U64 => Shape::Integer(Width::U64),
        Type::Float32 => Shape::Float32,
        Type::Float64 => Shape::Float64,
        Type::Char => Shape::Char,
        Type::String => Shape::String,
        Type::List(list) => match list.ty() {
            Type::U8 => Shape::Bytes,
            item => Shape::List(Box::new(inner(&item)?)),
        },
        Type::Record(record) => Shape::Record(
            record
                .fields()
                .map(|field| Ok((field.name.to_owned(), inner(&field.ty)?)))
                .collect::<Result<_, &'static str>>()?,
        ),
        Type::Tuple(tuple) => Shape::Tuple(tuple.types().map(|ty| inner(&ty)).collect::<Result<_, _>>()?),
        Type::Variant(variant) => Shape::Variant(
            variant
                .cases()
                .map(|case| Ok((case.name.to_owned(), case.ty.as_ref().map(&mut inner).transpose()?)))
                .collect::<Result<_, &'static str>>()?,
        ),
        Type::Enum(names) => Shape::Enum(names.names().map(str::to_owned).collect()),
        Type::Flags(names) => Shape::Flags(names.names().map(str::to_owned).collect()),
        Type::Option(option) => match inner(&option.ty())? {
            Shape::Option(_) => return Err("is an option of an option, which JSON cannot tell apart"),
            shape => Shape::Option(Box::new(shape)),
        },
        Type::Result(result) => {
            let mut side = |ty: Option<Type>| ty.map(|ty| inner(&ty).map(Box::new)).transpose();
            Shape::Result(side(result.ok())?, side(result.err())?)
        }
        Type::Own(_) | Type::Borrow(_) => {
            return Err("is a handle of a resource, which JSON cannot hold");
        }
        _ => return Err("is of a type that JSON cannot hold"),
    })
}
