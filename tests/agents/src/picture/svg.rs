//! Draws the content of a terminal as SVG. The content is text with SGR sequences (ECMA-48), as `tmux capture-pane -e` prints it.

use std::fmt::Write as _;

/// Size of a cell and of the font, in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
const FONT: f64 = 14.0;

/// Distance of the content from the edge of the window, and height of the title bar, in pixels.
const MARGIN: f64 = 18.0;
const BAR: f64 = 34.0;

const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";

/// The sixteen colours with a number.
const PALETTE: [&str; 16] = [
    "#3b4048", "#f47067", "#6bc46d", "#daaa3f", "#6cb6ff", "#b083f0", "#56d4dd", "#d7dae0", "#768390", "#ff938a",
    "#8ddb8c", "#eac55f", "#96d0ff", "#dcbdfb", "#7ee3ea", "#ffffff",
];

/// The appearance of a character.
#[derive(Clone, Debug, Default, PartialEq)]
struct Appearance {
    colour: Option<String>,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underlined: bool,
    inverse: bool,
}

impl Appearance {
    /// Applies the parameters of an SGR sequence. Unknown parameters are ignored.
    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters.split([';', ':']).map(|number| number.parse::<usize>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underlined = true,
                7 => self.inverse = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underlined = false,
                27 => self.inverse = false,
                30..=37 => self.colour = Some(PALETTE[number - 30].to_owned()),
                38 => self.colour = extended(&mut numbers),
                39 => self.colour = None,
                40..=47 => self.background = Some(PALETTE[number - 40].to_owned()),
                48 => self.background = extended(&mut numbers),
                49 => self.background = None,
                90..=97 => self.colour = Some(PALETTE[number - 82].to_owned()),
                100..=107 => self.background = Some(PALETTE[number - 92].to_owned()),
                _ => {}
            }
        }
    }

    /// Returns the colours of the text and of the background.
    fn colours(&self) -> (String, Option<String>) {
        let colour = self.colour.clone().unwrap_or_else(|| FOREGROUND.to_owned());
        if self.inverse {
            return (self.background.clone().unwrap_or_else(|| BACKGROUND.to_owned()), Some(colour));
        }
        (colour, self.background.clone())
    }
}

/// Returns the colour that `5;N` or `2;R;G;B` names.
fn extended(numbers: &mut impl Iterator<Item = usize>) -> Option<String> {
    match numbers.next()? {
        5 => {
            let number = numbers.next()?;
            Some(match number {
                0..=15 => PALETTE[number].to_owned(),
                16..=231 => {
                    let level = |step: usize| if step == 0 { 0 } else { 55 + 40 * step };
                    let [red, green, blue] = [(number - 16) / 36, (number - 16) / 6 % 6, (number - 16) % 6].map(level);
                    format!("#{red:02x}{green:02x}{blue:02x}")
                }
                _ => format!("#{0:02x}{0:02x}{0:02x}", (8 + 10 * number.saturating_sub(232)).min(255)),
            })
        }
        2 => {
            let [red, green, blue] = [numbers.next()?, numbers.next()?, numbers.next()?].map(|part| part.min(255));
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        _ => None,
    }
}

/// A piece of a line whose characters look the same.
#[derive(Debug, PartialEq)]
struct Run {
    column: usize,
    text: String,
    appearance: Appearance,
}

/// Splits a line into runs. `appearance` lasts from one line to the next.
fn runs(line: &str, appearance: &mut Appearance) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut column = 0;
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
            let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(sequence.len());
            if sequence[end..].starts_with('m') {
                appearance.apply(&sequence[..end]);
            }
            rest = sequence.get(end + 1..).unwrap_or_default();
            continue;
        }
        match runs.last_mut().filter(|run| run.appearance == *appearance) {
            Some(run) => run.text.push(character),
            None => runs.push(Run { column, text: character.to_string(), appearance: appearance.clone() }),
        }
        column += 1;
        rest = &rest[character.len_utf8()..];
    }
    runs
}

/// Returns a window with this title and content. `described` describes the picture for people who cannot see it.
pub(super) fn window(title: &str, described: &str, content: &str, columns: usize) -> String {
    let lines: Vec<&str> = content.trim_end().lines().collect();
    let (width, height) = (cells(columns, CELL.0) + 2.0 * MARGIN, BAR + cells(lines.len(), CELL.1) + 1.5 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"{BACKGROUND}\"/>\n\
         <g fill=\"#565b66\"><circle cx=\"22\" cy=\"19\" r=\"6\"/><circle cx=\"42\" cy=\"19\" r=\"6\"/><circle cx=\"62\" cy=\"19\" r=\"6\"/></g>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"{FONT}\">\n\
         <text x=\"{}\" y=\"23\" text-anchor=\"middle\" fill=\"#8b919c\">{}</text>\n",
        escaped(described),
        width / 2.0,
        escaped(title),
    );
    let mut appearance = Appearance::default();
    for (row, line) in lines.iter().enumerate() {
        let top = BAR + MARGIN / 2.0 + cells(row, CELL.1);
        for run in runs(line, &mut appearance) {
            draw(&mut svg, &run, top);
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn draw(svg: &mut String, run: &Run, top: f64) {
    let (x, width) = (MARGIN + cells(run.column, CELL.0), cells(run.text.chars().count(), CELL.0));
    let (colour, background) = run.appearance.colours();
    if let Some(background) = background {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{background}\"/>",
            CELL.1
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    // Leading blanks would be collapsed, so the text begins at its first character.
    let text = run.text.trim_start();
    let x = x + cells(run.text.chars().count() - text.chars().count(), CELL.0);
    let text = text.trim_end();
    let width = cells(text.chars().count(), CELL.0);
    let Appearance { bold, dim, italic, underlined, .. } = run.appearance;
    let mut style = String::new();
    for (is_set, attribute) in [
        (bold, " font-weight=\"bold\""),
        (dim, " opacity=\"0.65\""),
        (italic, " font-style=\"italic\""),
        (underlined, " text-decoration=\"underline\""),
    ] {
        if is_set {
            style.push_str(attribute);
        }
    }
    let baseline = top + 13.5;
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{colour}\"{style} \
         xml:space=\"preserve\">{}</text>",
        escaped(text)
    );
}

#[expect(clippy::cast_precision_loss, reason = "a terminal has few cells")]
fn cells(number: usize, size: f64) -> f64 {
    number as f64 * size
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{Appearance, runs, window};

    #[test]
    fn a_line_is_split_where_its_appearance_changes() {
        let mut appearance = Appearance::default();
        let found = runs("a\u{1b}[1;38;5;196mbc\u{1b}[0m d\u{1b}[38;2;1;2;3me", &mut appearance);
        let seen: Vec<_> = found.iter().map(|run| (run.column, run.text.as_str(), run.appearance.bold)).collect();
        assert_eq!(seen, [(0, "a", false), (1, "bc", true), (3, " d", false), (5, "e", false)]);
        assert_eq!(found[1].appearance.colour.as_deref(), Some("#ff0000"));
        assert_eq!(found[3].appearance.colour.as_deref(), Some("#010203"));
        assert_eq!(runs("f", &mut appearance)[0].appearance.colour.as_deref(), Some("#010203"), "it lasts");
    }

    #[test]
    fn a_window_has_every_text_and_no_markup_of_the_content() {
        let svg = window("t", "d", "  <b>&\u{1b}[7m x \u{1b}[0m\n\n", 10);
        assert!(svg.contains(">&lt;b&gt;&amp;</text>") && svg.contains(">x</text>"), "{svg}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
