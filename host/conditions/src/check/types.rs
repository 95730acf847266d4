//! Which types an operator takes.

use crate::parser::Operator;
use crate::value::Value;
use crate::vocabulary::Type;

/// Returns true if a value of the type `found` can stand where `wanted` is needed.
pub(super) fn is_usable(found: Type, wanted: Type) -> bool {
    found == wanted || found == Type::Dynamic || wanted == Type::Dynamic || (is_list(found) && wanted == Type::List)
}

pub(super) fn is_list(kind: Type) -> bool {
    matches!(kind, Type::List | Type::Strings)
}

pub(super) fn is_number(kind: Type) -> bool {
    matches!(kind, Type::Int | Type::Double | Type::Dynamic)
}

/// Returns true if values of these types can be equal.
pub(super) fn are_comparable(left: Type, right: Type) -> bool {
    is_usable(left, right) || (is_number(left) && is_number(right)) || (is_list(left) && is_list(right))
}

/// Returns true if one value of these types can be less than the other.
pub(super) fn is_ordered(left: Type, right: Type) -> bool {
    let is_text = |kind| matches!(kind, Type::String | Type::Dynamic);
    (is_number(left) && is_number(right)) || (is_text(left) && is_text(right))
}

/// Returns true if a list or a map of the type `right` can contain a value of the type `left`.
pub(super) fn is_in(left: Type, right: Type) -> bool {
    match right {
        Type::Strings | Type::Map => is_usable(left, Type::String),
        Type::List | Type::Dynamic => true,
        _ => false,
    }
}

/// Returns the type of an arithmetic operation, or `None` if there is none between these types.
pub(super) fn result_of(operator: Operator, left: Type, right: Type) -> Option<Type> {
    let takes = |kind| match (operator, kind) {
        (Operator::Add, Type::String | Type::List | Type::Strings) | (_, Type::Int | Type::Dynamic) => true,
        (operator, Type::Double) => operator != Operator::Remainder,
        _ => false,
    };
    let is_joined = takes(left) && takes(right);
    match (left, right) {
        _ if !is_joined => None,
        (left, right) if left == right => Some(left),
        (Type::Dynamic, other) | (other, Type::Dynamic) => Some(other),
        (left, right) => (is_list(left) && is_list(right)).then_some(Type::List),
    }
}

/// Returns why an operator fits no such pair of types.
pub(super) fn contradiction(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal | Operator::Different => "they are never equal",
        Operator::Less | Operator::AtMost | Operator::Greater | Operator::AtLeast => {
            "only two numbers or two strings have an order"
        }
        Operator::In => "`in` needs a list or map that can contain the value",
        Operator::Add => "`+` needs two numbers of one kind, two strings or two lists",
        Operator::Remainder => "`%` needs two whole numbers",
        Operator::Subtract | Operator::Multiply | Operator::Divide => "arithmetic needs two numbers of one kind",
    }
}

/// Returns the type of a literal.
pub(super) fn type_of(value: &Value<'_>) -> Type {
    match value {
        Value::Null => Type::Dynamic,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::List(_) | Value::Array(_) => Type::List,
        Value::Map(_) | Value::Object(_) => Type::Map,
    }
}
