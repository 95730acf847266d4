//! The approval seam: a vector's resolver as the person whom the engine asks.

use crate::emissions::Emissions;
use crate::vectors;
use agent_hooks::ctk_engine::scripted_resolve;
use agent_hooks::{
    AgentContext, Decision, HostError, JCS_SHA256, Verdict, apply_transform_to_ctx, context_identity, verdict_from_wire,
};
use hookhost::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The end of a question about an event.
#[derive(Clone, Debug)]
pub(super) struct Resolution {
    /// The reason of the deny; `None` where it was lifted.
    pub(super) reason: Option<String>,
    /// Whether the resolver permitted it, whether or not it then ran.
    pub(super) permitted: bool,
}

impl Resolution {
    fn no(reason: &impl ToString) -> Self {
        Self { reason: Some(reason.to_string()), permitted: false }
    }
}

/// A vector's `approval_script`.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    rules: Arc<Vec<Value>>,
    identified: bool,
    emissions: Emissions,
    resolutions: Arc<Mutex<BTreeMap<String, Resolution>>>,
}

impl Resolver {
    /// `None` where the vector registers no resolver.
    pub(super) fn of(vector: &Value, emissions: Emissions) -> Option<Self> {
        let rules = vector["approval_script"].as_array().filter(|rules| !rules.is_empty())?;
        let identified = vectors::identity_provider(vector) == JCS_SHA256;
        Some(Self { rules: Arc::new(rules.clone()), identified, emissions, resolutions: Arc::default() })
    }

    /// The end of the question about this event; `None` where nobody was asked.
    pub(super) fn about(&self, event: &str) -> Option<Resolution> {
        self.resolutions.lock().unwrap_or_else(PoisonError::into_inner).get(event).cloned()
    }

    /// One liftable deny, put to the resolver. The checks, and their order, are those of section 9.
    fn resolve(&self, context: &Value) -> Resolution {
        let mut context: AgentContext = context.as_object().cloned().unwrap_or_default();
        let identity = if self.identified { context_identity(&context).unwrap_or_default() } else { String::new() };
        let answer = scripted_resolve(&self.rules, &Value::Object(context.clone()), &identity);
        if answer.get("__ctk_fault__").is_some() {
            return Resolution::no(&HostError::ApprovalResolverFailed);
        }
        if answer["context_identity"] != identity {
            return Resolution::no(&HostError::ApprovalIdentityMismatch);
        }
        let verdict = match (answer["outcome"].as_str(), answer.get("verdict")) {
            (Some("unresolved"), None) => return Resolution::no(&HostError::ApprovalUnresolved),
            (Some("approve" | "reject"), Some(verdict)) => verdict,
            _ => return Resolution::no(&HostError::ApprovalResolverFailed),
        };
        let Ok(verdict) = verdict_from_wire(verdict) else { return Resolution::no(&HostError::VerdictInvalid) };
        if verdict.decision.permits() != (answer["outcome"] == "approve") {
            return Resolution::no(&HostError::VerdictInvalid);
        }
        permit(&mut context, verdict)
    }
}

/// What a valid resolution comes to. A person's yes is about what was shown, so a change that comes with it is a no.
fn permit(context: &mut AgentContext, verdict: Verdict) -> Resolution {
    match (verdict.decision, verdict.transform) {
        (Decision::Deny, _) => Resolution::no(&verdict.reason.unwrap_or_default()),
        (Decision::Transform, Some(transform)) => {
            let applied = apply_transform_to_ctx(context, &transform);
            let error = applied.err().unwrap_or(HostError::AdapterUnsupported);
            Resolution { reason: Some(error.to_string()), permitted: true }
        }
        _ => Resolution { reason: None, permitted: true },
    }
}

impl Approver for Resolver {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let emission = self.emissions.of(&request.id);
            let context = emission.as_ref().and_then(|emission| emission.last()).unwrap_or(&Value::Null);
            // Each question is a deny of its own, and each is put to the resolver.
            let mut resolution = Resolution { reason: None, permitted: true };
            for _ in &request.questions {
                resolution = self.resolve(context);
                if resolution.reason.is_some() {
                    break;
                }
            }
            let failed = resolution.reason.as_deref() == Some("host_error:approval_resolver_failed");
            let is_yes = resolution.reason.is_none();
            self.resolutions.lock().unwrap_or_else(PoisonError::into_inner).insert(request.id, resolution);
            // What the engine makes of an approver that fails is part of what is tested.
            assert!(!failed, "the script has the resolver fail");
            if is_yes { Approval::yes() } else { Approval::no() }
        })
    }
}
