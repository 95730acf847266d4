//! The encoding of a catalogue in the component: ASCII, shorter than JSON, and readable without a tree of values.
//!
//! A text ends with NUL. A list has `\x02` before each item and ends with `\x03`. A table has, for each member, a byte with the member's
//! index in a list of names and then its value; it ends with `\x03`. A map is a list in which each item has its key before it. `true` is
//! `t`, and a number is the text of its digits. `\x01` and six hexadecimal digits encode any other character.

use super::members::{ANALYSED, END, ESCAPE, FIRST_MEMBER, ITEM, MATCH, NUL, PROGRAM, REWRITE, RULE};
use serde_json::{Map, Value};

/// Encodes a table.
///
/// # Errors
/// Names a member that is not in the list, or a value that cannot be encoded.
pub(crate) fn table(members: &[&str], table: &Map<String, Value>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    for (name, value) in table {
        let place = members.iter().position(|member| member == name);
        let place =
            place.ok_or_else(|| format!("unknown field `{name}`, expected one of `{}`", members.join("`, `")))?;
        // Absent members read as false or empty.
        if matches!(value, Value::Bool(false)) || value.as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        out.push(FIRST_MEMBER + u8::try_from(place).map_err(|error| error.to_string())?);
        put(&mut out, name, value)?;
    }
    out.push(END);
    Ok(out)
}

fn put(out: &mut Vec<u8>, name: &str, value: &Value) -> Result<(), String> {
    match (name, value) {
        (_, Value::Bool(true)) => out.push(b't'),
        (_, Value::Number(number)) => text(out, &number.to_string()),
        (_, Value::String(string)) => text(out, string),
        (_, Value::Array(items)) => {
            for item in items {
                out.push(ITEM);
                put(out, name, item)?;
            }
            out.push(END);
        }
        ("options-of" | "subcommands", Value::Object(map)) => {
            for (key, item) in map {
                out.push(ITEM);
                text(out, key);
                put(out, name, item)?;
            }
            out.push(END);
        }
        ("rule", Value::Object(inner)) => out.extend(table(&RULE, inner)?),
        ("match", Value::Object(inner)) => out.extend(table(&MATCH, inner)?),
        ("rewrite", Value::Object(inner)) => out.extend(table(&REWRITE, inner)?),
        ("program", Value::Object(inner)) => out.extend(table(&PROGRAM, inner)?),
        (_, Value::Object(inner)) => out.extend(table(&ANALYSED, inner)?),
        (_, other) => return Err(format!("`{name}` = {other} cannot be written")),
    }
    Ok(())
}

/// Control characters have a special meaning, and bytes beyond ASCII belong to the packing.
fn text(out: &mut Vec<u8>, text: &str) {
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(byte @ b' '..=b'~') => out.push(byte),
            _ => {
                out.push(ESCAPE);
                out.extend(format!("{:06x}", u32::from(c)).bytes());
            }
        }
    }
    out.push(NUL);
}
