//! The ledger: what each call was made of, what a provider's cache was worth, and what the turn would have cost without
//! us.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use scrollback::engine::{Engine, Turn};
use scrollback::ids::Hash128;
use scrollback::ledger::{CacheModel, Call, Hit, Link, Prices, Sent, Tokens, Usage, Without};
use scrollback::tokens::{Measure, Vocabulary};
use scrollback::window::{Body, Reason, Window};
use scrollback::{At, Message, SessionKey};
use serde_json::Value;

use crate::wire::Speech;
use crate::wire::edit::raw;
use crate::wire::said::{Piece, Said};

/// How many different sets of tools are remembered.
const TOOLS: usize = 256;
/// How many conversations are remembered with a model that has seen them.
const MET: usize = 4_096;
/// In so many of the newest views it is looked up whether a model has.
const LOOKED_UP: usize = 64;

pub(super) struct Book {
    prices: Prices,
    cache: Mutex<CacheModel>,
    tools: Mutex<HashMap<Hash128, u32>>,
    /// Which models have seen which conversations.
    met: Mutex<HashSet<Hash128>>,
}

/// A call that has ended.
pub(super) struct Ended<'a> {
    pub(super) model: &'a str,
    pub(super) upstream: &'a str,
    pub(super) tools: u32,
    pub(super) usage: Option<&'a Value>,
    /// What was said, in tokens, where that was not all reported.
    pub(super) counted: u32,
    pub(super) millis: u32,
    pub(super) at: At,
    /// Whether it is the first of its turn, which would have been made without us too.
    pub(super) first: bool,
    /// Whether the model has seen the conversation before.
    pub(super) met: bool,
}

impl Book {
    pub(super) fn new(prices: Prices) -> Self {
        Self { prices, cache: Mutex::default(), tools: Mutex::default(), met: Mutex::default() }
    }

    /// What a set of tools costs, counted once.
    pub(super) fn tokens_of(&self, tools: &str) -> u32 {
        let key = Hash128::of("tools", &[tools.as_bytes()]);
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        known.unwrap_or_else(|| {
            let tokens = u32::try_from(Vocabulary::O200k.count(tools)).unwrap_or(u32::MAX);
            let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
            if tools.len() >= TOOLS {
                tools.clear();
            }
            tools.insert(key, tokens);
            tokens
        })
    }

    /// Whether a model has seen a turn's conversation before, here or as far as it is on record. If not, all of it
    /// would be new to it without us too, as after an import or a change of model. What cannot be looked up has been
    /// seen: it makes us no better.
    pub(super) async fn has_met(&self, engine: &Engine, turn: &Turn, upstream: &str, model: &str) -> bool {
        let received = turn.received();
        let met = meeting(&received.session, upstream, model);
        if received.base.is_none() || self.remembers(met) {
            return true;
        }
        let Ok(views) = engine.views_before(&received.session, "", LOOKED_UP).await else { return true };
        let mut calls = views.iter().flat_map(|recorded| &recorded.view.calls);
        calls.any(|call| call.upstream == upstream && call.model == model)
    }

    fn remembers(&self, met: Hash128) -> bool {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).contains(&met)
    }

    fn remember(&self, met: Hash128) {
        let mut all = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MET {
            all.clear();
        }
        all.insert(met);
    }

    /// What a turn's first call saves in dollars, as far as it can be foretold: both ways in a cache that has lost
    /// nothing, but after a fold no cache has what stands behind the instructions.
    pub(super) fn foretold(&self, turn: &Turn, model: &str, tools: u32, met: bool) -> Option<f64> {
        let price = self.prices.of(model)?;
        let new = if met { turn.new_tokens() } else { u32::MAX };
        let behind = turn.window().tokens() - tokens(turn.window(), 0).instructions;
        let new_in_window = if turn.has_folded() && met { behind } else { new };
        let cost = |tokens: u32, new: u32| price.cost(price.ideal(tokens + tools, new), 0).dollars();
        Some(cost(turn.path_tokens(), new) - cost(turn.window().tokens(), new_in_window))
    }

    /// The entry of a call.
    pub(super) fn entry(&self, turn: &Turn, ended: &Ended<'_>) -> Call {
        let price = self.prices.of(ended.model);
        let tokens = tokens(turn.window(), ended.tools);
        let chain = chain(turn.window(), ended.tools);
        // What somebody else has in a provider's cache is nobody's business.
        let tenant = turn.received().session.tenant.as_str();
        let scope = Hash128::of("scope", &[tenant.as_bytes(), ended.upstream.as_bytes(), ended.model.as_bytes()]);
        let predicted = match price.and_then(|price| price.rule) {
            Some(rule) => {
                let sent = Sent { scope, rule, chain: &chain, at: ended.at };
                self.cache.lock().unwrap_or_else(PoisonError::into_inner).predict(&sent)
            }
            None => Hit { plain: tokens.total(), ..Hit::default() },
        };
        let reported = ended.usage.and_then(Usage::read);
        let told = reported.map_or(0, |usage| usage.output);
        let output = told.max(ended.counted);
        let hit = reported.map_or(predicted, Usage::hit);
        let whole = turn.path_tokens().saturating_add(ended.tools);
        let new = if ended.met { turn.new_tokens() } else { whole };
        self.remember(meeting(&turn.received().session, ended.upstream, ended.model));
        Call {
            model: ended.model.to_owned(),
            upstream: ended.upstream.to_owned(),
            tokens,
            predicted,
            reported,
            estimated_output: if output > told { output } else { 0 },
            cost: price.map(|price| price.cost(hit, output)),
            without: ended.first.then(|| Without::of(price, whole, new, output)),
            millis: ended.millis,
        }
    }
}

