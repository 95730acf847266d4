//! Facts that a command line chooses itself. A command chooses them by an option or by a variable in front of its program. An earlier
//! command of the line sets them for all later commands: `kubectl config use-context prod && kubectl delete pod x`.

use crate::candidate::Candidate;
use call_paths::before_subcommand;
use hookhost_conditions::{Fact, Value};
use shell_guard_rules::arguments::Programs;
use shell_reader::path::Normal;
use shell_reader::{Command, PathContext, Word};
use std::borrow::Cow;

/// The ways in which a command line chooses a fact.
struct Choice {
    fact: &'static str,
    programs: &'static [&'static str],
    options: &'static [&'static str],
    variables: &'static [&'static str],
    /// Variables and options that name other files or servers, so that the host cannot know the fact.
    files: &'static [&'static str],
    /// Commands that set the fact for later commands.
    setters: &'static [Setter],
    /// The fact on which this one depends. If a command chooses that one, the host cannot know this one.
    of: Option<&'static str>,
}

/// A command that sets a fact for later commands.
struct Setter {
    program: &'static str,
    subcommand: &'static str,
    value: SetValue,
}

/// The part of a command that is the value it sets.
enum SetValue {
    /// The first operand after the subcommand. Without an operand, the command sets nothing.
    Operand,
    /// The value of an option. If the command has only operands, its value is unknown.
    Option(&'static [&'static str]),
    /// Not in the text.
    Unknown,
}

