//! Environment variables that the processes of the agent do not inherit.

use super::AgentSection;

/// Patterns of environment variables that are hidden by default, sorted. The variables hold secrets for publishing or
/// for accounts. An agent rarely needs such secrets, or its programs can get them in another way (`gh auth login`,
/// `~/.aws/credentials`).
pub const HIDDEN_BY_DEFAULT: &[&str] = &[
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "CARGO_REGISTRIES_*_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "CI_JOB_TOKEN",
    "CLOUDFLARE_API_TOKEN",
    "DIGITALOCEAN_ACCESS_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "HF_TOKEN",
    "NODE_AUTH_TOKEN",
    "NPM_TOKEN",
    "PYPI_TOKEN",
    "SLACK_BOT_TOKEN",
    "STRIPE_SECRET_KEY",
    "TWINE_PASSWORD",
    "UV_PUBLISH_TOKEN",
    "VAULT_TOKEN",
];

impl AgentSection {
    /// Returns the variables that tools and MCP servers must not inherit, sorted. The list contains all
    /// [`Self::key_variables`]. It also contains each of `names` that matches [`HIDDEN_BY_DEFAULT`] or
    /// `hidden-variables` but not `passed-variables`.
    #[must_use]
    pub fn hidden_variables(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut hidden: Vec<String> = names.into_iter().filter(|name| self.hides(name)).collect();
        hidden.extend(self.key_variables());
        hidden.sort();
        hidden.dedup();
        hidden
    }

    /// Returns those of `names` that only [`HIDDEN_BY_DEFAULT`] hides, sorted. A program that needs such a variable
    /// fails, although the user did not ask to hide the variable.
    #[must_use]
    pub fn hidden_by_default(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let own = |name: &String| {
            self.key_variables().contains(name) || self.hidden_variables.iter().any(|own| is_meant(own, name))
        };
        let mut hidden: Vec<String> = names.into_iter().filter(|name| self.hides(name) && !own(name)).collect();
        hidden.sort();
        hidden
    }

    fn hides(&self, name: &str) -> bool {
        let default = HIDDEN_BY_DEFAULT.iter().copied();
        let mut hidden = default.chain(self.hidden_variables.iter().map(String::as_str));
        hidden.any(|pattern| is_meant(pattern, name))
            && !self.passed_variables.iter().any(|pattern| is_meant(pattern, name))
    }
}

/// Returns the names of this process's environment variables. Names that are not UTF-8 are left out, because no pattern
/// could match them.
pub(crate) fn names_of_environment() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

/// Returns true if the pattern matches the name. In the pattern, `*` matches any string, including the empty string.
/// Matching is case-sensitive.
fn is_meant(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The first match of each piece leaves the longest rest for the next pieces.
    let between = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail));
    let left = between.and_then(|name| {
        middle.split('*').try_fold(name, |name, piece| name.find(piece).map(|at| &name[at + piece.len()..]))
    });
    left.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(section: &str, names: &[&str]) -> Vec<String> {
        let section: AgentSection = toml::from_str(section).unwrap();
        let mut hidden = section.hidden_variables(names.iter().map(|name| (*name).to_owned()));
        hidden.retain(|name| names.contains(&name.as_str()));
        hidden
    }

    #[test]
    fn secrets_are_hidden_by_default_and_everything_else_is_passed_on() {
        let names = ["AWS_SECRET_ACCESS_KEY", "AWS_REGION", "GITHUB_TOKEN", "PATH", "OPENAI_API_KEY", "EDITOR"];
        assert_eq!(hidden("", &names), ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY"]);
    }

    #[test]
    fn more_can_be_hidden_by_name_and_pattern_and_one_of_the_default_passed_on() {
        let names = ["CORP_A", "CORP_B", "CORP_KEY_A", "GITHUB_TOKEN", "NPM_TOKEN", "OPENAI_API_KEY", "corp_a"];
        let section = "hidden-variables = ['CORP_*']\npassed-variables = ['GITHUB_TOKEN', 'CORP_KEY_*']\n";
        assert_eq!(hidden(section, &names), ["CORP_A", "CORP_B", "NPM_TOKEN", "OPENAI_API_KEY"]);
        // A provider's key is only for hookhost itself, so `passed-variables` cannot pass it to tools.
        assert_eq!(hidden("passed-variables = ['*']", &names), ["OPENAI_API_KEY"]);
    }

    #[test]
    fn a_star_means_any_text_and_everything_else_itself() {
        for (pattern, name, meant) in [
            ("A_*", "A_B", true),
            ("A_*", "A_", true),
            ("*_TOKEN", "MY_TOKEN", true),
            ("*_TOKEN", "TOKEN", false),
            ("C_*_TOKEN", "C_X_TOKEN", true),
            ("C_*_TOKEN", "C_TOKEN", false),
            ("*SECRET*KEY", "AWS_SECRET_ACCESS_KEY", true),
            ("*SECRET*KEY", "SECRET", false),
            ("a_b", "A_B", false),
            ("", "A", false),
        ] {
            assert_eq!(is_meant(pattern, name), meant, "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_hidden_by_default_alone_is_told_apart() {
        let section: AgentSection = toml::from_str("hidden-variables = ['NPM_TOKEN', 'MINE']").unwrap();
        let names = ["NPM_TOKEN", "MINE", "GH_TOKEN", "OPENAI_API_KEY", "HOME"].map(str::to_owned);
        assert_eq!(section.hidden_by_default(names), ["GH_TOKEN"]);
    }
}
