//! Parses an expression into a tree.
//!
//! The grammar is CEL's, without messages, bytes and unsigned numbers. A tree is a list of nodes, so the parser's own frames are small: a
//! component has 48 KiB of stack.

use crate::lexer::{self, Kind, Token};
use crate::{ConditionError, MAX_EXPRESSION, MAX_LEVELS, MAX_LIST, MAX_NODES, Span};

/// The index of a node in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(u16);

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) expression: Expression,
    pub(crate) span: Span,
    /// Number of nodes on the longest way down, with this one.
    height: u8,
}

#[derive(Debug)]
pub(crate) enum Expression {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    Name(String),
    Member(NodeId, String),
    Index(NodeId, NodeId),
    Call { target: Option<NodeId>, function: String, name: Span, arguments: Vec<NodeId> },
    List(Vec<NodeId>),
    Map(Vec<(NodeId, NodeId)>),
    Not(NodeId),
    Negate(NodeId),
    And(Vec<NodeId>),
    Or(Vec<NodeId>),
    Binary(Operator, NodeId, NodeId),
    Choose(NodeId, NodeId, NodeId),
}

/// An operator between two values, besides `&&` and `||`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A parsed expression.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    pub(crate) root: NodeId,
}

impl Tree {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[usize::from(id.0)]
    }
}

