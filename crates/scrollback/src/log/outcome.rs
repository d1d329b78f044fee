//! What became of a request's history.

/// How a request relates to what is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is new: a retry, or a request for another reply.
    Replay,
    /// It goes on where it stopped.
    Continue,
    /// The client changed earlier messages; the originals stay, its versions stand beside them.
    Edited,
    /// It leaves the known path: an edited question, or another reply.
    Branch,
    /// The client left out earlier messages.
    Truncated,
    /// The client put a summary of its own in place of earlier messages.
    Compacted,
    /// Nothing like it is known.
    New,
}
