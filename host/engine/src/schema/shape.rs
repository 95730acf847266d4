//! The structure of a schema. A subschema is for the same value as the schema that contains it, or for a part of that
//! value. This module also checks the bounds of a schema.
//!
//! Schemas are read conservatively. An unknown keyword is treated as a subschema for the same value. Keywords that
//! change the target of a reference (`$id` within a schema, anchors, dynamic references) are rejected.

use super::SchemaError;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Maximum size of a schema, in bytes of JSON.
pub const MAX_BYTES: usize = 32 * 1024;
/// Maximum number of subschemas of one schema.
pub const MAX_SUBSCHEMAS: usize = 2_000;
/// Maximum number of paths from the schema through subschemas and references. A path ends at a subschema that leads no
/// further, or where the path would repeat.
pub const MAX_PATHS: u64 = 10_000;
/// Maximum length of a chain of subschemas, each of which contains or refers to the next.
pub const MAX_CHAIN: usize = 100;
/// Maximum depth of nested arrays and objects in a schema.
pub const MAX_NESTING: usize = 64;
/// Maximum number of patterns of a schema.
pub const MAX_PATTERNS: usize = 100;

/// Number of steps that a pattern takes for each 32 bytes of a string.
const PATTERN: u64 = 64;
/// Number of steps that a format takes for each 32 bytes of a string.
const FORMAT: u64 = 16;
/// Maximum number of subschemas, and maximum nesting, of a schema that is compiled on the caller's thread.
const SIMPLE: usize = 64;
const SIMPLE_NESTING: usize = 16;

/// The subschemas of a schema. The first of them is the schema itself.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) nodes: Vec<Node>,
    /// The position of each node in the order in which a check visits the nodes. Each node comes after all nodes that
    /// lead to it for the same value.
    pub(super) order: Vec<usize>,
    patterns: usize,
    nesting: usize,
}

/// A subschema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Number of steps that this subschema takes for each member of a value, without the subschemas to which it leads.
    pub(super) own: u64,
    /// Number of steps that this subschema takes for each 32 bytes of a string, without the subschemas to which it
    /// leads.
    pub(super) textual: u64,
    /// True if the subschema compares the elements of a list with each other.
    pub(super) unique: bool,
    /// Subschemas for the same value.
    pub(super) same: Vec<usize>,
    /// The subschema in `same` that a `$ref` names.
    refers: Option<usize>,
    /// True if the result depends on which parts of the value the subschemas in `same` have checked.
    unevaluated: bool,
    /// Number of times that each subschema in `same` is checked.
    pub(super) times: u64,
    pub(super) properties: HashMap<String, usize>,
    pub(super) any_property: Vec<usize>,
    pub(super) items: Vec<usize>,
    pub(super) any_item: Vec<usize>,
}

impl Node {
    fn parts(&self) -> impl Iterator<Item = usize> {
        let parts = self.properties.values().chain(&self.any_property).chain(&self.items).chain(&self.any_item);
        parts.copied()
    }
}

