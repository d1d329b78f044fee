//! Folds in the store: each is kept for good and knows the one before it; a pointer for each branch says which one
//! counts.
//!
//! Folding adds a record and moves the pointer; undoing moves it back. A new branch goes on with the fold of the branch
//! it left, or with the last one before the place where it left.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ids::{At, BranchId, Depth, MessageId, SessionKey};
use crate::note::Fold;
use crate::store::{Batch, Expect, Keys, Kind, Position, Put, Record, Scope, Store};
use crate::strategy::StrategyName;
use crate::view::FoldId;

/// The fold of a path, and the pointer that led to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Folded {
    pub(super) id: Option<FoldId>,
    pub(super) fold: Arc<Fold>,
    /// Whether a person undid the fold after it.
    pub(super) undone: bool,
    /// The pointer's branch; unless it is the branch in question, it is inherited.
    branch: Option<BranchId>,
    version: u64,
    latest: u32,
    undone_folds: Vec<FoldId>,
}

impl Folded {
    /// The branch and the number of the next fold of a path on a branch.
    pub(super) fn next(&self, branch: BranchId) -> (BranchId, u32) {
        (branch, if self.branch == Some(branch) { self.latest + 1 } else { 1 })
    }
}

/// Which fold of a branch counts.
#[derive(Serialize, Deserialize)]
struct Pointer {
    at: Option<FoldId>,
    /// How many folds were ever made on this branch.
    latest: u32,
    #[serde(default)]
    undone: bool,
    /// Folds that were undone, the last one last; the next fold of its own forgets them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undone_folds: Vec<FoldId>,
}

/// A fold as it is stored.
#[derive(Serialize, Deserialize)]
pub(super) struct FoldRecord {
    before: Option<FoldId>,
    pub(super) fold: Fold,
}

/// The folds of one session under one layout.
pub(super) struct Folds<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) session: &'a SessionKey,
    /// The strategy and the model's limit, `pages@128000`: a small model does not fold what a large one can see.
    pub(super) layout: &'a str,
}

