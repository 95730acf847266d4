//! Amounts with units, as written in the file: counts, sizes and times. An amount is never zero, negative or out of
//! range.

use std::{
    fmt,
    marker::PhantomData,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    time::Duration,
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

/// The names of units, from the largest to the smallest. Each unit has its size, as a multiple of the smallest unit of
/// the same kind.
type Units = &'static [(&'static str, u64)];

/// A kind of quantity and its notation.
pub(super) trait Kind {
    /// A description of the expected value, with an example.
    const EXPECTED: &str;
    const UNITS: Units;
    /// True if a number without a unit is valid.
    const PLAIN: bool;
}

/// A count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Things;

impl Kind for Things {
    const EXPECTED: &str = "a whole number, 1 or more";
    const UNITS: Units = &[];
    const PLAIN: bool = true;
}

/// A size, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bytes;

impl Kind for Bytes {
    const EXPECTED: &str = "a size such as \"16MiB\", or a number of bytes";
    const UNITS: Units = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
    const PLAIN: bool = true;
}

/// A time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time;

impl Kind for Time {
    const EXPECTED: &str = "a time with its unit, such as \"100ms\"";
    const UNITS: Units = &[("h", HOUR), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];
    const PLAIN: bool = false;
}

const HOUR: u64 = 3_600_000_000;

/// An amount from `MIN` to `MAX`, in the smallest unit of the kind. `MIN` is not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity<K, const MAX: u64, const MIN: u64 = 1>(NonZeroU64, PhantomData<K>);

pub(super) type Count64 = Quantity<Things, { i64::MAX as u64 }>;
pub(super) type Count32 = Quantity<Things, { u32::MAX as u64 }>;
pub(super) type TableElements = Quantity<Things, 1_000_000>;
pub(super) type Tables = Quantity<Things, 100>;
pub(super) type Instances = Quantity<Things, 200>;
pub(super) type Handles = Quantity<Things, 100_000>;
/// A number of concurrent calls.
pub(super) type Concurrent = Quantity<Things, 256>;
pub(super) type Size = Quantity<Bytes, { 1 << 30 }>;
pub(super) type Memory = Quantity<Bytes, { 4 << 30 }>;
pub(super) type UpToAnHour = Quantity<Time, HOUR>;
pub(super) type UpToADay = Quantity<Time, { 24 * HOUR }>;
/// The maximum size of one value in the log. The maximum cannot be less than 1 KiB, because the log contains the first
/// KiB of a larger value.
pub(super) type RecordedSize = Quantity<Bytes, { 64 << 20 }, { 1 << 10 }>;

impl<K: Kind, const MAX: u64, const MIN: u64> Quantity<K, MAX, MIN> {
    pub(super) fn new(amount: u64) -> Result<Self, String> {
        match NonZeroU64::new(amount) {
            Some(amount) if amount.get() < MIN => Err(format!("out of range: the least is {}", show::<K>(MIN))),
            Some(amount) if amount.get() <= MAX => Ok(Self(amount, PhantomData)),
            Some(_) => Err(Self::too_much()),
            None => {
                Err(format!("0 is never \"unlimited\": give {}, or leave the key out for the default", K::EXPECTED))
            }
        }
    }

    pub(super) const fn get(self) -> NonZeroU64 {
        self.0
    }

    /// Reads a field whose type implements [`Amount`], for serde's `with`.
    pub(super) fn deserialize<'de, T: Amount, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        <Self as Deserialize>::deserialize(deserializer).map(|quantity| T::of(quantity.get()))
    }

    /// Writes a field whose type implements [`Amount`], for serde's `with`. A value that is out of range is written,
    /// too. Reading it back fails with an error that names the key.
    pub(super) fn serialize<T: Amount, S: Serializer>(field: &T, serializer: S) -> Result<S::Ok, S::Error> {
        match field.amount() {
            Some(amount) if K::UNITS.is_empty() => serializer.serialize_u64(amount),
            Some(amount) => serializer.serialize_str(&show::<K>(amount)),
            None => serializer.serialize_none(),
        }
    }

    fn too_much() -> String {
        format!("out of range: the most is {}", show::<K>(MAX))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let unreadable = || format!("{text:?} is not {}", K::EXPECTED);
        let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = text[number.len()..].trim_start();
        let (_, scale) = K::UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(unreadable)?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(unreadable());
        }
        let amount = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*scale));
        Self::new(amount.ok_or_else(Self::too_much)?)
    }
}

/// Formats an amount as a whole number, in the largest unit for which the number is whole.
fn show<K: Kind>(amount: u64) -> String {
    match K::UNITS.iter().find(|(_, scale)| amount.is_multiple_of(*scale)) {
        Some((unit, scale)) => format!("{}{unit}", amount / scale),
        None => amount.to_string(),
    }
}

/// The type of a field that contains an amount.
pub(super) trait Amount: Sized {
    fn of(amount: NonZeroU64) -> Self;

    fn amount(&self) -> Option<u64>;
}

impl Amount for NonZeroU64 {
    fn of(amount: NonZeroU64) -> Self {
        amount
    }

    fn amount(&self) -> Option<u64> {
        Some(self.get())
    }
}

impl Amount for NonZeroU32 {
    fn of(amount: NonZeroU64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }

    fn amount(&self) -> Option<u64> {
        Some(self.get().into())
    }
}

impl Amount for NonZeroUsize {
    /// On a host with 32-bit addresses, 4 GiB does not fit into `usize`, so the amount becomes `usize::MAX`.
    fn of(amount: NonZeroU64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }

    fn amount(&self) -> Option<u64> {
        Some(self.get() as u64)
    }
}

/// The amount is in microseconds.
impl Amount for Duration {
    fn of(amount: NonZeroU64) -> Self {
        Self::from_micros(amount.get())
    }

    fn amount(&self) -> Option<u64> {
        Some(u64::try_from(self.as_micros()).unwrap_or(u64::MAX))
    }
}

/// A field that is `None` is not written.
impl<T: Amount> Amount for Option<T> {
    fn of(amount: NonZeroU64) -> Self {
        Some(T::of(amount))
    }

    fn amount(&self) -> Option<u64> {
        self.as_ref().and_then(T::amount)
    }
}

impl<K: Kind, const MAX: u64, const MIN: u64> fmt::Display for Quantity<K, MAX, MIN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show::<K>(self.0.get()))
    }
}

impl<K: Kind, const MAX: u64, const MIN: u64> Serialize for Quantity<K, MAX, MIN> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if K::UNITS.is_empty() { serializer.serialize_u64(self.0.get()) } else { serializer.collect_str(self) }
    }
}

impl<'de, K: Kind, const MAX: u64, const MIN: u64> Deserialize<'de> for Quantity<K, MAX, MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

struct Reader<K, const MAX: u64, const MIN: u64>(PhantomData<K>);

impl<K: Kind, const MAX: u64, const MIN: u64> Visitor<'_> for Reader<K, MAX, MIN> {
    type Value = Quantity<K, MAX, MIN>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::EXPECTED)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        let Ok(amount) = u64::try_from(number) else {
            return Err(E::custom(format!("{number} is negative: give {}", K::EXPECTED)));
        };
        if amount != 0 && !K::PLAIN {
            return Err(E::custom(format!("{number} has no unit: give {}", K::EXPECTED)));
        }
        Quantity::new(amount).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_i64(i64::try_from(number).map_err(E::custom)?)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        if K::UNITS.is_empty() {
            return Err(E::invalid_type(de::Unexpected::Str(text), &self));
        }
        Quantity::parse(text).map_err(E::custom)
    }
}
