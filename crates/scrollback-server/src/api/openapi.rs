//! The API described for programs: an `OpenAPI` 3.1 document, made from the very table that requests are answered by.

mod beside;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::refusal::Problem;
use super::routes::{Kind, Line, Param, Shape, lines, shape};
use super::streams::{self, Stream};

/// What any request may be refused with.
const PROBLEMS: [(&str, &str); 14] = [
    ("400", "What was given cannot be used."),
    ("401", "A token is needed."),
    ("403", "Not for this host or this token."),
    ("404", "There is no such thing."),
    ("405", "Not with this method."),
    ("408", "Nothing more of the request came."),
    ("409", "Changed by somebody else meanwhile; ask again."),
    ("412", "It is no longer what If-Match names."),
    ("413", "The request is too large."),
    ("415", "Compressed requests are not read."),
    ("422", "It does not fit."),
    ("429", "Too many requests."),
    ("502", "A model's API did not answer."),
    ("default", "Something else is wrong."),
];

/// A stream of events.
const EVENTS: &str = "text/event-stream";

/// The document.
pub(super) fn document() -> Value {
    let settings = |settings: SchemaSettings| settings.with(|s| s.definitions_path = "/components/schemas".into());
    let mut given = SchemaGenerator::new(settings(SchemaSettings::draft2020_12().for_serialize()));
    let mut taken = SchemaGenerator::new(settings(SchemaSettings::draft2020_12()));
    let mut paths = Map::new();
    let problem = value(shape::<Problem>, &mut given);
    for line in lines() {
        let answer = content("application/json", &value(line.gives, &mut given));
        let body = line.takes.map(|takes| content("application/json", &value(takes, &mut taken)));
        let described = described(line, &answer, body, &problem);
        path(&mut paths, line.path)[line.method.to_lowercase()] = described;
    }
    for stream in streams::ALL {
        let described = streamed(stream, &mut given, &mut taken, &problem);
        path(&mut paths, stream.path)[stream.method.to_lowercase()] = described;
    }
    paths.extend(beside::described(&problem).map(|(path, described)| (path.to_owned(), described)));
    let mut schemas = given.take_definitions(true);
    schemas.extend(taken.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Scrollback", "version": env!("CARGO_PKG_VERSION"), "description":
            "What people and their programs ask and decide about conversations. docs/api.md tells it in prose."},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description":
                "A token of `scrollback tokens add`; not needed on this machine."}},
        },
        "security": [{}, {"token": []}],
    })
}

fn path<'a>(paths: &'a mut Map<String, Value>, below: &str) -> &'a mut Value {
    paths.entry(format!("/api{below}")).or_insert_with(|| json!({}))
}

fn value(shape: Shape, generator: &mut SchemaGenerator) -> Value {
    shape(generator).to_value()
}

fn content(kind: &str, schema: &Value) -> Value {
    json!({kind: {"schema": schema}})
}

fn described(line: &Line, answer: &Value, body: Option<Value>, problem: &Value) -> Value {
    let mut described = json!({
        "summary": line.about,
        "operationId": operation(line.method, line.path),
        "parameters": parameters(line.path, line.asks),
        "responses": responses(line.status.as_str(), answer, problem),
    });
    if let Some(body) = body {
        described["requestBody"] = json!({"required": true, "content": body});
    }
    if line.method == "GET" {
        described["responses"]["304"] = json!({"description": "The same as you have (If-None-Match)."});
    }
    described
}

fn streamed(stream: &Stream, given: &mut SchemaGenerator, taken: &mut SchemaGenerator, problem: &Value) -> Value {
    let mut answer = Map::new();
    for (kind, shape) in stream.gives {
        let schema = match shape {
            Some(shape) => value(*shape, given),
            None if *kind == EVENTS => event(),
            None => json!({"type": "string"}),
        };
        answer.insert((*kind).to_owned(), json!({"schema": schema}));
    }
    let mut described = json!({
        "summary": stream.about,
        "operationId": operation(stream.method, stream.path),
        "parameters": parameters(stream.path, stream.asks),
        "responses": responses("200", &Value::Object(answer), problem),
    });
    if let Some((kind, shape)) = stream.takes {
        let schema = shape.map_or_else(|| json!({"type": "string"}), |shape| value(shape, taken));
        described["requestBody"] = json!({"required": true, "content": content(kind, &schema)});
    }
    described
}

/// What is said of an event of a stream; docs/api.md tells them one by one.
fn event() -> Value {
    let data = json!({"type": "string", "contentMediaType": "application/json"});
    json!({"type": "object", "properties": {"event": {"type": "string"}, "data": data}, "required": ["event", "data"]})
}

fn responses(status: &str, answer: &Value, problem: &Value) -> Value {
    let mut responses = Map::new();
    responses.insert(status.into(), json!({"description": "What was asked for.", "content": answer}));
    for (status, about) in PROBLEMS {
        let refused = json!({"description": about, "content": content("application/problem+json", problem)});
        responses.insert(status.into(), refused);
    }
    Value::Object(responses)
}

fn operation(method: &str, path: &str) -> String {
    let words: Vec<&str> = path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty()).collect();
    format!("{}_{}", method.to_lowercase(), words.join("_"))
}

fn parameters(path: &str, asks: &[Param]) -> Vec<Value> {
    let open = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let open = open.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let asked = asks.iter().map(|Param { name, kind, about }| {
        let schema = match kind {
            Kind::Text => json!({"type": "string", "minLength": 1}),
            Kind::Open => json!({"type": "string"}),
            Kind::Needed => json!({"type": "string", "pattern": "\\S"}),
            Kind::Number(least, most) | Kind::NeededNumber(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Kind::Flag => json!({"type": "boolean"}),
            Kind::One(words) => json!({"type": "string", "enum": words}),
        };
        let is_needed = matches!(kind, Kind::Needed | Kind::NeededNumber(..));
        json!({"name": name, "in": "query", "required": is_needed, "description": about, "schema": schema})
    });
    open.chain(asked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_route_cannot_do_without_is_needed() {
        let document = document();
        let needed = |path: &str| -> Vec<String> {
            let asked = document["paths"][path]["get"]["parameters"].as_array().unwrap().clone();
            let asked = asked.iter().filter(|one| one["in"] == "query" && one["required"] == true);
            asked.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(needed("/api/search"), ["words"]);
        assert_eq!(needed("/api/sessions/{id}/views/{v}/diff"), ["with"]);
        assert_eq!(needed("/api/sessions/{id}/artifacts/{a}/diff"), ["from", "to"]);
        assert!(needed("/api/sessions").is_empty());
    }

    /// Two types of one name would be told apart by a number, which tells nobody anything.
    #[test]
    fn every_shape_has_a_name_of_its_own() {
        let document = document();
        let names: Vec<&String> = document["components"]["schemas"].as_object().unwrap().keys().collect();
        assert!(names.len() > 50, "{names:?}");
        for name in names {
            assert!(!name.ends_with(|letter: char| letter.is_ascii_digit()), "{name}");
        }
    }
}
