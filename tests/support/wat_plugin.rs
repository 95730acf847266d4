//! Builds a plugin that subscribes to `prompt-submit`, in the text format of components. Tests can change every type of its export.

/// The parts that tests change. The default is the contract's form; its `handle` traps.
#[derive(Clone, Copy, Debug)]
pub struct WatPlugin<'a> {
    /// An import besides the types. It is not used.
    pub import: Option<&'a str>,
    /// The exported interface.
    pub interface: &'a str,
    /// Fields after those of `session`.
    pub more_session: &'a str,
    /// The case `reject` of the verdict.
    pub reject: &'a str,
}

impl Default for WatPlugin<'_> {
    fn default() -> Self {
        Self { import: None, interface: "prompt-submit", more_session: "", reject: r#"(case "reject" $refusal)"# }
    }
}

impl WatPlugin<'_> {
    pub fn build(self) -> Vec<u8> {
        let Self { import, interface, more_session, reject } = self;
        let import = import.map(|name| format!(r#"(import "{name}" (instance))"#)).unwrap_or_default();
        // Each additional field that is no text is one more parameter of the core function.
        let more_parameters = "i32 ".repeat(more_session.matches("(field").count());
        let text = format!(
            r#"(component
                {import}
                (import "hookhost:hooks/types@0.1.0" (instance $types
                    (type $session-record (record
                        (field "id" string) (field "agent" string) (field "turn" u32) (field "depth" u32)
                        (field "cwd" string) (field "workspace" string) (field "interactive" bool) {more_session}))
                    (export "session" (type $session (eq $session-record)))
                    (type $code (option string))
                    (type $refusal-record (record
                        (field "reason" string) (field "code" $code) (field "retryable" bool) (field "stop" bool)))
                    (export "refusal" (type $refusal (eq $refusal-record)))
                    (type $verdict-variant (variant (case "keep") (case "replace" string) {reject}))
                    (export "text-verdict" (type $verdict (eq $verdict-variant)))))
                (alias export $types "session" (type $session))
                (alias export $types "text-verdict" (type $verdict))
                (core module $module
                    (memory (export "memory") 1)
                    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
                    (func (export "handle")
                        (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 {more_parameters} i32 i32) (result i32)
                        unreachable))
                (core instance $instance (instantiate $module))
                (func $handle (param "session" $session) (param "prompt" string) (result $verdict)
                    (canon lift (core func $instance "handle")
                        (memory (core memory $instance "memory")) (realloc (core func $instance "realloc"))))
                (instance $event (export "handle" (func $handle)))
                (export "hookhost:hooks/{interface}@0.1.0" (instance $event)))"#
        );
        wat::parse_str(text).expect("the text of a component")
    }
}
