//! OpenAI Responses over real sockets: a scripted model that speaks it, and conversations in all the ways it knows.

mod calls;
mod codex;
mod endpoints;
mod folds;
mod laws;
mod passing;
mod reasoning;
mod referred;

use serde_json::{Value, json};

use crate::scene::{Said, Server, plain, stream};

/// A window that a few turns fill.
const SMALL: &str = "[window]\ntokens = 3000\nreply_tokens = 300\nstrategy = \"pages\"\n";

type Pieces = Vec<Option<Vec<u8>>>;

/// A whole response.
fn response(id: &str, output: &[Value]) -> Value {
    json!({"id": id, "object": "response", "created_at": 1, "status": "completed", "model": "gpt-5", "output": output,
           "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2, "total_tokens": 12},
           "x_unknown": {"kept": [1, 2]}})
}

fn replies(id: &str, output: &[Value]) -> Pieces {
    plain("200 OK", "content-type: application/json\r\n", &response(id, output).to_string())
}

/// The events that stream a response.
fn events(id: &str, output: &[Value]) -> String {
    let mut told = vec![json!({"type": "response.created", "response": begun(id)})];
    told.push(json!({"type": "response.in_progress", "response": begun(id)}));
    for (index, item) in output.iter().enumerate() {
        told.extend(item_events(index, item));
    }
    told.push(json!({"type": "response.completed", "response": response(id, output)}));
    let numbered = told.iter().enumerate().map(|(number, event)| {
        let mut event = event.clone();
        event["sequence_number"] = json!(number);
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    });
    numbered.collect()
}

fn begun(id: &str) -> Value {
    let mut begun = response(id, &[]);
    begun["status"] = json!("in_progress");
    begun
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut added = item.clone();
    let mut between = Vec::new();
    let at = |kind: &str| json!({"type": kind, "item_id": item["id"], "output_index": index});
    match item["type"].as_str().unwrap() {
        "message" => {
            added["content"] = json!([]);
            let text = item["content"][0]["text"].as_str().unwrap();
            let of = |kind: &str, name: &str, value: Value| {
                let mut event = at(kind);
                event["content_index"] = json!(0);
                event[name] = value;
                event
            };
            between.push(of("response.content_part.added", "part", json!({"type": "output_text", "text": ""})));
            let pieces: Vec<char> = text.chars().collect();
            for piece in pieces.chunks(5) {
                between.push(of("response.output_text.delta", "delta", piece.iter().collect::<String>().into()));
            }
            between.push(of("response.output_text.done", "text", text.into()));
            between.push(of("response.content_part.done", "part", item["content"][0].clone()));
        }
        "function_call" => {
            added["arguments"] = json!("");
            let mut delta = at("response.function_call_arguments.delta");
            delta["delta"] = item["arguments"].clone();
            let mut done = at("response.function_call_arguments.done");
            done["arguments"] = item["arguments"].clone();
            between.extend([delta, done]);
        }
        _ => {}
    }
    let whole = |kind: &str, item: &Value| json!({"type": kind, "output_index": index, "item": item});
    let mut told = vec![whole("response.output_item.added", &added)];
    told.extend(between);
    told.push(whole("response.output_item.done", item));
    told
}

/// What a model answers, streamed if the request wants it so.
fn answers(asked: &Said, id: &str, output: &[Value]) -> Pieces {
    if asked.json()["stream"] == true { stream(&events(id, output), 97, true) } else { replies(id, output) }
}

fn says(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "status": "completed", "role": "assistant",
           "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn calls(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": format!("fc_{id}"), "type": "function_call", "status": "completed", "call_id": id, "name": name,
           "arguments": arguments.to_string()})
}

fn result(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

fn thought(id: &str, sealed: &str) -> Value {
    json!({"id": id, "type": "reasoning", "summary": [], "encrypted_content": sealed})
}

/// A request that keeps nothing at its provider and sends everything.
fn full(input: &[Value]) -> Value {
    json!({"model": "gpt-5", "store": false, "include": ["reasoning.encrypted_content"], "input": input, "x_unknown": [true]})
}

fn look() -> Value {
    json!([{"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": false}])
}

fn ask(server: &Server, body: &Value) -> Said {
    server.send("POST /v1/responses", "authorization: Bearer sk-canary\r\n", &body.to_string())
}

/// Asks and expects an answer.
fn heard(server: &Server, body: &Value) -> Value {
    let answer = ask(server, body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

fn output(answer: &Value) -> Vec<Value> {
    answer["output"].as_array().unwrap().clone()
}

/// The items of a request.
fn input(asked: &Said) -> Vec<Value> {
    asked.json()["input"].as_array().unwrap_or_else(|| panic!("no items: {}", asked.text())).clone()
}

/// What an item is, in a word: its role or its type.
fn kinds(items: &[Value]) -> Vec<String> {
    let kind = |item: &Value| item["role"].as_str().or(item["type"].as_str()).unwrap_or("?").to_owned();
    items.iter().map(kind).collect()
}

/// The events of a streamed answer, without their names.
fn told(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// What every stream must hold to: numbers without gaps, items in order, one beginning, one end.
fn sound(answer: &str) -> Value {
    let told = told(answer);
    let numbers: Vec<u64> = told.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..told.len() as u64).collect::<Vec<_>>(), "{answer}");
    let of = |kind: &str| told.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<Value>>();
    assert_eq!((of("response.created").len(), of("response.completed").len()), (1, 1), "{answer}");
    let done = of("response.output_item.done");
    let places: Vec<u64> = done.iter().map(|event| event["output_index"].as_u64().unwrap()).collect();
    assert_eq!(places, (0..done.len() as u64).collect::<Vec<_>>(), "{answer}");
    let last = of("response.completed").remove(0)["response"].clone();
    assert_eq!(last["id"], of("response.created")[0]["response"]["id"]);
    let items: Vec<Value> = done.iter().map(|event| event["item"].clone()).collect();
    assert_eq!(last["output"], json!(items), "{answer}");
    for line in answer.lines().filter_map(|line| line.strip_prefix("event: ")) {
        assert!(told.iter().any(|event| event["type"] == line), "{line}");
    }
    last
}
