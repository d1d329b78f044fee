//! What a person does between two turns: pins, leaves out, folds, takes back, edits, switches.

use scrollback::control::Change;
use scrollback::engine::{Folding, NoteName, Turn};
use scrollback::note::Fold;
use scrollback::store::{Place, Span, Stored};
use scrollback::strategy::StrategyName;
use scrollback::window::{Budget, Reason, Window};
use scrollback::{At, Error, MessageId};

use super::desk::{Desk, contents};
use super::kit::{assistant, user};
use super::world::World;

/// What a person does.
#[derive(Clone, Debug)]
pub enum Wish {
    Pin(usize),
    Unpin(usize),
    Exclude(usize),
    Include(usize),
    Rule,
    Compress,
    Redo,
    Reword,
    Switch(usize),
}

pub const STRATEGIES: [StrategyName; 4] =
    [StrategyName::Pages, StrategyName::Topics, StrategyName::Summary, StrategyName::Artifacts];

/// What stands still while a turn is answered.
fn settled(window: &Window) -> Vec<String> {
    let shown = window.blocks().iter().filter(|block| block.reason != Reason::Relevant);
    shown.map(|block| block.text().to_owned()).collect()
}

impl Desk {
    async fn all(&self) -> Vec<Stored> {
        let span = Span::Arrival { from: MessageId(0), limit: usize::MAX >> 1 };
        self.store.read(&self.session(), span).await.unwrap()
    }

    async fn wish(&mut self, change: &Change) -> Result<(), String> {
        self.now += 1;
        let changed = self.engine.change(&self.session(), change, At(self.now)).await;
        changed.map(drop).map_err(|error| error.to_string())
    }

    async fn layout(&self) -> String {
        let controls = self.engine.controls(&self.session()).await.unwrap();
        self.engine.layout_with(&controls, self.limit).to_string()
    }

    pub async fn compress(&mut self, turn: &Turn) -> Option<Fold> {
        self.now += 1;
        let (session, layout) = (self.session(), self.layout().await);
        let (head, budget) = (turn.received().head.unwrap(), Budget { tokens: self.budget });
        let folding = Folding { session: &session, head, layout: &layout, model: "gpt-5", budget, recalls: true };
        self.engine.compress(folding, At(self.now)).await.unwrap()
    }

    /// Puts other words in the place of the first note there is.
    async fn reword(&mut self, turn: &Turn, words: &str) -> Result<Option<Fold>, Error> {
        self.now += 1;
        let (session, layout, head) = (self.session(), self.layout().await, turn.received().head.unwrap());
        let (_, fold) = self.engine.fold_at(&session, head, &layout).await?;
        let page = fold.listed.first().map(|note| NoteName::Page(note.number()));
        let summary = fold.summary.as_ref().map(|summary| NoteName::Summary(summary.covers.last.0));
        let artifact = fold.artifacts.first().map(|edition| NoteName::Artifact(edition.id));
        let Some(note) = page.or(summary).or(artifact) else { return Ok(None) };
        let budget = Budget { tokens: self.budget };
        let folding = Folding { session: &session, head, layout: &layout, model: "gpt-5", budget, recalls: true };
        self.engine.edit(folding, note, words, At(self.now)).await.map(Some)
    }

    pub async fn back(&mut self, turn: &Turn) -> Result<Fold, Error> {
        self.now += 1;
        let (session, layout) = (self.session(), self.layout().await);
        self.engine.undo(&session, turn.received().head.unwrap(), &layout, At(self.now)).await
    }

    pub async fn forth(&mut self, turn: &Turn) -> Result<Fold, Error> {
        self.now += 1;
        let (session, layout) = (self.session(), self.layout().await);
        self.engine.redo(&session, turn.received().head.unwrap(), &layout, At(self.now)).await
    }
}

impl World {
    pub async fn grant(&mut self, wish: &Wish) {
        self.forget_seen();
        match wish {
            Wish::Pin(near) => self.both(*near, Change::Pin).await,
            Wish::Unpin(near) => self.both(*near, Change::Unpin).await,
            Wish::Exclude(near) => {
                self.leaves_out = true;
                self.both(*near, Change::Exclude).await;
            }
            Wish::Include(near) => self.both(*near, Change::Include).await,
            Wish::Rule => {
                let rare = self.rare();
                self.history.push(user(&format!("Never mention the {rare} ferry again.")));
                if let Ok(turns) = self.begin().await {
                    self.finish(turns, assistant("Understood.")).await;
                }
            }
            Wish::Compress => Box::pin(self.compress_and_back()).await,
            Wish::Redo => Box::pin(self.redo()).await,
            Wish::Reword => Box::pin(self.reword_and_back()).await,
            Wish::Switch(to) => {
                self.strategy = STRATEGIES[to % STRATEGIES.len()];
                let change = Change::Strategy(Some(self.strategy));
                assert_eq!(self.steady.wish(&change).await, self.restless.wish(&change).await);
            }
        }
        self.forget_seen();
    }

