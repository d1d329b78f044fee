//! Models: the upstreams of the settings, what is known of models, and who answers a chat that names none.

use schemars::JsonSchema;
use scrollback::ledger::Price;
use serde::Serialize;
use serde_json::Value;

use super::{Refusal, Room, address};
use crate::proxy::Proxy;
use crate::upstream::QUOTE;
use crate::wire::WireName;

/// All that can be asked.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Models")]
pub(super) struct All {
    /// The upstream that a chat is sent to unless it names one.
    upstream: String,
    /// The model it is sent to there.
    model: String,
    upstreams: Vec<Line>,
    models: Vec<Known>,
}

/// An upstream.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Upstream")]
struct Line {
    name: String,
    /// Its address, without what may be a secret; empty for whoever is no admin, and of what is built in.
    url: String,
    wire: WireName,
    /// Whether it can be asked without a key of the client's.
    ready: bool,
}

/// A model of the catalogue.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Model")]
struct Known {
    name: String,
    /// Its limit, in tokens.
    window: Option<u32>,
    /// What a million tokens cost, in dollars.
    input_dollars: f64,
    output_dollars: f64,
}

impl Known {
    fn of(price: &Price) -> Self {
        let (input_dollars, output_dollars) = (price.input.dollars(), price.output.dollars());
        Self { name: price.name.clone(), window: price.window, input_dollars, output_dollars }
    }
}

/// Lists them.
pub(super) fn list(room: &Room) -> Result<Value, Refusal> {
    let (serve, proxy) = (&room.serve, room.proxy.as_deref());
    let ready = |name: &str| proxy.and_then(|proxy| proxy.upstream(name)).is_some_and(|upstream| upstream.is_ready());
    // Where a house has its servers is no business of every token.
    let address = |url: &str| if room.guest.is_admin { address::bare(url) } else { String::new() };
    let upstreams = serve.upstreams.iter().map(|(name, settings)| Line {
        name: name.clone(),
        url: address(&settings.url),
        wire: settings.wire,
        ready: ready(name),
    });
    let quote = Line { name: QUOTE.into(), url: String::new(), wire: WireName::Chat, ready: true };
    let (upstream, model) = proxy.map_or_else(|| (QUOTE.into(), QUOTE.into()), Proxy::chat_default);
    let all = All {
        upstream,
        model,
        upstreams: upstreams.chain([quote]).collect(),
        models: serve.window.prices.all().map(Known::of).collect(),
    };
    Ok(serde_json::to_value(all)?)
}
