//! Prints `host/contract/src/generated.rs`, for `cargo xtask contract`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match hookhost_wit::host_types() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("hookhost-wit: {why}");
            ExitCode::FAILURE
        }
    }
}
