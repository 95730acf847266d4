//! Finds the components that `cargo xtask plugins` has built.

use std::path::PathBuf;

/// Returns the path of a component, such as `no_force_push.wasm`. The program `bench` sets `HOOKHOST_PLUGINS` to the directory of the
/// components. A benchmark that is run by hand looks for this directory in its target directory.
///
/// # Panics
/// If the component does not exist.
#[must_use]
pub fn built(component: &str) -> PathBuf {
    // A benchmark is `target/PROFILE/deps/NAME`.
    let beside = || std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("plugins");
    let directory = std::env::var_os("HOOKHOST_PLUGINS").map_or_else(beside, PathBuf::from);
    let path = directory.join(component);
    assert!(path.exists(), "{} is missing: run `cargo xtask plugins`", path.display());
    path
}
