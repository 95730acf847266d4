//! Comma-separated values, RFC 4180, safe to open in a spreadsheet.

use super::Table;

/// The characters with which a spreadsheet begins a formula, also in the widths of East Asian text.
const FORMULAS: &[char] = &['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Returns a table as CSV. Every cell is in quotation marks. A cell that a spreadsheet could take for a formula begins with
/// an apostrophe, and so does a cell that begins with an apostrophe itself. A reader gets the exact text back if it removes
/// one apostrophe.
pub(super) fn written(table: &Table) -> String {
    let header: Vec<String> = table.header.iter().map(|name| (*name).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&header).chain(&table.rows) {
        let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

fn quoted(cell: &str) -> String {
    // Spreadsheets ignore spaces before a formula.
    let is_formula = cell.trim_start_matches(' ').starts_with(FORMULAS) || cell.starts_with('\'');
    let mark = if is_formula { "'" } else { "" };
    format!("\"{mark}{}\"", cell.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::{FORMULAS, written};
    use crate::evidence::Table;

    /// Reads what [`written`] writes, as RFC 4180 says, and removes the apostrophes.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
        let mut is_quoted = false;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if is_quoted && characters.peek() == Some(&'"') => {
                    characters.next();
                    cell.push('"');
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
                '\r' if !is_quoted => {}
                '\n' if !is_quoted => {
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                other => cell.push(other),
            }
        }
        let exact = |cell: String| cell.strip_prefix('\'').map_or_else(|| cell.clone(), str::to_owned);
        rows.into_iter().map(|row: Vec<String>| row.into_iter().map(exact).collect()).collect()
    }

    fn table(cells: &[&str]) -> Table {
        let rows = cells.iter().map(|cell| vec![(*cell).to_owned(), "1".to_owned()]).collect();
        Table { name: "t", title: "", about: "", header: vec!["cell", "number"], rows }
    }

    const DIFFICULT: &[&str] = &[
        "",
        "plain",
        "a,b",
        "a\"b",
        "\"",
        "line\nbreak",
        "a\r\nb",
        "'",
        "''",
        "'=1",
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1",
        "＝1",
        "＋1",
        "－1",
        "＠1",
        "=HYPERLINK(\"http://x\";\"y\")",
        "=cmd|' /C calc'!A0",
        "\u{202e}txt.exe",
        "🧪,\"ä\"\n",
        "\u{feff}=1",
        "1,2;3",
    ];

    #[test]
    fn each_text_comes_back_exactly() {
        let table = table(DIFFICULT);
        let rows = read(&written(&table));
        assert_eq!(rows[0], ["cell", "number"]);
        assert_eq!(rows[1..], table.rows[..]);
    }

    #[test]
    fn no_cell_is_a_formula_for_a_spreadsheet() {
        for cell in DIFFICULT {
            let text = written(&table(&[cell]));
            let first = text.split("\r\n").nth(1).unwrap().strip_prefix('"').unwrap();
            let begins = first.trim_start_matches(' ').chars().next();
            assert!(!begins.is_some_and(|begins| FORMULAS.contains(&begins)), "{cell:?}: {text:?}");
        }
    }
}