/// What a command sets.
enum Setting<'a> {
    To(&'a str),
    /// The branch of this name, if there is no file of this name.
    ToBranch(&'a str),
    Unknown,
}

impl<'a> Setting<'a> {
    fn to(word: &'a Word) -> Self {
        if word.is_known() { Self::To(&word.text) } else { Self::Unknown }
    }
}

const fn set(program: &'static str, subcommand: &'static str, value: SetValue) -> Setter {
    Setter { program, subcommand, value }
}

/// What names another cluster. After a program, an option is only one of this program.
const KUBE_FILES: [&str; 7] =
    ["KUBECONFIG", "--kubeconfig", "--cluster", "--server", "kubectl -s", "oc -s", "helm --kube-apiserver"];

/// Options with which a program that is not listed probably chooses a cluster.
const KUBE_OPTIONS: [&str; 4] = ["--context", "--kube-context", "--kubecontext", "--kubeconfig"];

/// Programs whose option `--context` means something else.
const OTHER_CONTEXTS: [&str; 10] =
    ["docker", "docker-compose", "grep", "egrep", "fgrep", "rg", "ag", "ack", "diff", "colordiff"];

const CHOICES: [Choice; 9] = [
    Choice {
        fact: "git.branch",
        programs: &[],
        options: &[],
        variables: &[],
        files: &["GIT_DIR", "GIT_COMMON_DIR", "--git-dir"],
        setters: &[
            set("gh", "pr checkout", SetValue::Unknown),
            set("gh", "co", SetValue::Unknown),
            set("glab", "mr checkout", SetValue::Unknown),
        ],
        of: None,
    },
    Choice {
        fact: "git.remote",
        programs: &[],
        options: &[],
        variables: &[],
        files: &["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "--config-env"],
        setters: &[
            set("git", "config", SetValue::Unknown),
            set("git", "remote add", SetValue::Unknown),
            set("git", "remote remove", SetValue::Unknown),
            set("git", "remote rename", SetValue::Unknown),
            set("git", "remote rm", SetValue::Unknown),
            set("git", "remote set-url", SetValue::Unknown),
            set("gh", "repo fork", SetValue::Unknown),
        ],
        of: Some("git.branch"),
    },
    Choice {
        fact: "kube.context",
        programs: &["kubectl", "helm", "k9s", "kustomize", "stern", "skaffold", "argocd", "oc", "flux", "istioctl"],
        options: &["--context", "--kube-context"],
        variables: &["HELM_KUBECONTEXT"],
        files: &KUBE_FILES,
        setters: &[
            set("kubectl", "config use-context", SetValue::Operand),
            set("kubectl", "config use", SetValue::Operand),
            set("kubectx", "", SetValue::Operand),
            set("minikube", "start", SetValue::Unknown),
            set("kind", "create cluster", SetValue::Unknown),
            set("gcloud", "container clusters get-credentials", SetValue::Unknown),
            set("aws", "eks update-kubeconfig", SetValue::Unknown),
            set("az", "aks get-credentials", SetValue::Unknown),
        ],
        of: None,
    },
    Choice {
        fact: "kube.namespace",
        programs: &["kubectl", "helm", "stern", "oc", "flux", "istioctl"],
        options: &["--namespace", "-n"],
        variables: &["HELM_NAMESPACE"],
        files: &KUBE_FILES,
        setters: &[
            set("kubens", "", SetValue::Operand),
            set("kubectl", "config set-context", SetValue::Option(&["--namespace"])),
        ],
        of: Some("kube.context"),
    },
    Choice {
        fact: "aws.profile",
        programs: &["aws", "cdk", "sam", "eksctl", "terraform"],
        options: &["--profile"],
        variables: &["AWS_PROFILE", "AWS_DEFAULT_PROFILE"],
        files: &["AWS_CONFIG_FILE"],
        setters: &[],
        of: None,
    },
    Choice {
        fact: "aws.account",
        programs: &[],
        options: &[],
        variables: &[],
        files: &["AWS_CONFIG_FILE", "AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN"],
        setters: &[],
        of: Some("aws.profile"),
    },
    Choice {
        fact: "gcloud.project",
        programs: &["gcloud", "gsutil", "bq"],
        options: &["--project", "--project_id"],
        variables: &["CLOUDSDK_CORE_PROJECT"],
        files: &["CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME", "--configuration"],
        setters: &[
            set("gcloud", "config set project", SetValue::Operand),
            set("gcloud", "config configurations activate", SetValue::Unknown),
        ],
        of: None,
    },
    Choice {
        fact: "terraform.workspace",
        programs: &["terraform", "tofu", "terragrunt"],
        options: &[],
        variables: &["TF_WORKSPACE"],
        files: &["TF_DATA_DIR", "-state", "--state"],
        setters: &[
            set("terraform", "workspace select", SetValue::Operand),
            set("terraform", "workspace new", SetValue::Operand),
            set("tofu", "workspace select", SetValue::Operand),
            set("tofu", "workspace new", SetValue::Operand),
        ],
        of: None,
    },
    Choice {
        fact: "docker.context",
        programs: &["docker", "docker-compose"],
        options: &["--context", "-c"],
        variables: &["DOCKER_CONTEXT"],
        files: &["DOCKER_HOST", "DOCKER_CONFIG", "--config", "--host", "-H"],
        setters: &[set("docker", "context use", SetValue::Operand)],
        of: None,
    },
];

/// Returns the fact that a command, or an earlier command of its line, chooses. Returns `None` if they choose none.
pub(crate) fn fact<'a>(name: &str, candidate: &'a Candidate<'_>) -> Option<Fact<'a>> {
    let command = candidate.command?;
    let choice = CHOICES.iter().find(|choice| choice.fact == name)?;
    let own = choice.own(command).or_else(|| choice.earlier(command, candidate));
    let depends = || choice.of.is_some_and(|other| fact(other, candidate).is_some());
    own.or_else(|| depends().then_some(Fact::Unreadable))
}

impl Choice {
    /// Returns the fact that the command itself chooses.
    fn own<'a>(&self, command: &'a Command) -> Option<Fact<'a>> {
        let names = |variables: &[&str]| command.environment.iter().find(|(name, _)| variables.contains(&&**name));
        if !self.programs.is_empty() && !self.programs.contains(&&*command.program) {
            let may_choose = self.fact == "kube.context" && !OTHER_CONTEXTS.contains(&&*command.program);
            return (may_choose && option(command, &KUBE_OPTIONS).is_some()).then_some(Fact::Unreadable);
        }
        let sets_remote = |word: &Word| {
            let is_about = |name: &str| word.text.get(..name.len()).is_some_and(|text| text.eq_ignore_ascii_case(name));
            ["remote.", "branch.", "url.", "include"].iter().any(|name| is_about(name)) || !word.is_known()
        };
        let own_settings = command.args.iter().take(before_subcommand(command));
        let is_redirected =
            self.fact == "git.remote" && command.program == "git" && own_settings.into_iter().any(sets_remote);
        if is_redirected || names(self.files).is_some() || option(command, self.files).is_some() {
            return Some(Fact::Unreadable);
        }
        let option = option(command, self.options).map(|value| value.map_or(Fact::Unreadable, Fact::Is));
        option.or_else(|| names(self.variables).map(|(_, word)| of_word(word)))
    }

    /// Returns the fact that the last earlier command of the line sets, if one sets it.
    fn earlier<'a>(&self, command: &'a Command, candidate: &'a Candidate<'_>) -> Option<Fact<'a>> {
        let subject = candidate.subject?;
        let (line, before) = subject.before(command)?;
        let earlier: Vec<&Command> = before.filter(|other| other.place.start <= command.place.start).collect();
        let set = earlier.into_iter().rev().find_map(|other| {
            if let Some(value) = self.exported(other) {
                return Some(if surely_runs(other, command, &line.text, true) { value } else { Fact::Unreadable });
            }
            let of_git = || if self.fact == "git.branch" { checked_out(other) } else { None };
            let setting = self.setters.iter().find_map(|setter| setter.setting(other, &subject.rules.programs));
            let setting = setting.or_else(of_git)?;
            // A command in another directory is about another repository.
            let directory = |command| candidate.directory_of(self.fact, Some(command));
            let is_here = directory(other).is_some_and(|found| directory(command) == Some(found));
            let is_here = is_here && self.own(other) != Some(Fact::Unreadable);
            let is_set = is_here && surely_runs(other, command, &line.text, false);
            let is_no_file = |name: &str| candidate.exists(name) == Fact::Is(Value::Bool(false));
            Some(match setting {
                Setting::To(name) if is_set => Fact::Is(Value::from(name)),
                Setting::ToBranch(name) if is_set && is_no_file(name) => Fact::Is(Value::from(name)),
                _ => Fact::Unreadable,
            })
        });
        // An assignment without a command, or one that the reader does not follow, may change a variable of the environment.
        let before = line.text.get(..command.place.start).unwrap_or(&line.text);
        let is_assigned = |name| {
            let assignment = format!("{name}=");
            let mut places = before.match_indices(&assignment).map(|(at, _)| before[..at].trim_end_matches(' '));
            places.any(|head| head.is_empty() || head.ends_with([';', '&', '|', '(', '{', '\n']))
        };
        set.or_else(|| self.names().any(is_assigned).then_some(Fact::Unreadable))
    }

    /// Returns the value that a command such as `export NAME=value` gives to a variable of this fact.
    fn exported<'a>(&self, command: &'a Command) -> Option<Fact<'a>> {
        match &*command.program {
            "export" | "declare" | "typeset" | "set" | "setx" => command.args.iter().find_map(|word| {
                let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
                let is_value = word.is_known() && !value.is_empty() && self.variables.contains(&name);
                self.is_variable(name).then(|| if is_value { Fact::Is(Value::from(value)) } else { Fact::Unreadable })
            }),
            "unset" => command.args.iter().any(|word| self.is_variable(&word.text)).then_some(Fact::Unreadable),
            _ => None,
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.variables.iter().chain(self.files).copied().filter(|name| !name.contains('-'))
    }

    fn is_variable(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }
}

