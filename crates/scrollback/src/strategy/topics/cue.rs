//! The amnesia cue: does a person imply that something was forgotten, or ask for the past?
//!
//! Cues are phrases in a small language of their own (`phrase`), in English and Chinese, and more from the settings.
//! Ordinary uses of the same words ("before I forget") are crossed out first. Only the person's own words count: code,
//! quotations and quoted lines are not looked at.

use crate::phrase::{Phrase, words};

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

/// The phrases that are listened for.
#[derive(Clone, Debug)]
pub struct Cues {
    forgetting: Vec<Phrase>,
    ordinary: Vec<Phrase>,
    past: Vec<Phrase>,
}

impl Default for Cues {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Cues {
    /// The built-in phrases and some more; one that begins with `-` is an ordinary use, which implies nothing.
    pub fn new(extra: &[String]) -> Self {
        let all = |phrases: &[&str]| phrases.iter().filter_map(|phrase| Phrase::read(phrase)).collect::<Vec<_>>();
        let mut cues = Self { forgetting: all(FORGETTING), ordinary: all(ORDINARY), past: all(PAST) };
        for phrase in extra {
            match phrase.trim().strip_prefix('-') {
                Some(ordinary) => cues.ordinary.extend(Phrase::read(ordinary)),
                None => cues.forgetting.extend(Phrase::read(phrase)),
            }
        }
        cues
    }

    /// Whether a person's words imply that something they said was forgotten.
    pub fn implies_forgetting(&self, text: &str) -> bool {
        self.heard(&self.forgetting, text)
    }

    /// Whether a person asks for what was said long ago.
    pub fn asks_for_past(&self, text: &str) -> bool {
        self.heard(&self.past, text)
    }

