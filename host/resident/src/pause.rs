//! A pause, in which no rule is asked. `hookhost off --for` begins it, and it ends by itself.
//!
//! The end is given by two clocks, and the earlier of them counts: the calendar's clock, which people and programs can set, and the clock
//! that runs since the boot. If the clocks do not say clearly that the pause still lasts, it has ended.

use hookhost::files::{self, Guard, Links, NewFile};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum length of a pause. Without hookhost for longer, a person should remove it from the agents.
pub const MAX_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 4096;

/// The clock that counts from the boot and does not stop while the machine sleeps.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT_CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

/// The clocks of the machine at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Milliseconds since the Unix epoch.
    pub wall: u64,
    /// Milliseconds since the boot.
    pub since_boot: u64,
    /// Identifier of the boot, if the system has one.
    pub boot: Option<String>,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Pause {
    /// The person who began the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Beginning, in milliseconds since the Unix epoch.
    pub since: u64,
    /// End, in milliseconds since the Unix epoch.
    pub until: u64,
    /// Beginning, in milliseconds since the boot.
    since_boot: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
}

impl Clocks {
    /// Reads the clocks. A clock that cannot be read is 0, so that no pause lasts.
    pub fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since_boot = clock_gettime(BOOT_CLOCK).map(Duration::from).unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Self {
            wall: millis(wall),
            since_boot: millis(since_boot),
            boot: boot.map(|boot| boot.trim().to_owned()).filter(|boot| !boot.is_empty()),
        }
    }
}

impl Pause {
    /// Creates a pause that begins at this moment and lasts for `length`, [`MAX_PAUSE`] at most.
    pub fn new(by: Option<String>, length: Duration, now: Clocks) -> Self {
        let until = now.wall.saturating_add(millis(length.min(MAX_PAUSE)));
        Self { by, since: now.wall, until, since_boot: now.since_boot, boot: now.boot }
    }

    /// Returns true if the pause lasts at this moment.
    ///
    /// After a reboot, the clock since the boot only bounds the pause to its length. A calendar's clock before the beginning of the pause
    /// was set back, so it says nothing about the end.
    pub fn lasts(&self, now: &Clocks) -> bool {
        let length = self.until.saturating_sub(self.since);
        let is_possible = length > 0 && length <= millis(MAX_PAUSE) && now.wall > 0 && now.since_boot > 0;
        let is_same_boot = self.boot == now.boot && now.since_boot >= self.since_boot;
        let began = if is_same_boot { self.since_boot } else { 0 };
        is_possible && (self.since..self.until).contains(&now.wall) && now.since_boot < began.saturating_add(length)
    }

    /// Returns the pause that lasts now. A file that cannot be read, or that others could have written, is no pause.
    pub fn current(state: &Path) -> Option<Self> {
        let bytes = files::read(&Self::file(state), Guard::OnlyMineToWrite, Links::Refused, MAX_BYTES).ok()?;
        let pause: Self = serde_json::from_slice(&bytes).ok()?;
        pause.lasts(&Clocks::now()).then_some(pause)
    }

    /// Returns the path of the file in this state directory.
    pub fn file(state: &Path) -> PathBuf {
        state.join("pause.json")
    }

    /// Ends an earlier pause, and begins this one by writing its file.
    ///
    /// # Errors
    /// If the file cannot be written. There is no pause then.
    pub fn begin(&self, state: &Path) -> io::Result<()> {
        files::make_own_directory(state)?;
        // The new file must not get the permissions of the old file.
        Self::end(state)?;
        let text = serde_json::to_vec(self)?;
        files::replace(&Self::file(state), &text, NewFile::Private)
    }

    /// Ends the pause: removes its file. Returns true if there was one.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn end(state: &Path) -> io::Result<bool> {
        match fs::remove_file(Self::file(state)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Clocks, MAX_PAUSE, Pause};
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    const MINUTE: u64 = 60_000;
    const NOON: u64 = 1_800_000_000_000;
    const UPTIME: u64 = 500 * MINUTE;

