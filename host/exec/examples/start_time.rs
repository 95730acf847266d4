//! Measures how long `true` takes inside and outside: `cargo run --release -p hookhost-exec --example start_time`.
//!
//! Both take turns, so that a busy machine slows both. Build the example `inside` in the same profile
//! first: `cargo build --release -p hookhost-exec --examples`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts of each kind.
const STARTS: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let examples = std::env::current_exe()?.with_file_name("inside");
    let scratch = tempfile::tempdir()?;
    let inside = scratch.path().join("inside");
    fs::copy(examples, &inside)?;
    let mut plan = String::new();
    let mut plans = Vec::new();
    for count in 0..=30 {
        if count == 0 || count == 30 {
            let path = scratch.path().join(format!("plan-{count}"));
            fs::write(&path, &plan)?;
            plans.push((count, path));
        }
        let directory = scratch.path().join(format!("agent-{}", count % 6));
        fs::create_dir_all(&directory)?;
        let file = directory.join(format!("settings-{count}"));
        fs::write(&file, "")?;
        writeln!(plan, "{} {}", ["read-only", "hidden"][count % 2], file.display())?;
    }
    // The working directory is pinned and watched, so it is one as a project is, and not a busy one.
    std::env::set_current_dir(scratch.path())?;
    let mut outside = Vec::new();
    let mut times = vec![Vec::new(); plans.len()];
    for _ in 0..STARTS {
        outside.push(time(Command::new("true"))?);
        for ((_, plan), times) in plans.iter().zip(&mut times) {
            let mut command = Command::new(&inside);
            command.arg(plan).args(["--", "true"]).env("HOME", scratch.path());
            times.push(time(command)?);
        }
    }
    println!("load {}", fs::read_to_string(Path::new("/proc/loadavg")).unwrap_or_default().trim());
    print("outside", &mut outside);
    for ((count, _), times) in plans.iter().zip(&mut times) {
        print(&format!("inside, {count} guards"), times);
    }
    Ok(())
}

fn time(mut command: Command) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let elapsed = start.elapsed();
    if status.success() { Ok(elapsed) } else { Err(format!("{command:?} fails").into()) }
}

fn print(name: &str, times: &mut [Duration]) {
    times.sort();
    let milliseconds = |at: usize| times[at].as_secs_f64() * 1000.0;
    println!(
        "{name:>20}: least {:.2} ms, median {:.2} ms, 90 % {:.2} ms",
        milliseconds(0),
        milliseconds(times.len() / 2),
        milliseconds(times.len() * 9 / 10)
    );
}
