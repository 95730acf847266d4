//! The flat subset of YAML at the beginning of a Markdown file, as hookify reads it: keys with a text, and lists of flat objects
//! (anthropics/claude-code, plugins/hookify/core/config_loader.py).

/// A Markdown file with keys.
#[derive(Debug, PartialEq)]
pub(crate) struct FrontMatter<'a> {
    pub(crate) keys: Vec<Key<'a>>,
    /// The text after the keys.
    pub(crate) body: &'a str,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Key<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    /// The objects below the key, each as its keys and texts.
    pub(crate) items: Vec<Vec<(&'a str, &'a str)>>,
    /// The byte at which the key begins.
    pub(crate) at: usize,
}

/// Reads the keys.
///
/// # Errors
/// Returns the byte of a mistake.
pub(crate) fn read(text: &str) -> Result<FrontMatter<'_>, (usize, &'static str)> {
    let mut at = text.split_inclusive('\n').next().filter(|line| line.trim_end() == "---").map(str::len);
    let mut at = at.take().ok_or((0, "the file does not begin with `---`, so it has no keys"))?;
    let mut keys: Vec<Key<'_>> = Vec::new();
    for line in text[at..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim();
        if content == "---" {
            return Ok(FrontMatter { keys, body: text[at..].trim() });
        }
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let is_nested = line.starts_with([' ', '\t', '-']);
        let item = content.strip_prefix('-').map(str::trim_start);
        let (name, value) =
            item.unwrap_or(content).split_once(':').ok_or((start, "the line is neither `key: text` nor an item"))?;
        let pair = (name.trim(), unquoted(value.trim()));
        if !is_nested {
            keys.push(Key { name: pair.0, text: pair.1, items: Vec::new(), at: start });
            continue;
        }
        let items = &mut keys.last_mut().ok_or((start, "the item belongs to no key"))?.items;
        if item.is_some() {
            items.push(Vec::new());
        }
        items.last_mut().ok_or((start, "the line belongs to no item"))?.push(pair);
    }
    Err((0, "the keys do not end: a second line `---` is missing"))
}

fn unquoted(text: &str) -> &str {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn keys_and_items_are_read() {
        let text = "---\nname: a: b\n# no\npattern: \"x y\"\nconditions:\n  - field: f\n    pattern: p\n  - field: g\n---\n\nBody\n---\n";
        let read = read(text).unwrap();
        assert_eq!(read.body, "Body\n---");
        let keys: Vec<_> = read.keys.iter().map(|key| (key.name, key.text)).collect();
        assert_eq!(keys, [("name", "a: b"), ("pattern", "x y"), ("conditions", "")]);
        assert_eq!(read.keys[2].items, [vec![("field", "f"), ("pattern", "p")], vec![("field", "g")]]);
    }

    #[test]
    fn a_mistake_has_a_place() {
        for (text, at) in
            [("name: a", 0), ("---\nname: a\n", 0), ("---\nodd\n---\n", 4), ("---\n- a: b\n---\n", 4), ("", 0)]
        {
            assert_eq!(read(text).unwrap_err().0, at, "{text:?}");
        }
    }
}
