//! Judges rules in words: the `[[rule]]` tables of `hookhost.toml`. The host supplies this plugin and its configuration for the rules of
//! the user and of projects. A rule names what it is about, how it answers, and examples.
//!
//! ```toml
//! [[rule]]
//! id = "push-force"                        # code of the refusal, and name in the log
//! on = "shell"
//! program = "git push"                     # any of these; `*` at the end stands for any ending
//! flags = ["--force", "-f"]                # any of these, in any order, in clusters and abbreviated
//! reject = "Nobody rewrites shared history"
//! instead = "push to a new branch"
//! stops = ["git push -f origin x", "cd a && sudo git push --force"]
//! passes = ["git push origin topic", "echo 'git push -f'"]
//!
//! [[rule]]
//! id = "no-env"
//! on = ["read", "write"]                   # also "delete"
//! path = [".env*", "!.env.example"]        # a pattern after `!` is an exception
//! reject = "{path} holds secrets"
//! stops = [".env", { command = "cat a/.env.local" }]
//! passes = [".env.example"]
//!
//! [[rule]]
//! id = "web"
//! on = "web"
//! host = ["!github.com", "!*.crates.io"]   # all other hosts; also `url`
//! ask = "Send a request to {host}?"
//! stops = ["https://github.com@evil.com/", { command = "curl $ADDRESS" }]
//! passes = ["https://github.com/hookhost"]
//!
//! [[rule]]
//! id = "database"
//! on = "mcp"
//! server = "db*"
//! tool = ["!list_*", "!get_*"]
//! ask = "Call {tool} of {server}?"
//! stops = ["db/drop_table"]
//! passes = ["db/list_tables", "files/drop"]
//!
//! [[rule]]
//! id = "pnpm"
//! on = "shell"
//! program = "npm install"
//! change = { command = "pnpm install" }    # of a tool: arguments by their paths, such as "options.limit"
//!
//! [[rule]]
//! id = "codename"
//! on = ["prompt", "result", "text"]        # also "spawn", "session", "task-complete", or the pattern of a tool's name
//! text = "Mellon"
//! redact = "[codename]"
//! ```
//!
//! # Conditions
//!
//! `when` and `unless` are expressions in CEL about one command, file, request, call or text that all matchers of the rule match. A rule
//! applies if `when` is true and `unless` is not. `docs/rules.md` lists the names and functions. An absent fact satisfies no comparison. If
//! a fact exists and cannot be read, a rule with `reject` or `ask` applies, and any other rule does not. A command can choose facts itself,
//! such as `kubectl --context prod`, and an earlier command of the line can set them, such as `git switch main`.
//!
//! # Answers
//!
//! A rule has one of these answers. The text of an answer may contain `{path}`, `{command}`, `{program}`, `{url}`, `{host}`, `{server}` and
//! `{tool}`. A value that the call does not have is `(unknown)`.
//!
//! | answer | effect |
//! |---|---|
//! | `reject` | the call does not run, or the text is withheld; at the end of a task, the agent continues with the text as its task |
//! | `ask` | a person decides |
//! | `change` | the call gets other arguments |
//! | `redact` | each part that `text` names is replaced |
//! | `remind` | the model gets the text with its next request |
//! | `note` | the log gets a finding |
//! | `label` | the session and its sub-agents get this label, which `has("label")` finds |
//!
//! Rejections come first, then changes in the order of the file, then questions. After a change, all rules are compared with the changed
//! call. A call that is changed more than five times is rejected. Each rule that matches is reported, with its name. A rule with
//! `observe = true` has no other effect.
//!
//! # Examples
//!
//! When the plugin is loaded, each rule must match its `stops`, and none of its `passes`. An example is a command, a path, a URL, the name
//! of a tool (`server/tool` for `mcp`) or a text, depending on the first word of `on`. A table says more. The directory is `/work/project`.
//! `facts = { "git.branch" = "main" }` in such a table gives facts for the conditions. All other facts are as the conditions need them.
//!
//! # What is seen
//!
//! `on = "*"` means every call of a tool.
//!
//! All matchers of a rule must hold for one simple command, path, request or call. Commands are parsed: quotes, lists, `$(…)`, `sh -c`,
//! `sudo` and other wrappers, `git -C dir`. A part that only the shell knows (`$X`) satisfies neither `flags` nor `args`. For an unknown
//! tool,
//! the arguments that may be commands are compared as commands. If a command cannot be read, its lines are read one by one, because a shell
//! runs the lines before the one that it cannot read. If such a command contains the program of a rule with `reject` or `ask`, this rule
//! asks.
//!
//! `write` finds the same files as path-guard. `read` finds the files that a tool reads, and in a command each word and option that names
//! the file, unless the program only prints its words. `delete` finds the files that a patch, a command such as `rm` or `git clean`, or a
//! tool such as `delete_file` deletes. Without `path`, it also finds other deletions of MCP tools, such as `delete_customer`. Patterns of
//! paths have the syntax of path-guard, and case does not matter.
//!
//! `web` finds the requests of tools, each URL in a command, and the hosts of `curl`, `wget`, `ssh`, `scp`, `docker push`, `psql -h` and
//! similar programs, also those of proxies. A request whose host is unknown matches a rule without `host` and `url`, and it is never an exception. If programs
//! read an address differently, such as `https://a\@b`, it has several hosts: a rule applies if one of them matches, and an exception must
//! hold for all of them.
//!
//! `docs/rules.md` says what is not seen.

mod answer;
mod apply;
mod candidate;
mod checks;
mod chosen;
mod compile;
mod conditions;
mod examples;
mod files;
mod judge;
mod memory;
mod names;
mod paths;
mod shell;
mod status;
mod web;
mod world;

/// The rules, for the fuzzer, which drops them. The plugin never does.
#[doc(hidden)]
pub use compile::RuleSet;
use hookhost_contract::rule::{Mistake, RuleOn, RulesConfig};
use hookhost_guest::prelude::*;

static RULES: Configured<RuleSet> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct Rules;

#[plugin(priority = 50, on_failure = "ask")]
impl Plugin for Rules {
    fn configure(config: RulesConfig) -> Result<(), String> {
        let lines = |mistakes: Vec<Mistake>| mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n");
        let rules = RuleSet::compile(config).map_err(lines)?;
        // Each event begins with the memory after `configure`, and what it needs takes the place of the configuration.
        examples::run_usual(&rules);
        RULES.set(rules);
        Ok(())
    }

    fn session_start(session: &Session) -> Vec<Task> {
        RULES.get().begin(session);
        Vec::new()
    }

    fn prompt_submit(session: &Session, prompt: &str) -> TextVerdict {
        RULES.get().text_verdict(session, &RuleOn::Prompt, prompt)
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        shell_reader::answers_last();
        RULES.get().verdict(session, call)
    }

    fn after_tool_call(
        session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        _source: ResultSource,
    ) -> ToolResultVerdict {
        RULES.get().result_verdict(session, call, tool_result)
    }

    fn finalize_content(session: &Session, content: &str) -> TextVerdict {
        RULES.get().text_verdict(session, &RuleOn::Text, content)
    }

    fn task_complete(session: &Session, completion: &Completion) -> CompletionVerdict {
        RULES.get().completion_verdict(session, completion)
    }
}

#[cfg(test)]
mod tests;
