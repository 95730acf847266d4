//! Reads the rows of two benchmarks, pairs them, and compares them.

use std::{collections::HashSet, fmt::Write as _};

use bench::measure::median;
use xtask::Outcome;

/// A row as a benchmark prints it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeasuredRow {
    pub(crate) row: RowKey,
    /// The measured number. For a time, it is in nanoseconds.
    pub(crate) number: f64,
    pub(crate) unit: String,
}

/// The identity of a row, which is the same in both benchmarks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowKey {
    what: String,
    log: String,
    reference: String,
    /// Number of earlier rows with the same names.
    earlier: usize,
}

/// The unit of times.
const TIME: &str = "ns";

impl MeasuredRow {
    /// Parses a line in the format of `bench/src/turns.rs`. Returns `None` for any other line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let ["row", what, log, reference, measured, nanos] = fields[..] else { return None };
        let (number, unit) = match nanos.parse() {
            Ok(nanos) => (nanos, TIME.to_owned()),
            Err(_) => parse_amount(measured)?,
        };
        let row = RowKey { what: what.into(), log: log.into(), reference: reference.into(), earlier: 0 };
        Some(Self { row, number, unit })
    }
}

/// Returns the first number in a text for people, with its unit. An example of such a text is `2.07 ms (to 7.1 ms)`.
fn parse_amount(text: &str) -> Option<(f64, String)> {
    let mut words = text.split_whitespace();
    let number: f64 = words.next()?.trim_end_matches(',').parse().ok()?;
    let unit = words.next().unwrap_or_default().trim_end_matches([',', ';', ':', '.']);
    let nanos = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Some((number, unit.to_owned())),
    };
    Some((number * nanos, TIME.to_owned()))
}

/// A benchmark that measures one row after another.
pub(crate) trait RowSource {
    /// Measures and returns the next row, or `None` after the last row.
    fn next(&mut self) -> Outcome<Option<MeasuredRow>>;
}

/// Runs both benchmarks to their ends. They take turns, row by row, and the benchmark that measures first changes from row to row and from
/// round to round. If only one benchmark has a row, the other benchmark gets no turn for this row.
pub(crate) fn in_turns(
    runners: &mut [&mut dyn RowSource; 2],
    round: usize,
    unpaired: &HashSet<RowKey>,
) -> Outcome<[Vec<MeasuredRow>; 2]> {
    let mut measured = [Vec::new(), Vec::new()];
    let mut ended = [false; 2];
    for turn in round.. {
        for side in [turn % 2, (turn + 1) % 2] {
            while !ended[side] {
                let Some(mut next) = runners[side].next()? else {
                    ended[side] = true;
                    break;
                };
                next.row.earlier =
                    measured[side].iter().filter(|earlier: &&MeasuredRow| is_alike(earlier, &next)).count();
                let is_paired = !unpaired.contains(&next.row);
                measured[side].push(next);
                if is_paired {
                    break;
                }
            }
        }
        if ended == [true; 2] {
            break;
        }
    }
    Ok(measured)
}

fn is_alike(one: &MeasuredRow, other: &MeasuredRow) -> bool {
    let names = |of: &MeasuredRow| (of.row.what.clone(), of.row.log.clone(), of.row.reference.clone());
    names(one) == names(other)
}

/// All rows of both benchmarks, with the values of all rounds.
#[derive(Debug, Default)]
pub(crate) struct RowPairs {
    rows: Vec<RowPair>,
}

/// A row that both benchmarks have, with its values in each round.
#[derive(Debug)]
struct RowPair {
    row: RowKey,
    unit: String,
    sides: [Vec<f64>; 2],
}

impl RowPairs {
    pub(crate) fn add(&mut self, round: [Vec<MeasuredRow>; 2]) {
        for (side, measured) in round.into_iter().enumerate() {
            for MeasuredRow { row, number, unit } in measured {
                let at = self.rows.iter().position(|both| both.row == row && both.unit == unit);
                let at = at.unwrap_or_else(|| {
                    self.rows.push(RowPair { row, unit, sides: [Vec::new(), Vec::new()] });
                    self.rows.len() - 1
                });
                self.rows[at].sides[side].push(number);
            }
        }
    }

