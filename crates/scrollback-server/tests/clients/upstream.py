"""A model that does what the last user message says, to see what clients get with and without Scrollback between.

Lines of the last user message that begin with `@` are its script. `@then` ends a step; the step to do follows from how many
replies the message already has. With no step left it tells the tool results it was given, or echoes.

  @say TEXT              text (\\n is a new line)          @think TEXT     text in `reasoning_content`
  @call NAME JSON        calls a tool of the client        @search WORDS, @recall_page N, @load ID [PART]   calls a tool of
  @need WORDS            writes [NEED_CONTEXT: WORDS]                      Scrollback, if it is offered
  @again WORDS           searches in every round, as long as it may
  @images                tells the hash of every image     @random         a text that differs each time
  @finish REASON         another finish reason             @slow           50 ms between two pieces
  @dribble               five bytes at a time              @timeout        says nothing for 20 s
  @error STATUS          an error                          @garbage        no JSON
  @cut                   the connection ends half way      @midfail        an error half way through a stream

It is as strict as the real thing: calls without results, results without calls and, for the models `mock-8k` and
`mock-tight`, more than 8,000 or 5,000 tokens (four characters each) are refused. `GET /__requests?after=N` tells what arrived, word for word.
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

OWN = {"search": "search_history", "recall_page": "recall_page", "load": "load_tool_history"}
LIMITS = {"mock-8k": 8000, "mock-tight": 5000}
REQUESTS, LOCK = [], threading.Lock()


class Refusal(Exception):
    def __init__(self, status, kind, code, message):
        super().__init__(message)
        self.status, self.body = status, {"error": {"message": message, "type": kind, "param": None, "code": code}}


def text_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content or ""


def size_of(body):
    """The tokens of a request, at four characters each; an image counts as 500."""
    chars = len(json.dumps(body.get("tools") or [], ensure_ascii=False))
    for message in body["messages"]:
        chars += 16 + len(text_of(message))
        chars += sum(len(json.dumps(call["function"])) for call in message.get("tool_calls") or [])
        if isinstance(message.get("content"), list):
            chars += 2000 * sum(part.get("type") == "image_url" for part in message["content"])
    return chars // 4 + 1


def parsed(raw):
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Refusal(400, "invalid_request_error", None, "We could not parse the JSON body of your request.")
    return body


def check(body):
    """Refuses what the real thing refuses."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refusal(400, "invalid_request_error", "empty_array", "'messages' must not be empty")
    names = [tool["function"]["name"] for tool in body.get("tools") or [] if tool.get("type") == "function"]
    if len(set(names)) != len(names):
        raise Refusal(400, "invalid_request_error", None, f"Tool names must be unique: {names}")
    if "tools" in body and not body["tools"]:
        raise Refusal(400, "invalid_request_error", "empty_array", "[] is too short - 'tools'")
    open_calls, seen = set(), set()
    for message in messages:
        if message["role"] == "tool":
            call = message.get("tool_call_id")
            if call not in open_calls:
                raise Refusal(400, "invalid_request_error", None, f"'tool' must follow its call: {call}")
            open_calls.remove(call)
            continue
        if open_calls:
            raise Refusal(400, "invalid_request_error", None, f"calls without results: {sorted(open_calls)}")
        ids = [call["id"] for call in message.get("tool_calls") or []]
        if len(set(ids)) != len(ids) or seen & set(ids):
            raise Refusal(400, "invalid_request_error", None, f"calls with the same id: {ids}")
        seen |= set(ids)
        open_calls = set(ids)
    if open_calls:
        raise Refusal(400, "invalid_request_error", None, f"calls without results: {sorted(open_calls)}")
    limit = LIMITS.get(body.get("model"))
    if limit and size_of(body) > limit:
        told = f"This model's maximum context length is {limit} tokens. However, your messages resulted in {size_of(body)} tokens."
        raise Refusal(400, "invalid_request_error", "context_length_exceeded", told)


