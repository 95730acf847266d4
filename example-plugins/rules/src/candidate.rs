//! Answers what a condition asks about one command, file, request, call or text.

use crate::judge::{Found, Subject};
use crate::world::World;
use hookhost_conditions::{Fact, Facts, Value};
use hookhost_guest::prelude::*;
use shell_reader::path::Normal;
use shell_reader::{Command, PathContext, Word};
use std::borrow::Cow;

/// What the matchers of a row have found, with everything that a condition can ask about it.
pub(crate) struct Candidate<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) session: &'a Session,
    pub(crate) found: &'a Found,
    /// The call, also of a result.
    pub(crate) call: Option<&'a ToolCall>,
    /// The call as it was read.
    pub(crate) subject: Option<&'a Subject<'a>>,
    /// The arguments of the call.
    pub(crate) arguments: Option<&'a serde_json::Value>,
    /// The simple command that the row is about.
    pub(crate) command: Option<&'a Command>,
    /// The prompt, text or result.
    pub(crate) text: Option<&'a str>,
}

/// A fact that a command can choose itself: by an option with a value, or by a variable in front of the program.
struct Choice {
    fact: &'static str,
    programs: &'static [&'static str],
    options: &'static [&'static str],
    variables: &'static [&'static str],
    /// Variables that name other files, so that the host cannot know the fact.
    files: &'static [&'static str],
}

const CHOICES: [Choice; 6] = [
    Choice {
        fact: "kube.context",
        programs: &["kubectl", "helm", "k9s", "kustomize", "stern", "skaffold", "argocd"],
        options: &["--context", "--kube-context"],
        variables: &["HELM_KUBECONTEXT"],
        files: &["KUBECONFIG"],
    },
    Choice {
        fact: "kube.namespace",
        programs: &["kubectl", "helm", "stern"],
        options: &["--namespace", "-n"],
        variables: &["HELM_NAMESPACE"],
        files: &["KUBECONFIG"],
    },
    Choice {
        fact: "aws.profile",
        programs: &["aws", "cdk", "sam", "eksctl", "terraform"],
        options: &["--profile"],
        variables: &["AWS_PROFILE", "AWS_DEFAULT_PROFILE"],
        files: &["AWS_CONFIG_FILE"],
    },
    Choice {
        fact: "gcloud.project",
        programs: &["gcloud", "gsutil", "bq"],
        options: &["--project", "--project_id"],
        variables: &["CLOUDSDK_CORE_PROJECT"],
        files: &["CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME"],
    },
    Choice {
        fact: "terraform.workspace",
        programs: &["terraform", "tofu", "terragrunt"],
        options: &[],
        variables: &["TF_WORKSPACE"],
        files: &["TF_DATA_DIR"],
    },
    Choice {
        fact: "docker.context",
        programs: &["docker", "docker-compose"],
        options: &["--context", "-c"],
        variables: &["DOCKER_CONTEXT", "DOCKER_HOST"],
        files: &["DOCKER_CONFIG"],
    },
];

/// A command that changes a fact for those after it: `kubectl config use-context prod`.
struct Switch {
    fact: &'static str,
    program: &'static str,
    /// The words of the subcommand.
    words: &'static [&'static str],
    /// True if the first operand is the value. Otherwise only an option names a new value, and an operand may be something else.
    is_named: bool,
}

const SWITCHES: [Switch; 12] = [
    Switch { fact: "kube.context", program: "kubectl", words: &["config", "use-context"], is_named: true },
    Switch { fact: "kube.context", program: "kubectl", words: &["config", "use"], is_named: true },
    Switch { fact: "kube.context", program: "kubectx", words: &[], is_named: true },
    Switch { fact: "kube.namespace", program: "kubens", words: &[], is_named: true },
    Switch { fact: "terraform.workspace", program: "terraform", words: &["workspace", "select"], is_named: true },
    Switch { fact: "terraform.workspace", program: "terraform", words: &["workspace", "new"], is_named: true },
    Switch { fact: "terraform.workspace", program: "tofu", words: &["workspace", "select"], is_named: true },
    Switch { fact: "gcloud.project", program: "gcloud", words: &["config", "set", "project"], is_named: true },
    Switch { fact: "gcloud.project", program: "gcloud", words: &["config", "set", "core/project"], is_named: true },
    Switch { fact: "docker.context", program: "docker", words: &["context", "use"], is_named: true },
    Switch { fact: "git.branch", program: "git", words: &["switch"], is_named: true },
    // The operand of `git checkout` is a branch or a file.
    Switch { fact: "git.branch", program: "git", words: &["checkout"], is_named: false },
];

