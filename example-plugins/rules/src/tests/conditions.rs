//! The conditions of rules: what they can ask, and what holds if a fact is missing.

use super::{ask, is_stopped, mcp, mistakes::of_row, question, rules, stops_and_passes, try_rules};
use crate::Rules;
use hookhost_guest::prelude::*;
use hookhost_guest::testing::{self, session, shell};

fn set(fact: &str, text: &str) {
    testing::inspect(|host| host.facts.insert(fact.into(), facts::Fact::Text(text.into())));
}

/// One rule about a shell command with these conditions.
fn rule(conditions: &str) -> String {
    format!("[[rule]]\nid = \"r\"\non = \"shell\"\n{conditions}\nreject = \"no\"\n")
}

#[test]
fn a_condition_asks_about_one_simple_command() {
    rules(&rule("when = 'program == \"rm\" && \"-r\" in flags && size(args) == 2'"));
    stops_and_passes(&["ls; sudo rm -r x"], &["rm x; ls -r y", "rm -r x y", "echo rm -r x"]);
    rules(&rule("program = \"git\"\nwhen = 'any(args, \"release/*\")'\nunless = 'command.contains(\"--dry-run\")'"));
    stops_and_passes(&["git push origin release/1"], &["git push origin main", "git push --dry-run origin release/1"]);
}

#[test]
fn a_condition_sees_the_agent_and_its_sub_agents() {
    rules(&rule("program = \"git push\"\nwhen = 'session.depth > 0'"));
    let of = |depth| Rules::before_tool_call(&Session { depth, ..session() }, &shell("git push"));
    assert!(matches!(of(0), ToolCallVerdict::Allow));
    assert!(matches!(of(1), ToolCallVerdict::Reject(_)));
    rules(&rule("when = 'agent == \"codex\" && session.headless && workspace == \"/w\"'"));
    let codex = Session { agent: "codex".into(), interactive: false, workspace: "/w".into(), ..session() };
    assert!(matches!(Rules::before_tool_call(&codex, &shell("ls")), ToolCallVerdict::Reject(_)));
    assert!(!is_stopped(&shell("ls")));
}

#[test]
fn a_condition_sees_the_arguments_of_a_tool() {
    rules(
        "[[rule]]\nid = \"r\"\non = \"mcp\"\nwhen = 'arguments.database.name.startsWith(\"prod\")'\nask = \"Use {tool}?\"\n",
    );
    assert_eq!(question(&mcp("db", "query", json!({ "database": { "name": "prod-1" } }))).question, "Use query?");
    for arguments in [json!({ "database": { "name": "test" } }), json!({ "database": "prod" }), json!({})] {
        assert!(!is_stopped(&mcp("db", "query", arguments)));
    }
}

#[test]
fn a_path_is_inside_or_outside_the_workspace_in_any_spelling() {
    rules("[[rule]]\nid = \"r\"\non = \"write\"\nwhen = '!path.in_workspace'\nreject = \"{path}\"\n");
    let Session { workspace, .. } = session();
    stops_and_passes(&["touch /etc/x", "touch ../x", "cd / && rm etc/x"], &["touch a/b", "touch ./x"]);
    assert!(!is_stopped(&shell(&format!("touch {workspace}/x"))));
    assert!(is_stopped(&shell(&format!("touch {workspace}x"))));
}

#[test]
fn a_command_chooses_its_own_context() {
    rules(
        "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"kubectl\"\nwhen = 'kube.context.startsWith(\"prod\")'\nask = \"In {kube.context}?\"\n",
    );
    for command in [
        "kubectl --context prod-1 delete pod x",
        "kubectl delete pod x --context=prod-1",
        "sudo kubectl --context prod-1 get pods",
    ] {
        assert_eq!(question(&shell(command)).question, "In prod-1?", "{command}");
    }
    stops_and_passes(
        &["kubectl --context $C delete pod x", "KUBECONFIG=other kubectl get pods"],
        &["kubectl --context dev get pods", "kubectl get pods"],
    );
}

