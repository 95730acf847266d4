//! Measures rows in turns with another process: `cargo run -p bench -- budgets --compare` runs the benchmarks of two commits side by side.
//!
//! Each process waits for a line on its standard input before it measures its next row, and exits at the end of the input. It
//! prints a row as one line of fields between tabs: `row`, the subject, the log, the reference, the measured value for people, and
//! the nanoseconds if the value is a time.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

/// `cargo run -p bench -- budgets --compare` sets this variable.
const VARIABLE: &str = "HOOKHOST_BENCH_TURNS";

/// Returns true if another process measures in turns with this one.
#[must_use]
pub fn are_taken() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Waits for this process's turn.
pub(crate) fn wait() {
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).unwrap() == 0 {
        std::process::exit(0);
    }
}

/// Prints a row, and waits for the next turn.
pub(crate) fn end(what: &str, log: &str, reference: &str, measured: &str, time: Option<Duration>) {
    let nanos = time.map_or(String::new(), |time| time.as_nanos().to_string());
    println!("row\t{what}\t{log}\t{reference}\t{measured}\t{nanos}");
    std::io::stdout().flush().unwrap();
    wait();
}
