"""A model that does what the person's last message says, over the three wires that coding agents speak: Chat Completions,
Responses and Anthropic Messages, streamed or whole.

Lines of that message that begin with `@` are its script. `@then` ends a step; the step to do follows from how many replies the
message already has. With no step left it says `done`.

  @say TEXT          text                                     @read PATH      calls the client's own tool that reads a file
  @call NAME JSON    calls a tool, offered or not             @tool END JSON  calls the offered tool whose name ends like this
  @quote WORDS       tells the last line of any tool result of this turn that holds the words
  @grep WORDS        tells every line of the whole request that holds the words
  @think TEXT        thinks first                             @usage N        claims that the request had N tokens
  @js SCRIPT         calls Codex's tool `exec`, which runs JavaScript
  @error STATUS      an error                                 @stop REASON    another reason to stop

It refuses what the real thing refuses: calls and results that are not pairs, unknown fields in Anthropic's blocks, too many cache marks.
A request without tools of the client, or one that asks for a summary, is no turn of the chat and gets a short text. `GET /__requests?after=N`
tells what arrived, word for word, and so does the file named first on the command line, a line each.
"""

import hashlib
import json
import re
import socket
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REQUESTS, LOCK = [], threading.Lock()
SUMMARY = re.compile(r"detailed summary of|CONTEXT CHECKPOINT|anchored summary|summary of our conversation|handoff summary", re.I)
OWN = ("recall_page", "load_tool_history", "search_history")
READERS = ("Read", "read", "exec_command", "shell_command", "shell", "Bash", "bash")


class Refusal(Exception):
    def __init__(self, status, told=None):
        super().__init__(told or f"you asked for {status}")
        self.status = status


def paired(rounds):
    """Refuses calls without results and results without calls, as the real thing does; a round is (calls, results)."""
    waiting = set()
    for calls, results in rounds:
        if results - waiting:
            raise Refusal(400, f"results without calls: {sorted(results - waiting)}")
        waiting -= results
        if waiting and calls:
            raise Refusal(400, f"calls without results: {sorted(waiting)}")
        waiting |= calls
    if waiting:
        raise Refusal(400, f"calls without results: {sorted(waiting)}")


class Entry:
    """What one side said, on any wire."""

    def __init__(self, role):
        self.role, self.texts, self.calls, self.results = role, [], [], []


def text_of(content):
    if isinstance(content, str):
        return [content]
    return [part.get("text") or "" for part in content or [] if isinstance(part, dict) and "text" in part]


