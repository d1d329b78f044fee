"""The official client of MCP, over stdio and over HTTP, with the handshake and without: every tool, every resource, and what is
refused. Two conversations go through the proxy first; one of them folds and holds a large result."""

import asyncio
import json
import os
import re

from mcp import Client, MCPError, StdioServerParameters

import kit
from kit import PROXY, SESSION, equal, holds, post, prose

NAME, OTHER = "ferry-log", "kiosk-ledger"
FACT = "The spare impeller is in locker 17 behind the oilskins."
SECRET = "The till code of the kiosk is 4471."
LEFT_OUT = "The skipper's birthday is a surprise on the ninth of May."
TURNS = 14
RESULT = "\n".join(f"line {i:05} of the engine log, reading {(i * 7919) % 100003:06}" for i in range(1, 6001))
TOOLS = {"list_sessions", "search_history", "recall_page", "expand_summary", "load_tool_history", "activate_topic"}
FENCE = re.compile(r"<([a-z]+)-([0-9a-f]{8})>\n.*\n</\1-\2>", re.S)
OWN_TOOL = [{"type": "function", "function": {"name": "fetch", "parameters": {"type": "object", "properties": {}}}}]


def doors():
    """Four ways in: two transports, two eras."""
    stdio = StdioServerParameters(command=os.environ["SCROLLBACK"], args=["--store", os.environ["STORE"], "mcp"])
    for server in (stdio, f"{PROXY}/mcp"):
        yield server, "legacy", "2025-11-25"
        yield server, "auto", "2026-07-28"


def converse(name, texts):
    """A conversation through the proxy; tool calls are answered with the large result."""
    messages = []
    for text in texts:
        messages.append({"role": "user", "content": text})
        while messages[-1]["role"] != "assistant" or messages[-1].get("tool_calls"):
            for call in messages[-1].get("tool_calls") or []:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": RESULT})
            status, _, came, _ = post(PROXY, {"model": "mock", "messages": messages, "tools": OWN_TOOL}, [(SESSION, name)])
            equal("status", (status, came if status != 200 else b""), (200, b""))
            messages.append(json.loads(came)["choices"][0]["message"])
    return kit.log(name, size=len(messages))


def number(raws, text):
    """The number of the message that holds a text."""
    return next(i for i, raw in enumerate(raws) if text in kit.said(raw)[1])


def text(result):
    """What a tool told, in words inside a fence; clients show their model a structure instead of them, so there is none."""
    holds("it is no error", not result.is_error, result.content)
    told = result.content[0].text
    equal("there is no structure", result.structured_content, None)
    holds("it is fenced", FENCE.fullmatch(told), told[:300])
    return told


async def refused(client, tool, arguments, *words):
    """A call that its caller can set right is a result that says how."""
    result = await client.call_tool(tool, arguments)
    told = result.content[0].text
    holds(f"{tool}{arguments} is an error of use", result.is_error, told)
    for word in words:
        holds(f"it tells of {word}", word in told, told)


async def offers(client, _raws):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    equal("the tools", set(tools), TOOLS)
    for name, tool in tools.items():
        hints = tool.annotations
        equal("hints", (hints.read_only_hint, hints.idempotent_hint, hints.destructive_hint, hints.open_world_hint), (True, True, False, False))
        holds("a title, a description", hints.title and tool.title and tool.description)
        equal("a shape where there is more than words", bool(tool.output_schema), name == "list_sessions")
        equal(f"{name} needs a session", "session" in tool.input_schema.get("required", []), name != "list_sessions")
    holds("it says what it is for", "list_sessions" in client.instructions)
    equal("its name", client.server_info.name, "scrollback")


async def lists(client, _raws):
    listed = (await client.call_tool("list_sessions", {"limit": 1})).structured_content
    equal("one", len(listed["sessions"]), 1)
    others = (await client.call_tool("list_sessions", {"after": listed["next"]})).structured_content
    holds("those after it", listed["sessions"][0] not in others["sessions"] and len(others["sessions"]) >= 1, others)
    everything = await client.call_tool("list_sessions", {})
    names = [one["name"] for one in everything.structured_content["sessions"]]
    holds("the newest first", names.index(OTHER) < names.index(NAME), names)
    holds("in words as well", all(name in everything.content[0].text for name in names))


