"""What users of a client library meet: `python suite.py openai|litellm|langchain`. Whatever can be is compared with the same
library talking straight to the model."""

import base64
import hashlib
import json
import re
import sys
import threading
import time

from kit import PROXY, UPSTREAM, arrived, between, case, count, equal, holds, kept, log, log_at_rest, own_tools, prose, run, session, slices
import kit
from sdks import SDKS

DOOR = PROXY or UPSTREAM
PIXEL = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 9).decode()


def tool(name, argument):
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": f"the {name}", "parameters": parameters}}


TOOLS = [tool("weather", "city"), tool("tide", "port")]


def pair_of_requests(direct, through):
    """A small conversation reaches the model as the client wrote it; our tools stand after the client's."""
    equal("the messages", slices(through["body"]), slices(direct["body"]))
    wanted, got = json.loads(direct["body"]), json.loads(through["body"])
    tools = got.pop("tools", [])
    client_tools = wanted.pop("tools", [])
    equal("the client's tools", tools[: len(client_tools)], client_tools)
    equal("only our tools are added", [t for t in tools[len(client_tools) :] if t not in own_tools(through)], [])
    equal("the rest of the request", got, wanted)
    header = {name.lower(): value for name, value in through["headers"].items()}
    equal("the client's key", header.get("authorization"), f"Bearer {kit.KEY}")
    if PROXY:
        equal("our headers end with us", [name for name in header if name.startswith("x-scrollback")], [])


def same(sdk, name, script, **options):
    """A script gets the same, and asks the model the same, with and without Scrollback."""
    mark = count()
    without = script(sdk(UPSTREAM, name, **options))
    direct, mark = arrived(mark), count()
    through = script(sdk(DOOR, name, **options))
    equal("what the client gets", [one.essence() for one in through], [one.essence() for one in without])
    equal("what the client is told of its reply's length", [one.usage["completion_tokens"] for one in through], [one.usage["completion_tokens"] for one in without])
    reached = arrived(mark)
    equal("how often the model is asked", len(reached), len(direct))
    for one, other in zip(direct, reached):
        pair_of_requests(one, other)
    kept(name, slices(direct[-1]["body"]), [(one.text, one.calls) for one in through])
    return through


def failure(script):
    """How a script fails, as the client library tells it."""
    try:
        script()
    except Exception as error:
        answer = getattr(error, "response", None)
        headers = {name: answer.headers.get(name) for name in ("retry-after", "x-ratelimit-remaining-requests", "x-request-id")} if answer is not None else {}
        return type(error).__name__, getattr(error, "status_code", None), headers, getattr(error, "body", None)
    raise AssertionError("should have failed")


def turns(client, *texts, stream=False, system=None, **options):
    """A conversation, one user message after the other."""
    messages, replies = ([client.system(system)] if system else []), []
    for text in texts:
        messages.append(client.user(text))
        reply = client.say(messages, stream=stream, **options)
        messages.append(reply.echo)
        replies.append(reply)
    return replies


# ── talk


@case
def one_turn(sdk):
    (reply,) = same(sdk, f"{sdk.name}-one", lambda client: turns(client, "@say Good morning, Åse. 潮位 is 3.4 m 🌊"))
    equal("the text", reply.text, "Good morning, Åse. 潮位 is 3.4 m 🌊")


@case
def several_turns_with_instructions(sdk):
    texts = ["@say first", "@say second\\nline two", "plain words", "@say third"]
    same(sdk, f"{sdk.name}-several", lambda client: turns(client, *texts, system="You are brief."))


@case
def streamed_turns(sdk):
    texts = ["@say one two three four", "@dribble\n@say ünï çødé 潮位 🌊🌊 end", "@think let me see\n@say yes"]
    same(sdk, f"{sdk.name}-streamed", lambda client: turns(client, *texts, stream=True, **usage(sdk)))


def usage(sdk):
    return {} if sdk.name == "langchain" else {"stream_options": {"include_usage": True}}


