//! Converts a prompt to the text that rules get, and a changed text back to a prompt. A prompt is a list of blocks, which are
//! texts, resources, links, images and audio.
//!
//! Rules get the whole prompt as one text. If a rule changes the text, a single block with the new text replaces all blocks that
//! contain text, so that the agent gets only text that rules have checked. Images, audio and binary resources contain no text, and
//! are kept.

use serde_json::{Value, json};

/// The members of each known kind of block, in addition to [`COMMON_KEYS`].
const BLOCK_KEYS: &[(&str, &[&str])] = &[
    ("text", &["text"]),
    ("image", &["data", "mimeType", "uri"]),
    ("audio", &["data", "mimeType"]),
    ("resource_link", &["uri", "name", "title", "description", "mimeType", "size"]),
    ("resource", &["resource"]),
];

/// The members that a block of any kind can have.
const COMMON_KEYS: &[&str] = &["type", "_meta", "annotations"];

/// The members of a resource within a block.
const RESOURCE_KEYS: &[&str] = &["uri", "text", "blob", "mimeType"];

/// The members of a link that an agent shows its model.
const LINK_TEXT_KEYS: &[&str] = &["name", "title", "description"];

/// Returns true if the block and its resource have only known members.
fn is_known(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    let Some((_, members)) = BLOCK_KEYS.iter().find(|(known, _)| *known == kind) else { return false };
    let has_only = |value: &Value, members: &[&str]| {
        let mut keys = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        keys.all(|key| members.contains(&key) || COMMON_KEYS.contains(&key))
    };
    has_only(block, members) && block.get("resource").is_none_or(|resource| has_only(resource, RESOURCE_KEYS))
}

/// Returns the text of a block for rules. Returns `None` if the block has no text.
fn text_of(block: &Value) -> Option<String> {
    // An agent may show unknown members to its model, so rules get the block as JSON.
    if !is_known(block) {
        return Some(block.to_string());
    }
    let field = |key: &str| block.get(key).and_then(Value::as_str);
    match field("type") {
        Some("text") => field("text").map(str::to_owned),
        Some("resource_link") => {
            let uri = field("uri").map(|uri| format!("[{uri}]"));
            let texts = uri.into_iter().chain(LINK_TEXT_KEYS.iter().filter_map(|key| field(key)).map(str::to_owned));
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        Some("resource") => {
            let resource = block.get("resource")?;
            let uri = resource.get("uri").and_then(Value::as_str).unwrap_or_default();
            resource.get("text").and_then(Value::as_str).map(|text| format!("[{uri}]\n{text}"))
        }
        // Images, audio and binary resources.
        _ => None,
    }
}

/// Returns the text of a prompt.
///
/// # Errors
/// If the prompt is not a list of blocks. The error is the end of a sentence.
pub fn text(prompt: &Value) -> Result<String, String> {
    let blocks = prompt.as_array().ok_or("is no list")?;
    if let Some(odd) = blocks.iter().find(|block| !is_block(block)) {
        return Err(format!("has a block that cannot be read: {}", odd.get("type").unwrap_or(&Value::Null)));
    }
    Ok(blocks.iter().filter_map(text_of).collect::<Vec<_>>().join("\n"))
}

/// Returns true if each member that rules check has the expected type. If a member has another type, the agent could interpret it
/// differently than the proxy.
fn is_block(block: &Value) -> bool {
    let is_text = |value: Option<&Value>| value.is_some_and(Value::is_string);
    let can_be_text = |value: Option<&Value>| value.is_none_or(|value| value.is_string() || value.is_null());
    match block.get("type").and_then(Value::as_str) {
        Some("text") => is_text(block.get("text")),
        Some("image") => can_be_text(block.get("uri")),
        Some("resource_link") => {
            is_text(block.get("uri")) && LINK_TEXT_KEYS.iter().all(|key| can_be_text(block.get(*key)))
        }
        Some("resource") => {
            let of = |key: &str| block.get("resource").and_then(|resource| resource.get(key));
            let has_uri = can_be_text(of("uri"));
            has_uri && is_text(of("text")) != is_text(of("blob")) && (of("text").is_none() || of("blob").is_none())
        }
        Some(_) => true,
        None => false,
    }
}

/// Returns the prompt with its text replaced by this text.
pub fn with_text(prompt: &Value, text: &str) -> Value {
    let mut blocks = Vec::new();
    let mut is_there = false;
    for block in prompt.as_array().into_iter().flatten() {
        if text_of(block).is_none() {
            blocks.push(block.clone());
        } else if !std::mem::replace(&mut is_there, true) {
            blocks.push(json!({ "type": "text", "text": text }));
        }
    }
    if !is_there {
        blocks.insert(0, json!({ "type": "text", "text": text }));
    }
    Value::Array(blocks)
}

#[cfg(test)]
mod tests {
    use super::{text, with_text};
    use serde_json::json;

    #[test]
    fn rules_read_every_text_of_a_prompt_and_a_new_one_takes_the_place_of_all() {
        let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let prompt = json!([
            image, { "type": "text", "text": "Look at" }, { "type": "resource_link", "name": "a", "uri": "file:///a" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "sk-1" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": "AAAA" } },
            { "type": "new", "x": 1 },
        ]);
        assert_eq!(text(&prompt).unwrap(), "Look at\n[file:///a]\na\n[file:///b]\nsk-1\n{\"type\":\"new\",\"x\":1}");
        let changed = with_text(&prompt, "Look");
        assert_eq!(changed, json!([image, { "type": "text", "text": "Look" }, prompt[4]]));
        assert_eq!(with_text(&json!([image]), "x"), json!([{ "type": "text", "text": "x" }, image]));
    }

    #[test]
    fn rules_read_what_a_link_says_of_itself() {
        let link = json!([{ "type": "resource_link", "uri": "file:///a", "name": "n", "title": "t", "description": "sk-1",
            "mimeType": "text/plain", "size": 1, "annotations": null }]);
        assert_eq!(text(&link).unwrap(), "[file:///a]\nn\nt\nsk-1");
    }

    #[test]
    fn a_block_with_a_member_that_is_not_known_is_read_as_it_is() {
        let block = json!({ "type": "text", "text": "a", "own": "sk-1" });
        assert_eq!(text(&json!([block])).unwrap(), block.to_string());
        let block = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png", "alt": "sk-1" });
        assert_eq!(text(&json!([block])).unwrap(), block.to_string());
        let block = json!({ "type": "resource", "resource": { "uri": "a", "blob": "AAAA", "own": "sk-1" } });
        assert_eq!(text(&json!([block])).unwrap(), block.to_string());
        let plain = json!([{ "type": "text", "text": "a", "_meta": { "own": 1 }, "annotations": { "priority": 1 } }]);
        assert_eq!(text(&plain).unwrap(), "a");
    }

    #[test]
    fn a_block_that_an_agent_could_read_otherwise_is_refused() {
        for odd in [
            json!([{ "type": "text", "text": ["x"] }]),
            json!([{ "text": "x" }]),
            json!([{ "type": "resource", "resource": { "uri": "a", "text": "x", "blob": "AAAA" } }]),
            json!([{ "type": "resource", "resource": { "uri": "a", "text": 1, "blob": "AAAA" } }]),
            json!([{ "type": "resource_link" }]),
            json!([{ "type": "resource_link", "uri": "a", "description": ["x"] }]),
            json!([{ "type": "resource", "resource": { "uri": ["a"], "text": "x" } }]),
            json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png", "uri": 1 }]),
            json!("x"),
        ] {
            assert!(text(&odd).is_err(), "{odd}");
        }
    }
}
