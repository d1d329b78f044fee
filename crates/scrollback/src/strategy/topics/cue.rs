//! The amnesia cue: does a person imply that something was forgotten, or ask for the past?
//!
//! Cues are phrases in a small language of their own (`phrase`), in English and Chinese, and more from the settings.
//! Ordinary uses of the same words ("before I forget") are crossed out first. Only the person's own words count: code,
//! quotations and quoted lines are not looked at.

use std::sync::LazyLock;

use crate::phrase::{Phrases, words};

/// What implies that something was forgotten, or that it was said before.
const FORGETTING: &[&str] = &[
    // You forgot.
    "you [have/had/must_have/seem_to_have/may_have/might_have] [already/just/clearly/obviously/totally/completely/simply/really/probably/also/again/even] forgot/forgotten",
    "did/have/had/are/were [not] you [not] [just/already/really/also/completely/simply] forget/forgot/forgotten/forgetting",
    "you keep/are/were forgetting",
    "you always/often/constantly forget",
    "how could/can/did you [possibly/just] forget",
    "do/did [not] you [not] [still/even/actually/by_any_chance/at_all] remember/recall",
    "can not you [still/even/at_all] remember/recall",
    "can you [still/even/not] recall",
    "you [really/still/clearly/apparently] do/did/can not [even/seem_to/really/actually] remember/recall",
    "you no longer remember/recall",
    "you should/ought_to [still/already] remember/recall/know [about] this/what/my/our/from/it/where/which",
    "you already know [about] this/that/my/what/which/how/why/where/who",
    "you [have] lost track/context/the_context/the_thread",
    "have you lost",
    "lost your memory",
    "memory of a goldfish",
    // Do you remember …
    "remember when/how/where/what/which/that_time [it_was] i/we/you",
    "remember when … ?",
    ". remember the/our/my/that … ?",
    "remember the … i/we/you told/said/mentioned/discussed/agreed/talked/decided/sent/gave/found/had/made/wrote/chose/picked/used",
    "remember me saying/telling/mentioning/asking",
    "ring/rings a/any bell",
    // I told you.
    "i [have/had] [already/just/clearly/explicitly/specifically/literally/definitely/repeatedly/previously/also] told/reminded you",
    "i [have] [already/just/clearly/explicitly/specifically/literally/definitely/previously/also] mentioned",
    "i/we [have/had] already/previously/repeatedly said/explained/told/covered/answered/specified/stated/described/discussed/decided/agreed/settled/talked/established",
    "i/we [have/had] already gave/given/shared/sent/showed/shown/provided [it/this/that/them/these/those] [to/with] you",
    "i/we [have] said/explained/specified/stated/described/asked … before/earlier/already/previously/yesterday .",
    "i/we [have] said/explained/specified/stated/described/asked … earlier/last_week/last_month/last_time/last_night/the_other_day/days_ago/weeks_ago",
    "i/we/you said/told/mentioned/wrote/gave … a while/moment ago",
    "i keep/kept telling/reminding/repeating",
    "how/so many times … tell/told/say/said/repeat/explain/ask",
    "do i [really] have/need to … repeat/explain/tell/say … again",
    "have not i [already] told/said/mentioned/explained",
    "did not i/we [already/just] tell/say/mention/explain/agree/discuss/talk/decide",
    "as/like i/we [have/had] [already/just/also] said/told/mentioned/explained/described/noted/wrote/stated/discussed/agreed/talked/asked",
    "as/like you [have] [already/just] said/told/mentioned/explained/suggested/recommended/noted",
    "as [i/we] mentioned/discussed/agreed/explained/stated/noted before/earlier/previously",
    "you [already/just] told me",
    "you said/told/mentioned/suggested/recommended/promised … before/earlier/previously/already/yesterday .",
    "you said/told/mentioned/suggested/recommended/promised … earlier/previously/the_other_day",
    "you said/told/mentioned/suggested/recommended … last week/month/time/night/year",
    "earlier/previously/before/yesterday i/we/you [have/had/already] said/told/mentioned/discussed/agreed/talked/suggested/explained/decided",
    "what i/we/you [have/had] [just/already] told/said … before/earlier/previously/yesterday/last",
    // We talked about it.
    "we [have/had] [already/just/previously/both/literally/also] discussed/talked_about/spoke_about/spoken_about/chatted_about/went_over/gone_over/been_over/been_through/agreed_on/agreed_that/settled_on/settled_that",
    "the … we [had/have] agreed/decided/settled/talked/discussed/spoke",
    "did/have we [not] [already/ever] discuss/talk/agree/decide/go_over/discussed/talked/agreed/decided/gone_over",
    "what/where/which/when … did i/we/you say/tell/mention/discuss/agree/talk/decide/leave_off/call/settle",
    "what was … i/we/you told/said/mentioned/called/gave/chose/discussed/agreed",
    "last time i/we/you",
    "our/your last/previous/earlier/prior/past/other conversation/chat/session/discussion/talk/exchange",
    "i thought i/we/you [had/have] [already] told/said/agreed/decided/discussed/mentioned/settled/explained/covered/established",
    "what we [had/have] [already/originally] agreed/decided/discussed/settled",
    "we [have/had] [already] went_through/gone_through/covered/been_through/settled this/that/it",
    "the/that … i gave/sent/showed/told you",
    "i [have] [already] gave/given/sent/showed/shown you … already/before/earlier/yesterday/this_morning/last_week",
    "time [that] i am/have/had [already/now] telling/asking/told/asked/saying/said/explaining/explained/repeating",
    "were not we … ?",
    "you [have] [already] asked [me] this/that/it already/before",
    "you [have] already asked",
    "i [have] [already] answered this/that/it",
    "what is/was my/our/the/your … again .",
    "one/ones/version/thing from before .",
    "back when i/we",
    "you never remember/listen",
    "same/as/like as/the/on/it_was last time .",
    // 你忘了。
    "你/您/你们 [是不是/不会/该不会/难道/怎么/怎么又/又/都/已经/真的/真/全/全都/居然/竟然/肯定/好像/似乎/是] 忘/给忘",
    "[是不是/怎么/难道/居然/竟然/怎么又] 忘/忘记 了 吗/么/呢/?",
    "你/您 [怎么/是不是/难道/居然/竟然/都/又/好像/真的/真/已经/完全] 不/没 [太] 记得/有印象/想起来",
    "你 [是/又] 失忆",
    "失忆 了 [吗/吧]",
    "怎么/难道/居然/竟然 [你/就/都/又/你都/你就] 不记得",
    "不记得 了 吗/么/?",
    "记不记得/记不得/记不记",
    "还 记得/记着 … 吗/么/嘛/不/没/?",
    "你/您 [应该/总该/肯定/一定/可] 还 [能/会] 记得",
    "你/您 [应该/肯定] 记得 … 吗/么/嘛/不/没/?",
    "有 [没有] 印象 … 吗/么/?",
    "你/您 [的] 记性/记忆力 [真/太/也/怎么/这么/好/不/可真] 差/坏/不好/好/太/这么",
    "来着",
    "记得 我/我们/咱们 … 吗/么/嘛/不/?",
    // 我说过。
    "我/我们/咱们 [都/也/已经/早/早就/刚/刚刚/前面/明明] 说过/讲过/提过/告诉过你",
    ". [我] 都 说/讲 了",
    "不是 [都/已经/就/刚/刚刚/早就] 说/讲/聊/讨论 过/了",
    "你/您 [之前/上次/刚才/刚刚] 不是 说/讲/提/建议/答应",
    "你/您 [之前/以前/上次/明明] 答应/承诺/保证 过/了",
    "跟/和/对 你/您 说/讲/提 过",
    "上次/之前/以前/先前/早先 那个/那份/那段/那条/那些/那次/那张/那种/那家",
    "我/我们/咱/咱们 [不是/早就/早/都/也/真的/明明] … 之前/以前/先前/刚才/刚刚/早就/已经/上次/昨天/前面/前几天/早先/曾经/不是/明明 … 说过/讲过/提过/提到/说的/讲的/提的/聊过/聊到/聊的/讨论过/讨论的/谈过/谈到/谈的/告诉过/告诉你/告诉您/跟你说/和你说/交代/强调过/约定/商量过/解释过/发过你/给过你/发给过你/问过你",
    "之前/以前/先前/刚才/刚刚/前面/早先/前几天/昨天/上周/上个月 [我/我们/咱们/你/就/也/都/不是/我就/我们就/已经/不是已经] [跟你/和你/对你/给你/跟您/一起] 说过/讲过/提过/提到/说的/讲的/提的/说到/聊过/聊到/聊的/讨论过/讨论的/讨论到/谈过/谈到/谈的/告诉过/交代过/强调过",
    "不是/早就/都/已经/明明 [早就/已经/都] 跟/和/对/给/同/向 你/您 [早就/已经/都] 说/讲/提/聊/交代/解释/强调 过/了/好",
    "我 [早就/已经/都] 跟/和/对/给/同 你/您 [早就/已经] 说过/讲过/提过/交代过/强调过/解释过",
    "我 [早就/已经/都/明明/之前] 告诉 过/了 你/您",
    "不是/早就/已经/明明 告诉 过/了 你/您",
    "说/讲/强调 过/了 [好/很] 多少/好多/很多/多/几/无数/n/两/三 次/遍/回",
    "你/您 [自己] 之前/上次/昨天/刚才/以前/先前 … 说/讲/提/建议/推荐/答应/承诺",
    "上次/上一次/上一回/前一次/那次 [我/我们/咱们/你/我跟你/我和你/跟你/和你/我不是] [一起/不是/就] 说/讨论/聊/提到/提过/提的/讲/谈/问你/问过你/约定/商量/决定/定下/告诉",
    "上次/上一次/前一次 … 的 讨论/对话/聊天/谈话/约定",
    "上回",
    "像/如/就像/正如 我/我们 [之前/上次/刚才/前面/已经] 说/讲/提",
    "我们/咱们 [之前/上次/已经/早就/不是/不是已经/都] 聊过/讨论过/谈过/说过/商量过/说好/约好/定好/约定过",
];