impl Setter {
    /// Returns what a command sets, if it is a command of this kind.
    fn setting<'a>(&self, command: &'a Command, programs: &Programs) -> Option<Setting<'a>> {
        if command.program != self.program {
            return None;
        }
        // Files follow.
        if command.args.iter().any(|word| word.text == "--") {
            return None;
        }
        let arguments = programs.arguments(command);
        let first = if self.subcommand.is_empty() { 0 } else { arguments.first_after(self.subcommand)? };
        let operand = arguments.operands.get(first).and_then(|found| command.args.iter().find(|word| *word == *found));
        let of_option = |options: &[&str]| {
            let at = command.args.iter().position(|word| options.contains(&&*word.text))?;
            Some(command.args.get(at + 1).map_or(Setting::Unknown, Setting::to))
        };
        match &self.value {
            SetValue::Operand => operand.map(Setting::to),
            SetValue::Option(options) => of_option(options).or_else(|| operand.map(|_| Setting::Unknown)),
            SetValue::Unknown => Some(Setting::Unknown),
        }
    }
}

/// Subcommands of git that leave the branch as it is. Any other may change it, such as an alias.
const KEEPING_BRANCH: &str = " add am annotate apply archive blame bundle cat-file check-ignore check-ref-format cherry cherry-pick clean clone \
    commit commit-tree config count-objects describe diff diff-index diff-tree difftool fetch for-each-ref format-patch fsck gc grep help \
    http-push lfs log ls-files ls-remote ls-tree merge merge-base merge-tree mergetool mv name-rev notes pull push range-diff reflog remote \
    rerere reset restore rev-list rev-parse revert rm send-pack shortlog show show-branch show-ref sparse-checkout stage status stripspace \
    submodule subtree tag update-index var verify-commit version whatchanged worktree write-tree ";

