//! Tokens: how somebody who does not sit at this machine says who they are. A token is shown once; the store keeps its
//! hash, under a tenant that nobody can be.
//!
//! All of them are in memory, so that a request asks no store. They are read again now and then, as another process may
//! have taken one; one that is not known is looked for at once, as another process may just have given it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use scrollback::ids::Hash128;
use scrollback::store::{Batch, Expect, Keys, Kind, Put, Record, Scope};
use scrollback::{At, Error, Store, Tenant};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::guest::{Guest, Revoked};
use super::keys::MARK;
use super::rate::Rate;
use crate::api::Refusal;
use crate::wire::edit::raw;

/// Whose records they are. No tenant's name has such a character.
pub(crate) const KEEPER: &str = "*";
/// Under which keys tokens are kept, by their hash, and which of them has a name.
pub(super) const TOKEN: &str = "token/";
pub(super) const NAME: &str = "name/";
/// How many are read at once.
pub(super) const PAGE: usize = 500;
/// How long a name may be.
const LONGEST_NAME: usize = 64;
/// How often they are read again.
const EVERY: Duration = Duration::from_secs(5);

/// What is kept of a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) tenant: String,
    pub(crate) created: At,
    #[serde(default)]
    pub(crate) admin: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revoked: Option<At>,
}

/// A token that somebody may come with.
struct Token {
    guest: Guest,
    /// Tells those who came with it when it is taken back.
    end: watch::Sender<bool>,
}

/// All tokens of a store.
pub(crate) struct Tokens {
    store: Arc<dyn Store>,
    per_minute: u32,
    known: RwLock<HashMap<Hash128, Token>>,
    /// Held while they are read, so that nothing older counts after something newer.
    reading: tokio::sync::Mutex<()>,
}

impl Tokens {
    /// Those of a store; none is known before they are read.
    pub(crate) fn new(store: Arc<dyn Store>, per_minute: u32) -> Self {
        Self { store, per_minute, known: RwLock::default(), reading: tokio::sync::Mutex::default() }
    }

    /// Who comes with a token; `None` if it is none, or was taken back. Too often is an error that says how long to
    /// wait.
    pub(super) fn guest(&self, token: &[u8], now: Instant) -> Option<Result<Guest, Duration>> {
        let hash = hashed(token);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let guest = &known.get(&hash)?.guest;
        Some(guest.asks(1, now).map(|()| guest.clone()))
    }

