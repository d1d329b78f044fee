//! Opening a file: settings of the connection, and migrations forward from any released version.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::trouble::told;
use super::{Durability, SqliteOptions};
use crate::error::{Error, Result};

/// Every migration, in order; a released one never changes.
const MIGRATIONS: [&str; 3] = [
    include_str!("../../../migrations/sqlite/0001_log.sql"),
    include_str!("../../../migrations/sqlite/0002_newest_sessions.sql"),
    include_str!("../../../migrations/sqlite/0003_unwiped.sql"),
];

/// Marks the file as ours ("Scrb").
const APPLICATION_ID: i32 = 0x5363_7262;

/// Small pages, because the journal writes whole pages: a small message then costs about 4 kB to append, not 10.
const PAGE_BYTES: u32 = 1024;

/// How long the journal may grow before a commit has to move it into the file; the writer does so earlier when idle.
const JOURNAL_PAGES: u32 = 16_384;

/// A connection that may write, with the schema brought up to date.
pub(super) fn open_writing(options: &SqliteOptions) -> Result<Connection> {
    let path = &options.path;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    let synchronous = match options.durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    let settings = format!(
        "PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
         PRAGMA wal_autocheckpoint = {JOURNAL_PAGES};
         PRAGMA journal_size_limit = {};",
        JOURNAL_PAGES * PAGE_BYTES
    );
    // Before anything is set: what is not ours stays as it is.
    let done = version(path, &connection)?;
    connection.execute_batch(&settings).map_err(|cause| told(path, cause))?;
    migrate(path, &mut connection, done)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn open_reading(path: &Path) -> Result<Connection> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if is_kept_from_writing(&connection) && is_settled(path) {
        connection = connect(&unchanging(path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?;
    }
    match version(path, &connection)? {
        current if current == MIGRATIONS.len() => Ok(connection),
        0 => Err(Error::NotFound(format!("{} is empty", path.display()))),
        older => Err(Error::Invalid(format!(
            "{} has an older layout ({older}). Any command that writes, such as `scrollback doctor --repair`, brings it up to date",
            path.display()
        ))),
    }
}

/// Whether a file cannot be read because nothing may be written beside it, where readers and writers tell each other
/// what they do.
fn is_kept_from_writing(connection: &Connection) -> bool {
    let asked = connection.query_row("PRAGMA schema_version", [], |_| Ok(()));
    let code = asked.err().and_then(|cause| cause.sqlite_error_code());
    matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Whether all that was written is in the file: nobody writes to it, and nobody was cut short.
fn is_settled(path: &Path) -> bool {
    !Path::new(&format!("{}-wal", path.display())).exists()
}

/// A name under which a file is read as it stands, because nothing can be written beside it: on a disk that is
/// read-only, or in somebody else's folder.
fn unchanging(path: &Path) -> PathBuf {
    let escaped = path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    PathBuf::from(format!("file:{escaped}?immutable=1"))
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        connection.set_prepared_statement_cache_capacity(64);
        // Otherwise statements are planned anew for the values they are given, which takes longer than most of them
        // run.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    };
    open().map_err(|cause| told(path, cause))
}

/// The number of migrations the file has had.
fn version(path: &Path, connection: &Connection) -> Result<usize> {
    let pragma = |name: &str| -> Result<i64> {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).map_err(|cause| told(path, cause))
    };
    let (ours, version) = (pragma("application_id")?, pragma("user_version")?);
    let foreign = ours != i64::from(APPLICATION_ID) && (version != 0 || pragma("schema_version")? != 0);
    if foreign {
        return Err(Error::Invalid(format!(
            "{} is a database of another program, not a Scrollback store",
            path.display()
        )));
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(Error::Invalid(format!("{} was made by a newer Scrollback; update this one", path.display()))),
    }
}

fn migrate(path: &Path, connection: &mut Connection, done: usize) -> Result<()> {
    for (number, sql) in MIGRATIONS.iter().enumerate().skip(done) {
        let step = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", number + 1)?;
            transaction.commit()
        };
        step(connection).map_err(|cause| told(path, cause))?;
    }
    Ok(())
}
