//! A conversation of three hundred turns on twelve subjects, made from `fixtures/topics/twelve.talk`.

/// What happens in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Small talk.
    Chat,
    /// A fact is told, by its number.
    Tells(usize),
    /// It is asked for.
    Asks(usize),
    /// The person complains that something was forgotten.
    Forgot,
}

/// One turn.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) subject: usize,
    pub(crate) beat: Beat,
    pub(crate) user: String,
    pub(crate) reply: String,
}

/// A subject of the conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) name: String,
    /// What is told, and how it is asked for.
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) forgot: String,
    chats: Vec<(String, String)>,
}

/// Visits at which facts are told, asked for, and missed.
const TOLD: [usize; 4] = [1, 3, 5, 7];
const ASKED: [usize; 4] = [14, 17, 20, 23];
const FORGOTTEN: usize = 24;
pub(crate) const VISITS: usize = 25;

/// The subjects; the last one is what can be said of all of them.
fn read() -> Vec<Subject> {
    let text = include_str!("../../../../fixtures/topics/twelve.talk");
    let mut subjects: Vec<Subject> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("== ") {
            subjects.push(Subject { name: name.to_owned(), ..Subject::default() });
            continue;
        }
        let subject = subjects.last_mut().unwrap();
        let pair = |rest: &str| {
            let (one, other) = rest.split_once(" | ").unwrap();
            (one.to_owned(), other.to_owned())
        };
        match line.split_once(' ').unwrap() {
            ("fact:", rest) => subject.facts.push(pair(rest)),
            ("forgot:", rest) => rest.clone_into(&mut subject.forgot),
            ("-", rest) => subject.chats.push(pair(rest)),
            other => panic!("{other:?}"),
        }
    }
    subjects
}

pub(crate) fn subjects() -> Vec<Subject> {
    let mut subjects = read();
    subjects.pop();
    subjects
}

/// Advice that fits everything, in a language.
fn general(language: &str) -> Vec<String> {
    let all = read().pop().unwrap().chats;
    all.into_iter().filter(|(of, _)| of == language).map(|(_, advice)| advice).collect()
}

/// A source of numbers that is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// The conversation: subjects come and go, each stays for one to three turns.
pub(crate) fn script(subjects: &[Subject]) -> Vec<Step> {
    let mut dice = Dice(7);
    let mut visits = vec![0; subjects.len()];
    let mut steps = Vec::new();
    while visits.iter().any(|visits| *visits < VISITS) {
        let least = *visits.iter().min().unwrap();
        let open: Vec<usize> = (0..visits.len()).filter(|i| visits[*i] < (least + 4).min(VISITS)).collect();
        let subject = open[dice.below(open.len())];
        for _ in 0..=dice.below(3) {
            if visits[subject] < VISITS {
                steps.push(step(subjects, subject, visits[subject], &mut dice));
                visits[subject] += 1;
            }
        }
    }
    steps
}

fn step(subjects: &[Subject], number: usize, visit: usize, dice: &mut Dice) -> Step {
    let subject = &subjects[number];
    let (beat, user, reply) = if let Some(fact) = TOLD.iter().position(|told| *told == visit) {
        let noted = if subject.facts[0].0.is_ascii() {
            "Good to know; I will keep it in mind."
        } else {
            "好的，我记下了。"
        };
        (Beat::Tells(fact), subject.facts[fact].0.clone(), noted.to_owned())
    } else if let Some(fact) = ASKED.iter().position(|asked| *asked == visit) {
        (Beat::Asks(fact), subject.facts[fact].1.clone(), "As you told me then.".to_owned())
    } else if visit == FORGOTTEN {
        (Beat::Forgot, subject.forgot.clone(), "Of course, I have it here.".to_owned())
    } else {
        let (user, reply) = &subject.chats[visit % subject.chats.len()];
        let (before, after) =
            if user.is_ascii() { ("Another thought: ", "And on") } else { ("再问一下：", "关于") };
        let user = if visit < subject.chats.len() { user.clone() } else { format!("{before}{user}") };
        // Replies are as long as those of models are: what was asked, and much that was not.
        let first = dice.below(subject.chats.len());
        let others = (0..subject.chats.len()).map(|i| &subject.chats[(first + i) % subject.chats.len()]);
        let more: Vec<String> = others.map(|(question, answer)| format!("{after} “{question}” {answer}")).collect();
        let mut advice = general(if user.is_ascii() { "en" } else { "zh" });
        let turned = dice.below(advice.len());
        advice.rotate_left(turned);
        let reply = format!("{reply}\n\n{}\n\n{}", more.join("\n"), advice.join("\n\n"));
        (Beat::Chat, user, reply)
    };
    Step { subject: number, beat, user, reply }
}