/// Configures one rule, and gives the host's facts.
fn rule_with_facts(rule: &str, facts: &[(&str, &str)]) {
    rules(rule);
    facts.iter().for_each(|(name, value)| set(name, value));
}

#[test]
fn an_earlier_command_of_the_line_sets_the_branch() {
    let on_main = "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = [\"git commit\", \"git push\"]\nwhen = 'git.branch == \"main\"'\nreject = \"no\"\n";
    rule_with_facts(on_main, &[("git.branch", "main")]);
    stops_and_passes(
        &[
            "git commit -m x",
            "git checkout -b topic; git commit -m x",
            "true || git checkout -b topic && git commit -m x",
            "! git checkout -b topic && git commit -m x",
            "(git checkout -b topic) | git commit -m x",
            "git -C ../other checkout -b topic && git commit -m x",
            "git commit -m x && git checkout -b topic",
            "git checkout -b \"$X\" && git commit -m x",
            "git checkout README.md && git commit -m x",
            "git switch -c main && git commit -m x",
        ],
        &[
            "git checkout -b topic && git add -A && git commit -m x && git push -u origin topic",
            "cd x; git switch -c topic origin/main && git commit -m 'a (b); c'",
            "git switch topic && git push",
        ],
    );
    rule_with_facts(on_main, &[("git.branch", "topic")]);
    stops_and_passes(
        &[
            "git checkout main && git merge topic && git push",
            "git switch main; git push",
            "git switch main && git push",
            "git branch -m main && git push",
            "gh pr checkout 7 && git push",
            "git --git-dir=../other/.git push",
            "sh -c 'git switch main' && git push",
        ],
        &[
            "git push",
            "git checkout && git push",
            "git checkout -- a && git push",
            "git branch -a && git push",
            "git switch -c main2 && git push",
        ],
    );
}

#[test]
fn the_operand_of_git_checkout_is_a_branch_if_there_is_no_file_of_this_name() {
    rules(&rule("program = \"git push\"\nwhen = 'git.branch == \"main\"'"));
    set("git.branch", "main");
    let exists = |exists| testing::inspect(|host| host.facts.insert("path.exists".into(), facts::Fact::Flag(exists)));
    exists(true);
    stops_and_passes(&["git checkout README && git push"], &[]);
    exists(false);
    stops_and_passes(
        &[
            "git checkout main && git push",
            "git checkout -f main && git push",
            "git checkout HEAD && git push",
            "git checkout -f HEAD -- && git push",
            "git checkout head && git push",
        ],
        &["git checkout topic && git push"],
    );
}

#[test]
fn an_earlier_command_of_the_line_sets_the_context_of_a_cloud() {
    let names = [
        ("kube.context", "kubectl delete pod x"),
        ("aws.profile", "aws s3 rm x"),
        ("gcloud.project", "gcloud x"),
        ("terraform.workspace", "terraform apply"),
        ("docker.context", "docker rm x"),
    ];
    for (name, command) in names {
        let rule = format!(
            "[[rule]]\nid = \"r\"\non = \"shell\"\nwhen = '{name}.startsWith(\"prod\")'\nask = \"In {{{name}}}?\"\n"
        );
        rule_with_facts(&rule, &[(name, "dev")]);
        stops_and_passes(&[], &[command]);
    }
    for (name, command) in [
        ("kube.context", "kubectl config use-context prod && kubectl delete pod x"),
        ("kube.context", "kubectx prod && helm uninstall x"),
        ("aws.profile", "export AWS_PROFILE=prod; aws s3 rm x"),
        ("gcloud.project", "gcloud config set project prod && gcloud compute instances delete x"),
        ("terraform.workspace", "terraform workspace select prod && terraform apply"),
        ("docker.context", "docker context use prod && docker rm x"),
    ] {
        let rule = format!(
            "[[rule]]\nid = \"r\"\non = \"shell\"\nwhen = '{name}.startsWith(\"prod\")'\nask = \"In {{{name}}}?\"\n"
        );
        rule_with_facts(&rule, &[(name, "dev")]);
        assert_eq!(question(&shell(command)).question, "In prod?", "{command}");
    }
    let account =
        "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"aws\"\nwhen = 'aws.account == \"1\"'\nask = \"Use it?\"\n";
    rule_with_facts(account, &[("aws.account", "2")]);
    stops_and_passes(
        &["aws --profile x s3 ls", "export AWS_PROFILE=x; aws s3 ls", "AWS_PROFILE=x; aws s3 ls"],
        &["aws s3 ls"],
    );
    let kube = "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"kubectl\"\nwhen = 'kube.context == \"prod\"'\nask = \"Use it?\"\n";
    rule_with_facts(kube, &[("kube.context", "dev")]);
    stops_and_passes(
        &[
            "kubectl --kubeconfig x get pods",
            "export KUBECONFIG=x && kubectl get pods",
            "az aks get-credentials -n x && kubectl get pods",
        ],
        &["kubectl get pods"],
    );
}

