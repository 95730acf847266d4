//! Tests which files are found, where and in which order, and how hostile and missing files are handled.

use super::instructions::{MAX_FILE, MAX_TOTAL};
use super::*;
use std::os::unix::fs::symlink;

/// A home directory with the user's configuration, and a repository that contains a workspace.
struct Lab {
    directory: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { directory: tempfile::tempdir().unwrap() };
        lab.write("repository/.git/HEAD", "");
        lab.write("repository/inner/work/file", "");
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn gather(&self) -> Context {
        Context::gather(&Sources {
            workspace: self.path("repository/inner/work"),
            config: Some(self.path("home/config")),
            home: Some(self.path("home")),
        })
    }
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nText of {name}.\n")
}

#[test]
fn instructions_are_the_users_then_the_projects_outermost_first() {
    let lab = Lab::new();
    lab.write("AGENTS.md", "above the repository");
    lab.write("repository/AGENTS.md", "root");
    lab.write("repository/inner/work/AGENTS.md", "work");
    lab.write("home/config/AGENTS.md", "user");
    lab.write("home/config/prompts/20-b.md", "b");
    lab.write("home/config/prompts/10-a.md", "a");
    lab.write("home/config/prompts/note.txt", "no fragment");
    let context = lab.gather();
    let texts: Vec<_> = context.instructions.iter().map(|found| found.text.as_str()).collect();
    assert_eq!((texts, context.notices.len()), (vec!["user", "a", "b", "root", "work"], 0));
    let prompt = context.extend("Base.");
    let from = format!("<instructions from=\"{}\">\nroot\n</instructions>", lab.path("repository/AGENTS.md").display());
    assert!(prompt.starts_with("Base.\n\n") && prompt.contains(&from), "{prompt}");
    assert_eq!(Context::default().extend("Base."), "Base.");
}

#[test]
fn without_a_repository_only_the_workspace_itself_counts() {
    let lab = Lab::new();
    std::fs::remove_dir_all(lab.path("repository/.git")).unwrap();
    lab.write("repository/AGENTS.md", "root");
    lab.write("repository/inner/work/AGENTS.md", "work");
    let context = lab.gather();
    assert_eq!(context.instructions.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), ["work"]);
}

#[test]
fn what_is_too_large_is_cut_with_one_notice_and_the_innermost_is_kept() {
    let lab = Lab::new();
    let large = "ä".repeat(usize::try_from(MAX_FILE).unwrap());
    for number in 0..6 {
        lab.write(&format!("home/config/prompts/{number}.md"), &large);
    }
    lab.write("repository/inner/work/AGENTS.md", &("x".to_owned() + &large));
    let context = lab.gather();
    let sizes: Vec<_> = context.instructions.iter().map(|found| found.text.len()).collect();
    assert!(sizes.iter().sum::<usize>() <= MAX_TOTAL && sizes.iter().all(|size| *size <= 32 * 1024), "{sizes:?}");
    assert_eq!(context.instructions.last().unwrap().path, lab.path("repository/inner/work/AGENTS.md"));
    assert_eq!(context.notices.len(), 1);
    assert!(context.notices[0].starts_with("instructions were cut") && context.notices[0].contains("0.md"));
}

#[test]
fn a_link_out_of_the_repository_is_not_followed_and_one_within_is() {
    let lab = Lab::new();
    lab.write("secret", "hunter2");
    lab.write("repository/README.md", "within");
    symlink(lab.path("secret"), lab.path("repository/AGENTS.md")).unwrap();
    symlink("../../README.md", lab.path("repository/inner/work/AGENTS.md")).unwrap();
    lab.write("outside/skill/SKILL.md", &skill("outside", "Out."));
    std::fs::create_dir(lab.path("repository/.agents")).unwrap();
    symlink(lab.path("outside"), lab.path("repository/.agents/skills")).unwrap();
    lab.write("repository/.claude/skills/a/x", "");
    symlink(lab.path("outside/skill/SKILL.md"), lab.path("repository/.claude/skills/a/SKILL.md")).unwrap();
    let context = lab.gather();
    assert_eq!(context.instructions.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), ["within"]);
    assert!(context.skills.is_empty() && !format!("{context:?}").contains("hunter2"), "{context:?}");
    assert!(context.notices.iter().all(|notice| notice.contains("a symbolic link leads out of")), "{context:?}");
    assert_eq!(context.notices.len(), 2);
}

#[test]
fn the_users_own_links_are_followed() {
    let lab = Lab::new();
    lab.write("dotfiles/AGENTS.md", "mine");
    std::fs::create_dir_all(lab.path("home/config")).unwrap();
    symlink(lab.path("dotfiles/AGENTS.md"), lab.path("home/config/AGENTS.md")).unwrap();
    assert_eq!(lab.gather().instructions[0].text, "mine");
}

