//! The configuration of `kubectl`: the files of `KUBECONFIG`, or `~/.kube/config`.
//!
//! Only the lines of three keys are read: `current-context`, and `name` and `namespace` of the contexts. Such a file is
//! YAML in the form in which `kubectl` writes it, or JSON. Other forms of these keys are an error.

use super::agent::AgentProcess;
use super::{Found, file, not_understood};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Maximum number of files in `KUBECONFIG`.
const MAX_FILES: usize = 32;

/// The namespace of a context that names no namespace.
const DEFAULT_NAMESPACE: &str = "default";

/// The part of a file that is read.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct KubeConfig {
    current_context: String,
    contexts: Vec<NamedContext>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Context {
    namespace: String,
}

/// Returns the name of the current context.
pub(super) fn context(process: &dyn AgentProcess, at: &Path) -> Found {
    let files = read(process, at)?;
    Ok(current(&files).map(str::to_owned))
}

/// Returns the namespace of the current context.
pub(super) fn namespace(process: &dyn AgentProcess, at: &Path) -> Found {
    let files = read(process, at)?;
    let Some(current) = current(&files) else { return Ok(None) };
    let context = files.iter().flat_map(|file| &file.contexts).find(|context| context.name == current);
    let namespace = context.map(|context| context.context.namespace.as_str()).filter(|name| !name.is_empty());
    Ok(Some(namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned()))
}

/// Returns the context of the first file that names one, as `kubectl` does.
fn current(files: &[KubeConfig]) -> Option<&str> {
    files.iter().map(|file| file.current_context.as_str()).find(|name| !name.is_empty())
}

fn read(process: &dyn AgentProcess, at: &Path) -> Result<Vec<KubeConfig>, String> {
    let named = process.variable("KUBECONFIG")?.filter(|list| !list.is_empty());
    let paths: Vec<PathBuf> = match named {
        Some(list) => {
            std::env::split_paths(&list).filter(|path| path != Path::new("")).map(|path| at.join(path)).collect()
        }
        None => super::home(process)?.map(|home| home.join(".kube/config")).into_iter().collect(),
    };
    if paths.len() > MAX_FILES {
        return Err(format!("KUBECONFIG names more than {MAX_FILES} files"));
    }
    let read = paths.iter().filter_map(|path| match file::text(path) {
        Ok(text) => text.map(|text| parse(&text).map_err(|why| not_understood(path, &why))),
        Err(why) => Some(Err(why)),
    });
    read.collect()
}

fn parse(text: &str) -> Result<KubeConfig, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|_| "is not the JSON of a configuration".to_owned());
    }
    let mut config = KubeConfig::default();
    let mut path: Vec<(usize, &str)> = Vec::new();
    for line in text.lines() {
        let Some(Line { dash, column, content }) = Line::of(line)? else { continue };
        match dash {
            // The dash of an item may be in the column of the list's key.
            Some(dash) => path.retain(|(outer, _)| *outer <= dash),
            None => path.retain(|(outer, _)| *outer < column),
        }
        if let (Some(_), [(_, "contexts")]) = (dash, &path[..]) {
            config.contexts.push(NamedContext::default());
        }
        // Texts of several lines and items without keys are not interesting.
        let Some((key, value)) = content.split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '))
        else {
            continue;
        };
        let (key, value) = (key.trim_end(), value.trim());
        let names = path.iter().map(|(_, key)| *key).chain([key]).collect::<Vec<_>>();
        match (&names[..], config.contexts.last_mut()) {
            (["current-context"], _) => config.current_context = scalar(value)?,
            (["contexts"] | ["contexts", "context"], _) if !value.is_empty() && value != "[]" && value != "null" => {
                return Err("has contexts in another form than kubectl writes".to_owned());
            }
            (["contexts", "name"], Some(last)) => last.name = scalar(value)?,
            (["contexts", "context", "namespace"], Some(last)) => last.context.namespace = scalar(value)?,
            _ => {}
        }
        path.push((column, key));
    }
    Ok(config)
}