/// What has the same words and implies nothing.
const ORDINARY: &[&str] = &[
    "before/until/so/lest/unless/once/whenever/while i/you/we/they/one [ever] forget/forgot",
    "if/in_case/when/whenever/unless/where/that/what_happens_if/even_if you [ever/have/had/ever_have/just/do/did_not/do_not/can_not/happen_to_have] forget/forgot/forgotten/remember/recall",
    "[please] remember to",
    "how/why do/did/can you [even/actually] remember/recall",
    "says/saying/said [that/to/me] you [have] forgot/forgotten",
    "他/她/他们/她们/谁/老板/同事/客户/老师 [有没有/没有/也/都] 跟/和/对 你/您 说/讲/提",
    "what if i told you",
    "if i [had] [ever] told/mentioned",
    "i mentioned/told [it/this/that/you] to/at my/him/her/them/our/the/his/their/a",
    "i have not/never told/mentioned",
    "i never told/mentioned/said",
    "we talked_about/discussed [it/this/that] with/at/over my/the/our/their/her/his/a",
    "everything/anything/all you forgot/forget",
    "如果/要是/万一/假如/假设/倘若/以防/一旦/每当/当 你/您/我 … 忘",
    "我/他/她/他们/她们/它/大家/用户/人们 [都/也/已经/现在] 还 记得",
    "我/他/她/他们/她们/用户 [也/都/已经/真的/实在/有点] 不 [太] 记得",
    "没/没有/从未/从没/不曾/未曾 [跟你/和你/对你/跟/和] 说过/讲过/提过/提到/告诉/聊过/讨论过/谈过",
    "when was/is the last time",
    "让/使/叫 你/您/我/人 忘",
    "跟/和/对/给/同/向 老板/他/她/他们/她们/客户/同事/朋友/妈妈/爸爸/家人/团队/经理/老师/医生/领导/用户/大家 … 说/讲/提/聊/谈/讨论/告诉/商量/约定/解释",
    "不要/别/勿/请勿/千万别 忘",
];

