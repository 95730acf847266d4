//! The WASI interfaces that every guest has. Without grants, they reveal nothing about the machine.
//!
//! There are no arguments, standard input is closed, and output goes into the log. Only granted directories exist.
//! Sockets are linked because the libraries of some languages import them, but no socket can be created. The clocks
//! show the fixed time of the event, and the seed of random numbers is the id of the event, so that a verdict can be
//! reproduced. `grants.env` adds environment variables; `grants.clock` and `grants.random` give the real clock and real
//! random numbers.

use super::OptionalWasi;
use super::capability::EventFacts;
use super::guest::Guest;
use super::output::Output;
use crate::config::Grants;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha12Rng};
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtx};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random, sockets};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiView as _};

/// Maximum number of bytes that one call for random numbers returns.
const RANDOM_BYTES: u64 = 1 << 20;

/// The packages whose interfaces every component may import. Some interfaces of `wasi:http` are linked too.
pub(super) const PACKAGES: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

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
    // A guest can create no socket and look up no name, so functions that need a socket cannot be used.
    builder.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false).max_random_size(RANDOM_BYTES);
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
        if let Some(value) = event.world.variable(name) {
            builder.env(name, value);
        }
    }
    let mut context = builder.build();
    *context.filesystem() = files;
    context
}

/// Links the imported parts of base WASI.
pub(super) fn link(linker: &mut Linker<Guest>, imported: OptionalWasi) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(linker)?;
    cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::exit::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_input::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_output::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    random::insecure::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.ctx().ctx.random())?;
    if imported.filesystem {
        filesystem::types::add_to_linker::<Guest, WasiFilesystem>(linker, Guest::files)?;
        super::preopens::link(linker)?;
        filesystem::preopens::add_to_linker::<Guest, WasiFilesystem>(linker, Guest::directories)?;
    }
    if imported.sockets {
        link_sockets(linker)?;
    }
    Ok(())
}

fn link_sockets(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    sockets::instance_network::add_to_linker::<Guest, WasiSockets>(linker, Guest::sockets)?;
    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<Guest, WasiSockets>(linker, &options, Guest::sockets)?;
    sockets::ip_name_lookup::add_to_linker::<Guest, WasiSockets>(linker, Guest::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<Guest, WasiSockets>(linker, Guest::sockets)?;
    sockets::tcp::add_to_linker::<Guest, WasiSockets>(linker, Guest::sockets)?;
    sockets::udp_create_socket::add_to_linker::<Guest, WasiSockets>(linker, Guest::sockets)?;
    sockets::udp::add_to_linker::<Guest, WasiSockets>(linker, Guest::sockets)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::config::{Digest, Entry, Grants};
    use crate::sandbox::{CallLimits, GuestSetup, OptionalWasi, PoolSize, Sandbox};
    use std::num::NonZeroU32;
    use std::sync::Arc;
    use wasmtime::component::Component;

    /// A component that tries to create a socket. If this fails, its function returns 256 plus the number of the error.
    const ASKS: &str = r#"(component
        (import "wasi:sockets/network@0.2.0" (instance $network
            (type $e (enum "unknown" "access-denied" "not-supported" "invalid-argument" "out-of-memory" "timeout"
                "concurrency-conflict" "not-in-progress" "would-block" "invalid-state" "new-socket-limit"
                "address-not-bindable" "address-in-use" "remote-unreachable" "connection-refused" "connection-reset"
                "connection-aborted" "datagram-too-large" "name-unresolvable" "temporary-resolver-failure"
                "permanent-resolver-failure"))
            (export "error-code" (type (eq $e)))
            (type $f (enum "ipv4" "ipv6"))
            (export "ip-address-family" (type (eq $f)))))
        (alias export $network "error-code" (type $error))
        (alias export $network "ip-address-family" (type $family))
        (import "wasi:sockets/KIND@0.2.0" (instance $kind (export "KIND-socket" (type (sub resource)))))
        (alias export $kind "KIND-socket" (type $socket))
        (import "wasi:sockets/KIND-create-socket@0.2.0" (instance $create
            (alias outer 1 $error (type $e0)) (export "error-code" (type $e (eq $e0)))
            (alias outer 1 $family (type $f0)) (export "ip-address-family" (type $f (eq $f0)))
            (alias outer 1 $socket (type $s0)) (export "KIND-socket" (type $s (eq $s0)))
            (export "create-KIND-socket" (func (param "address-family" $f) (result (result (own $s) (error $e)))))))
        (core module $room (memory (export "memory") 1))
        (core instance $room (instantiate $room))
        (alias core export $room "memory" (core memory $memory))
        (alias export $create "create-KIND-socket" (func $create-socket))
        (core func $create (canon lower (func $create-socket) (memory $memory)))
        (core module $asks
            (import "" "create" (func $create (param i32 i32)))
            (import "" "memory" (memory 1))
            (func (export "asks") (result i32)
                (call $create (i32.const 0) (i32.const 64))
                (i32.add (i32.mul (i32.load8_u (i32.const 64)) (i32.const 256)) (i32.load8_u (i32.const 68)))))
        (core instance $given (export "create" (func $create)) (export "memory" (memory $memory)))
        (core instance $asks (instantiate $asks (with "" (instance $given))))
        (func (export "asks") (result u32) (canon lift (core func $asks "asks"))))"#;

    #[tokio::test]
    async fn sockets_are_linked_and_none_is_made() {
        let entry = Entry::new("p", "p.wasm", Digest::zero());
        let sandbox = Arc::new(Sandbox::new(PoolSize::of(&[&entry], NonZeroU32::MIN)).unwrap());
        let imported = OptionalWasi::of(["wasi:sockets/tcp@0.2.0"].into_iter());
        let linker = sandbox.linker(&Grants::default(), imported).unwrap();
        for kind in ["tcp", "udp"] {
            let bytes = wat::parse_str(ASKS.replace("KIND", kind)).unwrap();
            let pre = linker.instantiate_pre(&Component::from_binary(sandbox.engine(), &bytes).unwrap()).unwrap();
            let setup = GuestSetup::to_configure("p".into());
            let (mut store, instance) = sandbox.instantiate(&pre, setup, CallLimits::of(&entry)).await.unwrap();
            let asks = instance.get_typed_func::<(), (u32,)>(&mut store, "asks").unwrap();
            // An error with the number 1, which is `access-denied`.
            assert_eq!(asks.call_async(&mut store, ()).await.unwrap(), (257,), "{kind}");
        }
    }
}