/// A line with content.
struct Line<'a> {
    /// The column of the dash, if the line begins an item of a list.
    dash: Option<usize>,
    /// The column of the content.
    column: usize,
    content: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a line. Returns `None` if it has no content.
    fn of(line: &'a str) -> Result<Option<Self>, String> {
        let content = line.trim_start_matches(' ');
        if content.starts_with('\t') {
            return Err("is indented with tabs".to_owned());
        }
        if content.trim_end().is_empty() || content.starts_with('#') || matches!(content.trim_end(), "---" | "...") {
            return Ok(None);
        }
        let column = line.len() - content.len();
        let (dash, content) = match content.strip_prefix("- ") {
            Some(item) => (Some(column), item.trim_start_matches(' ')),
            None => (None, content),
        };
        Ok(Some(Self { dash, column: line.len() - content.len(), content }))
    }
}

/// Returns the text of a value in one line.
fn scalar(value: &str) -> Result<String, String> {
    let other = || Err("has a value in another form than kubectl writes".to_owned());
    match value.as_bytes().first() {
        None => Ok(String::new()),
        Some(quote @ (b'"' | b'\'')) => {
            let quote = char::from(*quote);
            match value[1..].split_once(quote) {
                // An escaped or doubled quote is not worth the code: names of contexts do not contain any.
                Some((text, rest)) if !text.contains('\\') && (rest.is_empty() || rest.starts_with(" #")) => {
                    Ok(text.to_owned())
                }
                _ => other(),
            }
        }
        Some(b'&' | b'*' | b'!' | b'|' | b'>' | b'{' | b'[' | b'%' | b'@' | b'`') => other(),
        Some(_) => {
            let text = value.split(" #").next().unwrap_or(value).trim_end();
            Ok(if matches!(text, "null" | "~") { String::new() } else { text.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, KubeConfig, NamedContext, parse};

    fn context(name: &str, namespace: &str) -> NamedContext {
        NamedContext { name: name.to_owned(), context: Context { namespace: namespace.to_owned() } }
    }

    #[test]
    fn a_file_of_kubectl_is_read_with_both_indentations_of_lists() {
        let text = "apiVersion: v1\nclusters:\n- cluster:\n    server: https://x:6443\n  name: c\ncontexts:\n- context:\n    \
                    cluster: c\n    namespace: shop\n    user: u\n  name: prod\n- context:\n    cluster: c\n  name: 'dev'\n\
                    current-context: prod # now\nkind: Config\nusers:\n- name: u\n  user:\n    token: t\n    namespace: no\n";
        let expected =
            KubeConfig { current_context: "prod".into(), contexts: vec![context("prod", "shop"), context("dev", "")] };
        assert_eq!(parse(text), Ok(expected));
        let indented =
            "current-context: \"a\"\ncontexts:\n  - name: a\n    context:\n      namespace: b\n  -   name: c\n";
        let expected = KubeConfig { current_context: "a".into(), contexts: vec![context("a", "b"), context("c", "")] };
        assert_eq!(parse(indented), Ok(expected));
    }

    #[test]
    fn json_and_an_empty_configuration_are_read() {
        let json = r#"{"current-context":"a","contexts":[{"name":"a","context":{"namespace":"n","user":"u"}}],"x":1}"#;
        assert_eq!(parse(json), Ok(KubeConfig { current_context: "a".into(), contexts: vec![context("a", "n")] }));
        let empty = "apiVersion: v1\nclusters: null\ncontexts: null\ncurrent-context: \"\"\n";
        assert_eq!(parse(empty), Ok(KubeConfig::default()));
    }

    #[test]
    fn another_form_of_the_keys_is_an_error() {
        for text in [
            "current-context: &a b\n",
            "current-context: |\n  b\n",
            "contexts: [{name: a}]\n",
            "contexts:\n- {name: a}\n  context: {namespace: b}\n",
            "contexts:\n\t- name: a\n",
            "{\"contexts\": 1}",
        ] {
            assert!(parse(text).is_err(), "{text}: {:?}", parse(text));
        }
    }
}