@case
def streams_have_one_beginning_and_one_end(sdk):
    if sdk.name == "langchain":
        return
    for options in ({}, usage(sdk)):
        (reply,) = turns(sdk(DOOR, f"{sdk.name}-shape-{len(options)}"), "@say one two three\n@call weather {\"city\":\"Oslo\"}", stream=True, tools=TOOLS, **options)
        equal("the ids", len({chunk["id"] for chunk in reply.chunks}), 1)
        choices = [choice for chunk in reply.chunks for choice in chunk.get("choices") or []]
        equal("finish reasons", [choice["finish_reason"] for choice in choices if choice.get("finish_reason")], ["tool_calls"])
        if sdk.name == "openai":
            equal("roles", [choice["delta"]["role"] for choice in choices if (choice["delta"] or {}).get("role")], ["assistant"])
            equal("usage comes if it was asked for", bool(reply.usage), bool(options))
            equal("the last chunk holds only usage", not reply.chunks[-1]["choices"], bool(options))


@case
def unknown_fields_pass_both_ways(sdk):
    if sdk.name == "langchain":
        return
    extra = {"x_unknown": {"a": [1, None, "ü"]}, "prompt_cache_key": f"{sdk.name}-unknown", "metadata": {"k": "v"}}

    def script(client):
        message = {"role": "user", "content": "@say fine\n@think hm", "name": "ada"}
        return [client.say([message], extra_body=extra), client.say([message], stream=True, extra_body=extra, **usage(sdk))]

    mark = count()
    direct = script(sdk(UPSTREAM, f"{sdk.name}-unknown"))
    through = script(sdk(DOOR, f"{sdk.name}-unknown"))
    equal("what the client gets", [one.extra for one in through], [one.extra for one in direct])
    for request in arrived(mark):
        body = json.loads(request["body"])
        equal("fields of the request", {key: body[key] for key in extra}, extra)
        equal("fields of the message", body["messages"][0]["name"], "ada")


@case
def images_arrive_untouched(sdk):
    link = "https://example.org/a%20b.png?x=1&y=é"
    parts = [{"type": "text", "text": "@images"}, {"type": "image_url", "image_url": {"url": PIXEL}}, {"type": "image_url", "image_url": {"url": link, "detail": "low"}}]
    (reply, _) = same(sdk, f"{sdk.name}-images", lambda client: turns(client, parts, "@say and on"))
    digest = [hashlib.sha256(url.encode()).hexdigest()[:16] for url in (PIXEL, link)]
    equal("the images", reply.text, f"images: {' '.join(digest)}")


# ── tools


def tool_loop(client, script, stream):
    """Answers calls until there are none."""
    messages, replies = [client.user(script)], []
    while True:
        reply = client.say(messages, stream=stream, tools=TOOLS, **(usage(client) if stream else {}))
        messages.append(reply.echo)
        replies.append(reply)
        if not reply.calls:
            return replies
        messages += [client.tool(id, f"{name} of {arguments}: ü 4 °C\nfine") for id, name, arguments in reply.calls]


@case
def a_tool_call(sdk):
    for stream in (False, True):
        script = f"one {stream}\n@say I look\n@call weather {{\"city\":\"Tromsø\"}}"
        replies = same(sdk, f"{sdk.name}-tool-{stream}", lambda client: tool_loop(client, script, stream))
        equal("the call", replies[0].calls[0][1:], ("weather", '{"city":"Tromsø"}'))
        equal("the answer", replies[1].text, 'RESULTS\nweather of {"city":"Tromsø"}: ü 4 °C\nfine')


@case
def parallel_tool_calls_in_two_rounds(sdk):
    for stream in (False, True):
        script = f"par {stream}\n" + "\n".join(f"@call weather {{\"city\":\"{city}\"}}" for city in ("Oslo", "Turku", "Riga")) + "\n@then\n@call tide {\"port\":\"Oban\"}"
        replies = same(sdk, f"{sdk.name}-parallel-{stream}", lambda client: tool_loop(client, script, stream))
        equal("calls", [len(reply.calls) for reply in replies], [3, 1, 0])


