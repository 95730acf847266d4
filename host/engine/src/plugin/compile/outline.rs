//! The outline of a component: a component with the same imports, exports and types, whose functions only trap.
//!
//! The types of a component show its imports and events, but wasmtime reports types only for a compiled component.
//! Compiling the outline takes almost no time, so an unsuitable component is rejected before its code is compiled.

use super::compile_bounds::NESTED_COMPONENTS;
use crate::plugin::ContractError;
use wasmparser::{Validator, WasmFeatures};

/// Size of the header of a module or component, in bytes.
const HEADER: usize = 8;
/// Ids of sections. `CORE_MODULE` and `COMPONENT` are sections of a component, which contain a module or another
/// component. `CODE` is the section of a module that contains its code. Modules and components can both have sections
/// of the kind `CUSTOM`.
const CORE_MODULE: u8 = 1;
const COMPONENT: u8 = 4;
const CODE: u8 = 10;
const CUSTOM: u8 = 0;
/// A function without variables whose only instruction is `unreachable`.
const TRAPS: [u8; 4] = [3, 0, 0x00, 0x0b];

/// Validates a component, and returns its outline.
///
/// # Errors
/// Fails if the component is not valid.
pub(super) fn outline(bytes: &[u8]) -> Result<Vec<u8>, ContractError> {
    Validator::new().validate_all(bytes).map_err(|error| unfit(bytes, &error.to_string()))?;
    outlined(bytes, 0)
        .ok_or_else(|| ContractError::Invalid("its sections cannot be parsed, or are nested too deeply".into()))
}

/// Returns the error for an invalid component. The error distinguishes a damaged component from a valid component that
/// exceeds the limits of this host.
fn unfit(bytes: &[u8], error: &str) -> ContractError {
    let is_sound = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok();
    match error {
        _ if is_sound => ContractError::Unsupported(error.to_owned()),
        // The validator has no error types for its bounds, so these errors are recognised by their texts. A test checks
        // the texts.
        _ if ["exceed", "too deep", "too many"].iter().any(|word| error.contains(word)) => {
            ContractError::TooLarge(format!("is larger than the validator takes: {error}"))
        }
        _ => ContractError::Invalid(error.to_owned()),
    }
}

fn outlined(bytes: &[u8], depth: usize) -> Option<Vec<u8>> {
    let (header, mut rest) = bytes.split_at_checked(HEADER)?;
    let is_component = header[6] != 0;
    let mut out = header.to_vec();
    while let Some((&id, after)) = rest.split_first() {
        let (length, after) = number(after)?;
        let (content, next) = after.split_at_checked(length)?;
        rest = next;
        match (is_component, id) {
            (_, CUSTOM) => {}
            (true, CORE_MODULE | COMPONENT) if depth >= NESTED_COMPONENTS => return None,
            (true, CORE_MODULE | COMPONENT) => section(&mut out, id, &outlined(content, depth + 1)?)?,
            (false, CODE) => {
                let (functions, _) = number(content)?;
                let mut code = Vec::new();
                put(&mut code, functions)?;
                // The count of functions is untrusted, so it is limited by the size of the original code, in which each
                // function has at least one byte.
                code.extend(TRAPS.iter().copied().cycle().take(functions.min(content.len()).checked_mul(TRAPS.len())?));
                section(&mut out, id, &code)?;
            }
            _ => section(&mut out, id, content)?,
        }
    }
    Some(out)
}

fn section(out: &mut Vec<u8>, id: u8, content: &[u8]) -> Option<()> {
    out.push(id);
    put(out, content.len())?;
    out.extend_from_slice(content);
    Some(())
}

/// Reads an unsigned 32-bit number in LEB128, and returns it with the bytes after it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(u32::try_from(value).ok()?).ok()?, &bytes[at + 1..]));
        }
    }
    None
}

fn put(out: &mut Vec<u8>, value: usize) -> Option<()> {
    let mut value = u32::try_from(value).ok()?;
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::outline;
    use crate::plugin::contract_check::{compile, surface};
    use wasmtime::Engine;

    #[test]
    fn an_outline_has_the_surface_of_the_whole_and_none_of_its_code() {
        let whole = wat::parse_str(
            r#"(component
                (component $inner (core module (func (export "g") (result i32) (i32.const 7))))
                (core module $m
                    (memory (export "memory") 1)
                    (data (i32.const 0) "kept")
                    (func (export "handle") (param i32 i32) (result i32)
                        (loop (br_if 0 (i32.eqz (local.get 0)))) (i32.const 1_000_000))
                )
                (import "wasi:random/random@0.2.3" (instance (export "get-random-u64" (func (result u64)))))
                (core instance $i (instantiate $m))
                (func (export "x") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "handle"))))"#,
        )
        .unwrap();
        let short = outline(&whole).unwrap();
        assert!(short.len() < whole.len());
        let engine = Engine::default();
        let names = |bytes: &[u8]| {
            let component = compile(&engine, bytes).unwrap();
            let ty = component.component_type();
            let exports: Vec<_> = ty.exports(&engine).map(|(name, _)| name.to_owned()).collect();
            let imports: Vec<_> = ty.imports(&engine).map(|(name, _)| name.to_owned()).collect();
            (
                exports,
                imports,
                surface(&engine, &component, &crate::sandbox::capability::OwnCapabilities::default()).map(|_| ()),
            )
        };
        assert_eq!(names(&short), names(&whole));
        assert_eq!(outline(&short).unwrap(), short);
    }

    #[test]
    fn what_is_not_valid_has_no_outline() {
        let whole = wat::parse_str("(component (core module (func (result i32) (i32.const 1))))").unwrap();
        for length in 0..whole.len() {
            assert!(outline(&whole[..length]).is_err() || length == 8, "{length} bytes");
        }
        let mut wrong = whole.clone();
        // Replaces `i32.const` by `i64.const`. The function returns an `i32`, so the module is no longer valid.
        let at = whole.iter().rposition(|byte| *byte == 0x41).unwrap();
        wrong[at] = 0x42;
        assert!(outline(&wrong).is_err());
    }
}
