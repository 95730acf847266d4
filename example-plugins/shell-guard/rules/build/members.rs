//! The members of a catalogue's tables and the bytes between them, for `compact.rs` and the component.

pub(crate) const NUL: u8 = 0;
pub(crate) const ESCAPE: u8 = 1;
pub(crate) const ITEM: u8 = 2;
pub(crate) const END: u8 = 3;

/// The byte of the first member of a table.
pub(crate) const FIRST_MEMBER: u8 = b' ';

/// The members of each table.
pub(crate) const PROGRAMS: [&str; 1] = ["program"];
pub(crate) const CATALOGUE: [&str; 6] = ["id", "stack", "version", "source", "priority", "rule"];
pub(crate) const RULE: [&str; 15] = [
    "id",
    "severity",
    "action",
    "priority",
    "labels",
    "applies-to",
    "stacks",
    "explanation",
    "references",
    "unless-env",
    "pattern",
    "match",
    "rewrite",
    "catches",
    "leaves",
];
pub(crate) const MATCH: [&str; 38] = [
    "program",
    "subcommand",
    "no-program",
    "unnamed",
    "verbs",
    "flags",
    "any-flags",
    "no-flags",
    "operand",
    "target",
    "word",
    "no-word",
    "line",
    "no-line",
    "statement",
    "no-statement",
    "paths",
    "whole",
    "min-operands",
    "max-operands",
    "reads",
    "writes",
    "writes-paths",
    "touches",
    "changes",
    "no-document",
    "secret",
    "shown",
    "reads-from",
    "feeds",
    "wrapped-by",
    "environment",
    "no-environment",
    "contains",
    "lacks",
    "text",
    "no-text",
    "construct",
];
pub(crate) const REWRITE: [&str; 10] = [
    "after-program",
    "append",
    "after-dashes",
    "replace",
    "of",
    "no-operands",
    "no-flags",
    "unless-named",
    "only-shown",
    "only-at-workspace",
];
pub(crate) const PROGRAM: [&str; 9] =
    ["names", "style", "values", "separate", "abbreviations", "options", "options-of", "toolchain", "subcommands"];
pub(crate) const ANALYSED: [&str; 5] = ["texts", "at", "any-case", "search", "needed"];

/// The members of a rule, and of its matches, that are patterns.
pub(crate) const PATTERNS: [&str; 15] = [
    "pattern",
    "operand",
    "target",
    "word",
    "no-word",
    "line",
    "no-line",
    "statement",
    "no-statement",
    "environment",
    "no-environment",
    "reads",
    "writes",
    "text",
    "no-text",
];
