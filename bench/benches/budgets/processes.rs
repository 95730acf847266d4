//! Measures a process that loads a plugin, asks about one event and ends, like the hook of another agent.

use crate::subject::component;
use hookhost::config::Digest;
use hookhost_bench_table::measure::compare;
use hookhost_bench_table::table::{Row, Table};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn rows(table: &mut Table) {
    let Some(hookhost) = std::env::var_os("HOOKHOST_COMMAND").map(PathBuf::from) else {
        println!("(the rows about processes need HOOKHOST_COMMAND: run `cargo xtask bench`)");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("hookhost.toml");
    let wasm = component();
    let entry = format!(
        "[[plugin]]\nname = \"no-force-push\"\npath = {:?}\nsha256 = \"{}\"\n",
        wasm.display().to_string(),
        Digest::of_file(&wasm).unwrap()
    );
    std::fs::write(&config, entry).unwrap();
    let payload = directory.path().join("call.json");
    std::fs::write(&payload, r#"{"call": {"id": "1", "name": "bash", "arguments": {"command": "git status"}}}"#)
        .unwrap();
    let dispatch = |directory: &Path| {
        let mut command = Command::new(&hookhost);
        command.args(["dispatch", "before-tool-call", "--payload"]).arg(&payload).arg("--config").arg(&config);
        for variable in ["HOOKHOST_CONFIG_DIR", "HOOKHOST_STATE_DIR", "HOOKHOST_CACHE_DIR"] {
            command.env(variable, directory);
        }
        run(command);
    };
    let bash = || run(shell("bash", "-c", ":"));
    let what = "one-shot process: start, load, one event, exit";
    let why = "It is `hookhost dispatch`, whose addresses the dynamic loader relocates before it begins: its place in memory is \
               to be hard to guess.";
    let row = Row { what, component: "no-force-push", log: "on", why };
    dispatch(directory.path());
    table.compared(&row, &compare(|| dispatch(directory.path()), bash), "`bash -c :`", Some(2.0));
    table.compared(
        &row,
        &compare(|| dispatch(directory.path()), || run(shell("python3", "-c", ""))),
        "`python3 -c ''`",
        None,
    );
}

fn shell(program: &str, option: &str, script: &str) -> Command {
    let mut command = Command::new(program);
    command.args([option, script]);
    command
}

fn run(mut command: Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
}