/// What asks for things said long ago, so that archived topics are looked at too.
const PAST: &[&str] = &[
    "find/show/search/look/dig/pull/bring/get/retrieve/locate/recall/remind/check/list/summarize/summarise/tell/read … what/when/where/how/why/which i/we/you [had/have] [once/originally] discussed/talked/said/wrote/decided/agreed/mentioned/did/chatted/spoke/settled/covered",
    "find/show/search/look/dig/pull/bring/get/retrieve/locate/recall/remind/check/list/summarize/summarise/tell/read … i/we/you/our … last_week/last_month/last_year/last_spring/last_summer/last_autumn/last_fall/last_winter/last_time/yesterday/ago/long_ago",
    "look/search/check/dig/go/rummage/browse/find … in/into/through/from/up the/our/your/my archive/archives/archived",
    "search/check/browse/open/query/scan our/your/the/my archive/archives .",
    "search/check/browse/open/query/scan our/your/my archive/archives",
    "search/find/check/browse/show/list/open/read … archived topic/topics/conversation/conversations/chat/chats/discussion/discussions",
    "our/my old/older/past/previous/earlier/archived/prior conversation/conversations/chat/chats/discussion/discussions/session/sessions/talks/messages/history/exchanges",
    "search/look/check/go/dig/find … our/my chat/conversation/message history",
    "what/when/where/which/how/why … did i/we/you … last_week/last_month/last_year/last_spring/last_summer/last_autumn/last_fall/last_winter/yesterday/ago",
    "what/when/where/which/how/why … did i/we/you [first/originally] discuss/say/talk/decide/agree/mention … in/on/back_in/around january/february/march/april/may/june/july/august/september/october/november/december/spring/summer/autumn/winter/#",
    "i/we [had/have] discussed/talked/spoke/agreed/decided/chatted … last_week/last_month/last_year/last_spring/last_summer/last_autumn/last_fall/last_winter/yesterday/ago/back_in",
    "go back to/through our/what_we/the_conversation/the_discussion",
    "找/搜/查/翻/调/回忆/回顾/看看/看一下/列/总结/想想/想一下 … 上个月/上月/上周/上星期/上礼拜/去年/前年/昨天/前天/大前天/上次/之前/以前/先前/当时/那次/那天/前几天/前阵子/很久/年前/月前/周前/天前/年初/月初/#月 … 讨论/聊/谈/商量/说过/说的/提到/提过/提的/讲过/讲的/约定/对话/聊天记录/话题/结论",
    "上个月/上月/上周/上星期/上礼拜/去年/前年/昨天/前天/前几天/前阵子/很久以前/个月前/年前/周前/天前 [我/我们/咱们/你] [一起/不是] 讨论/聊/谈/商量",
    "找/搜/查/翻/看/调/去 … 归档/存档 [里/中] [的] 话题/对话/讨论/聊天/找/搜/看/翻",
    "找/搜/查/翻/看 [找/索/一下/一翻/下/看/一看/看看] [我们的/你的/咱们的] 归档/存档 .",
    "在/从 [我们的/你的/咱们的] 归档/存档 里/中/里面",
    "我们/咱们/之前/以前/过去/从前/早先/旧 的 [旧/老/历史/聊天] 对话/聊天/记录/聊天记录/会话/讨论/谈话/历史对话",
    "旧/老/归档 [的] 对话/会话/聊天记录/话题",
];