    async fn both(&mut self, near: usize, change: impl Fn(MessageId) -> Change) {
        let all = self.steady.all().await;
        let said: Vec<&Stored> = all.iter().filter(|stored| matches!(stored.place, Place::Path(_))).collect();
        let Some(stored) = said.get(near % said.len().max(1)) else { return };
        let change = change(stored.id);
        assert_eq!(self.steady.wish(&change).await, self.restless.wish(&change).await);
    }

    async fn asked(&mut self, text: &str) -> Option<(Turn, Turn)> {
        self.history.push(user(text));
        self.begin().await.ok()
    }

    /// A fold that a person asks for can be taken back: the window is as it was. Taken up again, it is as it became.
    async fn compress_and_back(&mut self) {
        let Some(before) = self.asked("Shorten this, please.").await else { return };
        let folds = (self.steady.compress(&before.0).await, self.restless.compress(&before.1).await);
        assert_eq!(folds.0, folds.1);
        self.forget_seen();
        if folds.0.is_none() {
            return self.finish(before, assistant("Nothing to shorten.")).await;
        }
        let Ok(folded) = self.begin().await else { return };
        if contents(folded.0.window()) != folds.0.map(|fold| fold.text) {
            // It had to be folded once more: taking that back is another matter.
            return self.finish(folded, assistant("Shortened.")).await;
        }
        assert_ne!(contents(folded.0.window()), contents(before.0.window()));
        self.back_to(&before, &folded).await;
        let again = (self.steady.forth(&before.0).await, self.restless.forth(&before.1).await);
        assert!(again.0.is_ok() && again.1.is_ok());
        self.forget_seen();
        let Ok(turns) = self.begin().await else { panic!("it fitted before") };
        assert_eq!(settled(turns.0.window()), settled(folded.0.window()), "taken up again, it is another");
        self.finish(turns, assistant("Shortened.")).await;
    }

    /// Takes the last fold back and compares the window with what it was.
    async fn back_to(&mut self, before: &(Turn, Turn), now: &(Turn, Turn)) {
        let undone = (self.steady.back(&now.0).await, self.restless.back(&now.1).await);
        assert!(undone.0.is_ok() && undone.1.is_ok(), "{:?}", undone.0);
        self.forget_seen();
        let Ok(turns) = self.begin().await else { panic!("it fitted before") };
        assert_eq!(settled(turns.0.window()), settled(before.0.window()), "taken back, it is another");
    }

    async fn reword_and_back(&mut self) {
        let Some(before) = self.asked("I would put that otherwise.").await else { return };
        let words = format!("In my own words\n{} is what counts", self.rare());
        let edited = (self.steady.reword(&before.0, &words).await, self.restless.reword(&before.1, &words).await);
        let Ok(Some(fold)) = edited.0 else {
            assert_eq!(edited.0.is_ok(), edited.1.is_ok());
            return self.finish(before, assistant("There is nothing to reword.")).await;
        };
        assert_eq!(Some(&fold), edited.1.unwrap().as_ref());
        self.forget_seen();
        let Ok(now) = self.begin().await else { return };
        if contents(now.0.window()) != Some(fold.text) {
            return self.finish(now, assistant("As you like.")).await;
        }
        // Where there is hardly any room, a note of one's own may be cut like any other.
        let told = contents(now.0.window()).unwrap();
        assert!(told.contains("In my own words") || self.steady.budget < 3_000, "{told}");
        self.back_to(&before, &now).await;
        let Ok(turns) = self.begin().await else { panic!("it fitted before") };
        self.finish(turns, assistant("As you like.")).await;
    }

    async fn redo(&mut self) {
        let Some(turns) = self.asked("What did I take back?").await else { return };
        let again = (self.steady.forth(&turns.0).await, self.restless.forth(&turns.1).await);
        assert_eq!(again.0.is_ok(), again.1.is_ok());
        self.forget_seen();
        if let Ok(turns) = self.begin().await {
            self.finish(turns, assistant("This.")).await;
        }
    }
}
