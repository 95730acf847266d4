//! The rules. They are read as data from catalogues and the config, compiled once, and checked against each command.

#[cfg(test)]
#[path = "../../build/analysis.rs"]
mod analysis;
mod answers;
mod config_rules;
mod depth;
mod embedded;
mod matching;
mod pattern;
mod programs;
mod registry;
pub(crate) mod schema;
mod sql;
mod text;
mod verbs;
mod words;

pub(crate) use embedded::Embedded;
pub(crate) use matching::Subject;
pub use matching::is_program;
pub use programs::{Arguments, Programs};
pub(crate) use registry::{CompiledRule, Mode, Registry, RuleMatch, Settings, Unknown, stack_name};
pub(crate) use schema::{Catalogue, Rule, Severity};
pub(crate) use text::Text;

/// The catalogues whose rules apply in every mode.
pub(crate) const FLOOR: [&str; 2] = ["hookhost/floor", "hookhost/self-defence"];

/// The catalogue of commands that only read.
pub(crate) const READS: &str = "hookhost/reads";

/// Returns an expression of the config, which is not analysed. The build script has another function of this name, which analyses the
/// expression.
fn expression(source: Text) -> schema::Expression {
    schema::Expression(vec![schema::Alternative::Search { source, needed: Vec::new() }])
}

/// A set of texts.
pub(crate) type Texts = litemap::LiteMap<String, ()>;

/// The name of the catalogue of custom rules in reports.
pub(crate) const CUSTOM: &str = "custom";