/// The phrases that every engine listens for; read once, when they are first needed.
static BUILT_IN: LazyLock<BuiltIn> = LazyLock::new(|| BuiltIn {
    forgetting: Phrases::read(FORGETTING),
    ordinary: Phrases::read(ORDINARY),
    past: Phrases::read(PAST),
});

struct BuiltIn {
    forgetting: Phrases,
    ordinary: Phrases,
    past: Phrases,
}

/// The phrases that are listened for: the built-in ones and these.
#[derive(Clone, Debug, Default)]
pub struct Cues {
    forgetting: Phrases,
    ordinary: Phrases,
}

impl Cues {
    /// The built-in phrases and some more; one that begins with `-` is an ordinary use, which implies nothing.
    pub fn new(extra: &[String]) -> Self {
        let extra = extra.iter().map(|phrase| phrase.trim());
        let (ordinary, forgetting): (Vec<&str>, Vec<&str>) = extra.partition(|phrase| phrase.starts_with('-'));
        let ordinary = ordinary.into_iter().map(|phrase| &phrase[1..]);
        Self { forgetting: Phrases::read(forgetting), ordinary: Phrases::read(ordinary) }
    }

    /// Whether a person's words imply that something they said was forgotten.
    pub fn implies_forgetting(&self, text: &str) -> bool {
        let words = self.heard(text);
        BUILT_IN.forgetting.are_in(&words) || self.forgetting.are_in(&words)
    }

    /// Whether a person asks for what was said long ago.
    pub fn asks_for_past(&self, text: &str) -> bool {
        BUILT_IN.past.are_in(&self.heard(text))
    }

    /// What a person says, without what implies nothing.
    fn heard(&self, text: &str) -> Vec<String> {
        let mut words = words(text);
        for phrases in [&BUILT_IN.ordinary, &self.ordinary] {
            phrases.cross_out(&mut words, ".");
        }
        words
    }
}

#[cfg(test)]
mod tests;