@between
def mixed_calls_are_parted_and_joined_again(sdk):
    for stream in (False, True):
        name = f"{sdk.name}-mixed-{stream}"
        client, mark = sdk(DOOR, name), count()
        script = f"mixed {stream}\n@say I look\n@search lighthouse\n@call weather {{\"city\":\"Oslo\"}}\n@recall_page 0\n@call tide {{\"port\":\"Oban\"}}"
        first, last = tool_loop(client, script, stream)
        equal("the client sees its calls", [call[1:] for call in first.calls], [("weather", '{"city":"Oslo"}'), ("tide", '{"port":"Oban"}')])
        equal("and why it ended", (first.text, first.finish), ("I look", "tool_calls"))
        if stream and sdk.name == "openai":
            deltas = [choice["delta"] for chunk in first.chunks for choice in chunk["choices"]]
            equal("indices", sorted({call["index"] for delta in deltas for call in delta.get("tool_calls") or []}), [0, 1])
            no_trace(first.chunks)
        requests = arrived(mark)
        equal("rounds", len(requests), 2)
        turn = [json.loads(raw) for raw in slices(requests[1]["body"])]
        assistant = next(message for message in turn if message["role"] == "assistant")
        names = [call["function"]["name"] for call in assistant["tool_calls"]]
        equal("the model gets its turn back whole", names, ["search_history", "weather", "recall_page", "tide"])
        results = {message["tool_call_id"]: message["content"] for message in turn if message["role"] == "tool"}
        equal("with all results", set(results), {call["id"] for call in assistant["tool_calls"]})
        for id, tool_name, arguments in first.calls:
            equal("a result of the client", results[id], f"{tool_name} of {arguments}: ü 4 °C\nfine")
        roles = [kit.said(raw)[0] for raw in log(name, size=5)]
        equal("the log has what the client saw", roles, ["user", "assistant", "tool", "tool", "assistant"])
        equal("the answer", kit.said(log(name)[-1])[1], last.text)


def no_trace(chunks):
    """Nothing of ours in what a client gets."""
    told = json.dumps(chunks)
    equal("traces of ours", [name for name in OWN_TRACES if name in told], [])


OWN_TRACES = ("recall_page", "load_tool_history", "search_history", "scrollback")


@between
def a_client_may_have_a_tool_of_the_same_name(sdk):
    client, mark = sdk(DOOR, f"{sdk.name}-collision"), count()
    tools = [tool("search_history", "words"), *TOOLS]
    reply = client.say([client.user("@call search_history {\"words\":\"mine\"}")], tools=tools)
    equal("the client's own call", [call[1:] for call in reply.calls], [("search_history", '{"words":"mine"}')])
    equal("rounds", len(arrived(mark)), 1)


# ── recall

FACT = "The code of crate 17 is Kestrel-4921, and Ingrid signed for it at dusk."


def long_history(client, mark):
    """Twice as much as the model takes, with a fact at the beginning."""
    messages = []
    for i in range(10):
        fact = FACT if i == 1 else ""
        messages += [client.user(f"{mark} turn {i}. {fact} {prose(900, i)}"), assistant(client, f"noted {i}")]
    return messages


def assistant(client, text):
    if client.name != "langchain":
        return {"role": "assistant", "content": text}
    from langchain_core.messages import AIMessage

    return AIMessage(text)


def contents_entry(request, words):
    """The number of the page whose entry in the contents page begins like this."""
    told = "\n".join(kit.text_of(json.loads(raw)) for raw in slices(request["body"]))
    entries = re.findall(r"\[#(\d+)\]([^\n]*(?:\n(?!\[#)[^\n]*)*)", told)
    return next((number for number, entry in entries if words in entry), None), told


@between
def recall_is_invisible(sdk):
    for stream in (False, True):
        name = f"{sdk.name}-recall-{stream}"
        client, mark = sdk(DOOR, name, model="mock-8k"), count()
        messages = long_history(client, name)
        asked = [*messages, client.user("@say One moment.\n@search crate 17 Kestrel")]
        reply = client.say(asked, stream=stream, **(usage(sdk) if stream else {}))
        requests = arrived(mark)
        equal("rounds", len(requests), 2)
        holds("the sentence comes back word for word", FACT in reply.text, reply.text)
        equal("no call reaches the client", (reply.calls, reply.finish), ([], "stop"))
        if stream and sdk.name == "openai":
            equal("one stream", len({chunk["id"] for chunk in reply.chunks}), 1)
            choices = [choice for chunk in reply.chunks for choice in chunk["choices"]]
            equal("one end", [choice["finish_reason"] for choice in choices if choice["finish_reason"]], ["stop"])
            equal("one role", len([1 for choice in choices if choice["delta"].get("role")]), 1)
        number, told = contents_entry(requests[0], "turn 1.")
        holds("the contents page lists the page", number, told)
        page = client.say([*asked, reply.echo, client.user(f"@recall_page {number}")], stream=stream, **(usage(sdk) if stream else {}))
        holds("the page comes back word for word", f"{name} turn 1. {FACT} {prose(900, 1)}" in page.text, page.text)
        in_log = [kit.said(raw)[:2] for raw in log(name, size=24)]
        equal("the log has what was said", [role for role, _ in in_log], ["user", "assistant"] * 12)
        equal("and the replies", (in_log[21][1], in_log[23][1]), (reply.text, page.text))
        found = session(name)
        equal("once", (found["messages"], len(found["branches"])), (24, 1))