async def recalls(client, raws):
    fact, large = number(raws, FACT), number(raws, RESULT)
    found = text(await client.call_tool("search_history", {"session": NAME, "words": "spare impeller locker"}))
    holds("the search names message and page", f"m{fact} · page #{fact}" in found, found)
    page = text(await client.call_tool("recall_page", {"session": NAME, "index": fact}))
    holds("the page is word for word", FACT in page, page)
    newest = text(await client.call_tool("recall_page", {"session": NAME, "index": len(raws) - 2}))
    holds("what is in no fold is shown as well", f"turn {TURNS - 1}" in newest, newest)
    expanded = text(await client.call_tool("expand_summary", {"session": NAME, "id": f"s{fact + 1}", "from": f"m{fact}"}))
    holds("what a summary would tell of", FACT in expanded, expanded)
    topic = text(await client.call_tool("activate_topic", {"session": NAME, "topic": "spare impeller"}))
    holds("a topic by words", FACT in topic, topic)
    some = text(await client.call_tool("load_tool_history", {"session": NAME, "id": f"h{large}", "part": "4000-4002"}))
    holds("lines of a result", "\n".join(RESULT.split("\n")[3999:4002]) in some, some)


async def names(client, raws):
    """A session is meant by its name, its id, or the beginning of its id; another's name may begin like it."""
    fact, id = number(raws, FACT), kit.session(NAME)["id"]
    for name in (NAME, id, id[:10]):
        result = await client.call_tool("recall_page", {"session": name, "index": fact})
        holds("the session", FACT in result.content[0].text, result.content)
    await refused(client, "recall_page", {"session": NAME[:6], "index": fact}, "no session is called", NAME)


async def large(client, raws):
    """A result too large to be shown at once is read to its end, piece by piece."""
    id, part, gathered = f"h{number(raws, RESULT)}", {}, []
    for _ in range(50):
        told = text(await client.call_tool("load_tool_history", {"session": NAME, "id": id} | part))
        holds("no piece is too large", len(told) < 100_000, str(len(told)))
        gathered += re.findall(r"^line \d{5} .*$", told, re.M)
        onward = re.search(r'part = "(\d+-\d+)" goes on', told)
        if not onward:
            break
        part = {"part": onward.group(1)}
    holds("it took more than one piece", part)
    equal("all of it", "\n".join(gathered), RESULT)


async def refuses(client, raws):
    await refused(client, "search_history", {"session": "no-such", "words": "x"}, "no session is called", "list_sessions")
    await refused(client, "search_history", {"session": " ", "words": "x"}, "list_sessions")
    await refused(client, "search_history", {"words": "x"}, "`session`", "list_sessions")
    await refused(client, "search_history", {"session": NAME}, "words")
    await refused(client, "recall_page", {"session": NAME, "index": "soon"}, "index")
    await refused(client, "recall_page", {"session": NAME, "index": 99999}, "no page #99999")
    await refused(client, "expand_summary", {"session": NAME, "id": "s99999"}, "no summary s99999")
    await refused(client, "list_sessions", {"limit": "all"}, "limit")
    try:
        await client.call_tool("forget", {"session": NAME})
        raise AssertionError("there is no such tool")
    except MCPError as error:
        equal("a tool that is not there is an error of the protocol", error.code, -32602)


async def keeps_apart(client, raws):
    """Nothing of one conversation is found in another, by words, number or id."""
    other = kit.session(OTHER)["id"]
    result = await client.call_tool("search_history", {"session": NAME, "words": "till code kiosk 4471"})
    holds("not by words", "4471" not in result.content[0].text.replace("“till code kiosk 4471”", ""), result.content)
    await refused(client, "load_tool_history", {"session": NAME, "id": f"h0@{other}"}, "no tool result")
    await refused(client, "load_tool_history", {"session": OTHER, "id": f"h{number(raws, RESULT)}"}, "no tool result")