/// Parses a whole expression.
///
/// # Errors
/// Returns the first mistake, because what follows it could mean anything.
pub(crate) fn parse(text: &str) -> Parsed<Tree> {
    if text.len() > MAX_EXPRESSION {
        let message = format!("the expression has {} bytes; at most {MAX_EXPRESSION} are possible", text.len());
        return Err(ConditionError::boxed(Span::new(0, text.len()), message));
    }
    let mut parser = Parser { text, token: lexer::next(text, 0)?, end: 0, nodes: Vec::new(), level: 0 };
    let root = parser.expression()?;
    match parser.token.kind {
        Kind::End => Ok(Tree { nodes: parser.nodes, root }),
        _ => Err(parser.expected("an operator or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The token that comes next.
    token: Token,
    /// Where the token before it ended.
    end: usize,
    nodes: Vec<Node>,
    /// Number of operations that the parser is in. It bounds the stack, besides the height of nodes, which has no parentheses.
    level: usize,
}

/// The error is behind a pointer, which keeps the frames of the parser small.
pub(crate) type Parsed<T> = Result<T, Box<ConditionError>>;

impl Parser<'_> {
    fn expression(&mut self) -> Parsed<NodeId> {
        let condition = self.operation(1)?;
        if !self.eat("?")? {
            return Ok(condition);
        }
        self.enter()?;
        let then = self.expression()?;
        self.require(":")?;
        let otherwise = self.expression()?;
        self.level -= 1;
        let span = self.span(condition).to(self.span(otherwise));
        self.add(Expression::Choose(condition, then, otherwise), span)
    }

    /// Parses operators that bind at least as strongly as `minimum`.
    fn operation(&mut self, minimum: u8) -> Parsed<NodeId> {
        self.enter()?;
        let mut left = self.unary()?;
        while let Some((strength, operator)) = self.operator().filter(|(strength, _)| *strength >= minimum) {
            self.advance()?;
            let right = self.operation(strength + 1)?;
            left = self.join(operator, left, right)?;
        }
        self.level -= 1;
        Ok(left)
    }

    /// Returns the operator that comes next, and how strongly it binds.
    fn operator(&self) -> Option<(u8, Joint)> {
        let symbol = match self.token.kind {
            Kind::Symbol(symbol) => symbol,
            Kind::Word if self.word() == "in" => "in",
            _ => return None,
        };
        let operator = match symbol {
            "||" => return Some((1, Joint::Or)),
            "&&" => return Some((2, Joint::And)),
            "==" => Operator::Equal,
            "!=" => Operator::Different,
            "<" => Operator::Less,
            "<=" => Operator::AtMost,
            ">" => Operator::Greater,
            ">=" => Operator::AtLeast,
            "in" => Operator::In,
            "+" => Operator::Add,
            "-" => Operator::Subtract,
            "*" => Operator::Multiply,
            "/" => Operator::Divide,
            "%" => Operator::Remainder,
            _ => return None,
        };
        let strength = match symbol {
            "+" | "-" => 4,
            "*" | "/" | "%" => 5,
            _ => 3,
        };
        Some((strength, Joint::Binary(operator)))
    }

    /// Adds a node for two operands. A chain of `&&` or `||` is one node, so that its length is not its height.
    fn join(&mut self, joint: Joint, left: NodeId, right: NodeId) -> Parsed<NodeId> {
        let span = self.span(left).to(self.span(right));
        let height = self.node(right).height;
        let node = &mut self.nodes[usize::from(left.0)];
        match (&mut node.expression, joint) {
            (Expression::And(operands), Joint::And) | (Expression::Or(operands), Joint::Or) => {
                operands.push(right);
                node.span = span;
                node.height = node.height.max(height + 1);
                self.check_height(left)
            }
            (_, Joint::And) => self.add(Expression::And(vec![left, right]), span),
            (_, Joint::Or) => self.add(Expression::Or(vec![left, right]), span),
            (_, Joint::Binary(operator)) => self.add(Expression::Binary(operator, left, right), span),
        }
    }

    fn unary(&mut self) -> Parsed<NodeId> {
        let start = self.token.span;
        let is_not = match self.token.kind {
            Kind::Symbol("!") => true,
            Kind::Symbol("-") => false,
            _ => return self.postfix(),
        };
        self.advance()?;
        if !is_not && self.token.kind == Kind::Number {
            return self.number(start);
        }
        self.enter()?;
        let operand = self.unary()?;
        self.level -= 1;
        let expression = if is_not { Expression::Not(operand) } else { Expression::Negate(operand) };
        self.add(expression, start.to(self.span(operand)))
    }

    /// Parses an operand with its members, indices and calls.
    fn postfix(&mut self) -> Parsed<NodeId> {
        let mut operand = self.operand()?;
        loop {
            let start = self.span(operand);
            let expression = if self.eat(".")? {
                let (name, member) = self.name()?;
                match self.eat("(")? {
                    true => Expression::Call {
                        target: Some(operand),
                        function: member,
                        name,
                        arguments: self.list(")", MAX_NODES)?,
                    },
                    false => Expression::Member(operand, member),
                }
            } else if self.eat("[")? {
                let index = self.expression()?;
                self.require("]")?;
                Expression::Index(operand, index)
            } else {
                return Ok(operand);
            };
            operand = self.add(expression, Span::new(start.start(), self.end))?;
        }
    }

    fn operand(&mut self) -> Parsed<NodeId> {
        let start = self.token.span;
        let expression = match self.token.kind {
            Kind::Number => return self.number(start),
            Kind::Text => {
                let text = lexer::unquoted(self.text, start)?;
                self.advance()?;
                Expression::Text(text)
            }
            Kind::Word => self.named()?,
            Kind::Symbol("(") => {
                self.advance()?;
                let inner = self.expression()?;
                self.require(")")?;
                return Ok(inner);
            }
            Kind::Symbol("[") => {
                self.advance()?;
                Expression::List(self.list("]", MAX_LIST)?)
            }
            Kind::Symbol("{") => {
                self.advance()?;
                self.map()?
            }
            Kind::Symbol(_) | Kind::End => return Err(self.expected("a value")),
        };
        self.add(expression, Span::new(start.start(), self.end))
    }

    /// Parses a word of CEL, a name, or a call of a function.
    fn named(&mut self) -> Parsed<Expression> {
        let literal = match self.word() {
            "true" => Some(Expression::Bool(true)),
            "false" => Some(Expression::Bool(false)),
            "null" => Some(Expression::Null),
            "in" => return Err(self.expected("a value")),
            _ => None,
        };
        let (name, function) = self.name()?;
        match literal {
            Some(literal) => Ok(literal),
            None if self.eat("(")? => {
                Ok(Expression::Call { target: None, function, name, arguments: self.list(")", MAX_NODES)? })
            }
            None => Ok(Expression::Name(function)),
        }
    }

    /// Parses a number. Its sign, if any, is at `start`.
    fn number(&mut self, start: Span) -> Parsed<NodeId> {
        let span = start.to(self.token.span);
        let digits = &self.text[self.token.span.range()];
        let sign = if start == self.token.span { "" } else { "-" };
        let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let expression = match hexadecimal {
            Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16).ok().map(Expression::Int),
            None if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{sign}{digits}").parse().ok().map(Expression::Int)
            }
            None => {
                format!("{sign}{digits}").parse().ok().filter(|number: &f64| number.is_finite()).map(Expression::Double)
            }
        };
        let Some(expression) = expression else {
            let message = format!("`{}` is no number, or it is too large", shown(self.text, span));
            return Err(ConditionError::boxed(span, message));
        };
        self.advance()?;
        self.add(expression, span)
    }

    /// Parses values with commas between them, up to the closing bracket. A comma may follow the last value.
    fn list(&mut self, close: &'static str, limit: usize) -> Parsed<Vec<NodeId>> {
        let start = self.token.span.start();
        let mut values = Vec::new();
        while !self.eat(close)? {
            values.push(self.expression()?);
            if self.token.kind != Kind::Symbol(close) {
                self.require(",")?;
            }
        }
        self.check_length(values.len(), limit, start)?;
        Ok(values)
    }

    fn map(&mut self) -> Parsed<Expression> {
        let start = self.token.span.start();
        let mut entries = Vec::new();
        while !self.eat("}")? {
            let key = self.expression()?;
            self.require(":")?;
            entries.push((key, self.expression()?));
            if self.token.kind != Kind::Symbol("}") {
                self.require(",")?;
            }
        }
        self.check_length(entries.len(), MAX_LIST, start)?;
        Ok(Expression::Map(entries))
    }

    fn check_length(&self, length: usize, limit: usize, start: usize) -> Parsed<()> {
        if length <= limit {
            return Ok(());
        }
        let message = format!("this list has {length} values; at most {limit} are possible");
        Err(ConditionError::boxed(Span::new(start, self.end), message))
    }

    fn name(&mut self) -> Parsed<(Span, String)> {
        if self.token.kind != Kind::Word {
            return Err(self.expected("a name"));
        }
        let name = (self.token.span, self.word().to_owned());
        self.advance()?;
        Ok(name)
    }

    fn word(&self) -> &str {
        &self.text[self.token.span.range()]
    }

    fn advance(&mut self) -> Parsed<()> {
        self.end = self.token.span.end();
        self.token = lexer::next(self.text, self.end)?;
        Ok(())
    }

    /// Passes the symbol, if it comes next.
    fn eat(&mut self, symbol: &'static str) -> Parsed<bool> {
        let is_next = self.token.kind == Kind::Symbol(symbol);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn require(&mut self, symbol: &'static str) -> Parsed<()> {
        match self.eat(symbol)? {
            true => Ok(()),
            false => Err(self.expected(&format!("`{symbol}`"))),
        }
    }

    fn expected(&self, what: &str) -> Box<ConditionError> {
        let found = match self.token.kind {
            Kind::End => "the expression ends here".to_owned(),
            _ => format!("found `{}`", shown(self.text, self.token.span)),
        };
        let hint = match self.word() {
            "and" => ": CEL spells it `&&`",
            "or" => ": CEL spells it `||`",
            "not" => ": CEL spells it `!`",
            _ => "",
        };
        ConditionError::boxed(self.token.span, format!("expected {what}, {found}{hint}"))
    }

    fn enter(&mut self) -> Parsed<()> {
        self.level += 1;
        if self.level > MAX_LEVELS { Err(too_deep(self.token.span)) } else { Ok(()) }
    }

    fn add(&mut self, expression: Expression, span: Span) -> Parsed<NodeId> {
        let id = self.nodes.len();
        if id >= MAX_NODES {
            let message = format!("the expression has more than {MAX_NODES} parts");
            return Err(ConditionError::boxed(span, message));
        }
        let height = 1 + self.children_height(&expression);
        self.nodes.push(Node { expression, span, height });
        self.check_height(NodeId(u16::try_from(id).unwrap_or(u16::MAX)))
    }

    fn check_height(&self, id: NodeId) -> Parsed<NodeId> {
        let node = self.node(id);
        if usize::from(node.height) > MAX_LEVELS { Err(too_deep(node.span)) } else { Ok(id) }
    }

    fn children_height(&self, expression: &Expression) -> u8 {
        let height = |id: &NodeId| self.node(*id).height;
        let highest = |ids: &[NodeId]| ids.iter().map(height).max().unwrap_or(0);
        match expression {
            Expression::Null
            | Expression::Bool(_)
            | Expression::Int(_)
            | Expression::Double(_)
            | Expression::Text(_)
            | Expression::Name(_) => 0,
            Expression::Member(inner, _) | Expression::Not(inner) | Expression::Negate(inner) => height(inner),
            Expression::Index(left, right) | Expression::Binary(_, left, right) => highest(&[*left, *right]),
            Expression::Call { target, arguments, .. } => target.as_ref().map_or(0, height).max(highest(arguments)),
            Expression::List(values) | Expression::And(values) | Expression::Or(values) => highest(values),
            Expression::Map(entries) => entries.iter().map(|(key, value)| highest(&[*key, *value])).max().unwrap_or(0),
            Expression::Choose(condition, then, otherwise) => highest(&[*condition, *then, *otherwise]),
        }
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[usize::from(id.0)]
    }

    fn span(&self, id: NodeId) -> Span {
        self.node(id).span
    }
}

/// What stands between two operands.
#[derive(Clone, Copy)]
enum Joint {
    And,
    Or,
    Binary(Operator),
}

fn too_deep(span: Span) -> Box<ConditionError> {
    ConditionError::boxed(span, format!("the expression has more than {MAX_LEVELS} levels"))
}

/// Returns the text of a range for a message, shortened if it is long.
pub(crate) fn shown(text: &str, span: Span) -> String {
    const LONGEST: usize = 60;
    let text = &text[span.range()];
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
