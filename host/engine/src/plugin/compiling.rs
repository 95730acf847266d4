//! Compiling, on a thread of its own: nobody else waits for it, and nobody waits for it for ever.
//!
//! A compilation that takes too long is given up, not stopped, since wasmtime cannot stop one. What it can still cost is
//! bounded by what `bounds` lets through.

use super::ContractError;
use super::contract_check::compile;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::oneshot;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Wall time for one component. The largest that people use take ten seconds on a slow machine.
pub(super) const WITHIN: Duration = Duration::from_secs(60);

type Compiled = Result<Component, ContractError>;

/// Compiles a component within a time, while other tasks go on.
///
/// # Errors
/// If it is not one, or takes longer.
pub(super) async fn compile_within(engine: &Engine, bytes: &[u8], within: Duration) -> Compiled {
    let (send, receive) = oneshot::channel();
    start(engine, bytes, move |compiled| drop(send.send(compiled)))?;
    match tokio::time::timeout(within, receive).await {
        Ok(compiled) => compiled.unwrap_or_else(|_| Err(gave_up())),
        Err(_) => Err(ContractError::TooSlow(within)),
    }
}

/// The same, where nobody else waits.
///
/// # Errors
/// If it is not a component, or takes longer.
pub(super) fn compile_here(engine: &Engine, bytes: &[u8]) -> Compiled {
    let (send, receive) = mpsc::sync_channel(1);
    start(engine, bytes, move |compiled| drop(send.send(compiled)))?;
    match receive.recv_timeout(WITHIN) {
        Ok(compiled) => compiled,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(ContractError::TooSlow(WITHIN)),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(gave_up()),
    }
}

/// Not one of the runtime's threads: a process that ends waits for those.
fn start(engine: &Engine, bytes: &[u8], done: impl FnOnce(Compiled) + Send + 'static) -> Result<(), ContractError> {
    let (engine, bytes) = (engine.clone(), bytes.to_vec());
    let thread = std::thread::Builder::new().name("hookhost-compile".into());
    let compile = move || {
        // The bytes are a stranger's: a panic of the compiler must not become the host's.
        done(catch_unwind(AssertUnwindSafe(|| compile(&engine, &bytes))).unwrap_or_else(|_| Err(gave_up())));
    };
    match thread.spawn(compile) {
        Ok(_) => Ok(()),
        Err(error) => Err(ContractError::Invalid(format!("there is no thread to compile it on: {error}"))),
    }
}

fn gave_up() -> ContractError {
    ContractError::Invalid("the compiler gave up on it".into())
}

#[cfg(test)]
mod tests {
    use super::{ContractError, compile_within};
    use std::time::Duration;
    use wasmtime::Engine;

    #[tokio::test]
    async fn a_compilation_that_takes_too_long_is_given_up_with_a_sentence() {
        let component = wat::parse_str("(component)").unwrap();
        assert!(compile_within(&Engine::default(), &component, Duration::from_secs(60)).await.is_ok());
        // Many functions, so that it is not over before anybody looks.
        let functions = "(func (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))".repeat(2_000);
        let component = wat::parse_str(format!("(component (core module {functions}))")).unwrap();
        let refused = compile_within(&Engine::default(), &component, Duration::from_millis(1)).await;
        let Err(error @ ContractError::TooSlow(_)) = refused else { panic!("it was compiled") };
        assert_eq!(error.to_string(), "is not loaded, since it takes longer than 1ms to compile");
    }

    #[tokio::test]
    async fn others_go_on_while_one_is_compiled() {
        let functions = "(func (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))".repeat(500);
        let component = wat::parse_str(format!("(component (core module {functions}))")).unwrap();
        let engine = Engine::default();
        let turns = async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        };
        // On one thread: were it compiled there, it would be ready at once.
        tokio::select! {
            biased;
            _ = compile_within(&engine, &component, Duration::from_secs(60)) => panic!("nobody else had a turn"),
            () = turns => {}
        }
    }
}
