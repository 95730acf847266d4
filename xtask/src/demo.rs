//! Runs an agent on a real directory with the example plugins. Afterwards, the content of the directory shows whether each plugin did its
//! work.
//!
//! Only the model is not real: its answers come from `docs/demo/script.toml`. `hookhost allow` allows the plugins and `hookhost run` runs
//! the agent, as if a user had typed these commands.

use std::{
    fs,
    io::{BufRead, BufReader, IsTerminal},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use xtask::{
    Outcome, plugins,
    workspace::{Workspace, output, run, say, spelt},
};

/// The plugins of the demo.
const PLUGINS: [&str; 4] = ["bounded-shell", "path-guard", "redact-secrets", "token-budget"];

/// Settings of some plugins, as `hookhost allow --set` takes them.
const SETTINGS: [(&str, &str); 3] = [
    ("path-guard", "protected=[\"infra/**\"]"),
    ("bounded-shell", "limit-seconds=2"),
    ("token-budget", "session-tokens=100000"),
];

/// The files of the demo.
struct Demo {
    root: PathBuf,
    directory: PathBuf,
    project: PathBuf,
    config: PathBuf,
    hookhost: PathBuf,
    secret: String,
}

pub(crate) fn demo(workspace: &Workspace) -> Outcome {
    let mut examples = plugins::examples(workspace)?;
    examples.retain(|plugin| PLUGINS.contains(&plugin.package.as_str()));
    // Only one binary is built, but the command names the whole workspace, so that the dependencies get the features that all packages of
    // the workspace need.
    let mut cargo = workspace.cargo(&["build", "--workspace", "--bin", "hookhost"]);
    // For much of its build, a plugin or hookhost occupies only one processor.
    thread::scope(|scope| {
        let plugins = scope.spawn(|| plugins::build_only(workspace, &examples));
        run("building hookhost (the first time, wasmtime is compiled too)", &mut cargo)?;
        plugins.join().unwrap_or_else(|_| Err("the build of the plugins panicked".to_owned()))
    })?;
    let demo = Demo::prepare(workspace)?;
    say(&format!("a fresh project is in {}", workspace.show(&demo.project)));
    for plugin in &examples {
        demo.allow(&plugin.package, &workspace.plugins().join(plugin.file_name()))?;
    }
    let said = demo.watch()?;
    demo.prove(&said)
}

impl Demo {
    fn prepare(workspace: &Workspace) -> Outcome<Self> {
        let directory = workspace.target.join("demo");
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(|error| format!("cannot clear {}: {error}", directory.display()))?;
        }
        let demo = Self {
            root: workspace.root.clone(),
            project: directory.join("project"),
            config: directory.join("hookhost.toml"),
            hookhost: workspace.target.join("debug").join(format!("hookhost{}", std::env::consts::EXE_SUFFIX)),
            // The secret is assembled here, so that a search for secrets in the repository does not find it.
            secret: ["ghp", "_", "Xq7RkZ2mVb9TnWc4LsYh", "8JdPf3GuAe6KoNiM"].concat(),
            directory,
        };
        copy(&workspace.root.join("docs/demo/workspace"), &demo.project)?;
        write(&demo.project.join("settings.env"), &format!("REGION=eu-north-1\nGITHUB_TOKEN={}\n", demo.secret))?;
        Ok(demo)
    }

    /// Returns a hookhost command that runs in the workspace. The command uses directories of the demo and not those of the user, so that
    /// no file of the user is read or changed.
    fn hookhost(&self, arguments: &[&str], files: &[(&str, &Path)]) -> Command {
        let mut command = Command::new(&self.hookhost);
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        for (option, file) in files {
            command.arg(option).arg(file.strip_prefix(&self.root).unwrap_or(file));
        }
        for variable in ["HOOKHOST_CONFIG_DIR", "HOOKHOST_STATE_DIR", "HOOKHOST_CACHE_DIR"] {
            command.env(variable, self.directory.join("user"));
        }
        command
    }

    fn allow(&self, package: &str, wasm: &Path) -> Outcome {
        let mut command = self.hookhost(&["allow", "--yes"], &[("--config", &self.config)]);
        for (_, setting) in SETTINGS.iter().filter(|(name, _)| *name == package) {
            command.args(["--set", setting]);
        }
        command.arg(wasm.strip_prefix(&self.root).unwrap_or(wasm));
        say(&spelt(&command));
        output(&mut command).map(|_| ())
    }

    /// Runs the agent, and prints its output line by line. Returns the output.
    fn watch(&self) -> Outcome<String> {
        let failed = |error| format!("cannot run hookhost: {error}");
        let script = self.root.join("docs/demo/script.toml");
        let files: [(&str, &Path); 3] =
            [("--script", &script), ("--config", &self.config), ("--workspace", &self.project)];
        let mut command = self.hookhost(&["run", "Make the servers larger, then build."], &files);
        say(&spelt(&command));
        if std::io::stdout().is_terminal() {
            command.env("CLICOLOR_FORCE", "1");
        }
        // One pipe for both streams keeps their lines in order. When the command is dropped, the writing end of the pipe is closed in this
        // process, so reading ends when the agent ends.
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        command.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let mut child = command.spawn().map_err(failed)?;
        drop(command);
        let mut said = String::new();
        for line in BufReader::new(reader).lines() {
            let line = line.map_err(failed)?;
            println!("{line}");
            said.push_str(&line);
            said.push('\n');
        }
        let status = child.wait().map_err(failed)?;
        if status.success() { Ok(said) } else { Err(format!("hookhost run ended with {status}")) }
    }

    /// Fails unless the project shows that each plugin did its part.
    fn prove(&self, said: &str) -> Outcome {
        say("and the project afterwards");
        let file = |name: &str| fs::read_to_string(self.project.join(name)).unwrap_or_default();
        // The audit log may contain the secret, because it stores original values and only the user can read it. The log consists of the
        // database, and of files whose names begin with the database's name.
        let user = fs::read_dir(self.directory.join("user")).map_err(|error| error.to_string())?;
        let files = user.flatten().map(|entry| entry.path());
        let is_log =
            |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hookhost.db"));
        let without: Vec<_> = files.filter(is_log).chain([self.project.join("settings.env")]).collect();
        let kept = text_of_all_files(&self.directory, &without)?;
        let facts = [
            ("path-guard", "infra/production.tf is as it was", file("infra/production.tf") == "servers = 5\n"),
            ("bounded-shell", "build.sh ran, and was ended", file("build.log") == "build: started\n"),
            (
                "redact-secrets",
                "the token is nowhere but in settings.env and the audit log",
                !kept.contains(&self.secret) && !said.contains(&self.secret),
            ),
            (
                "redact-secrets",
                "the transcript contains only the redacted token",
                kept.contains("[redacted: github-token]"),
            ),
        ];
        let mut failed = Vec::new();
        for (plugin, fact, holds) in facts {
            let holds = holds && said.contains(plugin);
            println!("{} {plugin:15} {fact}", if holds { "  ok " } else { "  NOT" });
            if !holds {
                failed.push(fact);
            }
        }
        if file("notes/build.md").is_empty() {
            failed.push("the agent wrote notes/build.md");
        }
        if failed.is_empty() { Ok(()) } else { Err(format!("this does not hold: {}", failed.join("; "))) }
    }
}

/// Returns the text of all files in a directory and below it, except `without`.
fn text_of_all_files(directory: &Path, without: &[PathBuf]) -> Outcome<String> {
    let mut text = String::new();
    for entry in
        fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(|error| error.to_string())?
    {
        let path = entry.path();
        if without.contains(&path) {
            continue;
        }
        if path.is_dir() {
            text.push_str(&text_of_all_files(&path, without)?);
        } else {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path).map_err(|error| error.to_string())?));
        }
    }
    Ok(text)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    let failed = |error| format!("cannot copy {}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to).map_err(failed)?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
