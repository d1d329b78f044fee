"""Conversations of every kind: imported files, talks that fold under each strategy, a large tool result, notes in other words."""

import json
import pathlib
import urllib.request

STRATEGIES = ["pages", "topics", "summary", "artifacts"]
ABOUT = ["the crane of berth", "the bread of bakery", "屋顶和茶叶罐，第"]


class Api:
    def __init__(self, base):
        self.base = base

    def ask(self, method, path, body=None, headers=None):
        """What a request that must succeed is answered."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, headers or {}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return json.loads(text) if "json" in answer.headers["content-type"] else text.decode()


def seeded(base, exports):
    api = Api(base)
    for file in sorted(pathlib.Path(exports).iterdir()):
        told = api.ask("POST", f"/api/import?name={file.name}", file.read_bytes())
        assert "event: done" in told, (file, told)
    return {strategy: talk(api, strategy) for strategy in STRATEGIES} | {"holds": held(api)}


def talk(api, strategy):
    """A session of a strategy, with folds, a pin, a branch and a rule."""
    session = None
    for turn in range(24):
        words = f"Note {turn}: {ABOUT[turn // 4 % 3]} {turn} was seen to at {turn} o'clock. Never round the {turn} heights. " * 3
        body = {"message": words, "stream": False}
        done = api.ask("POST", "/api/chat", body | ({"session": session, "branch": 0} if session else {"strategy": strategy}))
        session = done["session"]
        if turn == 12:
            api.ask("POST", "/api/chat", {"session": session, "after": "m3", "message": "And elsewhere?", "stream": False})
    api.ask("PUT", f"/api/sessions/{session}/pins/m0")
    api.ask("POST", f"/api/sessions/{session}/compress")
    return session


def held(api):
    """A session with a tool result that is too large to be shown."""
    lines = "\n".join(f"entry {i}: the crane of berth {i} moved {i}0 crates" for i in range(900))
    call = {"id": "c1", "type": "function", "function": {"name": "read_log", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": lines},
        {"role": "assistant", "content": "It is read."},
        {"role": "user", "content": "What about berth 77?"},
    ]
    headers = {"x-scrollback-session": "held", "content-type": "application/json"}
    api.ask("POST", "/v1/chat/completions", {"model": "quote", "messages": history}, headers)
    return "held"
