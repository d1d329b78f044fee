//! Where conversations are kept: a file, or a database that several nodes share. What a command does with it is the
//! same.

mod pulse;
mod served;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use scrollback::search::Probe;
use scrollback::store::{
    Batch, Checkup, Committed, Keys, Kind, Known, Matches, Moving, Record, Scope, Session, Span, Stored, Which,
};
use scrollback::{
    At, Forget, MessageId, PostgresOptions, PostgresStore, Result, SessionKey, SqliteOptions, SqliteStore, Store,
    Tenant,
};

pub(crate) use pulse::Pulse;
use served::Served;

/// How an address of a database begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// What may stand before the name of a file.
const FILE: &str = "sqlite:";

/// What a store is called on the command line and in the settings.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A file of this machine.
    File(SqliteOptions),
    /// A database, and the file beside which a person's own things are kept.
    Database(PostgresOptions, PathBuf),
}

impl Place {
    /// A name without what says that it is a file; a file that is called so keeps its name.
    pub(crate) fn unprefixed(name: &Path) -> &Path {
        let file = name.to_str().and_then(|name| name.strip_prefix(FILE));
        file.filter(|file| !file.is_empty() && !name.exists()).map_or(name, Path::new)
    }

    /// Whether a name is that of a database.
    pub(crate) fn is_database(name: &Path) -> bool {
        let begins = |name: &str, scheme: &str| {
            name.get(..scheme.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme))
        };
        name.to_str().is_some_and(|name| SCHEMES.into_iter().any(|scheme| begins(name, scheme)))
    }

    /// The file beside which a person's own things are kept.
    pub(crate) fn beside(&self) -> &Path {
        match self {
            Self::File(options) => &options.path,
            Self::Database(_, beside) => beside,
        }
    }

    /// What it is called in the settings.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(options) => options.path.display().to_string(),
            Self::Database(options, _) => options.url.clone(),
        }
    }

    /// The file itself, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(options) => Some(&options.path),
            Self::Database(..) => None,
        }
    }

    /// Opens it for reading; works beside whoever writes.
    pub(crate) async fn reading(&self) -> anyhow::Result<Opened> {
        let opened = match self {
            Self::File(options) => SqliteStore::open_reading(options).map(|store| Opened::File(Arc::new(store))),
            Self::Database(options, _) => {
                PostgresStore::open_reading(options).await.map(|store| Opened::Database(Arc::new(store)))
            }
        };
        opened.map_err(begun)
    }

    /// An error if it is a file that is not there.
    pub(crate) fn present(&self) -> anyhow::Result<()> {
        let missing = self.file().filter(|file| !file.exists());
        let told = |file: &Path| scrollback::Error::NotFound(format!("there is no store at {} yet", file.display()));
        missing.map_or(Ok(()), |file| Err(begun(told(file))))
    }

    /// Opens it for writing; a file and its folder are made if need be.
    pub(crate) async fn writing(&self) -> anyhow::Result<Opened> {
        match self {
            Self::File(options) => {
                let folder = options.path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
                if let Some(folder) = folder {
                    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
                }
                Ok(Opened::File(Arc::new(SqliteStore::open(options)?)))
            }
            Self::Database(options, _) => Ok(Opened::Database(Arc::new(PostgresStore::open(options).await?))),
        }
    }
}

/// What a store that is not there needs, beside what is wrong.
fn begun(error: scrollback::Error) -> anyhow::Error {
    let is_missing = matches!(error, scrollback::Error::NotFound(_));
    let error = anyhow::Error::from(error);
    if is_missing { error.context("nothing has been kept yet: `scrollback import FILE` begins a store") } else { error }
}

/// A store that is open.
#[derive(Clone)]
pub(crate) enum Opened {
    File(Arc<SqliteStore>),
    Database(Arc<PostgresStore>),
}

impl Opened {
    /// The store as the library sees it.
    pub(crate) fn shared(self) -> Arc<dyn Store> {
        match self {
            Self::File(store) => store,
            Self::Database(store) => store,
        }
    }

