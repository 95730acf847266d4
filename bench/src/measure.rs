//! Measures how long functions (the subjects) take, in batches that alternate between the subjects.

use crate::turns;
use std::time::{Duration, Instant};

/// Number of pairs of batches that are timed.
const PAIRS: usize = 61;

/// Number of pairs if this process takes turns with another process. In this case each row is measured several times, so fewer pairs are
/// enough.
const PAIRS_IN_A_TURN: usize = 15;

/// Target duration of one batch. In comparison with this duration, the cost of reading the clock is negligible.
const BATCH: Duration = Duration::from_millis(10);

/// The times of a single run of a subject, computed from batches of runs.
#[derive(Debug)]
pub struct Times {
    pub median: Duration,
    /// The 5th and 95th percentile of the batches.
    pub low: Duration,
    pub high: Duration,
}

/// The times of a subject and of its reference.
#[derive(Debug)]
pub struct Compared {
    pub subject: Times,
    pub reference: Times,
    /// The median of the ratios of neighbouring batches.
    pub ratio: f64,
}

/// Times `subject` and `reference`, in batches that alternate.
pub fn compare(mut subject: impl FnMut(), mut reference: impl FnMut()) -> Compared {
    compare_batches(|runs| batch(runs, &mut subject), |runs| batch(runs, &mut reference))
}

/// Like [`compare`], for subjects that run a whole batch themselves, for example in another process. Each subject gets the number of runs
/// and returns the total time of these runs.
pub fn compare_batches(
    mut subject: impl FnMut(u32) -> Duration,
    mut reference: impl FnMut(u32) -> Duration,
) -> Compared {
    let (of_subject, of_reference) = (runs_for_a_batch(&mut subject), runs_for_a_batch(&mut reference));
    let count = if turns::are_taken() { PAIRS_IN_A_TURN } else { PAIRS };
    let pairs: Vec<(Duration, Duration)> =
        (0..count).map(|_| (subject(of_subject) / of_subject, reference(of_reference) / of_reference)).collect();
    Compared {
        subject: times(pairs.iter().map(|(subject, _)| *subject).collect()),
        reference: times(pairs.iter().map(|(_, reference)| *reference).collect()),
        ratio: median(
            pairs.iter().map(|(subject, reference)| subject.as_secs_f64() / reference.as_secs_f64()).collect(),
        ),
    }
}

/// Times each subject `rounds` times, alternately with the other subjects.
pub fn in_turns(rounds: usize, subjects: &mut [Box<dyn FnMut() + '_>]) -> Vec<Times> {
    let mut timed: Vec<(u32, Vec<Duration>)> = Vec::new();
    for subject in subjects.iter_mut() {
        timed.push((runs_for_a_batch(&mut |runs| batch(runs, subject)), Vec::new()));
    }
    for _ in 0..rounds {
        for (subject, (runs, times)) in subjects.iter_mut().zip(&mut timed) {
            times.push(batch(*runs, subject) / *runs);
        }
    }
    timed.into_iter().map(|(_, all)| times(all)).collect()
}

/// Times a subject for which a single run takes long enough to be timed. The subject returns the time of its run.
pub fn times_of(runs: usize, mut subject: impl FnMut() -> Duration) -> Times {
    subject();
    times((0..runs).map(|_| subject()).collect())
}

fn runs_for_a_batch(batch: &mut impl FnMut(u32) -> Duration) -> u32 {
    let mut runs = 1;
    while batch(runs) < BATCH {
        runs *= 2;
    }
    runs
}

/// Returns the time of all runs of a batch.
fn batch(runs: u32, run: &mut impl FnMut()) -> Duration {
    let began = Instant::now();
    (0..runs).for_each(|_| run());
    began.elapsed()
}

/// Returns the median of `all` and its 5th and 95th percentile.
pub fn times(mut all: Vec<Duration>) -> Times {
    all.sort();
    let at = |share: usize| all[(all.len() - 1) * share / 100];
    Times { median: at(50), low: at(5), high: at(95) }
}

pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Prints a time with its unit.
pub fn spoken(time: Duration) -> String {
    let nanos = time.as_secs_f64() * 1e9;
    match nanos {
        ..1e3 => format!("{nanos:.0} ns"),
        1e3..1e6 => format!("{:.1} µs", nanos / 1e3),
        1e6..1e9 => format!("{:.2} ms", nanos / 1e6),
        _ => format!("{:.2} s", nanos / 1e9),
    }
}
