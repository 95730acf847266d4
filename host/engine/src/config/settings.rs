//! The engine's own settings.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    KeyPattern,
    quantity::{Concurrent, RecordedSize, UpToADay},
};

/// `[settings]`: the user's settings for all plugins. A project's configuration file can make a setting stricter, but
/// never looser.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `stream-unfinalised`: this setting matters if a plugin exports `finalize-content`. If `true`, text is shown
    /// while it streams, before that plugin has seen all of it. If `false`, the default, text is shown only after that
    /// plugin has seen all of it. `true` is looser. [`Session::stream`](crate::Session::stream) follows this setting.
    pub stream_unfinalised: bool,
    /// `approval-deadline`: maximum time to wait for a person's answer to a plugin or to a rule. After this time,
    /// the answer is no. The event waits for the answer, so with a shorter deadline an unattended agent gets the
    /// refusal sooner and can continue. 1 µs to 24 h, default 5 min; a longer time is looser.
    pub approval_deadline: Duration,
    /// `overload-deadline`: maximum time for which a call of a plugin may wait for one of the `concurrent-calls`, and
    /// then for a thread and a processor. This time is not part of the plugin's `deadline`, because the plugin does not
    /// cause it. A call that waits for longer fails as `overloaded`. In this case `on-failure` decides, and the agent
    /// can send the event again. 1 µs to 24 h, default 2 s; a longer time is looser.
    pub overload_deadline: Duration,
    /// `concurrent-calls`: maximum number of concurrent calls of plugins, in all sessions together. Further calls wait,
    /// at most for `overload-deadline`. Plugins that may wait for a model, a server or a disk have a separate limit of
    /// the same size, because these plugins must not block the other plugins. Each call reserves about 8 GiB of address
    /// space (32 and more calls together about 1 TiB), but no memory. So a process with little address space
    /// (`ulimit -v`) needs a lower number. 1 to 256, default 32; a higher number is looser.
    pub concurrent_calls: NonZeroU32,
    /// `compile-time`: maximum processor time for compiling one plugin, summed over all threads. A plugin that takes
    /// longer is not loaded. The maximum wall time is ten times this value, because a plugin should not be rejected
    /// only because the machine is busy. On systems other than Linux, a thread cannot read the processor time of
    /// another thread, so only the wall time is limited. Compiled code is stored, so each plugin is compiled only once.
    /// 1 µs to 24 h, default 60 s; a longer time is looser.
    pub compile_time: Duration,
    /// `require-plugins`: if `true`, the host rejects gates and withholds texts while no plugin is loaded in any mode.
    /// So the user notices at the first event that the configuration is empty by mistake. The default is `false`, which
    /// is looser.
    pub require_plugins: bool,
    /// `on-question`: with `"reject"`, an event about which a plugin or a rule asks a person is rejected at once.
    /// A person can let exactly the rejected call pass once. Use this for agents that run while nobody is there. The
    /// default is `"ask"`, which is looser.
    pub on_question: OnQuestion,
    /// `observe`: if `true`, the rules decide on each event and the log records their decision, but the decision does
    /// not take effect. The default is `false`; `true` is looser.
    pub observe: bool,
    /// `[settings.audit]`: the parts of each event that the log contains. A project's configuration file cannot have
    /// this table, because the table could hide the project's actions from the user.
    pub audit: AuditSettings,
}

/// The consequence of a question to a person. The stricter value is the smaller one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnQuestion {
    /// The event is rejected at once. A rejected tool call is overridable: a person can let exactly this call pass once.
    Reject,
    /// A person is asked.
    #[default]
    Ask,
}

impl OnQuestion {
    /// Returns the name in the configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Ask => "ask",
        }
    }
}

/// Says whether the decisions of the rules take effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Enforcement {
    /// The decisions take effect.
    #[default]
    Enforced,
    /// The decisions are recorded, and each event continues with its original value. No person is asked.
    Observed,
    /// No rule is asked, and each event continues ([`Config::paused`](super::Config::paused)).
    Paused,
}

