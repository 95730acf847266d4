//! A plugin of the guest SDK as a native rule: the very type of which a component is built.

use super::{Rule, Tools};
use crate::contract::{EventKind, Session, Task, ToolOutcome, ToolResult};
use hookhost_guest::{Plugin, types};
use std::sync::Arc;

/// Each event with its method, and how the method is given what the event carries, in the SDK's spelling.
macro_rules! methods {
    ($($given:ident $event:ident $method:ident;)*) => {
        fn subscribed<P: Plugin>(rule: Rule, event: EventKind) -> Rule {
            match event {
                $(EventKind::$event => rule.$method(|session, payload| {
                    let session: types::Session = session.clone().into();
                    methods!(@$given P $method (&session) payload)
                }),)*
                // The contract has an event that this host does not know.
                _ => rule,
            }
        }
    };
    (@value $plugin:ident $method:ident ($session:expr) $payload:ident) => {
        $plugin::$method($session, &$payload.clone().into())
    };
    (@text $plugin:ident $method:ident ($session:expr) $payload:ident) => {
        $plugin::$method($session, $payload)
    };
    (@nothing $plugin:ident $method:ident ($session:expr) $payload:ident) => {{
        let _nothing = $payload;
        $plugin::$method($session).into_iter().map(Into::into).collect::<Vec<Task>>()
    }};
    (@list $plugin:ident $method:ident ($session:expr) $payload:ident) => {{
        let list: Vec<_> = $payload.iter().cloned().map(Into::into).collect();
        $plugin::$method($session, &list)
    }};
    (@outcome $plugin:ident $method:ident ($session:expr) $payload:ident) => {{
        let ToolOutcome { call, tool_result, source } = $payload.clone();
        $plugin::$method($session, &call.into(), &tool_result.into(), source.into())
    }};
    (@record $plugin:ident $method:ident ($session:expr) $payload:ident) => {
        $plugin::$method($session, &$payload.0)
    };
}

methods! {
    nothing SessionStart session_start;
    value SessionEnd session_end;
    text PromptSubmit prompt_submit;
    value TurnStart turn_start;
    value TurnEnd turn_end;
    value ProviderResolve provider_resolve;
    value BeforeInference before_inference;
    value RequestSend request_send;
    value ResponseReceive response_receive;
    text StreamDelta stream_delta;
    text StreamEnd stream_end;
    value AfterInference after_inference;
    value TokenUsage token_usage;
    text FinalizeContent finalize_content;
    list BeforeTools before_tools;
    value BeforeToolCall before_tool_call;
    outcome AfterToolCall after_tool_call;
    value SubagentStart subagent_start;
    value SubagentEnd subagent_end;
    value BeforeCompaction before_compaction;
    text AfterCompaction after_compaction;
    value TaskStart task_start;
    value PlanSubmit plan_submit;
    value TaskComplete task_complete;
    value PlanComplete plan_complete;
    value QueueEmpty queue_empty;
    text AgentError agent_error;
    value CustomEvent custom_event;
    record AuditRecord audit_record;
}

impl Rule {
    /// A plugin of the guest SDK. The events are those whose methods it writes, as in its component.
    ///
    /// Its version is that of its crate.
    #[must_use]
    pub fn of<P: Plugin + 'static>() -> Self {
        let events = P::EVENTS.iter().filter_map(|name| EventKind::from_name(name));
        let mut rule = events.fold(Self::new(), subscribed::<P>);
        if !P::VERSION.is_empty() {
            rule = rule.version(P::VERSION);
        }
        rule.configure = P::CONFIGURES.then(|| Arc::new(hookhost_guest::native::configure::<P>) as Arc<_>);
        rule.tools = P::BRINGS_TOOLS.then_some(Tools { list: list::<P>, call: call::<P> });
        rule
    }
}

fn list<P: Plugin>() -> Vec<[String; 3]> {
    let tools = P::tools().into_iter();
    tools.map(|tool| [tool.name, tool.description, tool.input_schema]).collect()
}

fn call<P: Plugin>(session: &Session, name: &str, arguments: &str) -> ToolResult {
    P::call_tool(&session.clone().into(), name, arguments).into()
}
