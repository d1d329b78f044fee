//! Which messages of a window came from elsewhere: from a file, or over another wire. No message tells its wire; what
//! only another dialect writes gives it away.

use scrollback::store::Origin;
use scrollback::window::{Block, Body};

use super::shape::Shape;
use crate::wire::Dress;
use crate::wire::theirs::Theirs;

pub(super) struct Whence<'a> {
    dress: &'a Dress<'a>,
    shape: &'a Shape,
    /// Whether something of the window was said over another wire: then whatever this request does not say may have
    /// been.
    crossed: bool,
    /// What this request says itself, however odd it looks: a client writes its own dialect.
    theirs: Theirs<'a>,
}

impl<'a> Whence<'a> {
    pub(super) fn of(dress: &'a Dress<'a>, shape: &'a Shape) -> Self {
        let theirs = Theirs::of(dress.request, shape.history);
        let mut whence = Self { dress, shape, crossed: false, theirs };
        whence.crossed = dress.turn.window().sent().any(|block| whence.is_given_away(block));
        whence
    }

    /// Whether a block shows what came from elsewhere.
    pub(super) fn is_foreign(&self, block: &Block) -> bool {
        match &block.body {
            Body::Original(stored) | Body::Held(stored, _) => {
                let may_be = self.dress.mixed || self.crossed && !self.theirs.says(stored.raw.get());
                may_be || stored.origin == Origin::Import
            }
            Body::Whole(..) | Body::Round(_) | Body::Note(_) | Body::Nothing(_) => self.is_given_away(block),
        }
    }

    /// Whether a block can only have been said over another wire. Within a turn, too, a client may change it.
    fn is_given_away(&self, block: &Block) -> bool {
        match &block.body {
            Body::Original(stored) | Body::Held(stored, _) => {
                let raw = stored.raw.get();
                stored.origin != Origin::Import && self.shape.is_of_another(raw) && !self.theirs.says(raw)
            }
            Body::Whole(_, raw) | Body::Round(raw) => self.shape.is_of_another(raw.get()),
            Body::Note(_) | Body::Nothing(_) => false,
        }
    }
}
