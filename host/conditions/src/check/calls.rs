//! Checks calls of functions, methods and macros.

use super::types::is_usable;
use super::{Checker, Typed};
use crate::code::{Builtin, Each, Op, OpId, Search};
use crate::parser::{Expression, NodeId};
use crate::pattern;
use crate::value::Value;
use crate::vocabulary::{self, FUNCTIONS, Function, Parameter, Type};
use crate::{Span, Use};

/// A call as it is written.
pub(super) struct Call<'a> {
    id: NodeId,
    /// Where the name of the function is.
    name: Span,
    function: &'a str,
    target: Option<NodeId>,
    arguments: &'a [NodeId],
}

/// How the functions that need nothing from the plugin are called, for messages.
const FORMS: [(&str, &str); 16] = [
    ("startsWith", "`text.startsWith(beginning)`"),
    ("endsWith", "`text.endsWith(end)`"),
    ("contains", "`text.contains(part)`"),
    ("matches", "`text.matches(\"pattern\")`"),
    ("lowerAscii", "`text.lowerAscii()`"),
    ("size", "`size(value)` or `value.size()`"),
    ("words", "`words(text)`"),
    ("host", "`host(url)`"),
    ("glob", "`glob(path, \"pattern\")`"),
    ("any", "`any(list, \"pattern\")`"),
    ("all", "`list.all(name, condition)`"),
    ("exists", "`list.exists(name, condition)`"),
    ("exists_one", "`list.exists_one(name, condition)`"),
    ("filter", "`list.filter(name, condition)`"),
    ("map", "`list.map(name, value)`"),
    ("has", "`has(\"label\")` or `has(arguments.name)`"),
];

impl<'a> Checker<'a> {
    pub(super) fn call(&mut self, id: NodeId) -> Typed {
        let tree = self.tree;
        let Expression::Call { target, function, name, arguments } = &tree.node(id).expression else {
            return self.mistake(self.span(id), "this is no call");
        };
        let call = Call { id, name: *name, function, target: *target, arguments };
        match (function.as_str(), *target, arguments.as_slice()) {
            ("startsWith", Some(text), [part]) => self.search(&call, Search::StartsWith, text, *part),
            ("endsWith", Some(text), [part]) => self.search(&call, Search::EndsWith, text, *part),
            ("contains", Some(text), [part]) => self.search(&call, Search::Contains, text, *part),
            ("lowerAscii", Some(text), []) => self.builtin(&call, Builtin::LowerAscii, text, Type::String),
            ("words", None, [text]) => self.builtin(&call, Builtin::Words, *text, Type::Strings),
            ("host", None, [url]) => self.builtin(&call, Builtin::Host, *url, Type::String),
            ("size", Some(value), []) => self.size(value),
            ("size", None, [value]) => self.size(*value),
            ("matches", Some(text), [pattern]) => {
                self.pattern(&call, text, Type::String, *pattern, pattern::Expression::new, |text, pattern| {
                    Op::Matches(text, Box::new(pattern))
                })
            }
            ("glob", None, [path, pattern]) => {
                self.pattern(&call, *path, Type::String, *pattern, pattern::glob, Op::Glob)
            }
            ("any", None, [list, pattern]) => {
                self.pattern(&call, *list, Type::List, *pattern, pattern::glob, Op::AnyGlob)
            }
            ("has", None, [member]) if matches!(tree.node(*member).expression, Expression::Member(..)) => {
                let (value, _) = self.checked(*member);
                (self.code.add(Op::IsPresent(value)), Type::Bool)
            }
            (_, Some(list), [variable, body]) if each(function).is_some() => self.each(&call, list, *variable, *body),
            _ => self.asked(&call),
        }
    }

    fn argument(&mut self, call: &Call<'_>, argument: NodeId, wanted: Type) -> OpId {
        let shown = self.shown(argument);
        self.typed(argument, wanted, |found| {
            format!("`{}` needs {}, and `{shown}` is {found}", call.function, wanted.described())
        })
    }

    fn search(&mut self, call: &Call<'_>, search: Search, text: NodeId, part: NodeId) -> Typed {
        let (text, part) = (self.argument(call, text, Type::String), self.argument(call, part, Type::String));
        (self.code.add(Op::Search(search, text, part)), Type::Bool)
    }

    fn builtin(&mut self, call: &Call<'_>, builtin: Builtin, text: NodeId, returns: Type) -> Typed {
        let text = self.argument(call, text, Type::String);
        (self.code.add(Op::Apply(builtin, text)), returns)
    }

    fn size(&mut self, of: NodeId) -> Typed {
        let (value, kind) = self.checked(of);
        if matches!(kind, Type::Bool | Type::Int | Type::Double) {
            let message =
                format!("`size` needs a string, a list or a map, and `{}` is {}", self.shown(of), kind.described());
            return self.mistake(self.span(of), message);
        }
        (self.code.add(Op::Apply(Builtin::Size, value)), Type::Int)
    }

    /// Checks a call whose last argument is a pattern, which is compiled here.
    fn pattern<P>(
        &mut self,
        call: &Call<'_>,
        value: NodeId,
        kind: Type,
        pattern: NodeId,
        compile: fn(&str) -> Result<P, String>,
        op: fn(OpId, P) -> Op,
    ) -> Typed {
        let value = self.argument(call, value, kind);
        let tree = self.tree;
        let Expression::Text(literal) = &tree.node(pattern).expression else {
            return self
                .mistake(self.span(pattern), format!("the pattern of `{}` is a string in quotes", call.function));
        };
        match compile(literal) {
            Ok(pattern) => (self.code.add(op(value, pattern)), Type::Bool),
            Err(message) => self.mistake(self.span(pattern), message),
        }
    }

