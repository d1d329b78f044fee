//! The wording of rules, and of what only sounds like them. `{lead}`, `{verb}` and `{noun}` stand for the lists at the
//! end.

/// So clear that nothing else in the sentence matters.
pub(super) const EXPLICIT: &[&str] = &[
    "can/could/would/will you [please] [also/just] always/never/from_now_on/stop",
    "i never [ever] want to/you",
    "you are never/always/only to",
    "rule/rules/policy/convention/preference/preferences . [we/you/i/please] never/always/do_not/no/{verb}",
    "i do not ever want",
    "from now/here/today/this_point/this_moment on/onwards/onward/forward [.] [please/you/always/never/do_not/only/i_want] {verb}",
    "from now/here/today/this_point/this_moment on/onwards/onward/forward [.] [please/you/i_want_you_to/all/every/each/no] do_not/never/always/only/must/should/are_to/replies/answers/more",
    "能不能/可不可以/可以/能否/能/麻烦你/麻烦 [你/请] 以后 [都/就/请/先/每次/不要/别/只/统一/一律]",
    "以后 [你/请/请你/能不能/可不可以/可以] [都/每次/统一/一律] 都/请/不要/别/先/只 … 吗/好吗/?",
];

/// Takes back what was told before. It is kept like a rule: a window that showed the rule alone would have it hold.
pub(super) const TAKEN_BACK: &[&str] = &[
    ". {lead} {lead} forget/ignore/disregard/scrap/drop/never_mind [about] that/what/when/everything/all i [have/had] [just/once/ever/previously/earlier/originally] said/told_you/asked/asked_you/wrote [before/earlier/yesterday] about/never/always/not/to/only/do_not/you_must/you_should",
    ". {lead} {lead} forget/ignore/disregard/scrap/drop/cancel/revoke/lift [about] my/that [earlier/old/older/previous/last/first/other/own] rule/rules/instruction/instructions/restriction/restrictions/preference/preferences",
    ". {lead} {lead} forget/ignore/disregard/scrap/drop/cancel/revoke/lift [about] the/that [earlier/old/older/previous/last/first/other] rule/rules/instruction/instructions/restriction/restrictions about/to/i/that_i/on/against",
    ". {lead} {lead} you no longer have/need to {verb}",
    ". {lead} {lead} you do not have/need to … anymore/any_more/any_longer",
    ". {lead} {lead} no need to … anymore/any_more/any_longer",
    "you can/may [now/also/just/please] stop doing/using/saying/adding/apologizing/apologising/calling/writing/asking/giving/repeating/starting/ending/including/summarizing/summarising/explaining/mentioning/translating/quoting/always",
    "you can/may/are_free_to/are_allowed_to [now] use/mention/include/call/answer/reply/speak/write/say/suggest/recommend … again .",
    "is/are allowed/permitted again .",
    "rule/rules/instruction/instructions/restriction/restrictions … no longer hold/holds/apply/applies/count/counts/stand/stands",
    // 收回。
    ". [请/请你/那/那就/就/好/麻烦] 忘了/忘掉/忘记/忽略/无视/别管/不用管/不必管/别理/不用理 [掉] [我] [之前/以前/先前/刚才/前面/上次/昨天] [我] 说/说过/讲/讲过/要求/要求过/定 的",
    ". [请/请你/那/那就/就/好/麻烦] 取消/作废/撤销/收回/废除 [掉/了] [我/我的/之前/之前的/以前/以前的/前面的/刚才的/那条/这条/那个/这个/上面的] 规则/规定/要求/限制",
    "以后 [你/都/就/也/可以/你可以] 不用/不必/无需/不需要/可以不",
    "不用/不必/无需/不需要 [再] 每次/总是/一直/老是/一律",
    "可以 重新/再次 用/使用/加/写/说/提/叫",
];

