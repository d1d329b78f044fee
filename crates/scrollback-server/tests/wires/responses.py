"""What users of the `openai` library for Python meet at the Responses API; whatever can be is compared with the library talking straight
to the model."""

import functools
import json
import re

import openai

from both import DOOR, FACT, PROXY, SESSION, UPSTREAM, arrived, body, count, equal, failure, holds, log, no_trace, once, played, prose, raws, same, without_input
from kit import between, case, log_at_rest, run
import kit

SEALED = {"store": False, "include": ["reasoning.encrypted_content"]}
"""What a reply says of the request that it answers, and that ends with us."""
FOLLOWED = ("previous_response_id", "conversation")


def tool(name, argument):
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument], "additionalProperties": False}
    return {"type": "function", "name": name, "description": f"the {name}", "parameters": parameters, "strict": True}


TOOLS = [tool("weather", "city"), tool("tide", "port")]


@functools.cache
def library(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key=kit.KEY, max_retries=0, timeout=30)


def open(url, name):
    return library(url).with_options(default_headers={SESSION: name} if name else {})


def user(content):
    return {"role": "user", "content": content}


class Said:
    """A reply, as the library gives it."""

    def __init__(self, response, events=()):
        self.response, self.events, self.id, self.text, self.echo = response, list(events), response.id, response.output_text, response.output
        self.calls = [item for item in response.output if item.type == "function_call"]

    def told(self):
        return {"response": self.response.to_dict(), "events": self.events}


def say(client, given, stream=False, **options):
    options = {"model": "gpt-mock", "input": given} | options
    if not stream:
        return Said(client.responses.create(**options))
    events, last = [], None
    try:
        for event in client.responses.create(stream=True, **options):
            events.append(event.to_dict())
            last = event
    except Exception as error:
        error.so_far = events
        raise
    return Said(last.response, events)


def turns(client, *texts, **options):
    """A conversation that is sent whole every time."""
    items, told = [], []
    for text in texts:
        items.append(user(text))
        reply = say(client, items, **options)
        items += reply.echo
        told.append(reply.told())
    return told


def chain(client, *texts, **options):
    """A conversation of which only what is new is sent."""
    last, told = None, []
    for text in texts:
        last = say(client, text, **options, **({"previous_response_id": last.id} if last else {}))
        told.append(last.told())
    return told


def results(reply):
    return [{"type": "function_call_output", "call_id": call.call_id, "output": f"{call.name} of {call.arguments}: ü 4 °C"} for call in reply.calls]


def loop(client, script, follows=False, **options):
    """Answers calls until there are none, with the whole conversation or only with what is new."""
    items, replies, more = [user(script)], [], {}
    while True:
        reply = say(client, items, tools=TOOLS, **options, **more)
        replies.append(reply)
        if not reply.calls:
            return replies
        items = results(reply) if follows else [*items, *reply.echo, *results(reply)]
        more = {"previous_response_id": reply.id} if follows else {}


def kinds(items):
    return [item.get("role") or item["type"] for item in items]


def kept(name, wanted):
    """The log holds these items, each once and in order; what the client said byte for byte."""
    if not PROXY:
        return
    in_log = log(name, size=len(wanted))
    equal(f"{name}: what is kept", kinds(json.loads(raw) for raw in in_log), kinds(json.loads(raw) for raw in wanted))
    for raw, other in zip(in_log, wanted):
        holds(f"{name}: an item", raw == other or json.loads(raw) == json.loads(other), (raw, other))
    once(name, len(wanted))


def items_of(request, told):
    """The items of a request and of its reply."""
    return raws(request["body"], "input") + [json.dumps(item) for item in told["response"]["output"]]


# ── talk


@case
def turns_are_the_same(name):
    for stream in (False, True):
        session = f"{name}-turns-{stream}"
        texts = [f"{session}\n@say Good morning, Åse. 潮位 is 3.4 m 🌊", "@say second", "@think let me see\n@say third", "@say fourth"]
        got, last = same(open, session, lambda client: turns(client, *texts, stream=stream, instructions="Be brief.", metadata={"k": "ü"}))
        equal("the text", got[0]["response"]["output"][0]["content"][0]["text"], "Good morning, Åse. 潮位 is 3.4 m 🌊")
        kept(session, ['{"role":"system","content":"Be brief."}', *items_of(last, got[-1])])


