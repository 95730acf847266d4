//! Converts values of the component model to JSON and back, according to their types.

use super::embedder::CapabilityReply;
use serde_json::{Map, Number, Value};
use wasmtime::component::Val;
use wasmtime::component::types::{Case, Type};

/// Returns a value as JSON.
///
/// # Errors
/// Fails if the value contains a number that JSON cannot express, or a resource, future or stream.
pub(super) fn to_json(value: &Val) -> Result<Value, String> {
    let float = |number: f64| {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| format!("JSON has no number for {number}"))
    };
    let boxed = |value: &Option<Box<Val>>| value.as_deref().map_or(Ok(Value::Null), to_json);
    let list = |values: &[Val]| values.iter().map(to_json).collect::<Result<Vec<_>, _>>().map(Value::Array);
    Ok(match value {
        Val::Bool(value) => Value::Bool(*value),
        Val::S8(number) => (*number).into(),
        Val::U8(number) => (*number).into(),
        Val::S16(number) => (*number).into(),
        Val::U16(number) => (*number).into(),
        Val::S32(number) => (*number).into(),
        Val::U32(number) => (*number).into(),
        Val::S64(number) => (*number).into(),
        Val::U64(number) => (*number).into(),
        Val::Float32(number) => float((*number).into())?,
        Val::Float64(number) => float(*number)?,
        Val::Char(character) => Value::String(character.to_string()),
        Val::String(text) | Val::Enum(text) => Value::String(text.clone()),
        Val::List(values) | Val::Tuple(values) | Val::FixedLengthList(values) => list(values)?,
        Val::Record(fields) => {
            let fields = fields.iter().map(|(name, value)| Ok((name.clone(), to_json(value)?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
        Val::Variant(case, None) => Value::String(case.clone()),
        Val::Variant(case, Some(payload)) => one_key(case, to_json(payload)?),
        Val::Option(value) => boxed(value)?,
        Val::Result(Ok(value)) => one_key("ok", boxed(value)?),
        Val::Result(Err(value)) => one_key("err", boxed(value)?),
        Val::Flags(names) => names.iter().map(|name| Value::String(name.clone())).collect(),
        Val::Map(_) | Val::Resource(_) | Val::Future(_) | Val::Stream(_) | Val::ErrorContext(_) => {
            return Err("it was given a value that has no JSON".into());
        }
    })
}

fn one_key(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// Returns the answer to a call as a value of the function's result type. If the call failed and the error type of the
/// function is a string, the reason of the failure is returned as this error.
///
/// # Errors
/// Fails if there is no answer, or if the answer does not have that type.
pub(super) fn answer(answer: CapabilityReply, ty: &Type) -> Result<Val, String> {
    match answer {
        CapabilityReply::Value(value) => from_json(&value, ty),
        CapabilityReply::Failed(why) => match ty {
            Type::Result(result) if matches!(result.err(), Some(Type::String)) => {
                Ok(Val::Result(Err(Some(Box::new(Val::String(why))))))
            }
            _ => Err(why),
        },
    }
}

/// Converts JSON to a value of the component model with the type `ty`.
///
/// # Errors
/// Fails if the JSON does not have that type.
fn from_json(json: &Value, ty: &Type) -> Result<Val, String> {
    fn integer<T: TryFrom<i128>>(json: &Value, what: &'static str) -> Result<T, String> {
        let number = json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| not(json, what))
    }
    let text = || json.as_str().ok_or_else(|| not(json, "a string"));
    let array = || json.as_array().ok_or_else(|| not(json, "a list"));
    let payload = |json: &Value, ty: Option<Type>| match ty {
        Some(ty) => from_json(json, &ty).map(|value| Some(Box::new(value))),
        None => Ok(None),
    };
    Ok(match ty {
        Type::Bool => Val::Bool(json.as_bool().ok_or_else(|| not(json, "a boolean"))?),
        Type::S8 => Val::S8(integer(json, "an s8")?),
        Type::U8 => Val::U8(integer(json, "a u8")?),
        Type::S16 => Val::S16(integer(json, "an s16")?),
        Type::U16 => Val::U16(integer(json, "a u16")?),
        Type::S32 => Val::S32(integer(json, "an s32")?),
        Type::U32 => Val::U32(integer(json, "a u32")?),
        Type::S64 => Val::S64(integer(json, "an s64")?),
        Type::U64 => Val::U64(integer(json, "a u64")?),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a number of a smaller type is rounded, as in any language"
        )]
        Type::Float32 => Val::Float32(json.as_f64().ok_or_else(|| not(json, "a number"))? as f32),
        Type::Float64 => Val::Float64(json.as_f64().ok_or_else(|| not(json, "a number"))?),
        Type::Char => {
            let mut characters = text()?.chars();
            match (characters.next(), characters.next()) {
                (Some(character), None) => Val::Char(character),
                _ => return Err(not(json, "one character")),
            }
        }
        Type::String => Val::String(text()?.to_owned()),
        Type::List(list) => {
            let ty = list.ty();
            Val::List(array()?.iter().map(|json| from_json(json, &ty)).collect::<Result<_, _>>()?)
        }
        Type::Tuple(tuple) => {
            let (values, types) = (array()?, tuple.types());
            if values.len() != types.len() {
                return Err(not(json, &format!("a list of {}", types.len())));
            }
            Val::Tuple(values.iter().zip(types).map(|(json, ty)| from_json(json, &ty)).collect::<Result<_, _>>()?)
        }
        Type::Record(record) => {
            let object = json.as_object().ok_or_else(|| not(json, "an object"))?;
            let fields = record.fields().map(|field| {
                // The answer may leave out a field whose type is `option`.
                let value = from_json(object.get(field.name).unwrap_or(&Value::Null), &field.ty);
                Ok((field.name.to_owned(), value.map_err(|why| format!("`{}`: {why}", field.name))?))
            });
            let fields = fields.collect::<Result<_, String>>()?;
            if let Some(unknown) = object.keys().find(|key| !record.fields().any(|field| field.name == **key)) {
                return Err(format!("the answer has `{unknown}`, which the record does not have"));
            }
            Val::Record(fields)
        }
        Type::Variant(variant) => {
            let (name, value) = case(json)?;
            let Some(Case { ty, .. }) = variant.cases().find(|case| case.name == name) else {
                return Err(not(json, "one of the variant's cases"));
            };
            if ty.is_none() && !value.is_null() {
                return Err(format!("the answer has a payload for `{name}`, which has none"));
            }
            Val::Variant(name.to_owned(), payload(value, ty)?)
        }
        Type::Enum(names) => {
            let name = text()?;
            if !names.names().any(|known| known == name) {
                return Err(not(json, "one of the enum's names"));
            }
            Val::Enum(name.to_owned())
        }
        Type::Option(_) if json.is_null() => Val::Option(None),
        Type::Option(option) => Val::Option(payload(json, Some(option.ty()))?),
        Type::Result(result) => match case(json)? {
            ("ok", value) => Val::Result(Ok(payload(value, result.ok())?)),
            ("err", value) => Val::Result(Err(payload(value, result.err())?)),
            _ => return Err(not(json, "`ok` or `err`")),
        },
        Type::Flags(flags) => {
            let names = array()?.iter().map(|name| match name.as_str() {
                Some(name) if flags.names().any(|known| known == name) => Ok(name.to_owned()),
                _ => Err(not(name, "one of the flags")),
            });
            Val::Flags(names.collect::<Result<_, _>>()?)
        }
        Type::FixedLengthList(_)
        | Type::Map(_)
        | Type::Own(_)
        | Type::Borrow(_)
        | Type::Future(_)
        | Type::Stream(_)
        | Type::ErrorContext => return Err("the result's type has no JSON".into()),
    })
}

/// Returns the name of a variant's case and the case's payload. The payload is `null` if the case has none.
fn case(json: &Value) -> Result<(&str, &Value), String> {
    match json {
        Value::String(name) => Ok((name, &Value::Null)),
        Value::Object(object) if object.len() == 1 => {
            object.iter().next().map(|(name, value)| (name.as_str(), value)).ok_or_else(|| not(json, "a case"))
        }
        _ => Err(not(json, "a case, or an object of one")),
    }
}

/// Returns a message that names the kind of the answer but does not contain its value, which may be secret or long.
fn not(json: &Value, what: &str) -> String {
    let found = match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("the answer has {found} where {what} belongs")
}
