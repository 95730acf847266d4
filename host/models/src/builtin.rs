//! The built-in providers, from `builtin.toml`.

use crate::section::{ProviderKind, ProviderSection};
use serde::Deserialize;

/// Returns the built-in providers. The agent checks them in this order when it looks for the first provider that is ready.
#[must_use]
pub fn providers() -> Vec<(String, ProviderSection)> {
    #[derive(Deserialize)]
    struct Table {
        provider: Vec<Row>,
    }
    #[derive(Deserialize)]
    struct Row {
        name: String,
        #[serde(flatten)]
        section: ProviderSection,
    }
    // Parsing cannot fail, because the table is compiled in and a test parses it.
    let table: Option<Table> = toml::from_str(include_str!("builtin.toml")).ok();
    table.into_iter().flat_map(|table| table.provider).map(|row| (row.name, row.section)).collect()
}

/// Returns the built-in provider of this name, including `scripted`.
#[must_use]
pub fn provider(name: &str) -> Option<ProviderSection> {
    if name == "scripted" {
        return Some(ProviderSection { kind: Some(ProviderKind::Scripted), ..ProviderSection::default() });
    }
    providers().into_iter().find(|(known, _)| known == name).map(|(_, section)| section)
}

/// Returns the names of the built-in providers, with `scripted` last.
#[must_use]
pub fn names() -> Vec<String> {
    providers().into_iter().map(|(name, _)| name).chain(["scripted".to_owned()]).collect()
}

/// Returns the environment variables that hold keys of the built-in providers.
#[must_use]
pub fn key_variables() -> Vec<String> {
    providers().into_iter().filter_map(|(_, section)| section.key_variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_each_row_says_how_it_is_reached() {
        let providers = providers();
        assert_eq!(providers.len(), 10);
        for (name, section) in providers {
            assert!(section.kind.is_some(), "{name}");
            let url = reqwest::Url::parse(section.base_url.as_deref().unwrap()).unwrap();
            let is_local = url.host_str() == Some("localhost");
            assert_eq!(is_local, section.key_variable.is_none(), "{name}");
            assert_eq!(url.scheme(), if is_local { "http" } else { "https" }, "{name}");
            assert_eq!(is_local, section.model.is_none(), "{name}: a hosted one has a model, a local one is asked");
        }
    }
}
