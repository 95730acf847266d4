//! The part of the crate `cached` that brush-parser uses, without a cache. A guard reads each text once, so a cache would copy every text
//! and bring hash tables for nothing: docs/decisions/0017-shell-parser.md

/// The attribute macros.
pub mod proc_macro {
    pub use uncached_macros::cached;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    thread_local! {
        static CALLS: Cell<u32> = const { Cell::new(0) };
    }

    #[crate::proc_macro::cached(name = "TWICE", size = 64, result = true)]
    fn twice(number: u32) -> Result<u32, String> {
        CALLS.set(CALLS.get() + 1);
        number.checked_mul(2).ok_or_else(|| "it is too large".into())
    }

    #[test]
    fn each_call_is_made() {
        assert_eq!((twice(2), twice(2)), (Ok(4), Ok(4)));
        assert_eq!(CALLS.get(), 2);
        assert_eq!(twice(u32::MAX), Err("it is too large".into()));
    }
}
