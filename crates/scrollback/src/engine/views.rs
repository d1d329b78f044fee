//! Views in the store: listed, drawn again, asked.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Engine;
use super::folds::Folds;
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::ids::{At, Depth, MessageId, SessionKey};
use crate::note::Fold;
use crate::store::{Keys, Kind, Place, Position, Record, Scope, Span, Stored};
use crate::strategy::topics::Excerpt;
use crate::strategy::{HoldSettings, Leaf, turns};
use crate::view::{FoldId, Standing, View};
use crate::window::{Budget, Reason, Window};

/// Among so many views of the newest messages the one made last is looked for: an older message may be answered anew.
const NEWEST_AMONG: usize = 16;
/// More answers to one message are not counted.
const SAME_MOST: usize = 1_000;
/// So many views are read at once to count them.
const SAME_STEP: usize = 8;

/// A view as it was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What people call it: `v42` answered message m42, `v42.2` answered it once more.
    pub name: String,
    /// When.
    pub at: At,
    /// The view.
    pub view: View,
    /// Where it stands among the views of its session; those before it are read from here.
    pub key: String,
}

impl Engine {
    /// The views of a session, oldest first.
    pub fn views<'a>(&'a self, session: &'a SessionKey) -> BoxFuture<'a, Result<Vec<Recorded>>> {
        Box::pin(async move {
            let records = self.view_records(session, Keys::After(String::new(), usize::MAX >> 1)).await?;
            named(&records, 0)
        })
    }

