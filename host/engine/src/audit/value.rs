//! State values in a record.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes of a state value: in JSON a text where they are UTF-8, else `{"hex": "00ff…"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl From<String> for Bytes {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    Text(std::borrow::Cow<'a, str>),
    Hex { hex: String },
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match std::str::from_utf8(&self.0) {
            Ok(text) => Written::Text(text.into()),
            Err(_) => Written::Hex { hex: self.0.iter().map(|byte| format!("{byte:02x}")).collect() },
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into_owned().into_bytes())),
            Written::Hex { hex } => {
                let digits: Option<Vec<u8>> = hex.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
                let digits = digits.filter(|digits| digits.len() % 2 == 0);
                let digits = digits.ok_or_else(|| de::Error::custom("`hex` is not pairs of hexadecimal digits"))?;
                Ok(Self(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
            }
        }
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
        fn every_value_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let json = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().0, bytes);
        }
    }
}
