//! Checks names and types of a tree, and makes its code.

mod calls;
mod types;

use self::types::{are_comparable, contradiction, is_in, is_number, is_ordered, is_usable, result_of, type_of};
use crate::code::{Code, Op, OpId};
use crate::parser::{Expression, NodeId, Operator, Tree, shown};
use crate::value::Value;
use crate::vocabulary::{self, Type};
use crate::{ConditionError, Span, Use};

/// What the checker makes of a tree.
pub(crate) struct Checked {
    pub(crate) code: Code,
    pub(crate) root: OpId,
    pub(crate) facts: Vec<Use>,
    pub(crate) calls: Vec<Use>,
}

/// # Errors
/// Returns all mistakes.
pub(crate) fn check(text: &str, tree: &Tree) -> Result<Checked, Vec<ConditionError>> {
    let mut checker = Checker {
        text,
        tree,
        code: Code::default(),
        facts: Vec::new(),
        calls: Vec::new(),
        variables: Vec::new(),
        errors: Vec::new(),
    };
    let root =
        checker.typed(tree.root, Type::Bool, |found| format!("a condition is true or false, and this is {found}"));
    let Checker { code, facts, calls, errors, .. } = checker;
    match errors.is_empty() {
        true => Ok(Checked { code, root, facts, calls }),
        false => Err(errors),
    }
}

/// An operation with the type of its value. After a mistake, it is a constant of any type, so that one mistake is reported once.
type Typed = (OpId, Type);

struct Checker<'a> {
    text: &'a str,
    tree: &'a Tree,
    code: Code,
    facts: Vec<Use>,
    calls: Vec<Use>,
    /// The variables of the macros around the node, outermost first.
    variables: Vec<(String, Type)>,
    errors: Vec<ConditionError>,
}

impl<'a> Checker<'a> {
    /// Checks a node and all nodes below it.
    fn checked(&mut self, id: NodeId) -> Typed {
        let tree = self.tree;
        let node = tree.node(id);
        match &node.expression {
            Expression::Null => self.mistake(node.span, "`null` can only be compared, with `==` and `!=`"),
            Expression::Bool(value) => self.constant(Value::Bool(*value), Type::Bool),
            Expression::Int(value) => self.constant(Value::Int(*value), Type::Int),
            Expression::Double(value) => self.constant(Value::Double(*value), Type::Double),
            Expression::Text(value) => self.constant(Value::from(value.clone()), Type::String),
            Expression::Name(_) => self.name(id),
            Expression::Member(of, member) => self.member(id, *of, member),
            Expression::Index(of, index) => self.index(*of, *index),
            Expression::Call { .. } => self.call(id),
            Expression::List(values) => self.list(values),
            Expression::Map(entries) => self.map(entries),
            Expression::Not(operand) => {
                let operand = self.operand_of(*operand, Type::Bool, "!");
                (self.code.add(Op::Not(operand)), Type::Bool)
            }
            Expression::Negate(operand) => self.negated(*operand),
            Expression::And(operands) => {
                let operands = operands.iter().map(|operand| self.operand_of(*operand, Type::Bool, "&&")).collect();
                (self.code.add(Op::And(operands)), Type::Bool)
            }
            Expression::Or(operands) => {
                let operands = operands.iter().map(|operand| self.operand_of(*operand, Type::Bool, "||")).collect();
                (self.code.add(Op::Or(operands)), Type::Bool)
            }
            Expression::Binary(operator, left, right) => self.binary(node.span, *operator, *left, *right),
            Expression::Choose(condition, then, otherwise) => self.choice(*condition, *then, *otherwise),
        }
    }

    fn constant(&mut self, value: Value<'static>, kind: Type) -> Typed {
        (self.code.add(Op::Constant(value)), kind)
    }

    /// Records a mistake.
    fn mistake(&mut self, span: Span, message: impl Into<String>) -> Typed {
        self.errors.push(ConditionError::new(span, message));
        self.constant(Value::Null, Type::Dynamic)
    }

    /// Checks a node that must have this type. `message` makes a sentence of the type that it has.
    fn typed(&mut self, id: NodeId, wanted: Type, message: impl FnOnce(&str) -> String) -> OpId {
        let (op, found) = self.checked(id);
        if !is_usable(found, wanted) {
            self.mistake(self.span(id), message(found.described()));
        }
        op
    }

    fn operand_of(&mut self, id: NodeId, wanted: Type, operator: &str) -> OpId {
        let shown = self.shown(id);
        self.typed(id, wanted, |found| format!("`{operator}` needs {}, and `{shown}` is {found}", wanted.described()))
    }

    fn span(&self, id: NodeId) -> Span {
        self.tree.node(id).span
    }

    fn shown(&self, id: NodeId) -> String {
        shown(self.text, self.span(id))
    }

