//! A copy of a whole file, made while others go on writing to it.
//!
//! It is of one moment: what is written after its beginning is not in it. It is made under another name and checked
//! before it gets its own, so that whatever has that name is a whole store.

use std::fs::{DirEntry, File};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::trouble::{self, Fault};
use super::{SqliteStore, forget, lock, lock_of, private, schema};
use crate::error::{Error, Result};

/// So many pages are copied at a time.
const PAGES: i32 = 4_096;
/// How long is waited where somebody is in the way.
const PAUSE: Duration = Duration::from_millis(50);
/// Nobody writes any more to a copy that was not written to for so long.
const ABANDONED: Duration = Duration::from_hours(24);
/// How the names of a file and of what SQLite keeps beside it end. The file comes first: without the others it may not
/// be whole.
const ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Tells the copies of this process apart.
static COPIES: AtomicU64 = AtomicU64::new(0);

/// Is told how many pages are copied, and of how many, and says whether to go on.
type Progress<'a> = dyn Fn(u64, u64) -> ControlFlow<()> + 'a;

impl SqliteStore {
    /// Copies everything in the file to another, for its owner alone, over whatever is there, unless that is a store
    /// that a process has open. `progress` is told how many pages are copied, and of how many; where it breaks off, what
    /// was there stays, and nothing of the copy.
    pub async fn back_up(
        &self,
        to: &Path,
        progress: impl Fn(u64, u64) -> ControlFlow<()> + Send + 'static,
    ) -> Result<()> {
        let to = to.to_owned();
        self.readers
            .ask(move |connection| {
                sweep_parts(&to);
                drop(held(&to)?);
                let part = part_of(&to)?;
                let done = whole(connection, &part, &progress).and_then(|()| held(&to));
                if done.is_err() {
                    // What is left of it is of no use.
                    let _ = remove(&part);
                }
                let _held = done?;
                named(&part, &to).map_err(Fault::from)
            })
            .await
    }
}

/// Makes the file that a copy is written to until it is whole. Nobody else has the same.
fn part_of(to: &Path) -> Result<PathBuf> {
    loop {
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let part = beside(to, &format!(".{}-{number}.part", std::process::id()));
        match private().create_new(true).open(&part) {
            Ok(_) => return Ok(part),
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(trouble::refused(to, "created", cause)),
        }
    }
}

