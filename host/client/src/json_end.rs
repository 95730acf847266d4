//! Finds the end of a JSON text that arrives in chunks.

/// A scanner that finds the end of the outermost object or array, and reads each byte only once. The scanner recognises
/// only brackets and strings, and does not validate the text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JsonEnd {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    is_found: bool,
}

impl JsonEnd {
    /// Scans the next chunk.
    pub(crate) fn look_through(&mut self, piece: &[u8]) {
        for byte in piece {
            match byte {
                _ if std::mem::take(&mut self.is_escaped) => {}
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_found |= self.depth == 0;
                }
                _ => {}
            }
        }
    }

    /// Returns true if the outermost object or array is closed.
    pub(crate) fn is_found(self) -> bool {
        self.is_found
    }
}

#[cfg(test)]
mod tests {
    use super::JsonEnd;
    use proptest::prelude::*;
    use serde_json::Value;

    fn is_whole(pieces: &[&[u8]]) -> bool {
        let mut end = JsonEnd::default();
        pieces.iter().for_each(|piece| end.look_through(piece));
        end.is_found()
    }

    #[test]
    fn a_text_ends_with_its_outermost_bracket_and_no_bracket_within_a_string_counts() {
        for whole in [&b"{}"[..], b"\xef\xbb\xbf {\"a\": [\"}\", \"\\\"}\", \"\\\\\"]}", b"[{}] ", b"x{}", b"}"] {
            assert!(is_whole(&[whole]), "{}", String::from_utf8_lossy(whole));
        }
        for part in [&b""[..], b" ", b"{\"a\": {}", b"{\"}", b"{\"\\\"}", b"12", b"\"{}\""] {
            assert!(!is_whole(&[part]), "{}", String::from_utf8_lossy(part));
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
            r#"[\\\\"{}\[\]]*"#.prop_map(Value::from)
        ];
        let within = leaf.prop_recursive(4, 24, 4, |value| {
            prop_oneof![
                prop::collection::vec(value.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".*", value), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        });
        prop::collection::vec((".*", within), 0..4).prop_map(|members| Value::Object(members.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn the_end_of_an_object_is_its_last_byte_however_it_is_cut(object in json(), cut in any::<prop::sample::Index>()) {
            let text = object.to_string().into_bytes();
            let (first, second) = text.split_at(cut.index(text.len()));
            prop_assert!(!is_whole(&[first]));
            prop_assert!(is_whole(&[first, second]));
        }
    }
}
