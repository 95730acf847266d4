//! Measures the cost of loading plugins whose code is in the cache, including the check that the cache makes.

use crate::bare;
use crate::plugins::{Copies, all_events};
use bench::measure::{compare, spoken, times_of};
use bench::plugins::built;
use bench::table::{Row, Table};
use hookhost::config::{Digest, Entry, Settings};
use hookhost::{Config, Host};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Builder;
use wasmtime::component::Component;

/// A time slightly longer than the age at which the host begins to recognise an unchanged file by its stamp, without reading it.
const SETTLED: Duration = Duration::from_millis(3_500);

pub(crate) fn rows(table: &mut Table) {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("cache");

    // Use the largest test plugin, padded to 1 MB with a custom section, so that 1 MB is read and hashed.
    let mut bytes = std::fs::read(built("all_events.wasm")).unwrap();
    pad(&mut bytes, 1_000_000);
    let padded = directory.path().join("padded.wasm");
    std::fs::write(&padded, bytes).unwrap();
    let small = std::fs::read(built("no_force_push.wasm")).unwrap();
    let copies = Copies::of(&small, 100);
    // Wait until the file is old enough to have a stamp, like most plugins of a user.
    std::thread::sleep(SETTLED);
    let entry = all_events(&padded, &serde_json::json!({}));
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    let one = load(&config, &cache);
    let none = load(&Config::empty(), &cache);
    let time = one.saturating_sub(none);
    let why = "The rows below show the time of bare wasmtime for its part, and the time of the code alone. In \
               addition, the types of all functions are checked, and the plugin is asked for its tools.";
    let row = |what, component| Row { what, component, log: "–", why };
    let budget = Duration::from_micros(1500);
    let what = "load a cached plugin of 1 MB, known by its stamp";
    table.plain(&row(what, "all-events, padded"), spoken(time), "≤ 1.5 ms", Some(time <= budget));

    // Find the file with the compiled code, which is the largest file in the cache.
    let compiled = files_of(&cache).into_iter().max_by_key(|(size, _)| *size).unwrap().1;
    let key = [7; blake3::KEY_LEN];
    let code = times_of(21, || {
        let began = Instant::now();
        black_box(blake3::keyed_hash(&key, &std::fs::read(&compiled).unwrap()));
        began.elapsed()
    });
    let what = "its compiled code, read and with its authentication code, and nothing else";
    table.plain(&row(what, "all-events, padded"), spoken(code.median), "", None);

    // Set the modification time to now before each load, so that the file is too new to have a stamp.
    let touch = || std::fs::File::options().write(true).open(&padded).unwrap().set_modified(SystemTime::now()).unwrap();
    let read = load_after(touch, &config, &cache).saturating_sub(none);
    let what = "the plugin again, where its component is read and hashed";
    table.plain(&row(what, "all-events, padded"), spoken(read), "≤ 2 ms", Some(read <= Duration::from_millis(2)));
    let what = "bare wasmtime, which trusts the file: an engine with a pool, the component, a linker with all of WASI";
    table.plain(&row(what, "all-events, padded"), spoken(load_bare(&padded, &directory.path().join("bare"))), "", None);

    let hundred = load(&Config::from_entries(copies.entries(), Settings::default()).unwrap(), &cache);
    let within = hundred <= Duration::from_millis(20);
    let what = "load 100 cached plugins, known by their stamps, engine and pool included";
    table.plain(&row(what, "no-force-push"), spoken(hundred), "≤ 20 ms", Some(within));
    table.plain(&row("a host without plugins, and so without a pool", "none"), spoken(none), "", None);

    // The reference is the additional time that is needed if the file is not recognised by its stamp.
    let guard = built("path_guard.wasm");
    let entry = Entry::from_file("path-guard", &guard).unwrap().with("protected", ["infra/**"]);
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let build = || drop(runtime.block_on(Host::builder(config.clone()).cache(&cache).build()).unwrap());
    build();
    let read = || {
        black_box(Digest::of_bytes(&std::fs::read(&guard).unwrap()));
    };
    let what = "a host of a cached plugin, engine and pool included";
    table.compared(&row(what, "path-guard"), &compare(build, read), "`fs::read` and the digest", None);
}

/// Returns the median time of building a host.
fn load(config: &Config, cache: &Path) -> Duration {
    load_after(|| (), config, cache)
}

/// Like [`load`], but calls `before` before each build. This call is not timed.
fn load_after(before: impl Fn(), config: &Config, cache: &Path) -> Duration {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let build = || {
        before();
        let builder = Host::builder(config.clone()).cache(cache);
        let began = Instant::now();
        let host = runtime.block_on(builder.build()).unwrap();
        let took = began.elapsed();
        drop(host);
        took
    };
    times_of(21, build).median
}

/// Returns the time that wasmtime alone takes for loading compiled code and for the steps that every component needs.
fn load_bare(component: &Path, compiled: &Path) -> Duration {
    // The number of slots of the host's pool.
    const SLOTS: u32 = 128;
    let engine = bare::engine(SLOTS);
    std::fs::write(compiled, Component::from_file(&engine, component).unwrap().serialize().unwrap()).unwrap();
    let build = || {
        let began = Instant::now();
        let engine = bare::engine(SLOTS);
        #[expect(unsafe_code, reason = "wasmtime cannot check compiled code")]
        // SAFETY: the code was just written by the same wasmtime.
        let component = unsafe { Component::deserialize_file(&engine, compiled) }.unwrap();
        let linker = bare::linker(&engine);
        let took = began.elapsed();
        drop((component, linker));
        took
    };
    times_of(21, build).median
}

/// Returns the files below a directory, each with its size.
fn files_of(directory: &Path) -> Vec<(u64, PathBuf)> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .flat_map(|entry| match entry.metadata().unwrap() {
            metadata if metadata.is_dir() => files_of(&entry.path()),
            metadata => vec![(metadata.len(), entry.path())],
        })
        .collect()
}

/// Adds a custom section: <https://webassembly.github.io/spec/core/binary/modules.html#custom-section>.
fn pad(component: &mut Vec<u8>, size: usize) {
    fn leb(mut value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }
    let name = b"padding";
    let content = size.saturating_sub(component.len() + 16);
    let mut section = leb(name.len());
    section.extend(name);
    section.resize(section.len() + content, 0);
    component.push(0);
    component.extend(leb(section.len()));
    component.extend(section);
}