    /// Returns the rows that only one benchmark has.
    pub(crate) fn unpaired(&self) -> HashSet<RowKey> {
        self.rows.iter().filter(|both| both.sides.iter().any(Vec::is_empty)).map(|both| both.row.clone()).collect()
    }

    /// Returns the table for people, with the names of both commits.
    pub(crate) fn table(&self, before: &str, now: &str) -> String {
        let mut text = format!(
            "| row | log | beside | {before} | {now} | ratio | from | to | |\n|---|---|---|---|---|---|---|---|---|\n"
        );
        let (paired, unpaired): (Vec<_>, Vec<_>) =
            self.rows.iter().partition(|both| both.sides.iter().all(|side| !side.is_empty()));
        for both in paired {
            let RowKey { what, log, reference, .. } = &both.row;
            let [before, now] = both.sides.each_ref().map(|side| amount_text(median(side.clone()), &both.unit));
            let _ = write!(text, "| {what} | {log} | {reference} | {before} | {now} ");
            let _ = match both.ratios() {
                Some(ratios) => {
                    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
                    let word = match (least, most) {
                        // A single round does not show whether the result is reproducible.
                        _ if ratios.len() < 2 => "",
                        (1.01.., _) => "more",
                        (_, ..0.99) => "less",
                        _ => "",
                    };
                    let ratio = median(ratios.clone());
                    writeln!(text, "| {ratio:.2} | {least:.2} | {most:.2} | {word} |")
                }
                None => writeln!(text, "| | | | |"),
            };
        }
        text += "\nA ratio is the right value divided by the left value of the same round. The table shows the \
               median, the least and the greatest ratio of all rounds. `less` and `more` mark rows whose ratio \
               shows this in each round, by more than a hundredth.\n";
        for both in unpaired {
            let whose = if both.sides[0].is_empty() { now } else { before };
            let _ = writeln!(text, "only {whose} has the row: {} (log {})", both.row.what, both.row.log);
        }
        text
    }
}

impl RowPair {
    /// Returns the ratios of neighbouring values, sorted by size. Returns `None` if a ratio is not finite.
    fn ratios(&self) -> Option<Vec<f64>> {
        let [before, now] = &self.sides;
        let mut ratios: Vec<f64> = now.iter().zip(before).map(|(now, before)| now / before).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.iter().all(|ratio| ratio.is_finite()).then_some(ratios)
    }
}

