//! The WASI that every guest has: nothing of the machine in it.
//!
//! No arguments, standard input closed, output into the log; no folders but those that are granted. The clocks stand still at the event's time and
//! random numbers are a stream seeded from the event's id, so that a verdict can be reproduced; `grants.env` adds
//! variables, `grants.clock` and `grants.random` give real ones.

use super::capability::EventFacts;
use super::guest::Guest;
use super::output::Output;
use crate::allowlist::Grants;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha12Rng};
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtx};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiView as _};

/// Most bytes that one call for random numbers returns.
const RANDOM_BYTES: u64 = 1 << 20;

/// The interfaces that are always linked. Sockets and HTTP are not among them.
pub(super) const PACKAGES: [&str; 5] = ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/"];

struct Frozen(Duration);

impl HostWallClock for Frozen {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }
    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for Frozen {
    fn resolution(&self) -> u64 {
        1_000_000
    }
    fn now(&self) -> u64 {
        0
    }
}

pub(super) fn context(event: &EventFacts, grants: &Grants, files: WasiFilesystemCtx, output: &Output) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    builder.stdout(output.clone()).stderr(output.clone());
    builder.allow_tcp(false).allow_udp(false).max_random_size(RANDOM_BYTES);
    if !grants.clock {
        builder.wall_clock(Frozen(Duration::from_millis(event.time)));
        builder.monotonic_clock(Frozen(Duration::ZERO));
    }
    if !grants.random {
        let seed: [u8; 32] = Sha256::digest(event.id.as_bytes()).into();
        let mut stream = ChaCha12Rng::from_seed(seed);
        builder.insecure_random_seed(stream.random());
        builder.insecure_random(ChaCha12Rng::from_rng(&mut stream));
        builder.secure_random(stream);
    }
    for name in &grants.env {
        if let Ok(value) = std::env::var(name) {
            builder.env(name, value);
        }
    }
    let mut context = builder.build();
    *context.filesystem() = files;
    context
}

/// Links base WASI.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(linker)?;
    cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::exit::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_input::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_output::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    filesystem::types::add_to_linker::<Guest, WasiFilesystem>(linker, Guest::files)?;
    super::folders::link(linker)?;
    filesystem::preopens::add_to_linker::<Guest, WasiFilesystem>(linker, Guest::folders)?;
    random::insecure::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.ctx().ctx.random())?;
    Ok(())
}
