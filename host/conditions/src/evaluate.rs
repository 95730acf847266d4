//! Evaluates code with the facts of an event.
//!
//! An absent value makes every operation absent, except that comparisons and searches are false. A fact that cannot be read makes every
//! operation unreadable, unless the result does not depend on it: `false && x` is false.

use crate::code::{Builtin, Code, Each, Op, OpId, Search};
use crate::glob::{Comparison, Glob};
use crate::parser::Operator;
use crate::url::Address;
use crate::value::{Fact, Facts, Truth, Value};
use crate::{Condition, MAX_LEVELS, MAX_STEPS};
use std::cmp::Ordering;
use std::sync::Arc;

/// The result depends on something that cannot be read, or there were too many steps.
#[derive(Clone, Copy, Debug)]
struct Unreadable;

type Evaluated<T> = Result<T, Unreadable>;

pub(crate) fn evaluate(condition: &Condition, facts: &dyn Facts) -> Truth {
    let known = vec![None; condition.facts.len()];
    Evaluation { condition, code: &condition.code, facts, known, variables: Vec::new(), steps: 0 }.truth(condition.root)
}

struct Evaluation<'a> {
    condition: &'a Condition,
    code: &'a Code,
    facts: &'a dyn Facts,
    /// The facts that were asked for.
    known: Vec<Option<Fact<'a>>>,
    /// The values of the macros' variables, outermost first.
    variables: Vec<Value<'a>>,
    steps: usize,
}

impl<'a> Evaluation<'a> {
    fn truth(&mut self, id: OpId) -> Truth {
        match self.value(id) {
            Ok(Value::Bool(true)) => Truth::True,
            Ok(_) => Truth::False,
            Err(Unreadable) => Truth::Unreadable,
        }
    }

