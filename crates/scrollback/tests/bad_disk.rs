//! Files and folders as they should not be: in use, read-only, foreign, from the future, cut, damaged. And erasing for
//! good.

mod durable;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable::{array, child, errand, receive, said};
use rusqlite::Connection;
use scrollback::import::{self, Format};
use scrollback::log::Received;
use scrollback::search::{Query, find};
use scrollback::store::{Batch, Expect, Keys, Kind, Origin, Put, Scope, Span, Which};
use scrollback::{At, Error, Forget, Log, MessageId, SessionKey, SqliteOptions, SqliteStore, Store, Tenant};
use tempfile::TempDir;

/// A store in a folder of its own.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder of our own") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("log.db")
    }

    fn open(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(&SqliteOptions::new(self.path())).expect("the store opens"))
    }

    fn refused(&self) -> Error {
        SqliteStore::open(&SqliteOptions::new(self.path())).expect_err("the store must not open")
    }

    /// Some conversations, and the store closed again.
    async fn filled(names: &[&str]) -> Self {
        let place = Self::new();
        let store = place.open();
        for name in names {
            talk(&store, name).await;
        }
        drop(store);
        place
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).expect("the file is there")
    }

    /// Changes the first occurrence of some bytes in the file.
    fn replace(&self, old: &str, new: &[u8]) {
        let mut bytes = self.bytes();
        let at = bytes.windows(old.len()).position(|window| window == old.as_bytes()).expect("closed files hold all");
        bytes[at..at + new.len()].copy_from_slice(new);
        std::fs::write(self.path(), bytes).expect("the file is ours");
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.path()).and_then(|connection| connection.execute_batch(sql)).expect("valid SQL");
    }
}

/// Three messages that hold the name of their session.
async fn talk(store: &Arc<SqliteStore>, name: &str) -> Received {
    let log = Log::new(store.clone());
    let texts = ["begins", "goes on", "ends"].map(|what| said("user", &format!("Here {name} {what}, said {name}1.")));
    receive(&log, Some(name), &array(&texts)).await.expect("it is stored")
}

fn key(name: &str) -> SessionKey {
    let tenant = Tenant::local();
    SessionKey { id: scrollback::SessionId::declared(&tenant, name), tenant }
}

async fn read(store: &SqliteStore, name: &str) -> Result<usize, Error> {
    Ok(store.read(&key(name), Span::Arrival { from: MessageId(0), limit: 100 }).await?.len())
}

/// The messages of a session that cannot be read.
async fn damaged(store: &SqliteStore, name: &str) -> Vec<String> {
    let all = store.read(&key(name), Span::Arrival { from: MessageId(0), limit: 100 }).await.expect("it is read");
    all.iter().filter(|stored| stored.origin == Origin::Damaged).map(|stored| stored.id.to_string()).collect()
}

async fn found(store: &SqliteStore, words: &str) -> Result<usize, Error> {
    Ok(find(store, &Tenant::local(), &Query::new(words)).await?.len())
}

