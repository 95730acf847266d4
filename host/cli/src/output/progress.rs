//! Shows on a terminal what takes long, how far it is, and how long it will still take.
//!
//! The status line is on standard error. It appears only if standard error is a terminal, and only after a second.

use super::screen;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that takes less time than this gets no status line.
pub(crate) const MIN_SHOWN: Duration = Duration::from_secs(1);

/// Interval at which the status line is rewritten.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// The frames of the animation.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The progress of one command. It is shown until this value is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Arc<ProgressState>,
    _line: Option<StatusLine>,
}

#[derive(Debug)]
struct ProgressState {
    step: Mutex<Step>,
    done: AtomicU64,
    total: AtomicU64,
}

/// The step that is under way.
#[derive(Debug)]
struct Step {
    name: String,
    began: Instant,
    /// The shortest time left that was shown. The first parts of a step can be faster than the rest, and a time left that rises tells a
    /// person that something is wrong.
    left: Option<Duration>,
}

impl Step {
    fn begin(name: impl Into<String>) -> Self {
        Self { name: name.into(), began: Instant::now(), left: None }
    }
}

impl Progress {
    /// Begins with the step of this name, such as "reading transcripts". Each character of the name must be one column wide.
    pub(crate) fn start(step: impl Into<String>) -> Self {
        let step = Mutex::new(Step::begin(step));
        let state = Arc::new(ProgressState { step, done: AtomicU64::new(0), total: AtomicU64::new(0) });
        let shown = Arc::clone(&state);
        Self { state, _line: StatusLine::start(move || shown.line(Instant::now())) }
    }

    /// Begins the next step.
    pub(crate) fn next(&self, step: impl Into<String>) {
        let mut current = self.state.step();
        self.set(0, 0);
        *current = Step::begin(step);
    }

    /// Sets how far the step is, in any unit. If `total` is 0, only the time so far is shown.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.state.done.store(done, Ordering::Relaxed);
        self.state.total.store(total, Ordering::Relaxed);
    }
}

impl ProgressState {
    fn step(&self) -> MutexGuard<'_, Step> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the status line, if the step has taken longer than [`MIN_SHOWN`].
    fn line(&self, now: Instant) -> Option<String> {
        let mut step = self.step();
        let time = now.saturating_duration_since(step.began);
        if time < MIN_SHOWN {
            return None;
        }
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(total);
        let how_far = if done == 0 {
            in_words(time)
        } else {
            let left = u128::from(total - done) * time.as_millis() / u128::from(done);
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX)).max(Duration::from_secs(1));
            let left = step.left.map_or(left, |shown| left.min(shown));
            step.left = Some(left);
            format!("{} %, {} left", done.saturating_mul(100) / total, in_words(left))
        };
        Some(format!("{} {} {how_far}", frame(time), step.name))
    }
}

/// Returns the frame of the animation after this time.
pub(crate) fn frame(time: Duration) -> char {
    let number = usize::try_from(time.as_millis() / FRAME_INTERVAL.as_millis()).unwrap_or(0);
    FRAMES[number % FRAMES.len()]
}

/// Formats a time: `4 s`, `2 min 5 s`.
pub(crate) fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Number of status lines that are not dropped yet.
static STATUS_LINES: AtomicUsize = AtomicUsize::new(0);

/// Returns true if a status line shows the progress, or will show it after a second.
pub(crate) fn is_shown() -> bool {
    STATUS_LINES.load(Ordering::Relaxed) > 0
}

/// A thread that shows a status line until this value is dropped.
#[derive(Debug)]
pub(crate) struct StatusLine {
    /// Dropping this sender ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StatusLine {
    /// Starts the thread, if there is a terminal. `line` returns the text, or `None` if nothing is to be shown.
    pub(crate) fn start(line: impl Fn() -> Option<String> + Send + 'static) -> Option<Self> {
        if !screen::shows_status() {
            return None;
        }
        STATUS_LINES.fetch_add(1, Ordering::Relaxed);
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(FRAME_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                match line() {
                    Some(line) => screen::status(&line),
                    None => screen::no_status(),
                }
            }
            screen::no_status();
        });
        Some(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        STATUS_LINES.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_under_way_how_far_it_is_and_how_long_it_still_takes() {
        let progress = Progress::start("reading transcripts");
        let began = progress.state.step().began;
        let line = |seconds: f64| progress.state.line(began + Duration::from_secs_f64(seconds));
        assert_eq!(line(0.9), None, "what is short is not shown");
        assert_eq!(line(3.0).unwrap(), "⠋ reading transcripts 3 s");
        progress.set(25, 100);
        assert_eq!(line(3.0).unwrap(), "⠋ reading transcripts 25 %, 9 s left");
        progress.set(100, 100);
        assert_eq!(line(3.0).unwrap(), "⠋ reading transcripts 100 %, 1 s left");
        progress.next("judging");
        assert_eq!(line(0.5), None, "each step is shown only after a second");
    }

    #[test]
    fn the_time_left_never_rises_within_a_step() {
        let progress = Progress::start("compiling rules");
        let began = progress.state.step().began;
        let line = |seconds: f64| progress.state.line(began + Duration::from_secs_f64(seconds)).unwrap();
        progress.set(50, 100);
        assert_eq!(line(9.0), "⠋ compiling rules 50 %, 9 s left");
        assert_eq!(line(30.0), "⠋ compiling rules 50 %, 9 s left", "the second half is slower than the first");
        progress.set(90, 100);
        assert_eq!(line(36.0), "⠋ compiling rules 90 %, 4 s left");
        progress.next("judging");
        progress.set(1, 100);
        let next = progress.state.step().began;
        let line = progress.state.line(next + Duration::from_secs_f64(2.1)).unwrap();
        assert_eq!(line, "⠙ judging 1 %, 3 min 27 s left", "the next step begins anew");
    }
}
