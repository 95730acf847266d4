//! The helper of `hookhost exec`. People do not call it.

use std::process::ExitCode;

fn main() -> ExitCode {
    hookhost_exec::serve(std::env::args_os().skip(1))
}