/// Says by itself that it holds from now on.
pub(super) const STANDING: &[&str] = &[
    // Never, always.
    ". {lead} {lead} never/always/do_not_ever",
    "and/but/or/so/please/also/then/to never/always/only {verb}",
    "should/must/shall/has_to/have_to/need_to/needs_to/ought_to/are_to/is_to [all/also/each] always/never/only_ever/at_all_times",
    "remember/forget/want_you/like_you/need_you/expect_you/try to always/never/only/not/stop",
    "i/we want/need/expect you not/never to",
    "you will/are/may/shall/can [not] never/always/only",
    "you are not allowed/permitted/to",
    "you may not",
    ". in/for/when/if/on/with/before/after/during/at/inside/while/where/unless … never/always {verb}",
    ". {lead} {lead} only ever",
    "should/must/may/can/to/please/and/but only ever",
    // From now on.
    "from now/here/today/this_point/this_moment on/onwards/onward/forward",
    ". going/moving forward",
    "henceforth",
    ". {lead} in [the] future [.] [please/always/never] do_not/{verb}",
    "for the rest/remainder of this/our/the conversation/chat/session/project/thread",
    "until/unless i [explicitly/specifically/clearly/ever/have] say/tell/ask/request/instruct/write/want/confirm/approve/approved/asked/told/said",
    "without asking me/first",
    "under no/any circumstances/circumstance",
    "at all times",
    "no/without exceptions/exception",
    "in/with/for all/every/any/each [of] [your/my/future/the/single] {noun} [.] [please/always/never] do_not/{verb}",
    // Remember.
    ". {lead} remember .",
    ". {lead} remember/note that",
    ". {lead} keep/bear in mind",
    ". {lead} do not forget that",
    // Every time.
    ". {lead} whenever/every_time/each_time/any_time … . [please/then/always/first/just] do_not/never/always/{verb}",
    "every/each/all [of] [single/new/your/my/future/the/our] {noun} … must/should/shall/needs_to/need_to/has_to/have_to",
    ". {lead} every/each/all [of] [single/new/your/my/future/the/our] {noun} [are/is/go/goes/get/gets/end/ends/begin/begins/start/starts] in/with/at_most/under/to/without",
    ". {lead} before/after/with/in/for/at_the_end_of/at_the_start_of/at_the_beginning_of every/each [single/new/your] {noun} [.] [please/always/first] {verb}",
    // 从现在起。
    "从 现在/今天/此/今/今往后/这一刻/这里 起/开始/以后/往后/之后",
    ". [请/那/那么/好/嗯] 今后/往后/此后/从此",
    "以后 [你/请你/回答/回复/写代码/的回答/的回复/的代码/每次/再/也/我们] [时/的时候] 都/请/一律/不要/别/不许/不准/必须/只/全部/统一/务必/要/禁止/叫我/不能",
    ". [请/那/那么/好/你] 以后 … 都/先/请/不要/别/必须/一律/只",
    "从下 … 起/开始",
    // 永远、总是。
    "永远/永久 [都] 把/先/以/优先/假设/不要/别/不许/不准/不能/用/使用/保持/只/要/记住/不可/不得",
    "请/要/应/应该/应当/需/需要/得/必须/都 总是/始终/永远/一直",
    ". {lead} 总是/始终 用/使用/保持/以/按/把/先/要/回/给/在/写/遵/附/检查/确认/使",
    "千万 要/不/别/记/注意/得/勿",
    "绝对/绝/决/万万 不/别/禁止 [要/能/可/允许/许/得/准] 用/写/加/改/删/提/说/使/出/碰/在/把/让/泄/透/发/提/动/直/对/给/推/引/允/可/能/要/允/超",
    "务必/切勿/请勿/严禁/切忌/切记",
    "一律",
    "统一 把/用/使用/采用/为/写/叫/按/以/改/放/成/称",
    "无论如何/不管怎样/别再/不要再/不许再/不准再/不得再/别老/不要老/不要总/别总",
    "除非我/没有我的/未经我/不经我",
    "无论/不管 … 都 不要/要/别/必须/不能/用/得/请/不许/不准/不得/应",
    "每次/每个/每段/每条/每一个/每一次/每篇/每行/每句/所有/全部/任何/一切/凡是/凡 … 都要/都必须/都用/都应/都需/都请/都得/都不要/都不能/都不得/都写/都加/都给/必须/一律/不要/不得/不准/不许/要用/都先",
    "每次/每个/每段/每条/每篇/每行/每句/每封 回复/回答/答复/回应/消息/邮件/函数/文件/清单/段落/提交/标题 … 最多/至多/至少/只能/不能/不超过",
    ". {lead} {lead} 记住/记着/牢记/谨记 .",
    ". {lead} {lead} 记住/记着/牢记/谨记 我/这/你/每/不/要/所/永/以/别/只/在/必",
];

