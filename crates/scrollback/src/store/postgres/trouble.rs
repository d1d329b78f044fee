//! What PostgreSQL and the way to it report, said so that a person knows what to do; and what is worth another try.

use std::fmt::Write;
use std::time::Duration;

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::error::SqlState;

use crate::error::Error;

/// A failure inside the store, before it is known which database it concerns.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database reported it, or the way to it broke.
    Database(tokio_postgres::Error),
    /// The way broke while a commit was under way: nobody knows whether it was made.
    Unsure(tokio_postgres::Error),
    /// There was no connection to be had.
    NoConnection(PoolError),
    /// Nothing was heard for too long.
    Silent(Duration),
    /// Another writer was in between; the same again will see what it did.
    Overtaken,
    /// We found it ourselves.
    Ours(Error),
}

impl From<tokio_postgres::Error> for Fault {
    fn from(cause: tokio_postgres::Error) -> Self {
        Self::Database(cause)
    }
}

impl From<PoolError> for Fault {
    fn from(cause: PoolError) -> Self {
        Self::NoConnection(cause)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

/// What another try may do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cure {
    /// The same at once: two writers were in each other's way.
    Again,
    /// The same over a new connection, when the database is back.
    Reconnect,
    /// Nothing: it would fail the same way.
    None,
}

impl Fault {
    /// What another try may do, if the work may be done twice.
    pub(super) fn cure(&self) -> Cure {
        match self {
            Self::Overtaken => Cure::Again,
            Self::Database(cause) | Self::Unsure(cause) | Self::NoConnection(PoolError::Backend(cause)) => {
                cure_of(cause)
            }
            // Whoever waited for a connection as long as is allowed has waited long enough.
            Self::NoConnection(PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle)) => Cure::Reconnect,
            Self::NoConnection(_) | Self::Silent(_) | Self::Ours(_) => Cure::None,
        }
    }

    /// Whether the connection it came over must not be used again.
    pub(super) fn spoils(&self) -> bool {
        match self {
            Self::Database(cause) | Self::Unsure(cause) => cure_of(cause) == Cure::Reconnect,
            Self::Silent(_) => true,
            Self::NoConnection(_) | Self::Overtaken | Self::Ours(_) => false,
        }
    }

    /// The failure in words; `place` says which database, without its password.
    pub(super) fn told(self, place: &str) -> Error {
        match self {
            Self::Ours(error) => error,
            Self::Database(cause) | Self::NoConnection(PoolError::Backend(cause)) => told(place, cause),
            Self::Unsure(cause) => Error::store(
                format!("the connection to {place} broke while a change was being made: it may have been made or not"),
                cause,
            ),
            Self::NoConnection(cause) => Error::store(
                format!(
                    "{place} has no connection to spare: it is slow, or there are more requests than it can take. Try again; [store] connections sets how many there are"
                ),
                cause,
            ),
            Self::Silent(limit) => {
                let what = format!(
                    "{place} did not answer within {} s: it, or the way to it, is overloaded or gone",
                    limit.as_secs()
                );
                Error::Store { what, source: None }
            }
            Self::Overtaken => {
                let what = format!("{place}: other writers were faster too often. Try again");
                Error::Store { what, source: None }
            }
        }
    }
}

fn cure_of(cause: &tokio_postgres::Error) -> Cure {
    let Some(state) = cause.code() else {
        // Without a word from the database the way to it broke: refused, reset, closed.
        return if is_setup(cause) { Cure::None } else { Cure::Reconnect };
    };
    let again = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED, &SqlState::UNIQUE_VIOLATION];
    // Shut down, starting up, out of connections, or no longer the one that may be written to.
    let away = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::TOO_MANY_CONNECTIONS,
        &SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    if again.contains(&state) {
        Cure::Again
    } else if away.contains(&state) || state.code().starts_with("08") {
        Cure::Reconnect
    } else {
        Cure::None
    }
}

/// Whether a failure is of what was asked for, not of the way: wrong types, an unreadable URL, no TLS.
fn is_setup(cause: &tokio_postgres::Error) -> bool {
    let text = cause.to_string();
    ["invalid configuration", "error performing TLS", "error serializing", "error deserializing", "unexpected number"]
        .iter()
        .any(|sign| text.starts_with(sign))
}

/// Translates what the database, or the way to it, reported.
pub(super) fn told(place: &str, cause: tokio_postgres::Error) -> Error {
    let Some(state) = cause.code() else {
        if cause.to_string().starts_with("error deserializing") {
            return Error::Damaged(format!("a row of {place} is unreadable: {}", explained(&cause)));
        }
        let what = format!("{place} does not answer: nothing acknowledged is lost. Start it, or check its address");
        return Error::store(what, cause);
    };
    let what = if [&SqlState::INVALID_PASSWORD, &SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(&state) {
        format!("{place} refuses this user or password: check those in its address")
    } else if *state == SqlState::INVALID_CATALOG_NAME {
        format!("there is no database {place}: create it with `createdb`, or check its name in the address")
    } else if *state == SqlState::INSUFFICIENT_PRIVILEGE {
        format!("{place} does not let this user do that: it must own the schema it keeps its tables in")
    } else if *state == SqlState::QUERY_CANCELED {
        format!(
            "{place} took too long and was stopped: it is overloaded. Try again; [store] timeout_seconds sets how long is too long"
        )
    } else if *state == SqlState::LOCK_NOT_AVAILABLE {
        format!("{place}: another writer holds what is needed for too long. Try again")
    } else if *state == SqlState::DISK_FULL {
        format!("the disk of {place} is full: nothing was written, nothing stored before is lost. Free some space")
    } else if *state == SqlState::READ_ONLY_SQL_TRANSACTION {
        format!(
            "{place} can only be read: it is a replica, or was set so. Name the primary in the address, or all hosts with target_session_attrs=read-write"
        )
    } else if *state == SqlState::PROGRAM_LIMIT_EXCEEDED {
        return Error::TooLarge(format!("{place} cannot keep something of this size: {}", explained(&cause)));
    } else if cure_of(&cause) == Cure::Reconnect {
        format!("{place} is away (stopping, starting, or out of connections): nothing acknowledged is lost. Try again")
    } else if *state == SqlState::DATA_CORRUPTED || *state == SqlState::INDEX_CORRUPTED {
        return Error::Damaged(format!("{place} reports damage: {}. Run `scrollback doctor`", explained(&cause)));
    } else {
        format!("{place} failed")
    };
    Error::store(what, cause)
}

fn explained(cause: &tokio_postgres::Error) -> String {
    let mut text = cause.to_string();
    let mut next = std::error::Error::source(cause);
    while let Some(source) = next {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {source}");
        next = source.source();
    }
    text
}
