//! What a person is told about a fold they asked for, in English and Chinese.

use scrollback::note::Fold;
use scrollback::window::grouped;

/// The language of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

/// A fold that was made.
pub(super) struct Done<'a> {
    pub(super) before: &'a Fold,
    pub(super) after: &'a Fold,
    /// The session, as the command line knows it.
    pub(super) session: &'a str,
}

impl Done<'_> {
    fn messages(&self) -> u32 {
        self.after.open().0 - self.before.open().0
    }

    /// What the model was shown of all that is folded now, and what it is shown.
    fn tokens(&self) -> (u32, u32) {
        let originals = self.after.original_tokens.saturating_sub(self.before.original_tokens);
        (originals.saturating_add(self.before.tokens), self.after.tokens)
    }

    /// The documents that are new or changed.
    fn documents(&self) -> Vec<String> {
        let new = self.after.newer_than(self.before);
        new.map(|edition| edition.id.to_string()).collect()
    }

    fn pages(&self) -> Vec<u32> {
        let known = |number: u32| self.before.listed.iter().any(|note| note.number() == number);
        self.after.listed.iter().map(scrollback::note::Note::number).filter(|number| !known(*number)).collect()
    }
}

impl Language {
    /// What was folded, and how to see it and take it back.
    pub(super) fn done(self, done: &Done<'_>) -> String {
        let (count, session, note) = (grouped(done.messages()), done.session, self.note(done));
        let (before, after) = done.tokens();
        let (before, after) = (grouped(before), grouped(after));
        match self {
            Self::English => format!(
                "Folded: {count} messages went under {note}, {before} tokens before and {after} after. Nothing is lost: \
                 `scrollback notes {session}` shows it, `scrollback undo {session}` takes it back."
            ),
            Self::Chinese => format!(
                "已压缩：{count} 条消息归入{note}，之前 {before} 个 token，之后 {after} 个。原文都还在：\
                 `scrollback notes {session}` 可以查看，`scrollback undo {session}` 可以撤销。"
            ),
        }
    }

    /// The note that they went under.
    fn note(self, done: &Done<'_>) -> String {
        let (documents, pages) = (done.documents(), done.pages());
        let summary = done.after.summary.as_ref().map(scrollback::summary::Summary::name);
        match (self, summary, documents.is_empty(), pages.first().zip(pages.last())) {
            (Self::English, Some(name), ..) => format!("the summary {name}"),
            (Self::Chinese, Some(name), ..) => format!("摘要 {name}"),
            (Self::English, None, false, _) => format!("documents ({})", documents.join(", ")),
            (Self::Chinese, None, false, _) => format!("文档（{}）", documents.join("、")),
            (Self::English, None, true, Some((first, last))) => format!("the contents page (#{first} to #{last})"),
            (Self::Chinese, None, true, Some((first, last))) => format!("目录页（#{first} 至 #{last}）"),
            (Self::English, None, true, None) => "topics and search".to_owned(),
            (Self::Chinese, None, true, None) => "主题与搜索".to_owned(),
        }
    }

    pub(super) fn nothing(self) -> &'static str {
        match self {
            Self::English => "Nothing was folded: nothing is old enough, and the newest messages stay as they are.",
            Self::Chinese => "没有压缩：还没有足够旧的内容，最近的消息保持原样。",
        }
    }

    pub(super) fn failed(self, why: &str) -> String {
        match self {
            Self::English => format!("Nothing was folded, because something went wrong: {why}. No message is lost."),
            Self::Chinese => format!("没有压缩，因为出了问题：{why}。没有丢失任何消息。"),
        }
    }
}