/// The options of Git whose value is a new branch.
const NEW_BRANCH: [&str; 4] = ["-b", "-B", "-c", "-C"];

impl Switch {
    /// Returns the value after a command, if the command changes the fact.
    fn of<'a>(&self, command: &'a Command) -> Option<Fact<'a>> {
        let (mut words, mut at) = (self.words.iter(), 0);
        if command.program != self.program {
            return None;
        }
        let mut wanted = words.next();
        while let Some(word) = wanted {
            at += 1 + command.args.get(at..)?.iter().position(|arg| arg.text == **word)?;
            wanted = words.next();
        }
        let rest = &command.args[at..];
        if rest.iter().any(|word| word.text == "--") {
            return None;
        }
        let named = rest
            .iter()
            .skip_while(|word| !NEW_BRANCH.contains(&&*word.text))
            .nth(1)
            .filter(|_| self.fact == "git.branch");
        let operand = rest.iter().find(|word| !word.text.starts_with('-'));
        match named.or_else(|| operand.filter(|_| self.is_named)) {
            Some(value) if value.is_known() => Some(Fact::Is(Value::from(&*value.text))),
            _ => (!rest.is_empty()).then_some(Fact::Unreadable),
        }
    }
}

impl Choice {
    /// Returns the fact that the command chooses, or `None` if it chooses none.
    fn of<'a>(&self, command: &'a Command) -> Option<Fact<'a>> {
        if !self.programs.contains(&&*command.program) {
            return None;
        }
        let fact = |word: &'a Word| if word.is_known() { Fact::Is(Value::from(&*word.text)) } else { Fact::Unreadable };
        let mut variables = command.environment.iter();
        if variables.clone().any(|(name, _)| self.files.contains(&&**name)) {
            return Some(Fact::Unreadable);
        }
        let variable = variables.find(|(name, _)| self.variables.contains(&&**name)).map(|(_, word)| fact(word));
        self.option(command).or(variable)
    }

    fn option<'a>(&self, command: &'a Command) -> Option<Fact<'a>> {
        command.args.iter().enumerate().find_map(|(at, word)| {
            let option = self.options.iter().find(|option| word.text.starts_with(**option))?;
            let rest = &word.text[option.len()..];
            let value = match rest.strip_prefix('=') {
                Some(value) => value,
                None if rest.is_empty() => &*command.args.get(at + 1)?.text,
                // `-nproduction`
                None if !option.starts_with("--") => rest,
                None => return None,
            };
            let is_known =
                word.is_known() && command.args.get(at + 1).is_none_or(|next| !rest.is_empty() || next.is_known());
            Some(if is_known { Fact::Is(Value::from(value)) } else { Fact::Unreadable })
        })
    }
}