class Chat:
    """OpenAI Chat Completions."""

    @staticmethod
    def check(body):
        paired((set(call["id"] for call in message.get("tool_calls") or []), {message["tool_call_id"]} if message["role"] == "tool" else set())
               for message in body["messages"])

    @staticmethod
    def read(body):
        entries = []
        for message in body["messages"]:
            entry = Entry(message["role"])
            if message["role"] == "tool":
                entry.role, entry.results = "user", ["\n".join(text_of(message.get("content")))]
            else:
                entry.texts = text_of(message.get("content"))
            entry.calls = [call["function"]["name"] for call in message.get("tool_calls") or []]
            entries.append(entry)
        return entries

    @staticmethod
    def tools(body):
        return [(tool["function"]["name"], "function", tool["function"].get("parameters") or {}) for tool in body.get("tools") or []]

    @staticmethod
    def message(reply):
        message = {"role": "assistant", "content": reply.text or None}
        if reply.thought:
            message["reasoning_content"] = reply.thought
        if reply.calls:
            message["tool_calls"] = [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
                for call in reply.calls
            ]
        return message

    @staticmethod
    def usage(reply):
        return {"prompt_tokens": reply.tokens, "completion_tokens": 9, "total_tokens": reply.tokens + 9}

    @staticmethod
    def whole(reply):
        choice = {"index": 0, "message": Chat.message(reply), "finish_reason": reply.stop or ("tool_calls" if reply.calls else "stop")}
        return {"id": f"chatcmpl-{reply.mark}", "object": "chat.completion", "created": 1700000000, "model": reply.model,
                "choices": [choice], "usage": Chat.usage(reply)}

    @staticmethod
    def stream(reply):
        def chunk(delta, stop=None):
            return None, {"id": f"chatcmpl-{reply.mark}", "object": "chat.completion.chunk", "created": 1700000000, "model": reply.model,
                          "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}

        yield chunk({"role": "assistant", "content": ""})
        if reply.thought:
            yield chunk({"reasoning_content": reply.thought})
        for piece in pieces(reply.text):
            yield chunk({"content": piece})
        for i, call in enumerate(Chat.message(reply).get("tool_calls", [])):
            arguments = call["function"]["arguments"]
            begun = call | {"function": call["function"] | {"arguments": ""}}
            yield chunk({"tool_calls": [{"index": i} | begun]})
            for piece in pieces(arguments):
                yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
        yield chunk({}, reply.stop or ("tool_calls" if reply.calls else "stop"))
        yield None, chunk({})[1] | {"choices": [], "usage": Chat.usage(reply)}
        yield None, "[DONE]"

    @staticmethod
    def error(refusal):
        return {"error": {"message": str(refusal), "type": "mock_error", "param": None, "code": f"mock_{refusal.status}"}}


class Messages:
    """Anthropic Messages."""

    FIELDS = {"text": {"text", "citations"}, "tool_use": {"id", "name", "input", "caller"}, "tool_result": {"tool_use_id", "content", "is_error"},
              "thinking": {"thinking", "signature"}}

    @staticmethod
    def check(body):
        rounds = []
        for message in body["messages"]:
            blocks = message["content"] if isinstance(message["content"], list) else []
            for block in blocks:
                extra = set(block) - {"type", "cache_control"} - Messages.FIELDS.get(block["type"], set(block))
                if extra:
                    raise Refusal(400, f"{block['type']}.{sorted(extra)[0]}: Extra inputs are not permitted")
            rounds.append(({block["id"] for block in blocks if block["type"] == "tool_use"},
                           {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}))
        paired(rounds)
        roles = [message["role"] for message in body["messages"]]
        for before, role, after in zip([None] + roles, roles, roles[1:] + ["assistant"]):
            if role == "system" and (before, after) != ("user", "assistant"):
                raise Refusal(400, "role 'system' must precede an 'assistant' message or end the array")
        if json.dumps(body).count('"cache_control": {') > 4:
            raise Refusal(400, "A maximum of 4 blocks with cache_control may be provided")

    @staticmethod
    def read(body):
        entries = []
        for message in body["messages"]:
            entry = Entry(message["role"])
            blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
            for block in blocks:
                if block["type"] == "text":
                    entry.texts.append(block["text"])
                elif block["type"] == "tool_use":
                    entry.calls.append(block["name"])
                elif block["type"] == "tool_result":
                    entry.results.append("\n".join(text_of(block.get("content"))))
            entries.append(entry)
        return entries

    @staticmethod
    def tools(body):
        return [(tool["name"], tool.get("type", "function"), tool.get("input_schema") or {}) for tool in body.get("tools") or []]

    @staticmethod
    def blocks(reply):
        blocks = []
        if reply.thought:
            blocks.append({"type": "thinking", "thinking": reply.thought, "signature": f"sig-{reply.mark}"})
        if reply.text:
            blocks.append({"type": "text", "text": reply.text})
        for call in reply.calls:
            id = call["id"].replace("call_", "toolu_")
            blocks.append({"type": "tool_use", "id": id, "name": call["name"], "input": json.loads(call["arguments"])})
        return blocks

    @staticmethod
    def whole(reply, content=None, stop=None):
        usage = {"input_tokens": reply.tokens, "output_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {"id": f"msg_{reply.mark}", "type": "message", "role": "assistant", "model": reply.model,
                "content": Messages.blocks(reply) if content is None else content,
                "stop_reason": stop or Messages.stop(reply), "stop_sequence": None, "usage": usage}

    @staticmethod
    def stop(reply):
        return reply.stop or ("tool_use" if reply.calls else "end_turn")

    @staticmethod
    def stream(reply):
        def event(kind, **fields):
            return kind, {"type": kind} | fields

        begun = Messages.whole(reply, content=[])
        yield event("message_start", message=begun | {"stop_reason": None})
        yield event("ping")
        for i, block in enumerate(Messages.blocks(reply)):
            kind = block["type"]
            empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[kind]
            yield event("content_block_start", index=i, content_block=block | empty)
            deltas = {
                "text": lambda: [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])],
                "thinking": lambda: [{"type": "thinking_delta", "thinking": block["thinking"]}, {"type": "signature_delta", "signature": block["signature"]}],
                "tool_use": lambda: [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(json.dumps(block["input"]))]],
            }[kind]()
            for delta in deltas:
                yield event("content_block_delta", index=i, delta=delta)
            yield event("content_block_stop", index=i)
        yield event("message_delta", delta={"stop_reason": Messages.stop(reply), "stop_sequence": None}, usage={"output_tokens": 9})
        yield event("message_stop")

    @staticmethod
    def error(refusal):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": str(refusal)}}


