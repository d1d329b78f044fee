//! What can go wrong, sorted by what the caller can do about it.

use std::path::PathBuf;

/// The library's one error type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The thing named does not exist, or belongs to somebody else. Ask for another.
    #[error("{0}")]
    NotFound(String),
    /// What was given cannot be used. Correct it.
    #[error("{0}")]
    Invalid(String),
    /// What must be shown does not fit in the model's window. Use a larger one, or shorten what is named.
    #[error("{0}")]
    TooLarge(String),
    /// Another process has the store open for writing. Stop it, or wait.
    #[error("{path} is open in another process ({holder}). Stop that process, or name another file with --store")]
    InUse {
        /// The store's file.
        path: PathBuf,
        /// What the other process said of itself.
        holder: String,
    },
    /// Another writer changed the same record first. Read again and decide anew.
    #[error("{0} was changed by another writer meanwhile; read it again")]
    Conflict(String),
    /// The store could not do its work (disk full, no permission, …). Nothing acknowledged before is lost.
    #[error("{what}")]
    Store {
        /// What happened and what to do.
        what: String,
        /// The cause, where a library reported one.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The helper model was asked and failed, which it may charge for. Whatever it was for is answered offline; mend
    /// the helper when it suits.
    #[error("{what}")]
    Model {
        /// What happened.
        what: String,
        /// The cause, where a library reported one.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The helper model was not asked, because nobody is there to ask. It charges nothing for that.
    #[error("{0}")]
    Unreachable(String),
    /// Stored bytes are not what was written. Run `scrollback doctor`, restore from a backup.
    #[error("damaged: {0}")]
    Damaged(String),
}

impl Error {
    pub(crate) fn store(what: impl Into<String>, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Store { what: what.into(), source: Some(Box::new(source)) }
    }

    /// The error with all its causes on one line.
    pub(crate) fn explained(&self) -> String {
        let causes = std::iter::successors(Some(self as &dyn std::error::Error), |cause| cause.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }
}

/// A result with the library's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