impl Candidate<'_> {
    /// Returns the directory that a fact is about: that of the command.
    fn directory(&self) -> &str {
        self.command.and_then(|command| command.cwd.as_deref()).unwrap_or(&self.session.cwd)
    }

    /// Returns the directory that a fact is about, after options such as `git -C dir`. Returns `None` if it is unknown.
    fn chosen_directory(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut directory = Cow::Borrowed(self.directory());
        let Some(command) = self.command else { return Some(directory) };
        let (option, elsewhere): (_, &[&str]) = match (&*command.program, name.split('.').next()) {
            ("git", Some("git")) => ("-C", &["--git-dir", "GIT_DIR"]),
            ("terraform" | "tofu", Some("terraform")) => ("-chdir", &[]),
            _ => return Some(directory),
        };
        let is_elsewhere = |text: &str| elsewhere.iter().any(|name| text.starts_with(name));
        let before = command.args.iter().enumerate().take_while(|(at, word)| {
            word.text.starts_with('-') || (*at > 0 && matches!(&*command.args[at - 1].text, "-C" | "-c"))
        });
        if command.environment.iter().any(|(name, _)| is_elsewhere(name)) {
            return None;
        }
        for (at, word) in before {
            let value = match word.text.strip_prefix(option).map(|rest| rest.strip_prefix('=').unwrap_or(rest)) {
                Some("") => command.args.get(at + 1)?.clone(),
                Some(value) => word.with_text(value),
                None if is_elsewhere(&word.text) => return None,
                None => continue,
            };
            let context = PathContext::new(&self.session.workspace);
            match context.resolve(&value, Some(&directory)) {
                Normal::Absolute(path) if value.is_known() => directory = Cow::Owned(path),
                _ => return None,
            }
        }
        Some(directory)
    }

    /// Returns a path in its absolute form, if it is known.
    fn absolute(&self, path: &str) -> Option<String> {
        if self.found.path.as_deref() == Some(path) {
            return self.found.absolute.clone();
        }
        match PathContext::new(&self.session.workspace).spelt(path, Some(self.directory())) {
            Normal::Absolute(path) => Some(path),
            Normal::Below(_) => None,
        }
    }

    /// Returns true if the session gets a label because of this call.
    fn gets(&self, label: &str) -> bool {
        self.subject.is_some_and(|subject| subject.labels.contains(&label))
    }

    fn paths(&self, touch: usize) -> Fact<'_> {
        let Some(subject) = self.subject else { return Fact::Absent };
        Fact::Is(Value::List(subject.paths(touch).map(|path| Value::from(path.to_owned())).collect()))
    }

    fn in_workspace(&self) -> Fact<'static> {
        let Some(path) = &self.found.path else { return Fact::Absent };
        let Some(path) = self.absolute(path) else { return Fact::Unreadable };
        let rest = path.strip_prefix(self.session.workspace.trim_end_matches('/'));
        Fact::Is(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')).into())
    }

    /// Returns a fact of the simple command.
    fn of_command(&self, name: &str) -> Fact<'_> {
        let Some(command) = self.command else { return text(self.found.value(name)) };
        let strings = |words: &mut dyn Iterator<Item = &'_ Word>| {
            Fact::Is(Value::List(words.map(|word| Value::from(word.text.clone())).collect()))
        };
        let names = |names| Fact::Is(Value::strings::<String>(names));
        match name {
            "wrappers" => names(&command.wrappers),
            "upstream" => names(&command.upstream),
            "downstream" => names(&command.downstream),
            "variables" => {
                let variables = command.environment.iter();
                Fact::Is(Value::Map(variables.map(|(name, word)| (name.clone(), Value::from(&*word.text))).collect()))
            }
            "program" => Fact::Is(Value::from(&*command.program)),
            "args" => strings(&mut command.args.iter()),
            "flags" => strings(&mut command.args.iter().filter(|word| word.text.starts_with('-'))),
            "redirects" => strings(&mut command.redirects.iter().map(|redirect| &redirect.target)),
            _ => {
                let words = command.args.iter().map(|word| &*word.text);
                let line: Vec<&str> = std::iter::once(&*command.program).chain(words).collect();
                Fact::Is(Value::from(line.join(" ")))
            }
        }
    }

    /// Returns a fact that a variable chooses, which an earlier command of the line exports.
    fn exported(&self, name: &str) -> Option<Fact<'_>> {
        let choice = CHOICES.iter().find(|choice| choice.fact == name)?;
        let (_, before) = self.subject?.before(self.command?)?;
        let exports = before.filter(|command| matches!(&*command.program, "export" | "declare" | "typeset"));
        let words = exports.flat_map(|command| &command.args);
        let facts = words.filter_map(|word| {
            let (variable, value) = word.text.split_once('=')?;
            let is_file = choice.files.contains(&variable);
            let is_chosen = choice.variables.contains(&variable);
            let fact = if is_file || !word.is_known() { Fact::Unreadable } else { Fact::Is(Value::from(value)) };
            (is_file || is_chosen).then_some(fact)
        });
        facts.last()
    }

    /// Returns a fact that an earlier command of the line has changed. If it is uncertain that this command has succeeded, the fact is
    /// unknown.
    fn switched(&self, name: &str) -> Option<Fact<'_>> {
        let (line, before) = self.subject?.before(self.command?)?;
        let switched = before.filter_map(|command| {
            SWITCHES.iter().filter(|switch| switch.fact == name).find_map(|switch| switch.of(command))
        });
        let fact = switched.last()?;
        Some(if line.is_chain() { fact } else { Fact::Unreadable })
    }

    /// Returns a fact that the host reads, or that the command chooses.
    fn of_host(&self, name: &str) -> Fact<'_> {
        let chosen = CHOICES.iter().find(|choice| choice.fact == name);
        let chosen = chosen.zip(self.command).and_then(|(choice, command)| choice.of(command));
        let chosen = chosen.or_else(|| self.exported(name)).or_else(|| self.switched(name));
        chosen.unwrap_or_else(|| match (name, &self.found.path) {
            ("path.is_tracked" | "path.exists", None) => Fact::Absent,
            ("path.is_tracked" | "path.exists", Some(path)) => match self.absolute(path) {
                Some(path) => self.world.fact(name, &path),
                None => Fact::Unreadable,
            },
            _ => match self.chosen_directory(name) {
                Some(directory) => self.world.fact(name, &directory),
                None => Fact::Unreadable,
            },
        })
    }
}

