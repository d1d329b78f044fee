//! What a request names that a provider has stored. Of several fields with one name each counts: nobody knows which of
//! them the provider reads.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Fields by which a request goes on from something; our log may tell whose that is.
const FOLLOWED: [&str; 2] = ["previous_response_id", "conversation"];
/// Fields that name what goes on elsewhere.
const ELSEWHERE: [&str; 2] = ["thread", "container"];
/// Fields that are a name if they are objects, and words otherwise.
const REFERRED: [&str; 2] = ["prompt", "voice"];
/// Fields of tools, at any depth, that name something.
const IN_TOOLS: [&str; 6] = ["vector_store_ids", "vector_store_id", "file_ids", "file_id", "container_id", "skill_id"];
/// Fields of tools that tell what a client's own tool takes: what stands there is names of its choice.
const SCHEMAS: [&str; 4] = ["parameters", "input_schema", "output_schema", "input_examples"];
/// No tool is deeper outside of its schemas; whatever is, is taken for a name.
const DEEPEST: usize = 16;

/// What a request names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// How often it says what it goes on from.
    pub(super) followed: usize,
    /// Whether such a field is there twice, whatever it says.
    pub(super) repeats: bool,
    /// Whether it names anything else that is stored.
    pub(super) others: bool,
}

impl Names {
    /// Of a body; `None` if that is no JSON object.
    pub(super) fn of(body: &[u8]) -> Option<Self> {
        let fields = serde_json::from_slice::<Fields<&RawValue>>(body).ok()?.0;
        let times = |wanted: &str| fields.iter().filter(|(name, _)| name == wanted).count();
        let follows = |(name, value): &&(String, &RawValue)| FOLLOWED.contains(&&**name) && value.get() != "null";
        Some(Self {
            followed: fields.iter().filter(follows).count(),
            repeats: FOLLOWED.iter().any(|name| times(name) > 1),
            others: fields.iter().any(|(name, value)| is_stored(name, value.get())),
        })
    }

    /// Whether it names nothing at all.
    pub(super) fn is_none(&self) -> bool {
        self.followed == 0 && !self.others
    }
}

/// Whether a field of a request names something stored, beside what it goes on from.
fn is_stored(name: &str, value: &str) -> bool {
    match name {
        "tools" | "tool_resources" => within(value, 0),
        "input" => items(value).iter().any(|item| adds(item.get())),
        _ => ELSEWHERE.contains(&name) && value != "null" || REFERRED.contains(&name) && value.starts_with('{'),
    }
}

/// Whether an item brings tools that name something.
fn adds(item: &str) -> bool {
    item.starts_with('{') && fields(item).iter().any(|(name, value)| name == "tools" && within(value.get(), 0))
}

/// Whether something is named in tools, or in a part of one.
fn within(value: &str, depth: usize) -> bool {
    match value.as_bytes().first() {
        Some(b'{' | b'[') if depth > DEEPEST => true,
        Some(b'{') => fields(value).iter().any(|(name, value)| of_tool(name, value.get(), depth)),
        Some(b'[') => items(value).iter().any(|item| within(item.get(), depth + 1)),
        _ => false,
    }
}

fn of_tool(name: &str, value: &str, depth: usize) -> bool {
    match name {
        "container" if value.starts_with('"') => true,
        _ if SCHEMAS.contains(&name) => false,
        _ if IN_TOOLS.contains(&name) => !says_nothing(value),
        _ => within(value, depth + 1),
    }
}

fn says_nothing(value: &str) -> bool {
    value == "null" || value == "\"\"" || value.starts_with('[') && items(value).is_empty()
}

fn fields(text: &str) -> Vec<(String, &RawValue)> {
    serde_json::from_str::<Fields<&RawValue>>(text).map_or_else(|_| Vec::new(), |fields| fields.0)
}

fn items(text: &str) -> Vec<&RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

/// An object, its fields in their order and as often as they are there.
struct Fields<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Fields<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Each(PhantomData))
    }
}

struct Each<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Each<V> {
    type Value = Fields<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(body: &str) -> bool {
        Names::of(body.as_bytes()).unwrap_or_else(|| panic!("{body}")).others
    }

    #[test]
    fn what_is_stored_is_known_by_its_field() {
        for body in [
            r#"{"prompt":{"id":"pmpt_1"}}"#,
            r#"{"prompt":"words","prompt":{"id":"pmpt_1"}}"#,
            r#"{"voice":{"id":"voice_1"}}"#,
            r#"{"thread":{"type":"continue"},"thread":null}"#,
            r#"{"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}"#,
            r#"{"tools":[{"type":"file_search","vector_store\u005fids":["vs_1"],"vector_store_ids":[]}]}"#,
            r#"{"tools":[{"type":"code_interpreter","container":"cntr_1"}]}"#,
            r#"{"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["file_1"]}}]}"#,
            r#"{"tools":[{"type":"shell","environment":{"type":"container_reference","container_id":"cntr_1"}}]}"#,
            r#"{"tools":[{"name":"space","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}]}"#,
            r#"{"input":[{"type":"additional_tools","tools":[{"vector_store_ids":["vs_1"]}]}]}"#,
        ] {
            assert!(others(body), "{body}");
        }
        assert!(others(&format!(r#"{{"tools":{}{}}}"#, "[".repeat(90_000), "]".repeat(90_000))), "too deep to tell");
    }

    #[test]
    fn what_is_only_said_names_nothing() {
        for body in [
            r#"{"prompt":"words","voice":"alloy","thread":null,"input":"x","tools":null}"#,
            r#"{"prompt":["a","b"],"input":["a",[1,2]]}"#,
            r#"{"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":[]}}]}"#,
            r#"{"tools":[{"type":"function","name":"find","parameters":{"properties":{"file_ids":{"type":"array"}}}}]}"#,
            r#"{"tools":[{"name":"find","input_schema":{"properties":{"container":{"type":"string"}},"required":["file_id"]}}]}"#,
            r#"{"input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]}"#,
        ] {
            assert!(!others(body), "{body}");
        }
    }

    #[test]
    fn what_is_followed_is_counted_in_whichever_spelling() {
        let of = |body: &str| Names::of(body.as_bytes()).unwrap();
        let twice = of(r#"{"previous_response_id":"x","previous\u005fresponse_id":null}"#);
        assert!(twice.repeats && twice.followed == 1 && !twice.is_none());
        let both = of(r#"{"previous_response_id":"x","conversation":{"id":"y"}}"#);
        assert!(!both.repeats && both.followed == 2);
        assert!(of(r#"{"previous_response_id":null}"#).is_none());
        assert_eq!(Names::of(b"[]"), None);
    }
}
