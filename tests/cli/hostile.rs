//! The tables of `docs/hostile.md` that are followed with the command: of MCP servers, and of programs.

/// The rows of the table with these columns: its cells, without what marks them as code.
pub(crate) fn rows<const N: usize>(columns: [&str; N]) -> Vec<[String; N]> {
    let page = include_str!("../../docs/hostile.md");
    let head = format!("| {} |", columns.join(" | "));
    let mut lines = page.lines().skip_while(|line| *line != head);
    assert!(lines.next().is_some(), "the page has no table {columns:?}");
    let row = |line: &str| {
        let cells: Vec<_> = line
            .strip_prefix('|')?
            .strip_suffix('|')?
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect();
        Some(cells.try_into().unwrap_or_else(|cells| panic!("{cells:?}")))
    };
    lines.skip(1).map_while(row).collect()
}

/// Whether the text is what a row says of it, where `…` matches something.
pub(crate) fn says(row: &str, text: &str) -> bool {
    let parts: Vec<_> = row.split('…').collect();
    let [first, between @ .., last] = &parts[..] else { return row == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in between {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
