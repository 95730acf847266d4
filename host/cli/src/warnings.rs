//! Prints the warnings of the engine and the agent on standard error.

use crate::output::{
    note, printable, progress,
    style::{DIM, ERROR, WARNING},
};
use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Prints warnings of hookhost's own crates and ignores messages of libraries. Slow compilations are reported only on a terminal, because
/// otherwise no person waits for them, and a program may read the output.
struct Says {
    tells_progress: bool,
    /// Plugins whose compilation was reported. Each plugin is reported only once, even if it is compiled a second time with its
    /// configuration.
    compiling: Mutex<BTreeSet<String>>,
}

/// Target of warnings whose text is also in a refusal or a notice. These warnings are not printed here.
const TOLD: &str = "hookhost::told";

/// Target of messages about compilations.
const PROGRESS: &str = "hookhost::compiling";

/// Prints warnings from now on.
pub(crate) fn say() {
    // This fails only if a subscriber is already set, which is not the case.
    let _ = tracing::subscriber::set_global_default(Says {
        tells_progress: std::io::stderr().is_terminal(),
        compiling: Mutex::default(),
    });
}

impl Subscriber for Says {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_warning = *metadata.level() <= Level::WARN && metadata.target().starts_with("hookhost");
        (is_warning && metadata.target() != TOLD) || (self.tells_progress && metadata.target() == PROGRESS)
    }

    fn event(&self, event: &Event<'_>) {
        let mut said = EventText::default();
        event.record(&mut said);
        if event.metadata().target() == PROGRESS {
            let EventText { message, plugin, .. } = said;
            let shown = printable(&plugin);
            let is_new = self.compiling.lock().unwrap_or_else(PoisonError::into_inner).insert(plugin);
            if is_new && !progress::is_shown() {
                note(&format!("{DIM}{shown} {message}{DIM:#}\n"));
            }
            return;
        }
        let (style, word) =
            if *event.metadata().level() == Level::ERROR { (ERROR, "error") } else { (WARNING, "warning") };
        let EventText { message, facts, .. } = said;
        note(&format!("{style}{word}:{style:#} {}\n", printable(&format!("{message}{facts}"))));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message of an event, and the event's other fields in the form `; name: value`.
#[derive(Default)]
struct EventText {
    message: String,
    facts: String,
    plugin: String,
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            let _ = write!(self.facts, "; {}: {value:?}", field.name());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "plugin" {
            value.clone_into(&mut self.plugin);
        }
        self.record_debug(field, &format_args!("{value}"));
    }
}
