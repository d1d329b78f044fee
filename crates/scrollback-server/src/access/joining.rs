//! The tokens of two stores that become one. A token that was taken back in either counts no more; a name that several
//! tokens had is that of the one that counts, and two that do cannot share it.

use std::collections::BTreeMap;

use anyhow::{bail, ensure};
use scrollback::ids::Hash128;
use scrollback::store::{Batch, Expect, Keys, Kind, Put, Record};
use scrollback::{Store, Tenant};

use super::tokens::{KEEPER, Kept, NAME, PAGE, TOKEN, read, scope};

/// What is kept of tokens, by its keys.
type Records = BTreeMap<String, Record>;

/// Writes to a store what it lacks of another's tokens; how many records that were.
pub(crate) async fn join(from: &dyn Store, to: &dyn Store) -> anyhow::Result<usize> {
    let from = all(from).await?;
    let puts = lacking(&from, &all(to).await?)?;
    let count = puts.len();
    if count > 0 {
        to.commit(Batch::of_tenant(&Tenant::new(KEEPER), puts)).await?;
    }
    ensure!(lacking(&from, &all(to).await?)?.is_empty(), "the tokens did not arrive as they left");
    Ok(count)
}

async fn all(store: &dyn Store) -> scrollback::Result<Records> {
    let (mut all, mut after) = (Records::new(), String::new());
    loop {
        let page = store.records(&scope(), Kind::Setting, Keys::After(after.clone(), PAGE)).await?;
        let last = page.last().filter(|_| page.len() == PAGE).map(|record| record.key.clone());
        all.extend(page.into_iter().map(|record| (record.key.clone(), record)));
        let Some(last) = last else { return Ok(all) };
        after = last;
    }
}

fn lacking(from: &Records, to: &Records) -> anyhow::Result<Vec<Put>> {
    let mut puts = Vec::new();
    for (key, record) in from {
        let expect = match to.get(key) {
            None => Expect::Absent,
            Some(there) if replaces(record, there, [from, to])? => Expect::Version(there.version),
            Some(_) => continue,
        };
        let (key, at, body) = (key.clone(), record.at, record.body.clone());
        puts.push(Put { scope: scope(), kind: Kind::Setting, key, at, body, expect });
    }
    Ok(puts)
}

/// Whether a record takes the place of another under the same key.
fn replaces(record: &Record, there: &Record, stores: [&Records; 2]) -> anyhow::Result<bool> {
    if record.body.get() == there.body.get() {
        return Ok(false);
    }
    let Some(name) = record.key.strip_prefix(NAME) else {
        let (new, old): (Kept, Kept) = (read(record)?, read(there)?);
        return Ok(new.revoked.is_some() && old.revoked.is_none());
    };
    let (new, old) = (counts(read(record)?, stores)?, counts(read(there)?, stores)?);
    if new && old {
        bail!(
            "one of the tokens differs in the two stores: each has a “{name}” of its own, so revoke one of them and move again"
        );
    }
    Ok(new)
}

/// Whether a token is known to one of the stores, and taken back in neither.
fn counts(hash: Hash128, stores: [&Records; 2]) -> anyhow::Result<bool> {
    let key = format!("{TOKEN}{hash}");
    let mut known = false;
    for record in stores.into_iter().filter_map(|records| records.get(&key)) {
        let kept: Kept = read(record)?;
        if kept.revoked.is_some() {
            return Ok(false);
        }
        known = true;
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scrollback::{At, MemoryStore};

    use super::*;
    use crate::access::Tokens;

    fn store() -> (Arc<MemoryStore>, Tokens) {
        let store = Arc::new(MemoryStore::default());
        (store.clone(), Tokens::new(store, 0))
    }

    async fn add(tokens: &Tokens, name: &str) {
        let kept = Kept { name: name.into(), tenant: "mira".into(), created: At(7), admin: false, revoked: None };
        tokens.add(&kept).await.unwrap();
    }

    async fn names(tokens: &Tokens) -> Vec<String> {
        tokens.list().await.unwrap().into_iter().map(|kept| kept.name).collect()
    }

    #[tokio::test]
    async fn only_two_tokens_that_count_cannot_share_a_name() {
        let ((from, one), (to, other)) = (store(), store());
        add(&one, "laptop").await;
        add(&other, "laptop").await;
        let error = join(&*from, &*to).await.unwrap_err().to_string();
        assert!(error.contains("“laptop”") && error.contains("revoke one of them"), "{error}");
        other.revoke("laptop", At(8)).await.unwrap();
        assert_eq!(join(&*from, &*to).await.unwrap(), 2, "the token, and that the name is its own");
        assert_eq!(names(&other).await, ["laptop"]);
        assert_eq!(join(&*from, &*to).await.unwrap(), 0, "twice is the same as once");
        other.revoke("laptop", At(9)).await.unwrap();
        assert_eq!(names(&other).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn what_was_taken_back_in_either_store_counts_no_more() {
        let ((from, one), (to, other)) = (store(), store());
        for name in ["laptop", "phone", "tower"] {
            add(&one, name).await;
        }
        join(&*from, &*to).await.unwrap();
        one.revoke("laptop", At(8)).await.unwrap();
        other.revoke("phone", At(8)).await.unwrap();
        assert_eq!(join(&*from, &*to).await.unwrap(), 1);
        assert_eq!(names(&other).await, ["tower"]);
        one.revoke("tower", At(8)).await.unwrap();
        other.revoke("tower", At(9)).await.unwrap();
        assert_eq!(join(&*from, &*to).await.unwrap(), 0, "both were");
    }
}
