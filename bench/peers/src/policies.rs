//! Policy engines in this process, with the same rule in the language of each engine, alone or as the last of many. The time does not
//! include converting the rule and the call to the engine's own form.

use crate::call::Call;
use cedar_policy::{Authorizer, Decision, Entities, EntityUid, PolicySet, Request};
use regorus::Value;
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::RegoVM;
use serde_json::json;
use std::fmt::Display;
use std::sync::Arc;

/// Evaluates the call, and returns true if the rule denies it.
pub(crate) type Evaluation = Box<dyn FnMut() -> Result<bool, String>>;

pub(crate) struct Policy {
    pub(crate) name: &'static str,
    /// The package's name in `Cargo.lock`.
    pub(crate) package: &'static str,
    /// Takes the number of rules, of which the last is the one that is compared.
    pub(crate) prepare: fn(&Call, usize) -> Result<Evaluation, String>,
}

pub(crate) const POLICIES: [Policy; 4] = [
    Policy { name: "`regorus`, its interpreter", package: "regorus", prepare: interpreted_rego },
    Policy { name: "`regorus`, its virtual machine", package: "regorus", prepare: compiled_rego },
    Policy { name: "`cedar-policy`", package: "cedar-policy", prepare: cedar },
    Policy { name: "`cel`", package: "cel", prepare: cel },
];

const REGO: &str = include_str!("../policies/no_force_push.rego");
const CEDAR: &str = include_str!("../policies/no_force_push.cedar");
const CEL: &str = include_str!("../policies/no_force_push.cel");

/// The rule of the Rego policy.
const DENY: &str = "data.guard.deny";

/// Returns a rule of a policy this many times. All but the last are about the same option of another program.
fn repeated(rule: &str, rules: usize) -> impl Iterator<Item = String> {
    let others = (1..rules).map(move |at| rule.replace("push --force", &format!("tool{at} push --force")));
    others.chain([rule.to_owned()])
}

fn interpreted_rego(call: &Call, rules: usize) -> Result<Evaluation, String> {
    let (policy, input) = (rego(rules)?, rego_input(call)?);
    Ok(Box::new(move || is_true(&policy.eval_with_input(input.clone()).map_err(said)?)))
}

fn compiled_rego(call: &Call, rules: usize) -> Result<Evaluation, String> {
    let (policy, input) = (rego(rules)?, rego_input(call)?);
    let mut machine = RegoVM::new();
    machine.load_program(Compiler::compile_from_policy(&policy, &[DENY]).map_err(said)?);
    Ok(Box::new(move || {
        machine.set_input(input.clone());
        is_true(&machine.execute().map_err(said)?)
    }))
}

fn rego(rules: usize) -> Result<regorus::CompiledPolicy, String> {
    let mut engine = regorus::Engine::new();
    let (package, rule) = REGO.split_once("\n\n").ok_or("the policy has no rule")?;
    let text = repeated(rule, rules).fold(package.to_owned(), |text, rule| text + "\n\n" + &rule);
    engine.add_policy("no_force_push.rego".to_owned(), text).map_err(said)?;
    engine.compile_with_entrypoint(&DENY.into()).map_err(said)
}

fn rego_input(call: &Call) -> Result<Value, String> {
    Value::from_json_str(&input(call).to_string()).map_err(said)
}

/// Returns true if the rule is true. An undefined rule does not apply.
fn is_true(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(holds) => Ok(*holds),
        Value::Undefined => Ok(false),
        other => Err(format!("the policy says {other:?}")),
    }
}

fn cedar(call: &Call, rules: usize) -> Result<Evaluation, String> {
    let (permit, rule) = CEDAR.split_once("\n\n").ok_or("the policy has no rule")?;
    let text = repeated(rule, rules).fold(permit.to_owned(), |text, rule| text + "\n\n" + &rule);
    let policies: PolicySet = text.parse().map_err(said)?;
    let entity = |text: &str| text.parse::<EntityUid>().map_err(said);
    let context = cedar_policy::Context::from_json_value(json!({ "command": call.command }), None).map_err(said)?;
    let (principal, action, resource) = (entity("Agent::\"s\"")?, entity("Action::\"Bash\"")?, entity("Shell::\"s\"")?);
    let request = Request::new(principal, action, resource, context, None).map_err(said)?;
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    Ok(Box::new(move || {
        let response = authorizer.is_authorized(&request, &policies, &entities);
        match response.diagnostics().errors().next() {
            Some(error) => Err(said(error)),
            None => Ok(response.decision() == Decision::Deny),
        }
    }))
}

fn cel(call: &Call, rules: usize) -> Result<Evaluation, String> {
    let environment = Arc::new(::cel::Env::stdlib());
    let compiled = repeated(CEL.trim(), rules).map(|rule| environment.compile(&rule).map_err(said));
    let programs: Vec<_> = compiled.collect::<Result<_, _>>()?;
    let context = ::cel::Context::with_env(environment);
    let input = ::cel::to_value(input(call)).map_err(said)?;
    Ok(Box::new(move || {
        let mut context = context.new_inner_scope();
        context.add_variable_from_value("call", input.clone());
        for program in &programs {
            match program.execute(&context).map_err(said)? {
                ::cel::Value::Bool(true) => return Ok(true),
                ::cel::Value::Bool(false) => {}
                other => return Err(format!("the expression says {other:?}")),
            }
        }
        Ok(false)
    }))
}

/// Returns the part of the agent's message that a rule reads.
fn input(call: &Call) -> serde_json::Value {
    json!({ "tool_name": "Bash", "tool_input": { "command": call.command } })
}

fn said(error: impl Display) -> String {
    error.to_string()
}

/// Returns the version of a package that is compiled into this program.
pub(crate) fn version(package: &str) -> Option<&'static str> {
    let name = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = include_str!("../Cargo.lock").split_once(&name)?;
    rest.split('"').next()
}
