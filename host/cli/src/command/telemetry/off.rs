//! `hookhost telemetry off`: comments the section `[telemetry]` out.

use super::to;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output;
use hookhost_telemetry::TelemetrySettings;

pub(super) fn run() -> Result<Exit, CliError> {
    inside_agent::refuse("ends the telemetry")?;
    if crate::telemetry::settings()? == TelemetrySettings::default() {
        output::print("There is no section [telemetry].\n")?;
        return Ok(Exit::Done);
    }
    let file = to::edit(|text| {
        let without = without_section(text);
        let document: toml_edit::DocumentMut = without.parse()?;
        anyhow::ensure!(
            !document.contains_key("telemetry"),
            "`telemetry` is not a section of its own: take it out by hand"
        );
        Ok(without)
    })?;
    output::print(&format!("Nothing is sent any more: [telemetry] in {} is a comment now.\n", file.display()))?;
    Ok(Exit::Done)
}

/// Puts `# ` before each line of the section and of its subsections.
fn without_section(text: &str) -> String {
    let mut is_inside = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let trimmed = line.trim_start();
        if trimmed.starts_with('[') {
            let name = trimmed.trim_start_matches('[').trim_start();
            let rest = name.strip_prefix("telemetry").map(str::trim_start);
            is_inside = rest.is_some_and(|rest| rest.starts_with(']') || rest.starts_with('.'));
        }
        if is_inside && !trimmed.is_empty() && !trimmed.starts_with('#') {
            format!("# {line}")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::without_section;

    #[test]
    fn only_the_section_and_its_subsections_become_comments() {
        let text = "[agent]\nmodel = 'm'\n\n[telemetry]\notlp = 'x' # why\n\n[telemetry.file]\npath = 'y'\n[[rule]]\nid = 'z'\n";
        let expected = "[agent]\nmodel = 'm'\n\n# [telemetry]\n# otlp = 'x' # why\n\n# [telemetry.file]\n# path = 'y'\n[[rule]]\nid = 'z'\n";
        assert_eq!(without_section(text), expected);
    }
}
