//! What a person may write to the chat itself, and not to the model. Most of it is a command of the program, said of
//! the conversation at hand: it prints the same and takes the same arguments.

/// A command as help lists it.
pub(super) struct Command {
    pub(super) name: &'static str,
    /// What may follow it.
    pub(super) takes: &'static str,
    pub(super) about: &'static str,
}

const fn command(name: &'static str, takes: &'static str, about: &'static str) -> Command {
    Command { name, takes, about }
}

/// All of them, as help lists them.
pub(super) const COMMANDS: &[Command] = &[
    command("help", "", "this list"),
    command("window", "", "what the model was shown last, block by block"),
    command("compress", "", "fold now what would be folded when the window is full"),
    command("undo", "", "take the newest fold back"),
    command("redo", "", "take up again what was undone last"),
    command("notes", "[NAME]", "what stands for what is folded; one of them whole"),
    command("recall", "WORDS | page N | hold H | summary S", "what the model would get"),
    command("why", "M", "why a message was shown, or how to get it back"),
    command("pin", "[M …]", "show messages in every window; the last reply if none is named"),
    command("unpin", "[M …]", "pin them no more"),
    command("exclude", "[M …]", "leave messages out of every window"),
    command("include", "[M …]", "show them again"),
    command("pins", "", "what is pinned and what is left out"),
    command("rules", "", "what you told the model to keep to"),
    command("strategy", "[NAME]", "how windows are laid out: pages, topics, summary, artifacts, truncate, passthrough"),
    command("model", "[NAME]", "who answers from now on"),
    command("cost", "", "what every call was made of and cost"),
    command("show", "[--last N]", "the newest messages"),
    command("search", "WORDS", "messages of all conversations by their words"),
    command("sessions", "", "all conversations"),
    command("open", "NAME", "go on with another conversation"),
    command("new", "", "begin a new conversation"),
    command("branch", "[N]", "the branches of this conversation; go on with one"),
    command("export", "FILE", "write the conversation over a file; .md for people, else JSON lines"),
    command("quit", "", "leave; so does Ctrl-D"),
];

/// What a recall can be of; anything else is words to look for.
const RECALLED: [&str; 5] = ["page", "hold", "summary", "topic", "search"];

/// What a person wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing at all.
    Empty,
    /// Something for the model.
    Message(String),
    /// A command, and what follows it.
    Command(&'static str, &'a str),
    /// What looks like a command, and is none.
    Unknown(&'a str),
}

/// Reads a line. A slash and letters are a command, and a slash alone is none; anything else that begins with a slash,
/// such as a path, is a message.
pub(super) fn read(line: &str) -> Line<'_> {
    if line.trim().is_empty() {
        return Line::Empty;
    }
    if line.trim_end() == "/" {
        return Line::Unknown("/");
    }
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let letters = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    let Some(name) = first.strip_prefix('/').filter(letters).filter(|_| !line.trim_end().contains('\n')) else {
        return Line::Message(message(line).to_owned());
    };
    match COMMANDS.iter().find(|command| command.name == name.to_ascii_lowercase()) {
        Some(command) => Line::Command(command.name, rest.trim()),
        None => Line::Unknown(first),
    }
}

/// What is said: without the empty lines around it, and without the space that keeps a command from being one.
fn message(line: &str) -> &str {
    let text = line.trim_end();
    let blank = &text[..text.len() - text.trim_start().len()];
    let text = &text[blank.rfind('\n').map_or(0, |at| at + 1)..];
    text.strip_prefix(' ').filter(|rest| rest.starts_with('/')).unwrap_or(text)
}

/// Where the conversation goes on, as commands of the program are told.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The session, as a person may write it; none before the first message.
    pub(super) session: Option<String>,
    pub(super) branch: Option<u32>,
    /// The last reply.
    pub(super) last: Option<String>,
}

