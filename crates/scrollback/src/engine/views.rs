//! Views in the store: listed, drawn again, asked.

use std::sync::Arc;

use super::Engine;
use super::folds::Folds;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::note::Fold;
use crate::store::{Keys, Kind, Place, Position, Record, Scope, Span, Stored, Which};
use crate::strategy::topics::Excerpt;
use crate::strategy::{HoldSettings, Leaf, turns};
use crate::view::{FoldId, Standing, View};
use crate::window::{Budget, Reason, Window};

/// A view as it was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What people call it: `v42` answered message m42, `v42.2` answered it once more.
    pub name: String,
    /// When.
    pub at: At,
    /// The view.
    pub view: View,
}

impl Engine {
    /// The views of a session, oldest first.
    pub async fn views(&self, session: &SessionKey) -> Result<Vec<Recorded>> {
        let keys = Keys::After(String::new(), usize::MAX >> 1);
        let records = self.store().records(&Scope::Session(session.clone()), Kind::View, keys).await?;
        let mut views: Vec<Recorded> = Vec::with_capacity(records.len());
        let mut times = 0;
        for record in &records {
            let view = read(record)?;
            times = if views.last().is_some_and(|last| last.view.head.id == view.head.id) { times + 1 } else { 1 };
            let name = format!("v{}{}", view.head.id.0, if times > 1 { format!(".{times}") } else { String::new() });
            views.push(Recorded { name, at: record.at, view });
        }
        Ok(views)
    }

    /// The fold a view began with.
    pub async fn fold_of(&self, session: &SessionKey, view: &View) -> Result<Fold> {
        let folds = Folds { store: self.store(), session, layout: &view.layout };
        match view.fold {
            Some(id) => folds.fold(id).await,
            None => Ok(Fold::default()),
        }
    }

    /// The fold that counts for a path under a layout now, with how often its pages were recalled.
    pub async fn fold_at(&self, session: &SessionKey, head: Position, layout: &str) -> Result<(Option<FoldId>, Fold)> {
        let folded = Folds { store: self.store(), session, layout }.of(head).await?;
        Ok((folded.id, self.counted(session, &folded.fold).await?))
    }

    /// The fold in which a message at some depth went under a note of a view, and when.
    pub async fn folded_in(&self, session: &SessionKey, view: &View, depth: Depth) -> Result<Option<(FoldId, At)>> {
        let folds = Folds { store: self.store(), session, layout: &view.layout };
        match view.fold {
            Some(id) => folds.covering(id, depth).await,
            None => Ok(None),
        }
    }

    /// Draws the window of a view again, from the log. What was recalled on the way is told by the view itself.
    pub async fn window_of(&self, session: &SessionKey, view: &View) -> Result<Window> {
        let fold = self.fold_of(session, view).await?;
        let mut window = Window::new(Budget { tokens: view.budget }, view.head.depth.0 + 1);
        let preamble = self.store().read(session, Span::Ids(view.preamble.clone())).await?;
        for stored in preamble {
            window.instruct(&Arc::new(stored));
        }
        window.fold(&fold);
        if let Some(hash) = view.kept
            && let Some(kept) = self.kept_in(session, hash).await?
        {
            window.keep(&kept);
        }
        let excerpt = self.excerpt_of(session, view, &fold).await?;
        if let Some(excerpt) = excerpt.as_ref().filter(|_| view.topics_first) {
            window.quote(excerpt);
        }
        let mut tail = excerpt.as_ref().filter(|_| !view.topics_first);
        let from = view.runs.first().map_or(view.head.depth, |run| run.from);
        let path = self.store().read(session, Span::path(view.head, from)).await?;
        let holds = &self.settings.strategies.holds;
        let leaves = self.leaves(session, path).await?;
        let began = leaves.get(turns::last(&leaves)).map_or(view.head.id, |leaf| leaf.stored.id);
        for leaf in &leaves {
            let Some(depth) = leaf.stored.position().map(|position| position.depth) else { continue };
            let standing = view.standing(depth, &fold);
            if standing == Standing::LeftOut {
                window.leave_out(&leaf.stored);
            }
            if let Standing::Shown(reason) = standing {
                if leaf.stored.id == began
                    && let Some(excerpt) = tail.take()
                {
                    window.quote(excerpt);
                }
                self.show(session, &mut window, leaf, (reason, holds)).await?;
            }
        }
        Ok(window)
    }

    /// What a view quotes from topics.
    async fn excerpt_of(&self, session: &SessionKey, view: &View, fold: &Fold) -> Result<Option<Excerpt>> {
        if view.topics_tokens == 0 {
            return Ok(None);
        }
        let lineage = self.lineage_of(session, view.head).await?;
        let consulted = self.consulted_in(session, &lineage, view, fold.open()).await?;
        Ok(self.excerpt_within(&consulted, view.topics_room))
    }

    async fn show(
        &self,
        session: &SessionKey,
        window: &mut Window,
        leaf: &Arc<Leaf>,
        (reason, holds): (Reason, &HoldSettings),
    ) -> Result<()> {
        window.reason(&leaf.asides);
        if reason != Reason::TooLarge {
            window.show(&leaf.stored, reason);
            return Ok(());
        }
        self.settle_one(session, leaf).await?;
        if let Some(placeholder) = leaf.placeholder(holds) {
            window.hold(&leaf.stored, placeholder);
        }
        Ok(())
    }

    /// How a message stood to a view; `None` if it is not on the view's path.
    pub async fn standing(&self, session: &SessionKey, view: &View, id: MessageId) -> Result<Option<Standing>> {
        let missing = || Error::NotFound(format!("this session has no message {id}"));
        let stored = self.store().read(session, Span::Ids(vec![id])).await?.pop().ok_or_else(missing)?;
        if view.preamble.contains(&id) {
            return Ok(Some(Standing::Shown(Reason::Instructions)));
        }
        let Some(depth) = self.depth_on_path(session, view, &stored).await? else { return Ok(None) };
        let fold = self.fold_of(session, view).await?;
        let standing = view.standing(depth, &fold);
        let folded = matches!(standing, Standing::Searchable | Standing::Listed { .. });
        if let Some(kept) = view.kept.filter(|_| folded)
            && self.kept_in(session, kept).await?.is_some_and(|kept| kept.media_ids().contains(&id))
        {
            return Ok(Some(Standing::Shown(Reason::Kept)));
        }
        let quoted = standing == Standing::Searchable && view.quoted.contains(&id);
        Ok(Some(if quoted { Standing::Quoted } else { standing }))
    }

    async fn depth_on_path(&self, session: &SessionKey, view: &View, stored: &Stored) -> Result<Option<Depth>> {
        let Place::Path(position) = stored.place else { return Ok(None) };
        let branches = self.store().sessions(&session.tenant, Which::Id(session.id)).await?;
        let branches = branches.into_iter().next().map(|session| session.branches).unwrap_or_default();
        let lineage = crate::store::Lineage::of(view.head, &branches);
        let later = position.branch == view.head.branch && position.depth > view.head.depth;
        Ok((later || lineage.holds(&stored.place)).then_some(position.depth))
    }
}

fn read(record: &Record) -> Result<View> {
    let damaged = |cause| Error::Damaged(format!("the view “{}” is unreadable: {cause}", record.key));
    serde_json::from_str(record.body.get()).map_err(damaged)
}
