//! The ladder of a summary: the full question, once more if too much was lost, the short question, the offline answer.
//!
//! Whatever the helper does, there is a summary in the end, and beside it what of the originals it does not hold.

use std::time::Duration;

use super::super::{Answered, Asked, By, Tasks, Why};
use super::ask::{Style, Summarise, SummariseShort};
use super::facts::{Fact, FactKind, facts};
use super::held::lost;
use super::talk::{MISSING, words};
use crate::note::Author;
use crate::store::Stored;
use crate::summary::Quote;

/// One in so many facts may be lost.
const MAY_LOSE: usize = 5;

/// What is to be summed up.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The summary so far, if there is one.
    pub before: Option<&'a str>,
    /// How many messages it covers.
    pub before_count: u32,
    /// The messages that follow it.
    pub messages: &'a [Stored],
    /// How it is to be written.
    pub style: Style<'a>,
    /// How many tokens it may have.
    pub most_tokens: u32,
    /// What is kept word for word beside it, and so need not be in it.
    pub kept: &'a [Quote],
    /// How long somebody waits for it at most: two thirds for the first question, the rest for the second.
    pub most_wait: Option<Duration>,
}

/// A summary, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summed {
    /// The summary, in Markdown.
    pub text: String,
    /// Who wrote it.
    pub by: Author,
    /// What of the originals neither it nor the quotes hold, the most telling first, at most forty.
    pub lost: Vec<String>,
    /// Every question to the helper, for the ledger.
    pub calls: Vec<Asked>,
}

/// Sums up a segment, in any case.
pub async fn summed(tasks: &Tasks, segment: &Segment<'_>) -> Summed {
    let measure = Measure::of(segment);
    let full = segment.task(&[]);
    let first = tasks.run_within(&full, segment.most_wait.map(|most| most / 3 * 2)).await;
    let (best, calls) = match &first.by {
        By::Helper => {
            let draft = measure.drafted(first.answer, Author::Helper);
            if measure.is_poor(&draft) {
                again(tasks, segment, &measure, draft, first.calls).await
            } else {
                (draft, first.calls)
            }
        }
        By::Offline(Why::Failed(_) | Why::Nonsense(_)) => {
            let second = tasks.run_within(&SummariseShort(full), rest(segment)).await;
            let by = author(&second);
            (measure.drafted(second.answer, by), [first.calls, second.calls].concat())
        }
        By::Offline(Why::NoHelper | Why::BreakerOpen | Why::SpendLimit | Why::NoTime) => {
            (measure.drafted(first.answer, Author::Offline), first.calls)
        }
    };
    let lost = best.lost.into_iter().take(MISSING).map(|fact| fact.text).collect();
    Summed { text: best.text, by: best.by, lost, calls }
}

/// Asks once more, with what was lost, and takes the better of both.
async fn again(
    tasks: &Tasks,
    segment: &Segment<'_>,
    measure: &Measure,
    first: Draft,
    calls: Vec<Asked>,
) -> (Draft, Vec<Asked>) {
    let missing: Vec<String> = first.lost.iter().take(MISSING).map(|fact| fact.text.clone()).collect();
    let second = tasks.run_within(&segment.task(&missing), rest(segment)).await;
    let calls = [calls, second.calls].concat();
    if second.by != By::Helper {
        return (first, calls);
    }
    let second = measure.drafted(second.answer, Author::Helper);
    (if second.loss() < first.loss() { second } else { first }, calls)
}

fn rest(segment: &Segment<'_>) -> Option<Duration> {
    segment.most_wait.map(|most| most / 3)
}

fn author<A>(answered: &Answered<A>) -> Author {
    if answered.by == By::Helper { Author::Helper } else { Author::Offline }
}

impl<'a> Segment<'a> {
    fn task(&self, missing: &'a [String]) -> Summarise<'a> {
        let Self { before, before_count, messages, style, most_tokens, .. } = *self;
        Summarise { before, before_count, messages, style, most_tokens, missing }
    }
}

/// What a summary of a segment is measured by.
struct Measure {
    facts: Vec<Fact>,
    /// What is held beside the summary.
    beside: String,
}

/// A summary and what it does not hold.
struct Draft {
    text: String,
    by: Author,
    lost: Vec<Fact>,
}

impl Measure {
    fn of(segment: &Segment<'_>) -> Self {
        let mut all = facts(&words(segment.messages));
        for fact in segment.before.map(facts).unwrap_or_default() {
            if !all.contains(&fact) {
                all.push(fact);
            }
        }
        let beside = segment.kept.iter().flat_map(|quote| [quote.text.as_str(), "\n"]).collect();
        Self { facts: all, beside }
    }

