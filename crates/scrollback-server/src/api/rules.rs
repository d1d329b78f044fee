//! Rules: what the person told the model to keep to, word for word, and which of it still holds.

use schemars::JsonSchema;
use scrollback::MessageId;
use scrollback::control::Change;
use scrollback::engine::Stated;
use scrollback::store::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::on_branch;
use super::place::Place;
use super::{Ask, Refusal, Room};
use crate::clock::now;
use crate::live::What;

/// What is done to a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Drop,
    Restore,
}

/// The rules stated on a path, in the order they were said.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Rules {
    pub(crate) rules: Vec<RuleLine>,
}

/// A rule.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RuleLine {
    /// Its name, such as r12.1.
    pub(crate) rule: String,
    /// The message that says it.
    pub(crate) message: MessageId,
    /// The words.
    pub(crate) text: String,
    /// Whether it holds; otherwise a person let go of it, or of its message.
    pub(crate) holds: bool,
}

/// Lists the rules of a path.
pub(super) async fn list(room: &Room, ask: &Ask, name: &str) -> Result<Value, Refusal> {
    let place = room.place(ask, name).await?;
    Ok(serde_json::to_value(Rules { rules: lines(room, &place).await? })?)
}

/// Lets go of a rule, or takes it up again.
pub(super) async fn change(room: &Room, ask: &Ask, name: &str, rule: &str, verb: Verb) -> Result<Value, Refusal> {
    let mut place = room.place(ask, name).await?;
    is_here(room, &place, rule).await?;
    let change = match verb {
        Verb::Drop => Change::DropRule(rule.to_owned()),
        Verb::Restore => Change::RestoreRule(rule.to_owned()),
    };
    place.controls = room.engine.change(&place.key, &change, now()).await?;
    room.publish(&place.key, || What::Controls);
    let found = lines(room, &place).await?.into_iter().find(|line| line.rule == rule);
    let missing = || Refusal::not_found(format!("{rule} is not stated here"));
    Ok(serde_json::to_value(found.ok_or_else(missing)?)?)
}

/// That the message of a rule, if there is one, is on the branch that is meant.
async fn is_here(room: &Room, place: &Place, rule: &str) -> Result<(), Refusal> {
    let number = rule.strip_prefix('r').and_then(|numbers| numbers.split('.').next()?.parse().ok());
    let ids = number.map(MessageId).into_iter().collect();
    let stored = room.engine.log().store().read(&place.key, Span::Ids(ids)).await?.pop();
    stored.and_then(|stored| stored.position()).map_or(Ok(()), |position| on_branch(place, &position).map(drop))
}

async fn lines(room: &Room, place: &Place) -> Result<Vec<RuleLine>, Refusal> {
    let stated = room.engine.rules(&place.key, place.head).await?;
    let line = |Stated { rule, .. }: Stated| RuleLine {
        rule: rule.name(),
        message: rule.message,
        holds: place.controls.holds(&rule),
        text: rule.text,
    };
    Ok(stated.into_iter().map(line).collect())
}