@case
def a_text_is_enough(name):
    got, _ = same(open, f"{name}-text", lambda client: [say(client, f"{name} text\n@say fine").told()])
    if PROXY:
        kept(f"{name}-text", [json.dumps(user(f"{name} text\n@say fine")), json.dumps(got[0]["response"]["output"][0])])


@case
def the_librarys_own_stream_adds_up(name):
    def script(client):
        with client.responses.stream(model="gpt-mock", input=f"{name} own\n@think hm\n@say one two three\n@call tide {{\"port\":\"Oban\"}}", tools=TOOLS) as stream:
            events = [event.to_dict(warnings=False) for event in stream]
            return [stream.get_final_response().to_dict(warnings=False), events]

    got, _ = same(open, f"{name}-own-stream", script)
    equal("what it adds up to", kinds(got[0]["output"]), ["reasoning", "assistant", "function_call"])


@case
def sealed_reasoning_comes_back(name):
    for stream in (False, True):
        session = f"{name}-sealed-{stream}"
        texts = [f"{session}\n@think first thought\n@say one", "@think second\n@say two", "@say three"]
        got, last = same(open, session, lambda client: turns(client, *texts, stream=stream, **SEALED))
        sent = [item for item in body(last)["input"] if item.get("type") == "reasoning"]
        equal("reasoning", sent, [told["response"]["output"][0] for told in got[:2]])
        kept(session, items_of(last, got[-1]))


# ── what follows by an id


def followed(got):
    """What a client gets, but for what it follows."""
    def less(value):
        if isinstance(value, dict):
            return {name: less(inner) for name, inner in value.items() if name not in FOLLOWED}
        return [less(inner) for inner in value] if isinstance(value, list) else value

    return less(without_input(got))


def same_by_id(session, script):
    """A script that sends only what is new gets the same; the model gets everything, and no ids to follow."""
    without, _ = played(open, UPSTREAM, session, script)
    through, requests = played(open, DOOR, session, script)
    equal("what the client gets", followed(through), followed(without))
    equal("what it says that it follows", [told["response"].get("previous_response_id") for told in through], [told["response"].get("previous_response_id") for told in without])
    if PROXY:
        for request in requests:
            equal("nothing to follow", [field for field in FOLLOWED if field in body(request)], [])
    return through, requests


@case
def a_chain_of_turns(name):
    for stream in (False, True):
        session = f"{name}-chain-{stream}"
        texts = [f"{session}\n@say one", "@think hm\n@say two", "@say three", "@say four"]
        got, requests = same_by_id(session, lambda client: chain(client, *texts, stream=stream, instructions="Be brief."))
        if PROXY:
            equal("everything is sent", kinds(body(requests[-1])["input"]), ["user", "assistant", "user", "reasoning", "assistant", "user", "assistant", "user"])
            equal("instructions", body(requests[-1])["instructions"], "Be brief.")
            kept(session, ['{"role":"system","content":"Be brief."}', *items_of(requests[-1], got[-1])])


@between
def a_chain_folds(name):
    session, client, mark = f"{name}-fold", open(DOOR, f"{name}-fold"), count()
    texts = [f"{session} turn {i}. {FACT if i == 1 else ''} {prose(560, i)}\n@think about {i}\n@say noted {i}" for i in range(16)]
    told = chain(client, *texts)
    equal("the replies", [one["response"]["output"][1]["content"][0]["text"] for one in told], [f"noted {i}" for i in range(16)])
    last = say(client, "@say One moment.\n@search crate 17 Kestrel", previous_response_id=told[-1]["response"]["id"])
    holds("the fact is found", FACT in last.text, last.text)
    requests = arrived(mark)
    equal("rounds", len(requests), 18)
    holds("what is sent stops growing", max(len(request["body"]) for request in requests) < 48_000)
    equal("nothing to follow", [field for request in requests for field in FOLLOWED if field in body(request)], [])
    holds("the contents page is there", "[#" in requests[-1]["body"])
    equal("every item once", kinds(json.loads(raw) for raw in log(session, size=50)[:-1])[:48], ["user", "reasoning", "assistant"] * 16)
    again = say(client, "@say fork", previous_response_id=told[4]["response"]["id"])
    equal("an earlier response can be followed", (again.text, kinds(body(arrived()[-1])["input"])[-4:]), ("fork", ["user", "reasoning", "assistant", "user"]))
    holds("without what came after", "turn 4." in arrived()[-1]["body"] and "turn 5." not in arrived()[-1]["body"])
    equal("as a branch", len(kit.session(session, size=52)["branches"]), 2)


