//! A client that measures: one connection, one request after another.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::dialect::Dialect;

/// A connection that is kept.
pub(crate) struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    /// A header line that every request has.
    pub(crate) header: String,
    dialect: Dialect,
}

/// How long a request took: until the first byte of the body, and all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) first: Duration,
    pub(crate) all: Duration,
}

impl Client {
    pub(crate) fn new(port: u16, dialect: Dialect) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        let reader = BufReader::with_capacity(1 << 16, stream.try_clone().unwrap());
        Self { stream, reader, header: String::new(), dialect }
    }

    /// Sends a body and reads the whole answer.
    pub(crate) fn ask(&mut self, body: &str) -> Took {
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\r\n",
            self.dialect.path(),
            self.header,
            body.len()
        );
        let began = Instant::now();
        if body.len() < 16_000 {
            self.stream.write_all((head + body).as_bytes()).unwrap();
        } else {
            self.stream.write_all(head.as_bytes()).unwrap();
            self.stream.write_all(body.as_bytes()).unwrap();
        }
        let (status, length) = self.head();
        assert_eq!(status, 200);
        match length {
            Some(length) => {
                let mut answer = vec![0; length];
                self.reader.read_exact(&mut answer).unwrap();
                Took { first: began.elapsed(), all: began.elapsed() }
            }
            None => self.chunks(began),
        }
    }

    fn head(&mut self) -> (u16, Option<usize>) {
        let (mut line, mut status, mut length) = (String::new(), 0, None);
        loop {
            line.clear();
            assert!(self.reader.read_line(&mut line).unwrap() > 0, "the connection was closed");
            if line.starts_with("HTTP/") {
                status = line[9..12].parse().unwrap();
            } else if line == "\r\n" {
                return (status, length);
            } else if line.to_ascii_lowercase().starts_with("content-length:") {
                length = Some(line[15..].trim().parse().unwrap());
            }
        }
    }

    fn chunks(&mut self, began: Instant) -> Took {
        let (mut line, mut first, mut piece) = (String::new(), None, Vec::new());
        loop {
            line.clear();
            self.reader.read_line(&mut line).unwrap();
            first.get_or_insert_with(|| began.elapsed());
            let size = usize::from_str_radix(line.trim(), 16).unwrap();
            piece.resize(size + 2, 0);
            self.reader.read_exact(&mut piece).unwrap();
            if size == 0 {
                return Took { first: first.unwrap(), all: began.elapsed() };
            }
        }
    }
}

/// A conversation that is sent whole with every turn.
pub(crate) struct Conversation {
    messages: String,
    /// The newest message, which may be written differently once it is not the newest.
    newest: Option<(&'static str, String)>,
    turns: usize,
    name: u64,
    dialect: Dialect,
}

impl Conversation {
    /// One with so many messages of about so many bytes.
    pub(crate) fn new(dialect: Dialect, name: u64, count: usize, bytes: usize) -> Self {
        let mut conversation = Self { messages: String::new(), newest: None, turns: 0, name, dialect };
        for i in 0..count {
            let role = if i % 2 == 0 { "user" } else { "assistant" };
            conversation.push(role, &text(name, i as u64, bytes));
        }
        conversation
    }

    fn push(&mut self, role: &'static str, text: &str) {
        if let Some((role, text)) = self.newest.replace((role, text.to_owned())) {
            self.messages.push_str(&self.dialect.message(role, &text, false));
            self.messages.push(',');
        }
    }

    /// The next turn's body; the reply to the one before is in it.
    pub(crate) fn next(&mut self, stream: bool) -> String {
        if self.turns > 0 {
            self.push("assistant", "ok");
        }
        let turn = self.turns as u64;
        self.turns += 1;
        self.push("user", &format!("question {turn} of {}", self.name));
        let newest = self.newest.as_ref().map(|(role, text)| self.dialect.message(role, text, true));
        self.dialect.request(&(self.messages.clone() + &newest.unwrap_or_default()), stream)
    }
}

/// Text of about so many bytes that nobody said before.
pub(crate) fn text(name: u64, number: u64, bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "harbour", "tide", "gauge", "report", "morning", "vessel", "berth", "wind", "level", "signal", "crew", "cargo",
        "delay", "engine", "repair", "ledger",
    ];
    let (mut text, mut state) = (format!("{name}-{number}"), name.wrapping_mul(31).wrapping_add(number) | 1);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(WORDS[(state >> 60) as usize]);
    }
    text
}

/// The middle and the 99th of a hundred.
pub(crate) fn quantiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)].as_secs_f64() * 1e6;
    (at(0.5), at(0.99))
}
