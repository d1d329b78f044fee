//! Conversations in which subjects alternate, each unit under the letter of its subject.

use std::collections::HashMap;

use super::*;

/// A question with its answer on each line, after the letter of its subject.
const ENGLISH: &str = "\
g|When should I prune the apple tree in the garden? Late winter, before the buds swell; cut the crossing branches first.
g|And the old branches with lichen on the apple tree? Lichen does no harm, only remove dead branches.
t|Which receipts do I need for my tax return? Keep receipts for travel, the home office and donations; the deadline is in May.
r|My Rust program does not compile: cannot borrow `cache` as mutable. You hold an immutable borrow of `cache` across the loop.
r|Would cloning the cache help? It compiles, but the borrow checker wants you to end the first borrow before the loop.
r|OK, how? Collect the keys into a Vec, then mutate the cache in a second loop.
k|We want to renovate the kitchen. What comes first? Plan the cabinets and the plumbing, then order the countertop.
g|Are the buds on the garden apple tree safe from frost? Cover the young buds with fleece when frost is announced.
h|We plan a trip to Lisbon in October, is that a good month? October in Lisbon is mild, and flights are cheaper.
h|Which flights would you take? Morning flights to Lisbon leave you half a day for the city.
t|Can I claim the home office on my tax return? Yes, a flat sum per day, if the receipts prove the desk.
s|The salinity sensor in the harbour reads zero since noon. Check the probe cable; salt corrodes the connector of the sensor.
k|How much does a granite countertop for the kitchen cost? Granite costs more than laminate, about three hundred a metre.
b|My son wants to learn the violin, how often should he practise? Ten minutes daily is enough for a beginner on the violin.
r|Now the Rust compiler says the borrow of `cache` lasts until the end of the scope. Wrap the borrow in its own block.
r|That worked, thanks. Glad to hear it.
d|How do I restore the nightly database backup? Stop the service and load the dump with pg_restore into an empty database.
s|I replaced the connector, but the harbour sensor still drifts. Calibrate the salinity probe in a standard solution.
m|My knee hurts after running ten kilometres. Rest the knee for a week, and look at your running shoes.
m|Should I put ice on it? Ice on the knee helps in the first two days.
w|Which wine goes with mushroom risotto? A white wine from Piedmont, or a light Pinot with the risotto.
h|Where in Lisbon should we stay with two children? Near a park, away from the steep streets; October has free rooms in Lisbon.
d|pg_restore complains that a role does not exist. Create the role first, or restore the dump without owners.
b|Should we rent or buy a violin? Rent a violin at first, children outgrow the size within a year.
e|Write me a poem for the retirement of our headmaster. He rang the bell for thirty years, now the bell rings for him.
e|Could the poem rhyme more? Here the headmaster leaves, the school grieves, and the bell believes.
t|The tax office sent a letter about my tax return from last year. They ask for receipts of donations; send copies.
k|The plumber says the kitchen sink must move. Then the plumbing runs through the cabinets, so order the cabinets later.
g|What should I spray on the apple tree against aphids? Soapy water on the leaves of the apple tree, in the evening.
m|The knee is better, when may I start running again? Begin with two kilometres, in good shoes, on soft ground.
c|What is the difference between a fork and a pin in chess? A fork attacks two pieces, a pin holds one against the king.
c|Show me a knight fork in chess. A knight on c7 attacks king and rook, that is the most common fork.
s|How long does the calibration of a salinity sensor last? About three months in a harbour, algae foul the probe.
w|And a wine without alcohol for the risotto? A dry grape juice, or a wine from which the alcohol was taken.
d|How large may a database dump be before pg_restore gets slow? Above a hundred gigabytes restore the dump with several jobs.
r|Does Rust let me borrow two entries of the cache at once? Not by index; use split_at_mut or indices, the borrow checker cannot see it.
h|Do we need a car in Lisbon? No, trams and trains are enough, flights and a day pass will do.
e|Make the last verse of the poem for the headmaster shorter. The bell is still, the headmaster will.
c|When is a pin absolute in chess? When the king stands behind the pinned piece, it may not move at all.
b|His bow on the violin squeaks. Too little rosin on the bow, or too much pressure on the strings of the violin.
";

