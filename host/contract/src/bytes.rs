//! State values in JSON, and the size of values as JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The bytes of a state value. In JSON, valid UTF-8 is a string, and other bytes are `{"hex": "00ff…"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl From<String> for Bytes {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum InJson<'a> {
    Text(std::borrow::Cow<'a, str>),
    Hex { hex: String },
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match std::str::from_utf8(&self.0) {
            Ok(text) => InJson::Text(text.into()),
            Err(_) => InJson::Hex { hex: self.0.iter().map(|byte| format!("{byte:02x}")).collect() },
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match InJson::deserialize(deserializer)? {
            InJson::Text(text) => Ok(Self(text.into_owned().into_bytes())),
            InJson::Hex { hex } => {
                let digits: Option<Vec<u8>> = hex.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
                let digits = digits.filter(|digits| digits.len() % 2 == 0);
                let digits = digits.ok_or_else(|| de::Error::custom("`hex` is not pairs of hexadecimal digits"))?;
                Ok(Self(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
            }
        }
    }
}

/// Returns the size of a value as JSON in bytes, including escapes. This is the size in the log.
#[must_use]
pub fn written_size<T: Serialize + ?Sized>(value: &T) -> usize {
    struct Counts(usize);
    impl std::io::Write for Counts {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counts = Counts(0);
    // Hookhost's values can always be written as JSON. Any other value is treated as too large.
    serde_json::to_writer(&mut counts, value).map_or(usize::MAX, |()| counts.0)
}

/// Returns the size of a state value as JSON in bytes, as a string or as hexadecimal digits.
#[must_use]
pub fn bytes_size(value: &[u8]) -> usize {
    match std::str::from_utf8(value) {
        Ok(text) => written_size(text),
        Err(_) => r#"{"hex":""}"#.len() + 2 * value.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;
    use proptest::prelude::*;

    #[test]
    fn text_reads_as_text_and_other_bytes_as_hexadecimal_digits() {
        assert_eq!(serde_json::to_string(&Bytes(b"12".to_vec())).unwrap(), "\"12\"");
        assert_eq!(serde_json::to_string(&Bytes(vec![0, 255])).unwrap(), r#"{"hex":"00ff"}"#);
        assert!(serde_json::from_str::<Bytes>(r#"{"hex":"0g"}"#).is_err());
        assert!(serde_json::from_str::<Bytes>(r#"{"hex":"012"}"#).is_err());
    }

    proptest! {
        #[test]
        fn a_size_is_that_of_the_json(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let json = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
            prop_assert_eq!(super::bytes_size(&bytes), json.len());
            prop_assert_eq!(super::written_size(&Bytes(bytes)), json.len());
        }

        #[test]
        fn every_value_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let json = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().0, bytes);
        }
    }
}