@case
def a_conversation_has_a_name(name):
    def script(client):
        made = client.conversations.create(metadata={"topic": "tides"}, items=[{"type": "message", "role": "user", "content": f"{name} begins"}])
        equal("its metadata", made.metadata, {"topic": "tides"})
        told = [say(client, text, conversation=made.id, stream=text.endswith("two")).told() for text in ("@say one", "@think hm\n@say two", "@say three")]
        return [made.id, *told]

    without, _ = played(open, UPSTREAM, None, script)
    through, requests = played(open, DOOR, None, script)
    equal("what the client gets", followed(through[1:]), followed(without[1:]))
    if not PROXY:
        return
    equal("everything is sent", kinds(body(requests[-1])["input"]), ["user", "user", "assistant", "user", "reasoning", "assistant", "user"])
    equal("nothing to follow", [field for request in requests for field in FOLLOWED if field in body(request)], [])
    listed = list(library(DOOR).conversations.items.list(through[0], order="asc", limit=3))
    equal("its items, page by page", [item.type for item in listed], ["message"] * 4 + ["reasoning", "message", "message", "message"])
    equal("the last", listed[-1].content[0].text, "three")
    equal("what is said of it", library(DOOR).conversations.retrieve(through[0]).metadata, {"topic": "tides"})
    once(through[0], 8)


# ── tools


SCRIPT = "\n@think which?\n@say I look\n@call weather {\"city\":\"Tromsø\"}\n@call tide {\"port\":\"Oban\"}\n@then\n@think and\n@call tide {\"port\":\"Leith\"}"


@case
def tools_in_two_rounds(name):
    for stream in (False, True):
        for sealed in (False, True):
            session = f"{name}-tools-{stream}-{sealed}"
            got, last = same(open, session, lambda client: [reply.told() for reply in loop(client, session + SCRIPT, stream=stream, **(SEALED if sealed else {}))])
            equal("items", [kinds(told["response"]["output"]) for told in got], [["reasoning", "assistant", "function_call", "function_call"], ["reasoning", "function_call"], ["assistant"]])
            kept(session, items_of(last, got[-1]))


@case
def tools_in_a_chain(name):
    for stream in (False, True):
        session = f"{name}-tools-chain-{stream}"
        got, requests = same_by_id(session, lambda client: [reply.told() for reply in loop(client, session + SCRIPT, follows=True, stream=stream)])
        if PROXY:
            kept(session, items_of(requests[-1], got[-1]))


@between
def mixed_calls_are_parted_and_joined_again(name):
    script = "\n@think hm\n@say I look\n@search lighthouse\n@call weather {\"city\":\"Oslo\"}\n@recall_page 0\n@call tide {\"port\":\"Oban\"}"
    for stream in (False, True):
        for follows, options in ((False, {}), (False, SEALED), (True, {})):
            session, mark = f"{name}-mixed-{stream}-{follows}-{len(options)}", count()
            first, last = loop(open(DOOR, session), session + script, follows, stream=stream, **options)
            equal("the client sees its calls", [(call.name, call.arguments) for call in first.calls], [("weather", '{"city":"Oslo"}'), ("tide", '{"port":"Oban"}')])
            equal("and the rest", kinds(first.response.to_dict()["output"]), ["reasoning", "assistant", "function_call", "function_call"])
            no_trace(first.told())
            sound(first, stream)
            requests = arrived(mark)
            equal("rounds", len(requests), 2)
            turn = body(requests[1])["input"]
            names = [item["name"] for item in turn if item.get("type") == "function_call"]
            equal("the model gets its turn back whole", names, ["search_history", "weather", "recall_page", "tide"])
            outputs = {item["call_id"]: item["output"] for item in turn if item.get("type") == "function_call_output"}
            equal("with all results", set(outputs), {item["call_id"] for item in turn if item.get("type") == "function_call"})
            for given in results(first):
                equal("a result of the client", outputs[given["call_id"]], given["output"])
            said = kinds(json.loads(raw) for raw in log(session, size=8))
            equal("the log has what the client saw", sorted(said), sorted(["user", "reasoning", "assistant", *["function_call"] * 2, *["function_call_output"] * 2, "assistant"]))
            once(session, 8)