/// Returns what a command of git does to the branch that is checked out, or `None` if it does nothing to it. A form that is not
/// understood sets an unknown branch.
fn checked_out(command: &Command) -> Option<Setting<'_>> {
    if !matches!(&*command.program, "git" | "hub") {
        return None;
    }
    let (subcommand, words) = command.args.get(before_subcommand(command)..)?.split_first()?;
    let mut operands = words.iter().filter(|word| !word.text.starts_with('-') || word.text == "-");
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&&*word.text));
    let is_unknown = match &*subcommand.text {
        name @ ("checkout" | "switch") => return switched(words, name == "checkout"),
        "stash" if operands.next().is_some_and(|word| word.text == "branch") => {
            return Some(operands.next().map_or(Setting::Unknown, Setting::to));
        }
        "stash" => words.iter().any(|word| word.splits),
        "branch" => {
            let renames = |text: &str| text.starts_with("--mo") || (is_cluster(text) && text.contains(['m', 'M']));
            words.iter().any(|word| word.splits || renames(&word.text))
        }
        "symbolic-ref" => operands.count() > 1 || has(&["-d", "--delete"]),
        // A second operand is a branch to check out.
        "rebase" => {
            const LISTED: &str = " --interactive --autosquash --no-autosquash --autostash --no-autostash --quiet --verbose --stat \
                --no-stat --no-verify --force-rebase --no-ff --rebase-merges --update-refs --keep-base --keep-empty --fork-point --no-fork-point \
                --signoff --gpg-sign --merge --apply --root --onto --exec --strategy --strategy-option ";
            let is_listed = |text: &str| {
                let name = text.split_once('=').map_or(text, |(name, _)| name);
                !text.starts_with("--") || LISTED.contains(&format!(" {name} "))
            };
            let takes_value = |text: &str| {
                matches!(text, "--onto" | "--exec" | "--strategy" | "--strategy-option")
                    || (is_cluster(text) && text.ends_with(['x', 's', 'X', 'C']))
            };
            let is_clear = |pair: &[Word]| !(takes_value(&pair[0].text) && pair[1].text.starts_with('-'));
            // A cluster may have its value in the same word.
            let has_value =
                |pair: &&[Word]| takes_value(&pair[0].text) && (!is_cluster(&pair[0].text) || pair[0].text.len() == 2);
            operands.count() + usize::from(has(&["--root"])) > 1 + words.windows(2).filter(has_value).count()
                || !words.windows(2).all(is_clear)
                || words.iter().any(|word| word.splits || !is_listed(&word.text))
        }
        name => !KEEPING_BRANCH.contains(&format!(" {name} ")),
    };
    is_unknown.then_some(Setting::Unknown)
}

