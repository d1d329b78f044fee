//! How the responder speaks: in the question's language, and never more than it can quote.

use super::rank::Ranked;
use super::read::Speaker;
use crate::message::Role;
use crate::search::is_chinese;

/// At most so many quotes.
const QUOTES: usize = 4;
/// A further quote must be nearly as good as the first.
const NEARLY: f64 = 0.75;
/// Longer quotes are cut.
const QUOTE_CHARS: usize = 600;

/// The language of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

impl Language {
    /// The language of a question, as far as we speak it.
    pub(super) fn of(text: &str) -> Self {
        if is_chinese(text) { Self::Chinese } else { Self::English }
    }

    pub(super) fn noted(self) -> &'static str {
        match self {
            Self::English => "Noted.",
            Self::Chinese => "已记录。",
        }
    }

    fn opening(self) -> &'static str {
        match self {
            Self::English => "I only quote what is in the log:",
            Self::Chinese => "我只引用记录里的原话：",
        }
    }

    fn nothing(self) -> &'static str {
        match self {
            Self::English => "I only quote what is in the log, and found nothing there that answers this.",
            Self::Chinese => "我只引用记录里的原话；记录里没有找到能回答这个问题的内容。",
        }
    }

    fn role(self, role: &Role) -> &str {
        match (self, role) {
            (Self::Chinese, Role::User) => "用户",
            (Self::Chinese, Role::Assistant) => "助手",
            (Self::Chinese, Role::Tool) => "工具",
            (Self::Chinese, Role::System | Role::Other(_)) | (Self::English, _) => role.as_str(),
        }
    }

    /// Who said it, and which message and when where that is known.
    fn source(self, speaker: &Speaker) -> String {
        let id = speaker.id.map(|id| id.to_string());
        let known = [Some(self.role(&speaker.role).to_owned()), id, speaker.at.as_deref().map(to_the_second)];
        known.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A time without what is beyond its seconds.
fn to_the_second(at: &str) -> String {
    at.split_once('.').map_or_else(|| at.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}

/// Whether a text is an answer of this responder; its quotes stand elsewhere.
pub(super) fn is_ours(text: &str) -> bool {
    [Language::English, Language::Chinese]
        .iter()
        .any(|language| [language.opening(), language.nothing()].iter().any(|said| text.trim_start().starts_with(said)))
}

/// The answer made of the best passages.
pub(super) fn quotes(language: Language, ranked: &[&Ranked<'_>]) -> String {
    let Some(best) = ranked.first() else { return language.nothing().to_owned() };
    let mut chosen: Vec<&Ranked<'_>> = Vec::new();
    for next in ranked.iter().take_while(|next| next.score >= NEARLY * best.score) {
        let repeats = chosen.iter().any(|known| is_same(&known.passage.text, &next.passage.text));
        if !repeats && chosen.len() < QUOTES {
            chosen.push(next);
        }
    }
    let lines = chosen.iter().map(|ranked| line(language, ranked));
    std::iter::once(language.opening().to_owned()).chain(lines).collect::<Vec<_>>().join("\n\n")
}

fn is_same(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.trim_matches('…').to_owned();
    let (one, other) = (bare(one), bare(other));
    one.contains(&other) || other.contains(&one)
}

fn line(language: Language, ranked: &Ranked<'_>) -> String {
    let text = &ranked.passage.text;
    let cut: String = text.chars().take(QUOTE_CHARS).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("> {cut}{dots}\n— {}", language.source(&ranked.passage.speaker))
}