impl Shape {
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        if serde_json::to_string(schema).map_or(true, |text| text.len() > MAX_BYTES) {
            return Err(SchemaError::TooLarge);
        }
        let mut reading =
            ShapeReader { root: schema, known: HashMap::new(), found: Vec::new(), shape: Self::default() };
        reading.survey()?;
        reading.node(schema, "#".into());
        let mut next = 0;
        while let Some((schema, place)) = reading.found.get(next).cloned() {
            let node = reading.read(schema, &place)?;
            reading.shape.nodes.push(node);
            next += 1;
            if next > MAX_SUBSCHEMAS {
                return Err(too_many("subschemas", format!("more than {MAX_SUBSCHEMAS}"), MAX_SUBSCHEMAS as u64));
            }
        }
        let places: Vec<String> = reading.found.into_iter().map(|(_, place)| place).collect();
        let mut shape = reading.shape;
        if shape.patterns > MAX_PATTERNS {
            return Err(too_many("patterns", shape.patterns.to_string(), MAX_PATTERNS as u64));
        }
        shape.order = Walk::new(&shape.nodes, false).order(&places)?;
        Walk::new(&shape.nodes, true).measure()?;
        if let Some(node) = (0..shape.nodes.len()).find(|node| shape.keeps_itself(*node)) {
            let place = &places[node];
            return Err(SchemaError::Unbounded(format!(
                "`unevaluated…` at `{place}`, in a schema that it refers back to"
            )));
        }
        Ok(shape)
    }

    /// Returns true if the compiled subschema may own itself. Its memory would then never be freed, because
    /// `jsonschema` 0.60 counts the references to a compiled schema. A cycle can arise because for each `unevaluated…`,
    /// the library stores all compiled schemas that check the same value or its parts. There is one exception: for
    /// `properties` behind a reference, the library stores only the names. So a schema that extends another schema may
    /// be recursive.
    fn keeps_itself(&self, node: usize) -> bool {
        let asks = &self.nodes[node];
        if !asks.unevaluated {
            return false;
        }
        // Two flags for each node: whether it was reached through other keywords, and whether it was reached through
        // references alone.
        let mut met = vec![[false; 2]; self.nodes.len()];
        let mut open: Vec<_> = asks.same.iter().map(|next| (*next, asks.refers == Some(*next))).collect();
        while let Some((next, referred)) = open.pop() {
            if next == node {
                return true;
            }
            if std::mem::replace(&mut met[next][usize::from(referred)], true) {
                continue;
            }
            let read = &self.nodes[next];
            let same = read.same.iter().map(|below| (*below, referred && read.refers == Some(*below)));
            let others = read.any_property.iter().chain(&read.items).chain(&read.any_item).map(|below| (*below, false));
            let named = read.properties.values().filter(|_| !referred).map(|below| (*below, false));
            open.extend(same.chain(others).chain(named));
        }
        false
    }

    /// Returns true if compiling the schema needs little time and little stack.
    pub(super) fn is_simple(&self) -> bool {
        self.nodes.len() <= SIMPLE && self.patterns == 0 && self.nesting <= SIMPLE_NESTING
    }
}

fn too_many(what: &'static str, found: String, most: u64) -> SchemaError {
    SchemaError::TooMany { what, found, most }
}

struct ShapeReader<'a> {
    root: &'a Value,
    /// Indexes of subschemas by their addresses in memory.
    known: HashMap<*const Value, usize>,
    found: Vec<(&'a Value, String)>,
    shape: Shape,
}

impl<'a> ShapeReader<'a> {
    /// Checks the bounds on every value in the schema, including values that are not keywords.
    fn survey(&mut self) -> Result<(), SchemaError> {
        let mut open = vec![(self.root, 1)];
        let mut objects = 0;
        let is_of_draft_4 =
            self.root.get("$schema").and_then(Value::as_str).is_some_and(|uri| uri.contains("draft-04"));
        while let Some((value, nesting)) = open.pop() {
            self.shape.nesting = self.shape.nesting.max(nesting);
            if nesting > MAX_NESTING {
                return Err(too_many("levels", format!("more than {MAX_NESTING}"), MAX_NESTING as u64));
            }
            match value {
                Value::Array(values) => open.extend(values.iter().map(|value| (value, nesting + 1))),
                Value::Object(members) => {
                    objects += 1;
                    let is_root = std::ptr::eq(value, self.root);
                    for key in ["$dynamicRef", "$recursiveRef", "$id", "$schema", "id"] {
                        let allowed = match key {
                            "$id" | "$schema" => is_root,
                            "id" => is_root || !is_of_draft_4,
                            _ => false,
                        };
                        if !allowed && members.get(key).is_some_and(Value::is_string) {
                            return Err(SchemaError::Unbounded(format!("`{key}` within it")));
                        }
                    }
                    open.extend(members.values().map(|value| (value, nesting + 1)));
                }
                _ => {}
            }
        }
        if objects > MAX_SUBSCHEMAS {
            return Err(too_many("objects", objects.to_string(), MAX_SUBSCHEMAS as u64));
        }
        Ok(())
    }

