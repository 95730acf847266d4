//! The contract's types in the form in which wasmtime passes them. This form has separate types, because the contract
//! and the programs that use it must not depend on wasmtime's traits. Values for a component borrow from the host's
//! values. Values from a component are converted to the contract's types.

#[rustfmt::skip]
mod generated;

use crate::contract::Json;
use wasmtime::component::{ComponentNamedList, ComponentType, Lift, Lower};

/// A value that can be passed to a component.
pub(crate) trait Given {
    /// The form in which wasmtime passes the value.
    type Wire<'a>: ComponentType + Lower + Send + Sync
    where
        Self: 'a;

    fn given(&self) -> Self::Wire<'_>;
}

/// A value that a component can return.
pub(crate) trait Answered: Sized {
    /// The form in which wasmtime passes the value.
    type Wire: ComponentType + Lift + Send + Sync + 'static;

    /// # Errors
    /// Returns a description of the mistake in the value, which completes the sentence "the plugin …". The only
    /// possible mistake is a string that is not JSON although the contract requires JSON.
    fn answered(wire: Self::Wire) -> Result<Self, String>;
}

/// The results of a function of a component: nothing, or one value.
pub(crate) trait Answer: Sized {
    /// The form in which wasmtime passes the value.
    type Wire: ComponentNamedList + Lift + Send + Sync + 'static;

    /// # Errors
    /// The errors of [`Answered::answered`].
    fn answer(wire: Self::Wire) -> Result<Self, String>;
}

/// The form in which wasmtime passes a value to a component.
pub(crate) type In<'a, T> = <T as Given>::Wire<'a>;

/// The form in which wasmtime passes a value from a component.
pub(crate) type Out<T> = <T as Answered>::Wire;

impl Given for String {
    type Wire<'a> = &'a str;

    fn given(&self) -> &str {
        self
    }
}

impl Answered for String {
    type Wire = Self;

    fn answered(wire: Self) -> Result<Self, String> {
        Ok(wire)
    }
}

impl Given for Json {
    type Wire<'a> = &'a str;

    fn given(&self) -> &str {
        self
    }
}

impl Answered for Json {
    type Wire = String;

    fn answered(wire: String) -> Result<Self, String> {
        json("a value", wire)
    }
}

/// Checks that a string which a component has returned is JSON. `name` is the name of its field or case.
fn json(name: &str, text: String) -> Result<Json, String> {
    Json::new(text).map_err(|error| format!("answered with `{name}` that is not JSON: {error}"))
}

macro_rules! scalars {
    ($($scalar:ty),*) => {$(
        impl Given for $scalar {
            type Wire<'a> = Self;

            fn given(&self) -> Self {
                *self
            }
        }

        impl Answered for $scalar {
            type Wire = Self;

            fn answered(wire: Self) -> Result<Self, String> {
                Ok(wire)
            }
        }
    )*};
}

scalars!(bool, u32, u64);

impl<T: Given + 'static> Given for Vec<T> {
    type Wire<'a> = Vec<In<'a, T>>;

    fn given(&self) -> Vec<In<'_, T>> {
        self.iter().map(T::given).collect()
    }
}

impl<T: Answered> Answered for Vec<T> {
    type Wire = Vec<Out<T>>;

    fn answered(wire: Self::Wire) -> Result<Self, String> {
        wire.into_iter().map(T::answered).collect()
    }
}

impl<T: Given + 'static> Given for Option<T> {
    type Wire<'a> = Option<In<'a, T>>;

    fn given(&self) -> Option<In<'_, T>> {
        self.as_ref().map(T::given)
    }
}

impl<T: Answered> Answered for Option<T> {
    type Wire = Option<Out<T>>;

    fn answered(wire: Self::Wire) -> Result<Self, String> {
        wire.map(T::answered).transpose()
    }
}

impl Answer for () {
    type Wire = ();

    fn answer((): ()) -> Result<Self, String> {
        Ok(())
    }
}

impl<T: Answered> Answer for (T,) {
    type Wire = (Out<T>,);

    fn answer((wire,): Self::Wire) -> Result<Self, String> {
        Ok((T::answered(wire)?,))
    }
}
