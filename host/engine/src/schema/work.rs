//! Counts the steps of a check before the check runs.
//!
//! The count visits each part of the value only once. For each part, it adds up how many times each subschema would
//! check the part. If this number doubles at each level, the sum becomes large, but the count itself takes no longer.

use super::shape::{Node, Shape};
use serde_json::Value;
use std::collections::BTreeMap;

/// Maximum depth of nested arrays and objects of a value.
pub const MAX_NESTING: usize = 128;

/// Maximum number of steps of a check. A step takes up to 250 ns in the worst known schema, and 60 ns in the schema of
/// a usual tool (measured by `cargo run -p bench -- budgets --only engine --schemas`). So a check takes at most half a
/// second, which is a tenth of [`super::DEADLINE`].
pub const MAX_WORK: u64 = 2_000_000;

/// The work of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) steps: u64,
    /// For a part of the value, the number of subschemas that check the part or a value that contains the part. This is
    /// the maximum over all parts.
    pub(super) deep: u64,
}

impl Shape {
    /// # Errors
    /// Fails if the value is nested too deeply, or if checking it takes more than [`MAX_WORK`] steps.
    pub(super) fn work(&self, value: &Value) -> Result<Work, String> {
        let mut count = Count { shape: self, steps: 0, deepest: 0 };
        count.part(value, vec![(0, 1)], 0, 0)?;
        Ok(Work { steps: count.steps, deep: count.deepest })
    }
}

struct Count<'a> {
    shape: &'a Shape,
    steps: u64,
    deepest: u64,
}

impl Count<'_> {
    /// Counts the steps for a part of the value. `asked` contains the subschemas that check this part, each with the
    /// number of checks.
    fn part(&mut self, value: &Value, asked: Vec<(usize, u64)>, level: usize, deep: u64) -> Result<(), String> {
        if level > MAX_NESTING {
            return Err(format!("the value has more than {MAX_NESTING} levels"));
        }
        // Visit the nodes in the order of the shape, in which each node comes after all nodes that lead to it.
        let nodes = &self.shape.nodes;
        let mut open: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
        for (node, times) in asked {
            add(&mut open, self.shape.order[node], node, times);
        }
        let mut all: Vec<(&Node, u64)> = Vec::new();
        let sizes = Sizes::of(value);
        while let Some((_, (index, times))) = open.pop_first() {
            let node = &nodes[index];
            let mut own =
                node.own.saturating_mul(sizes.members).saturating_add(node.textual.saturating_mul(sizes.text));
            if node.unique && value.is_array() {
                // To compare the elements, the check hashes all of their content.
                own = own.saturating_add(whole(value, 0).saturating_mul(8));
            }
            self.take(own.saturating_mul(times))?;
            for next in &node.same {
                self.take(1)?;
                add(&mut open, self.shape.order[*next], *next, times.saturating_mul(node.times));
            }
            all.push((node, times));
        }
        let deep = deep + all.len() as u64;
        self.deepest = self.deepest.max(deep);
        match value {
            Value::Object(members) => {
                for (name, part) in members {
                    let mut asked = Vec::new();
                    for (node, times) in &all {
                        self.take(1)?;
                        let named = node.properties.get(name);
                        asked.extend(named.into_iter().chain(&node.any_property).map(|next| (*next, *times)));
                    }
                    self.below(part, asked, level, deep)?;
                }
            }
            Value::Array(elements) => {
                for (index, part) in elements.iter().enumerate() {
                    let mut asked = Vec::new();
                    for (node, times) in &all {
                        self.take(1)?;
                        let placed = node.items.get(index);
                        asked.extend(placed.into_iter().chain(&node.any_item).map(|next| (*next, *times)));
                    }
                    self.below(part, asked, level, deep)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn below(&mut self, part: &Value, asked: Vec<(usize, u64)>, level: usize, deep: u64) -> Result<(), String> {
        self.take(asked.len() as u64)?;
        // A part without a subschema is not checked.
        if asked.is_empty() { Ok(()) } else { self.part(part, asked, level + 1, deep) }
    }

    fn take(&mut self, steps: u64) -> Result<(), String> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_WORK { Err(format!("it would take more than {MAX_WORK} steps")) } else { Ok(()) }
    }
}

fn add(open: &mut BTreeMap<usize, (usize, u64)>, place: usize, node: usize, times: u64) {
    let entry = open.entry(place).or_insert((node, 0));
    entry.1 = entry.1.saturating_add(times);
}

/// The size of a value, without the content of its members.
struct Sizes {
    /// Number of values: the value itself and its members.
    members: u64,
    /// Size of a string, or of the names of an object's members, in units of 32 bytes.
    text: u64,
}

impl Sizes {
    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self { members: 1, text: 1 + text.len() as u64 / 32 },
            Value::Array(elements) => Self { members: 1 + elements.len() as u64, text: 0 },
            Value::Object(members) => {
                let names: u64 = members.keys().map(|name| 1 + name.len() as u64 / 32).sum();
                Self { members: 1 + names, text: names }
            }
            _ => Self { members: 1, text: 0 },
        }
    }
}

/// Returns the size of a value and all its parts, in steps.
fn whole(value: &Value, level: usize) -> u64 {
    let sizes = Sizes::of(value);
    // The count rejects deeper values when it visits them. But it does not visit values that no subschema checks, and
    // these values are hashed as well.
    let own = sizes.members + sizes.text;
    if level > MAX_NESTING {
        return u64::MAX;
    }
    let below = |part: &Value| whole(part, level + 1);
    match value {
        Value::Array(elements) => elements.iter().map(below).fold(own, u64::saturating_add),
        Value::Object(members) => members.values().map(below).fold(own, u64::saturating_add),
        _ => own,
    }
}