    fn node(&mut self, schema: &'a Value, place: String) -> usize {
        *self.known.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.found.push((schema, place));
            self.found.len() - 1
        })
    }

    fn read(&mut self, schema: &'a Value, place: &str) -> Result<Node, SchemaError> {
        let mut node = Node { own: 1, times: 1, ..Node::default() };
        let Value::Object(members) = schema else { return Ok(node) };
        for (keyword, value) in members {
            node.own += 1;
            let below = |part: &str| format!("{place}/{keyword}{part}");
            match keyword.as_str() {
                "$ref" => {
                    if let Value::String(reference) = value {
                        let (target, name) = self.target(reference)?;
                        let target = self.node(target, name);
                        node.refers = Some(target);
                        node.same.push(target);
                    }
                }
                "$defs" | "definitions" | "default" | "examples" | "example" | "title" | "description" | "$comment"
                | "$schema" | "$id" | "$anchor" | "$dynamicAnchor" | "$vocabulary" | "type" => {}
                "enum" | "const" | "required" | "dependentRequired" => node.own += values_in(value),
                "pattern" => {
                    self.shape.patterns += 1;
                    node.textual += PATTERN;
                }
                "format" => node.textual += FORMAT,
                "minLength" | "maxLength" => node.textual += 1,
                "uniqueItems" => node.unique = *value != Value::Bool(false),
                "properties" => {
                    for (name, schema) in object(value) {
                        node.properties.insert(name.clone(), self.node(schema, below(&format!("/{name}"))));
                    }
                }
                "patternProperties" => {
                    for (name, schema) in object(value) {
                        self.shape.patterns += 1;
                        node.own += PATTERN;
                        node.any_property.push(self.node(schema, below(&format!("/{name}"))));
                    }
                }
                "additionalProperties" | "unevaluatedProperties" | "propertyNames" => {
                    node.any_property.push(self.node(value, below("")));
                }
                "prefixItems" => self.list(value, &mut node.items, place, keyword),
                "items" if value.is_array() => self.list(value, &mut node.items, place, keyword),
                "items" | "additionalItems" | "contains" | "unevaluatedItems" => {
                    node.any_item.push(self.node(value, below("")));
                }
                "dependentSchemas" | "dependencies" => {
                    for (name, schema) in object(value) {
                        node.same.push(self.node(schema, below(&format!("/{name}"))));
                    }
                }
                _ => match value {
                    Value::Object(_) => node.same.push(self.node(value, below(""))),
                    Value::Array(_) => self.list(value, &mut node.same, place, keyword),
                    _ => {}
                },
            }
            // `unevaluated…` depends on the parts that the schemas for the same value have checked, so these schemas
            // are checked twice.
            if keyword.starts_with("unevaluated") {
                node.times *= 2;
                node.unevaluated = true;
            }
        }
        Ok(node)
    }

    fn list(&mut self, value: &'a Value, into: &mut Vec<usize>, place: &str, keyword: &str) {
        let Value::Array(schemas) = value else { return };
        for (index, schema) in schemas.iter().enumerate() {
            into.push(self.node(schema, format!("{place}/{keyword}/{index}")));
        }
    }

    /// Returns the target of a reference.
    fn target(&self, reference: &str) -> Result<(&'a Value, String), SchemaError> {
        let shown: String = reference.chars().take(100).flat_map(char::escape_debug).collect();
        let pointer = reference.strip_prefix('#').filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let Some(pointer) = pointer else {
            return Err(SchemaError::Unbounded(format!("a reference to `{shown}`")));
        };
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8();
        let target = decoded.ok().and_then(|pointer| self.root.pointer(&pointer));
        match target {
            Some(target) => Ok((target, shown)),
            None => Err(SchemaError::Invalid(format!("it has nothing at `{shown}`"))),
        }
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Returns the number of values in a value, including the value itself. The recursion is bounded because the survey has
/// checked the nesting.
fn values_in(value: &Value) -> u64 {
    match value {
        Value::Array(values) => 1 + values.iter().map(values_in).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(values_in).sum::<u64>(),
        _ => 1,
    }
}

/// A depth-first walk from each subschema to the subschemas to which it leads.
struct Walk<'a> {
    nodes: &'a [Node],
    /// True if the walk includes subschemas for parts of a value, and not only subschemas for the same value.
    into_parts: bool,
    /// For each finished node, the number of paths that begin there, and the length of the longest path.
    left: Vec<Option<(u64, usize)>>,
    entered: Vec<bool>,
    ended: Vec<usize>,
}

