//! Measures how costs grow, and writes docs/growth.md.

use xtask::{
    Outcome, plugins, programs,
    workspace::{Workspace, run, say},
};

/// The groups that can be measured alone.
const GROUPS: [&str; 4] = ["plugins", "payload", "sessions", "log"];

/// Runs the benchmark, which writes the page and its data: `[--only GROUP] [--quick] [--page]`.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    check(arguments)?;
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let mut cargo = workspace.cargo(&["bench", "--workspace", "--bench", "growth", "--"]);
    if !has("--page") {
        cargo.env(plugins::VARIABLE, plugins::build(workspace)?);
        // Only the group `log` runs the command `hookhost`.
        if has("log") || !has("--only") {
            cargo.envs(programs::release(workspace)?.variables());
        }
    }
    cargo.arg(workspace.root.join("docs")).args(arguments);
    run("what costs grow with", &mut cargo)?;
    say("docs/growth.md has the table, and docs/growth/ the data");
    Ok(())
}

fn check(arguments: &[String]) -> Outcome {
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--quick" | "--page" => {}
            "--only" if arguments.next().is_some_and(|name| GROUPS.contains(&name)) => {}
            "--only" => return Err(format!("`--only` needs one of {}", GROUPS.join(", "))),
            other => return Err(format!("`{other}` is unknown: growth [--only GROUP] [--quick] [--page]")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_is_unknown_is_named() {
        let checked = |line: &str| check(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(checked(""), Ok(()));
        assert_eq!(checked("--only log --quick"), Ok(()));
        let named = Err("`--only` needs one of plugins, payload, sessions, log".to_owned());
        assert_eq!(checked("--only"), named);
        assert_eq!(checked("--only lag"), named);
        assert!(checked("--quik").is_err_and(|why| why.starts_with("`--quik` is unknown")));
    }
}
