"""What users of the `anthropic` library for Python meet; whatever can be is compared with the library talking straight to the model."""

import functools
import json
import re

import anthropic

from both import DOOR, FACT, PROXY, SESSION, UPSTREAM, arrived, body, count, equal, failure, headers, holds, log, no_trace, once, prose, raws, same
from kit import between, case, log_at_rest, run
import kit

MARK = {"type": "ephemeral"}
SYSTEMS = {
    "text": "You keep the harbour's books.",
    "blocks": [{"type": "text", "text": "You keep the harbour's books."}, {"type": "text", "text": "Be brief.", "cache_control": MARK}],
}
THINKING = {"type": "enabled", "budget_tokens": 1024}


def tool(name, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": f"the {name}", "input_schema": schema}


TOOLS = [tool("weather", "city"), tool("tide", "port")]


@functools.cache
def library(url):
    return anthropic.Anthropic(base_url=url, max_retries=0, timeout=30, api_key=kit.KEY)


def open(url, name):
    return library(url).with_options(default_headers={SESSION: name})


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


class Said:
    """A reply, as the library gives it."""

    def __init__(self, message, events=()):
        self.message, self.events = message, list(events)
        self.calls = [block for block in message.content if block.type == "tool_use"]
        self.text = "".join(block.text for block in message.content if block.type == "text")
        self.echo = assistant(message.content)

    def told(self):
        return {"message": self.message.to_dict(), "events": self.events}


def say(client, messages, stream=False, model="claude-mock", **options):
    given = {"model": model, "max_tokens": 300, "messages": messages} | options
    if not stream:
        return Said(client.messages.create(**given))
    events = []
    with client.messages.stream(**given) as stream:
        try:
            for event in stream:
                events.append(event.to_dict())
        except Exception as error:
            error.so_far = events
            raise
        return Said(stream.get_final_message(), events)


def turns(client, *texts, **options):
    """A conversation, one user message after the other."""
    messages, told = [], []
    for text in texts:
        messages.append(user(text))
        reply = say(client, messages, **options)
        messages.append(reply.echo)
        told.append(reply.told())
    return told


def loop(client, script, **options):
    """Answers calls until there are none."""
    messages, replies = [user(script)], []
    while True:
        reply = say(client, messages, tools=TOOLS, **options)
        messages.append(reply.echo)
        replies.append(reply)
        if not reply.calls:
            return replies
        given = [(call.id, f"{call.name} of {json.dumps(call.input, ensure_ascii=False)}: ü 4 °C") for call in reply.calls]
        messages.append(user([{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in given]))


def kept(name, request, last):
    """The log holds the instructions, the messages of the last request byte for byte, and the reply as the model gave it, each once."""
    if not PROXY:
        return
    sent, wanted = body(request), raws(request["body"], "messages")
    system = sent.get("system") or []
    heads = 1 if isinstance(system, str) else len(system)
    in_log = log(name, size=heads + len(wanted) + 1)
    equal(f"{name}: instructions first", [json.loads(raw)["role"] for raw in in_log[:heads]], ["system"] * heads)
    for raw, other in zip(in_log[heads:], wanted):
        same_role, is_reply = json.loads(raw)["role"] == json.loads(other)["role"], json.loads(raw)["role"] == "assistant"
        holds(f"{name}: a message", same_role and (is_reply or raw == other), (raw, other))
    replies = [json.loads(raw)["content"] for raw in in_log[heads:] if json.loads(raw)["role"] == "assistant"]
    equal(f"{name}: the replies", replies, [m["content"] for m in sent["messages"] if m["role"] == "assistant"] + [last["message"]["content"]])
    once(name, heads + len(wanted) + 1)


# ── talk


@case
def turns_are_the_same(name):
    for stream in (False, True):
        for kind, system in SYSTEMS.items():
            session = f"{name}-turns-{kind}-{stream}"
            texts = [f"{session}\n@say Good morning, Åse. 潮位 is 3.4 m 🌊", "@say second", "@think let me see\n@say third", "@stop max_tokens\n@say cut"]
            got, last = same(open, session, lambda client: turns(client, *texts, stream=stream, system=system))
            equal("the text", got[0]["message"]["content"][0]["text"], "Good morning, Åse. 潮位 is 3.4 m 🌊")
            equal("why it ended", got[3]["message"]["stop_reason"], "max_tokens")
            kept(session, last, got[-1])


@case
def raw_events_are_the_same(name):
    def script(client):
        with client.messages.create(model="claude-mock", max_tokens=300, stream=True, messages=[user(f"{name} raw\n@think hm\n@say one two three")]) as stream:
            return [event.to_dict() for event in stream]

    got, _ = same(open, f"{name}-raw", script)
    kinds = [event["type"] for event in got]
    equal("one beginning, one end", (kinds.count("message_start"), kinds.count("message_delta"), kinds[-1]), (1, 1, "message_stop"))


@case
def both_key_headers_arrive(name):
    ways = {"key": {"api_key": "sk-one"}, "token": {"auth_token": "tok-two"}, "header": {"default_headers": {"x-api-key": "sk-three"}}}
    told = []
    for url in (UPSTREAM, DOOR):
        for way, options in ways.items():
            mark = count()
            turns(anthropic.Anthropic(base_url=url, max_retries=0, **options), f"{name} {way}\n@say fine")
            came = headers(arrived(mark)[0])
            told.append((came.get("x-api-key"), came.get("authorization")))
    equal("the keys", told[3:], told[:3])
    equal("in both headers", told[1:3], [(None, "Bearer tok-two"), ("sk-three", None)])


@case
def four_cache_marks_stay_four(name):
    def script(client):
        system = [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
        tools = [TOOLS[0], TOOLS[1] | {"cache_control": MARK}]
        marked = lambda text: user([{"type": "text", "text": text, "cache_control": MARK}])
        return [say(client, [marked(f"{name} marks"), assistant("noted"), marked("@say four")], system=system, tools=tools).told()]

    same(open, f"{name}-marks", script)


# ── tools


@case
def tools_in_two_rounds(name):
    for stream in (False, True):
        session = f"{name}-tools-{stream}"
        script = f"{session}\n@think which?\n@say I look\n@call weather {{\"city\":\"Tromsø\"}}\n@call tide {{\"port\":\"Oban\"}}\n@then\n@think and\n@call tide {{\"port\":\"Leith\"}}"
        got, last = same(open, session, lambda client: [reply.told() for reply in loop(client, script, stream=stream, thinking=THINKING, system=SYSTEMS["blocks"])])
        blocks = [[block["type"] for block in told["message"]["content"]] for told in got]
        equal("blocks", blocks, [["thinking", "text", "tool_use", "tool_use"], ["thinking", "tool_use"], ["text"]])
        sent = [message for message in body(last)["messages"] if message["role"] == "assistant"]
        equal("reasoning comes back with its signature", [message["content"][0] for message in sent], [told["message"]["content"][0] for told in got[:2]])
        kept(session, last, got[-1])


@between
def mixed_calls_are_parted_and_joined_again(name):
    for stream in (False, True):
        session, mark = f"{name}-mixed-{stream}", count()
        script = f"{session}\n@think hm\n@say I look\n@search lighthouse\n@call weather {{\"city\":\"Oslo\"}}\n@recall_page 0\n@call tide {{\"port\":\"Oban\"}}"
        first, last = loop(open(DOOR, session), script, stream=stream, thinking=THINKING)
        equal("the client sees its calls", [(call.name, call.input) for call in first.calls], [("weather", {"city": "Oslo"}), ("tide", {"port": "Oban"})])
        equal("and the rest", ([block.type for block in first.message.content], first.message.stop_reason), (["thinking", "text", "tool_use", "tool_use"], "tool_use"))
        no_trace(first.told())
        starts = [event["index"] for event in first.events if event["type"] == "content_block_start"]
        equal("indices", starts, [0, 1, 2, 3] if stream else [])
        requests = arrived(mark)
        equal("rounds", len(requests), 2)
        turn = body(requests[1])["messages"]
        names = [block["name"] for block in turn[1]["content"] if block["type"] == "tool_use"]
        equal("the model gets its turn back whole", names, ["search_history", "weather", "recall_page", "tide"])
        results = {block["tool_use_id"]: block["content"] for block in turn[2]["content"] if block["type"] == "tool_result"}
        equal("with all results", set(results), {block["id"] for block in turn[1]["content"] if block["type"] == "tool_use"})
        for call in first.calls:
            holds("a result of the client", results[call.id].startswith(f"{call.name} of"), results)
        equal("the log has what the client saw", [json.loads(raw)["role"] for raw in log(session, size=4)], ["user", "assistant", "user", "assistant"])
        equal("the answer", json.loads(log(session)[-1])["content"][0]["text"], last.text)
        once(session, 4)


@between
def a_client_may_have_a_tool_of_the_same_name(name):
    mark = count()
    reply = say(open(DOOR, f"{name}-own"), [user("@call search_history {\"words\":\"mine\"}")], tools=[tool("search_history", "words")])
    equal("the client's own call", [(call.name, call.input) for call in reply.calls], [("search_history", {"words": "mine"})])
    equal("rounds", len(arrived(mark)), 1)


# ── recall


def long_history(mark):
    """Twice as much as the model takes, with a fact at the beginning."""
    messages = []
    for i in range(20):
        fact = FACT if i == 1 else ""
        messages += [user(f"{mark} turn {i}. {fact} {prose(560, i)}"), assistant(f"noted {i}")]
    return messages


def contents_entry(request, words):
    """The number of the page whose entry in the contents page tells these words."""
    told = json.dumps(body(request)["messages"], ensure_ascii=False).replace("\\n", "\n")
    entries = re.findall(r"\[#(\d+)\]([^\n]*(?:\n(?!\[#)[^\n]*)*)", told)
    number = next((number for number, entry in entries if words in entry), None)
    holds("the contents page lists the page", number, told)
    return number


@between
def a_long_conversation_folds_and_recall_is_invisible(name):
    for stream in (False, True):
        session, mark = f"{name}-recall-{stream}", count()
        client, options = open(DOOR, session), {"stream": stream, "system": SYSTEMS["blocks"], "tools": TOOLS}
        messages = [*long_history(session), user("@say One moment.\n@search crate 17 Kestrel")]
        messages[-3]["content"] = [{"type": "text", "text": messages[-3]["content"], "cache_control": MARK}]
        reply = say(client, messages, **options)
        requests = arrived(mark)
        equal("rounds", len(requests), 2)
        seen(reply, requests, stream)
        holds("the sentence comes back word for word", FACT in reply.text, reply.text)
        number = contents_entry(requests[0], "turn 9.")
        messages += [reply.echo, user(f"{session}\n@think which page?\n@recall_page {number}\n@then\n@think this\n@quote turn 9.")]
        mark = count()
        page = say(client, messages, thinking=THINKING, **options)
        equal("rounds", len(arrived(mark)), 2)
        holds("the page comes back word for word", f"{session} turn 9.  {prose(560, 9)}" in page.text, page.text)
        messages += [page.echo, user("@say on")]
        equal("the conversation goes on", say(client, messages, thinking=THINKING, **options).text, "on")
        whole(session, messages)


def seen(reply, requests, stream):
    """Nothing of a recall is seen by the client."""
    equal("no call reaches the client", (reply.calls, reply.message.stop_reason), ([], "end_turn"))
    no_trace(reply.told())
    usage = reply.message.usage
    equal("the output of both rounds", usage.output_tokens, 18)
    holds("the input of the last round or more", 0 < usage.input_tokens < 24_000, usage)
    if stream:
        kinds = [event["type"] for event in reply.events]
        equal("one message", [kinds.count(kind) for kind in ("message_start", "message_delta", "message_stop")], [1, 1, 1])
        starts = [event["index"] for event in reply.events if event["type"] == "content_block_start"]
        equal("blocks in order", starts, list(range(len(starts))))
    for request in requests:
        sent = body(request)
        equal("instructions stay where they are", sent["system"], SYSTEMS["blocks"])


def whole(session, messages):
    """Every message is in the log, once, in one line."""
    in_log = log(session, size=2 + len(messages) + 1)
    texts = [kit.text_of(json.loads(raw)) for raw in in_log[2:-1]]
    wanted = [kit.text_of(m if isinstance(m["content"], str) else json.loads(json.dumps(m, default=lambda block: block.to_dict()))) for m in messages]
    equal("what was said", texts, wanted)
    once(session, 2 + len(messages) + 1)


@between
def a_conversation_folds_turn_by_turn(name):
    session, client, messages = f"{name}-grows", open(DOOR, f"{name}-grows"), []
    mark = count()
    for i in range(16):
        messages.append(user(f"{session} turn {i}. {prose(560, i)}\n@think about {i}\n@say noted {i}"))
        reply = say(client, messages, stream=i % 2 == 0, system=SYSTEMS["blocks"], thinking=THINKING)
        equal("the reply", reply.text, f"noted {i}")
        messages.append(reply.echo)
    sizes = [len(request["body"]) for request in arrived(mark)]
    holds("what is sent stops growing", max(sizes) < 48_000 and sizes[-1] < sum(len(message["content"]) for message in messages[::2]), sizes)
    equal("kept", len(log(session, size=2 + 32)), 2 + 32)
    once(session, 2 + 32)


# ── counting


@case
def tokens_are_counted(name):
    given = {"model": "claude-mock", "system": "Be brief.", "tools": TOOLS}
    short = [open(url, f"{name}-count").messages.count_tokens(messages=[user("How high?")], **given).to_dict() for url in (UPSTREAM, DOOR)]
    ours = short[1].pop("input_tokens") - short[0].pop("input_tokens")
    equal("what goes on as it came is counted by the model", short[1], short[0])
    holds("with our tools, if there are any", 100 < ours < 1500 if PROXY else ours == 0, ours)
    if PROXY:
        equal("nothing is kept", [one for one in kit.sessions() if one.get("declared") == f"{name}-count"], [])
        messages, client = [*long_history("count"), user("@say ok")], open(DOOR, f"{name}-count-long")
        messages += [say(client, messages, system="Be brief.").echo, user("How high?")]
        long = client.messages.count_tokens(messages=messages, **given)
        holds("what is folded is counted as it would be sent", 1000 < long.input_tokens <= 6000, long)
        once(f"{name}-count-long", 43)


# ── failures


@case
def errors_are_the_models_own(name):
    for status in (400, 401, 403, 404, 413, 429, 500, 529):
        for stream in (False, True):
            told = [failure(lambda: turns(open(url, f"{name}-{status}-{stream}"), f"@error {status}", stream=stream)) for url in (UPSTREAM, DOOR)]
            equal(f"{status}, stream {stream}", told[1], told[0])
    if PROXY:
        equal("the question is kept, no answer is", [json.loads(raw)["role"] for raw in log_at_rest(f"{name}-500-False")], ["user"])


@case
def an_error_in_a_stream_is_raised(name):
    script = f"{name} over\n@overloaded\n@say one two three four five six seven eight nine ten eleven twelve"
    told = [failure(lambda: turns(open(url, f"{name}-over"), script, stream=True)) for url in (UPSTREAM, DOOR)]
    equal("overloaded", told[1], told[0])
    holds("after some text", any(event["type"] == "text" for event in told[1][4]), told[1])
    if PROXY:
        equal("half a reply is not kept", [json.loads(raw)["role"] for raw in log_at_rest(f"{name}-over")], ["user"])
    equal("and on", turns(open(DOOR, f"{name}-over"), f"{name} over\n@say well")[0]["message"]["content"][0]["text"], "well")


@between
def an_error_after_a_recall_is_raised(name):
    for stream in (False, True):
        script = f"{name} {stream}\n@say wait\n@search tide\n@then\n@error 529"
        kind, _, _, told, _ = failure(lambda: turns(open(DOOR, f"{name}-late-{stream}"), script, stream=stream))
        equal("overloaded", (kind, told["error"]["type"]), ("APIStatusError" if stream else "OverloadedError", "overloaded_error"))


@between
def a_message_that_can_never_fit_is_refused(name):
    kind, status, _, told, _ = failure(lambda: turns(open(DOOR, f"{name}-huge"), prose(9000, 1)))
    equal("in the words of the API", (kind, status, told["type"], told["error"]["type"]), ("BadRequestError", 400, "error", "invalid_request_error"))


if __name__ == "__main__":
    import sys

    run([function for function in kit.CASES if len(sys.argv) < 2 or function.__name__ in sys.argv[1:]], "anthropic")
