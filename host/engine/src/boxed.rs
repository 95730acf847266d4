//! Futures in boxes.

use std::pin::Pin;

/// The future that `make` makes, in a box whose memory is there before: it is made in its place. `Box::pin` makes it on the stack and
/// copies all of it, also the room that it does not use yet.
#[inline]
pub(crate) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let place = Box::new_uninit();
    Box::into_pin(Box::write(place, make()))
}
