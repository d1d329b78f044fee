"""Every thing that can be read, read by the names that the API itself gives, and held against its description."""

import itertools
import time

import schemathesis
from schemathesis.checks import CHECKS

HELD = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance", "response_headers_conformance"]


def names(api, sessions):
    """What stands in the open places of paths, by session."""
    known = {}
    for session in sessions:
        ask = lambda path: api.ask("GET", f"/api/sessions/{session}/{path}")
        notes = ask("notes")["notes"]
        known[session] = {
            "m": [message["id"] for message in ask("messages?count=500")["messages"]][::7],
            "n": [str(page["page"]) for page in ask("contents")["pages"]][:3],
            "h": [hold["id"] for hold in ask("holds")["holds"]],
            "t": [topic["id"] for topic in ask("topics")["topics"]][:3],
            "v": [view["view"] for view in ask("views")["views"]][:2] + ["newest"],
            "a": [artifact["id"] for artifact in ask("artifacts")["artifacts"]][:3],
            "s": [note["name"] for note in notes if note["kind"] == "summary"],
            "name": [note["name"].lstrip("#") for note in notes][:3],
        }
    return known


# Parameters without which a request means nothing, or which change what comes.
QUERIES = {
    "/api/search": [{"words": "crane"}, {"words": "茶叶罐", "role": "user", "from": "2000-01-01", "to": "2100-01-01T00:00:00Z"}],
    "/api/sessions/{id}/messages": [{}, {"render": "html", "count": 500}, {"around": "m4", "count": 3}, {"before": "m4"}, {"after": "m4"}],
    "/api/sessions/{id}/messages/{m}": [{}, {"render": "html", "view": "newest"}],
    "/api/sessions/{id}/views/{v}": [{}, {"text": "true"}],
    "/api/sessions/{id}/views/{v}/diff": [{"with": "newest"}],
    "/api/sessions/{id}/artifacts/{a}/diff": [{"from": 1, "to": 1}],
    "/api/sessions/{id}/ledger": [{}, {"totals": "true", "count": 2}],
    "/api/sessions/{id}/holds/{h}": [{}, {"words": "berth 77"}, {"from_line": 800}],
    "/api/sessions/{id}/summary/{s}": [{"words": "crane"}, {"from": "m1"}],
    "/api/sessions/{id}/export": [{}, {"format": "openai"}, {"format": "markdown"}],
}


# What is done, in this order, to a session that folds.
DEEDS = [
    ("POST", "/api/chat", {}, {"message": "Which crane?", "stream": False}, 200),
    ("POST", "/v1/summarize", {}, {"messages": [{"role": "user", "content": "Which crane?"}], "style": "auto"}, 200),
    ("POST", "/v1/context/render", {}, {"model": "gpt-5", "messages": [{"role": "user", "content": "Which crane?"}]}, 200),
    ("POST", "/v1/context/render", {}, {"model": "gpt-5", "messages": 5}, 400),
    ("POST", "/v1/context/recall", {}, {"session": "nobody", "name": "recall_page", "arguments": {"index": 1}}, 404),
    ("POST", "/api/markdown", {}, {"text": "*hello* <script>"}, 200),
    ("PUT", "/api/sessions/{id}/pins/{m}", {"m": "m2"}, None, 200),
    ("DELETE", "/api/sessions/{id}/pins/{m}", {"m": "m2"}, None, 200),
    ("PUT", "/api/sessions/{id}/excluded/{m}", {"m": "m2"}, None, 200),
    ("DELETE", "/api/sessions/{id}/excluded/{m}", {"m": "m2"}, None, 200),
    ("DELETE", "/api/sessions/{id}/rules/{r}", {"r": "r0.1"}, None, 200),
    ("PUT", "/api/sessions/{id}/rules/{r}", {"r": "r0.1"}, None, 200),
    ("POST", "/api/sessions/{id}/undo", {}, None, 200),
    ("POST", "/api/sessions/{id}/redo", {}, None, 200),
    ("POST", "/api/sessions/{id}/compress", {}, None, 200),
    ("PUT", "/api/sessions/{id}/strategy", {}, {"strategy": "default"}, 200),
    ("POST", "/api/tokens", {}, {"name": "laptop"}, 201),
    ("POST", "/api/tokens", {}, {"name": "laptop"}, 409),
    ("DELETE", "/api/tokens/{name}", {"name": "laptop"}, None, 200),
    ("DELETE", "/api/tokens/{name}", {"name": "laptop"}, None, 404),
]


def done(base, session):
    """Does everything that can be done once, and holds the answers against their description."""
    schema = schemathesis.openapi.from_url(f"{base}/api/openapi.json")
    checks = CHECKS.get_by_names(HELD)
    for method, path, names, body, status in DEEDS:
        given = {"path_parameters": ({"id": session} if "{id}" in path else {}) | names}
        if body is not None:
            given |= {"body": body, "media_type": "application/json"}
        case = schema[path][method].Case(**given)
        answer = case.call(base_url=base)
        assert answer.status_code == status, (method, path, answer.status_code, answer.text)
        case.validate_response(answer, checks=checks)
    return len(DEEDS)


def walked(api, base, sessions):
    """Reads everything; how often each route answered with what was asked for."""
    schema = schemathesis.openapi.from_url(f"{base}/api/openapi.json")
    known = names(api, sessions)
    checks = CHECKS.get_by_names(HELD)
    answered = {}
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.method.upper() != "GET" or operation.path == "/api/events":
            continue
        answered.setdefault(operation.path, 0)
        for path, query in itertools.product(places(operation.path, known), QUERIES.get(operation.path, [{}])):
            case = operation.Case(path_parameters=path, query=query)
            answer = case.call(base_url=base)
            case.validate_response(answer, checks=checks)
            answered[operation.path] += answer.status_code == 200
    return answered


def places(path, known):
    open_names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    if not open_names:
        return [{}]
    rest = [name for name in open_names if name != "id"]
    return [
        {"id": session} | dict(zip(rest, given))
        for session, things in known.items()
        for given in itertools.product(*(things[name] for name in rest))
    ]


def settle(api, sessions):
    """Waits until topics are sorted, which happens after the reply."""
    for _ in range(200):
        if api.ask("GET", f"/api/sessions/{sessions['topics']}/topics")["topics"]:
            return
        time.sleep(0.1)
    raise AssertionError("nothing is sorted into topics")