/// An order that holds from now on, unless something says that it is for now.
pub(super) const ORDERS: &[&str] = &[
    ". {lead} {lead} do not",
    ". in/for/when/if/on/with/before/after/during/at/inside/while/where/unless … do_not/only {verb}",
    "must",
    ". {lead} {lead} make/be sure",
    ". {lead} {lead} ensure/avoid/prefer/refrain_from",
    ". {lead} {lead} only {verb}",
    ". {lead} {lead} see to it that",
    ". {lead} {lead} use/write/say/call/spell/choose/pick/indent/format/name/speak/answer/reply … not/instead_of/rather_than/never",
    ". {lead} {lead} use/write/say/call/spell/choose/pick/indent/format/name/speak/answer/reply … . [and/but] not/never/do_not",
    ". {lead} {lead} use/write/say/call/spell/choose/pick … . please . not",
    ". {lead} {lead} {verb} … every/each [single/new] {noun}",
    "you have_to/need_to … all/every/each/any {noun}",
    ". {lead} when/whenever [you/you_are] write/writing/translate/translating/answer/answering/reply/replying/code/coding/edit/editing/refactoring/summarize/summarizing/summarising/quote/quoting/review/reviewing/explain/explaining/recommend/recommending/suggest/suggesting/generate/generating/naming/test/testing/commit/committing/debugging … . [please/always] do_not/{verb}",
    ". {lead} {lead} keep/limit/restrict/format … your/all {noun}",
    ". {lead} {lead} ask/tell/warn/consult/notify/check_with me before/first/whenever/when/if",
    ". {lead} {lead} stop doing/using/saying/adding/apologizing/apologising/calling/writing/asking/giving/repeating/starting/ending/suggesting/telling/making/putting/being/including/summarizing/summarising/explaining/praising/thanking/guessing/inventing/changing/rewriting/mentioning/assuming/hedging/lecturing/translating/quoting/showing/sending/running/committing/creating/removing/deleting",
    "i do not want you_to/any",
    "i do not want to see/hear/read",
    "i would/had prefer/like/rather [it/that/if] you [to] never/always/not/only/did_not/do_not",
    ". {lead} no [more] … please",
    ". {lead} no [more] … in your/any/my/the {noun}",
    ". {lead} no more than … per/in/for [each/every/a/an/your/any] {noun}",
    "should/are_to … only .",
    // 不要。
    ". {lead} {lead} 不要/别/不准/不许/不得/不可/禁止/勿",
    "中/里/内/时/候/上/面/下 禁止/不得/不准/不许/不可/严格禁止",
    ". … 不要/别/不得/不准/不许/请不 用/写/加/改/删/提/说/使/出/超/太/有/动/碰/修/输/放/包/给/把/在/让/自/随/直/轻/推/引/添/解/翻/问/重/省/猜/编/做/发/带/称/叫/透/泄/列/建/要/带/漏",
    "必须",
    ". … 时/时候 [.] [也/都/一定] 请 [用/先/只/把/使/给/写/加/附/列/按/以/保/不/尽]",
    ". {lead} {lead} 一定 要/不要/不能/别/得/不可",
    "只能/只准/只许/只可/只可以 [使] 用/写/回/说/在/读/给/改/选/推",
    ". {lead} {lead} 只 用/使用/写/说/回答/给/推荐/读/改/输出/列",
    "优先 用/使用/考虑/选/采用/推荐/写/给",
    ". {lead} {lead} 用/使用/写/叫/说/采用 … 不要/别/而不是/不准/而非/不用",
    ". {lead} {lead} 用/使用/写/叫/说/采用 … . [而/也/但] 不要/别/而不是/不准/而非/不是/不用",
    ". {lead} {lead} 确保/避免/尽量不/尽量别",
    "请/请你/你要/务必 … 确保",
];