    /// Returns the names of a chain such as `a.b.c` with dots, or `None` for other nodes.
    fn dotted(&self, id: NodeId) -> Option<String> {
        match &self.tree.node(id).expression {
            Expression::Name(name) => Some(name.clone()),
            Expression::Member(of, member) => Some(format!("{}.{member}", self.dotted(*of)?)),
            _ => None,
        }
    }

    fn variable(&self, dotted: &str) -> Option<usize> {
        let root = dotted.split('.').next()?;
        self.variables.iter().rposition(|(name, _)| name == root)
    }

    fn name(&mut self, id: NodeId) -> Typed {
        let dotted = self.dotted(id).unwrap_or_default();
        if let Some(variable) = self.variable(&dotted) {
            return (self.code.add(Op::Variable(variable)), self.variables[variable].1);
        }
        match vocabulary::find(&dotted) {
            Some(name) => {
                let kind = name.kind;
                let fact =
                    self.fact(if *name == vocabulary::VARIABLE { Use::Variable(dotted) } else { Use::Name(name) });
                (self.code.add(Op::Fact(fact)), kind)
            }
            None => self.mistake(self.span(id), vocabulary::unknown(&dotted)),
        }
    }

    fn fact(&mut self, used: Use) -> usize {
        self.facts.iter().position(|fact| *fact == used).unwrap_or_else(|| {
            self.facts.push(used);
            self.facts.len() - 1
        })
    }

    /// Checks `of.member`. The longest name of the vocabulary wins: `path.in_workspace` is one, though `path` is a string.
    fn member(&mut self, id: NodeId, of: NodeId, member: &str) -> Typed {
        if let Some(dotted) = self.dotted(id).filter(|dotted| self.variable(dotted).is_none()) {
            let beginnings = dotted.match_indices('.').rev().map(|(dot, _)| &dotted[..dot]);
            match beginnings.filter_map(vocabulary::find).next() {
                Some(known) if vocabulary::find(&dotted).is_none() && !vocabulary::has_names_below(known.name) => {}
                _ => return self.name(id),
            }
        }
        let (value, kind) = self.checked(of);
        if !is_usable(kind, Type::Map) {
            let message = format!("`{}` is {}: it has no member `{member}`", self.shown(of), kind.described());
            return self.mistake(self.span(id), message);
        }
        (self.code.add(Op::Member(value, member.to_owned())), Type::Dynamic)
    }

    fn index(&mut self, of: NodeId, index: NodeId) -> Typed {
        let (value, kind) = self.checked(of);
        let (wanted, result) = match kind {
            Type::Strings => (Type::Int, Type::String),
            Type::List => (Type::Int, Type::Dynamic),
            Type::Map => (Type::String, Type::Dynamic),
            Type::Dynamic => (Type::Dynamic, Type::Dynamic),
            _ => {
                let message = format!("`{}` is {}: it has no parts", self.shown(of), kind.described());
                return self.mistake(self.span(of), message);
            }
        };
        let needs = format!("{} needs {} in its brackets", kind.described(), wanted.described());
        let index = self.typed(index, wanted, |found| format!("{needs}, and this is {found}"));
        (self.code.add(Op::Index(value, index)), result)
    }

    fn list(&mut self, values: &[NodeId]) -> Typed {
        let values: Vec<Typed> = values.iter().map(|value| self.checked(*value)).collect();
        let has_strings = !values.is_empty() && values.iter().all(|(_, kind)| *kind == Type::String);
        let kind = if has_strings { Type::Strings } else { Type::List };
        let constants = values.iter().map(|(value, _)| match self.code.op(*value) {
            Op::Constant(value) => Some(value.clone()),
            _ => None,
        });
        match constants.collect::<Option<Vec<_>>>() {
            Some(constants) => self.constant(Value::List(constants.into()), kind),
            None => (self.code.add(Op::List(values.into_iter().map(|(value, _)| value).collect())), kind),
        }
    }