    fn heard(&self, phrases: &[Phrase], text: &str) -> bool {
        let mut words = words(text);
        self.ordinary.iter().for_each(|phrase| phrase.cross_out(&mut words, "."));
        phrases.iter().any(|phrase| phrase.is_in(&words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORGOT: &[&str] = &[
        "you forgot",
        "You forgot what port we use, didn't you?",
        "I think you've forgotten the name of my dog",
        "Did you forget the schema?",
        "did you already forget that I am vegetarian",
        "Have you forgotten what we are building?",
        "You keep forgetting my time zone",
        "How could you forget that?",
        "You seem to have forgotten the deadline.",
        "I already told you",
        "I’ve told you this a hundred times",
        "I TOLD YOU: no semicolons",
        "ive already told you my name",
        "As I said before, the port is 8443",
        "like I said last week, we use Postgres",
        "As we discussed, the retries stay at five.",
        "we talked about this",
        "We've talked about this already",
        "We’ve been over this",
        "don't you remember",
        "Don’t you remember the incident?",
        "dont you remember",
        "Do you not remember my sister's name?",
        "Do you still remember the recipe?",
        "You don't remember, do you?",
        "Can't you remember anything?",
        "remember when we moved the cache?",
        "Remember when the server crashed?",
        "Remember the bug we found in the parser?",
        "last time we used a queue",
        "The last time we spoke you suggested Kafka",
        "I mentioned a book",
        "It's the framework I mentioned.",
        "what did I say about indentation?",
        "What did we decide on the name?",
        "Where did we leave off?",
        "Which region did we agree on?",
        "what was the name I told you?",
        "You said earlier that it was safe",
        "You told me to use tabs",
        "Didn't I tell you it's a Mac?",
        "Haven't I mentioned the budget?",
        "How many times do I have to repeat this",
        "I thought we agreed to drop that feature",
        "Please use the port we agreed on",
        "In our previous conversation you had a better idea",
        "Earlier we discussed three options, take the second",
        "I keep telling you it is staging",
        "You should remember this.",
        "as mentioned earlier",
        "does the name Marlowe ring a bell",
        "u forgot again",
        "我之前说过",
        "我之前跟你说过端口是8443",
        "这个我之前就说过了呀",
        "我早就告诉过你了",
        "你忘了吗",
        "你忘了吗？",
        "你是不是忘了我的名字",
        "你怎么又忘记了",
        "你都忘光了",
        "難道你忘了嗎",
        "我们上次讨论的",
        "我们上次讨论的那个方案怎么样了",
        "上次我们聊到哪里了",
        "上次说的那个数据库",
        "上回",
        "上回那个问题解决了吗",
        "之前提到",
        "之前提到的索引方案",
        "不是跟你说过",
        "不是跟你说过了吗，用空格缩进",
        "我不是告诉过你吗",
        "还记得我家的狗叫什么吗",
        "还记得上次我们讨论的那个数据库索引方案吗？",
        "還記得我說的那家店嗎",
        "你还记得我的生日吗",
        "你怎么不记得了",
        "你不记得了吗",
        "你记不记得我喜欢什么颜色",
        "我都说过好几遍了",
        "说了多少次了",
        "就像我之前说的那样",
        "你上次建议用哪个库来着",
        "我们说好用蓝色的",
        "你失忆了吗",
        "刚才我们讨论的方案再写一遍",
        "我跟你说过我对花生过敏",
        "I've said this already",
        "Wait, that's not what we agreed",
        "We went through this yesterday",
        "You've lost the plot, I gave you the key this morning",
        "this is the third time I'm telling you",
        "Hmm, weren't we using Redis?",
        "but I explained that already",
        "I just told you my name is Ana",
        "You asked me this already",
        "we covered this",
        "why are you asking again? I answered that",
        "what's my name again?",
        "what was my dog's name again",
        "It was in the list I gave you",
        "the one from before",
        "back when we set up the server",
        "You never remember anything",
        "you've clearly forgotten our rules",
        "I already answered that question",
        "same as last time",
        "我说过了",
        "都说了不要用分号",
        "你又忘啦",
        "刚刚不是说了吗",
        "我前面讲过",
        "咱们聊过的那个",
        "你记性真差",
        "我名字叫什么来着",
        "你不是说要用缓存吗",
        "上次那个方案",
        "之前那个脚本再发一下",
        "你答应过我的",
        "我以前提过我住在杭州",
        "跟你讲过的",
        "老问题，我讲了三遍了",
        "记得我吗",
        "你还记得不",
        "前几天聊的",
    ];

    const NOTHING: &[&str] = &[
        "remember to buy milk",
        "Please remember to run the tests",
        "forget about it",
        "Forget it, let's start over",
        "Could you forget that and write it in Go?",
        "remember that rows are sorted",
        "You must remember that rows are sorted.",
        "Can you remember that I prefer tabs?",
        "Remember: the API key is in the vault",
        "before I forget, here is the log",
        "Before you forget, write it down",
        "I forgot my password",
        "I forgot to attach the file",
        "The user forgot the password",
        "What happens if you forget the semicolon?",
        "In case you forgot your password, press reset",
        "Don't forget the tests",
        "Add a remember me checkbox",
        "Add a \"you forgot your password\" page",
        "The page says “I already told you”, translate it",
        "Rename `you_forgot` to `forgot`",
        "> you forgot\nwho wrote this?",
        "```\nI already told you\n```\nWhat does this print?",
        "```\nyou forgot, and the fence is never closed",
        "The function should remember the last value",
        "How do you remember all these shortcuts?",
        "I told my boss about it",
        "I mentioned it to my boss",
        "I never told anyone",
        "What if I told you the earth is flat",
        "He said it was fine before lunch",
        "She told me a story",
        "The last commit broke the build",
        "When was the last time this file changed?",
        "last time the job ran it took an hour",
        "Show the previous version",
        "Sort by last name",
        "We need an LSTM with a forget gate",
        "What does memory order mean?",
        "What did Einstein say about time?",
        "I already sent the invoice to the client",
        "We talked to the customer",
        "Explain as simply as possible",
        "as noted in the manual",
        "Why did it fail?",
        "记得买牛奶",
        "记得明天提醒我开会",
        "请记得加上测试",
        "记得把表按日期排序",
        "先前的版本",
        "之前的版本有问题吗",
        "上次提交的代码有问题",
        "上次更新之后程序说找不到文件",
        "上次运行失败了",
        "别忘了写测试",
        "不要忘记加分号",
        "你别忘了关门",
        "我忘了密码怎么办",
        "我忘记带钥匙了",
        "如果你忘了密码，点这里",
        "用户忘记密码的流程怎么设计",
        "我还记得小时候的夏天",
        "我不记得了",
        "我从来没说过这句话",
        "我已经跟老板说了",
        "我昨天和客户讨论过这个需求",
        "帮我写一首让人忘记烦恼的诗",
        "记忆力怎么提高",
        "昨天的会议几点开始",
        "之前没有安装过这个软件",
        "以前的人怎么生活",
        "请讨论一下这个方案",
        "遗忘曲线是什么",
        "把“你忘了吗”翻译成英文",
        "I remember the old days",
        "You can forget your umbrella",
        "the model forgets earlier tasks",
        "catastrophic forgetting in neural nets",
        "Tell me what you remember of Roman law",
        "We discussed it with the vendor",
        "I said hello",
        "Say it before dinner",
        "He already told her",
        "Discuss the pros and cons",
        "last week we shipped v2",
        "as usual",
        "I gave the dog a bath",
        "You know what?",
        "what would you say about this poem?",
        "What did you change?",
        "I explained it to my students",
        "In the previous session of parliament",
        "write a story where a man says you forgot me",
        "the meeting we had with Bob",
        "I wrote a letter earlier",
        "You said it!",
        "写一个忘记密码页面",
        "我说的是苹果",
        "他跟你说过什么",
        "这本书之前出版过",
        "我们讨论一下",
        "说一说上海",
        "上次下雨是什么时候",
        "昨天我去了公园",
        "我已经安装了",
        "我刚刚运行了脚本",
        "她忘了带伞",
        "不是这样的",
        "你说得对",
        "提到北京你想到什么",
        "前面的代码删掉",
        "我之前用过Python",
        "你觉得呢",
        "",
    ];

    const PAST_ASKED: &[&str] = &[
        "find what we discussed last month about indexes",
        "Can you find what we said about the logo?",
        "Look in the archive",
        "Please look through the archives for the old tariff",
        "search our old conversations",
        "Search our archive for Lisbon",
        "Check our chat history for the address",
        "What did we decide last year about pricing?",
        "what did I say three weeks ago about the loan",
        "When did we first talk about Kafka in March?",
        "Remind me what we agreed on",
        "Show me the recipe you gave me last summer",
        "Dig up the plan we made two years ago",
        "Go back to our discussion of monads",
        "list archived topics",
        "帮我找一下上个月讨论的",
        "帮我找一下上个月讨论的数据库方案",
        "幫我找一下上個月討論的方案",
        "翻一下去年我们聊的旅行计划",
        "去归档里找找",
        "在归档里搜一下报价",
        "查一下我们以前的聊天记录",
        "看看之前关于定价的讨论",
        "我们三个月前讨论过这个",
        "搜一下旧对话",
    ];

    const PRESENT: &[&str] = &[
        "find the bug in this function",
        "Search the web for rust crates",
        "What did the commit change?",
        "Extract the zip archive",
        "look at this",
        "show me the last row",
        "What did Rome look like long ago?",
        "you forgot",
        "Summarize this article from last year",
        "find all users created last month",
        "How do I search a list?",
        "Archive the folder",
        "list the files",
        "查一下去年的销售额",
        "查一下昨天的提交记录",
        "找一下这个函数的错误",
        "把文件归档",
        "讨论一下这个方案",
        "看看这段代码",
        "上个月的天气怎么样",
    ];

    fn check(heard: impl Fn(&str) -> bool, sentences: &[&str], expected: bool) {
        let wrong: Vec<&&str> = sentences.iter().filter(|text| heard(text) != expected).collect();
        assert!(wrong.is_empty(), "{} of {} wrong: {wrong:#?}", wrong.len(), sentences.len());
    }

    #[test]
    fn who_implies_that_we_forgot_is_heard() {
        let cues = Cues::default();
        check(|text| cues.implies_forgetting(text), FORGOT, true);
    }

    #[test]
    fn ordinary_words_imply_nothing() {
        let cues = Cues::default();
        check(|text| cues.implies_forgetting(text), NOTHING, false);
    }

    #[test]
    fn who_asks_for_the_past_is_heard() {
        let cues = Cues::default();
        check(|text| cues.asks_for_past(text), PAST_ASKED, true);
        check(|text| cues.asks_for_past(text), PRESENT, false);
    }

    #[test]
    fn settings_add_cues_and_exceptions() {
        let cues = Cues::new(&["hast du … vergessen".to_owned(), "-you forgot the/a milk".to_owned(), " ".to_owned()]);
        assert!(cues.implies_forgetting("Hast du das schon wieder vergessen?"));
        assert!(!cues.implies_forgetting("You forgot the milk."));
        assert!(cues.implies_forgetting("You forgot the bread."));
    }

    #[test]
    fn long_texts_are_no_trouble() {
        let text = "the quick brown fox remembers 什么都没有 ".repeat(2_000);
        assert!(!Cues::default().implies_forgetting(&text));
        assert!(Cues::default().implies_forgetting(&(text + ". You forgot!")));
    }
}
