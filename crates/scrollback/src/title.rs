//! What a conversation is called that nobody gave a title: its person's first words. What programs tell a model in a
//! person's name are not theirs.

use crate::message::{Message, Role};
use crate::rule::own_words;

/// How Codex begins what it tells of a folder; the rest of that is a block.
const OF_FOLDER: &str = "# AGENTS.md instructions";

/// The words of the first message in which a person says something.
pub fn first_words(messages: impl IntoIterator<Item = Message>) -> Option<String> {
    messages.into_iter().find_map(|message| words(&message))
}

/// Whether a turn begins with a message: a person's words, or no words at all, such as a picture.
pub(crate) fn is_asked(message: &Message) -> bool {
    *message.role() == Role::User && (message.to_text().trim().is_empty() || words(message).is_some())
}

/// What a person says in a message.
fn words(message: &Message) -> Option<String> {
    let is_persons = |words: &String| !words.is_empty() && !words.starts_with(OF_FOLDER);
    Some(message).filter(|message| *message.role() == Role::User).map(own_words).filter(is_persons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_say_in_a_persons_name_gives_no_title() {
        let said = |text: &str| Message::text(&Role::User, text);
        let first = |texts: &[&str]| first_words(texts.iter().map(|text| said(text)));
        let told = [
            "<environment_context>\n<cwd>/tmp</cwd>\n</environment_context>",
            "# AGENTS.md instructions for /tmp\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
        ];
        assert_eq!(first(&[told[0], told[1], "Mend the pier.", "And the boat."]).as_deref(), Some("Mend the pier."));
        let reminded = "<system-reminder>\nToday is Monday.\n</system-reminder>\nMend the pier.";
        assert_eq!(first(&[reminded]).as_deref(), Some("Mend the pier."));
        assert_eq!(first(&told), None);
        assert_eq!(first_words([Message::text(&Role::Assistant, "Hello."), said("Hi.")]).as_deref(), Some("Hi."));
    }
}
