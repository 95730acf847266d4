//! What an agent reads its hooks from is guarded: the plugins that protect the session know every file that is installed.

use hookhost_adapters::agents;
use hookhost_adapters::install::{Context, OnFailure, Scope};
use shell_syntax::guarded::{self, Reach};
use shell_syntax::path::{Normal, clean};
use std::path::Path;

#[test]
fn each_file_that_is_installed_is_on_the_list_of_guarded_files() {
    let mut found = 0;
    for adapter in agents::all() {
        for scope in [Scope::User, Scope::Project, Scope::Managed] {
            let context = Context {
                scope,
                home: Path::new("/home/me"),
                project: Path::new("/work/project"),
                program: Path::new("/usr/bin/hookhost-hook"),
                on_failure: OnFailure::Deny,
                directories: None,
                variable: &|_| None,
            };
            for file in adapter.install(&context).map(|plan| plan.files).unwrap_or_default() {
                let path = file.path().to_string_lossy().into_owned();
                let guarded = guarded::at(&Normal::Absolute(clean(&path)), Reach::default());
                assert!(
                    !guarded.is_empty(),
                    "{path} of {} is not on the list: add it to example-plugins/shell-syntax/guarded.toml",
                    adapter.agent().name
                );
                found += 1;
            }
        }
    }
    assert!(found >= 25, "only {found} files are installed");
}
