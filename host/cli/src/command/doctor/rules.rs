//! The rules in force in the working directory.

use crate::configuration;
use crate::exit::CliError;
use crate::output::one_line;
use hookhost::Config;
use hookhost_install::check::Check;
use hookhost_install::settings_file::digest;
use std::fmt::Write as _;

/// How much of a digest a person is shown.
const SHOWN: usize = 12;

pub(super) fn check() -> Check {
    match configuration::cwd().and_then(|cwd| configuration::find(None, &cwd)) {
        Ok(found) => of(&found.config),
        Err(error) => not_read(&error),
    }
}

fn of(config: &Config) -> Check {
    let files: Vec<_> = config.files().iter().map(|file| one_line(&file.to_string_lossy())).collect();
    let plugins = config.enabled().count();
    if plugins == 0 && config.asks().is_empty() {
        let from = if files.is_empty() { "no hookhost.toml counts here".to_owned() } else { files.join(", ") };
        let says = format!("no plugin is allowed here ({from}): every call passes");
        return Check::problem("rules", says, "hookhost allow X.wasm");
    }
    let digest = digest_of(config);
    let short = digest.get(..SHOWN).unwrap_or(&digest);
    let of = if plugins == 1 { "plugin" } else { "plugins" };
    Check::ok("rules", format!("{plugins} {of} from {}; digest {short}", files.join(", ")))
}

/// A digest of what decides: the plugins that load, with their code and their settings, in order, and the ask rules.
fn digest_of(config: &Config) -> String {
    let mut text = String::new();
    for entry in config.enabled() {
        let code = entry.code.digest().map(|digest| digest.to_string()).unwrap_or_default();
        let settings = serde_json::Value::Object(entry.config.clone());
        let _ = writeln!(text, "{} {code} {} {} {settings}", entry.name, entry.priority, entry.mode.name());
    }
    for ask in config.asks() {
        let question = ask.question.as_deref().unwrap_or_default();
        let narrowing = crate::output::entry::narrowing(ask.actions.as_ref(), ask.tools.as_deref());
        let _ = writeln!(text, "ask {narrowing} {question}");
    }
    digest(text.as_bytes())
}

fn not_read(error: &CliError) -> Check {
    let message = error.message();
    let first = message.lines().next().unwrap_or_default().to_owned();
    Check::problem("rules", format!("the configuration cannot be used, so calls are denied: {first}"), "hookhost hooks")
}