/// Returns true for letters of options: `-qb`.
fn is_cluster(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--")
}

/// Returns what `git checkout` or `git switch` with these words checks out, or `None` if it only restores files.
fn switched(words: &[Word], is_checkout: bool) -> Option<Setting<'_>> {
    /// Options without a value that do not change which branch it is.
    const PLAIN: &str = " --quiet --force --merge --progress --no-progress --guess --no-guess --ignore-other-worktrees --discard-changes \
        --no-track --recurse-submodules --no-recurse-submodules --overwrite-ignore ";
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let (words, files) = words.split_at(end);
    let creates = |c: char| if is_checkout { matches!(c, 'b' | 'B') } else { matches!(c, 'c' | 'C') };
    let (mut created, mut operands, mut is_clear) = (None, Vec::new(), true);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = &*word.text;
        let value = match text.split_once('=').unwrap_or((text, "")) {
            ("--orphan" | "--create" | "--force-create", value) => value,
            ("--ours" | "--theirs" | "--patch", _) => return None,
            (name, _) if name.starts_with("--") => {
                is_clear &= PLAIN.contains(&format!(" {name} "));
                continue;
            }
            _ if is_cluster(text) && text != "-" => {
                let Some(at) = text.find(creates) else {
                    is_clear &= text[1..].chars().all(|c| matches!(c, 'q' | 'f' | 'm' | 'l'));
                    continue;
                };
                &text[at + 1..]
            }
            _ => {
                operands.push(word);
                continue;
            }
        };
        created =
            Some(if value.is_empty() { rest.next().map(|next| (&*next.text, next)) } else { Some((value, word)) });
    }
    let is_branch = |(name, word): (&str, &Word)| {
        let is_other = matches!(name, "" | "-" | "@")
            || name.eq_ignore_ascii_case("HEAD")
            || name.contains(['^', '~', ':'])
            || name.contains("@{");
        word.is_known() && !word.glob && !is_other
    };
    if let Some(created) = created {
        return Some(created.filter(|found| is_branch(*found)).map_or(Setting::Unknown, |(name, _)| Setting::To(name)));
    }
    let is_known = is_clear && operands.iter().all(|word| is_branch((&word.text, word)));
    match &*operands {
        // No branch begins with a dot.
        [word] if is_checkout && files.is_empty() && word.text.starts_with('.') => None,
        [] if is_clear => None,
        [word] if is_clear && is_checkout && files.is_empty() && word.text == "HEAD" => None,
        [_] if is_checkout && files.len() > 1 => None,
        [word] if is_known && is_checkout && files.is_empty() => Some(Setting::ToBranch(&word.text)),
        [word] if is_known => Some(Setting::To(&word.text)),
        [_, _, ..] if is_checkout && is_clear && operands.iter().all(|word| word.is_known()) => None,
        _ => Some(Setting::Unknown),
    }
}

/// Returns the value of an option: `Some(None)` if the option is there and its value is unknown, or if it has several values.
fn option<'a>(command: &'a Command, options: &[&str]) -> Option<Option<Value<'a>>> {
    let args = own_options(command);
    let of_program = options.iter().filter_map(|option| match option.split_once(' ') {
        Some((program, option)) => (command.program == program).then_some(option),
        None => Some(*option),
    });
    let mut values = of_program.flat_map(|option| {
        args.iter().enumerate().filter_map(move |(at, word)| {
            let rest = word.text.strip_prefix(option)?;
            let next = args.get(at + 1);
            match rest.strip_prefix('=') {
                Some(value) => Some(word.is_known().then_some(value)),
                None if rest.is_empty() => next.map(|next| next.is_known().then_some(&*next.text)),
                // `-nproduction`
                None if !option.starts_with("--") => Some(word.is_known().then_some(rest)),
                None => None,
            }
        })
    });
    let first = values.next()?;
    Some(first.filter(|_| values.all(|value| value == first)).map(Value::from))
}