/// Whether a file is a copy of that kind, or belongs to one.
fn is_part_of(file: &str, to: &str) -> bool {
    let own = file.strip_prefix(to).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once(".part"));
    own.is_some_and(|(numbers, ending)| {
        ENDINGS.contains(&ending) && numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

/// Removes what was left beside a file by processes that were killed long ago while they wrote it: under its name, a
/// number of the process and `.part`.
pub fn sweep_parts(to: &Path) {
    let (Some(name), Ok(entries)) = (to.file_name().and_then(|name| name.to_str()), folder(to).read_dir()) else {
        return;
    };
    let age = |entry: &DirEntry| entry.metadata().and_then(|found| found.modified()).ok()?.elapsed().ok();
    for entry in entries.flatten() {
        let is_part = entry.file_name().to_str().is_some_and(|file| is_part_of(file, name));
        if is_part && age(&entry).is_some_and(|age| age > ABANDONED) {
            // If it stays, it takes room and does no other harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Takes the right to replace a file. What nobody ever opened as a store for writing has no lock, and needs none.
fn held(to: &Path) -> Result<Option<File>> {
    if !lock_of(to).exists() {
        return Ok(None);
    }
    lock(to).map(Some).map_err(|error| {
        let Error::InUse { path, holder } = error else { return error };
        let what = "Stop that process, or name another file for the copy";
        Error::Invalid(format!("{} is open in another process ({holder}). {what}", path.display()))
    })
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes a file and what SQLite keeps beside it, as far as they are there.
fn remove(path: &Path) -> std::io::Result<()> {
    for ending in ENDINGS {
        match std::fs::remove_file(beside(path, ending)) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(cause),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Copies everything to an empty file, and looks whether it arrived.
fn whole(connection: &Connection, part: &Path, progress: &Progress<'_>) -> Result<()> {
    let failed = |cause| trouble::told(part, cause);
    let mut copy = Connection::open(part).map_err(failed)?;
    if copied(connection, &mut copy, progress).map_err(failed)?.is_break() {
        return Err(Error::Invalid("the copy was broken off".into()));
    }
    // All of it is in the one file, with no journal beside it.
    copy.pragma_update(None, "journal_mode", "DELETE").map_err(failed)?;
    if forget::is_unwiped(&copy).map_err(failed)? {
        // What was erased a moment ago does not live on in the copy.
        forget::write_anew(&copy).map_err(failed)?;
    }
    let found: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if found != "ok" {
        return Err(Error::Damaged(format!("the copy is not whole: {found}")));
    }
    copy.close().map_err(|(_, cause)| failed(cause))?;
    schema::open_reading(part).map(drop)
}

fn copied(
    connection: &Connection,
    copy: &mut Connection,
    progress: &Progress<'_>,
) -> rusqlite::Result<ControlFlow<()>> {
    // As long as this lasts the file is the same for us, whoever writes to it; otherwise every change would begin it
    // anew.
    let moment = connection.unchecked_transaction()?;
    moment.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(&moment, copy)?;
    let count = |pages: i32| u64::try_from(pages).unwrap_or_default();
    loop {
        let step = backup.step(PAGES)?;
        let told = backup.progress();
        let goes_on = progress(count(told.pagecount - told.remaining), count(told.pagecount));
        if step == StepResult::Done || goes_on.is_break() {
            return Ok(goes_on);
        }
        if step != StepResult::More {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Gives a whole copy its name, on the disk. A journal that the file before it left would be taken for the copy's own:
/// so both go first, and whatever cuts this short leaves nothing of that name, and the copy whole under its other.
fn named(part: &Path, to: &Path) -> Result<()> {
    let refused = |cause| trouble::refused(to, "written", cause);
    let synced = || File::open(folder(to)).and_then(|folder| folder.sync_all());
    File::open(part).and_then(|file| file.sync_all()).map_err(refused)?;
    remove(to).map_err(refused)?;
    // What is wrong with the disk is told when all is done: by now there is no way back.
    let _ = synced();
    std::fs::rename(part, to).and_then(|()| synced()).map_err(refused)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::*;
    use crate::ids::{At, Tenant};
    use crate::store::sqlite::SqliteOptions;
    use crate::store::{Batch, Expect, Keys, Kind, Put, Scope, Store};

    async fn write(store: &SqliteStore, number: u32) {
        let body = serde_json::value::to_raw_value(&"tide ".repeat(200)).unwrap();
        let (scope, key) = (Scope::Tenant(Tenant::local()), format!("n{number:05}"));
        let put = Put { scope, kind: Kind::Setting, key, at: At(0), body, expect: Expect::Any };
        store.commit(Batch::of_tenant(&Tenant::local(), vec![put])).await.unwrap();
    }

    fn on(_: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    async fn count(store: &SqliteStore) -> usize {
        let scope = Scope::Tenant(Tenant::local());
        store.records(&scope, Kind::Setting, Keys::After(String::new(), 100_000)).await.unwrap().len()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_copy_is_whole_while_others_write() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("log.db"), folder.path().join("copy.db"));
        let store = Arc::new(SqliteStore::open(&SqliteOptions::new(&from)).unwrap());
        for number in 0..200 {
            write(&store, number).await;
        }
        let writing = tokio::spawn({
            let store = store.clone();
            async move {
                for number in 200..1_000 {
                    write(&store, number).await;
                }
            }
        });
        // From another process, as far as the file knows.
        let beside = SqliteStore::open_reading(&SqliteOptions::new(&from)).unwrap();
        for _ in 0..3 {
            beside.back_up(&to, on).await.unwrap();
        }
        writing.await.unwrap();
        let copy = SqliteStore::open_reading(&SqliteOptions::new(&to)).unwrap();
        assert_eq!(copy.check(|_| ()).await.unwrap().problem_count, 0);
        let kept = count(&copy).await;
        assert!((200..=1_000).contains(&kept), "{kept}");
        drop(copy);
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let beside = names.iter().filter(|name| name.to_string_lossy().starts_with("copy.db")).count();
        assert_eq!(beside, 1, "{names:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&SqliteOptions::new(folder.path().join("log.db"))).unwrap();
        let to = folder.path().join("nowhere").join("copy.db");
        let error = store.back_up(&to, on).await.unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
    }

    #[tokio::test]
    async fn one_that_is_broken_off_leaves_what_was_there() {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("copy.db");
        let store = SqliteStore::open(&SqliteOptions::new(home.path().join("log.db"))).unwrap();
        std::fs::write(&to, "mine").unwrap();
        let error = store.back_up(&to, |_, _| ControlFlow::Break(())).await.unwrap_err().to_string();
        assert!(error.contains("broken off"), "{error}");
        assert_eq!((names_beside(&to), std::fs::read(&to).unwrap()), (vec!["copy.db".to_owned()], b"mine".to_vec()));
    }

    fn names_beside(to: &Path) -> Vec<String> {
        let names = folder(to).read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let own = to.file_name().unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> = names.filter(|name| name.starts_with(&own)).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn a_journal_that_an_older_file_left_is_not_read_with_the_copy() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("log.db"), home.path().join("copy.db"));
        let store = SqliteStore::open(&SqliteOptions::new(&from)).unwrap();
        write(&store, 0).await;
        let older = SqliteStore::open(&SqliteOptions::new(&to)).unwrap();
        for number in 0..50 {
            write(&older, number).await;
        }
        // As a process leaves it that is killed.
        let left = ["", "-wal"].map(|ending| std::fs::read(beside(&to, ending)).unwrap());
        drop(older);
        for (ending, bytes) in ["", "-wal"].into_iter().zip(left) {
            std::fs::write(beside(&to, ending), bytes).unwrap();
        }
        store.back_up(&to, on).await.unwrap();
        assert_eq!(names_beside(&to), ["copy.db", "copy.db.lock"]);
        let copy = SqliteStore::open(&SqliteOptions::new(&to)).unwrap();
        assert_eq!(copy.check(|_| ()).await.unwrap().problems, Vec::<String>::new());
        assert_eq!(count(&copy).await, 1);
    }

    #[tokio::test]
    async fn a_store_that_is_open_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("other.db");
        let store = SqliteStore::open(&SqliteOptions::new(home.path().join("log.db"))).unwrap();
        let other = SqliteStore::open(&SqliteOptions::new(&to)).unwrap();
        write(&other, 7).await;
        let error = store.back_up(&to, on).await.unwrap_err().to_string();
        assert!(error.contains("other.db is open in another process (process "), "{error}");
        write(&other, 8).await;
        assert_eq!(count(&other).await, 2);
        drop(other);
        store.back_up(&to, on).await.unwrap();
        assert_eq!(count(&SqliteStore::open_reading(&SqliteOptions::new(&to)).unwrap()).await, 0);
    }

    #[tokio::test]
    async fn two_copies_to_one_file_do_not_disturb_each_other() {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("copy.db");
        let store = SqliteStore::open(&SqliteOptions::new(home.path().join("log.db"))).unwrap();
        // More than is copied at a time.
        let body = serde_json::value::to_raw_value(&"tide ".repeat(1_000_000)).unwrap();
        let (scope, key) = (Scope::Tenant(Tenant::local()), "long".into());
        let put = Put { scope, kind: Kind::Setting, key, at: At(0), body, expect: Expect::Any };
        store.commit(Batch::of_tenant(&Tenant::local(), vec![put])).await.unwrap();
        let both = Arc::new(std::sync::Barrier::new(2));
        let meet = || {
            let both = both.clone();
            let begun = Cell::new(false);
            move |_: u64, _: u64| {
                if !begun.replace(true) {
                    both.wait();
                }
                ControlFlow::Continue(())
            }
        };
        let (one, other) = tokio::join!(store.back_up(&to, meet()), store.back_up(&to, meet()));
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        assert_eq!(names_beside(&to), ["copy.db"]);
        assert_eq!(count(&SqliteStore::open_reading(&SqliteOptions::new(&to)).unwrap()).await, 1);
    }

    #[tokio::test]
    async fn what_a_killed_process_left_is_removed_after_a_day() {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("copy.db");
        let store = SqliteStore::open(&SqliteOptions::new(home.path().join("log.db"))).unwrap();
        let long_ago = std::time::SystemTime::now().checked_sub(2 * ABANDONED).unwrap();
        for ending in [".7-0.part", ".7-0.part-journal", ".zip.part", ".7-1.part"] {
            let file = File::create(beside(&to, ending)).unwrap();
            if ending != ".7-1.part" {
                file.set_modified(long_ago).unwrap();
            }
        }
        store.back_up(&to, on).await.unwrap();
        assert_eq!(names_beside(&to), ["copy.db", "copy.db.7-1.part", "copy.db.zip.part"]);
    }
}