/// The same in Chinese.
const CHINESE: &str = "\
花|阳台上的月季叶子发黄怎么办？月季叶子发黄多半是浇水太多，先让土壤干透。
花|月季什么时候修剪比较好？月季在冬末修剪，剪去细弱的枝条。
税|今年的个人所得税申报截止到什么时候？个人所得税汇算清缴到六月三十日截止。
车|新能源汽车冬天续航下降很多，正常吗？电池低温时续航会下降两到三成，属于正常。
车|那要怎么保护电池？充电到百分之八十，停在地下车库，电池就不会太冷。
税|住房贷款利息可以在个人所得税里扣除吗？可以，首套房贷款利息每月扣除一千元。
菜|红烧肉怎么做才不腻？五花肉先焯水，再用冰糖炒色，小火炖一小时。
花|月季长了蚜虫，用什么药？用肥皂水喷月季的叶子背面，蚜虫很快就没了。
菜|没有冰糖可以用白糖做红烧肉吗？可以，白糖炒色要小火，五花肉颜色会浅一点。
码|数据库查询很慢，索引该怎么建？先看执行计划，在过滤条件的列上建索引。
码|联合索引的顺序有什么讲究？数据库联合索引把区分度高的列放在前面。
旅|国庆去西安旅游三天怎么安排？第一天兵马俑，第二天城墙和博物馆，第三天华山。
车|快充会不会伤电池？新能源汽车偶尔快充没关系，长期快充电池衰减会快一些。
旅|西安的兵马俑要提前预约门票吗？要，国庆期间兵马俑门票提前七天预约。
税|申报个人所得税时填错了可以更正吗？可以，在截止之前更正申报即可。
码|建了索引以后写入变慢了。数据库每次写入都要更新索引，删掉用不到的索引。
菜|红烧肉炖好以后怎么收汁？开大火收汁，不停翻动五花肉，汁浓就关火。
旅|从西安到华山怎么走？坐高铁到华山北站，半小时，再坐旅游公交。
花|冬天月季要搬进屋里吗？不用，月季耐寒，阳台上挡一下风就可以。
";

fn units(talk: &str) -> (Vec<Unit>, Vec<&str>) {
    let lines = talk.lines().filter_map(|line| line.split_once('|'));
    lines.map(|(subject, text)| (Unit { text: text.into(), speaker: None, at: At(0) }, subject)).unzip()
}

/// Sorts a talk and counts the units that are not where most of their subject is, or share a topic with more of
/// another.
fn misplaced(talk: &str) -> (usize, usize) {
    let (units, subjects) = units(talk);
    let topics = partition(&units, &[]);
    let mut together: HashMap<(usize, &str), usize> = HashMap::new();
    for (choice, &subject) in topics.iter().zip(&subjects) {
        let Choice::Fresh(topic) = *choice else { panic!("nothing is known") };
        *together.entry((topic, subject)).or_default() += 1;
    }
    let mut pairs: Vec<_> = together.into_iter().collect();
    pairs.sort_by_key(|&(pair, count)| (std::cmp::Reverse(count), pair));
    let (mut used, mut named, mut right) = (Vec::new(), Vec::new(), 0);
    for ((topic, subject), count) in pairs {
        if !used.contains(&topic) && !named.contains(&subject) {
            used.push(topic);
            named.push(subject);
            right += count;
        }
    }
    (units.len() - right, units.len())
}

#[test]
fn twelve_subjects_that_alternate_are_told_apart() {
    let (wrong, all) = misplaced(ENGLISH);
    assert!(wrong <= 2, "{wrong} of {all} are misplaced");
}

#[test]
fn in_chinese_too() {
    let (wrong, all) = misplaced(CHINESE);
    assert!(wrong <= 2, "{wrong} of {all} are misplaced");
}

fn lines(texts: &[&str]) -> Vec<Unit> {
    texts.iter().map(|text| Unit { text: (*text).into(), speaker: None, at: At(0) }).collect()
}

#[test]
fn a_known_topic_is_found_again() {
    let known = |text: &str| Known { text: text.into(), last: At(0) };
    let known = [
        known("Sourdough bread: starter, rye flour, baking in a cast-iron pot"),
        known("Harbour sensor: salinity probe, calibration, corroded connector"),
    ];
    let units = lines(&[
        "The salinity probe shows nonsense after calibration. Look at the connector for salt.",
        "How long does the rye starter rest before baking? Twelve hours in a warm place.",
        "Which visa do I need for Japan? None for ninety days as a tourist in Japan.",
    ]);
    assert_eq!(partition(&units, &known), [Choice::Known(1), Choice::Known(0), Choice::Fresh(0)]);
}