@between
def recall_ends(sdk):
    mark = count()
    reply = sdk(DOOR, f"{sdk.name}-loop").say([{"role": "user", "content": "@again lighthouse"}] if sdk.name != "langchain" else [("user", "@again lighthouse")])
    rounds = len(arrived(mark))
    holds("a model that only recalls is stopped", 2 <= rounds <= 6, rounds)
    equal("with an answer", (bool(reply.text), reply.calls, reply.finish), (True, [], "stop"))


@between
def tool_choice_is_kept(sdk):
    client = sdk(DOOR, f"{sdk.name}-choice")
    for choice in ("none", {"type": "function", "function": {"name": "tide"}}):
        mark = count()
        client.say([client.user(f"@say {choice if choice == 'none' else 'named'}")], tools=TOOLS, tool_choice=choice)
        equal("tool_choice", json.loads(arrived(mark)[0]["body"])["tool_choice"], choice)


# ── failures


@case
def errors_are_the_models_own(sdk):
    for status in (400, 401, 404, 429, 500, 503):
        for stream in (False, True):
            told = [failure(lambda: turns(sdk(url, f"{sdk.name}-error-{status}-{stream}"), f"@error {status}", stream=stream)) for url in (UPSTREAM, DOOR)]
            equal(f"{status}, stream {stream}", told[1], told[0])
    if PROXY:
        equal("the question is kept, no answer is", [kit.said(raw)[0] for raw in log_at_rest(f"{sdk.name}-error-500-False")], ["user"])


@case
def after_an_error_the_same_request_succeeds_once(sdk):
    def script(client):
        failure(lambda: client.say([client.user("@then\n@say never"), client.user("@error 503")]))
        return turns(client, "@say well")

    name = f"{sdk.name}-again"
    for url in (UPSTREAM, DOOR):
        script(sdk(url, name))
    if PROXY:
        holds("the answer is kept", "well" in [kit.said(raw)[1] for raw in log(name, size=2)])


@case
def nonsense_is_passed_on(sdk):
    for stream, directive in ((False, "garbage"), (True, "garbage"), (True, "midfail"), (False, "cut"), (True, "cut")):
        outcomes = []
        for url in (UPSTREAM, DOOR):
            client, got, ended = sdk(url, f"{sdk.name}-{directive}-{stream}"), [], "ended"
            try:
                if stream:
                    for chunk in client.open([client.user(f"@{directive}\n@say one two three four five six")]):
                        got.append(chunk_text(chunk))
                else:
                    got.append(client.say([client.user(f"@{directive}\n@say one two three")]).text)
            except Exception as error:
                ended = type(error).__name__
            outcomes.append((ended, "".join(got)))
        if (directive, stream) == ("cut", False):
            # A body that ends too early is told as what it is, a bad gateway, and so can be tried again.
            holds("half a reply is an error", "ended" not in (outcomes[0][0], outcomes[1][0]), outcomes)
        else:
            equal(f"{directive}, stream {stream}", outcomes[1], outcomes[0])
        if PROXY and directive != "garbage":
            equal("half a reply is not kept", [kit.said(raw)[0] for raw in log_at_rest(f"{sdk.name}-{directive}-{stream}")], ["user"])


def chunk_text(chunk):
    if hasattr(chunk, "choices"):
        return "".join(choice.delta.content or "" for choice in chunk.choices)
    return chunk.text


@case
def a_client_that_goes_away_takes_the_model_with_it(sdk):
    name, mark = f"{sdk.name}-abort", count()
    client = sdk(DOOR, name)
    question = client.user("@slow\n@say " + "word " * 300)
    stream = client.open([question])
    for _, chunk in zip(range(5), stream):
        chunk_text(chunk)
    hang_up(stream)
    until("the model's connection is dropped", lambda: arrived(mark)[0]["state"] == "dropped")
    if PROXY:
        equal("nothing of the reply is kept", [kit.said(raw)[0] for raw in log_at_rest(name)], ["user"])
    reply = client.say([question, client.user("@say still here")])
    equal("the conversation goes on", reply.text, "still here")
    if PROXY:
        equal("in the log too", [kit.said(raw)[0] for raw in log(name, size=3)], ["user", "user", "assistant"])