    fn drafted(&self, text: String, by: Author) -> Draft {
        let lost = lost(&self.facts, &format!("{text}\n{}", self.beside));
        Draft { text, by, lost }
    }

    /// Whether more was lost than may be.
    fn is_poor(&self, draft: &Draft) -> bool {
        draft.lost.len() * MAY_LOSE > self.facts.len() || draft.loss().0 > 0
    }
}

impl Draft {
    /// How much that binds what follows was lost, and how much at all.
    fn loss(&self) -> (usize, usize) {
        let binds = |fact: &&Fact| matches!(fact.kind, FactKind::Constraint | FactKind::Decision);
        (self.lost.iter().filter(binds).count(), self.lost.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{Act, Scripted, said};
    use super::*;
    use crate::ids::MessageId;
    use crate::task::{Heard, TaskSettings};
    use crate::window::tokens_of;

    const GOOD: &str = "<summary>The gauge HB-22 must not be asked more than once a minute; Ann Lee was told [m11]. \
                        They decided to use port 4800 from Friday on [m12].</summary>";
    const FORGETS: &str = "<summary>They spoke about a gauge, and about who was told what about it.</summary>";
    const HALF: &str =
        "<summary>The gauge HB-22 must not be asked more than once a minute; somebody was told.</summary>";

    fn talk() -> Vec<Stored> {
        said(&[
            ("user", "Tell Ann Lee that the gauge HB-22 must not be asked more than once a minute."),
            ("assistant", "Told her. We decided to use port 4800 from Friday on."),
        ])
    }

    fn segment(messages: &[Stored]) -> Segment<'_> {
        let (before, before_count, style, most_tokens) = (None, 0, Style::General, 200);
        Segment { before, before_count, messages, style, most_tokens, kept: &[], most_wait: None }
    }

    async fn run(acts: &[Act]) -> (Summed, Arc<Scripted>) {
        let model = Scripted::new(acts);
        let summed = summed(&Tasks::new(model.clone(), TaskSettings::default()), &segment(&talk())).await;
        (summed, model)
    }

    fn tasks_of(summed: &Summed) -> Vec<&'static str> {
        summed.calls.iter().map(|asked| asked.task).collect()
    }

    #[tokio::test]
    async fn a_good_summary_is_taken_at_once() {
        let (summed, _) = run(&[Act::Say(GOOD)]).await;
        assert_eq!((summed.by, summed.lost.len(), tasks_of(&summed)), (Author::Helper, 0, vec!["summary"]));
        assert!(summed.text.starts_with("The gauge HB-22"));
    }

    #[tokio::test]
    async fn a_poor_one_is_asked_for_once_more_with_what_is_missing() {
        let (summed, model) = run(&[Act::Say(FORGETS), Act::Say(GOOD)]).await;
        assert_eq!((summed.lost.len(), tasks_of(&summed)), (0, vec!["summary", "summary"]));
        let asked = model.asked.lock().unwrap();
        assert!(!asked[0].text.contains("<left-out-") && asked[1].text.contains("<left-out-"));
        assert!(asked[1].text.contains("- HB-22\n") && asked[1].text.contains("- 4800\n"), "{}", asked[1].text);
    }

    #[tokio::test]
    async fn the_better_of_two_is_taken_and_no_third_is_asked_for() {
        for acts in [[Act::Say(HALF), Act::Say(FORGETS)], [Act::Say(FORGETS), Act::Say(HALF)]] {
            let (summed, _) = run(&acts).await;
            assert_eq!((summed.calls.len(), summed.by), (2, Author::Helper));
            assert!(summed.text.contains("HB-22"), "{}", summed.text);
            assert_eq!(summed.lost, ["We decided to use port 4800 from Friday on.", "4800", "Ann Lee", "Friday"]);
        }
        let (failed, _) = run(&[Act::Say(HALF), Act::Fail]).await;
        assert_eq!((failed.by, tasks_of(&failed)), (Author::Helper, vec!["summary", "summary"]));
    }

