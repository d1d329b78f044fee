//! What SQLite reports, said so that a person knows what to do.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::Error;

/// Translates a failure while working on `path`.
pub(super) fn told(path: &Path, cause: rusqlite::Error) -> Error {
    let file = path.display();
    let what = match cause.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            format!(
                "the disk that holds {file} is full: nothing was written, nothing stored before is lost. Free some space"
            )
        }
        Some(ErrorCode::ReadOnly) => format!("{file} cannot be written: the file or its folder is read-only"),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!("{file} cannot be opened: its folder is missing, read-only or not yours")
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!(
                "reading or writing {file} failed: nothing acknowledged is lost. Check that the disk is neither full nor failing, then run `scrollback doctor`"
            )
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("{file} is locked by another program. Close it and try again")
        }
        Some(ErrorCode::NotADatabase) => {
            return Error::Invalid(format!(
                "{file} is not a Scrollback store, or its beginning is damaged: name another file, or restore a backup"
            ));
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            return Error::Damaged(format!(
                "{file} has damaged pages ({cause}). Keep a copy of it and restore a backup; as far as it can be read, `scrollback doctor` \
                 tells what is affected, `scrollback migrate-store` moves the rest to another store, and `scrollback export` writes it"
            ));
        }
        _ => format!("the store {file} failed"),
    };
    Error::store(what, cause)
}

/// An error if a folder is named where a file is meant.
pub(super) fn no_folder(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        let example = path.join("scrollback.db");
        let what = format!("{} is a folder: name a file in it, such as {}", path.display(), example.display());
        return Err(Error::Invalid(what));
    }
    Ok(())
}

/// What the file system refuses before the database comes in: `path` cannot be created, or locked.
pub(super) fn refused(path: &Path, what: &str, cause: std::io::Error) -> Error {
    let why = if cause.kind() == std::io::ErrorKind::StorageFull {
        "its disk is full. Free some space"
    } else {
        "its folder is missing, read-only or not yours"
    };
    Error::store(format!("{} cannot be {what}: {why}", path.display()), cause)
}

/// A failure inside the store, before it is known which file it concerns.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite reported it.
    Sqlite(rusqlite::Error),
    /// We found it ourselves.
    Ours(Error),
}

impl Fault {
    pub(super) fn told(self, path: &Path) -> Error {
        match self {
            Self::Sqlite(cause) => told(path, cause),
            Self::Ours(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(cause)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

/// The same failure once more, for each of several callers that it hit at once.
pub(super) fn repeated(error: &Error) -> Error {
    match error {
        Error::NotFound(what) => Error::NotFound(what.clone()),
        Error::Invalid(what) => Error::Invalid(what.clone()),
        Error::TooLarge(what) => Error::TooLarge(what.clone()),
        Error::InUse { path, holder } => Error::InUse { path: path.clone(), holder: holder.clone() },
        Error::Conflict(what) => Error::Conflict(what.clone()),
        Error::Store { .. } => Error::Store { what: error.explained(), source: None },
        Error::Model { .. } => Error::Model { what: error.explained(), source: None },
        Error::Unreachable(what) => Error::Unreachable(what.clone()),
        Error::Damaged(what) => Error::Damaged(what.clone()),
    }
}