/// The words of the program's own command that does it; `None` if there is no conversation yet that it could be about.
pub(super) fn program(name: &str, rest: &str, place: &Place) -> Option<Vec<String>> {
    let words = || rest.split_whitespace();
    match name {
        "search" => return Some(said(&["search"], words())),
        "sessions" => return Some(said(&["sessions", "--limit", "20"], words())),
        _ => {}
    }
    let session = place.session.as_deref()?;
    let says = |option: &str| words().any(|word| word.split('=').next() == Some(option));
    let branch = place.branch.filter(|_| !says("--branch")).map(|branch| format!("--branch={branch}"));
    let line = match name {
        "window" => said(&["show", session, "--view"], None),
        "cost" => said(&["show", session, "--ledger"], None),
        "recall" if words().next().is_some_and(|word| RECALLED.contains(&word)) => said(&["recall", session], words()),
        "recall" => said(&["recall", session, "search"], words()),
        "pin" | "unpin" | "exclude" | "include" if rest.is_empty() => said(&[name, session], place.last.as_deref()),
        // Messages have their numbers whatever the branch.
        "why" => return Some(said(&["why", session], words())),
        "show" if says("--message") => return Some(said(&["show", session], words())),
        "export" => {
            let markdown = rest.to_ascii_lowercase().ends_with(".md");
            let format = if markdown { "markdown" } else { "jsonl" };
            let file = (!rest.is_empty()).then(|| format!("--output={rest}"));
            return Some(said(&["export", session, "--format", format], file.as_deref()));
        }
        _ => said(&[name, session], words()),
    };
    Some(line.into_iter().chain(branch).collect())
}

fn said<'a>(first: &[&'a str], rest: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    ["scrollback"].iter().chain(first).copied().chain(rest).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_and_letters_are_a_command() {
        assert_eq!(read("/undo"), Line::Command("undo", ""));
        assert_eq!(read("/Recall  page 42 "), Line::Command("recall", "page 42"));
        assert_eq!(read("/unfold now"), Line::Unknown("/unfold"));
        assert_eq!(read("/ "), Line::Unknown("/"));
        assert_eq!(read("   "), Line::Empty);
    }

    #[test]
    fn everything_else_is_a_message() {
        let message = |text: &str| Line::Message(text.to_owned());
        assert_eq!(read("/etc/hosts is wrong"), message("/etc/hosts is wrong"));
        assert_eq!(read(" /undo is a command"), message("/undo is a command"));
        assert_eq!(read("/ hello"), message("/ hello"));
        assert_eq!(read(" /"), message("/"));
        assert_eq!(read("/undo\nsecond line"), message("/undo\nsecond line"));
        assert_eq!(read("run \\\n  it\n"), message("run \\\n  it"));
        assert_eq!(read(" \n    if tide:\n        sail()"), message("    if tide:\n        sail()"));
        assert_eq!(read("潮位是多少？"), message("潮位是多少？"));
    }

    fn typed(line: &str) -> Option<String> {
        let place = Place { session: Some("harbour".into()), branch: None, last: Some("m7".into()) };
        let Line::Command(name, rest) = read(line) else { panic!("no command: {line}") };
        Some(program(name, rest, &place)?[1..].join(" "))
    }

    #[test]
    fn commands_are_those_of_the_program() {
        let cases = [
            ("/window", "show harbour --view"),
            ("/recall the key", "recall harbour search the key"),
            ("/recall page 4", "recall harbour page 4"),
            ("/pin", "pin harbour m7"),
            ("/pin m3 m4", "pin harbour m3 m4"),
            ("/search 押金 --limit 3", "search 押金 --limit 3"),
            ("/export my talk.md", "export harbour --format markdown --output=my talk.md"),
            ("/cost", "show harbour --ledger"),
        ];
        for (line, command) in cases {
            assert_eq!(typed(line).as_deref(), Some(command), "{line}");
        }
    }

    #[test]
    fn a_branch_is_named_and_a_conversation_needed() {
        let place = Place { session: Some("harbour".into()), branch: Some(2), last: None };
        assert_eq!(program("undo", "", &place).unwrap(), ["scrollback", "undo", "harbour", "--branch=2"]);
        assert_eq!(program("undo", "", &Place::default()), None);
        assert!(program("sessions", "", &Place::default()).is_some());
    }
}