    fn map(&mut self, entries: &[(NodeId, NodeId)]) -> Typed {
        let mut map: Vec<(String, OpId)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let (value, _) = self.checked(*value);
            match &self.tree.node(*key).expression {
                Expression::Text(key) if map.iter().all(|(other, _)| other != key) => map.push((key.clone(), value)),
                Expression::Text(twice) => {
                    self.mistake(self.span(*key), format!("the key `{twice}` is in this map twice"));
                }
                _ => {
                    self.mistake(self.span(*key), "the keys of a map are strings in quotes");
                }
            }
        }
        (self.code.add(Op::Map(map)), Type::Map)
    }

    fn negated(&mut self, operand: NodeId) -> Typed {
        let (value, kind) = self.checked(operand);
        if !is_number(kind) {
            let message = format!("`-` needs a number, and `{}` is {}", self.shown(operand), kind.described());
            return self.mistake(self.span(operand), message);
        }
        (self.code.add(Op::Negate(value)), kind)
    }

    fn choice(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId) -> Typed {
        let condition = self.operand_of(condition, Type::Bool, "?");
        let ((then, kind), (otherwise, other)) = (self.checked(then), self.checked(otherwise));
        let kind = if kind == other { kind } else { Type::Dynamic };
        (self.code.add(Op::Choose(condition, then, otherwise)), kind)
    }

    fn binary(&mut self, span: Span, operator: Operator, left: NodeId, right: NodeId) -> Typed {
        if let Some(presence) = self.presence(operator, left, right) {
            return presence;
        }
        let ((l, left_kind), (r, right_kind)) = (self.checked(left), self.checked(right));
        let kind = match operator {
            Operator::Equal | Operator::Different => are_comparable(left_kind, right_kind).then_some(Type::Bool),
            Operator::Less | Operator::AtMost | Operator::Greater | Operator::AtLeast => {
                is_ordered(left_kind, right_kind).then_some(Type::Bool)
            }
            Operator::In => is_in(left_kind, right_kind).then_some(Type::Bool),
            _ => result_of(operator, left_kind, right_kind),
        };
        let Some(kind) = kind else {
            let pair = [(left, left_kind), (right, right_kind)]
                .map(|(id, kind)| format!("`{}` is {}", self.shown(id), kind.described()));
            return self.mistake(span, format!("{} and {}: {}", pair[0], pair[1], contradiction(operator)));
        };
        self.check_possible(operator, (left, l, left_kind), (right, r, right_kind));
        (self.code.add(Op::Binary(operator, l, r)), kind)
    }

    /// Checks a comparison with `null`.
    fn presence(&mut self, operator: Operator, left: NodeId, right: NodeId) -> Option<Typed> {
        let is_null = |id| matches!(self.tree.node(id).expression, Expression::Null);
        let value = match (is_null(left), is_null(right)) {
            (false, true) => left,
            (true, false) => right,
            _ => return None,
        };
        let op = match operator {
            Operator::Equal => Op::IsAbsent,
            Operator::Different => Op::IsPresent,
            _ => return None,
        };
        let (value, _) = self.checked(value);
        Some((self.code.add(op(value)), Type::Bool))
    }

    /// Reports literals that the other operand can never be equal to.
    fn check_possible(&mut self, operator: Operator, left: (NodeId, OpId, Type), right: (NodeId, OpId, Type)) {
        let mistakes: Vec<String> = match (operator, self.code.op(left.1), self.code.op(right.1)) {
            (Operator::In, Op::Fact(_), Op::Constant(Value::List(literals))) => {
                literals.iter().filter_map(|literal| self.impossible(left, literal)).collect()
            }
            (Operator::Equal | Operator::Different, Op::Fact(_), Op::Constant(literal)) => {
                self.impossible(left, literal).into_iter().collect()
            }
            (Operator::Equal | Operator::Different, Op::Constant(literal), Op::Fact(_)) => {
                self.impossible(right, literal).into_iter().collect()
            }
            (_, Op::Ask(function, _), Op::Constant(Value::Int(times))) if function.name == "count" => {
                self.beyond_count(operator, left.0, *times, Operator::Greater).into_iter().collect()
            }
            (_, Op::Constant(Value::Int(times)), Op::Ask(function, _)) if function.name == "count" => {
                self.beyond_count(operator, right.0, *times, Operator::Less).into_iter().collect()
            }
            _ => return,
        };
        for message in mistakes {
            self.mistake(self.span(left.0).to(self.span(right.0)), message);
        }
    }

    /// Returns why a comparison of a count with a number is always the same. `more` is the operator that asks for more than the number.
    fn beyond_count(&self, operator: Operator, count: NodeId, times: i64, more: Operator) -> Option<String> {
        use Operator::{AtLeast, AtMost, Different, Equal, Greater, Less};
        let is_comparison = matches!(operator, Equal | Different | Less | AtMost | Greater | AtLeast);
        let needed = if operator == more { times.saturating_add(1) } else { times };
        let is_beyond = is_comparison && needed > 0 && !vocabulary::is_remembered(needed);
        let most = vocabulary::MAX_TIMES;
        is_beyond.then(|| format!("`{}` is at most {most}, because no more times are remembered", self.shown(count)))
    }

    /// Returns why the fact never has this value.
    fn impossible(&self, (id, fact, kind): (NodeId, OpId, Type), literal: &Value<'_>) -> Option<String> {
        let Op::Fact(fact) = self.code.op(fact) else { return None };
        let shown = self.shown(id);
        if !are_comparable(kind, type_of(literal)) {
            let other = type_of(literal).described();
            return Some(format!(
                "`{shown}` is {}, and the list contains {other}: they are never equal",
                kind.described()
            ));
        }
        let (Use::Name(name), Some(text)) = (&self.facts[*fact], literal.as_str()) else { return None };
        let is_possible = name.values.is_empty() || name.values.contains(&text);
        (!is_possible).then(|| format!("`{shown}` is never \"{text}\": it is one of {}", name.values.join(", ")))
    }
}