impl Facts for Candidate<'_> {
    fn value(&self, name: &str) -> Fact<'_> {
        if let Some(fact) = self.world.given(name) {
            return fact;
        }
        match name {
            "command" | "program" | "args" | "flags" | "redirects" | "variables" | "wrappers" | "upstream"
            | "downstream" => self.of_command(name),
            "paths.written" => self.paths(0),
            "paths.read" => self.paths(1),
            "paths.deleted" => self.paths(2),
            "path" | "url" | "host" | "server" | "tool" => text(self.found.value(name)),
            "path.in_workspace" => self.in_workspace(),
            "arguments" => match self.arguments {
                Some(arguments) => Fact::Is(Value::from(arguments)),
                None => Fact::Absent,
            },
            "text" => text(self.text),
            "failed" => self.subject.map_or(Fact::Absent, |subject| subject.failed(self.command)),
            "agent" => Fact::Is(Value::from(&*self.session.agent)),
            "session.depth" => Fact::Is(Value::from(i64::from(self.session.depth))),
            "session.headless" => Fact::Is(Value::from(!self.session.interactive)),
            "cwd" => Fact::Is(Value::from(self.directory())),
            "workspace" => Fact::Is(Value::from(&*self.session.workspace)),
            _ => self.of_host(name),
        }
    }

    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_> {
        match (function, arguments, self.call) {
            ("same_call", [Value::Int(times), Value::Int(seconds)], Some(call)) => {
                self.world.is_repeated(call, *times, *seconds)
            }
            ("has" | "since", [Value::String(label)], _) => match self.world.call(function, arguments) {
                Fact::Absent | Fact::Is(Value::Bool(false)) if self.gets(label) => Fact::Unreadable,
                fact => fact,
            },
            ("flag", [Value::String(flag)], _) => match self.subject.zip(self.command) {
                Some((subject, command)) => Fact::Is(Value::from(subject.has_flag(command, flag))),
                None => Fact::Absent,
            },
            ("written_by_agent" | "created_by_agent", [Value::String(path)], _) => match self.absolute(path) {
                Some(path) => self.world.call(function, &[Value::from(path)]),
                None => Fact::Unreadable,
            },
            _ => self.world.call(function, arguments),
        }
    }
}

fn text(value: Option<&str>) -> Fact<'_> {
    value.map_or(Fact::Absent, |value| Fact::Is(Value::from(value)))
}
