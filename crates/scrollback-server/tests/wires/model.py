"""The scripted model of `agents/upstream.py` as the official libraries meet it: Anthropic Messages and OpenAI Responses with their
counters, conversations and errors. It also remembers responses, so that a library that follows one gets the same without Scrollback.

Beside the verbs there:

  @search WORDS, @recall_page N    calls a tool of Scrollback, if it is offered      @overloaded    an error half way through a stream
  @failed                          a response that fails half way through

With no step left it tells the results it was given, or `done`. It is as strict as the real thing: pairs of calls and results, where they
stand, empty texts, reasoning that was changed or has lost what it led to, more than four cache marks, and requests beyond `LIMIT` tokens.
"""

import hashlib
import importlib.util
import json
import pathlib

spec = importlib.util.spec_from_file_location("agents_upstream", pathlib.Path(__file__).parent.parent / "agents/upstream.py")
base = importlib.util.module_from_spec(spec)
spec.loader.exec_module(base)

Refusal = base.Refusal
"""What the model takes, at four characters a token, with some room for what it counts otherwise than we do."""
LIMIT = 12000
KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
         413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
RESPONSES, CONVERSATIONS = {}, {}


def seal(text):
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def unique(tools):
    names = [tool[0] for tool in tools]
    if len(set(names)) != len(names):
        raise Refusal(400, f"tools: Tool names must be unique: {names}")


class Messages(base.Messages):
    """Anthropic Messages."""

    @staticmethod
    def check(body):
        if "max_tokens" not in body:
            raise Refusal(400, "max_tokens: Field required")
        if not body["messages"] or body["messages"][0]["role"] != "user":
            raise Refusal(400, "messages: first message must use the user role")
        base.Messages.check(body)
        unique(Messages.tools(body))
        waiting = []
        for message in body["messages"]:
            blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            first = [block["tool_use_id"] for block in blocks[: len(results)] if block["type"] == "tool_result"]
            if sorted(first) != sorted(waiting):
                raise Refusal(400, f"results {first} must directly follow the calls {waiting}")
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
            for block in blocks:
                if block["type"] == "text" and not block["text"].strip():
                    raise Refusal(400, "text content blocks must be non-empty")
                if block["type"] == "thinking" and block["signature"] != seal(block["thinking"]):
                    raise Refusal(400, "Invalid `signature` in `thinking` block")
        Messages.check_thinking(body)

    @staticmethod
    def check_thinking(body):
        """In an open tool loop, the model wants its reasoning back."""
        last = body["messages"][-1]
        if not body.get("thinking") or not any(isinstance(block, dict) and block["type"] == "tool_result" for block in last["content"]):
            return
        if body["messages"][-2]["content"][0]["type"] != "thinking":
            raise Refusal(400, "Expected `thinking`, but found `tool_use`")

    @staticmethod
    def blocks(reply):
        blocks = base.Messages.blocks(reply)
        return [block | {"signature": seal(block["thinking"])} if block["type"] == "thinking" else block for block in blocks]

    @staticmethod
    def whole(reply, content=None, stop=None):
        told = base.Messages.whole(reply, content, stop)
        return told if content is not None else told | {"content": Messages.blocks(reply)}

    @staticmethod
    def stream(reply):
        events = list(base.Messages.stream(reply))
        for i, (kind, event) in enumerate(events):
            if reply.fails and i == len(events) // 2:
                yield "error", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
                return
            if event.get("delta", {}).get("type") == "signature_delta":
                event["delta"]["signature"] = seal(reply.thought)
            yield kind, event

    @staticmethod
    def error(refusal):
        return {"type": "error", "error": {"type": KINDS.get(refusal.status, "api_error"), "message": str(refusal)}, "request_id": "req_mock"}


