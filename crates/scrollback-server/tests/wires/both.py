"""What the suites of both wires share: a script is played straight to the model and through Scrollback, and both are compared."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "clients"))

from kit import PROXY, UPSTREAM, OWN, SESSION, arrived, count, equal, holds, log, prose, session  # noqa: E402

DOOR = PROXY or UPSTREAM
FACT = "The code of crate 17 is Kestrel-4921, and Ingrid signed for it at dusk."
TRACES = (*OWN, "scrollback")
"""What our tools add to: the tokens of the request."""
INPUT = ("input_tokens", "total_tokens")


def headers(request):
    return {name.lower(): value for name, value in request["headers"]}


def body(request):
    return json.loads(request["body"])


def raws(text, field):
    """The messages of a request, each as the bytes it came as."""
    at, found = text.index("[", text.index(f'"{field}"')) + 1, []
    decoder = json.JSONDecoder()
    while True:
        while text[at] in " \n\r\t,":
            at += 1
        if text[at] == "]":
            return found
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = end


def without_input(value):
    """What a client gets, but for the tokens of its request."""
    if isinstance(value, dict):
        return {name: without_input(inner) for name, inner in value.items() if name not in INPUT}
    return [without_input(inner) for inner in value] if isinstance(value, list) else value


def asked_alike(direct, through):
    """A small conversation reaches the model as the client wrote it; our tools stand after the client's."""
    wanted, got = body(direct), body(through)
    tools, theirs = got.pop("tools", []), wanted.pop("tools", [])
    equal("the client's tools", tools[: len(theirs)], theirs)
    equal("only our tools are added", [tool["name"] for tool in tools[len(theirs) :] if tool["name"] not in OWN], [])
    equal("our tools are there", len(tools) > len(theirs), bool(PROXY))
    equal("the rest of the request", list(got.items()), list(wanted.items()))
    equal("the path", through["path"], direct["path"])
    came, sent = headers(through), headers(direct)
    for name in sent.keys() - {"host", "content-length", "connection", "accept-encoding", "transfer-encoding", SESSION}:
        equal(f"the header {name}", came.get(name), sent[name])
    if PROXY:
        equal("our headers end with us", [name for name in came if name.startswith("x-scrollback")], [])


def played(open, url, name, script):
    """What a script gets, and what the model was asked."""
    mark = count()
    return script(open(url, name)), arrived(mark)


def same(open, name, script):
    """A script gets the same, and asks the model the same, with and without Scrollback; what it got, and the last request."""
    without, direct = played(open, UPSTREAM, name, script)
    through, reached = played(open, DOOR, name, script)
    equal("what the client gets", without_input(through), without_input(without))
    equal("how often the model is asked", len(reached), len(direct))
    for one, other in zip(direct, reached):
        asked_alike(one, other)
    return through, direct[-1]


def failure(script):
    """How a script fails, as the library tells it."""
    try:
        got = script()
    except Exception as error:
        answer = getattr(error, "response", None)
        wait = answer.headers.get("retry-after") if answer is not None else None
        so_far = without_input(getattr(error, "so_far", None))
        return type(error).__name__, getattr(error, "status_code", None), wait, getattr(error, "body", None), so_far
    raise AssertionError(f"should have failed: {got}")


def no_trace(got):
    """Nothing of ours in what a client gets."""
    told = json.dumps(got)
    equal("traces of ours", [name for name in TRACES if name in told], [])


def once(name, messages):
    """A session has so many messages, in one line."""
    found = session(name, size=messages)
    equal(f"{name}: messages and branches", (found["messages"], len(found["branches"])), (messages, 1))


__all__ = ["DOOR", "FACT", "OWN", "PROXY", "SESSION", "UPSTREAM", "arrived", "asked_alike", "body", "count", "equal", "failure", "headers", "holds",
           "log", "no_trace", "once", "played", "prose", "raws", "same", "session", "without_input"]