class Reply:
    """What is said to one request."""

    def __init__(self, body):
        self.body, self.text, self.thought, self.calls, self.finish, self.flags = body, [], "", [], None, set()
        messages = body["messages"]
        asked = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)
        after = messages[asked + 1 :]
        self.step = sum(message["role"] == "assistant" for message in after)
        said = text_of(messages[asked]) if asked >= 0 else ""
        self.seed = f"{said}|{self.step}"
        steps = [[]]
        for line in said.splitlines():
            if line.strip() == "@then":
                steps.append([])
            elif line.startswith("@"):
                verb, _, rest = line[1:].partition(" ")
                steps[-1].append((verb, rest.strip()))
        again = [rest for verb, rest in steps[0] if verb == "again"]
        if again and self.step >= len(steps) and self.may("search_history"):
            self.own("search", again[0])
        elif self.step < len(steps) and steps[self.step]:
            for verb, rest in steps[self.step]:
                self.do(verb, rest)
        elif results := self.results(messages):
            self.text.append("RESULTS\n" + "\n".join(results))
        else:
            self.text.append(f"echo: {said}")

    @staticmethod
    def results(messages):
        """What came back for the last calls, made as tools or written as text."""
        last = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=len(messages))
        after = messages[last + 1 :]
        if any(message["role"] == "tool" for message in after):
            return [text_of(message) for message in after if message["role"] == "tool"]
        written = last < len(messages) and re.search(r"\[NEED_CONTEXT:|\[tool_call\]", text_of(messages[last]))
        return [text_of(message) for message in after] if written else []

    def may(self, name):
        choice = self.body.get("tool_choice")
        if choice == "none" or (isinstance(choice, dict) and choice.get("function", {}).get("name", name) != name):
            return False
        if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
            allowed = choice.get("allowed_tools", choice).get("tools", [])
            return any(tool.get("function", tool).get("name") == name for tool in allowed)
        return any(tool.get("function", {}).get("name") == name for tool in self.body.get("tools") or [])

    def own(self, verb, rest):
        name = OWN[verb]
        if not self.may(name):
            self.text.append(f"({name} is not offered)")
            return
        first, _, part = rest.partition(" ")
        arguments = {"search": {"words": rest}, "recall_page": {"index": first}, "load": {"id": first}}[verb]
        if part and verb == "load":
            arguments["part"] = part
        self.call(name, json.dumps(arguments, ensure_ascii=False))

    def call(self, name, arguments):
        mark = hashlib.sha256(f"{self.seed}|{len(self.calls)}".encode()).hexdigest()[:16]
        self.calls.append({"id": f"call_{mark}", "type": "function", "function": {"name": name, "arguments": arguments}})

    def do(self, verb, rest):
        if verb == "say":
            self.text.append(rest.replace("\\n", "\n"))
        elif verb == "think":
            self.thought += rest
        elif verb == "call":
            name, _, arguments = rest.partition(" ")
            self.call(name, arguments or "{}")
        elif verb in OWN:
            self.own(verb, rest)
        elif verb == "again":
            self.own("search", rest)
        elif verb == "need":
            self.text.append(f"[NEED_CONTEXT: {rest}]")
        elif verb == "images":
            urls = [part["image_url"]["url"] for m in self.body["messages"] if isinstance(m.get("content"), list)
                    for part in m["content"] if part.get("type") == "image_url"]
            self.text.append("images: " + " ".join(hashlib.sha256(url.encode()).hexdigest()[:16] for url in urls))
        elif verb == "random":
            self.text.append(f"reply {time.time_ns()}")
        elif verb == "finish":
            self.finish = rest
        elif verb == "error":
            raise Refusal(int(rest), "mock_error", f"mock_{rest}", f"you asked for {rest}")
        else:
            self.flags.add(verb)
            if verb == "timeout":
                time.sleep(20)

    def head(self, kind):
        mark = hashlib.sha256(self.seed.encode()).hexdigest()[:20]
        return {"id": f"chatcmpl-{mark}", "object": kind, "created": 1700000000, "model": self.body.get("model"),
                "system_fingerprint": "fp_mock", "x_mock": {"π": 1.50, "null": None}}

    def reason(self):
        return self.finish or ("tool_calls" if self.calls else "stop")

    def usage(self):
        told, said = size_of(self.body), len("\n".join(self.text)) // 4 + 1
        return {"prompt_tokens": told, "completion_tokens": said, "total_tokens": told + said,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0}}

    def whole(self):
        text = "\n".join(self.text)
        message = {"role": "assistant", "content": text if text or not self.calls else None, "refusal": None}
        if self.thought:
            message["reasoning_content"] = self.thought
        if self.calls:
            message["tool_calls"] = self.calls
        choices = [{"index": i, "message": message, "logprobs": None, "finish_reason": self.reason()}
                   for i in range(self.body.get("n") or 1)]
        return self.head("chat.completion") | {"choices": choices, "usage": self.usage()}

    def chunks(self):
        counted = (self.body.get("stream_options") or {}).get("include_usage")

        def chunk(delta, reason=None, index=0):
            choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}
            return self.head("chat.completion.chunk") | {"choices": [choice]} | ({"usage": None} if counted else {})

        for n in range(self.body.get("n") or 1):
            yield chunk({"role": "assistant", "content": "", "refusal": None}, index=n)
            for piece in re.findall(r"\S+\s*|\s+", self.thought):
                yield chunk({"reasoning_content": piece}, index=n)
            for piece in re.findall(r"\S{1,12}\s*|\s+", "\n".join(self.text)):
                yield chunk({"content": piece}, index=n)
            for i, call in enumerate(self.calls):
                function = call["function"]
                begun = call | {"function": {"name": function["name"], "arguments": ""}}
                yield chunk({"tool_calls": [{"index": i} | begun]}, index=n)
                for piece in re.findall(r"(?s).{1,9}", function["arguments"]):
                    yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]}, index=n)
            yield chunk({}, self.reason(), index=n)
        if counted:
            yield self.head("chat.completion.chunk") | {"choices": [], "usage": self.usage()}


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *_):
        pass

    def send(self, status, body, headers=(), kind="application/json", length=None):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(length or len(body)))
        self.send_header("x-request-id", "req_mock")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        if url.path == "/__requests":
            after = int(urllib.parse.parse_qs(url.query).get("after", ["0"])[0])
            with LOCK:
                told = {"count": len(REQUESTS), "requests": REQUESTS[after:]}
            self.send(200, json.dumps(told).encode())
        elif url.path == "/v1/models":
            models = [{"id": name, "object": "model", "created": 1700000000, "owned_by": "mock"} for name in ("mock", "mock-8k")]
            self.send(200, json.dumps({"object": "list", "data": models}).encode())
        else:
            self.send(404, b'{"error":{"message":"no such path","type":"invalid_request_error","param":null,"code":"mock_404"}}')

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        record = {"path": self.path, "headers": dict(self.headers), "body": raw.decode(errors="replace"), "state": "open"}
        with LOCK:
            REQUESTS.append(record)
        try:
            self.answer(raw)
            record["state"] = "answered"
        except (BrokenPipeError, ConnectionResetError):
            record["state"] = "dropped"
            self.close_connection = True

    def answer(self, raw):
        if self.path != "/v1/chat/completions":
            self.send(404, b'{"error":{"message":"no such path","type":"invalid_request_error","param":null,"code":"mock_404"}}')
            return
        try:
            body = parsed(raw)
            check(body)
            reply = Reply(body)
        except Refusal as refusal:
            waits = [("retry-after", "7"), ("x-ratelimit-remaining-requests", "0")] if refusal.status in (429, 503) else []
            self.send(refusal.status, json.dumps(refusal.body).encode(), waits)
            return
        if body.get("stream"):
            self.stream(reply)
        elif "garbage" in reply.flags:
            self.send(200, b"<html>\xff no JSON", kind="text/html")
        else:
            data = json.dumps(reply.whole(), ensure_ascii=False).encode()
            if "cut" in reply.flags:
                self.send(200, data[: len(data) // 2], length=len(data))
                self.hang_up()
                return
            if "slow" in reply.flags:
                time.sleep(1)
            self.send(200, data)

    def hang_up(self):
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def stream(self, reply):
        self.send_response(200)
        for name, value in [("content-type", "text/event-stream; charset=utf-8"), ("transfer-encoding", "chunked"), ("x-request-id", "req_mock")]:
            self.send_header(name, value)
        self.end_headers()
        chunks = list(reply.chunks())
        for i, chunk in enumerate(chunks):
            if i == len(chunks) // 2:
                if "cut" in reply.flags:
                    self.hang_up()
                    return
                if "garbage" in reply.flags:
                    self.event(b'data: {"broken": \n\n', reply)
                if "midfail" in reply.flags:
                    self.event(b'data: {"error":{"message":"the model fell over","type":"server_error","code":null}}\n\n', reply)
                    break
            self.event(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n", reply)
        self.event(b"data: [DONE]\n\n", reply)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def event(self, data, reply):
        if "slow" in reply.flags:
            time.sleep(0.05)
        step = 5 if "dribble" in reply.flags else len(data)
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
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
