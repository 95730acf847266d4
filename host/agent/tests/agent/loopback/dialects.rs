//! Answers in the two streaming formats, as their public documentation gives them.

use serde_json::{Value, json};

/// An answer in the format of Anthropic Messages: text and one tool call, with cached tokens.
/// <https://docs.anthropic.com/en/api/messages-streaming#streaming-request-with-tool-use>
pub(crate) fn anthropic_call(text: &str, id: &str, tool: &str, arguments: &str) -> String {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    let mut events = anthropic_start(text, 25, 100);
    let start = format!(
        r#"{{"type":"content_block_start","index":1,"content_block":{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{}}}}}}"#
    );
    let delta = |json: &str| {
        let json = serde_json::to_string(json).unwrap();
        format!(
            r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"input_json_delta","partial_json":{json}}}}}"#
        )
    };
    for (name, data) in [
        ("content_block_start", start),
        ("content_block_delta", delta("")),
        ("content_block_delta", delta(first)),
        ("content_block_delta", delta(second)),
        ("content_block_stop", r#"{"type":"content_block_stop","index":1}"#.to_owned()),
    ] {
        events.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    }
    events + &anthropic_stop("tool_use", 89)
}

/// An answer in the format of Anthropic Messages that contains only text.
pub(crate) fn anthropic_text(text: &str) -> String {
    anthropic_start(text, 40, 0) + &anthropic_stop("end_turn", 15)
}

fn anthropic_start(text: &str, input: u64, cached: u64) -> String {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(place, _)| place);
    let (first, second) = text.split_at(middle);
    let delta = |text: &str| {
        let text = serde_json::to_string(text).unwrap();
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}}}\n\n"
        )
    };
    format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"msg_014p7gG3wDgGV9EUtLvnow3U\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"stop_sequence\":null,\"usage\":{{\"input_tokens\":{input},\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":{cached},\"output_tokens\":2}},\"content\":[],\"stop_reason\":null}}}}\n\n\
         event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n\
         event: ping\ndata: {{\"type\": \"ping\"}}\n\n{}{}\
         event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n",
        delta(first),
        delta(second),
    )
}

fn anthropic_stop(reason: &str, output: u64) -> String {
    format!(
        "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\",\"stop_sequence\":null}},\"usage\":{{\"output_tokens\":{output}}}}}\n\n\
         event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
    )
}

/// An answer in the format of Anthropic Messages. `blocks` are the complete blocks of the answer; the function splits
/// them into the pieces in which a server streams them.
/// <https://docs.anthropic.com/en/api/messages-streaming#streaming-request-with-extended-thinking>
pub(crate) fn anthropic_blocks(blocks: &[Value], stop: &str) -> String {
    let mut events = Vec::new();
    let usage = json!({ "input_tokens": 25, "output_tokens": 2 });
    events.push(json!({ "type": "message_start", "message": { "id": "msg_01", "type": "message", "role": "assistant",
        "content": [], "model": "claude-x", "stop_reason": null, "stop_sequence": null, "usage": usage } }));
    for (index, block) in blocks.iter().enumerate() {
        let (mut start, mut deltas) = (block.clone(), Vec::new());
        match block["type"].as_str().unwrap() {
            "thinking" => {
                start["thinking"] = json!("");
                start["signature"] = json!("");
                for piece in halves(block["thinking"].as_str().unwrap()) {
                    deltas.push(json!({ "type": "thinking_delta", "thinking": piece }));
                }
                deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
            }
            "text" => {
                start["text"] = json!("");
                for piece in halves(block["text"].as_str().unwrap()) {
                    deltas.push(json!({ "type": "text_delta", "text": piece }));
                }
            }
            "tool_use" => {
                start["input"] = json!({});
                for piece in halves(&block["input"].to_string()) {
                    deltas.push(json!({ "type": "input_json_delta", "partial_json": piece }));
                }
            }
            _ => {}
        }
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.extend(
            deltas.into_iter().map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let event = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.into_iter().map(event).collect::<String>() + &anthropic_stop(stop, 89)
}

fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.len() / 2);
    [first, second]
}

/// An answer in the format of OpenAI chat completions as DeepSeek, Groq or OpenRouter stream them: thinking, then one
/// tool call. <https://api-docs.deepseek.com/guides/thinking_mode>
pub(crate) fn openai_thinking_call(thinking: &[Value], id: &str, tool: &str, arguments: &str) -> String {
    let thinking: String = thinking.iter().map(|delta| openai_chunk(&delta.to_string(), "null")).collect();
    thinking + &openai_call("", id, tool, arguments)
}

/// An answer in the format of OpenAI chat completions: text and one tool call. The token counts are in a separate last
/// chunk, because the request sets `include_usage`. <https://platform.openai.com/docs/api-reference/chat-streaming>
pub(crate) fn openai_call(text: &str, id: &str, tool: &str, arguments: &str) -> String {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    let piece = |arguments: &str| {
        let arguments = serde_json::to_string(arguments).unwrap();
        openai_chunk(&format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{arguments}}}}}]}}"#), "null")
    };
    let opening = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":""}}}}]}}"#
    );
    openai_start(text)
        + &openai_chunk(&opening, "null")
        + &piece(first)
        + &piece(second)
        + &openai_chunk("{}", "\"tool_calls\"")
        + &openai_end(125, 100, 89)
}

/// An answer in the format of OpenAI chat completions that contains only text.
pub(crate) fn openai_text(text: &str) -> String {
    openai_start(text) + &openai_chunk("{}", "\"stop\"") + &openai_end(40, 0, 15)
}

fn openai_start(text: &str) -> String {
    let words = text.split_inclusive(' ').map(|word| {
        let word = serde_json::to_string(word).unwrap();
        openai_chunk(&format!(r#"{{"content":{word}}}"#), "null")
    });
    openai_chunk(r#"{"role":"assistant","content":"","refusal":null}"#, "null") + &words.collect::<String>()
}

fn openai_chunk(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":1694268190,\"model\":\"gpt-x\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}],\"usage\":null}}\n\n"
    )
}

fn openai_end(input: u64, cached: u64, output: u64) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":1694268190,\"model\":\"gpt-x\",\"choices\":[],\"usage\":{{\"prompt_tokens\":{input},\"completion_tokens\":{output},\"total_tokens\":{},\"prompt_tokens_details\":{{\"cached_tokens\":{cached},\"audio_tokens\":0}}}}}}\n\ndata: [DONE]\n\n",
        input + output
    )
}