#[test]
fn what_says_nothing_of_its_own_goes_with_the_one_before() {
    let units = lines(&[
        "How do I descale the coffee machine? Run a mix of vinegar and water through the coffee machine.",
        "Which train goes to Vienna on Sunday? The night train to Vienna leaves at ten on Sunday.",
        "Yes, and then?",
        "ok",
    ]);
    let topics = partition(&units, &[]);
    assert_eq!(topics, [0, 1, 1, 1].map(Choice::Fresh));
}

#[test]
fn one_line_each_is_cut_where_an_exchange_is_over() {
    let units = lines(&[
        "Do you have a cello for a child of seven?",
        "A quarter size would fit. Is it to rent or to buy?",
        "To rent, for a year.",
        "It is set aside under your name. Is there anything else?",
        "Hello, which ferry takes bicycles?",
        "The one at noon. How many of you are there?",
        "Three, and a dog.",
        "Then you have four places, enjoy your crossing.",
        "Thanks a lot!",
    ]);
    assert_eq!(partition(&units, &[]), [0, 0, 0, 0, 1, 1, 1, 1, 1].map(Choice::Fresh));
}

#[test]
fn a_greeting_is_a_word_of_its_own() {
    assert!(phrases::greets("hi, is anyone there?") && phrases::greets("您好，请问"));
    assert!(!phrases::greets("high tide is at noon") && !phrases::greets("she said hello"));
}

#[test]
fn an_answer_may_ask_back() {
    assert!(phrases::begins_asking("which size? a small one.") && phrases::begins_asking("多大？小的。"));
    assert!(!phrases::begins_asking("a small one. to rent?") && !phrases::begins_asking(""));
}

fn said(minute: i64, speaker: Option<&str>, text: &str) -> Unit {
    Unit { text: text.into(), speaker: speaker.map(Into::into), at: At(minute * 60_000_000) }
}

#[test]
fn among_several_it_matters_who_speaks_to_whom() {
    let talk = [
        said(0, Some("mira"), "does anyone know how to sharpen a chisel?"),
        said(0, Some("otto"), "which bus goes to the stadium tonight?"),
        said(0, None, "lena has come in"),
        said(1, Some("lena"), "mira: on a whetstone, bevel down"),
        said(1, Some("paul"), "otto: the 42, from the station"),
        said(2, Some("mira"), "lena: thanks, how fine a grit?"),
        said(2, Some("otto"), "paul: great"),
        said(2, Some("lena"), "mira: 1000, then 6000"),
    ];
    let topics = partition(&talk, &[]);
    assert_eq!(topics, [0, 1, 2, 0, 1, 0, 1, 0].map(Choice::Fresh));
}

#[test]
fn names_without_spaces_are_understood() {
    let talk = [
        said(0, Some("小明"), "有人知道怎么磨凿子吗？"),
        said(0, Some("小红"), "今晚去体育馆坐几路车？"),
        said(1, Some("阿强"), "小明：用磨刀石，斜面朝下"),
        said(1, Some("丽娜"), "小红：四十二路，在车站上车"),
        said(2, Some("小明"), "阿强：谢谢，用多细的？"),
    ];
    let topics = partition(&talk, &[]);
    assert_eq!(topics, [0, 1, 0, 1, 0].map(Choice::Fresh));
}

#[test]
fn nothing_to_sort_and_nothing_to_read() {
    assert_eq!(partition(&[], &[]), []);
    assert_eq!(partition(&lines(&["", "", "…"]), &[]).len(), 3);
}

#[test]
fn new_topics_are_numbered_in_their_order_and_the_same_every_time() {
    let (units, _) = units(ENGLISH);
    let topics = partition(&units, &[]);
    let mut next = 0;
    for choice in &topics {
        let Choice::Fresh(topic) = *choice else { panic!("nothing is known") };
        assert!(topic <= next);
        next = next.max(topic + 1);
    }
    assert_eq!(partition(&units, &[]), topics);
}

/// What is said later changes nothing, whoever speaks.
#[test]
fn sorted_as_they_come_units_depend_on_none_that_follow() {
    for every in [1, 2, 3, 100] {
        let (mut units, _) = units(ENGLISH);
        for (i, unit) in units.iter_mut().enumerate().filter(|(i, _)| i / 4 % every == 0) {
            unit.speaker = Some(["ann", "bob"][i % 2].to_owned());
        }
        let all = partition_online(&units);
        for upto in 0..units.len() {
            assert_eq!(partition_online(&units[..upto]), all[..upto], "{upto}");
        }
        assert!(every < 100 || all.contains(&Choice::Fresh(5)), "{all:?}");
    }
}
