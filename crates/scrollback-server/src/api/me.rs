//! Whoever asks: who they are here.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Refusal, Room};

/// Who asks.
#[derive(Serialize, JsonSchema)]
pub(super) struct Me<'a> {
    /// Whose conversations they see.
    tenant: &'a str,
    /// The name of their token.
    token: Option<&'a str>,
    /// Whether they sit at this machine.
    local: bool,
    /// Whether they may give tokens to others.
    admin: bool,
    version: &'a str,
}

/// Tells who asks.
pub(super) fn told(room: &Room) -> Result<Value, Refusal> {
    let (guest, version) = (&room.guest, env!("CARGO_PKG_VERSION"));
    let (tenant, token) = (guest.tenant.as_str(), guest.token.as_deref());
    Ok(serde_json::to_value(Me { tenant, token, local: guest.is_local, admin: guest.is_admin, version })?)
}