    /// Looks for one that another process may just have given. Strangers wait for each other, so that they are no load.
    pub(super) async fn look_up(&self, token: &[u8]) -> scrollback::Result<()> {
        let _alone = self.reading.lock().await;
        let hash = hashed(token);
        let Some(record) = self.one(format!("{TOKEN}{hash}")).await? else { return Ok(()) };
        let kept: Kept = read(&record)?;
        if kept.revoked.is_none() {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.entry(hash).or_insert_with(|| Token::new(&kept, self.per_minute));
        }
        Ok(())
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Everybody whose conversations are here: the person at this machine, and whoever has a token.
    pub(crate) fn tenants(&self) -> BTreeSet<Tenant> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|token| token.guest.tenant.clone()).chain([Tenant::local()]).collect()
    }

    /// Reads them now and then, until it is dropped.
    pub(crate) async fn keep_reading(&self) {
        loop {
            tokio::time::sleep(EVERY).await;
            if let Err(error) = self.read().await {
                tracing::warn!(%error, "tokens could not be read again; those that are known count");
            }
        }
    }

    /// Reads them. Whoever came with one that counts no more has to go.
    pub(crate) async fn read(&self) -> scrollback::Result<()> {
        let _alone = self.reading.lock().await;
        let kept = self.kept().await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known);
        for (hash, kept) in kept.into_iter().filter(|(_, kept)| kept.revoked.is_none()) {
            let token = before.remove(&hash).unwrap_or_else(|| Token::new(&kept, self.per_minute));
            known.insert(hash, token);
        }
        drop(known);
        for token in before.into_values() {
            token.end.send_replace(true);
        }
        Ok(())
    }

    /// Those that count, by name.
    pub(crate) async fn list(&self) -> scrollback::Result<Vec<Kept>> {
        let mut kept: Vec<Kept> = self.kept().await?.into_iter().map(|(_, kept)| kept).collect();
        kept.retain(|kept| kept.revoked.is_none());
        kept.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(kept)
    }

    /// Makes one. This is the only time that it is told.
    pub(crate) async fn add(&self, kept: &Kept) -> Result<String, Refusal> {
        for name in [&kept.name, &kept.tenant] {
            checked(name)?;
        }
        if kept.name.bytes().all(|byte| byte == b'.') {
            // In an address they mean another place, where nobody could take it back.
            return Err(Refusal::invalid("a name has a letter, a digit, - or _: dots alone are none"));
        }
        let named = self.named(&kept.name).await?;
        if named.as_ref().is_some_and(|(_, kept)| kept.revoked.is_none()) {
            let what = format!("there is a token “{}” already: take another name, or revoke that one first", kept.name);
            return Err(Refusal::new(StatusCode::CONFLICT, "name_taken", what));
        }
        let secret = drawn()?;
        let hash = hashed(secret.as_bytes());
        let expect = named.map_or(Expect::Absent, |(version, _)| Expect::Version(version));
        let name = put(format!("{NAME}{}", kept.name), kept.created, &hash, expect);
        let token = put(format!("{TOKEN}{hash}"), kept.created, kept, Expect::Absent);
        self.store.commit(Batch::of_tenant(&Tenant::new(KEEPER), vec![name, token])).await?;
        self.read().await?;
        Ok(secret)
    }

    /// Takes one back. Whoever came with it has to go at once.
    pub(crate) async fn revoke(&self, name: &str, at: At) -> Result<(), Refusal> {
        let unknown = || Refusal::not_found(format!("there is no token “{name}”: `scrollback tokens` lists them"));
        checked(name).map_err(|_| unknown())?;
        let hash = self.hash_of(name).await?.ok_or_else(unknown)?.1;
        let record = self.one(format!("{TOKEN}{hash}")).await?.ok_or_else(unknown)?;
        let kept: Kept = read(&record)?;
        if kept.revoked.is_some() {
            return Err(unknown());
        }
        let kept = Kept { revoked: Some(at), ..kept };
        let put = put(record.key, at, &kept, Expect::Version(record.version));
        self.store.commit(Batch::of_tenant(&Tenant::new(KEEPER), vec![put])).await?;
        Ok(self.read().await?)
    }

    /// The token that had a name last, and the version of what says so.
    async fn named(&self, name: &str) -> scrollback::Result<Option<(u64, Kept)>> {
        let Some((version, hash)) = self.hash_of(name).await? else { return Ok(None) };
        let record = self.one(format!("{TOKEN}{hash}")).await?;
        record.map(|record| Ok((version, read(&record)?))).transpose()
    }

    async fn hash_of(&self, name: &str) -> scrollback::Result<Option<(u64, Hash128)>> {
        let record = self.one(format!("{NAME}{name}")).await?;
        record.map(|record| Ok((record.version, read(&record)?))).transpose()
    }

    async fn one(&self, key: String) -> scrollback::Result<Option<Record>> {
        self.store.record(scope(), Kind::Setting, key).await
    }

    /// Every token that ever was, by its hash.
    async fn kept(&self) -> scrollback::Result<Vec<(Hash128, Kept)>> {
        let (mut all, mut after) = (Vec::new(), TOKEN.to_owned());
        loop {
            let page = self.store.records(&scope(), Kind::Setting, Keys::After(after.clone(), PAGE)).await?;
            for record in &page {
                let Some(hash) = record.key.strip_prefix(TOKEN) else { return Ok(all) };
                // Whoever has another token is not to be shut out for it.
                match hash.parse().and_then(|hash| Ok((hash, read(record)?))) {
                    Ok(token) => all.push(token),
                    Err(error) => tracing::warn!(%error, key = record.key, "a token is passed over"),
                }
            }
            match page.last().filter(|_| page.len() == PAGE) {
                Some(last) => after.clone_from(&last.key),
                None => return Ok(all),
            }
        }
    }
}

