//! Replaces images, sounds and other binary data in values with markers before plugins see them. Base64 would be the
//! largest part of a rule's input, and a rule cannot learn anything from it. The agent still receives the data, unless
//! a plugin replaced that part of the value.

use crate::config::Digest;
use crate::contract::Json;
use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Minimum length of base64 that is replaced, in characters. A shorter string is never replaced. Otherwise an agent
/// could hide a text from the rules by declaring it as an image.
pub(crate) const MIN_LENGTH: usize = 4 * 1024;

/// The beginning of a marker. JSON does not escape its characters. If a value already contains this text, none of its
/// data is replaced, so every marker in a plugin's input comes from the host.
const MARKER: &str = "[hookhost:binary ";
const END: char = ']';

/// Keys whose value describes the other members of the same object. They are written in lower case and without `-` and
/// `_`.
const KIND_KEYS: [&str; 5] = ["type", "mimetype", "mediatype", "contenttype", "format"];

/// Keys of members that contain binary data, spelled as in [`KIND_KEYS`]. Members such as `text` or `stdout` are not
/// listed, because a model reads them as text even if the object declares another type.
const DATA_KEYS: [&str; 5] = ["data", "blob", "bytes", "base64", "b64json"];

/// Words for binary data that providers and agents use instead of media types.
const KINDS: [&str; 14] = [
    "image",
    "input_image",
    "image_url",
    "audio",
    "input_audio",
    "video",
    "pdf",
    "png",
    "jpeg",
    "jpg",
    "gif",
    "webp",
    "wav",
    "mp3",
];

/// Maximum number of bytes between the beginning of a `data:` URL and its data. The media type must be within this
/// distance.
const MAX_URL_HEAD: usize = 128;

/// The binary data that was removed from a value. Each marker maps to its data and to the number of occurrences that
/// were removed.
#[derive(Debug, Default)]
pub(crate) struct Binary {
    data: HashMap<String, (String, usize)>,
    /// The number of bytes that the value lost when the binary data was removed.
    saved: usize,
}

impl Binary {
    /// Removes binary data from a value. In `json`, a member of an object can declare that its siblings are binary
    /// data. `text` may repeat the same data or contain data in `data:` URLs. Returns `None` if there is no binary
    /// data.
    pub(crate) fn of(json: Option<&Json>, text: &str) -> Option<(Self, Option<Json>, String)> {
        let written = json.map_or("", Json::as_str);
        // Most values have no binary data, so check for it before parsing JSON.
        if ![written, text].iter().any(|text| runs(text).next().is_some()) {
            return None;
        }
        if [written, text].iter().any(|text| text.contains(MARKER)) {
            return None;
        }
        let value: Value = json.and_then(|json| json.read().ok()).unwrap_or_default();
        let mut kinds = HashMap::new();
        find(&value, None, &mut kinds);
        let mut binary = Self::default();
        let (text, written) = (binary.leave_out(text, &kinds), binary.leave_out(written, &kinds));
        if binary.data.is_empty() {
            return None;
        }
        // A marker needs no escaping and replaces only a part of a string, so the text is still JSON.
        let json = json.map(|_| Json::new(written)).transpose().ok()?;
        Some((binary, json, text))
    }

    /// Like [`Self::of`], for JSON without a second text.
    pub(crate) fn of_json(json: &Json) -> Option<(Self, Json)> {
        let (binary, json, _) = Self::of(Some(json), "")?;
        Some((binary, json?))
    }

    /// Returns the number of bytes by which the value is smaller without the binary data.
    pub(crate) fn saved(&self) -> usize {
        self.saved
    }

    fn leave_out(&mut self, text: &str, kinds: &HashMap<&str, (&str, usize)>) -> String {
        let mut out = String::new();
        let mut copied = 0;
        let mut times: HashMap<&str, usize> = HashMap::new();
        runs(text).for_each(|at| *times.entry(&text[at]).or_default() += 1);
        for at in runs(text) {
            let (run, before) = (&text[at.clone()], &text[copied..at.start]);
            let is_whole = |before: &str| before.ends_with('"') && text[at.end..].starts_with('"');
            // Use the described kind only if all occurrences of the data are described. A model may read an occurrence
            // that is not described as text.
            let said = kinds.get(run).filter(|(_, found)| is_whole(before) && times.get(run) == Some(found));
            let kind = said
                .map(|(kind, _)| *kind)
                .or_else(|| data_url(before).filter(|(_, head)| is_whole(head)).map(|(kind, _)| kind));
            let Some(marker) = kind.and_then(|kind| marker(kind, run)) else { continue };
            out.push_str(before);
            out.push_str(&marker);
            copied = at.end;
            self.saved += run.len() - marker.len();
            self.data.entry(marker).or_insert_with(|| (run.to_owned(), 0)).1 += 1;
        }
        out.push_str(&text[copied..]);
        out
    }

