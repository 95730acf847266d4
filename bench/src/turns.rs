//! Lets this process take turns with another process, row by row. `cargo run -p bench -- budgets --compare` runs the benchmarks of two
//! commits at the same time in this way.
//!
//! Each process waits for a line on its standard input before it measures its next row, and it exits at the end of the input. It prints a
//! row as one line, whose fields are separated by tabs: `row`, the subject, the log, the reference, and the measured value in a form for
//! people. The last field contains the nanoseconds if the value is a time, and is empty otherwise.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

/// The environment variable that `cargo run -p bench -- budgets --compare` sets.
const VARIABLE: &str = "HOOKHOST_BENCH_TURNS";

/// Returns true if this process takes turns with another process.
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
