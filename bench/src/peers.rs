//! Compares hookhost with other guards that are in use. The comparison is in `bench/peers`, which is a separate workspace.

use std::process::Command;

use xtask::{
    Outcome, plugins,
    programs::{self, Programs},
    workspace::{Workspace, run},
};

/// The manifest of the comparison, which has a separate lock file.
const MANIFEST: &str = "bench/peers/Cargo.toml";

/// The parts that can be measured alone.
const PARTS: [&str; 2] = ["processes", "engines"];

/// Builds everything that is compared, and prints the tables: `[processes] [engines]`. hookhost's programs are built as they are installed.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    wanted(arguments)?;
    let directory = plugins::build(workspace)?;
    // The engines are compared without the installed programs, whose build takes long.
    let needs_programs = arguments.is_empty() || arguments.iter().any(|part| part == "processes");
    let programs = if needs_programs { Some(programs::release(workspace)?) } else { None };
    let server = crate::built(workspace, "bench", "event_server")?;
    let target = workspace.target.join("peers");
    let mut build = workspace.cargo(&["build", "--release", "--locked", "--manifest-path", MANIFEST]);
    run("building the policy engines", build.env("CARGO_TARGET_DIR", &target))?;
    let mut peers = Command::new(target.join("release").join(format!("peers{}", std::env::consts::EXE_SUFFIX)));
    peers.arg(target.join("installed")).args(arguments).current_dir(&workspace.root);
    peers.envs(programs.iter().flat_map(Programs::variables));
    peers.env("HOOKHOST_EVENT_SERVER", server).env(plugins::VARIABLE, directory);
    run("what people use today, beside hookhost", &mut peers)
}

/// Checks the arguments before anything is built.
fn wanted(arguments: &[String]) -> Outcome {
    match arguments.iter().find(|argument| !PARTS.contains(&argument.as_str())) {
        Some(unknown) => Err(format!("there is no part `{unknown}` of the comparison: there are {}", PARTS.join(", "))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn only_parts_that_there_are_can_be_measured() {
        let arguments = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(wanted(&[]), Ok(()));
        assert_eq!(wanted(&arguments(&["engines", "processes"])), Ok(()));
        let why = wanted(&arguments(&["processes", "--only"])).expect_err("an argument that names no part");
        assert_eq!(why, "there is no part `--only` of the comparison: there are processes, engines");
    }
}