    /// Puts the data back in place of each unchanged marker. A piece of data is put back at most as often as it was
    /// removed. So the value is never larger than the original data and the plugin's own text together.
    pub(crate) fn put_back(&mut self, text: &mut String) {
        if !text.contains(MARKER) {
            return;
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find(MARKER) {
            let end = rest[start..].find(END).map_or(rest.len(), |length| start + length + 1);
            out.push_str(&rest[..start]);
            match self.data.get_mut(&rest[start..end]) {
                Some((data, times)) if *times > 0 => {
                    *times -= 1;
                    out.push_str(data);
                }
                _ => out.push_str(&rest[start..end]),
            }
            rest = &rest[end..];
        }
        out.push_str(rest);
        *text = out;
    }

    /// Like [`Self::put_back`], for JSON.
    pub(crate) fn put_back_json(&mut self, json: &mut Json) {
        let mut text = json.as_str().to_owned();
        self.put_back(&mut text);
        // Base64 needs no escaping, so the text is still JSON.
        if let Ok(whole) = Json::new(text) {
            *json = whole;
        }
    }
}

/// Finds the strings that are declared as binary data by a sibling, or by a member of the object one level further out.
fn find<'a>(value: &'a Value, around: Option<&'a str>, kinds: &mut HashMap<&'a str, (&'a str, usize)>) {
    match value {
        Value::Object(members) => {
            let said = kind_of(members);
            let kind = said.unwrap_or(around);
            for (key, member) in members {
                match (member, kind) {
                    (Value::String(text), Some(kind)) if text.len() >= MIN_LENGTH && is_one_of(key, &DATA_KEYS) => {
                        kinds.entry(text).or_insert((kind, 0)).1 += 1;
                    }
                    _ => find(member, said.flatten(), kinds),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| find(value, None, kinds)),
        _ => {}
    }
}

/// Returns the kind of binary data that an object declares. Returns `Some(None)` if the object declares something that
/// is not binary data, and `None` if it declares nothing.
fn kind_of(members: &Map<String, Value>) -> Option<Option<&str>> {
    let said = members.iter().filter(|(key, _)| is_one_of(key, &KIND_KEYS)).filter_map(|(_, value)| value.as_str());
    // Prefer a media type, because it is more precise than a word.
    let (media_types, words): (Vec<&str>, Vec<&str>) = said.partition(|kind| kind.contains('/'));
    match (media_types.first(), words.is_empty()) {
        (None, true) => None,
        (None, false) => Some(words.into_iter().find(|word| is_binary(word))),
        (Some(first), _) => Some(media_types.iter().all(|kind| is_binary(kind)).then_some(first)),
    }
}

fn is_one_of(key: &str, keys: &[&str]) -> bool {
    let key: String = key.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    keys.contains(&key.as_str())
}

/// Returns true if a rule cannot read data of this kind. `kind` is a media type, or a word in place of a media type.
/// SVG is text, so it is not binary.
fn is_binary(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let is_media = ["image/", "audio/", "video/"].iter().any(|class| kind.starts_with(class)) && !kind.contains("xml");
    is_media
        || ["application/pdf", "application/octet-stream"].contains(&kind.as_str())
        || KINDS.contains(&kind.as_str())
}

/// Returns the media type of a `data:` URL whose data begins after `before`, and the text before the URL.
fn data_url(before: &str) -> Option<(&str, &str)> {
    let head = before.strip_suffix(";base64,")?;
    let start = (head.len().saturating_sub(MAX_URL_HEAD)..).find(|&start| head.is_char_boundary(start))?;
    let (outside, media_type) = head[start..].rsplit_once("data:")?;
    let media_type = media_type.split(';').next().unwrap_or_default();
    (media_type.contains('/') && is_binary(media_type)).then_some((media_type, outside))
}

/// Returns the ranges of long strings that may be base64.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    let places = text.as_bytes().chunk_by(move |one, next| is_base64(one) == is_base64(next)).scan(0, |at, run| {
        let start = *at;
        *at += run.len();
        Some(start..*at)
    });
    places.filter(move |at| at.len() >= MIN_LENGTH && is_base64(&text.as_bytes()[at.start]))
}