    /// The same for a server: others are not told where it is, and its pulse is felt.
    pub(crate) fn served(self: Arc<Self>, pulse: Arc<Pulse>) -> (Arc<dyn Store>, Arc<dyn Forget>) {
        let place = self.place();
        let served = Arc::new(Served::new(self, place, pulse));
        (served.clone(), served)
    }

    fn store(&self) -> &dyn Store {
        match self {
            Self::File(store) => &**store,
            Self::Database(store) => &**store,
        }
    }

    fn eraser(&self) -> &dyn Forget {
        match self {
            Self::File(store) => &**store,
            Self::Database(store) => &**store,
        }
    }

    /// The same, for whoever moves everything.
    pub(crate) fn moving(&self) -> &dyn Moving {
        match self {
            Self::File(store) => &**store,
            Self::Database(store) => &**store,
        }
    }

    /// Where it is, for people; without a password.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::File(store) => store.path().display().to_string(),
            Self::Database(store) => store.place().to_owned(),
        }
    }

    /// Reads and verifies everything.
    pub(crate) async fn check(&self, progress: impl Fn(u64) + Send + Sync + 'static) -> Result<Checkup> {
        match self {
            Self::File(store) => store.check(progress).await,
            Self::Database(store) => store.check(progress).await,
        }
    }

    /// Takes out derived records that are damaged, builds the search index anew, and wipes what was erased where that is
    /// ours to do. Says what was done.
    pub(crate) async fn repair(&self) -> Result<String> {
        let (dropped, done) = match self {
            Self::File(store) => {
                let dropped = store.drop_damaged().await?;
                store.reindex().await?;
                store.rewrite().await?;
                (dropped, "the search index was built anew and the file written afresh")
            }
            Self::Database(store) => {
                let dropped = store.drop_damaged().await?;
                store.reindex().await?;
                (dropped, "the search index was built anew")
            }
        };
        Ok(match dropped {
            0 => done.to_owned(),
            count => format!("damaged records were taken out, {count} in all; {done}"),
        })
    }
}

#[async_trait]
impl Store for Opened {
    async fn commit(&self, batch: Batch) -> Result<Committed> {
        self.store().commit(batch).await
    }

    async fn prefix(
        &self,
        session: &SessionKey,
        from: scrollback::ids::Depth,
        chain: Vec<scrollback::ids::NodeId>,
    ) -> Result<Option<Known>> {
        self.store().prefix(session, from, chain).await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> Result<Vec<Stored>> {
        self.store().read(session, span).await
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> Result<Matches> {
        self.store().matching(tenant, probe).await
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> Result<Vec<Record>> {
        self.store().records(scope, kind, keys).await
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> Result<Vec<Session>> {
        self.store().sessions(tenant, which).await
    }
}

#[async_trait]
impl Forget for Opened {
    async fn forget(&self, session: &SessionKey) -> Result<u32> {
        self.eraser().forget(session).await
    }

    async fn forget_results(&self, session: &SessionKey, results: &[MessageId], at: At) -> Result<u32> {
        self.eraser().forget_results(session, results, at).await
    }

    async fn wipe(&self) -> Result<()> {
        self.eraser().wipe().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_told_from_files() {
        assert!(Place::is_database(Path::new("postgres://ann@db/log")));
        assert!(Place::is_database(Path::new("postgresql:///log")));
        assert!(Place::is_database(Path::new("POSTGRES://ann:secret@db/log")));
        assert!(!Place::is_database(Path::new("postgres:/ü")));
        assert!(!Place::is_database(Path::new("/tmp/postgres.db")));
        assert!(!Place::is_database(Path::new("postgres:/x")));
        for (name, meant) in [("sqlite:a.db", "a.db"), ("a.db", "a.db"), ("sqlite:", "sqlite:")] {
            assert_eq!(Place::unprefixed(Path::new(name)), Path::new(meant));
        }
    }
}