/// What was said, in tokens as counted here: words, thoughts and what calls ask for. Nothing where its provider reported
/// all of it. A reply that broke off is reported as it began, and some streams report nothing.
pub(super) fn counted(said: &Said, speech: &dyn Speech, model: &str) -> u32 {
    let is_reported = said.usage.as_ref().and_then(Usage::read).is_some();
    if said.is_empty() || is_reported && said.end.is_some() && !said.failed {
        return 0;
    }
    let pieces = said.pieces.iter().filter(|piece| is_spoken(piece)).cloned().collect();
    let messages = speech.messages(&Said { pieces, ..Said::default() });
    let spoken = messages.iter().map(|message| Measure::of(&Message::new(raw(message)), model).tokens);
    // A call that broke off stands in no message.
    let texts = said.calls().flat_map(|call| [&call.name, &call.arguments]);
    let called = texts.map(|text| u32::try_from(Vocabulary::of_model(model).count(text)).unwrap_or(u32::MAX));
    spoken.chain(called).fold(0, u32::saturating_add)
}

/// Whether a piece is words or thoughts. What a provider's own tools found was said by nobody.
fn is_spoken(piece: &Piece) -> bool {
    match piece {
        Piece::Words { .. } => true,
        Piece::Call(_) => false,
        Piece::Other(value) => value["type"] == "thinking" || value["type"] == "reasoning",
    }
}

/// A conversation and a model that sees it.
fn meeting(session: &SessionKey, upstream: &str, model: &str) -> Hash128 {
    let id = session.id.to_string();
    Hash128::of("met", &[session.tenant.as_str().as_bytes(), id.as_bytes(), upstream.as_bytes(), model.as_bytes()])
}

/// A window's tokens by kind.
fn tokens(window: &Window, tools: u32) -> Tokens {
    let mut tokens = Tokens { tools, ..Tokens::default() };
    for block in window.blocks() {
        let kind = match block.reason {
            Reason::Instructions => &mut tokens.instructions,
            Reason::Open | Reason::Reasoning => &mut tokens.open,
            Reason::CurrentTurn => &mut tokens.current,
            Reason::Covers => &mut tokens.contents,
            Reason::TooLarge => &mut tokens.held,
            Reason::Recalled => &mut tokens.recalled,
            Reason::Relevant => &mut tokens.topics,
            Reason::Kept => &mut tokens.kept,
            // It costs nothing.
            Reason::LeftOut => continue,
        };
        *kind += block.tokens;
    }
    tokens
}

/// A window as a provider's cache sees it.
fn chain(window: &Window, tools: u32) -> Vec<Link> {
    let head = Link::new(Hash128::of("tools", &[&tools.to_le_bytes()]), tools);
    let hash =
        |block: &scrollback::window::Block| match (&block.body, block.message().and_then(|stored| stored.position())) {
            // A message's node already is a hash of what it says.
            (Body::Original(_), Some(position)) => position.node.0,
            _ => block.hash(),
        };
    let sent = window.blocks().iter().filter(|block| block.reason != Reason::LeftOut);
    std::iter::once(head).chain(sent.map(|block| Link::new(hash(block), block.tokens))).collect()
}
