//! `hookhost-wit types|wire` prints a generated file for `cargo xtask contract`. With `types`, this is
//! `host/contract/src/generated.rs`, and with `wire`, it is `host/engine/src/wire/generated.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let text = match std::env::args().nth(1).as_deref() {
        Some("types") => hookhost_wit::host_types(),
        Some("wire") => hookhost_wit::host_wire(),
        _ => Err("say `types` or `wire`".into()),
    };
    match text {
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
