//! Tokens: who else may ask. Only an admin may give one or take it back.

use axum::http::StatusCode;
use schemars::JsonSchema;
use scrollback::At;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Ask, Refusal, Room};
use crate::access::KeptToken;
use crate::clock::now;

/// What an admin asks for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TokenWanted")]
pub(super) struct Wanted {
    name: String,
    #[serde(default)]
    tenant: Option<String>,
    #[serde(default)]
    admin: bool,
}

/// All of them.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tokens")]
pub(super) struct All {
    tokens: Vec<Line>,
}

/// A token, which is not told.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Token")]
struct Line {
    name: String,
    tenant: String,
    created: At,
    admin: bool,
}

/// A token as it is told, once.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TokenMade")]
pub(super) struct Made {
    name: String,
    tenant: String,
    token: String,
}

/// A token that was taken back.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TokenRevoked")]
pub(super) struct Gone {
    name: String,
    revoked: bool,
}

/// Lists them; none is told.
pub(super) async fn list(room: &Room) -> Result<Value, Refusal> {
    may(room)?;
    let line = |KeptToken { name, tenant, created, admin, .. }| Line { name, tenant, created, admin };
    let tokens = room.tokens.list().await?.into_iter().map(line).collect();
    Ok(serde_json::to_value(All { tokens })?)
}

/// Makes one, and tells it this once.
pub(super) async fn add(room: &Room, ask: &Ask) -> Result<Value, Refusal> {
    may(room)?;
    let Wanted { name, tenant, admin } = ask.said(r#"{"name": "laptop", "tenant": "mira", "admin": false}"#)?;
    let tenant = tenant.unwrap_or_else(|| name.clone());
    let kept = KeptToken { name, tenant, created: now(), admin, revoked: None };
    let token = room.tokens.add(&kept).await?;
    Ok(serde_json::to_value(Made { name: kept.name, tenant: kept.tenant, token })?)
}

/// Takes one back.
pub(super) async fn revoke(room: &Room, name: &str) -> Result<Value, Refusal> {
    may(room)?;
    room.tokens.revoke(name, now()).await?;
    Ok(serde_json::to_value(Gone { name: name.to_owned(), revoked: true })?)
}

/// That whoever asks may.
fn may(room: &Room) -> Result<(), Refusal> {
    if room.guest.is_admin {
        return Ok(());
    }
    let what = "only an admin may: ask on the machine itself, or with a token made with `--admin`";
    Err(Refusal::new(StatusCode::FORBIDDEN, "not_admin", what))
}
