//! Asks for a stack that the shell's parser fits into.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("TARGET").is_ok_and(|target| target.starts_with("wasm32")) {
        // The parser recurses for each level of nesting, and the reader lets 24 through: 48 KiB do not hold them.
        println!("cargo::rustc-link-arg-cdylib=-zstack-size=131072");
    }
}
