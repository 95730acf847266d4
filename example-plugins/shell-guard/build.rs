//! The parser recurses: once for each level of nesting, and the reader of commands lets 24 levels through. The stack
//! that the other guests have (48 KiB) does not hold them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("TARGET").is_ok_and(|target| target.starts_with("wasm32")) {
        println!("cargo::rustc-link-arg-cdylib=-zstack-size=524288");
    }
}