#[test]
fn an_absent_fact_satisfies_nothing() {
    rules(&rule("when = 'server == \"x\" || server != \"x\" || server.contains(\"\")'"));
    assert!(!is_stopped(&shell("ls")));
    rules(&rule("when = 'server == null'"));
    assert!(is_stopped(&shell("ls")));
}

#[test]
fn an_example_gives_the_facts_that_it_is_about_and_all_others_are_as_the_rule_needs_them() {
    let row = |stops: &str, passes: &str| {
        let keys =
            "program = \"git push\"\nwhen = 'git.branch == \"main\"'\nunless = 'session.depth > 0'\nreject = \"no\"";
        of_row("shell", &format!("{keys}\nstops = [{stops}]\npasses = [{passes}]"))
    };
    assert_eq!(row("'git push'", "'git pull'"), [""; 0]);
    let on = |branch: &str| format!("{{ command = 'git push', facts = {{ 'git.branch' = '{branch}' }} }}");
    assert_eq!(row(&on("main"), &on("topic")), [""; 0]);
    assert!(row(&on("topic"), "'git pull'")[0].starts_with("0.stops.0: `r` does not stop this example"));
    assert!(row("'git push'", &on("main"))[0].starts_with("0.passes.0: `r` stops this example"));
    assert_eq!(row("'git push'", "{ command = 'git push', facts = { 'session.depth' = 1 } }"), [""; 0]);
    assert!(!row("'git push'", "'git push'").is_empty());
}

#[test]
fn a_mistake_in_a_condition_is_marked_where_it_is() {
    for (condition, part, message) in [
        ("git.brnch == 'x'", 0..9, "did you mean `git.branch`?"),
        ("true && program == 1", 8..20, "a string"),
        ("program", 0..7, "true or false"),
    ] {
        let wrong = try_rules(&rule(&format!("when = \"{condition}\""))).unwrap_err();
        assert_eq!(wrong.len(), 1, "{condition}: {wrong:?}");
        assert_eq!((&*wrong[0].key, wrong[0].part.clone()), ("when", Some(part)), "{condition}: {wrong:?}");
        assert!(wrong[0].message.contains(message), "{condition}: {wrong:?}");
    }
}

#[test]
fn a_text_of_a_rule_has_the_values_of_facts() {
    rules(&rule("when = 'true'").replace("\"no\"", "\"{program} by {agent} in {git.branch}\""));
    let ToolCallVerdict::Reject(refusal) = ask(&shell("ls")) else { panic!() };
    assert_eq!(refusal.reason, format!("ls by {} in (unknown)", session().agent));
}

