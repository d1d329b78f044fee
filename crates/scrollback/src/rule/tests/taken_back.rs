//! Sentences that take a rule back, and sentences that only sound so, in English and Chinese.

/// What takes a rule back.
pub(super) const TAKEN_BACK: &[&str] = &[
    "Forget that I said never use emojis.",
    "Please forget what I said about always using tabs.",
    "Never mind what I said about lists.",
    "Ignore what I told you earlier about the tone.",
    "Ignore my earlier rule about tables.",
    "Scrap the rule about British spelling.",
    "Drop that restriction on emojis.",
    "You no longer need to use metric units.",
    "You don't have to answer in German anymore.",
    "No need to cite sources any more.",
    "You can stop always adding a summary.",
    "You can stop calling me Captain.",
    "You can use emojis again.",
    "Emojis are allowed again.",
    "The rule about tabs no longer applies.",
    "忘了我说的永远不要用表情。",
    "别管我之前说的那条。",
    "请忽略刚才我要求的格式。",
    "取消之前的规则。",
    "取消之前的規則。",
    "以后不用再总是加总结了。",
    "你可以不用每次都列清单。",
    "可以重新用表情了。",
];

/// What sounds so and takes nothing back.
pub(super) const KEPT_TO: &[&str] = &[
    "Did you forget what I said about tabs?",
    "You forgot what I said about tabs.",
    "Forget it.",
    "Forget the milk, we have some.",
    "Never mind.",
    "Ignore the warnings.",
    "Drop the firewall rule for port 22.",
    "Remove the rule from the stylesheet.",
    "You don't have to answer right away.",
    "Can you use the other file again?",
    "The server is up again.",
    "I no longer need to renew it.",
    "你忘了我说的话。",
    "取消订单要多少钱？",
    "不用了，谢谢。",
    "以后不用加班了吗？",
    "不用查了。",
];
