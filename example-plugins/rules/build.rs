//! Sets a stack size that is enough for the shell parser.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("TARGET").is_ok_and(|target| target.starts_with("wasm32")) {
        // The parser recurses once per nesting level, and the reader allows 24 levels. The usual stack of 48 KiB is not
        // enough for them.
        println!("cargo::rustc-link-arg-cdylib=-zstack-size=196608");
    }
}
