//! Reuses compiled functions between the forms of a component.
//!
//! The host compiles a component in an instrumented form, and then as one image per configuration. These forms differ in
//! their data, but nearly all of their functions are equal. Cranelift identifies a function by a hash of its
//! intermediate code and of the compiler's settings.

use crate::locked::locked;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wasmtime::CacheStore;

type Functions = BTreeMap<Vec<u8>, Vec<u8>>;

/// The compiled functions of one component, by cranelift's key.
#[derive(Debug, Default)]
pub(in crate::plugin) struct CompiledFunctions {
    stored: Functions,
    used: Mutex<UsedFunctions>,
}

/// The functions that the current load has used or compiled.
#[derive(Debug, Default)]
struct UsedFunctions {
    functions: Functions,
    /// Size of the functions that this load has compiled, in bytes.
    compiled: usize,
}

/// The stored functions are replaced if at least one in `REPLACED` bytes is new. In each configuration, a few functions
/// differ, and they are not worth writing all functions again.
const REPLACED: usize = 4;

impl CompiledFunctions {
    /// Reads the functions from bytes that [`Self::to_bytes`] returned. Returns `None` for other bytes.
    pub(in crate::plugin) fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut stored = Functions::new();
        while !bytes.is_empty() {
            stored.insert(take(&mut bytes)?.to_vec(), take(&mut bytes)?.to_vec());
        }
        Some(Self { stored, ..Self::default() })
    }

    /// Returns the functions that this load has used, if many of them are new. Each key and each function follows its
    /// length in bytes, a `u32` in little-endian order.
    pub(in crate::plugin) fn to_bytes(&self) -> Option<Vec<u8>> {
        let used = locked(&self.used);
        let size: usize = used.functions.values().map(Vec::len).sum();
        if used.compiled * REPLACED <= size {
            return None;
        }
        let mut bytes = Vec::new();
        for part in used.functions.iter().flat_map(|(key, function)| [key, function]) {
            bytes.extend(u32::try_from(part.len()).ok()?.to_le_bytes());
            bytes.extend(part);
        }
        Some(bytes)
    }

    pub(in crate::plugin) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut used = locked(&self.used);
        if let Some(function) = used.functions.get(key) {
            return Some(function.clone());
        }
        let function = self.stored.get(key)?;
        used.functions.insert(key.to_vec(), function.clone());
        Some(function.clone())
    }

    pub(in crate::plugin) fn insert(&self, key: &[u8], function: Vec<u8>) {
        let mut used = locked(&self.used);
        used.compiled += function.len();
        used.functions.insert(key.to_vec(), function);
    }
}

/// Returns the next part, and moves `bytes` behind it.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    *bytes = rest;
    Some(part)
}

thread_local! {
    /// The functions of the component that this thread compiles.
    static OF_THREAD: RefCell<Option<Arc<CompiledFunctions>>> = const { RefCell::new(None) };
}

/// Makes the current thread, which compiles only one component, use these functions.
pub(super) fn use_in_thread(functions: Arc<CompiledFunctions>) {
    OF_THREAD.set(Some(functions));
}

/// The store of an engine, through which the compiler reaches the functions of its thread. wasmtime has one store per
/// engine, but a component must only reuse its own functions.
#[derive(Debug)]
pub(crate) struct FunctionsOfThread;

impl CacheStore for FunctionsOfThread {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        OF_THREAD.with_borrow(|functions| functions.as_ref()?.get(key).map(Cow::Owned))
    }

    fn insert(&self, key: &[u8], function: Vec<u8>) -> bool {
        OF_THREAD.with_borrow(|functions| functions.as_ref().map(|functions| functions.insert(key, function)).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::CompiledFunctions;

    #[test]
    fn only_the_functions_that_the_last_load_used_are_kept_and_only_if_many_of_them_are_new() {
        let first = CompiledFunctions::default();
        first.insert(b"a", vec![1; 100]);
        first.insert(b"b", vec![2; 100]);
        let second = CompiledFunctions::parse(&first.to_bytes().unwrap()).unwrap();
        assert_eq!(second.get(b"b"), Some(vec![2; 100]));
        second.insert(b"c", vec![3; 10]);
        assert_eq!((second.get(b"d"), second.to_bytes()), (None, None), "hardly anything is new");
        second.insert(b"d", vec![4; 100]);
        let third = CompiledFunctions::parse(&second.to_bytes().unwrap()).unwrap();
        let kept = [b"a", b"b", b"c", b"d"].map(|key| third.get(key).map(|function| function.len()));
        assert_eq!(kept, [None, Some(100), Some(10), Some(100)]);
    }

    #[test]
    fn bytes_that_end_too_early_are_no_functions() {
        let functions = CompiledFunctions::default();
        functions.insert(b"key", b"code".to_vec());
        let bytes = functions.to_bytes().unwrap();
        for length in 1..bytes.len() {
            assert!(CompiledFunctions::parse(&bytes[..length]).is_none(), "{length} bytes");
        }
    }
}