impl Enforcement {
    /// Returns true if decisions take effect.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        *self == Self::Enforced
    }
}

/// `[settings.audit]`: which values in payloads, changes and verdicts the log contains. Each record says which values
/// are left out. If values are left out, the event cannot be replayed exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditSettings {
    /// `largest-value`: maximum size of one value, in bytes of JSON. If a value is larger, the log contains only its
    /// size, its digest and its first KiB. With a lower limit, the log stays small even if tools return long results. 1
    /// KiB to 64 MiB, default 256 KiB.
    pub largest_value: NonZeroUsize,
    /// `mask`: patterns for keys of JSON objects. The values of matching keys are recorded as `"(masked)"`, at any
    /// depth, and also in JSON inside a string. Use this key for values that must not be stored on disk a second time.
    /// Text that is not JSON is not searched, so a password in a command line is still recorded. Each pattern is
    /// compared with every key. Default none.
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
            on_question: OnQuestion::default(),
            observe: false,
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
    on_question: Option<OnQuestion>,
    observe: Option<bool>,
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

/// A reason why a project's file cannot have a key or set a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Forbidden {
    /// The value would make this setting looser.
    Looser(&'static str),
    /// Only the user's own file may have this table.
    UsersAlone(&'static str),
}

impl Settings {
    /// Applies the settings of the user's own file.
    pub(super) fn set(&mut self, written: RawSettings) {
        self.stream_unfinalised = written.stream_unfinalised.unwrap_or(self.stream_unfinalised);
        self.approval_deadline = written.approval_deadline.unwrap_or(self.approval_deadline);
        self.overload_deadline = written.overload_deadline.unwrap_or(self.overload_deadline);
        self.concurrent_calls = written.concurrent_calls.unwrap_or(self.concurrent_calls);
        self.compile_time = written.compile_time.unwrap_or(self.compile_time);
        self.require_plugins = written.require_plugins.unwrap_or(self.require_plugins);
        self.on_question = written.on_question.unwrap_or(self.on_question);
        self.observe = written.observe.unwrap_or(self.observe);
        if let Some(RawAudit { largest_value, mask }) = written.audit {
            self.audit.largest_value = largest_value.unwrap_or(self.audit.largest_value);
            self.audit.mask = mask.unwrap_or_else(|| std::mem::take(&mut self.audit.mask));
        }
    }

    /// Applies the settings of a project's file, except looser settings. Returns the settings that the file cannot set.
    pub(super) fn tighten(&mut self, written: &RawSettings) -> Vec<Forbidden> {
        let mut forbidden = Vec::new();
        let mut optional = !self.require_plugins;
        lower("stream-unfinalised", &mut self.stream_unfinalised, written.stream_unfinalised, &mut forbidden);
        lower("approval-deadline", &mut self.approval_deadline, written.approval_deadline, &mut forbidden);
        lower("overload-deadline", &mut self.overload_deadline, written.overload_deadline, &mut forbidden);
        lower("concurrent-calls", &mut self.concurrent_calls, written.concurrent_calls, &mut forbidden);
        lower("compile-time", &mut self.compile_time, written.compile_time, &mut forbidden);
        lower("require-plugins", &mut optional, written.require_plugins.map(|required| !required), &mut forbidden);
        lower("on-question", &mut self.on_question, written.on_question, &mut forbidden);
        lower("observe", &mut self.observe, written.observe, &mut forbidden);
        self.require_plugins = !optional;
        if written.audit.is_some() {
            forbidden.push(Forbidden::UsersAlone("audit"));
        }
        forbidden
    }

    /// Checks the ranges of settings that a program created. The ranges are the same as in a file.
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

/// Lowers a setting for which a greater value is looser. Adds to `forbidden` if the new value is above the present
/// value.
fn lower<T: PartialOrd>(key: &'static str, setting: &mut T, written: Option<T>, forbidden: &mut Vec<Forbidden>) {
    match written {
        Some(looser) if looser > *setting => forbidden.push(Forbidden::Looser(key)),
        Some(tighter) => *setting = tighter,
        None => {}
    }
}