impl Folds<'_> {
    /// The fold that counts for a path.
    pub(super) async fn of(&self, head: Position) -> Result<Folded> {
        // The head itself must stay open.
        let Some(mut most) = head.depth.0.checked_sub(1).map(Depth) else { return Ok(Folded::default()) };
        if let Some(own) = self.on(head.branch, most).await? {
            return Ok(own);
        }
        for (branch, end) in self.store.lineage(self.session, head).await?.left() {
            most = most.min(end);
            if let Some(inherited) = self.on(branch, most).await? {
                return Ok(inherited);
            }
        }
        Ok(Folded::default())
    }

    /// The fold of a branch that covers no more than a depth, if anything was ever folded there.
    async fn on(&self, branch: BranchId, most: Depth) -> Result<Option<Folded>> {
        let Some((pointer, version)) = self.pointer(branch).await? else { return Ok(None) };
        let (id, fold) = self.within(pointer.at, most).await?;
        let undone = pointer.undone && id == pointer.at;
        let Pointer { latest, undone_folds, .. } = pointer;
        Ok(Some(Folded { id, fold, undone, branch: Some(branch), version, latest, undone_folds }))
    }

    /// The newest fold from one on backwards that covers no more than a depth.
    async fn within(&self, mut at: Option<FoldId>, most: Depth) -> Result<(Option<FoldId>, Arc<Fold>)> {
        while let Some(wanted) = at {
            let Some((id, record)) = self.legible(wanted).await? else { break };
            if record.fold.covers.is_none_or(|covers| covers.to <= most) {
                return Ok((Some(id), Arc::new(record.fold)));
            }
            at = record.before;
        }
        Ok((None, Arc::default()))
    }

    /// The layouts for which a strategy has folded anything of a session.
    pub(super) async fn layouts(
        store: &dyn Store,
        session: &SessionKey,
        strategy: StrategyName,
    ) -> Result<Vec<String>> {
        let (scope, of) = (Scope::Session(session.clone()), Keys::Under(format!("fold/{strategy}@")));
        let pointers = store.records(&scope, Kind::Setting, of).await?;
        let layout = |record: &Record| record.key.split('/').nth(1).map(str::to_owned);
        Ok(pointers.iter().filter_map(layout).collect::<BTreeSet<String>>().into_iter().collect())
    }

    /// Whether any fold of a session had the summary that is named after a message.
    pub(super) async fn had_summary(store: &dyn Store, session: &SessionKey, last: MessageId) -> Result<bool> {
        let of = Keys::Under(format!("fold/{}@", StrategyName::Summary));
        for record in store.records(&Scope::Session(session.clone()), Kind::Note, of).await? {
            let summary = record.read::<FoldRecord>()?.fold.summary;
            if summary.is_some_and(|summary| summary.covers.last == last) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A fold by its id.
    pub(super) async fn fold(&self, id: FoldId) -> Result<Fold> {
        self.record(id).await.map(|record| record.fold)
    }

    /// The fold that first covered a depth, from one on backwards, and when it was made.
    pub(super) async fn covering(&self, newest: FoldId, depth: Depth) -> Result<Option<(FoldId, At)>> {
        let (mut found, mut at) = (None, Some(newest));
        while let Some(id) = at {
            let Some(kept) = self.one(Kind::Note, self.fold_key(id)).await? else { break };
            let record: FoldRecord = kept.read()?;
            if record.fold.open() <= depth {
                break;
            }
            found = Some((id, kept.at));
            at = record.before;
        }
        Ok(found)
    }

    /// Records a new fold of a path after the one that counted, together with other records. A conflict means that
    /// another request has folded meanwhile.
    pub(super) async fn put(
        &self,
        head: Position,
        before: &Folded,
        (fold, others): (Fold, Vec<Put>),
        at: At,
    ) -> Result<Folded> {
        let version = if before.branch == Some(head.branch) { before.version } else { 0 };
        let (branch, epoch) = before.next(head.branch);
        let id = FoldId { branch, epoch };
        let record = FoldRecord { before: before.id, fold };
        let pointer = Pointer { at: Some(id), latest: id.epoch, undone: false, undone_folds: Vec::new() };
        let mut puts = vec![
            Put::new(self.session, Kind::Note, self.fold_key(id), at, &record).expecting(Expect::Absent),
            Put::new(self.session, Kind::Setting, self.pointer_key(head.branch), at, &pointer)
                .expecting(expect(version)),
        ];
        puts.extend(others);
        self.store.commit(Batch::of_records(self.session.clone(), puts)).await?;
        let fold = Arc::new(record.fold);
        let (undone, undone_folds) = (false, Vec::new());
        Ok(Folded {
            id: Some(id),
            fold,
            undone,
            branch: Some(branch),
            version: version + 1,
            latest: epoch,
            undone_folds,
        })
    }

    /// Moves the pointer of a path back by one fold.
    pub(super) async fn undo(&self, head: Position, at: At) -> Result<Folded> {
        let now = self.of(head).await?;
        let id = now.id.ok_or_else(|| Error::NotFound("nothing is folded here, so there is nothing to undo".into()))?;
        let before = self.record(id).await?.before;
        let mut undone_folds = if now.branch == Some(head.branch) { now.undone_folds.clone() } else { Vec::new() };
        undone_folds.extend(self.newer(head.branch, id).await?);
        undone_folds.push(id);
        self.point(head, &now, (before, undone_folds), at).await
    }

    /// Folds of a branch that cover more than a shorter path has, the newest first, down to one.
    async fn newer(&self, branch: BranchId, than: FoldId) -> Result<Vec<FoldId>> {
        let mut newer = Vec::new();
        let mut at = self.pointer(branch).await?.and_then(|(pointer, _)| pointer.at);
        while let Some(wanted) = at.filter(|id| *id != than) {
            let Some((id, record)) = self.legible(wanted).await?.filter(|(id, _)| *id != than) else { break };
            newer.push(id);
            at = record.before;
        }
        Ok(newer)
    }

    /// Moves the pointer of a path forward to what was undone last.
    pub(super) async fn redo(&self, head: Position, at: At) -> Result<Folded> {
        let now = self.of(head).await?;
        let mut undone_folds = if now.branch == Some(head.branch) { now.undone_folds.clone() } else { Vec::new() };
        let nothing = || Error::NotFound("nothing was undone here since the last fold".into());
        let id = undone_folds.pop().ok_or_else(nothing)?;
        self.point(head, &now, (Some(id), undone_folds), at).await
    }

    /// Lets a path go on from a fold that was made before.
    async fn point(
        &self,
        head: Position,
        now: &Folded,
        (to, undone_folds): (Option<FoldId>, Vec<FoldId>),
        at: At,
    ) -> Result<Folded> {
        let own = now.branch == Some(head.branch);
        let (version, latest) = if own { (now.version, now.latest) } else { (0, 0) };
        let pointer = Pointer { at: to, latest, undone: !undone_folds.is_empty(), undone_folds };
        let put = Put::new(self.session, Kind::Setting, self.pointer_key(head.branch), at, &pointer);
        let put = put.expecting(expect(version));
        self.store.commit(Batch::of_records(self.session.clone(), vec![put])).await?;
        self.of(head).await
    }

    /// Which fold of a branch counts; where that is lost, the newest does.
    async fn pointer(&self, branch: BranchId) -> Result<Option<(Pointer, u64)>> {
        if let Some(known) = self.kept_pointer(branch).await? {
            return Ok(Some(known));
        }
        let Some((id, _)) = self.legible(FoldId { branch, epoch: u32::MAX }).await? else { return Ok(None) };
        // Somebody may have made that fold meanwhile.
        let newest = Pointer { at: Some(id), latest: id.epoch, undone: false, undone_folds: Vec::new() };
        Ok(self.kept_pointer(branch).await?.or(Some((newest, 0))))
    }

    async fn kept_pointer(&self, branch: BranchId) -> Result<Option<(Pointer, u64)>> {
        let record = self.one(Kind::Setting, self.pointer_key(branch)).await?;
        record.map(|record| Ok((record.read()?, record.version))).transpose()
    }

    async fn record(&self, id: FoldId) -> Result<FoldRecord> {
        let missing = || Error::Damaged(format!("fold {} of branch {} is missing", id.epoch, id.branch.0));
        self.one(Kind::Note, self.fold_key(id)).await?.ok_or_else(missing)?.read()
    }

    /// A fold; where it is lost, the newest before it on its branch: what that covers was folded as well, and what it
    /// does not is folded anew.
    async fn legible(&self, id: FoldId) -> Result<Option<(FoldId, FoldRecord)>> {
        let of = self.keys(id.branch);
        let keys = Keys::Before(format!("{}~", self.fold_key(id)), 1);
        let found = self.store.records(&Scope::Session(self.session.clone()), Kind::Note, keys).await?.pop();
        let epoch = |record: &Record| record.key.strip_prefix(&of)?.parse().ok();
        let Some((epoch, record)) = found.and_then(|record| Some((epoch(&record)?, record))) else { return Ok(None) };
        Ok(Some((FoldId { epoch, ..id }, record.read()?)))
    }

    async fn one(&self, kind: Kind, key: String) -> Result<Option<Record>> {
        Ok(self.store.records(&Scope::Session(self.session.clone()), kind, Keys::One(key)).await?.pop())
    }

    fn fold_key(&self, id: FoldId) -> String {
        format!("{}{:06}", self.keys(id.branch), id.epoch)
    }

    /// How the keys of a branch's folds begin.
    fn keys(&self, branch: BranchId) -> String {
        format!("fold/{}/{:06}/", self.layout, branch.0)
    }

    fn pointer_key(&self, branch: BranchId) -> String {
        format!("fold/{}/{:06}", self.layout, branch.0)
    }
}

fn expect(version: u64) -> Expect {
    if version == 0 { Expect::Absent } else { Expect::Version(version) }
}
