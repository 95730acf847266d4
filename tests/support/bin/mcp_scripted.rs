//! A server of the Model Context Protocol, or an agent of the Agent Client Protocol, that follows a test's script and records its messages.
//!
//! The first argument names a file with a JSON object, which is read for each message: `tools` is the list of its tools, and `rules` a
//! list of `{"on", "tool", "say", "exit"}`. The first rule counts whose `on` is the message's method (`answer` for a message without
//! one) and whose `tool`, if any, is that of the call. Its lines are written unchanged, except that `$id` becomes the message's id.
//! Without a rule it answers like a correct server or agent. The second argument names the file to which each message is added
//! unchanged.

use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, Write as _};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let script = arguments.next().expect("a script");
    let record = arguments.next().expect("a file for what it is told");
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut file = OpenOptions::new().create(true).append(true).open(&record).expect("the record");
        writeln!(file, "{line}").expect("the record is written");
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let script = fs::read_to_string(&script).expect("the script is read");
        let script: Value = serde_json::from_str(&script).expect("the script is JSON");
        let id = message["id"].to_string();
        if let Some(rule) = rule(&script, &message) {
            for said in rule["say"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let _ = writeln!(output, "{}", said.replace("$id", &id));
            }
            let _ = output.flush();
            if let Some(code) = rule["exit"].as_i64() {
                std::process::exit(i32::try_from(code).unwrap_or(1));
            }
        } else if let Some(result) = result(&script, &message) {
            let _ = writeln!(output, "{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
            let _ = output.flush();
        }
    }
}

fn rule<'a>(script: &'a Value, message: &Value) -> Option<&'a Value> {
    let method = message["method"].as_str().unwrap_or("answer");
    let fits =
        |rule: &&Value| rule["on"] == method && (rule["tool"].is_null() || rule["tool"] == message["params"]["name"]);
    script["rules"].as_array()?.iter().find(fits)
}

/// Returns the answer of a correct server; `None` if the message is no request.
fn result(script: &Value, message: &Value) -> Option<Value> {
    message.get("id")?;
    let params = &message["params"];
    Some(match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": { "listChanged": true }, "resources": {}, "prompts": {} },
            "serverInfo": { "name": "scripted", "version": "1" },
        }),
        "tools/list" => json!({ "tools": script["tools"] }),
        "tools/call" => {
            let text = format!("ran {} {}", params["name"].as_str().unwrap_or_default(), params["arguments"]);
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        "resources/read" => {
            json!({ "contents": [{ "uri": params["uri"], "text": format!("read {}", params["uri"]) }] })
        }
        "prompts/get" => {
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": format!("prompt {}", params["name"]) } }] })
        }
        "session/new" => json!({ "sessionId": "s1" }),
        "session/prompt" => json!({ "stopReason": "end_turn" }),
        _ => json!({}),
    })
}