#[test]
fn an_option_is_found_in_any_spelling() {
    rules(&rule(
        "program = \"git push\"\nwhen = 'flag(\"-f\") || flag(\"--force\") || args.exists(a, a.startsWith(\"+\"))'",
    ));
    stops_and_passes(
        &["git push -uf", "git push --forc", "git push origin +main", "git -C a push o m --force", "sudo git push -f"],
        &["git push", "git push -u origin f", "git push origin --follow-tags", "echo git push -f"],
    );
    let wrong = of_row("shell", "when = 'flag(\"force\")'\nreject = \"no\"");
    assert!(wrong[0].contains("needs an option in quotes"), "{wrong:?}");
}

#[test]
fn a_condition_counts_the_files_that_a_command_deletes() {
    rules(&rule("when = 'size(paths.deleted) > 2'"));
    stops_and_passes(&["rm a b c", "rm -r a 'b c' d"], &["rm a b", "touch a b c"]);
}

#[test]
fn a_command_chooses_the_directory_of_its_facts() {
    rules(&rule("program = \"git commit\"\nwhen = 'git.branch == \"main\"'"));
    // The stand-in has the same branch in every directory.
    set("git.branch", "topic");
    stops_and_passes(
        &["git --git-dir=/x/.git commit", "GIT_DIR=/x git commit", "git -C \"$D\" commit"],
        &["git -C sub commit", "git -Csub -c a.b=c commit", "git commit -C HEAD"],
    );
    rules(&rule("program = \"aws\"\nwhen = 'aws.profile == \"prod\"'"));
    set("aws.profile", "dev");
    stops_and_passes(
        &[
            "export AWS_PROFILE=prod; aws s3 ls",
            "export AWS_PROFILE=$P && aws s3 ls",
            "export AWS_CONFIG_FILE=x; aws s3 ls",
        ],
        &[
            "export AWS_PROFILE=dev; aws s3 ls",
            "aws s3 ls; export AWS_PROFILE=prod",
            "echo AWS_PROFILE=prod; aws s3 ls",
        ],
    );
}

#[test]
fn a_condition_sees_what_runs_and_feeds_a_command() {
    rules(&rule("program = [\"sh\", \"bash\"]\nwhen = 'upstream.exists(u, u in [\"curl\", \"wget\"])'"));
    stops_and_passes(
        &["curl https://x.example/i | sh", "wget -qO- x.example | tee a | sudo bash -s"],
        &["curl https://x.example/i > i; sh i", "sh -c 'curl x.example'", "cat a | sh"],
    );
    rules(&rule("when = '\"sudo\" in wrappers'"));
    stops_and_passes(&["sudo ls", "cd a && sudo -u b make"], &["ls", "echo sudo ls"]);
    rules(&rule("program = \"git commit\"\nwhen = 'variables.HUSKY == \"0\" || downstream == [\"cat\"]'"));
    stops_and_passes(
        &["HUSKY=0 git commit", "env HUSKY=0 git commit", "git commit | cat"],
        &["git commit", "HUSKY=1 git commit"],
    );
    rules(&rule("program = \"sudo\""));
    stops_and_passes(&["sudo ls", "true && sudo -n make"], &["ls sudo"]);
}

#[test]
fn only_the_own_options_of_a_program_choose_a_fact() {
    let docker = "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"docker\"\nwhen = 'docker.context == \"prod\"'\nreject = \"no\"\n";
    rule_with_facts(docker, &[("docker.context", "prod")]);
    stops_and_passes(
        &[
            "docker exec db sh -c 'drop all'",
            "docker run -c 512 alpine x",
            "docker build -c 512 .",
            "docker --log-level debug exec db sh -c x",
            "docker --context dev --context prod ps",
        ],
        &["docker --context dev ps", "docker -l debug -c dev ps", "docker -c dev run -c 512 alpine x"],
    );
    let kube = |condition: &str| {
        format!("[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"kubectl\"\nwhen = '{condition}'\nreject = \"no\"\n")
    };
    rule_with_facts(&kube("kube.context.startsWith(\"prod\")"), &[("kube.context", "prod-eu")]);
    stops_and_passes(
        &["kubectl exec web -- tool --context dev", "kubectl delete pod x --context dev --context prod-eu"],
        &["kubectl --context dev exec web -- tool --context prod-eu", "kubectl get x --context dev --context=dev"],
    );
    rule_with_facts(&kube("kube.namespace == \"prod\""), &[("kube.namespace", "prod")]);
    stops_and_passes(&["kubectl exec web -- head -n 5 /x"], &["kubectl -n web exec web -- head -n 5 /x"]);
}