    /// The clocks, this many minutes after noon and after the boot at which the pause began.
    fn clocks(wall: i64, since_boot: u64, boot: &str) -> Clocks {
        let wall = NOON.saturating_add_signed(wall * 60_000);
        Clocks { wall, since_boot, boot: (!boot.is_empty()).then(|| boot.to_owned()) }
    }

    fn ten_minutes(boot: &str) -> Pause {
        Pause::new(Some("ada".to_owned()), Duration::from_secs(600), clocks(0, UPTIME, boot))
    }

    #[test]
    fn a_pause_ends_at_the_earlier_of_the_calendars_time_and_the_time_since_the_boot() {
        for boot in ["a", ""] {
            let lasts =
                |wall: i64, minutes: u64| ten_minutes(boot).lasts(&clocks(wall, UPTIME + minutes * MINUTE, boot));
            assert!(lasts(0, 0) && lasts(9, 9));
            assert!(!lasts(10, 10) && !lasts(600, 600));
            assert!(!lasts(10, 1), "somebody set the clock forward");
            assert!(lasts(1, 9) && !lasts(1, 10), "somebody set the clock back: the time since the boot ends it");
            assert!(!lasts(-1, 5), "a clock before the beginning says nothing");
        }
    }

    #[test]
    fn after_a_reboot_the_pause_ends_on_time_and_never_lasts_longer_than_its_length() {
        for (before, after) in [("a", "b"), ("", ""), ("a", "")] {
            let lasts =
                |wall: i64, since_boot: u64| ten_minutes(before).lasts(&clocks(wall, since_boot * MINUTE, after));
            assert!(lasts(3, 1));
            assert!(!lasts(10, 1) && !lasts(500, 1));
            assert!(lasts(1, 9) && !lasts(1, 10), "the clock was set back during the reboot");
            assert!(!lasts(-1, 1));
        }
        // Another boot whose clock has gone further than the first one is told apart by its identifier alone.
        assert!(!ten_minutes("a").lasts(&clocks(5, UPTIME + 5 * MINUTE, "b")));
    }

    #[test]
    fn a_clock_that_cannot_be_read_and_an_impossible_length_end_it() {
        let pause = ten_minutes("a");
        assert!(!pause.lasts(&Clocks { wall: 0, ..clocks(5, UPTIME, "a") }));
        assert!(!pause.lasts(&clocks(5, 0, "a")));
        let long = Pause { until: u64::MAX, ..pause.clone() };
        assert!(!long.lasts(&clocks(5, UPTIME, "a")), "nobody can write a longer one into the file");
        let longest = Pause::new(None, Duration::MAX, clocks(0, UPTIME, "a"));
        assert_eq!(u128::from(longest.until - longest.since), MAX_PAUSE.as_millis());
        assert!(!Pause::new(None, Duration::ZERO, clocks(0, UPTIME, "a")).lasts(&clocks(0, UPTIME, "a")));
    }

    #[test]
    fn a_file_that_is_damaged_or_that_others_can_write_is_no_pause() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        assert_eq!(Pause::current(state), None);
        assert!(!Pause::end(state).unwrap());
        let pause = Pause::new(None, Duration::from_secs(60), Clocks::now());
        pause.begin(state).unwrap();
        assert_eq!(Pause::current(state), Some(pause.clone()));
        fs::set_permissions(Pause::file(state), fs::Permissions::from_mode(0o622)).unwrap();
        assert_eq!(Pause::current(state), None);
        pause.begin(state).unwrap();
        assert_eq!(Pause::current(state), Some(pause));
        for text in ["", "{}", "[1]", "{\"since\": 0, \"until\": 9e99, \"since-boot\": 0}"] {
            fs::write(Pause::file(state), text).unwrap();
            assert_eq!(Pause::current(state), None, "{text}");
        }
        assert!(Pause::end(state).unwrap() && !Pause::file(state).exists());
    }
}
