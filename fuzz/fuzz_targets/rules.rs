#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hookhost_fuzz::rules(bytes));
