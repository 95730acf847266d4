//! Creates boxed futures. The future for work that few events need is boxed. Otherwise the future of every event would
//! contain space for this work, and this space would be copied each time the event's future is moved.

use std::pin::Pin;

/// Creates a future directly in its box. `Box::pin` creates the future on the stack and then copies all of it,
/// including the space that it does not use yet.
#[inline]
pub(crate) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let place = Box::new_uninit();
    Box::into_pin(Box::write(place, make()))
}