def sound(reply, stream):
    """The events of a stream tell one response, in order."""
    if not stream:
        return
    equal("numbers", [event["sequence_number"] for event in reply.events], list(range(len(reply.events))))
    ids = {event["response"]["id"] for event in reply.events if "response" in event}
    equal("one response", ids, {reply.id})
    added = [event["output_index"] for event in reply.events if event["type"] == "response.output_item.added"]
    equal("items in order", added, list(range(len(reply.response.output))))
    done = [event["item"] for event in reply.events if event["type"] == "response.output_item.done"]
    equal("the items are those of the whole", done, reply.response.to_dict()["output"])


@between
def a_client_may_have_a_tool_of_the_same_name(name):
    mark = count()
    reply = say(open(DOOR, f"{name}-own"), "@call search_history {\"words\":\"mine\"}", tools=[tool("search_history", "words")])
    equal("the client's own call", [(call.name, call.arguments) for call in reply.calls], [("search_history", '{"words":"mine"}')])
    equal("rounds", len(arrived(mark)), 1)


# ── recall


def long_history(mark):
    """Twice as much as the model takes, with a fact at the beginning."""
    items = []
    for i in range(20):
        fact = FACT if i == 1 else ""
        items += [user(f"{mark} turn {i}. {fact} {prose(560, i)}"), {"role": "assistant", "content": f"noted {i}"}]
    return items


@between
def recall_is_invisible(name):
    for stream in (False, True):
        session, mark = f"{name}-recall-{stream}", count()
        client, options = open(DOOR, session), {"stream": stream, "instructions": "Be brief.", **SEALED}
        items = [*long_history(session), user("@think where?\n@say One moment.\n@search crate 17 Kestrel")]
        reply = say(client, items, **options)
        requests = arrived(mark)
        equal("rounds", len(requests), 2)
        holds("the sentence comes back word for word", FACT in reply.text, reply.text)
        equal("no call reaches the client", (reply.calls, reply.response.status), ([], "completed"))
        no_trace(reply.told())
        sound(reply, stream)
        usage = reply.response.usage
        equal("the output of both rounds", (usage.output_tokens, usage.total_tokens), (18, usage.input_tokens + 18))
        holds("the input is plausible", 1000 < usage.input_tokens < 24_000, usage)
        number = contents_entry(requests[0], "turn 9.")
        items += [*reply.echo, user(f"{session}\n@recall_page {number}\n@then\n@quote turn 9.")]
        page = say(client, items, **options)
        holds("the page comes back word for word", f"{session} turn 9.  {prose(560, 9)}" in page.text, page.text)
        items += [*page.echo, user("@say on")]
        last = say(client, items, **options)
        equal("the conversation goes on", last.text, "on")
        said = [item if isinstance(item, dict) else item.to_dict() for item in items]
        kept(session, ['{"role":"system","content":"Be brief."}', *map(json.dumps, said), *[json.dumps(item.to_dict()) for item in last.echo]])


def contents_entry(request, words):
    """The number of the page whose entry in the contents page tells these words."""
    told = json.dumps(body(request)["input"], ensure_ascii=False).replace("\\n", "\n")
    entries = re.findall(r"\[#(\d+)\]([^\n]*(?:\n(?!\[#)[^\n]*)*)", told)
    number = next((number for number, entry in entries if words in entry), None)
    holds("the contents page lists the page", number, told)
    return number


# ── counting, compacting