impl Token {
    fn new(kept: &Kept, per_minute: u32) -> Self {
        let (end, told) = watch::channel(false);
        let (tenant, token) = (Tenant::new(&kept.tenant), Some(kept.name.as_str().into()));
        let (is_admin, revoked, seats) = (kept.admin, Revoked::told_by(told), Guest::seats());
        let rate = Some(Arc::new(Rate::new(per_minute, Instant::now())));
        Self { guest: Guest { tenant, token, is_local: false, is_admin, revoked, seats, rate }, end }
    }
}

/// A new token: 256 bits that nobody can guess.
pub(super) fn drawn() -> Result<String, Refusal> {
    let mut bits = [0_u8; 32];
    let none = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "no_randomness", "the system has no random numbers");
    getrandom::fill(&mut bits).map_err(none)?;
    Ok(bits.iter().fold(MARK.to_owned(), |token, byte| format!("{token}{byte:02x}")))
}

/// What is kept of a token in the place of its words.
pub(super) fn hashed(token: &[u8]) -> Hash128 {
    Hash128::of("token", &[token])
}

/// That a name is one.
fn checked(name: &str) -> Result<(), Refusal> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    let what = format!("a name is 1 to {LONGEST_NAME} letters, digits, and any of - _ . and nothing else");
    Err(Refusal::invalid(what))
}

pub(super) fn scope() -> Scope {
    Scope::Tenant(Tenant::new(KEEPER))
}

fn put(key: String, at: At, body: &impl Serialize, expect: Expect) -> Put {
    Put { scope: scope(), kind: Kind::Setting, key, at, body: raw(&serde_json::json!(body)), expect }
}

