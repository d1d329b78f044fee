//! A view: the record of one window that was sent, block by block, with the reason each was there.
//!
//! Blocks are written as runs over the path, so a view costs a few hundred bytes however long the conversation is, and
//! the window can be drawn again from the log. Views can be compared, and asked why a message was shown or was not.

use serde::{Deserialize, Serialize};

use crate::ids::{At, BranchId, Depth, Hash128, MessageId};
use crate::ledger::Call;
use crate::note::Fold;
use crate::store::Position;
use crate::strategy::topics::Shown;
use crate::window::{Body, Reason, Window};

/// Which fold of a path: its branch, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoldId {
    /// The branch it was made on.
    pub branch: BranchId,
    /// Its number on that branch, from 1.
    pub epoch: u32,
}

/// Consecutive messages of a path that were shown for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The depth of the first.
    #[serde(rename = "f")]
    pub from: Depth,
    /// The depth of the last.
    #[serde(rename = "t")]
    pub to: Depth,
    /// Why they were shown; held ones are too large.
    #[serde(rename = "r")]
    pub reason: Reason,
    /// What they cost.
    #[serde(rename = "n")]
    pub tokens: u32,
}

/// The record of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The message it was made to answer.
    pub head: Position,
    /// How it was laid out: the strategy and the model's limit, `pages@128000`.
    pub layout: String,
    /// What it might cost.
    pub budget: u32,
    /// Its instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preamble: Vec<MessageId>,
    /// Those of them that stood outside of the messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<MessageId>,
    /// What they cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub preamble_tokens: u32,
    /// The fold it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<FoldId>,
    /// What the fold's text cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fold_tokens: u32,
    /// What was kept in it however old it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Hash128>,
    /// What that cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept_tokens: u32,
    /// What was shown of topics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<Shown>,
    /// The messages that were quoted from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quoted: Vec<MessageId>,
    /// What was said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// Whether it stood before all open messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub topics_first: bool,
    /// How much room it had.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub topics_room: u32,
    /// What it cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub topics_tokens: u32,
    /// How many topics share no word with the turn and were not asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub passed_over: u32,
    /// The messages that were shown.
    pub runs: Vec<Run>,
    /// What the model recalled on the way, as it asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalls: Vec<String>,
    /// What the recalls cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recalled_tokens: u32,
    /// What the reasoning before messages cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u32,
    /// The calls it was sent with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// What was done to the request on the way that its client should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// What the reply is bound to: it is good only where the same stands before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Hash128>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How a message stood to a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was shown, for this reason.
    Shown(Reason),
    /// It was under a fold, and quoted from its topic.
    Quoted,
    /// It was under the note of a listed page.
    Listed {
        /// The page.
        page: u32,
    },
    /// It was under a fold, and found by search alone.
    Searchable,
    /// A person wanted it left out.
    LeftOut,
    /// It was said later.
    Later,
    /// The window did not have it: the strategy dropped it.
    Dropped,
}

impl View {
    /// The record of a window.
    pub fn of(window: &Window, head: Position, layout: &str, fold: Option<FoldId>) -> Self {
        let mut view = Self {
            head,
            layout: layout.to_owned(),
            budget: window.budget().tokens,
            preamble: Vec::new(),
            heads: Vec::new(),
            preamble_tokens: 0,
            fold,
            fold_tokens: 0,
            kept: None,
            kept_tokens: 0,
            topics: Vec::new(),
            quoted: Vec::new(),
            remark: None,
            topics_first: false,
            topics_room: 0,
            topics_tokens: 0,
            passed_over: 0,
            runs: Vec::new(),
            recalls: Vec::new(),
            recalled_tokens: 0,
            reasoning_tokens: 0,
            calls: Vec::new(),
            notices: Vec::new(),
            bound: None,
        };
        for block in window.blocks() {
            match (&block.body, block.covers) {
                (Body::Note(_) | Body::Original(_), None) if block.reason == Reason::Kept => {
                    view.kept_tokens += block.tokens;
                }
                (Body::Original(_), None) if block.reason == Reason::Reasoning => {
                    view.reasoning_tokens += block.tokens;
                }
                (Body::Note(_), Some(_)) => view.fold_tokens += block.tokens,
                (Body::Note(_), None) => {
                    view.topics_first = view.runs.is_empty();
                    view.topics_tokens += block.tokens;
                }
                (Body::Round(_), _) => view.recalled_tokens += block.tokens,
                (Body::Original(stored), None) => {
                    view.preamble.push(stored.id);
                    view.preamble_tokens += block.tokens;
                }
                (Body::Original(_) | Body::Held(..) | Body::Whole(..) | Body::Nothing(_), Some(covers)) => {
                    view.run(Run { from: covers.from, to: covers.to, reason: block.reason, tokens: block.tokens });
                }
                (Body::Held(..) | Body::Whole(..) | Body::Nothing(_), None) => {}
            }
        }
        view
    }

    fn run(&mut self, next: Run) {
        match self.runs.last_mut() {
            Some(last) if last.reason == next.reason && last.to.plus(1) == next.from => {
                last.to = next.to;
                last.tokens += next.tokens;
            }
            _ => self.runs.push(next),
        }
    }

    /// Notes what was found in topics; whether any of it was shown, the window says.
    pub(crate) fn consulted(&mut self, topics: Vec<Shown>, remark: Option<String>, room: u32) {
        (self.topics, self.remark, self.topics_room) = (topics, remark, room);
    }

    /// What it cost.
    pub fn tokens(&self) -> u32 {
        let shown: u32 = self.runs.iter().map(|run| run.tokens).sum();
        let ours = self.fold_tokens + self.kept_tokens + self.topics_tokens + self.recalled_tokens;
        self.preamble_tokens + ours + self.reasoning_tokens + shown
    }

    /// How a message of its path stood to it.
    pub fn standing(&self, depth: Depth, fold: &Fold) -> Standing {
        if let Some(run) = self.runs.iter().find(|run| (run.from..=run.to).contains(&depth)) {
            return if run.reason == Reason::LeftOut { Standing::LeftOut } else { Standing::Shown(run.reason) };
        }
        if depth > self.head.depth {
            return Standing::Later;
        }
        if depth >= fold.open() {
            return Standing::Dropped;
        }
        let page = fold.listed.iter().find(|note| note.covers.holds(depth));
        page.map_or(Standing::Searchable, |note| Standing::Listed { page: note.number() })
    }

    /// The key it is recorded under: views sort by the message they answer, then by time.
    pub(crate) fn key(head: MessageId, at: At) -> String {
        format!("{}{:016x}", Self::keys(head), at.0)
    }

    /// How the keys of all views of a message begin.
    pub(crate) fn keys(head: MessageId) -> String {
        format!("{:010}-", head.0)
    }

    /// What all these keys are smaller than, and those of later messages are not.
    pub(crate) fn keys_end(head: MessageId) -> String {
        format!("{:010}.", head.0)
    }
}

/// A reason in words.
pub fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Instructions => "standing instructions",
        Reason::Open => "not folded yet",
        Reason::CurrentTurn => "part of the turn being answered",
        Reason::Covers => "stands for what was folded",
        Reason::TooLarge => "held: too large to show again and again",
        Reason::Recalled => "recalled by the model",
        Reason::Relevant => "quoted because it has to do with this turn",
        Reason::Kept => "kept however old it is: a rule, a pin or an image",
        Reason::Reasoning => "reasoning that led to the message after it",
        Reason::LeftOut => "left out, as the person wants it",
    }
}
