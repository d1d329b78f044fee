//! Recognising one message that comes again in other bytes: the echo of a reply, or what an earlier edition of a file
//! said.

use super::align::Finding;
use super::rewrite::Features;
use crate::store::{Origin, Stored};

impl Finding<'_> {
    /// Takes the next message if it is the echo of a reply among some messages.
    pub(super) fn take_echo(&mut self, children: &[Stored]) -> bool {
        let mut replies = children.iter().filter(|child| child.origin == Origin::Reply).peekable();
        if replies.peek().is_none() {
            return false;
        }
        let theirs = Features::of(&self.rest[0].message);
        let mut replies = replies.filter_map(|reply| Some((Features::of(&reply.message()), reply.position()?)));
        let Some((reply, position)) = replies.find(|(reply, _)| theirs.echoes(reply)) else { return false };
        if !theirs.says_the_same(&reply) {
            self.replaced.push((self.rest[0].message.clone(), self.rest[0].index, Some(position.id)));
        }
        self.take(1, position);
        true
    }

    /// Takes the next message of a file if one of some messages was read from an earlier edition of that file: said at
    /// the same moment, in the same words. What else a program tells of a message changes from one edition to the next.
    pub(super) fn take_again(&mut self, children: &[Stored]) -> bool {
        let link = &self.rest[0];
        let Some(at) = self.file.and_then(|times| times.get(link.index)) else { return false };
        let Some(words) = link.message.spoken() else { return false };
        let is_same = |child: &&Stored| {
            child.origin == Origin::Import && child.at == *at && child.message().spoken() == Some(words)
        };
        let Some(position) = children.iter().find(is_same).and_then(Stored::position) else { return false };
        self.take(1, position);
        true
    }
}