def hang_up(stream):
    close = getattr(stream, "close", None)
    if close:
        close()
    inner = getattr(stream, "completion_stream", None)  # litellm wraps the stream of the openai library
    if inner is not None:
        inner.close()


def until(what, true, seconds=8):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")


@case
def a_client_that_loses_patience_can_ask_again(sdk):
    name = f"{sdk.name}-patience"
    told = [failure(lambda: sdk(url, name, timeout=1).say([sdk(url).user("@timeout")]))[:2] for url in (UPSTREAM, DOOR)]
    equal("the timeout", told[1], told[0])
    equal("the next turn", sdk(DOOR, name).say([sdk(DOOR).user("@timeout"), sdk(DOOR).user("@say now")]).text, "now")


# ── branches


@between
def regenerating_gives_siblings(sdk):
    name = f"{sdk.name}-regenerate"
    client = sdk(DOOR, name)
    history = [client.user("@say hello"), client.say([client.user("@say hello")]).echo, client.user("@random")]
    first, second = client.say(history), client.say(history)
    holds("two replies", first.text != second.text)
    found = session(name, size=5)
    equal("five messages, two branches", (found["messages"], len(found["branches"])), (5, 2))
    ends = sorted(kit.said(log(name, "--branch", str(branch["id"]))[-1])[1] for branch in found["branches"])
    equal("each ends in its reply", ends, sorted([first.text, second.text]))


@between
def editing_makes_a_branch(sdk):
    name = f"{sdk.name}-edit"
    client = sdk(DOOR, name)
    first = client.say([client.user("@say one")])
    second = client.say([client.user("@say one"), first.echo, client.user("@say two")])
    client.say([client.user("@say one"), first.echo, client.user("@say two"), second.echo, client.user("@say three")])
    client.say([client.user("@say one"), first.echo, client.user("@say zwei")])
    texts = sorted([kit.said(raw)[1] for raw in log(name, "--branch", str(branch["id"]))] for branch in session(name, size=8)["branches"])
    wanted = [["@say one", "one", "@say two", "two", "@say three", "three"], ["@say one", "one", "@say zwei", "zwei"]]
    equal("both paths", texts, sorted(wanted))


@case
def two_agents_under_one_id_do_not_cross(sdk):
    name, mark, failed = f"{sdk.name}-agents", count(), []

    def agent(who):
        try:
            client = sdk(DOOR, name)
            replies = turns(client, *[f"{who} turn {i}\n@slow\n@say {who} says {i}" for i in range(5)], system=f"You are {who}.", stream=True)
            equal(who, [reply.text for reply in replies], [f"{who} says {i}" for i in range(5)])
        except Exception as error:
            failed.append(error)

    agents = [threading.Thread(target=agent, args=(who,)) for who in ("alpha", "beta")]
    for thread in agents:
        thread.start()
    for thread in agents:
        thread.join()
    if failed:
        raise failed[0]
    for request in arrived(mark):
        told = "".join(slices(request["body"]))
        holds("a request of one agent names only it", ("alpha" in told) != ("beta" in told), told)
    if PROXY:
        paths = [[kit.said(raw)[1] for raw in log(name, "--branch", str(branch["id"]))] for branch in session(name, size=22)["branches"]]
        for who in ("alpha", "beta"):
            said = [text for i in range(5) for text in (f"{who} turn {i}\n@slow\n@say {who} says {i}", f"{who} says {i}")]
            holds(f"a branch holds what {who} said", any(path[-10:] == said for path in paths), paths)


@between
def without_an_id_the_words_decide(sdk):
    texts = [f"{sdk.name} has no id here\n@say fine", "@say and on"]
    turns(sdk(DOOR), *texts)
    turns(sdk(DOOR), f"{sdk.name} is another\n@say fine")
    time.sleep(0.5)
    found = [log(one["id"]) for one in kit.sessions() if not one.get("declared")]
    mine = [[kit.said(raw)[1] for raw in path] for path in found if f"{sdk.name} has no id" in path[0]]
    equal("one session", mine, [[texts[0], "fine", texts[1], "and on"]])


if __name__ == "__main__":
    chosen = SDKS[sys.argv[1]]
    wanted = [function for function in kit.CASES if len(sys.argv) < 3 or function.__name__ in sys.argv[2:]]
    run(wanted, chosen)