/// Says that an order is for now.
pub(super) const NOW: &[&str] = &[
    "for/right/just now",
    "now .",
    ". now",
    "yet .",
    "this/just_this time/once",
    "just once",
    "today/tonight/tomorrow/this_morning/this_afternoon/this_evening/this_week",
    "at/for the moment/time_being",
    "this/these/that/the_current/the_above/the_following [last/first/one/new] list/lists/test/tests/draft/paragraph/answer/reply/message/email/turn/step/run/commit/function/poem/story/essay/question/sentence/letter/exercise/bug/error/task/ticket/text/snippet/example/line/recipe/pr/change/script/table/chart/picture/image/slide/version/chapter/quiz/one",
    "this .",
    "here .",
    "until/before monday/tuesday/wednesday/thursday/friday/saturday/sunday/noon/tonight/tomorrow",
    "这次/这一次/这回/本次/今天/今晚/明天/现在/目前/暂时/暂且/待会/等会/一会/等我/马上/这个列表/这段/这条/这篇/这首/这个测试/这个函数/这句",
    "先 不/别",
];

/// What has the same words and tells nobody what to do.
pub(super) const ORDINARY: &[&str] = &[
    ". never/always .",
    ". never again .",
    "never mind/heard/been/had/seen/knew/thought/said/got/went/was/a/really/once/did/liked/wanted/tried/used/worked/saw/met/gonna/too/have_i/have_we/finished/happened/fails/ends/finishes/works",
    ". {lead} always a/the/been/had/thought/wanted/loved/liked/hated/knew/was/said/happy/good/nice/glad/there/wondered/something/worked/fails/works/welcome",
    "as/like/than/nearly/almost/not always",
    "i/we/they/he/she/it/you/who/that/which/people/users/everyone/nobody/one [have/had/has/will/would/can/could/do/did/am/is/are/was/were/just/also] never/always/only_ever",
    "is/was/were/are/has/had/been only ever",
    "from now/here/today on/onwards [.] i/he/she/they/it will/am/is/are/shall/have/can",
    "says/said/states/claims/told/telling/saying/wrote/writes/reads … never/always/must/do_not/make_sure",
    "says/said/told/saying/told_me/told_us/told_him/told_her/motto_is/called/titled . never/always/do_not/must",
    "why/whether/how … must/should/never/always",
    "story/poem/song/novel/essay/movie/book/play/character/hero/article/joke/scene … must/never/always/do_not",
    "i/he/she/users/people/students/players/visitors/employees/customers/members must",
    "that/which/who [also] must",
    "user/customer/client/tenant/employee/patient/driver/applicant/buyer/seller/student/visitor/player/clients/tenants/patients/drivers/applicants/buyers/sellers must",
    "must be broken/wrong/missing/lost/stuck/dead/down/full/empty/stale/out_of/due_to/related/because/something/a/an/the/some/near/nearly/close",
    "should/must/could/would never/always/not have",
    "asked/asks/told/tells/wants/wanted/begged me/him/her/us/them/people [not] to [always/never]",
    "i/he/she/we/they want/wants/wanted/need/needs/try/tried/hope/hopes to always/never/only",
    "docs/documentation/manual/book/guide/article/experts/they/some/people/everyone say/claim/recommend … never/always/must/do_not",
    "never say never",
    "never to a/an/the",
    "never the",
    "never in my/his/her/our/all/history",
    "they/we/you/users/somebody/someone must have",
    "must have been/had/felt/taken/come/gone",
    "never give/gives/gave up",
    "it/this/that/there/they must [also/really] be/have",
    "you must be joking/kidding/tired/mistaken/wrong/crazy/mad/right/new/hungry/busy/proud/thinking/confused/confusing/the/a/an/so/very/out_of/looking/able/really",
    "you must know/admit/think/see/have/understand",
    "we must go/leave/hurry/talk/meet/be/admit",
    "must see/have .",
    "a/an [absolute] must",
    "do not worry/mind/bother/panic/hesitate/get_me/you/know/care/think/be_afraid/be_shy/let_me/be_silly/be_sorry/disturb/fear/stress/feel_bad/laugh/cry/i/we/they/seem/work/understand/see_why/remember/recall/have",
    "do not forget the/to/my/your/about/a",
    "remember that time/day/one",
    "remember when",
    "no more questions/time/money/problems/issues/excuses",
    // 不要紧。
    "不要/别/不用 问我/看他/看她/看它/看这/看我/说是/紧/担心/着急/急/客气/害怕/怕/误会/生气/介意/脸/忘/的/人/墅/名/扭/闹/走/逗/开玩笑/处/致/样/慌/难过/灰心/放弃",
    "特别/分别/区别/级别/性别/类别/个别/识别/告别/差别/辨别/要不要/别提了",
    "我/他/她/它/我们/他们/她们/它们/人们/大家/用户/妈妈/爸爸/老师/朋友/孩子 [也/都/就/真的/从来/今天/明天/现在/又/还/说/其实] 不要/别/必须/总是/永远/始终/一直/一定要/一定/务必/每次/以后",
    "必须 的 .",
    "不/不是/非/是否/是不是/为什么/为何/凭什么/何时/什么时候/怎么 [就/一定/都] 必须/一定",
    "为什么/为何/是否/是不是/怎么 … 必须/总是/永远/不要/禁止/一律/统一/记住",
    ". 如何 … 必须/总是/永远/不要/禁止/一律/统一/记住",
    "他/她/老师/医生/妈妈/爸爸/老板/书上/手册/说明书/大家 [总/总是/常/都/也/常常] 说/讲/写着 … 必须/不要/永远/总是/千万/一定/别",
    "他/她/他们/她们 要求/让/叫/规定/希望 … 必须/不要/永远/总是/千万/一定/别/都要/每次都要",
    "故事/小说/主角/诗/歌/电影/剧本/角色 … 必须/不要/永远/总是/千万/一定/别",
    "以后 再说/再聊/再看/想/会/可能",
    "永远 有/不会/是/在/爱",
    "记住 了/密码/登录",
];