async fn problems(store: &SqliteStore) -> Vec<String> {
    store.check(|_| {}).await.expect("a check reports, it does not fail").problems
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_a_store() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let store = place.open();
    talk(&store, "alpha").await;
    let entries: Vec<_> = std::fs::read_dir(place.folder.path()).unwrap().map(Result::unwrap).collect();
    let names: Vec<_> = entries.iter().map(|entry| entry.file_name().into_string().unwrap()).collect();
    for name in ["log.db", "log.db-wal", "log.db-shm", "log.db.lock"] {
        assert!(names.iter().any(|there| there == name), "{name} is not among {names:?}");
    }
    for entry in entries {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
}

#[tokio::test]
async fn a_closed_store_is_one_whole_file() {
    let place = Place::filled(&["alpha"]).await;
    assert!(!place.folder.path().join("log.db-wal").exists(), "the journal must be folded into the file");
    let copy = Place::new();
    std::fs::copy(place.path(), copy.path()).unwrap();
    assert_eq!(read(&copy.open(), "alpha").await.unwrap(), 3);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_store_is_no_other_store() {
    let place = Place::filled(&["alpha"]).await;
    let link = place.folder.path().join("link.db");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let store = place.open();
    let told = SqliteStore::open(&SqliteOptions::new(&link)).expect_err("somebody writes to it");
    assert!(matches!(told, Error::InUse { .. }), "{told}");
    drop(store);
    assert_eq!(read(&SqliteStore::open(&SqliteOptions::new(&link)).unwrap(), "alpha").await.unwrap(), 3);
}

#[tokio::test]
async fn one_writes_and_others_read() {
    let place = Place::new();
    let store = place.open();
    let beside = SqliteStore::open_reading(&SqliteOptions::new(place.path())).unwrap();
    talk(&store, "alpha").await;
    assert_eq!(read(&beside, "alpha").await.unwrap(), 3);
    assert_eq!(found(&beside, "alpha").await.unwrap(), 3);
    let holder = format!("process {}", std::process::id());
    let told = place.refused();
    let named = matches!(&told, Error::InUse { path, holder: named } if *path == place.path() && *named == holder);
    assert!(named, "{told}");
    // And from another process.
    let output = child("a_child_that_opens", &place.path().display().to_string()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("in use") && told.contains(&holder), "{told}");
    let written = beside.commit(Batch::new(talk(&store, "beta").await.session)).await;
    assert!(written.unwrap_err().to_string().contains("reading only"));
    assert_eq!(read(&beside, "beta").await.unwrap(), 3);
    drop(store);
    assert_eq!(read(&beside, "beta").await.unwrap(), 3);
    place.open();
}

/// The child: tries to open a store for writing, and tells how that went.
#[test]
fn a_child_that_opens() {
    let Some(path) = errand() else { return };
    match SqliteStore::open(&SqliteOptions::new(path)) {
        Ok(_) => println!("\nopened"),
        Err(error @ Error::InUse { .. }) => println!("\nin use: {error}"),
        Err(error @ Error::Store { .. }) => println!("\nstore: {error}"),
        Err(error) => println!("\nother: {error}"),
    }
}

/// The child: opens a store for reading, and asks it something.
#[test]
fn a_child_that_reads() {
    let Some(path) = errand() else { return };
    match SqliteStore::open_reading(&SqliteOptions::new(path)) {
        Ok(_) => println!("\nreads"),
        Err(error) => println!("\nrefused: {error}"),
    }
}

#[tokio::test]
async fn a_missing_folder_or_file_is_named() {
    let place = Place::new();
    let path = place.folder.path().join("no such folder").join("log.db");
    let told = SqliteStore::open(&SqliteOptions::new(&path)).unwrap_err().to_string();
    assert!(told.contains("no such folder") && told.contains("missing"), "{told}");
    let told = SqliteStore::open_reading(&SqliteOptions::new(place.path())).unwrap_err();
    assert!(matches!(&told, Error::NotFound(what) if what.contains("log.db")), "{told}");
    assert!(!place.path().exists(), "reading creates nothing");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_read_only_folder_is_said_to_be_one() {
    let place = Place::filled(&["alpha"]).await;
    std::fs::remove_file(place.folder.path().join("log.db.lock")).unwrap();
    for path in [place.path(), place.folder.path().join("new.db")] {
        let told = done_by_nobody("a_child_that_opens", place.folder.path(), &path);
        assert!(told.contains("store: ") && told.contains("read-only or not yours"), "{told}");
        assert!(told.contains(&path.display().to_string()), "{told}");
    }
    // It can be read as it stands, as from a disk that is read-only.
    std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    let told = done_by_nobody("a_child_that_reads", place.folder.path(), &place.path());
    assert!(told.contains("\nreads"), "{told}");
}

/// Opens a store in a folder that cannot be written, as a test of that name does: as an ordinary user, because nothing
/// is read-only to root.
#[cfg(target_os = "linux")]
fn done_by_nobody(errand: &str, folder: &Path, path: &Path) -> String {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the folder is ours");
    };
    let root = std::fs::metadata("/proc/self").expect("Linux has it").uid() == 0;
    // The program may lie where an ordinary user cannot go.
    let elsewhere = TempDir::new().expect("a folder of our own");
    let program = elsewhere.path().join("program");
    std::fs::copy(std::env::current_exe().expect("it runs"), &program).expect("there is room");
    allow(elsewhere.path(), 0o755);
    allow(folder, 0o555);
    let mut command = std::process::Command::new(program);
    command.args([errand, "--exact", "--nocapture"]).env(durable::ERRAND, path);
    command.current_dir("/");
    if root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().expect("the child starts");
    allow(folder, 0o755);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn what_is_not_a_store_is_left_alone() {
    let place = Place::new();
    std::fs::write(place.path(), "Dear diary, this is not a database. ".repeat(100)).unwrap();
    let before = place.bytes();
    let told = place.refused();
    assert!(matches!(&told, Error::Invalid(what) if what.contains("not a Scrollback store")), "{told}");
    assert!(place.bytes() == before);

    let place = Place::new();
    place.sql("CREATE TABLE cookies (name TEXT); INSERT INTO cookies VALUES ('a'); PRAGMA user_version = 7;");
    let before = place.bytes();
    let told = place.refused();
    assert!(matches!(&told, Error::Invalid(what) if what.contains("another program")), "{told}");
    assert!(place.bytes() == before, "another program's database must not be changed");
    let told = SqliteStore::open_reading(&SqliteOptions::new(place.path())).unwrap_err();
    assert!(matches!(&told, Error::Invalid(what) if what.contains("another program")), "{told}");
}

#[tokio::test]
async fn a_store_from_the_future_is_left_alone() {
    let place = Place::filled(&["alpha"]).await;
    place.sql("PRAGMA user_version = 1000;");
    let before = place.bytes();
    for told in [place.refused(), SqliteStore::open_reading(&SqliteOptions::new(place.path())).unwrap_err()] {
        assert!(matches!(&told, Error::Invalid(what) if what.contains("newer Scrollback")), "{told}");
    }
    assert!(place.bytes() == before);
}

/// Every version before the present one has to open. Before the first there is only an empty file, and one whose
/// creation was broken off after the switch to a journal.
#[tokio::test]
async fn stores_of_every_earlier_version_open() {
    let place = Place::new();
    std::fs::write(place.path(), "").unwrap();
    talk(&place.open(), "alpha").await;

    let place = Place::new();
    place.sql("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL;");
    let told = SqliteStore::open_reading(&SqliteOptions::new(place.path())).unwrap_err().to_string();
    assert!(told.contains("is empty"), "{told}");
    talk(&place.open(), "alpha").await;
    // What the third version added is taken away again, then what the second did.
    place.sql("DROP TABLE unwiped; PRAGMA user_version = 2;");
    talk(&place.open(), "beta").await;
    place.sql(
        "DROP TABLE unwiped; DROP INDEX session_minute; ALTER TABLE session DROP COLUMN minute; PRAGMA user_version = 1;",
    );
    talk(&place.open(), "gamma").await;
    let version: i64 = Connection::open(place.path())
        .and_then(|connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0)))
        .unwrap();
    assert_eq!(version, 3, "a new migration needs a file of the version before it in this test");
}

#[tokio::test]
async fn a_truncated_file_is_called_damaged() {
    for keep_percent in [10, 50, 90] {
        let place = Place::filled(&["alpha", "beta", "gamma"]).await;
        let bytes = place.bytes();
        std::fs::write(place.path(), &bytes[..bytes.len() * keep_percent / 100]).unwrap();
        match SqliteStore::open(&SqliteOptions::new(place.path())) {
            Err(error) => assert!(matches!(&error, Error::Damaged(what) if what.contains("doctor")), "{error}"),
            Ok(store) => assert!(!problems(&store).await.is_empty(), "{keep_percent} % of the file is left"),
        }
    }
    let place = Place::filled(&["alpha"]).await;
    std::fs::write(place.path(), &place.bytes()[..50]).unwrap();
    let told = place.refused();
    assert!(matches!(told, Error::Invalid(_) | Error::Damaged(_)), "{told}");
}

#[tokio::test]
async fn a_damaged_message_is_named_and_no_other_suffers() {
    // Other words, and bytes that are no text at all.
    for damage in [&b"goes ON"[..], &[0xFF; 7]] {
        let place = Place::filled(&["alpha", "beta"]).await;
        place.replace("goes on, said alpha1", damage);
        let store = place.open();
        assert_eq!(read(&store, "alpha").await.unwrap(), 3);
        assert_eq!(damaged(&store, "alpha").await, ["m1"]);
        assert_eq!(read(&store, "beta").await.unwrap(), 3);
        assert_eq!(found(&store, "beta").await.unwrap(), 3);
        assert_eq!(found(&store, "alpha").await.unwrap(), 2, "a search finds what can be read");
        let problems = problems(&store).await;
        assert!(problems.iter().any(|problem| problem.contains("message m1 of session")), "{problems:?}");
        assert!(problems.iter().all(|problem| !problem.contains("number")), "a name people can look up: {problems:?}");
        assert_eq!(talk(&store, "gamma").await.added, 3);
    }
}

/// As it is written in a file, and read from it again.
#[tokio::test]
async fn a_damaged_message_is_put_back_by_a_file_that_has_it() {
    let texts = ["begins", "goes on", "ends"].map(|what| said("user", &format!("Here alpha {what}, said alpha1.")));
    let file = format!(r#"{{"messages":{}}}"#, array(&texts));
    let import = import::read(Format::OpenAi, &file).unwrap();
    let [conversation] = &import.conversations[..] else { panic!("one conversation") };
    let place = Place::new();
    let stored = async |store| import::store(&Log::new(store), &Tenant::local(), conversation, At(7)).await.unwrap();
    let session = stored(place.open()).await.session;
    // Other words, and bytes that are no text at all.
    for damage in [&b"goes ON"[..], &[0xFF; 7]] {
        place.replace("goes on, said alpha1", damage);
        let store = place.open();
        assert!(!problems(&store).await.is_empty());
        let again = stored(store.clone()).await;
        assert_eq!((again.added, again.mended, again.damaged.len(), &again.session), (0, 1, 0, &session));
        assert_eq!(problems(&store).await, Vec::<String>::new());
        let read = store.read(&session, Span::Ids(vec![MessageId(1)])).await.unwrap().remove(0);
        assert_eq!((read.raw.get(), read.at), (texts[1].as_str(), At(7)));
        assert_eq!(found(&store, "alpha").await.unwrap(), 3);
        assert_eq!(stored(store).await.mended, 0);
    }
    // What its file does not have is named; what its owner had erased comes back for nobody.
    place.sql("UPDATE message SET raw = raw || ' ', origin = 3 WHERE id & 0xFFFFFFFF = 1");
    let again = stored(place.open()).await;
    assert_eq!((again.mended, again.damaged), (0, vec![MessageId(1)]));
}

#[tokio::test]
async fn a_damaged_record_is_as_good_as_not_there() {
    let place = Place::new();
    let store = place.open();
    let session = talk(&store, "alpha").await.session;
    for turn in 0..2 {
        for word in ["one", "two", "three"] {
            note(&store, &session, word, turn).await;
        }
    }
    drop(store);
    place.replace("two was said 1", b"TWO");
    let store = place.open();
    let scope = Scope::Session(session.clone());
    let keys = async |keys| -> Vec<String> {
        let records = store.records(&scope, Kind::Note, keys).await.unwrap();
        records.into_iter().map(|record| record.key).collect()
    };
    assert_eq!(keys(Keys::After("one".into(), 2)).await, ["three"]);
    assert_eq!(keys(Keys::Before(String::new(), 1)).await, Vec::<String>::from(["three".into()]));
    assert_eq!(keys(Keys::One("two".into())).await, Vec::<String>::new());
    assert_eq!(problems(&store).await.len(), 1);
    // It stands in nobody's way, and can be taken out.
    let body = serde_json::value::to_raw_value("anew").unwrap();
    let put = |key: &str| Put {
        scope: scope.clone(),
        kind: Kind::Note,
        key: key.to_owned(),
        at: At(0),
        body: body.clone(),
        expect: Expect::Absent,
    };
    assert!(store.commit(Batch::of_records(session.clone(), vec![put("one")])).await.is_err());
    store.commit(Batch::of_records(session.clone(), vec![put("two")])).await.unwrap();
    assert_eq!(problems(&store).await, Vec::<String>::new());
    drop(store);
    place.replace("anew", b"ANEW");
    let store = place.open();
    assert_eq!((store.drop_damaged().await.unwrap(), store.drop_damaged().await.unwrap()), (1, 0));
    assert_eq!(problems(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_damaged_index_is_noticed() {
    let place = Place::filled(&["alpha", "beta"]).await;
    let page: usize = Connection::open(place.path())
        .and_then(|connection| {
            let sql = "SELECT pageno FROM dbstat WHERE name = 'message_node' AND pagetype = 'leaf' LIMIT 1";
            connection.query_row(sql, [], |row| row.get(0))
        })
        .unwrap();
    let mut bytes = place.bytes();
    // The last bytes of a page are the oldest entry of the index.
    bytes[page * 1024 - 12..page * 1024].fill(0x55);
    std::fs::write(place.path(), bytes).unwrap();
    let store = place.open();
    let problems = problems(&store).await;
    assert!(problems.iter().any(|problem| problem.contains("file structure")), "{problems:?}");
    assert_eq!(read(&store, "beta").await.unwrap(), 3);
}

#[tokio::test]
async fn a_broken_search_index_is_noticed_and_mended() {
    let harms = [
        "DELETE FROM word_docsize",
        "DELETE FROM word_data",
        "UPDATE word_data SET block = zeroblob(20)",
        "UPDATE word_data SET block = zeroblob(length(block)) WHERE id > 10",
        "INSERT INTO word (word) VALUES ('delete-all')",
    ];
    for harm in harms {
        let place = Place::filled(&["alpha", "beta"]).await;
        place.sql(harm);
        let store = place.open();
        assert!(!problems(&store).await.is_empty(), "not noticed: {harm}");
        assert_eq!(read(&store, "alpha").await.unwrap(), 3);
        store.reindex().await.unwrap();
        assert_eq!(problems(&store).await, Vec::<String>::new(), "{harm}");
        assert_eq!((found(&store, "alpha").await.unwrap(), found(&store, "beta1").await.unwrap()), (3, 3), "{harm}");
    }
}

/// Pages that SQLite itself cannot read, of each of the tables the index is made of.
#[tokio::test]
async fn an_index_whose_pages_are_lost_is_made_anew() {
    for table in ["word_data", "word_idx", "word_docsize", "word_config"] {
        let place = Place::filled(&["alpha", "beta"]).await;
        let sql = "SELECT max(pageno) FROM dbstat WHERE name = ?1";
        let page: usize = Connection::open(place.path())
            .and_then(|connection| connection.query_row(sql, [table], |row| row.get(0)))
            .unwrap();
        let mut bytes = place.bytes();
        bytes[(page - 1) * 1024..page * 1024].fill(0);
        std::fs::write(place.path(), bytes).unwrap();
        let store = place.open();
        assert!(!problems(&store).await.is_empty(), "{table}");
        store.reindex().await.unwrap();
        assert_eq!(problems(&store).await, Vec::<String>::new(), "{table}");
        assert_eq!((found(&store, "alpha").await.unwrap(), found(&store, "beta1").await.unwrap()), (3, 3), "{table}");
        talk(&store, "gamma").await;
        assert_eq!(found(&store, "gamma").await.unwrap(), 3, "{table}");
    }
}

#[tokio::test]
async fn what_is_forgotten_is_gone_from_every_byte() {
    const CANARY: &str = "zanzibarquokka";
    let place = Place::filled(&["alpha", "beta"]).await;
    let store = place.open();
    let log = Log::new(store.clone());
    let tenant = Tenant::local();
    // Several versions and many messages, so that copies lie about in freed places, the index and the journal.
    let mut doomed = None;
    for turn in 0..40 {
        let texts: Vec<_> =
            (0..=turn).map(|n| said("user", &format!("The {CANARY} number {n} {CANARY}{n}."))).collect();
        let history = array(&texts);
        let arrival = scrollback::log::Arrival {
            title: Some(CANARY),
            ..scrollback::log::Arrival::new(&tenant, Some(CANARY), "gpt-5", At(0))
        };
        let history = scrollback::log::History::parse(&history).unwrap();
        let received = log.receive(arrival, &history).await.unwrap();
        note(&store, &received.session, CANARY, turn).await;
        doomed = Some(received.session);
        if turn == 20 {
            store.reindex().await.unwrap();
        }
    }
    talk(&store, "gamma").await;
    assert!(traces(&place, CANARY) > 0 && found(&store, CANARY).await.unwrap() > 0);

    let doomed = doomed.unwrap();
    assert_eq!(store.forget(&doomed).await.unwrap(), 40);
    store.wipe().await.unwrap();
    // The index keeps only the ends of words that begin alike, so a part of the word counts too.
    for part in [CANARY, &CANARY[4..]] {
        assert_eq!(traces(&place, part), 0, "with the store open");
    }
    assert_eq!(found(&store, CANARY).await.unwrap(), 0);
    assert!(
        store.sessions(&tenant, Which::Named { name: CANARY.into(), skip: 0, limit: 10 }).await.unwrap().is_empty()
    );
    assert!(matches!(store.forget(&doomed).await.unwrap_err(), Error::NotFound(_)));
    for name in ["alpha", "beta", "gamma"] {
        assert_eq!((read(&store, name).await.unwrap(), found(&store, name).await.unwrap()), (3, 3), "{name}");
    }
    assert_eq!(problems(&store).await, Vec::<String>::new());
    drop((log, store));
    assert_eq!(traces(&place, CANARY), 0, "with the store closed");

    let store = place.open();
    assert_eq!(receive(&Log::new(store.clone()), Some(CANARY), r#"[{"role":"user"}]"#).await.unwrap().added, 1);
    let scope = Scope::Session(doomed);
    assert!(store.records(&scope, Kind::Note, Keys::After(String::new(), 10)).await.unwrap().is_empty());
}

async fn note(store: &SqliteStore, session: &SessionKey, word: &str, turn: usize) {
    let body = serde_json::value::to_raw_value(&format!("{word} was said {turn} times")).expect("JSON");
    let scope = Scope::Session(session.clone());
    let put = Put { scope, kind: Kind::Note, key: word.to_owned(), at: At(0), body, expect: Expect::Any };
    store.commit(Batch::of_records(session.clone(), vec![put])).await.expect("it is stored");
}

/// How often a word occurs in the files of a store.
fn traces(place: &Place, word: &str) -> usize {
    let count = |name: &str| {
        let bytes = std::fs::read(place.folder.path().join(name)).unwrap_or_default();
        bytes.windows(word.len()).filter(|window| *window == word.as_bytes()).count()
    };
    ["log.db", "log.db-wal", "log.db-shm", "log.db.lock"].into_iter().map(count).sum()
}