/// Options of Docker that take a value, and that it knows only before its subcommand.
const DOCKER_OPTIONS: [&str; 16] = [
    "-c",
    "--context",
    "-H",
    "--host",
    "--config",
    "-l",
    "--log-level",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--env-file",
    "--project-directory",
];

/// Returns the words of a command among which its own options are, and not those of a program that it runs.
fn own_options(command: &Command) -> &[Word] {
    let is_docker = matches!(&*command.program, "docker" | "docker-compose");
    let takes_value = |at: usize| at > 0 && DOCKER_OPTIONS.contains(&&*command.args[at - 1].text);
    let is_end = |(at, word): (usize, &Word)| {
        word.text == "--" || (is_docker && !word.text.starts_with('-') && !takes_value(at))
    };
    let end = command.args.iter().enumerate().position(is_end).unwrap_or(command.args.len());
    &command.args[..end]
}

/// Returns the directory in which a command looks for a fact, after options such as `git -C dir`. Returns `None` if it is unknown.
pub(crate) fn directory<'a>(
    name: &str,
    command: &Command,
    directory: &'a str,
    context: &PathContext,
) -> Option<Cow<'a, str>> {
    let mut directory = Cow::Borrowed(directory);
    let option = match (&*command.program, name.split('.').next()) {
        ("git", Some("git")) => "-C",
        ("terraform" | "tofu", Some("terraform")) => "-chdir",
        _ => return Some(directory),
    };
    for (at, word) in command.args.iter().enumerate().take(before_subcommand(command)) {
        let value = match word.text.strip_prefix(option).map(|rest| rest.strip_prefix('=').unwrap_or(rest)) {
            Some("") => command.args.get(at + 1)?.clone(),
            Some(value) => word.with_text(value),
            None => continue,
        };
        match context.resolve(&value, Some(&directory)) {
            Normal::Absolute(path) if value.is_known() => directory = Cow::Owned(path),
            _ => return None,
        }
    }
    Some(directory)
}

fn of_word(word: &Word) -> Fact<'_> {
    if word.is_known() { Fact::Is(Value::from(&*word.text)) } else { Fact::Unreadable }
}

/// Returns true if a command runs only after an earlier one has succeeded in the same shell, and not in a pipe or a trap.
pub(crate) fn certainly_runs(earlier: &Command, command: &Command, text: &str) -> bool {
    let head = text.get(..earlier.place.start).unwrap_or("!").trim_end_matches([' ', '\t']);
    let begins = head.is_empty() || head.ends_with([';', '(', '\n']) || head.ends_with("&&");
    let joined = head.trim_end();
    let is_joined = joined.ends_with(['|', '!', '\\']) || joined.ends_with("|&");
    earlier.exact && begins && !is_joined && surely_runs(earlier, command, text, false)
}

/// Returns true if a command runs only after an earlier one of the same text has succeeded. If the earlier one cannot fail, it may
/// also stand at the beginning of the text, before a `;`.
fn surely_runs(earlier: &Command, command: &Command, text: &str, cannot_fail: bool) -> bool {
    let (Some(before), Some(between)) =
        (text.get(..earlier.place.start), text.get(earlier.place.end..command.place.start))
    else {
        return false;
    };
    let is_plain = earlier.wrappers.is_empty() && !before.contains("||") && !before.trim_end().ends_with('!');
    let is_first = cannot_fail && before.trim().is_empty();
    let rest = between.replace("&&", " ");
    let ends: &[char] = if is_first { &[';', '\n'] } else { &[] };
    is_plain && !rest.contains(|c| "&|();\n`{}".contains(c) && !ends.contains(&c))
}