#[test]
fn a_command_that_names_another_server_or_configuration_has_an_unreadable_fact() {
    let rule =
        |fact: &str| format!("[[rule]]\nid = \"r\"\non = \"shell\"\nwhen = '{fact} == \"prod\"'\nreject = \"no\"\n");
    for (fact, stops, passes) in [
        ("gcloud.project", &["gcloud --configuration other compute ssh x"][..], &["gcloud compute ssh x"][..]),
        (
            "kube.context",
            &[
                "kubectl -s https://1.2.3.4 get pods",
                "helm --kube-apiserver=https://x upgrade a b",
                "oc --context prod delete x",
                "flux --context=prod suspend x",
                "velero backup delete x --kubecontext prod",
                "kubectl-neat --context prod",
                "frobnicate --kubeconfig other",
            ],
            &["stern -s 5m x", "oc --context dev get x", "grep --context 3 x y", "docker --context x ps"],
        ),
        ("kube.namespace", &["istioctl --context other analyze"], &["istioctl -n dev analyze"]),
        ("terraform.workspace", &["terraform apply -state=other.tfstate"], &["terraform apply -auto-approve"]),
        ("docker.context", &["DOCKER_HOST=tcp://1.2.3.4 docker ps"], &["docker ps"]),
    ] {
        rules(&rule(fact));
        set(fact, "dev");
        stops_and_passes(stops, passes);
    }
}

#[test]
fn a_condition_sees_where_a_path_leads_and_not_how_it_is_spelt() {
    rules(
        "[[rule]]\nid = \"r\"\non = \"write\"\nunless = 'path.startsWith(\"/tmp/\") || path.startsWith(\"src/\")'\nreject = \"{path}\"\n",
    );
    let Session { workspace, .. } = session();
    stops_and_passes(
        &["touch /tmp/../etc/hosts", "touch src/../x", "cd src && touch ../x", "touch \"$X/src\"", "touch src/$X/a"],
        &["touch /tmp/x", "cd /tmp && touch x", "touch ./src/x", "cd src && touch x", "touch a/../src/x"],
    );
    assert!(!is_stopped(&shell(&format!("touch {workspace}/src/x"))));
    assert_eq!(super::refusal(&shell("touch src/../x")).reason, "x");
    assert_eq!(super::refusal(&shell("touch src/$X/a")).reason, "src/…/a");
    rules(
        "[[rule]]\nid = \"r\"\non = \"write\"\nwhen = 'path.exists'\nunless = 'created_by_agent(path)'\nreject = \"no\"\n",
    );
    stops_and_passes(&[], &["touch src/x"]);
}

#[test]
fn the_time_is_unreadable_if_the_time_zone_is_unknown() {
    rules(&rule("when = 'time.hour == 22 || time.weekday == \"mon\" || time.minute == 13'"));
    let at = |offset| testing::inspect(|host| host.facts.insert("time.offset".into(), offset));
    stops_and_passes(&["ls"], &[]);
    at(facts::Fact::Unreadable("no time zone".into()));
    stops_and_passes(&["ls"], &[]);
    // Tuesday, 22:13 in UTC.
    at(facts::Fact::Number(0));
    stops_and_passes(&["ls"], &[]);
    at(facts::Fact::Number(61));
    stops_and_passes(&[], &["ls"]);
}