@case
def tokens_are_counted(name):
    given = {"model": "gpt-mock", "instructions": "Be brief.", "tools": TOOLS}
    short = [open(url, f"{name}-count").responses.input_tokens.count(input="How high?", **given).to_dict() for url in (UPSTREAM, DOOR)]
    ours = short[1].pop("input_tokens") - short[0].pop("input_tokens")
    equal("what goes on as it came is counted by the model", short[1], short[0])
    holds("with our tools, if there are any", 100 < ours < 1500 if PROXY else ours == 0, ours)
    if PROXY:
        equal("nothing is kept", [one for one in kit.sessions() if one.get("declared") == f"{name}-count"], [])
        client = open(DOOR, f"{name}-count-long")
        last = say(client, [*long_history("count"), user("@say ok")], instructions="Be brief.")
        long = client.responses.input_tokens.count(input="How high?", previous_response_id=last.id, **given)
        holds("what is folded is counted as it would be sent", 1000 < long.input_tokens <= 6000, long)
        once(f"{name}-count-long", 43)


@between
def a_compaction_loses_nothing(name):
    session, mark = f"{name}-compact", count()
    client = open(DOOR, session)
    items = long_history(session)
    made = client.responses.compact(model="gpt-mock", input=items, instructions="Be brief.")
    equal("no model was asked", len(arrived(mark)), 0)
    equal("what stands for it", [item.type for item in made.output], ["message"] * 20 + ["compaction"])
    items = [*[item.to_dict(warnings=False) for item in made.output], user("@search crate 17 Kestrel")]
    reply = say(client, items, instructions="Be brief.")
    holds("the fact is found", FACT in reply.text, reply.text)
    again = say(client, [*items, *reply.echo, user("@say on")], instructions="Be brief.")
    equal("and on", again.text, "on")
    equal("its provider knows nothing of it", [request for request in arrived(mark) if '"compaction"' in request["body"]], [])
    once(session, 1 + 40 + 4)


# ── failures


@case
def errors_are_the_models_own(name):
    for status in (400, 401, 403, 404, 429, 500, 503):
        for stream in (False, True):
            told = [failure(lambda: turns(open(url, f"{name}-{status}-{stream}"), f"@error {status}", stream=stream)) for url in (UPSTREAM, DOOR)]
            equal(f"{status}, stream {stream}", told[1], told[0])
    if PROXY:
        equal("the question is kept, no answer is", [json.loads(raw)["role"] for raw in log_at_rest(f"{name}-500-False")], ["user"])


@case
def an_error_in_a_stream_is_told(name):
    for verb in ("overloaded", "failed"):
        text = f"{name} {verb}\n@{verb}\n@say one two three four five six seven eight nine ten eleven twelve"
        told = [outcome(lambda: turns(open(url, f"{name}-{verb}"), text, stream=True)) for url in (UPSTREAM, DOOR)]
        equal(verb, told[1], told[0])
        if PROXY:
            equal("half a reply is not kept", [json.loads(raw)["role"] for raw in log_at_rest(f"{name}-{verb}")], ["user"])
        equal("and on", say(open(DOOR, f"{name}-{verb}"), f"{name} {verb}\n@say well").text, "well")


def outcome(script):
    """What a script gets, or how it fails."""
    try:
        return without_input(script())
    except Exception as error:
        return type(error).__name__, str(error), without_input(getattr(error, "so_far", None))


@between
def an_error_after_a_recall_is_told(name):
    for stream in (False, True):
        script = f"{name} {stream}\n@say wait\n@search tide\n@then\n@error 500"
        told = outcome(lambda: turns(open(DOOR, f"{name}-late-{stream}"), script, stream=stream))
        if stream:
            last = told[0]["events"][-1]
            equal("failed", (last["type"], last["response"]["error"]["code"]), ("response.failed", "mock_500"))
        else:
            equal("failed", told[0], "InternalServerError")


@between
def a_message_that_can_never_fit_is_refused(name):
    kind, status, _, told, _ = failure(lambda: turns(open(DOOR, f"{name}-huge"), prose(9000, 1)))
    equal("in the words of the API", (kind, status, told["code"]), ("BadRequestError", 400, "context_length_exceeded"))


if __name__ == "__main__":
    import sys

    run([function for function in kit.CASES if len(sys.argv) < 2 or function.__name__ in sys.argv[1:]], "responses")