pub(super) fn read<'r, T: Deserialize<'r>>(record: &'r Record) -> scrollback::Result<T> {
    let damaged = |_| Error::Damaged("a token's record is unreadable".into());
    serde_json::from_str(record.body.get()).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use scrollback::MemoryStore;

    use super::*;

    fn kept(name: &str) -> Kept {
        Kept { name: name.into(), tenant: "mira".into(), created: At(7), admin: false, revoked: None }
    }

    fn tokens() -> (Tokens, Arc<MemoryStore>) {
        let store = Arc::new(MemoryStore::default());
        (Tokens::new(store.clone(), 2), store)
    }

    #[tokio::test]
    async fn a_token_is_known_until_it_is_taken_back() {
        let (tokens, store) = tokens();
        let secret = tokens.add(&kept("laptop")).await.unwrap();
        assert!(secret.starts_with("sb_") && secret.len() == 3 + 64, "{secret}");
        let now = Instant::now();
        let guest = tokens.guest(secret.as_bytes(), now).unwrap().unwrap();
        assert_eq!((guest.tenant.as_str(), guest.token.as_deref(), guest.is_admin), ("mira", Some("laptop"), false));
        assert!(tokens.guest(&secret.as_bytes()[..66], now).is_none());
        let other = Tokens::new(store, 0);
        assert!(other.guest(secret.as_bytes(), now).is_none(), "not read yet");
        other.look_up(b"sb_of_nobody").await.unwrap();
        assert!(other.is_empty());
        other.look_up(secret.as_bytes()).await.unwrap();
        let there = other.guest(secret.as_bytes(), now).unwrap().unwrap();
        tokens.revoke("laptop", At(8)).await.unwrap();
        guest.revoked.wait().await;
        assert!(tokens.guest(secret.as_bytes(), now).is_none());
        other.read().await.unwrap();
        there.revoked.wait().await;
        assert!(other.guest(secret.as_bytes(), now).is_none(), "another process learns of it");
        other.look_up(secret.as_bytes()).await.unwrap();
        assert!(other.is_empty(), "and does not forget it");
    }

    #[tokio::test]
    async fn a_record_that_nobody_can_read_stops_no_other() {
        let (tokens, store) = tokens();
        let secret = tokens.add(&kept("laptop")).await.unwrap();
        let odd = |key: &str| put(format!("{TOKEN}{key}"), At(9), &"what is this", Expect::Absent);
        let puts = vec![odd("00000000000000000000000000000000"), odd("no hash")];
        store.commit(Batch::of_tenant(&Tenant::new(KEEPER), puts)).await.unwrap();
        let other = Tokens::new(store, 0);
        other.read().await.unwrap();
        assert!(other.guest(secret.as_bytes(), Instant::now()).is_some());
        assert_eq!(other.list().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn names_are_unique_among_those_that_count() {
        let (tokens, _) = tokens();
        let first = tokens.add(&kept("laptop")).await.unwrap();
        assert_eq!(tokens.add(&kept("laptop")).await.unwrap_err().status, StatusCode::CONFLICT);
        tokens.revoke("laptop", At(8)).await.unwrap();
        assert_eq!(tokens.revoke("laptop", At(9)).await.unwrap_err().status, StatusCode::NOT_FOUND);
        let second = tokens.add(&kept("laptop")).await.unwrap();
        assert_ne!(first, second);
        assert_eq!(tokens.list().await.unwrap().len(), 1);
        for name in ["", "a b", "a/b", "*", "ü", "a'; DROP TABLE record; --", &"x".repeat(65)] {
            assert!(tokens.add(&kept(name)).await.is_err(), "{name}");
            assert!(tokens.add(&Kept { tenant: name.into(), ..kept("other") }).await.is_err(), "{name}");
        }
        for name in [".", ".."] {
            assert!(tokens.add(&kept(name)).await.is_err(), "no address can hold {name}");
        }
    }

    #[tokio::test]
    async fn only_a_hash_is_kept_under_a_tenant_that_nobody_is() {
        let (tokens, store) = tokens();
        let secret = tokens.add(&kept("laptop")).await.unwrap();
        let records = store.records(&scope(), Kind::Setting, Keys::After(String::new(), 9)).await.unwrap();
        assert_eq!(records.len(), 2);
        let bare = secret.strip_prefix(MARK).unwrap();
        assert!(records.iter().all(|record| !record.key.contains(bare) && !record.body.get().contains(bare)));
        let own = Scope::Tenant(Tenant::new("mira"));
        assert!(store.records(&own, Kind::Setting, Keys::After(String::new(), 9)).await.unwrap().is_empty());
        assert!(checked(KEEPER).is_err());
        assert_eq!(tokens.tenants(), [Tenant::local(), Tenant::new("mira")].into());
    }

    #[tokio::test]
    async fn a_token_that_asks_too_often_waits_and_no_other_does() {
        let (tokens, _) = tokens();
        let busy = tokens.add(&kept("busy")).await.unwrap();
        let calm = tokens.add(&kept("calm")).await.unwrap();
        let now = Instant::now();
        assert!((0..2).all(|_| tokens.guest(busy.as_bytes(), now).unwrap().is_ok()));
        assert!(tokens.guest(busy.as_bytes(), now).unwrap().unwrap_err() <= Duration::from_secs(30));
        tokens.read().await.unwrap();
        assert!(tokens.guest(busy.as_bytes(), now).unwrap().is_err(), "reading again gives nothing back");
        assert!(tokens.guest(calm.as_bytes(), now).unwrap().is_ok());
    }
}