class Responses(base.Responses):
    """OpenAI Responses."""

    @staticmethod
    def check(body):
        base.Responses.check(body)
        unique(Responses.tools(body))
        calls, reasoned, previous = set(), False, {}
        for item in Responses.input(body):
            kind = item.get("type", "message")
            if previous.get("type") == "reasoning" and not (kind == "reasoning" or kind == "function_call" or item.get("role") == "assistant"):
                raise Refusal(400, f"Item '{previous.get('id')}' of type 'reasoning' was provided without its required following item.")
            if kind == "reasoning":
                text = "".join(part["text"] for part in item["summary"])
                if item.get("encrypted_content", seal(text)) != seal(text):
                    raise Refusal(400, "The encrypted content could not be verified.")
                reasoned = True
            elif kind == "function_call":
                if item["call_id"] in calls:
                    raise Refusal(400, f"calls with the same id: {item['call_id']}")
                calls.add(item["call_id"])
                if item.get("id", "").startswith("fc_r_") and not reasoned:
                    raise Refusal(400, f"Item '{item['id']}' of type 'function_call' was provided without its required 'reasoning' item.")
            elif kind == "function_call_output":
                if item["call_id"] not in calls:
                    raise Refusal(400, f"No tool call found for function call output with call_id {item['call_id']}.")
            elif item.get("role") != "assistant":
                reasoned = False
            previous = item
        if previous.get("type") == "reasoning":
            raise Refusal(400, f"Item '{previous.get('id')}' of type 'reasoning' was provided without its required following item.")

    @staticmethod
    def input(body):
        said = body.get("input") or []
        return [{"type": "message", "role": "user", "content": said}] if isinstance(said, str) else said

    @staticmethod
    def expanded(body):
        """A request with all that it follows."""
        earlier = []
        if body.get("previous_response_id"):
            earlier = RESPONSES.get(body["previous_response_id"])
        elif body.get("conversation"):
            named = body["conversation"]
            earlier = CONVERSATIONS.get(named if isinstance(named, str) else named["id"])
        if earlier is None:
            raise Refusal(404, "what this follows was not found")
        return body | {"input": [*earlier, *Responses.input(body)]}

    @staticmethod
    def items(reply):
        items = base.Responses.items(reply)
        sealed = "reasoning.encrypted_content" in (reply.body.get("include") or [])
        for item in items:
            if item["type"] == "reasoning":
                item["encrypted_content"] = seal(reply.thought)
                if not sealed:
                    del item["encrypted_content"]
            elif item["type"] == "function_call" and reply.thought:
                item["id"] = item["id"].replace("fc_", "fc_r_")
        return items

    @staticmethod
    def whole(reply, output=None, status="completed"):
        told = base.Responses.whole(reply, Responses.items(reply) if output is None else output, status)
        asked = {name: reply.asked.get(name) for name in ("instructions", "metadata", "previous_response_id", "max_output_tokens")}
        named = reply.asked.get("conversation")
        asked["conversation"] = {"id": named} if isinstance(named, str) else named
        return told | asked | {"tools": reply.asked.get("tools") or [], "store": reply.asked.get("store", True)}

    @staticmethod
    def stream(reply):
        events = []
        for kind, event in base.Responses.stream(reply):
            if "response" in event:
                told = event["response"]
                event["response"] = Responses.whole(reply, None if told["status"] == "completed" else [], told["status"])
            elif event.get("item", {}).get("type") != "message" and "item" in event:
                event["item"] = event["item"] | {"id": Responses.items(reply)[event["output_index"]]["id"]}
                if event["item"]["type"] == "reasoning":
                    event["item"] = Responses.items(reply)[event["output_index"]]
            elif "item_id" in event:
                event["item_id"] = Responses.items(reply)[event["output_index"]]["id"]
            events.append((kind, event))
        for i, (kind, event) in enumerate(events):
            if reply.fails and i == len(events) // 2:
                yield Responses.failure(reply, event["sequence_number"])
                return
            yield kind, event

    @staticmethod
    def failure(reply, number):
        if reply.fails == "overloaded":
            return "error", {"type": "error", "sequence_number": number, "code": "server_error", "message": "Overloaded", "param": None}
        response = Responses.whole(reply, [], "failed") | {"error": {"code": "server_error", "message": "The model fell over"}}
        return "response.failed", {"type": "response.failed", "sequence_number": number, "response": response}

    @staticmethod
    def keep(reply):
        """Remembers what a later request may follow."""
        said = [*Responses.input(reply.body), *Responses.items(reply)]
        if reply.asked.get("store", True):
            RESPONSES[f"resp_{reply.mark}"] = said
        if named := reply.asked.get("conversation"):
            CONVERSATIONS[named if isinstance(named, str) else named["id"]] = said

    @staticmethod
    def error(refusal):
        return {"error": {"message": str(refusal), "type": KINDS.get(refusal.status, "server_error"), "param": None, "code": f"mock_{refusal.status}"}}


