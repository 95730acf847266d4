//! Converts a plugin of the guest SDK to a native rule. The same Rust type can also be built as a component.

use super::*;
use hookhost_guest::{Plugin, types};
use std::fmt::Display;

/// Converts the payload of an event to the SDK's types, calls the plugin's method, and converts the answer.
macro_rules! methods {
    ($($shape:ident $given:ident $event:ident $method:ident($payload:ty) $(-> $answer:ty)?;)*) => {
        fn subscribed<P: Plugin>(rule: Rule, event: EventKind) -> Rule {
            match event {
                $(EventKind::$event => rule.on(EventKind::$event, |session: &Session, payload: &$payload| {
                    let session: types::Session = session.clone().into();
                    let answer = methods!(@$given P $method (&session) payload);
                    methods!(@answered answer $($answer)?)
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
    (@answered $nothing:ident) => {
        Ok($nothing)
    };
    (@answered $answer:ident $type:ty) => {
        answered::<_, $type>($answer).map(|answer| (answer,))
    };
}

every_event!(methods);

/// Converts an answer from the SDK's type to the host's type.
///
/// # Errors
/// If a part of the answer must be JSON but is not.
fn answered<S, T: TryFrom<S, Error: Display>>(answer: S) -> Result<T, String> {
    T::try_from(answer).map_err(|error| error.to_string())
}

impl Rule {
    /// Creates a rule from a plugin of the guest SDK. Like a component, the rule is asked about the events whose
    /// methods the plugin implements.
    ///
    /// The version of the rule is the version of the plugin's crate.
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

fn call<P: Plugin>(session: &Session, name: &str, arguments: &str) -> Result<ToolResult, String> {
    answered(P::call_tool(&session.clone().into(), name, arguments))
}