class Responses:
    """OpenAI Responses."""

    @staticmethod
    def check(body):
        items = body["input"] if isinstance(body["input"], list) else []
        calls = {item["call_id"] for item in items if item.get("type", "").endswith("_call") and "call_id" in item}
        results = {item["call_id"] for item in items if item.get("type", "").endswith("_call_output")}
        paired([(calls, set()), (set(), results)])

    @staticmethod
    def read(body):
        items = body["input"]
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        entries = []
        for item in items:
            kind = item.get("type", "message")
            if kind == "message":
                entry = Entry(item["role"])
                entry.texts = text_of(item.get("content"))
            elif kind.endswith("_call"):
                entry = Entry("assistant")
                entry.calls = [item.get("name") or kind]
            elif kind.endswith("_call_output"):
                entry = Entry("user")
                output = item.get("output")
                entry.results = ["\n".join(text_of(output)) if isinstance(output, (str, list)) else json.dumps(output)]
            elif kind == "reasoning":
                entry = Entry("assistant")
            else:
                continue
            if entry.role == "assistant" and entries and entries[-1].role == "assistant":
                entries[-1].texts += entry.texts
                entries[-1].calls += entry.calls
            else:
                entries.append(entry)
        return entries

    @staticmethod
    def tools(body):
        offered = list(body.get("tools") or [])
        for item in body["input"] if isinstance(body["input"], list) else []:
            if item.get("type") == "additional_tools":
                offered += item.get("tools") or []
        flat = []
        for tool in offered:
            if tool.get("type") == "namespace":
                flat += [tool_of(inner, tool["name"]) for inner in tool.get("tools") or []]
            else:
                flat.append(tool_of(tool, None))
        return flat

    @staticmethod
    def items(reply):
        items = []
        if reply.thought:
            items.append({"type": "reasoning", "id": f"rs_{reply.mark}", "summary": [{"type": "summary_text", "text": reply.thought}],
                          "encrypted_content": f"enc-{reply.mark}"})
        if reply.text:
            items.append({"type": "message", "id": f"msg_{reply.mark}", "role": "assistant", "status": "completed",
                          "content": [{"type": "output_text", "text": reply.text, "annotations": []}]})
        for call in reply.calls:
            named = {"call_id": call["id"], "name": call["name"], "status": "completed"}
            if call.get("namespace"):
                named["namespace"] = call["namespace"]
            if call.get("kind") == "custom":
                items.append({"type": "custom_tool_call", "id": f"ctc_{call['id']}", "input": call["arguments"]} | named)
            else:
                items.append({"type": "function_call", "id": f"fc_{call['id']}", "arguments": call["arguments"]} | named)
        return items

    @staticmethod
    def whole(reply, output=None, status="completed"):
        usage = {"input_tokens": reply.tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": reply.tokens + 9}
        return {"id": f"resp_{reply.mark}", "object": "response", "created_at": 1700000000, "status": status, "model": reply.model,
                "output": Responses.items(reply) if output is None else output, "error": None, "incomplete_details": None,
                "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "usage": usage if status == "completed" else None}

    @staticmethod
    def stream(reply):
        number = iter(range(1_000_000))

        def event(kind, **fields):
            return kind, {"type": kind, "sequence_number": next(number)} | fields

        yield event("response.created", response=Responses.whole(reply, [], "in_progress"))
        yield event("response.in_progress", response=Responses.whole(reply, [], "in_progress"))
        for i, item in enumerate(Responses.items(reply)):
            at = {"item_id": item["id"], "output_index": i}
            if item["type"] == "message":
                text, part = item["content"][0]["text"], {"type": "output_text", "text": "", "annotations": []}
                yield event("response.output_item.added", output_index=i, item=item | {"content": [], "status": "in_progress"})
                yield event("response.content_part.added", content_index=0, part=part, **at)
                for piece in pieces(text):
                    yield event("response.output_text.delta", content_index=0, delta=piece, **at)
                yield event("response.output_text.done", content_index=0, text=text, **at)
                yield event("response.content_part.done", content_index=0, part=part | {"text": text}, **at)
            elif item["type"] == "function_call":
                yield event("response.output_item.added", output_index=i, item=item | {"arguments": "", "status": "in_progress"})
                for piece in pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", delta=piece, **at)
                yield event("response.function_call_arguments.done", arguments=item["arguments"], **at)
            else:
                yield event("response.output_item.added", output_index=i, item=item)
            yield event("response.output_item.done", output_index=i, item=item)
        yield event("response.completed", response=Responses.whole(reply))

    @staticmethod
    def error(refusal):
        return Chat.error(refusal)


def tool_of(tool, namespace):
    name = tool.get("name") or tool.get("type")
    return name, tool.get("type"), (tool.get("parameters") or {}) | ({"namespace": namespace} if namespace else {})


def pieces(text):
    return re.findall(r"(?s).{1,24}", text)


class Reply:
    """What is said to one request."""

    def __init__(self, wire, body):
        self.wire, self.body, self.model = wire, body, body.get("model")
        self.text, self.thought, self.calls, self.stop = "", "", [], None
        self.offered, self.entries = wire.tools(body), wire.read(body)
        self.tokens = len(json.dumps(body, ensure_ascii=False)) // 4 + 1
        said = json.dumps([[entry.role, entry.texts, entry.results] for entry in self.entries])
        self.mark = hashlib.sha256(said.encode()).hexdigest()[:20]
        last = next((entry for entry in reversed(self.entries) if entry.role == "user"), Entry("user"))
        wanted = body.get("response_format") or (body.get("output_config") or {}).get("format") or (body.get("text") or {}).get("format")
        if isinstance(wanted, dict) and wanted.get("type") == "json_schema":
            self.text = json.dumps({"title": "A scripted title"})
        elif any(SUMMARY.search(text) for text in last.texts):
            self.text = "<summary>\nSUMMARY-OF-THE-CLIENT: files were read.\n</summary>"
        elif all(tool[0] in OWN for tool in self.offered):
            self.text = "A scripted title"
        else:
            self.play()

    def play(self):
        at = max((i for i, entry in enumerate(self.entries) if entry.role == "user" and scripted(entry)), default=None)
        if at is None:
            self.text = "done"
            return
        self.after = self.entries[at + 1 :]
        step = sum(entry.role == "assistant" for entry in self.after)
        steps = [[]]
        for line in scripted(self.entries[at]):
            if line == "@then":
                steps.append([])
            else:
                steps[-1].append(line)
        for line in steps[step] if step < len(steps) else ["@say done"]:
            verb, _, rest = line[1:].partition(" ")
            getattr(self, f"do_{verb}")(rest.strip())

    def do_say(self, rest):
        self.text += rest

    def do_think(self, rest):
        self.thought += rest

    def do_usage(self, rest):
        self.tokens = int(rest)

    def do_stop(self, rest):
        self.stop = rest

    def do_error(self, rest):
        raise Refusal(int(rest))

    def do_call(self, rest):
        name, _, arguments = rest.partition(" ")
        self.call(name, arguments or "{}")

    def do_tool(self, rest):
        end, _, arguments = rest.partition(" ")
        found = next((tool for tool in self.offered if tool[0].endswith(end)), None)
        if found is None:
            self.text += f"({end} is not offered)"
        else:
            self.call(found[0], arguments or "{}", found[1], found[2].get("namespace"))

    def do_read(self, path):
        offered = {name: (kind, schema) for name, kind, schema in self.offered}
        name = next((name for name in READERS if name in offered), None)
        if name is None and "exec" in offered:
            command = json.dumps({"cmd": f"cat {path}"})
            self.call("exec", f"const r = await tools.exec_command({command});\ntext(r.output);\n", "custom")
            return
        if name is None:
            self.text += f"(nothing reads: {sorted(offered)})"
            return
        properties = offered[name][1].get("properties") or {}
        key = next((key for key in ("file_path", "filePath", "cmd", "command") if key in properties), "path")
        value = path if "ath" in key else f"cat {path}"
        if properties.get(key, {}).get("type") == "array":
            value = ["bash", "-lc", value]
        arguments = {key: value}
        if "description" in (offered[name][1].get("required") or []):
            arguments["description"] = "Reads a file"
        self.call(name, json.dumps(arguments))

    def do_js(self, script):
        self.call("exec", script, "custom")

    def do_quote(self, words):
        lines = [line for entry in self.after for result in entry.results for line in result.splitlines() if words in line]
        self.text += lines[-1].strip() if lines else f"({words}: not in any result)"

    def do_grep(self, words):
        lines = [line for entry in self.entries for text in entry.texts + entry.results for line in text.splitlines()
                 if words in line and not line.startswith("@")]
        self.text += "\n".join(lines) or f"({words}: nowhere)"

    def call(self, name, arguments, kind="function", namespace=None):
        mark = hashlib.sha256(f"{self.mark}|{len(self.calls)}".encode()).hexdigest()[:16]
        self.calls.append({"id": f"call_{mark}", "name": name, "arguments": arguments, "kind": kind, "namespace": namespace})


def scripted(entry):
    return [line.strip().rstrip('"') for text in entry.texts for line in text.splitlines() if re.match(r'"?@[a-z]+', line.strip())]


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json"):
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("x-request-id", "req_mock")
        self.send_header("request-id", "req_mock")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
            self.wfile.flush()

    def record(self, raw=b""):
        with LOCK:
            record = {"n": len(REQUESTS) + 1, "method": self.command, "path": self.path, "headers": list(self.headers.items()),
                      "body": raw.decode(errors="replace")}
            REQUESTS.append(record)
            if len(sys.argv) > 1:
                with open(sys.argv[1], "a") as file:
                    file.write(json.dumps(record) + "\n")

    def do_HEAD(self):
        self.record()
        self.send(200, {})

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        if url.path == "/__requests":
            after = int(urllib.parse.parse_qs(url.query).get("after", ["0"])[0])
            with LOCK:
                self.send(200, {"count": len(REQUESTS), "requests": REQUESTS[after:]})
            return
        self.record()
        if url.path.endswith("/models"):
            models = [{"id": "mock", "object": "model", "type": "model", "display_name": "mock", "created": 1700000000, "owned_by": "mock"}]
            self.send(200, {"object": "list", "data": models, "has_more": False})
        else:
            self.send(404, {"error": {"message": "no such path", "type": "not_found_error"}})

    def do_POST(self):
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.record(raw)
        try:
            self.answer(raw)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, raw):
        path = urllib.parse.urlparse(self.path).path
        wires = {"/chat/completions": Chat, "/responses": Responses, "/messages": Messages}
        if path.endswith("/count_tokens"):
            self.send(200, {"input_tokens": len(raw) // 4 + 1})
            return
        wire = next((wire for end, wire in wires.items() if path.endswith(end)), None)
        if wire is None:
            self.send(404, {"error": {"message": "no such path", "type": "not_found_error"}})
            return
        body = json.loads(raw)
        try:
            wire.check(body)
            reply = Reply(wire, body)
        except Refusal as refusal:
            self.send(refusal.status, wire.error(refusal))
            return
        if body.get("stream"):
            self.stream(wire.stream(reply))
        else:
            self.send(200, wire.whole(reply))

    def stream(self, events):
        self.send_response(200)
        for name, value in [("content-type", "text/event-stream; charset=utf-8"), ("transfer-encoding", "chunked"), ("request-id", "req_mock")]:
            self.send_header(name, value)
        self.end_headers()
        for kind, event in events:
            data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
            told = (f"event: {kind}\n" if kind else "") + f"data: {data}\n\n"
            told = told.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(told), told))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Door)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
