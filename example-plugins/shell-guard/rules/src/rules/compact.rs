//! Reads the output of `build/compact.rs`: rules and programs, without a tree of values in between.

use litemap::LiteMap;
use shell_words::text::Text;
use shell_words::words::Words;
use std::borrow::Cow;

#[path = "../../build/compact.rs"]
pub(super) mod encode;
#[path = "../../build/members.rs"]
pub(super) mod members;

use members::{END, ESCAPE, FIRST_MEMBER, ITEM, NUL};

/// The bytes that are not read yet.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Returns the next member of a table, as its index in the list of names. `Some(None)` is the end of the table.
    pub(super) fn member(&mut self) -> Option<Option<usize>> {
        match self.byte()? {
            END => Some(None),
            byte => byte.checked_sub(FIRST_MEMBER).map(usize::from).map(Some),
        }
    }

    /// Returns true if a list has another item.
    fn has_item(&mut self) -> Option<bool> {
        match self.byte()? {
            ITEM => Some(true),
            END => Some(false),
            _ => None,
        }
    }
}

/// A type that can be read. `None` means that the bytes do not come from the build script.
pub(super) trait Compact: Sized {
    fn read(input: &mut Input) -> Option<Self>;
}

impl<'a> Input<'a> {
    /// Returns the next text.
    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        // Few texts contain an escaped character.
        let first = self.0.iter().position(|byte| *byte <= ESCAPE)?;
        if self.0[first] == NUL {
            let text = &self.0[..first];
            self.0 = &self.0[first + 1..];
            return std::str::from_utf8(text).ok().map(Cow::Borrowed);
        }
        let end = self.0.iter().position(|byte| *byte == NUL)?;
        let (mut bytes, rest) = (&self.0[..end], &self.0[end + 1..]);
        self.0 = rest;
        let mut text = String::with_capacity(end);
        while let Some(at) = bytes.iter().position(|byte| *byte == ESCAPE) {
            text.push_str(std::str::from_utf8(&bytes[..at]).ok()?);
            let digits = std::str::from_utf8(bytes.get(at + 1..at + 7)?).ok()?;
            text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
            bytes = &bytes[at + 7..];
        }
        text.push_str(std::str::from_utf8(bytes).ok()?);
        Some(text.into())
    }

    /// Calls `act` with each text of a list.
    pub(super) fn texts(&mut self, mut act: impl FnMut(&str) -> Option<()>) -> Option<()> {
        while self.has_item()? {
            act(&self.text()?)?;
        }
        Some(())
    }
}

impl Compact for String {
    fn read(input: &mut Input) -> Option<Self> {
        input.text().map(Cow::into_owned)
    }
}

impl Compact for Text {
    fn read(input: &mut Input) -> Option<Self> {
        input.text().map(|text| Self::new(&text))
    }
}

impl Compact for Words {
    fn read(input: &mut Input) -> Option<Self> {
        Self::read(|push| input.texts(push))
    }
}

impl Compact for bool {
    fn read(input: &mut Input) -> Option<Self> {
        (input.byte()? == b't').then_some(true)
    }
}

impl Compact for i64 {
    fn read(input: &mut Input) -> Option<Self> {
        input.text()?.parse().ok()
    }
}

impl Compact for usize {
    fn read(input: &mut Input) -> Option<Self> {
        input.text()?.parse().ok()
    }
}

impl<T: Compact> Compact for Vec<T> {
    fn read(input: &mut Input) -> Option<Self> {
        let mut items = Self::new();
        while input.has_item()? {
            items.push(T::read(input)?);
        }
        Some(items)
    }
}

impl<T: Compact> Compact for LiteMap<Box<str>, T> {
    fn read(input: &mut Input) -> Option<Self> {
        let mut items = Self::new();
        while input.has_item()? {
            items.insert(String::read(input)?.into(), T::read(input)?);
        }
        Some(items)
    }
}

impl<T: Compact> Compact for Option<T> {
    fn read(input: &mut Input) -> Option<Self> {
        T::read(input).map(Some)
    }
}

impl<T: Compact> Compact for Box<T> {
    fn read(input: &mut Input) -> Option<Self> {
        T::read(input).map(Self::new)
    }
}

/// Implements [`Compact`] for a type whose members have the names in `$names`.
macro_rules! compact_table {
    ($type:ty, $names:expr, $($name:literal => $field:ident),+ $(,)?) => {
        impl $crate::rules::compact::Compact for $type {
            fn read(input: &mut $crate::rules::compact::Input) -> Option<Self> {
                let mut table = Self::default();
                while let Some(place) = input.member()? {
                    match *$names.get(place)? {
                        $($name => table.$field = $crate::rules::compact::Compact::read(input)?,)+
                        _ => return None,
                    }
                }
                Some(table)
            }
        }
    };
}

pub(super) use compact_table;