    /// Checks a macro, whose body sees one value of the list.
    fn each(&mut self, call: &Call<'_>, list: NodeId, variable: NodeId, body: NodeId) -> Typed {
        let Some(each) = each(call.function) else { return self.asked(call) };
        let tree = self.tree;
        let (values, kind) = self.checked(list);
        if !is_usable(kind, Type::List) {
            let message =
                format!("`{}` needs a list, and `{}` is {}", call.function, self.shown(list), kind.described());
            return self.mistake(self.span(list), message);
        }
        let Expression::Name(variable_name) = &tree.node(variable).expression else {
            return self
                .mistake(self.span(variable), format!("the first argument of `{}` is a new name", call.function));
        };
        let element = if kind == Type::Strings { Type::String } else { Type::Dynamic };
        self.variables.push((variable_name.clone(), element));
        let (body, result) = match each {
            Each::Map => self.checked(body),
            _ => (self.argument(call, body, Type::Bool), Type::Bool),
        };
        self.variables.pop();
        let returns = match each {
            Each::All | Each::Exists | Each::ExistsOne => Type::Bool,
            Each::Filter => kind,
            Each::Map if result == Type::String => Type::Strings,
            Each::Map => Type::List,
        };
        (self.code.add(Op::Each(each, values, body)), returns)
    }

    /// Checks a call of a function that the plugin answers. No other function is left.
    fn asked(&mut self, call: &Call<'_>) -> Typed {
        let known = FUNCTIONS.iter().find(|known| known.name == call.function);
        let Some(function) =
            known.filter(|known| call.target.is_none() && known.parameters.len() == call.arguments.len())
        else {
            return self.unknown_call(call);
        };
        let arguments: Vec<OpId> = function
            .parameters
            .iter()
            .zip(call.arguments)
            .map(|(parameter, argument)| self.asked_argument(function, *parameter, *argument))
            .collect();
        let word = match (function.parameters.first(), call.arguments.first()) {
            (Some(Parameter::Word), Some(argument)) => match &self.tree.node(*argument).expression {
                Expression::Text(word) => Some(word.clone()),
                _ => None,
            },
            _ => None,
        };
        let used = Use::Function(function, word);
        if !self.calls.contains(&used) {
            self.calls.push(used);
        }
        (self.code.add(Op::Ask(function, arguments)), function.returns)
    }

    fn asked_argument(&mut self, function: &Function, parameter: Parameter, argument: NodeId) -> OpId {
        let tree = self.tree;
        let constant = match (parameter, &tree.node(argument).expression) {
            (Parameter::String, _) => {
                let shown = self.shown(argument);
                return self.typed(argument, Type::String, |found| {
                    format!("`{}` needs a string, and `{shown}` is {found}", function.call)
                });
            }
            (Parameter::Word, Expression::Text(word)) if !word.is_empty() => Some(Value::from(word.clone())),
            (Parameter::Flag, Expression::Text(flag)) if flag.len() > 1 && flag.starts_with(['-', '+', '/']) => {
                Some(Value::from(flag.clone()))
            }
            (Parameter::Window, Expression::Text(window)) => vocabulary::seconds(window).map(Value::Int),
            (Parameter::Times, Expression::Int(times)) if *times >= 1 && vocabulary::is_remembered(*times) => {
                Some(Value::Int(*times))
            }
            _ => None,
        };
        let what = match parameter {
            Parameter::Window => "a time in quotes, such as \"90s\", \"10m\", \"2h\" or \"1d\"",
            Parameter::Flag => "an option in quotes, such as \"--force\" or \"-f\"",
            Parameter::Times => "a number from 1 to 500",
            Parameter::Word | Parameter::String => "a string in quotes",
        };
        match constant {
            Some(value) => self.code.add(Op::Constant(value)),
            None => self.mistake(self.span(argument), format!("`{}` needs {what} here", function.call)).0,
        }
    }

    fn unknown_call(&mut self, call: &Call<'_>) -> Typed {
        let written = call.function;
        let form = FORMS.iter().find(|(name, _)| *name == written).map(|(_, form)| (*form).to_owned());
        let form = form.or_else(|| {
            let function = FUNCTIONS.iter().find(|function| function.name == written)?;
            Some(format!("`{}`", function.call))
        });
        if let Some(form) = form {
            return self.mistake(self.span(call.id), format!("`{written}` is called so: {form}"));
        }
        let known = FORMS.iter().map(|(name, _)| *name).chain(FUNCTIONS.iter().map(|function| function.name));
        let hint =
            vocabulary::nearest(written, known).map_or(String::new(), |near| format!(": did you mean `{near}`?"));
        self.mistake(call.name, format!("unknown function `{written}`{hint}"))
    }
}

fn each(function: &str) -> Option<Each> {
    Some(match function {
        "all" => Each::All,
        "exists" => Each::Exists,
        "exists_one" => Each::ExistsOne,
        "filter" => Each::Filter,
        "map" => Each::Map,
        _ => return None,
    })
}
