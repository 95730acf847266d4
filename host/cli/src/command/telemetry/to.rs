//! `hookhost telemetry --to URL`: sends a test record, and writes the address into the user's file.

use crate::exit::{CliError, Exit};
use crate::output::{self, one_line};
use crate::telemetry::{settings, sinks};
use crate::{configuration, inside_agent};
use anyhow::anyhow;
use hookhost::config::FILE_NAME;
use hookhost::files::{self, Lock, NewFile};
use hookhost_telemetry::{Environment, Signal};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, Table, value};

pub(super) async fn run(url: &str) -> Result<Exit, CliError> {
    inside_agent::refuse("sends the log elsewhere")?;
    let mut settings = settings()?;
    settings.otlp = Some(url.to_owned());
    let sinks = sinks(&settings, &Environment::of_process())?;
    let (mut taken, mut refused) = (Vec::new(), None);
    for (name, result) in sinks.test(None).await {
        match (name.strip_prefix("otlp-"), result) {
            (None, _) => {}
            (Some(signal), Ok(())) => taken.push(signal),
            (Some(_), Err(why)) => refused = refused.or(Some((name, why))),
        }
    }
    if let Some((name, why)) = refused {
        return Err(not_taken(name, &why, &taken));
    }
    if taken.is_empty() {
        let why = "`signals` in [telemetry] or a variable such as OTEL_SDK_DISABLED switches every signal off; nothing was changed";
        return Err(CliError::usage(why));
    }
    // A host that a hook starts does not read the variables, so what they switch off must be in the file.
    let is_partial = taken.len() < settings.signals.as_deref().unwrap_or(Signal::ALL).len();
    let file = edit(|text| {
        let mut document: DocumentMut = text.parse()?;
        let section = document.entry("telemetry").or_insert_with(|| Item::Table(Table::new()));
        let Some(section) = section.as_table_like_mut() else { anyhow::bail!("`telemetry` is no table") };
        section.insert("otlp", value(url));
        if is_partial {
            section.insert("signals", value(Array::from_iter(taken.iter().copied())));
        }
        Ok(document.to_string())
    })?;
    let content = if settings.content {
        "With `content = true`, arguments, results and reasons are sent, too, with the masks of the log."
    } else {
        "Names, numbers and decisions are sent: agents, sessions, tools, rules. Arguments, results, prompts and reasons are not; \
         `content = true` in [telemetry] sends arguments, results and reasons."
    };
    output::print(&format!(
        "The receiver took the test. Records go to {} from the next one on; {} in {}.\n{content}\n",
        one_line(url),
        if is_partial { "`otlp` and `signals` are" } else { "`otlp` is" },
        file.display()
    ))?;
    if std::env::var_os("OTEL_EXPORTER_OTLP_HEADERS").is_some() {
        output::note(&output::notice(
            "a host that a hook starts does not read OTEL_EXPORTER_OTLP_HEADERS: write the headers into a file, and name it in `headers-file`",
        ));
    }
    Ok(Exit::Done)
}

/// Returns the error for a receiver that does not take a signal. If it takes others, the next step names the setting that sends only those.
fn not_taken(name: &str, why: &str, taken: &[&str]) -> CliError {
    let why = format!("the receiver did not take the test of {name}: {}; nothing was changed", one_line(why));
    if taken.is_empty() {
        let next = "start the receiver, or correct its address or the headers, and repeat the command";
        return CliError::new(Exit::Failed, anyhow!("{why}: {next}"));
    }
    let signals = Array::from_iter(taken.iter().copied());
    CliError::new(Exit::Failed, anyhow!("{why}. It took {}", taken.join(" and ")))
        .advise(format!("put `signals = {signals}` into [telemetry] of your {FILE_NAME}, and repeat the command"))
}

/// Changes the text of the user's file, and returns its path.
pub(super) fn edit(change: impl FnOnce(&str) -> anyhow::Result<String>) -> Result<PathBuf, CliError> {
    let places = configuration::places()?;
    let file = places.config.join(FILE_NAME);
    let unwritable =
        |error: &dyn std::fmt::Display| CliError::not_loaded(anyhow!("{} cannot be changed: {error}", file.display()));
    let _lock = Lock::take(&places.state).map_err(|error| unwritable(&error))?;
    let text = read(&file).map_err(|error| unwritable(&error))?;
    let changed = change(&text).map_err(|error| unwritable(&error))?;
    files::make_own_directory(&places.config).map_err(|error| unwritable(&error))?;
    files::replace(&file, changed.as_bytes(), NewFile::Usual).map_err(|error| unwritable(&error))?;
    Ok(file)
}

fn read(file: &Path) -> std::io::Result<String> {
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}