    #[tokio::test]
    async fn what_is_kept_or_was_said_before_counts() {
        let messages = talk();
        let quote =
            Quote { message: MessageId(12), text: "We decided to use port 4800 from Friday on. Ann Lee".into() };
        let tasks = Tasks::new(Scripted::new(&[Act::Say(HALF)]), TaskSettings::default());
        let kept = summed(&tasks, &Segment { kept: std::slice::from_ref(&quote), ..segment(&messages) }).await;
        assert_eq!((kept.calls.len(), kept.lost.len()), (1, 0));
        let before = Some("The harbour must stay open all winter [m2].");
        let lost = summed(&tasks, &Segment { kept: &[quote], before, ..segment(&messages) }).await;
        assert_eq!((lost.calls.len(), lost.lost.len()), (2, 1));
    }

    #[tokio::test]
    async fn refusals_errors_and_garbage_go_down_the_ladder() {
        let refusal = Act::Say("I'm sorry, but I can't help with that.");
        let (short, model) = run(&[refusal, refusal, Act::Say(GOOD)]).await;
        assert_eq!((short.by, tasks_of(&short)), (Author::Helper, vec!["summary", "summary", "summary_short"]));
        assert!(model.asked.lock().unwrap()[2].instructions.starts_with("Shorten"));
        let (short, _) = run(&[Act::Fail, Act::Say(FORGETS)]).await;
        assert_eq!((short.by, tasks_of(&short)), (Author::Helper, vec!["summary", "summary_short"]));
        assert!(!short.lost.is_empty(), "a short summary is taken as it is");
        for acts in [[refusal].as_slice(), &[Act::Fail], &[Act::Say("")], &[Act::Say("{]</summary>")]] {
            let (offline, _) = run(acts).await;
            assert_eq!(offline.by, Author::Offline);
            assert!(offline.text.starts_with("- [m11] user: Tell Ann Lee") && offline.lost.is_empty(), "{offline:?}");
            assert!((2..=4).contains(&offline.calls.len()));
        }
    }

    #[tokio::test]
    async fn a_helper_that_hangs_is_not_waited_for() {
        let messages = talk();
        let tasks =
            Tasks::new(Scripted::new(&[Act::Hang]), TaskSettings { breaker_after: 2, ..TaskSettings::default() });
        let hurried = Segment { most_wait: Some(Duration::from_millis(9)), ..segment(&messages) };
        let hung = summed(&tasks, &hurried).await;
        let late = Heard::Nothing("it took too long".into());
        assert_eq!((hung.by, tasks_of(&hung)), (Author::Offline, vec!["summary", "summary_short"]));
        assert!(hung.calls.iter().all(|asked| asked.outcome == late));
        let refused = summed(&tasks, &hurried).await;
        assert_eq!((refused.by, refused.calls.len(), &refused.text), (Author::Offline, 0, &hung.text));
    }

    #[tokio::test]
    async fn it_can_be_done_in_the_background() {
        let (tasks, messages) = (Arc::new(Tasks::offline()), talk());
        let done = tokio::spawn(async move { summed(&tasks, &segment(&messages)).await }).await.unwrap();
        assert!(done.text.contains("Ann Lee"));
    }

    #[tokio::test]
    async fn without_a_helper_nothing_is_asked_and_losses_are_told() {
        let long = "Nothing much. ".repeat(40)
            + "Ann Lee saw tide_gauge_7 at 09:30. We walked 12 km. "
            + &"More of it. ".repeat(40);
        let messages = said(&vec![("user", long.as_str()); 8]);
        let summed = summed(&Tasks::offline(), &Segment { most_tokens: 60, ..segment(&messages) }).await;
        assert!(tokens_of(&summed.text) <= 60 && summed.calls.is_empty() && summed.by == Author::Offline);
        let again = super::summed(&Tasks::offline(), &Segment { messages: &[], ..segment(&messages) }).await;
        assert_eq!((again.text.as_str(), again.lost.len()), ("", 0));
    }
}
