//! The engine's own settings.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use serde::Deserialize;

use super::{
    KeyPattern,
    quantity::{Concurrent, RecordedSize, UpToADay},
};

/// `[settings]`: what the operator decides for all plugins. A project's file can tighten one, never loosen it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `stream-unfinalised`: whether text is shown as it streams in although a plugin exports
    /// `finalize-content` and has not seen the whole of it. Default `false`, which holds the text
    /// back until it is final; `true` is the looser. [`Session::stream`](crate::Session::stream) follows it.
    pub stream_unfinalised: bool,
    /// `approval-deadline`: how long a person is waited for when a plugin or an ask rule asks one;
    /// then the answer is no. The event waits that long, so a shorter deadline lets an unattended
    /// agent continue sooner, with the refusal. 1 µs to 24 h, default 5 min; the longer is the
    /// looser.
    pub approval_deadline: Duration,
    /// `overload-deadline`: how long a call of a plugin may wait for a place among the
    /// `concurrent-calls`, and for a thread and a processor once it has one. That is the machine's
    /// time, not the plugin's: beyond it the call fails as `overloaded`, `on-failure` decides, and
    /// the event can be sent again. 1 µs to 24 h, default 2 s; the longer is the looser.
    pub overload_deadline: Duration,
    /// `concurrent-calls`: maximum number of concurrent calls of plugins, in all sessions
    /// together; more wait, for `overload-deadline` at most. Plugins that may wait for a model, a
    /// server or a disk have as many again, so that they hold up no other plugin. Each reserves
    /// some 8 GiB of address space, from 32 on some 1 TiB altogether, though no memory: a process
    /// that has little of it (`ulimit -v`) sets fewer. 1 to 256, default 32; the more is the
    /// looser.
    pub concurrent_calls: NonZeroU32,
    /// `compile-time`: processor time for compiling one plugin, of all threads together. What takes
    /// longer is not loaded. On a busy machine that is some wall time more, at most ten times as
    /// much; where the processor time of a thread cannot be read by another (other systems than
    /// Linux), ten times as much wall time is the only bound. What is compiled is kept, so it is
    /// spent once. 1 µs to 24 h, default 60 s; the longer is the looser.
    pub compile_time: Duration,
    /// `require-plugins`: whether gates are rejected and texts withheld while no plugin is loaded, of
    /// whichever mode. So a configuration that is empty by mistake is noticed at the first event, not
    /// after the damage. Default `false`, which is the looser.
    pub require_plugins: bool,
    /// `[settings.audit]`: what the log holds of each event. A project's file cannot have this
    /// table at all: it could hide from the user what it does.
    pub audit: AuditSettings,
}

/// `[settings.audit]`: what the log holds of the values in it: payloads, changes and verdicts. Each
/// record says what was withheld. An event of which something was withheld cannot be replayed as it
/// was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditSettings {
    /// `largest-value`: bytes of one value as JSON. A larger one is recorded as its size, its digest and its first KiB:
    /// smaller keeps the log small where tools return much. 1 KiB to 64 MiB, default 256 KiB.
    pub largest_value: NonZeroUsize,
    /// `mask`: keys of JSON objects whose values are recorded as `"(masked)"`, at any depth, also in JSON that is in
    /// a string. For what must not be on disk a second time. Text that is not JSON is not searched: a password in a
    /// command line is recorded. Each pattern costs a comparison with every key. Default none.
    pub mask: Vec<KeyPattern>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stream_unfinalised: false,
            approval_deadline: Duration::from_secs(300),
            overload_deadline: Duration::from_secs(2),
            concurrent_calls: const { NonZeroU32::new(32).unwrap() },
            compile_time: Duration::from_secs(60),
            require_plugins: false,
            audit: AuditSettings::default(),
        }
    }
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self { largest_value: const { NonZeroUsize::new(256 << 10).unwrap() }, mask: Vec::new() }
    }
}

