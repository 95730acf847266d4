//! A checked expression, ready to be evaluated.

use crate::glob::Glob;
use crate::parser::Operator;
use crate::pattern::Expression;
use crate::value::Value;
use crate::vocabulary::Function;

/// The index of an operation in its [`Code`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpId(u16);

/// Operations, of which each comes after its operands.
#[derive(Debug, Default)]
pub(crate) struct Code {
    ops: Vec<Op>,
}

impl Code {
    pub(crate) fn add(&mut self, op: Op) -> OpId {
        // The tree has fewer nodes than numbers, and each node becomes at most one operation.
        let id = OpId(u16::try_from(self.ops.len()).unwrap_or(u16::MAX));
        self.ops.push(op);
        id
    }

    pub(crate) fn op(&self, id: OpId) -> &Op {
        &self.ops[usize::from(id.0)]
    }
}

#[derive(Debug)]
pub(crate) enum Op {
    Constant(Value<'static>),
    /// The fact with this index among the condition's names.
    Fact(usize),
    /// The variable of the macro that is this deep.
    Variable(usize),
    Member(OpId, String),
    Index(OpId, OpId),
    /// A function that the plugin answers.
    Ask(&'static Function, Vec<OpId>),
    Apply(Builtin, OpId),
    Search(Search, OpId, OpId),
    Matches(OpId, Box<Expression>),
    Glob(OpId, Glob),
    /// True if the glob matches a string of the list.
    AnyGlob(OpId, Glob),
    Not(OpId),
    Negate(OpId),
    And(Vec<OpId>),
    Or(Vec<OpId>),
    IsAbsent(OpId),
    IsPresent(OpId),
    Binary(Operator, OpId, OpId),
    Choose(OpId, OpId, OpId),
    List(Vec<OpId>),
    Map(Vec<(String, OpId)>),
    Each(Each, OpId, OpId),
}

/// A function of one value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Builtin {
    LowerAscii,
    Size,
    Words,
    Host,
}

/// Where one string is searched in another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Search {
    StartsWith,
    EndsWith,
    Contains,
}

/// A macro that evaluates an expression for each value of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Each {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}