    fn value(&mut self, id: OpId) -> Evaluated<Value<'a>> {
        self.take_steps(1)?;
        match self.code.op(id) {
            Op::Constant(Value::String(text)) => Ok(Value::from(text.as_ref())),
            Op::Constant(value) => Ok(value.clone()),
            Op::Fact(fact) => self.fact(*fact),
            Op::Variable(depth) => Ok(self.variables.get(*depth).cloned().unwrap_or(Value::Null)),
            Op::Member(of, name) => Ok(self.value(*of)?.member(name)),
            Op::Index(of, index) => self.index(*of, *index),
            Op::Ask(function, arguments) => self.ask(function.name, arguments),
            Op::Apply(builtin, operand) => self.apply(*builtin, *operand),
            Op::Search(search, text, part) => self.search(*search, *text, *part),
            Op::Matches(text, pattern) => {
                let text = self.value(*text)?;
                let Some(text) = text.as_str() else { return Ok(Value::Bool(false)) };
                self.read(text.len().saturating_mul(pattern.states))?;
                Ok(Value::Bool(pattern.matches(text)))
            }
            Op::Glob(path, glob) => {
                let path = self.value(*path)?;
                self.fits(&path, glob).map(Value::Bool)
            }
            Op::AnyGlob(list, glob) => self.any(*list, glob),
            Op::Not(operand) => match self.truth(*operand) {
                Truth::True => Ok(Value::Bool(false)),
                Truth::False => Ok(Value::Bool(true)),
                Truth::Unreadable => Err(Unreadable),
            },
            Op::Negate(operand) => Ok(match self.value(*operand)? {
                Value::Int(number) => number.checked_neg().map(Value::Int).ok_or(Unreadable)?,
                Value::Double(number) => Value::Double(-number),
                _ => Value::Null,
            }),
            Op::And(operands) => self.decide(operands, Truth::False),
            Op::Or(operands) => self.decide(operands, Truth::True),
            Op::IsAbsent(operand) => Ok(Value::Bool(self.value(*operand)? == Value::Null)),
            Op::IsPresent(operand) => Ok(Value::Bool(self.value(*operand)? != Value::Null)),
            Op::Binary(operator, left, right) => self.binary(*operator, *left, *right),
            Op::Choose(condition, then, otherwise) => match self.truth(*condition) {
                Truth::True => self.value(*then),
                Truth::False => self.value(*otherwise),
                Truth::Unreadable => Err(Unreadable),
            },
            Op::List(values) => {
                let values: Evaluated<Vec<_>> = values.iter().map(|value| self.value(*value)).collect();
                Ok(Value::List(values?.into()))
            }
            Op::Map(entries) => {
                let entry = |(key, value): &(String, OpId)| Ok((key.clone(), self.value(*value)?));
                let entries: Evaluated<Vec<_>> = entries.iter().map(entry).collect();
                Ok(Value::Map(entries?.into()))
            }
            Op::Each(each, list, body) => self.each(*each, *list, *body),
        }
    }

    fn take_steps(&mut self, steps: usize) -> Evaluated<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS { Err(Unreadable) } else { Ok(()) }
    }

    /// Counts the bytes that are read. 1 KiB is one step.
    fn read(&mut self, bytes: usize) -> Evaluated<()> {
        self.take_steps(bytes / 1024)
    }

    fn fact(&mut self, index: usize) -> Evaluated<Value<'a>> {
        let (facts, condition) = (self.facts, self.condition);
        let (Some(known), Some(used)) = (self.known.get_mut(index), condition.facts.get(index)) else {
            return Ok(Value::Null);
        };
        known_value(known.get_or_insert_with(|| facts.value(used.name())).clone())
    }

    fn ask(&mut self, function: &str, arguments: &[OpId]) -> Evaluated<Value<'a>> {
        let arguments: Evaluated<Vec<_>> = arguments.iter().map(|argument| self.value(*argument)).collect();
        let arguments = arguments?;
        match arguments.contains(&Value::Null) {
            true => Ok(Value::Null),
            false => known_value(self.facts.call(function, &arguments)),
        }
    }

    fn index(&mut self, of: OpId, index: OpId) -> Evaluated<Value<'a>> {
        let (of, index) = (self.value(of)?, self.value(index)?);
        let position = |index| usize::try_from(index).unwrap_or(usize::MAX);
        Ok(match (of, index) {
            (Value::List(values), Value::Int(index)) => values.get(position(index)).cloned().unwrap_or(Value::Null),
            (Value::Array(values), Value::Int(index)) => values.get(position(index)).map_or(Value::Null, Value::from),
            (of, Value::String(key)) => of.member(&key),
            _ => Value::Null,
        })
    }

    /// Returns the values of a list. Sixteen values are one step.
    fn elements(&mut self, list: &Value<'a>) -> Evaluated<Option<Arc<[Value<'a>]>>> {
        self.take_steps(list.len().unwrap_or(0) / 16)?;
        Ok(list.elements())
    }

    fn apply(&mut self, builtin: Builtin, operand: OpId) -> Evaluated<Value<'a>> {
        let operand = self.value(operand)?;
        let size = |size| Value::Int(i64::try_from(size).unwrap_or(i64::MAX));
        if let (Builtin::Size, Some(length)) = (builtin, operand.len()) {
            return Ok(size(length));
        }
        let Some(text) = operand.as_str() else { return Ok(Value::Null) };
        self.read(text.len())?;
        Ok(match builtin {
            Builtin::Size => size(text.chars().count()),
            Builtin::LowerAscii => Value::from(text.to_ascii_lowercase()),
            Builtin::Host => return host(text),
            Builtin::Words => {
                let words: Vec<_> = text.split_whitespace().map(|word| Value::from(word.to_owned())).collect();
                self.take_steps(words.len() / 16)?;
                Value::List(words.into())
            }
        })
    }

    fn search(&mut self, search: Search, text: OpId, part: OpId) -> Evaluated<Value<'a>> {
        let (text, part) = (self.value(text)?, self.value(part)?);
        let (Some(text), Some(part)) = (text.as_str(), part.as_str()) else { return Ok(Value::Bool(false)) };
        self.read(text.len())?;
        Ok(Value::Bool(match search {
            Search::StartsWith => text.starts_with(part),
            Search::EndsWith => text.ends_with(part),
            Search::Contains => text.contains(part),
        }))
    }

    fn fits(&mut self, path: &Value<'a>, glob: &Glob) -> Evaluated<bool> {
        let Some(path) = path.as_str() else { return Ok(false) };
        self.read(path.len().saturating_mul(glob.as_str().len()))?;
        Ok(glob.matches(path, Comparison::Path))
    }

    fn any(&mut self, list: OpId, glob: &Glob) -> Evaluated<Value<'a>> {
        let list = self.value(list)?;
        let Some(values) = self.elements(&list)? else { return Ok(Value::Bool(false)) };
        for value in values.iter() {
            self.take_steps(1)?;
            if self.fits(value, glob)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }

    /// Evaluates operands until one of them decides alone, whatever the others are: `false` for `&&`, and `true` for `||`.
    fn decide(&mut self, operands: &[OpId], decisive: Truth) -> Evaluated<Value<'a>> {
        let mut is_known = true;
        for operand in operands {
            match self.truth(*operand) {
                truth if truth == decisive => return Ok(Value::Bool(decisive == Truth::True)),
                Truth::Unreadable => is_known = false,
                Truth::True | Truth::False => {}
            }
        }
        if is_known { Ok(Value::Bool(decisive == Truth::False)) } else { Err(Unreadable) }
    }

    fn binary(&mut self, operator: Operator, left: OpId, right: OpId) -> Evaluated<Value<'a>> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        let is_known = left != Value::Null && right != Value::Null;
        let ordered = |fits: fn(Ordering) -> bool| Ok(Value::Bool(order(&left, &right).is_some_and(fits)));
        match operator {
            Operator::Equal => Ok(Value::Bool(is_known && self.equal(&left, &right, 0)?)),
            Operator::Different => Ok(Value::Bool(is_known && !self.equal(&left, &right, 0)?)),
            Operator::Less => ordered(Ordering::is_lt),
            Operator::AtMost => ordered(Ordering::is_le),
            Operator::Greater => ordered(Ordering::is_gt),
            Operator::AtLeast => ordered(Ordering::is_ge),
            Operator::In => Ok(Value::Bool(is_known && self.contains(&right, &left)?)),
            _ => self.calculate(operator, left, right),
        }
    }

    fn contains(&mut self, container: &Value<'a>, value: &Value<'a>) -> Evaluated<bool> {
        let Some(elements) = self.elements(container)? else {
            return Ok(value.as_str().is_some_and(|key| container.has_member(key)));
        };
        for element in elements.iter() {
            if self.equal(element, value, 0)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compares two values, which are within `depth` lists and maps. Numbers of both kinds compare by their value.
    fn equal(&mut self, left: &Value<'a>, right: &Value<'a>, depth: usize) -> Evaluated<bool> {
        self.take_steps(if depth > MAX_LEVELS { MAX_STEPS } else { 1 })?;
        match (left, right) {
            (Value::String(left), Value::String(right)) => {
                self.read(left.len().min(right.len()))?;
                Ok(left == right)
            }
            (Value::Bool(_), Value::Bool(_)) | (Value::Null, Value::Null) => Ok(left == right),
            _ if left.len() != right.len() => Ok(false),
            _ => match (self.elements(left)?, self.elements(right)?, left.keys()) {
                (Some(left), Some(right), _) => self.equal_pairs(left.iter().zip(right.iter()), depth),
                (None, None, Some(keys)) if keys.iter().all(|key| right.has_member(key)) => {
                    let pairs: Vec<_> = keys.iter().map(|key| (left.member(key), right.member(key))).collect();
                    self.equal_pairs(pairs.iter().map(|(left, right)| (left, right)), depth)
                }
                _ => Ok(order(left, right) == Some(Ordering::Equal)),
            },
        }
    }

    fn equal_pairs<'v>(
        &mut self,
        pairs: impl Iterator<Item = (&'v Value<'a>, &'v Value<'a>)>,
        depth: usize,
    ) -> Evaluated<bool>
    where
        'a: 'v,
    {
        for (left, right) in pairs {
            if !self.equal(left, right, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Calculates. What has no result, such as a division by zero, is absent. A number that is too large is unreadable, because an
    /// argument of a call could otherwise evade a rule.
    fn calculate(&mut self, operator: Operator, left: Value<'a>, right: Value<'a>) -> Evaluated<Value<'a>> {
        let result = match (left, right) {
            (Value::Int(left), Value::Int(right)) => {
                let result = match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    _ => left.checked_rem(right),
                };
                let is_by_zero = matches!(operator, Operator::Divide | Operator::Remainder) && right == 0;
                if result.is_none() && !is_by_zero {
                    return Err(Unreadable);
                }
                result.map(Value::Int)
            }
            (Value::Double(left), Value::Double(right)) => calculated(operator, left, right),
            // The arguments of a tool have one kind of number.
            (Value::Int(left), Value::Double(right)) => calculated(operator, left as f64, right),
            (Value::Double(left), Value::Int(right)) => calculated(operator, left, right as f64),
            (Value::String(left), Value::String(right)) if operator == Operator::Add => {
                // Copied bytes stay in memory, so they count sixteen times as much as bytes that are read.
                self.read((left.len() + right.len()).saturating_mul(16))?;
                Some(Value::from(left.into_owned() + &right))
            }
            (left, right) if operator == Operator::Add => {
                self.take_steps(left.len().unwrap_or(0) + right.len().unwrap_or(0))?;
                let lists = left.elements().zip(right.elements());
                lists.map(|(left, right)| Value::List(left.iter().chain(right.iter()).cloned().collect()))
            }
            _ => None,
        };
        Ok(result.unwrap_or(Value::Null))
    }

    fn each(&mut self, each: Each, list: OpId, body: OpId) -> Evaluated<Value<'a>> {
        let list = self.value(list)?;
        let Some(values) = self.elements(&list)? else {
            return Ok(match each {
                Each::All | Each::Exists | Each::ExistsOne => Value::Bool(false),
                Each::Filter | Each::Map => Value::Null,
            });
        };
        match each {
            Each::All => self.decide_each(&values, body, Truth::False),
            Each::Exists => self.decide_each(&values, body, Truth::True),
            Each::ExistsOne => {
                let chosen = self.chosen(&values, body)?;
                Ok(Value::Bool(chosen.len() == 1))
            }
            Each::Filter => Ok(Value::List(self.chosen(&values, body)?.into())),
            Each::Map => {
                let mapped: Evaluated<Vec<_>> =
                    values.iter().map(|value| self.with(value, |inner| inner.value(body))).collect();
                Ok(Value::List(mapped?.into()))
            }
        }
    }

    /// Evaluates the body of a macro with one value of the list.
    fn with<T>(&mut self, value: &Value<'a>, body: impl FnOnce(&mut Self) -> T) -> T {
        self.variables.push(value.clone());
        let result = body(self);
        self.variables.pop();
        result
    }

    /// Returns the values for which the body is true.
    fn chosen(&mut self, values: &[Value<'a>], body: OpId) -> Evaluated<Vec<Value<'a>>> {
        let mut chosen = Vec::new();
        for value in values {
            match self.with(value, |inner| inner.truth(body)) {
                Truth::True => chosen.push(value.clone()),
                Truth::False => {}
                Truth::Unreadable => return Err(Unreadable),
            }
        }
        Ok(chosen)
    }

    /// Does for the values of a list what [`Self::decide`] does for operands.
    fn decide_each(&mut self, values: &[Value<'a>], body: OpId, decisive: Truth) -> Evaluated<Value<'a>> {
        let mut is_known = true;
        for value in values {
            // Ends the loop if there were too many steps.
            self.take_steps(1)?;
            match self.with(value, |inner| inner.truth(body)) {
                truth if truth == decisive => return Ok(Value::Bool(decisive == Truth::True)),
                Truth::Unreadable => is_known = false,
                Truth::True | Truth::False => {}
            }
        }
        if is_known { Ok(Value::Bool(decisive == Truth::False)) } else { Err(Unreadable) }
    }
}

/// Returns the host of an address. If programs read the address differently, or a part of it is unknown, the host is unreadable.
fn host(url: &str) -> Evaluated<Value<'static>> {
    let address = Address::of_url(url);
    if !address.is_certain() {
        return Err(Unreadable);
    }
    Ok(address.hosts.into_iter().next().map_or(Value::Null, Value::from))
}

fn known_value(fact: Fact<'_>) -> Evaluated<Value<'_>> {
    match fact {
        Fact::Is(value) => Ok(value),
        Fact::Absent => Ok(Value::Null),
        Fact::Unreadable => Err(Unreadable),
    }
}

/// Calculates with fractions, as the processor does: a division by zero is infinite.
fn calculated<'a>(operator: Operator, left: f64, right: f64) -> Option<Value<'a>> {
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        _ => return None,
    };
    Some(Value::Double(result))
}

/// Returns the order of two numbers or two strings.
fn order(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Double(right)) => (*left as f64).partial_cmp(right),
        (Value::Double(left), Value::Int(right)) => left.partial_cmp(&(*right as f64)),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}