/// Words that may come before an order.
pub(super) const LEADS: &str = "[please/pls/plz/and/but/so/also/or/then/ok/okay/just/again/important/plus/finally/kindly/remember/rule/yes/well/btw/oh/the_rule_is/my_rule_is/\
     请/请你/也/并/并且/但/但是/而且/另外/还有/同时/你/您/要/你要/也请/都/那/记住/注意/麻烦/务必/给我/平时/好的/好/还/还要/回答/回复/代码/回答时/回复时]";

/// What models are usually told to do.
pub(super) const VERBS: &str = "use/write/answer/reply/respond/call/address/speak/keep/ask/check/run/put/give/show/include/add/avoid/format/end/begin/start/\
     treat/assume/leave/stick/stop/refer/quote/cite/translate/explain/be/do/let/make/say/tell/talk/sign/name/sort/round/convert/return/list/mark/test/commit/\
     save/wait/confirm/prefix/wrap/spell/limit/skip/follow/present/provide/suggest/recommend/propose/consider/print/indent/push/merge/delete/remove/touch/change/\
     modify/edit/mention/share/send/email/deploy/install/import/log/store/read/open/create/guess/invent/repeat/apologize/apologise/summarize/summarise/finish/\
     prefer/state/note/double/verify/update/document/comment/greet/rebase/force/rewrite/rename/hard/trust/ignore/mix/expose/propose/praise/offer/order/book/buy";

/// What rules are often about.
pub(super) const NOUNS: &str = "reply/replies/answer/answers/response/responses/message/messages/commit/commits/change/changes/function/functions/file/files/\
     test/tests/code/claim/claims/email/emails/step/steps/summary/summaries/table/tables/paragraph/paragraphs/sentence/sentences/list/lists/section/sections/\
     question/questions/variable/variables/name/names/query/queries/pull_request/pull_requests/pr/prs/date/dates/amount/amounts/price/prices/time/times/number/\
     numbers/output/outputs/recipe/recipes/suggestion/suggestions/translation/translations/post/posts/module/modules/class/classes/method/methods/branch/\
     branches/release/releases/deploy/deployment/session/report/reports/document/documents/endpoint/endpoints/comment/comments/turn/turns";