async def leaves_out(client, raws):
    """What a person wants left out is in no recall and no resource."""
    at = number(raws, LEFT_OUT)
    told = await client.call_tool("search_history", {"session": NAME, "words": "birthday surprise May"})
    told = told.content[0].text + text(await client.call_tool("recall_page", {"session": NAME, "index": at}))
    for path in (f"?from=m{at}", "/window", f"/views/v{at}"):
        told += (await client.read_resource(f"scrollback://sessions/{NAME}{path}")).contents[0].text
    holds("not the message", LEFT_OUT not in told and "skipper's birthday" not in told, told)
    equal("but that there is one", told.count("[left out, as the person wants it]"), 2)


async def reads(client, raws):
    id = kit.session(NAME)["id"]
    listed = (await client.list_resources()).resources
    uris = [resource.uri for resource in listed]
    holds("the sessions", {"scrollback://sessions", f"scrollback://sessions/{id}"} <= set(uris), uris)
    templates = [template.uri_template for template in (await client.list_resource_templates()).resource_templates]
    for path in ("/{id}{?from}", "/{id}/window", "/{id}/views", "/{id}/notes"):
        holds(f"a template for {path}", f"scrollback://sessions{path}" in templates, templates)
    read = lambda path: client.read_resource(f"scrollback://sessions{path}")
    one = async_text(read)
    holds("the list", NAME in await one("") and OTHER in await one(""))
    window = await one(f"/{id}/window")
    holds("the newest window as its sketch", "contents" in window and "nothing lost" in window, window)
    views = re.findall(r"^(v\S+) · ", await one(f"/{id}/views"), re.M)
    holds("every window", len(views) >= TURNS and "tokens" in await one(f"/{id}/views/{views[0]}"), views)
    holds("the notes", re.search(r"^\[#\d+ · m\d+–m\d+\]$", await one(f"/{id}/notes"), re.M), await one(f"/{id}/notes"))
    for path in ("/no-such", f"/{id}/nothing", f"/{id}?from=m99999", f"/{id}/views/v99999"):
        try:
            await read(path)
            raise AssertionError(f"{path} should not be there")
        except MCPError as error:
            holds(f"{path} is not there", error.code in (-32602, -32002), error.code)


def async_text(read):
    async def one(path):
        content = (await read(path)).contents[0]
        equal("the kind", content.mime_type, "text/plain")
        holds("it is fenced", FENCE.fullmatch(content.text), content.text[:300])
        return content.text

    return one


async def pages(client, raws):
    """A conversation is read to its end, page by page, and no message is missing."""
    uri, gathered = f"scrollback://sessions/{NAME}", ""
    for _ in range(100):
        told = (await client.read_resource(uri)).contents[0].text
        holds("no page is too large", len(told) < 100_000, str(len(told)))
        gathered += told
        onward = re.search(r"^\[(scrollback://\S+) goes on\]$", told, re.M)
        if not onward:
            break
        uri = onward.group(1)
    holds("there is more than one page", "?from=m" in uri, uri)
    numbers = [int(number) for number in re.findall(r"^\[m(\d+) (?:user|assistant|tool) \S+\]$", gathered, re.M)]
    equal("every message once, in order", numbers, list(range(len(raws))))
    holds("word for word", FACT in gathered and prose(200, TURNS - 1) in gathered)


CASES = [offers, lists, recalls, names, large, refuses, keeps_apart, leaves_out, reads, pages]


async def through(server, mode, version, raws):
    way = f"{'http' if isinstance(server, str) else 'stdio'} {mode}"
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        equal(f"{way}: the revision", client.protocol_version, version)
        for case in CASES:
            try:
                await case(client, raws)
            except Exception as error:
                raise AssertionError(f"{way}: {case.__name__}: {error}") from error
    print(f"ok      {way}: {len(CASES)} cases", flush=True)


def main():
    script = lambda i: f"@call fetch {{}}\n@then\n@say kept {i}" if i == 1 else f"@say noted {i}"
    planted = {0: FACT, 2: LEFT_OUT}
    texts = [f"{planted.get(i, f'turn {i}')} {prose(200, i)}\n{script(i)}" for i in range(TURNS)]
    raws = converse(NAME, texts)
    converse(OTHER, [f"{SECRET}\n@say noted"])
    kit.scrollback("exclude", NAME, f"m{number(raws, LEFT_OUT)}")
    for server, mode, version in doors():
        asyncio.run(through(server, mode, version, raws))


if __name__ == "__main__":
    main()