fn amount_text(number: f64, unit: &str) -> String {
    match (unit, number) {
        (TIME, ..1e3) => format!("{number:.0} ns"),
        (TIME, 1e3..1e6) => format!("{:.2} µs", number / 1e3),
        (TIME, 1e6..1e9) => format!("{:.2} ms", number / 1e6),
        (TIME, _) => format!("{:.2} s", number / 1e9),
        _ => format!("{number} {unit}").trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(what: &str, nanos: f64) -> MeasuredRow {
        MeasuredRow::parse(&format!("row\t{what}\toff\tbare\t–\t{nanos}")).unwrap()
    }

    /// A benchmark with given rows. It records the order in which rows are measured.
    struct Scripted<'a> {
        name: &'static str,
        rows: Vec<MeasuredRow>,
        turns: &'a std::cell::RefCell<Vec<String>>,
    }

    impl RowSource for Scripted<'_> {
        fn next(&mut self) -> Outcome<Option<MeasuredRow>> {
            if self.rows.is_empty() {
                return Ok(None);
            }
            let row = self.rows.remove(0);
            self.turns.borrow_mut().push(format!("{}{}", self.name, row.row.what));
            Ok(Some(row))
        }
    }

    fn turns(before: &[&str], now: &[&str], round: usize, unpaired: &HashSet<RowKey>) -> (Vec<String>, RowPairs) {
        let turns = std::cell::RefCell::default();
        let runner = |name, rows: &[&str]| Scripted {
            name,
            rows: rows.iter().map(|what| time(what, 100.0)).collect(),
            turns: &turns,
        };
        let (mut a, mut b) = (runner("a", before), runner("b", now));
        let mut rows = RowPairs::default();
        rows.add(in_turns(&mut [&mut a, &mut b], round, unpaired).unwrap());
        drop((a, b));
        (turns.into_inner(), rows)
    }

    #[test]
    fn a_line_of_a_benchmark_is_a_row_and_others_are_not() {
        let row = time("one event", 1234.5);
        assert_eq!((row.number, row.unit.as_str()), (1234.5, "ns"));
        for (measured, number, unit) in [
            ("2.5 ms (to 7.12 ms)", 2.5e6, "ns"),
            ("1.18 × that of one (bare: 1.2 ×)", 1.18, "×"),
            ("97 MiB at most; 90 MiB after a tenth", 97.0, "MiB"),
            ("0.02", 0.02, ""),
            ("44 % (90 % beside the median shape)", 44.0, "%"),
        ] {
            let row = MeasuredRow::parse(&format!("row\tw\ton\t\t{measured}\t")).unwrap();
            assert_eq!((row.number, row.unit.as_str()), (number, unit), "{measured}");
        }
        assert_eq!(MeasuredRow::parse("| what | component |"), None);
        assert_eq!(MeasuredRow::parse("row\tw\ton\t\tnone at all\t"), None);
    }

    #[test]
    fn both_measure_each_row_one_after_the_other_and_the_first_changes() {
        let none = HashSet::new();
        assert_eq!(turns(&["1", "2"], &["1", "2"], 0, &none).0, ["a1", "b1", "b2", "a2"]);
        assert_eq!(turns(&["1", "2"], &["1", "2"], 1, &none).0, ["b1", "a1", "a2", "b2"]);
    }

    #[test]
    fn a_row_that_only_one_has_takes_no_turn_of_the_other_from_the_second_round_on() {
        let (before, now) = (["1", "2", "3"], ["1", "new", "2", "3"]);
        let (_, rows) = turns(&before, &now, 0, &HashSet::new());
        let unpaired = rows.unpaired();
        assert_eq!(unpaired.iter().map(|row| row.what.as_str()).collect::<Vec<_>>(), ["new"]);
        let (turns, rows) = turns(&before, &now, 0, &unpaired);
        assert_eq!(turns, ["a1", "b1", "bnew", "b2", "a2", "a3", "b3"]);
        let table = rows.table("A", "B");
        assert!(table.contains("\nonly B has the row: new (log off)\n"), "{table}");
        assert!(!table.contains("| new |"), "{table}");
    }

    #[test]
    fn rows_with_the_same_names_are_told_apart_by_their_order() {
        let (_, rows) = turns(&["1", "1"], &["1", "1"], 0, &HashSet::new());
        assert_eq!(rows.rows.iter().map(|both| both.row.earlier).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn the_table_has_the_median_of_the_ratios_of_neighbours_and_their_spread() {
        let mut rows = RowPairs::default();
        // Neighbouring values differ by a tenth, however slow the machine is in a round.
        for (before, now) in [(1000.0, 900.0), (4000.0, 3600.0), (2000.0, 1700.0)] {
            rows.add([vec![time("w", before)], vec![time("w", now)]]);
        }
        let table = rows.table("A", "B");
        assert!(table.contains("| w | off | bare | 2.00 µs | 1.70 µs | 0.90 | 0.85 | 0.90 | less |"), "{table}");
        rows.add([vec![time("w", 1000.0)], vec![time("w", 1000.0)]]);
        assert!(rows.table("A", "B").contains("| 0.85 | 1.00 |  |"), "{}", rows.table("A", "B"));
    }

    #[test]
    fn a_row_of_nothing_has_no_ratio() {
        let none = || vec![MeasuredRow::parse("row\tfaults\toff\t\t0.00\t").unwrap()];
        let mut rows = RowPairs::default();
        rows.add([none(), none()]);
        assert!(rows.table("A", "B").contains("| faults | off |  | 0 | 0 | | | | |"), "{}", rows.table("A", "B"));
    }
}
