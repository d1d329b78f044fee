//! Schemas of ids: each is a text of its own form. For whoever describes an API that they cross.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::artifact::ArtifactId;
use crate::ids::{At, Hash128, MessageId};
use crate::topic::TopicId;

/// A text of a form.
macro_rules! text {
    ($kind:ty, $name:literal, $form:tt) => {
        impl JsonSchema for $kind {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($form)
            }
        }
    };
}

text!(MessageId, "MessageId", {"type": "string", "pattern": "^m[0-9]+$"});
text!(TopicId, "TopicId", {"type": "string", "pattern": "^t[0-9]+$"});
text!(ArtifactId, "ArtifactId", {"type": "string", "pattern": "^a[0-9]+$"});
text!(Hash128, "Hash", {"type": "string", "pattern": "^[0-9a-f]{32}$"});
text!(At, "At", {"type": "string", "format": "date-time"});