class Reply(base.Reply):
    """What is said to one request."""

    def __init__(self, wire, body, asked):
        self.wire, self.body, self.asked, self.model = wire, body, asked, body.get("model")
        self.text, self.thought, self.calls, self.stop, self.fails = "", "", [], None, None
        self.offered, self.entries = wire.tools(body), wire.read(body)
        self.tokens = len(json.dumps(body, ensure_ascii=False)) // 4 + 1
        if self.tokens > LIMIT:
            raise Refusal(400, f"prompt is too long: {self.tokens} tokens > {LIMIT} maximum")
        said = json.dumps([[entry.role, entry.texts, entry.results] for entry in self.entries])
        self.mark = hashlib.sha256(said.encode()).hexdigest()[:20]
        self.after = []
        self.play()
        last = max((i for i, entry in enumerate(self.after) if entry.role == "assistant"), default=-1)
        if self.text == "done" and any(entry.results for entry in self.after[last + 1 :]):
            self.text = "\n".join(result for entry in self.after[last + 1 :] for result in entry.results)

    def do_search(self, rest):
        self.own("search_history", {"words": rest})

    def do_recall_page(self, rest):
        self.own("recall_page", {"index": rest})

    def own(self, name, arguments):
        if any(tool[0] == name for tool in self.offered):
            self.call(name, json.dumps(arguments, ensure_ascii=False))
        else:
            self.text += f"({name} is not offered)"

    def do_overloaded(self, _):
        self.fails = "overloaded"

    def do_failed(self, _):
        self.fails = "failed"


class Door(base.Door):
    def answer(self, raw):
        path = base.urllib.parse.urlparse(self.path).path
        wires = {"/v1/responses": Responses, "/v1/messages": Messages}
        body = json.loads(raw or b"{}")
        if path in ("/v1/messages/count_tokens", "/v1/responses/input_tokens"):
            kind = {"object": "response.input_tokens"} if "responses" in path else {}
            self.send(200, kind | {"input_tokens": len(raw) // 4 + 1})
        elif path == "/v1/conversations":
            id = f"conv_mock{len(CONVERSATIONS)}"
            CONVERSATIONS[id] = body.get("items") or []
            self.send(200, {"id": id, "object": "conversation", "created_at": 1700000000, "metadata": body.get("metadata") or {}})
        elif path not in wires:
            self.send(404, Responses.error(Refusal(404, "no such path")))
        else:
            self.speak(wires[path], body)

    def speak(self, wire, asked):
        try:
            body = wire.expanded(asked) if wire is Responses else asked
            wire.check(body)
            reply = Reply(wire, body, asked)
        except Refusal as refusal:
            self.send(refusal.status, wire.error(refusal))
            return
        if wire is Responses and not reply.fails:
            wire.keep(reply)
        if asked.get("stream"):
            self.stream(wire.stream(reply))
        else:
            self.send(200, wire.whole(reply))

    def end_headers(self):
        self.send_header("retry-after", "7")
        super().end_headers()


if __name__ == "__main__":
    server = base.Server(("127.0.0.1", 0), Door)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
