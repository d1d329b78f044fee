//! A copy of a whole file, made while others go on writing to it.
//!
//! It is of one moment: what is written after its beginning is not in it. It is made under another name and checked before it gets
//! its own, so that whatever has that name is a whole store.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::trouble::{self, Fault};
use super::{SqliteStore, private, schema};
use crate::error::{Error, Result};

/// So many pages are copied at a time.
const PAGES: i32 = 4_096;
/// How long is waited where somebody is in the way.
const PAUSE: Duration = Duration::from_millis(50);

impl SqliteStore {
    /// Copies everything in the file to another, for its owner alone, over whatever is there. `progress` is told how many pages are
    /// copied, and of how many.
    pub async fn back_up(&self, to: &Path, progress: impl Fn(u64, u64) + Send + 'static) -> Result<()> {
        let (to, part) = (to.to_owned(), PathBuf::from(format!("{}.part", to.display())));
        self.readers
            .ask(move |connection| {
                let done = whole(connection, &part, &progress).and_then(|()| named(&part, &to));
                if done.is_err() {
                    // What is left of it is of no use.
                    let _ = std::fs::remove_file(&part);
                }
                done.map_err(Fault::from)
            })
            .await
    }
}

/// Copies everything to a file of its own, and looks whether it arrived.
fn whole(connection: &Connection, part: &Path, progress: &dyn Fn(u64, u64)) -> Result<()> {
    let failed = |cause| trouble::told(part, cause);
    let refused = |cause| trouble::refused(part, "created", cause);
    let _ = std::fs::remove_file(part);
    private().create_new(true).open(part).map_err(refused)?;
    let mut copy = Connection::open(part).map_err(failed)?;
    copied(connection, &mut copy, progress).map_err(failed)?;
    // All of it is in the one file, with no journal beside it.
    copy.pragma_update(None, "journal_mode", "DELETE").map_err(failed)?;
    let found: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if found != "ok" {
        return Err(Error::Damaged(format!("the copy is not whole: {found}")));
    }
    copy.close().map_err(|(_, cause)| failed(cause))?;
    schema::open_reading(part).map(drop)
}

fn copied(connection: &Connection, copy: &mut Connection, progress: &dyn Fn(u64, u64)) -> rusqlite::Result<()> {
    // As long as this lasts the file is the same for us, whoever writes to it; otherwise every change would begin it anew.
    let moment = connection.unchecked_transaction()?;
    moment.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(&moment, copy)?;
    let count = |pages: i32| u64::try_from(pages).unwrap_or_default();
    loop {
        let step = backup.step(PAGES)?;
        if step == StepResult::Done {
            return Ok(());
        }
        if step != StepResult::More {
            std::thread::sleep(PAUSE);
        }
        let told = backup.progress();
        progress(count(told.pagecount - told.remaining), count(told.pagecount));
    }
}

/// Gives a whole copy its name, on the disk.
fn named(part: &Path, to: &Path) -> Result<()> {
    let refused = |cause| trouble::refused(to, "written", cause);
    File::open(part).and_then(|file| file.sync_all()).map_err(refused)?;
    std::fs::rename(part, to).map_err(refused)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(refused)
}

#[cfg(test)]
mod tests {
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
            beside.back_up(&to, |_, _| ()).await.unwrap();
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
        let error = store.back_up(&to, |_, _| ()).await.unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
    }
}
