//! Futures in boxes. What few events wait for is in a box of its own: the future of each event would else have room for it, and
//! would be copied with that room.

use std::pin::Pin;

/// Makes a future in its box. `Box::pin` makes it on the stack and copies all of it, also the room that it does not use yet.
#[inline]
pub(crate) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let place = Box::new_uninit();
    Box::into_pin(Box::write(place, make()))
}
