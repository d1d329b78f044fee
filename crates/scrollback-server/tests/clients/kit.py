"""What the suites share: the two doors (straight to the model, and through Scrollback), what arrived there, and the log.

`UPSTREAM` and `PROXY` are addresses; `STORE` is the file the proxy writes and `SCROLLBACK` the program that reads it. Without
`PROXY` everything is asked of the model directly: a check of the suite itself.
"""

import http.client
import json
import os
import subprocess
import time
import traceback
import urllib.parse
import urllib.request

import upstream

UPSTREAM = os.environ["UPSTREAM"]
PROXY = os.environ.get("PROXY", "")
KEY = os.environ.get("CLIENT_KEY", "sk-canary-5f1d0c")
SESSION = "x-scrollback-session"
OWN = ("recall_page", "load_tool_history", "search_history")
CASES = []


def case(function):
    """A case that is run in every suite of its file."""
    CASES.append(function)
    return function


def between(function):
    """A case that has no meaning without Scrollback."""
    if PROXY:
        CASES.append(function)
    return function


def run(cases, *arguments):
    """Runs cases one after the other; ends the process with how many failed."""
    failed = []
    for function in cases:
        begun = time.monotonic()
        try:
            function(*arguments)
            print(f"ok      {function.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
        except Exception:
            failed.append(function.__name__)
            print(f"FAILED  {function.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{len(cases) - len(failed)} of {len(cases)} passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
    raise SystemExit(1 if failed else 0)


def equal(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}\n     got: {short(got)}\n  wanted: {short(wanted)}")


def holds(what, truth, told=""):
    if not truth:
        raise AssertionError(f"{what} {short(told) if told != '' else ''}")


def short(value):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 3000 else f"{text[:1500]} … {text[-1500:]}"


# ── what reached the model


def arrived(after=0):
    """The requests that reached the model since a count was taken."""
    with urllib.request.urlopen(f"{UPSTREAM}/__requests?after={after}") as answer:
        return json.load(answer)["requests"]


def count():
    with urllib.request.urlopen(f"{UPSTREAM}/__requests?after=1000000000") as answer:
        return json.load(answer)["count"]


def slices(body):
    """The messages of a request, each as the bytes it came as."""
    at, found = body.index("[", body.index('"messages"')) + 1, []
    decoder = json.JSONDecoder()
    while True:
        while body[at] in " \n\r\t,":
            at += 1
        if body[at] == "]":
            return found
        _, end = decoder.raw_decode(body, at)
        found.append(body[at:end])
        at = end


def size(request):
    """The tokens of a request as the scripted model counts them."""
    return upstream.size_of(json.loads(request["body"]))


def own_tools(request):
    tools = json.loads(request["body"]).get("tools") or []
    return [tool for tool in tools if tool.get("function", {}).get("name") in OWN]


# ── what is in the log


def scrollback(*arguments, store=None):
    command = [os.environ["SCROLLBACK"], "--store", store or os.environ["STORE"], "--json", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: {done.stderr.decode()}")
    return done.stdout.decode().splitlines()


def log(session, *arguments, size=0):
    """The messages of a session, as the JSON they are kept as; a reply is written while its client already reads it, so
    this waits until there are so many."""

    def read():
        lines = scrollback("show", session, "--all", *arguments)
        return [line[line.index('"message":') + len('"message":') : -1] for line in lines]

    return eventually(read, lambda messages: len(messages) >= size)


def eventually(read, enough, seconds=5):
    """Reads again until it is enough, or too late."""
    end = time.monotonic() + seconds
    while not enough(found := read()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def log_at_rest(session):
    """The messages of a session, after whatever may still be written has had its time."""
    time.sleep(0.3)
    return log(session)


def sessions():
    return [json.loads(line) for line in scrollback("sessions", "--limit", "1000")]


def session(name, size=0):
    """A session by its declared name, once it has so many messages."""

    def read():
        return next((one for one in sessions() if (one.get("declared") or "").endswith(name)), None)

    return eventually(read, lambda found: found and found["messages"] >= size)


def text_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content or ""


def said(raw):
    """A kept message as what it says: role, text, calls."""
    message = json.loads(raw)
    calls = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []]
    return message["role"], text_of(message), calls


def kept(name, requested, replies):
    """The log holds the messages of the last request byte for byte, and the replies as the model gave them."""
    if not PROXY:
        return
    in_log = log(name, size=len(requested) + 1)
    equal(f"{name}: how many messages are kept", len(in_log), len(requested) + 1)
    for i, (raw, wanted) in enumerate(zip(in_log, requested)):
        if json.loads(wanted)["role"] == "assistant":
            equal(f"{name}: the role of message {i}", said(raw)[0], "assistant")
        else:
            equal(f"{name}: the bytes of message {i}", raw, wanted)
    answers = [said(raw) for raw in in_log if json.loads(raw)["role"] == "assistant"]
    equal(f"{name}: the replies", [(text, calls) for _, text, calls in answers], replies)


# ── without a client library


def post(base, body, headers=(), path="/v1/chat/completions"):
    """One request as bytes: status, headers, what came, and whether it ended as it should."""
    url = urllib.parse.urlparse(base)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    sent = {"content-type": "application/json", "authorization": f"Bearer {KEY}"} | dict(headers)
    connection.request("POST", url.path + path, data, sent)
    answer = connection.getresponse()
    came, whole = b"", True
    try:
        while piece := answer.read1(65536):
            came += piece
        whole = not answer.length
    except (http.client.HTTPException, ConnectionError):
        whole = False
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, came, whole


def events(stream):
    """The JSON of a stream's events, without `[DONE]`."""
    lines = [line[5:].strip() for line in stream.decode(errors="replace").splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def prose(words, seed):
    """Text of so many words that never repeats."""
    kinds = "harbour tide gauge ledger berth survey anchor signal cargo pilot beacon timber mooring current sextant compass".split()
    return " ".join(f"{kinds[(seed * 7 + i * i + i // 5) % len(kinds)]}{'.' if i % 12 == 11 else ''}" for i in range(words)) + f" ({seed})"
