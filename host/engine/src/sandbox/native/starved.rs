//! The time for which the thread of a call was ready to run but had no processor. This time counts as the machine's
//! time and not as the rule's time.
//!
//! Linux reports three numbers in `/proc/thread-self/schedstat`: the nanoseconds that the thread ran on a processor,
//! the nanoseconds that it waited for a processor, and the number of its time slices. On other systems, all time counts
//! as the rule's time.

use std::time::{Duration, Instant};
#[cfg(target_os = "linux")]
use std::{fs::File, os::unix::fs::FileExt as _, sync::Arc};

/// The clocks of a thread when it began a call.
pub(super) struct Start {
    began: Instant,
    /// The thread's `schedstat`, and the time for which the thread had already waited for a processor.
    #[cfg(target_os = "linux")]
    starved: Option<(Arc<File>, Duration)>,
}

#[cfg(target_os = "linux")]
thread_local! {
    /// The thread's `schedstat`. The file stays open while the thread lives, because each call on the thread reads it.
    static OWN: Option<Arc<File>> = File::open("/proc/thread-self/schedstat").ok().map(Arc::new);
}

impl Start {
    /// Returns the start of a call that begins now on this thread.
    pub(super) fn now() -> Self {
        #[cfg(target_os = "linux")]
        let starved = OWN.with(Clone::clone).and_then(|file| Some((Arc::clone(&file), waited(&file)?)));
        Self {
            began: Instant::now(),
            #[cfg(target_os = "linux")]
            starved,
        }
    }

    /// Returns the time since the start: the rule's own time, and the time of waiting for a processor.
    pub(super) fn spent(&self) -> (Duration, Duration) {
        let wall = self.began.elapsed();
        let starved = self.starved().min(wall);
        (wall - starved, starved)
    }

    #[cfg(target_os = "linux")]
    fn starved(&self) -> Duration {
        let starved = self.starved.as_ref().and_then(|(file, before)| waited(file)?.checked_sub(*before));
        starved.unwrap_or_default()
    }

    #[cfg(not(target_os = "linux"))]
    fn starved(&self) -> Duration {
        Duration::ZERO
    }
}

/// Returns the time for which the thread to which `file` belongs has waited for a processor.
#[cfg(target_os = "linux")]
fn waited(file: &File) -> Option<Duration> {
    let mut text = [0; 64];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::thread::scope;

    #[test]
    fn a_thread_that_sleeps_waits_for_no_processor_and_one_of_many_that_compute_does() {
        let start = Start::now();
        std::thread::sleep(Duration::from_millis(20));
        let (own, _) = start.spent();
        assert!(own >= Duration::from_millis(10), "{own:?}");

        let threads = 4 * std::thread::available_parallelism().unwrap().get();
        let computes = || {
            let start = Start::now();
            while start.began.elapsed() < Duration::from_millis(200) {}
            start.spent().1
        };
        let starved: Duration = scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(computes)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(starved > Duration::from_millis(200), "{starved:?}");
    }
}