    /// A page of the views before one (`key`; the empty one is after all), by the messages they answer, newest first.
    pub fn views_before<'a>(
        &'a self,
        session: &'a SessionKey,
        key: &'a str,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>>> {
        Box::pin(async move {
            let mut records = self.view_records(session, Keys::Before(key.to_owned(), count)).await?;
            records.reverse();
            let mut views = self.named_here(session, records).await?;
            views.reverse();
            Ok(views)
        })
    }

    /// A page of the views after one (`key`), by the messages they answer, oldest first.
    pub fn views_after<'a>(
        &'a self,
        session: &'a SessionKey,
        key: &'a str,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>>> {
        Box::pin(async move {
            let records = self.view_records(session, Keys::After(key.to_owned(), count)).await?;
            self.named_here(session, records).await
        })
    }

    /// Names a stretch of views: what the first is called depends on how many before it answered the same message.
    async fn named_here(&self, session: &SessionKey, records: Vec<Record>) -> Result<Vec<Recorded>> {
        let Some(oldest) = records.first() else { return Ok(Vec::new()) };
        let earlier = self.same_before(session, oldest.read::<View>()?.head.id, oldest.key.clone()).await?;
        named(&records, earlier)
    }

    /// How many views before a key answered the same message.
    async fn same_before(&self, session: &SessionKey, head: MessageId, mut key: String) -> Result<usize> {
        let (of, mut count) = (View::keys(head), 0);
        loop {
            let mut before = self.view_records(session, Keys::Before(key, SAME_STEP)).await?;
            let same = before.iter().take_while(|record| record.key.starts_with(&of)).count();
            count += same;
            match before.pop() {
                Some(last) if same == SAME_STEP && count < SAME_MOST => key = last.key,
                _ => return Ok(count),
            }
        }
    }

    /// The view of a session that was made last.
    pub fn newest_view<'a>(&'a self, session: &'a SessionKey) -> BoxFuture<'a, Result<Option<Recorded>>> {
        Box::pin(async move {
            let views = self.views_before(session, "", NEWEST_AMONG).await?;
            Ok(views.into_iter().max_by_key(|recorded| recorded.at))
        })
    }

    /// A view by what people call it: `v42`, `v42.2`, or without the letter.
    pub fn view_named<'a>(&'a self, session: &'a SessionKey, name: &'a str) -> BoxFuture<'a, Result<Option<Recorded>>> {
        Box::pin(async move {
            let number = name.trim_start_matches('v');
            let (head, times) = number.split_once('.').unwrap_or((number, "1"));
            let (Ok(head), Ok(times)) = (head.parse(), times.parse::<usize>()) else { return Ok(None) };
            if times > SAME_MOST {
                return Ok(None);
            }
            let keys = Keys::After(View::keys(MessageId(head)), times);
            let same = named(&self.view_records(session, keys).await?, 0)?;
            let found = times.checked_sub(1).and_then(|index| same.into_iter().nth(index));
            Ok(found.filter(|recorded| recorded.view.head.id == MessageId(head)))
        })
    }

    async fn view_records(&self, session: &SessionKey, keys: Keys) -> Result<Vec<Record>> {
        self.store().records(&Scope::Session(session.clone()), Kind::View, keys).await
    }

    /// What people will call the view of a turn that is not finished yet: its last message may have been answered
    /// before.
    pub fn next_view<'a>(&'a self, turn: &'a Turn) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let end = View::keys_end(turn.head.id);
            let before = self.same_before(&turn.received.session, turn.head.id, end).await?;
            Ok(if before == 0 { turn.view() } else { format!("{}.{}", turn.view(), before + 1) })
        })
    }

    /// The fold a view began with.
    pub fn fold_of<'a>(&'a self, session: &'a SessionKey, view: &'a View) -> BoxFuture<'a, Result<Fold>> {
        Box::pin(async move {
            let folds = Folds { store: self.store(), session, layout: &view.layout };
            match view.fold {
                Some(id) => folds.fold(id).await,
                None => Ok(Fold::default()),
            }
        })
    }

    /// The fold that counts for a path under a layout now, with how often its pages were recalled.
    pub fn fold_at<'a>(
        &'a self,
        session: &'a SessionKey,
        head: Position,
        layout: &'a str,
    ) -> BoxFuture<'a, Result<(Option<FoldId>, Fold)>> {
        Box::pin(async move {
            let folded = Folds { store: self.store(), session, layout }.of(head).await?;
            Ok((folded.id, self.counted(session, &folded.fold).await?))
        })
    }

    /// The fold in which a message at some depth went under a note of a view, and when.
    pub fn folded_in<'a>(
        &'a self,
        session: &'a SessionKey,
        view: &'a View,
        depth: Depth,
    ) -> BoxFuture<'a, Result<Option<(FoldId, At)>>> {
        Box::pin(async move {
            let folds = Folds { store: self.store(), session, layout: &view.layout };
            match view.fold {
                Some(id) => folds.covering(id, depth).await,
                None => Ok(None),
            }
        })
    }

    /// Draws the window of a view again, from the log. What was recalled on the way is told by the view itself.
    pub fn window_of<'a>(&'a self, session: &'a SessionKey, view: &'a View) -> BoxFuture<'a, Result<Window>> {
        Box::pin(async move {
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
        })
    }

    /// What a view quotes from topics.
    async fn excerpt_of(&self, session: &SessionKey, view: &View, fold: &Fold) -> Result<Option<Excerpt>> {
        if view.topics_tokens == 0 {
            return Ok(None);
        }
        let lineage = self.store().lineage(session, view.head).await?;
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
    pub fn standing<'a>(
        &'a self,
        session: &'a SessionKey,
        view: &'a View,
        id: MessageId,
    ) -> BoxFuture<'a, Result<Option<Standing>>> {
        Box::pin(async move {
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
        })
    }

    async fn depth_on_path(&self, session: &SessionKey, view: &View, stored: &Stored) -> Result<Option<Depth>> {
        let Place::Path(position) = stored.place else { return Ok(None) };
        let lineage = self.store().lineage(session, view.head).await?;
        let later = position.branch == view.head.branch && position.depth > view.head.depth;
        Ok((later || lineage.holds(&stored.place)).then_some(position.depth))
    }
}

/// Views in the order of their keys, with the names that people call them by; so many earlier ones answered the message
/// of the first.
fn named(records: &[Record], earlier: usize) -> Result<Vec<Recorded>> {
    let mut views: Vec<Recorded> = Vec::with_capacity(records.len());
    let mut times = earlier;
    for record in records {
        let view: View = record.read()?;
        times = if views.last().is_none_or(|last| last.view.head.id == view.head.id) { times + 1 } else { 1 };
        let name = format!("v{}{}", view.head.id.0, if times > 1 { format!(".{times}") } else { String::new() });
        views.push(Recorded { name, at: record.at, view, key: record.key.clone() });
    }
    Ok(views)
}
