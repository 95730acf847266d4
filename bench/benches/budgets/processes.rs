//! Measures a process that loads a plugin, asks it about one event and ends, like an agent's hook without a resident host.

use crate::home::{self, DIRECTORIES, allowed_plugin};
use bench::measure::compare;
use bench::table::{Row, Table};
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) fn rows(table: &mut Table) {
    let Some(hookhost) = home::program("HOOKHOST_COMMAND") else {
        println!("(the rows of processes need HOOKHOST_COMMAND: run `cargo run -p bench -- budgets`)");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("hookhost.toml");
    std::fs::write(&config, allowed_plugin()).unwrap();
    let payload = directory.path().join("call.json");
    std::fs::write(&payload, r#"{"call": {"id": "1", "name": "bash", "arguments": {"command": "git status"}}}"#)
        .unwrap();
    let dispatch = |directory: &Path| {
        let mut command = Command::new(&hookhost);
        command.args(["dispatch", "before-tool-call", "--payload"]).arg(&payload).arg("--config").arg(&config);
        run(command.envs(DIRECTORIES.map(|variable| (variable, directory))));
    };
    let bash = || run(&mut shell("bash", "-c", ":"));
    let what = "one-shot process: start, load, one event, exit";
    let why = "The process is `hookhost dispatch`. The dynamic loader relocates its addresses before it begins, \
               so that its place in memory is hard to guess.";
    let row = Row { what, component: "no-force-push", log: "on", why };
    dispatch(directory.path());
    table.compared(&row, &compare(|| dispatch(directory.path()), bash), "`bash -c :`", Some(2.0));
    table.compared(
        &row,
        &compare(|| dispatch(directory.path()), || run(&mut shell("python3", "-c", ""))),
        "`python3 -c ''`",
        None,
    );
}

fn shell(program: &str, option: &str, script: &str) -> Command {
    let mut command = Command::new(program);
    command.args([option, script]);
    command
}

fn run(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
}
