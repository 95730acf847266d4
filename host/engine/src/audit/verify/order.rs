//! Finds records that are missing, moved or duplicated.

use super::Flaw;
use std::collections::{BTreeMap, BTreeSet};

/// The first and the last number of a range of consecutive numbers.
type NumberRange = (u64, u64);

/// The numbers of a log's lines in the order of the file, as runs of consecutive numbers. An unchanged log has one run.
#[derive(Default)]
pub(super) struct Order {
    runs: Vec<NumberRange>,
}

impl Order {
    /// Records the number of the next line. Returns true if this number directly follows the number of the previous
    /// line.
    pub(super) fn follows(&mut self, seq: u64) -> bool {
        if let Some((_, last)) = self.runs.last_mut()
            && last.checked_add(1) == Some(seq)
        {
            *last = seq;
            return true;
        }
        self.runs.push((seq, seq));
        seq == 1 && self.runs.len() == 1
    }

    /// Returns the flaws of the order. If lines are out of order, reports as few lines as possible as moved. If these
    /// lines were removed, the other lines would be in order.
    pub(super) fn flaws(&self) -> impl Iterator<Item = Flaw> {
        let (missing, twice) = self.missing_and_twice();
        let in_place = self.in_place();
        let astray = (0..self.runs.len()).filter(move |run| !in_place.contains(run)).map(|run| self.runs[run]);
        let again = twice.clone();
        let is_twice = move |seq: u64| {
            let after = again.partition_point(|(first, _)| *first <= seq);
            after > 0 && seq <= again[after - 1].1
        };
        let moved = astray.flat_map(|(first, last)| first..=last).filter(move |seq| !is_twice(*seq)).map(Flaw::Moved);
        let twice = twice.into_iter().flat_map(|(first, last)| first..=last).map(Flaw::Twice);
        moved.chain(twice).chain(missing.into_iter().map(|(first, last)| Flaw::Removed(first, last)))
    }

    /// Returns the missing numbers, up to the highest number present, and the numbers that occur on more than one line.
    fn missing_and_twice(&self) -> (Vec<NumberRange>, Vec<NumberRange>) {
        let (mut missing, mut twice): (Vec<NumberRange>, Vec<NumberRange>) = (Vec::new(), Vec::new());
        let mut sorted = self.runs.clone();
        sorted.sort_unstable();
        let mut covered = 0;
        for (first, last) in sorted {
            if first <= covered {
                let again = (first, last.min(covered));
                match twice.last_mut() {
                    Some((_, end)) if *end >= again.0 => *end = again.1.max(*end),
                    _ => twice.push(again),
                }
            } else if first - 1 > covered {
                missing.push((covered + 1, first - 1));
            }
            covered = covered.max(last);
        }
        (missing, twice)
    }

    /// Returns the runs that form the increasing sequence with the most lines. All other runs are treated as moved.
    fn in_place(&self) -> BTreeSet<usize> {
        // The best chains (increasing sequences of runs) so far. The key is the last number of a chain. The value is the number of lines in
        // the chain, and the index of its last run. Of two chains in the map, the chain with the higher last number always has more lines.
        let mut best: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
        let mut before = vec![None; self.runs.len()];
        for (run, &(first, last)) in self.runs.iter().enumerate() {
            // A run may begin with the last number of its predecessor: such a line is a duplicate but not out of order.
            let predecessor = best.range(..=first).next_back().map(|(_, chain)| *chain);
            before[run] = predecessor.map(|(_, run)| run);
            let lines = predecessor.map_or(0, |(lines, _)| lines).saturating_add(last - first).saturating_add(1);
            if best.range(..=last).next_back().is_some_and(|(_, (most, _))| *most >= lines) {
                continue;
            }
            while let Some((&end, _)) = best.range(last..).next().filter(|(_, (fewer, _))| *fewer <= lines) {
                best.remove(&end);
            }
            best.insert(last, (lines, run));
        }
        let mut chain = BTreeSet::new();
        let mut next = best.last_key_value().map(|(_, (_, run))| *run);
        while let Some(run) = next {
            chain.insert(run);
            next = before[run];
        }
        chain
    }
}
