//! A digest of all rules. Two configurations with the same digest decide every event in the same way.

use super::{AuditSettings, Config, Digest, Entry, Layer, Settings};
use serde_json::{Value, json};

impl Config {
    /// Computes the digest of everything in the configuration that affects decisions: the loaded entries with the
    /// digests of their code, the settings, and the layer of each entry. The rules in words are the configuration of their plugin. The digest does not
    /// depend on positions within a file, on comments, or on sections of the file that belong to the embedding program.
    /// A native rule contributes only its name and settings, because its code is a part of the program.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let rules = json!({
            "entries": self.enabled().map(entry).collect::<Vec<_>>(),
            "settings": settings(self.settings()),
            "enforcement": self.enforcement(),
        });
        Digest::of_bytes(rules.to_string().as_bytes())
    }
}

// Each function destructures its type. So if a field is added to the type, this code compiles only after it handles the
// field.

fn entry(entry: &Entry) -> Value {
    let Entry {
        name,
        code,
        priority,
        enabled: _,
        events,
        actions,
        tools,
        mode,
        on_failure,
        on_question,
        stop,
        limits,
        grants,
        config,
        origin,
        // The rules themselves are in `config`.
        judges_rows: _,
    } = entry;
    json!({
        "name": name,
        "code": code.digest(),
        "priority": priority,
        "events": events,
        "actions": actions,
        "tools": texts(tools.as_deref()),
        "mode": mode,
        "on-failure": on_failure,
        "on-question": on_question,
        "stop": stop,
        "limits": limits,
        "grants": grants,
        "config": config,
        "layer": Layer::of(origin.as_ref()),
    })
}

fn settings(settings: &Settings) -> Value {
    let Settings {
        stream_unfinalised,
        approval_deadline,
        overload_deadline,
        // The number of concurrent calls changes no verdict, and it differs between the programs of one user.
        concurrent_calls: _,
        compile_time,
        require_plugins,
        on_question,
        observe: _,
        audit,
    } = settings;
    let AuditSettings { largest_value, mask } = audit;
    json!({
        "stream-unfinalised": stream_unfinalised,
        "approval-deadline": approval_deadline,
        "overload-deadline": overload_deadline,
        "compile-time": compile_time,
        "require-plugins": require_plugins,
        "on-question": on_question,
        "audit": { "largest-value": largest_value, "mask": texts(Some(mask)) },
    })
}

fn texts<T: ToString>(patterns: Option<&[T]>) -> Option<Vec<String>> {
    patterns.map(|patterns| patterns.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::{Config, Digest, Entry, Settings};
    use crate::config::{ActionKind, Mode, OnFailure, OnQuestion, Origin};
    use crate::contract::{EventKind, Stop};
    use std::time::Duration;

    fn digest(edit: impl FnOnce(&mut Entry, &mut Settings)) -> Digest {
        let mut entry = Entry::new("guard", "/guard.wasm", Digest::of_bytes(b"guard"));
        let mut settings = Settings::default();
        edit(&mut entry, &mut settings);
        Config::from_entries(vec![entry], settings).unwrap().digest()
    }

    #[test]
    fn whatever_decides_changes_the_digest_and_nothing_else_does() {
        let plain = digest(|_, _| {});
        let elsewhere = |entry: &mut Entry| entry.origin = Some(Origin::new("/x.toml", 7, super::Layer::Chosen));
        assert_eq!(digest(|entry, _| elsewhere(entry)), plain);
        type Edit = fn(&mut Entry, &mut Settings);
        let edits: &[Edit] = &[
            |entry, _| entry.name = "other".into(),
            |entry, _| entry.code = Entry::new("guard", "/guard.wasm", Digest::of_bytes(b"other")).code,
            |entry, _| entry.priority = 7,
            |entry, _| entry.enabled = false,
            |entry, _| entry.events = Some([EventKind::BeforeToolCall].into()),
            |entry, _| entry.actions = Some([ActionKind::Shell].into()),
            |entry, _| entry.tools = Some(vec!["a".parse().unwrap()]),
            |entry, _| entry.mode = Mode::Observe,
            |entry, _| entry.on_failure = Some(OnFailure::Skip),
            |entry, _| entry.on_question = OnQuestion::Reject,
            |entry, _| entry.stop = Stop::Session,
            |entry, _| entry.limits.deadline = Some(Duration::from_secs(2)),
            |entry, _| entry.grants.transcript = true,
            |entry, _| drop(entry.config.insert("a".into(), 1.into())),
            |entry, _| entry.origin = Some(Origin::new("/x.toml", 7, super::Layer::Project)),
            |_, settings| settings.approval_deadline = Duration::from_secs(7),
            |_, settings| settings.require_plugins = true,
            |_, settings| settings.on_question = OnQuestion::Reject,
            |_, settings| settings.observe = true,
            |_, settings| settings.audit.mask = vec!["password".parse().unwrap()],
        ];
        let mut digests: Vec<_> = edits.iter().map(|edit| digest(edit)).chain([plain]).collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), edits.len() + 1);
    }
}