/// The reason why a walk stopped early.
enum WalkEnd {
    /// A node that leads to itself.
    Cycle(usize),
    TooLong,
}

impl<'a> Walk<'a> {
    fn new(nodes: &'a [Node], into_parts: bool) -> Self {
        let (left, entered) = (vec![None; nodes.len()], vec![false; nodes.len()]);
        Self { nodes, into_parts, left, entered, ended: Vec::new() }
    }

    /// Returns the position of each node in an order. In this order, a node comes before all nodes to which it leads
    /// for the same value.
    fn order(mut self, places: &[String]) -> Result<Vec<usize>, SchemaError> {
        for node in 0..self.nodes.len() {
            self.enter(node, 0).map_err(|met| match met {
                WalkEnd::Cycle(node) => SchemaError::Endless(format!("`{}`", places[node])),
                WalkEnd::TooLong => too_long(),
            })?;
        }
        let mut order = vec![0; self.nodes.len()];
        for (place, node) in self.ended.iter().rev().enumerate() {
            order[*node] = place;
        }
        Ok(order)
    }

    /// Counts the paths from the first node, and checks the bound.
    fn measure(mut self) -> Result<(), SchemaError> {
        match self.enter(0, 0) {
            Ok((paths, _)) if paths > MAX_PATHS => {
                Err(too_many("paths through its references", format!("more than {MAX_PATHS}"), MAX_PATHS))
            }
            Ok(_) => Ok(()),
            Err(WalkEnd::Cycle(_) | WalkEnd::TooLong) => Err(too_long()),
        }
    }

    /// Visits a node and the nodes to which it leads, to a depth of at most [`MAX_CHAIN`].
    fn enter(&mut self, node: usize, depth: usize) -> Result<(u64, usize), WalkEnd> {
        if let Some(left) = self.left[node] {
            return if depth + left.1 > MAX_CHAIN { Err(WalkEnd::TooLong) } else { Ok(left) };
        }
        if depth >= MAX_CHAIN {
            return Err(WalkEnd::TooLong);
        }
        self.entered[node] = true;
        let (mut paths, mut longest) = (1_u64, 0);
        let (nodes, into_parts) = (self.nodes, self.into_parts);
        let read = &nodes[node];
        let same = read.same.iter().map(|next| (*next, read.times));
        let parts = read.parts().filter(|_| into_parts).map(|next| (next, 1));
        for (next, times) in same.chain(parts) {
            if self.entered[next] && self.left[next].is_none() {
                // A recursion that leads into a part of the value ends with the value.
                if self.into_parts {
                    continue;
                }
                return Err(WalkEnd::Cycle(next));
            }
            let (further, length) = self.enter(next, depth + 1)?;
            paths = paths.saturating_add(further.saturating_mul(times));
            longest = longest.max(length);
        }
        self.left[node] = Some((paths, longest + 1));
        self.ended.push(node);
        Ok((paths, longest + 1))
    }
}

fn too_long() -> SchemaError {
    too_many("subschemas in one chain", format!("more than {MAX_CHAIN}"), MAX_CHAIN as u64)
}