/// The keys of `[settings]`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct RawSettings {
    stream_unfinalised: Option<bool>,
    #[serde(with = "UpToADay")]
    approval_deadline: Option<Duration>,
    #[serde(with = "UpToADay")]
    overload_deadline: Option<Duration>,
    #[serde(with = "Concurrent")]
    concurrent_calls: Option<NonZeroU32>,
    #[serde(with = "UpToADay")]
    compile_time: Option<Duration>,
    require_plugins: Option<bool>,
    audit: Option<RawAudit>,
}

/// The keys of `[settings.audit]`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct RawAudit {
    #[serde(with = "RecordedSize")]
    largest_value: Option<NonZeroUsize>,
    mask: Option<Vec<KeyPattern>>,
}

/// A reason why a project's file cannot set a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Forbidden {
    /// It would loosen this setting.
    Looser(&'static str),
    /// This table is the user's alone.
    UsersAlone(&'static str),
}

impl Settings {
    /// Takes over the settings of the user's own file.
    pub(super) fn set(&mut self, written: RawSettings) {
        self.stream_unfinalised = written.stream_unfinalised.unwrap_or(self.stream_unfinalised);
        self.approval_deadline = written.approval_deadline.unwrap_or(self.approval_deadline);
        self.overload_deadline = written.overload_deadline.unwrap_or(self.overload_deadline);
        self.concurrent_calls = written.concurrent_calls.unwrap_or(self.concurrent_calls);
        self.compile_time = written.compile_time.unwrap_or(self.compile_time);
        self.require_plugins = written.require_plugins.unwrap_or(self.require_plugins);
        if let Some(RawAudit { largest_value, mask }) = written.audit {
            self.audit.largest_value = largest_value.unwrap_or(self.audit.largest_value);
            self.audit.mask = mask.unwrap_or_else(|| std::mem::take(&mut self.audit.mask));
        }
    }

    /// Takes over the settings of a project's file that are not looser. Returns those that the file cannot set.
    pub(super) fn tighten(&mut self, written: &RawSettings) -> Vec<Forbidden> {
        let mut forbidden = Vec::new();
        let mut optional = !self.require_plugins;
        lower("stream-unfinalised", &mut self.stream_unfinalised, written.stream_unfinalised, &mut forbidden);
        lower("approval-deadline", &mut self.approval_deadline, written.approval_deadline, &mut forbidden);
        lower("overload-deadline", &mut self.overload_deadline, written.overload_deadline, &mut forbidden);
        lower("concurrent-calls", &mut self.concurrent_calls, written.concurrent_calls, &mut forbidden);
        lower("compile-time", &mut self.compile_time, written.compile_time, &mut forbidden);
        lower("require-plugins", &mut optional, written.require_plugins.map(|required| !required), &mut forbidden);
        self.require_plugins = !optional;
        if written.audit.is_some() {
            forbidden.push(Forbidden::UsersAlone("audit"));
        }
        forbidden
    }

    /// Checks the ranges of settings that a program made: they are those of written ones.
    pub(super) fn check_ranges(&self) -> Result<(), String> {
        for (key, time) in [
            ("approval-deadline", self.approval_deadline),
            ("overload-deadline", self.overload_deadline),
            ("compile-time", self.compile_time),
        ] {
            let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            UpToADay::new(micros).map_err(|why| format!("`{key}`: {why}"))?;
        }
        Concurrent::new(self.concurrent_calls.get().into()).map_err(|why| format!("`concurrent-calls`: {why}"))?;
        let bytes = self.audit.largest_value.get() as u64;
        RecordedSize::new(bytes).map_err(|why| format!("`audit.largest-value`: {why}"))?;
        Ok(())
    }
}

/// Lowers a setting whose greater value is the looser one. A value above the present one is forbidden.
fn lower<T: PartialOrd>(key: &'static str, setting: &mut T, written: Option<T>, forbidden: &mut Vec<Forbidden>) {
    match written {
        Some(looser) if looser > *setting => forbidden.push(Forbidden::Looser(key)),
        Some(tighter) => *setting = tighter,
        None => {}
    }
}