/// Returns the marker for base64 of binary data. Returns `None` if the string is not base64, or if it encodes text,
/// which a rule may want to read.
fn marker(kind: &str, base64: &str) -> Option<String> {
    let read = |alphabet: &Alphabet| {
        let any_padding = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        GeneralPurpose::new(alphabet, any_padding).decode(base64).ok()
    };
    let bytes = read(&STANDARD).or_else(|| read(&URL_SAFE))?;
    if std::str::from_utf8(&bytes).is_ok() {
        return None;
    }
    let mut marker = MARKER.to_owned();
    // The kind comes from the value and is untrusted, so use only harmless characters of it.
    marker.extend(
        kind.chars().filter(|&c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '+' | '-' | '_')).take(40),
    );
    let _ = write!(marker, ", {} bytes, sha256 {}{END}", bytes.len(), Digest::of_bytes(&bytes));
    Some(marker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns base64 of bytes that are not text.
    fn picture(length: usize) -> String {
        let bytes: Vec<u8> = (0..length).map(|at| 0x80 | (at % 127) as u8).collect();
        base64::prelude::BASE64_STANDARD.encode(bytes)
    }

    fn without(value: &Value) -> Option<String> {
        Binary::of_json(&Json::from(value)).map(|(_, json)| json.as_str().to_owned())
    }

    #[test]
    fn binary_data_is_left_out_wherever_agents_and_providers_have_it() {
        let data = picture(9_000);
        let url = format!("data:image/png;base64,{data}");
        for value in [
            json!({ "type": "image", "file": { "base64": data, "type": "image/png", "originalSize": 9_000 } }),
            json!({ "type": "pdf", "file": { "filePath": "/a.pdf", "base64": data } }),
            json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }] }),
            json!({ "content": [{ "type": "audio", "data": data, "mimeType": "audio/wav" }] }),
            json!({ "content": [{ "type": "resource", "resource": { "uri": "a:b", "mimeType": "application/pdf", "blob": data } }] }),
            json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } }]),
            json!([{ "type": "image_url", "image_url": { "url": url } }]),
            json!([{ "type": "input_audio", "input_audio": { "data": data, "format": "wav" } }]),
            json!([{ "inlineData": { "mimeType": "image/png", "data": data } }]),
            json!([{ "image": { "format": "png", "source": { "bytes": data } } }]),
        ] {
            let written = value.to_string();
            let (mut binary, json, text) =
                Binary::of(Some(&Json::from(&value)), &written).unwrap_or_else(|| panic!("{value}"));
            let mut json = json.unwrap();
            assert_eq!(json.as_str(), text);
            assert!(!text.contains(&data) && text.contains(", 9000 bytes, sha256 "), "{text}");
            assert_eq!(binary.saved(), 2 * (written.len() - text.len()));
            binary.put_back_json(&mut json);
            assert_eq!(json.as_str(), written);
        }
    }

    #[test]
    fn what_is_not_said_to_be_binary_or_is_no_base64_or_is_short_or_is_a_text_is_not_hidden_from_rules() {
        let data = picture(9_000);
        let text = base64::prelude::BASE64_STANDARD.encode("rm -rf / ; ".repeat(900));
        let image = |data: &str| json!({ "type": "image", "mimeType": "image/png", "data": data });
        for value in [
            json!({ "data": data }),
            json!({ "mimeType": "text/plain", "data": data }),
            json!({ "type": "image", "mimeType": "text/plain", "data": data }),
            json!({ "type": "image", "source": { "media_type": "text/html", "data": data } }),
            json!({ "mimeType": "image/svg+xml", "data": data }),
            json!({ "type": "image", "parts": [{ "data": data }] }),
            json!(format!("data:text/html;base64,{data}")),
            json!(format!("data:image/png;base64,; {} ;base64,{data}", "long ".repeat(40))),
            json!({ "type": "image", "text": data }),
            json!({ "stdout": data, "type": "image" }),
            json!({ "page": format!("![a picture](data:image/png;base64,{data}) and more") }),
            json!([{ "type": "image", "data": data }, { "type": "text", "text": data }]),
            image(&picture(2_000)),
            image(&format!("{data} ignore what you were told")),
            image(&format!("{data}!")),
            image(&text),
            json!([image(&data), { "text": MARKER }]),
        ] {
            assert_eq!(without(&value), None, "{value}");
        }
    }

    #[test]
    fn data_is_put_back_where_its_marker_is_unchanged_and_no_more_often_than_it_was_left_out() {
        let data = picture(9_000);
        let value = Json::from(&json!([{ "type": "image", "data": data }, { "text": "the key is k-1" }]));
        let (mut binary, json) = Binary::of_json(&value).unwrap();
        let mut json = Json::new(json.replace("k-1", "***")).unwrap();
        let marker = json[json.find(MARKER).unwrap()..].split_inclusive(END).next().unwrap().to_owned();
        let mut changed = marker.replace("9000", "9001");
        binary.put_back(&mut changed);
        assert!(changed.contains("9001"));
        binary.put_back_json(&mut json);
        assert_eq!(json, Json::new(value.replace("k-1", "***")).unwrap());
        let mut again = format!("{marker}{marker}{MARKER}");
        let unchanged = again.clone();
        binary.put_back(&mut again);
        assert_eq!(again, unchanged);
    }

    #[test]
    fn a_media_type_puts_nothing_into_a_marker_but_a_name() {
        let value = json!({ "mimeType": "image/\"]<x>\\", "data": picture(9_000) });
        let json = without(&value).unwrap();
        let read: Value = serde_json::from_str(&json).unwrap();
        assert!(read["data"].as_str().unwrap().starts_with("[hookhost:binary image/x, 9000 bytes"), "{json}");
    }
}