#[test]
fn what_is_not_text_is_reported_by_its_file_and_nothing_waits_for_a_pipe() {
    let lab = Lab::new();
    std::fs::write(lab.path("repository/AGENTS.md"), b"\xff\xfe").unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.path("repository/inner/AGENTS.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let notices = lab.gather().notices;
    assert!(notices[1].ends_with("repository/AGENTS.md: it is no UTF-8 text"), "{notices:?}");
    assert!(notices[0].ends_with("inner/AGENTS.md: it is no regular file"), "{notices:?}");
}

#[test]
fn skills_are_found_where_agents_keep_them() {
    let lab = Lab::new();
    lab.write("home/config/skills/one/SKILL.md", &skill("one", "First."));
    lab.write("home/.claude/skills/two/SKILL.md", &skill("two", "\"Second: quoted.\""));
    lab.write("repository/.agents/skills/three/SKILL.md", &skill("three", ">-\n  Third,\n  folded."));
    lab.write("repository/.agents/skills/three/scripts/run.sh", "exit 1");
    lab.write("repository/.agents/skills/no-skill/README.md", "");
    lab.write(
        "repository/inner/work/.claude/skills/four/SKILL.md",
        &skill("four", "Fourth.\nmetadata:\n  name: other"),
    );
    let context = lab.gather();
    let told: Vec<_> = context.skills.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())).collect();
    let expected = [("four", "Fourth."), ("one", "First."), ("three", "Third, folded."), ("two", "Second: quoted.")];
    assert_eq!(told, expected);
    assert!(context.notices.is_empty(), "{:?}", context.notices);
    assert_eq!(
        (context.skills[2].text.as_str(), &context.skills[2].files),
        ("Text of three.", &vec!["scripts".into()])
    );
    let prompt = context.extend("Base.");
    assert!(prompt.contains("\n- three: Third, folded.\n- two: Second: quoted."), "{prompt}");
    assert!(!prompt.contains("Text of"), "the text is given on demand");
}

#[test]
fn of_two_skills_of_one_name_the_users_own_counts_and_one_file_is_one_skill() {
    let lab = Lab::new();
    lab.write("repository/.agents/skills/deploy/SKILL.md", &skill("deploy", "Theirs."));
    lab.write("home/.agents/skills/deploy/SKILL.md", &skill("deploy", "Mine."));
    symlink(lab.path("home/.agents"), lab.path("home/.claude")).unwrap();
    let context = lab.gather();
    assert_eq!((context.skills.len(), context.skills[0].description.as_str()), (1, "Mine."));
    let [notice] = context.notices.as_slice() else { panic!("{:?}", context.notices) };
    assert!(notice.contains("repository/.agents/skills/deploy/SKILL.md is left out"), "{notice}");
}

#[test]
fn a_file_that_is_not_a_skill_is_reported_once_and_the_others_count() {
    let lab = Lab::new();
    let long = "x".repeat(1025);
    let large = skill("large", "Large.") + &"x".repeat(64 * 1024);
    for (directory, text) in [
        ("a", "No front matter.".to_owned()),
        ("b", "---\nname: b\n".to_owned()),
        ("c", "---\nname: c\n---\n".to_owned()),
        ("d", skill("\"a b\"", "An invalid name.")),
        ("e", skill("e", &long)),
        ("f", large),
        ("g", skill("g", "[unclosed")),
        ("z", skill("z", "A skill.")),
    ] {
        lab.write(&format!("repository/.agents/skills/{directory}/SKILL.md"), &text);
    }
    let context = lab.gather();
    assert_eq!(context.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["z"]);
    assert_eq!(context.notices.len(), 7, "{:?}", context.notices);
    for (notice, directory) in context.notices.iter().zip(["a", "b", "c", "d", "e", "f", "g"]) {
        assert!(notice.contains(&format!("skills/{directory}/SKILL.md is no skill: ")), "{notice}");
    }
    assert!(
        context.notices[0].ends_with("it has no front matter with `name` and `description` between two lines `---`")
    );
}

#[test]
fn prompts_and_skills_of_a_harness_directory_are_read_and_its_code_is_reported_once() {
    let lab = Lab::new();
    lab.write("repository/.harness/AGENTS.md", "of the harness");
    lab.write("repository/.harness/prompts/10-a.md", "a prompt");
    lab.write("repository/.harness/skills/release/SKILL.md", &skill("release", "Releases."));
    lab.write("repository/.harness/tools/rm", "#!/bin/sh");
    lab.write("repository/.harness/hooks.d/send/10-send", "#!/bin/sh");
    let context = lab.gather();
    let texts: Vec<_> = context.instructions.iter().map(|found| found.text.as_str()).collect();
    assert_eq!(texts, ["of the harness", "a prompt"]);
    assert_eq!(context.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["release"]);
    assert_eq!(context.notices.len(), 1, "{:?}", context.notices);
    assert!(context.notices[0].contains("hooks.d, tools hold code for another program"), "{:?}", context.notices);
    std::fs::remove_dir_all(lab.path("repository/.harness/tools")).unwrap();
    std::fs::remove_dir_all(lab.path("repository/.harness/hooks.d")).unwrap();
    assert!(lab.gather().notices.is_empty());
}

#[test]
fn a_harness_directory_that_leads_out_of_the_project_is_not_read() {
    let lab = Lab::new();
    lab.write("outside/prompts/a.md", "secret");
    symlink(lab.path("outside"), lab.path("repository/.harness")).unwrap();
    assert!(lab.gather().instructions.is_empty());
}
