//! Reading names, quoted texts and whole numbers from the beginning of a text on.
//!
//! This is all of a program's grammar that a model may write; `attp` puts it together.

use serde_json::Value;

/// Text that is being read from its beginning on.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn skip(&mut self, unwanted: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(unwanted);
    }

    pub(super) fn spaces(&mut self) {
        self.skip(|c| matches!(c, ' ' | '\t'));
    }

    pub(super) fn takes(&mut self, wanted: &str) -> bool {
        let after = self.rest.strip_prefix(wanted);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    pub(super) fn name(&mut self) -> Option<&'a str> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let first = name.chars().next()?;
        self.rest = rest;
        (!first.is_ascii_digit()).then_some(name)
    }

    /// A quoted text of any of the four kinds.
    pub(super) fn string(&mut self, escapes: Escapes) -> Option<String> {
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| self.rest.starts_with(quote))?;
        self.takes(quote);
        let mut text = String::new();
        loop {
            if self.takes(quote) {
                return Some(text);
            }
            let c = self.rest.chars().next()?;
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '\n' if quote.len() == 1 => return None,
                '\\' if escapes == Escapes::Read && self.takes("\n") => {}
                '\\' if escapes == Escapes::Read => text.push(self.escaped()?),
                _ => text.push(c),
            }
        }
    }

    /// The character that is written with a backslash.
    fn escaped(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        match c {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'u' => {
                let (digits, rest) = self.rest.split_at_checked(4)?;
                self.rest = rest;
                u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
            }
            '"' | '\'' | '\\' => Some(c),
            _ => None,
        }
    }

    pub(super) fn literal(&mut self) -> Option<Value> {
        if self.rest.starts_with(['"', '\'']) {
            return self.string(Escapes::Read).map(Value::String);
        }
        let sign = if self.takes("-") { "-" } else { "" };
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        format!("{sign}{digits}").parse::<i64>().ok().map(Value::from)
    }
}

/// What a backslash means in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// It changes the character after it.
    Read,
    /// It is a backslash.
    Kept,
}
