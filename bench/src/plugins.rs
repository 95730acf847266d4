//! Components that `cargo xtask plugins` has built.

use std::path::PathBuf;

/// Returns the path of a component, such as `no_force_push.wasm`. The program `bench` names the directory in `HOOKHOST_PLUGINS`; a
/// benchmark that is run by hand finds it in its target directory.
///
/// # Panics
/// If the component is not there.
#[must_use]
pub fn built(component: &str) -> PathBuf {
    let directory = std::env::var_os("HOOKHOST_PLUGINS").map(PathBuf::from).unwrap_or_else(|| {
        // The program is `target/PROFILE/deps/NAME`.
        std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("plugins")
    });
    let path = directory.join(component);
    assert!(path.exists(), "{} is missing: run `cargo xtask plugins`", path.display());
    path
}
