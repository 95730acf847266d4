//! The rules in force in the working directory.

use crate::configuration;
use crate::exit::CliError;
use crate::output::one_line;
use hookhost::Config;
use hookhost_install::check::Check;

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
    let digest = config.digest().to_string();
    let short = digest.get(..SHOWN).unwrap_or(&digest);
    let of = if plugins == 1 { "plugin" } else { "plugins" };
    Check::ok("rules", format!("{plugins} {of} from {}; digest {short}", files.join(", ")))
}

fn not_read(error: &CliError) -> Check {
    let message = error.message();
    let first = message.lines().next().unwrap_or_default().to_owned();
    Check::problem("rules", format!("the configuration cannot be used, so calls are denied: {first}"), "hookhost hooks")
}
