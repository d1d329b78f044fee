//! Rules: what the person told the model to keep to, word for word, and which of it still holds.

use schemars::JsonSchema;
use scrollback::MessageId;
use scrollback::control::Change;
use scrollback::rule::{Rule, rules};
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
    let stated = stated(room, &place, rule).await?;
    let change = match verb {
        Verb::Drop => Change::DropRule(rule.to_owned()),
        Verb::Restore => Change::RestoreRule(rule.to_owned()),
    };
    // What its message does not state is refused before anything is written.
    place.controls = room.engine.change(&place.key, &change, now()).await?;
    room.publish(&place.key, || What::Controls);
    let missing = || Refusal::not_found(format!("{rule} is not stated here"));
    Ok(serde_json::to_value(line(&place, stated.ok_or_else(missing)?))?)
}

/// A rule as its message states it, which must be on the branch that is meant.
async fn stated(room: &Room, place: &Place, name: &str) -> Result<Option<Rule>, Refusal> {
    let number = name.strip_prefix('r').and_then(|numbers| numbers.split('.').next()?.parse().ok());
    let ids = number.map(MessageId).into_iter().collect();
    let Some(stored) = room.store().read(&place.key, Span::Ids(ids)).await?.pop() else { return Ok(None) };
    if let Some(position) = stored.position() {
        on_branch(place, &position)?;
    }
    Ok(rules(&stored).into_iter().find(|rule| rule.name() == name))
}

async fn lines(room: &Room, place: &Place) -> Result<Vec<RuleLine>, Refusal> {
    let stated = room.engine.rules(&place.key, place.head).await?;
    Ok(stated.into_iter().map(|stated| line(place, stated.rule)).collect())
}

fn line(place: &Place, rule: Rule) -> RuleLine {
    RuleLine { rule: rule.name(), message: rule.message, holds: place.controls.holds(&rule), text: rule.text }
}
