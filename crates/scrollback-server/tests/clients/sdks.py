"""Client libraries behind one face: `say(messages)` gives a `Said`; messages are what each library's users write."""

import json
import os
from dataclasses import dataclass, field
from typing import Any

from kit import KEY, SESSION

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
TIMEOUT = 30


@dataclass
class Said:
    text: str
    calls: list
    finish: Any
    usage: Any = None
    chunks: list = field(default_factory=list)
    extra: dict = field(default_factory=dict)
    """What a person appends to the history."""
    echo: Any = None

    def essence(self):
        return self.text, self.calls, self.finish


def gathered(chunks):
    """A stream of chunks, put together the way clients do."""
    text, calls, finish, usage, extra = "", [], None, None, {}
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        extra |= {key: value for key, value in chunk.items() if key.startswith("x_")}
        for choice in chunk.get("choices") or []:
            if choice["index"]:
                continue
            delta, finish = choice.get("delta") or {}, choice.get("finish_reason") or finish
            text += delta.get("content") or ""
            if delta.get("reasoning_content"):
                extra["reasoning_content"] = extra.get("reasoning_content", "") + delta["reasoning_content"]
            for piece in delta.get("tool_calls") or []:
                if piece["index"] == len(calls):
                    calls.append([piece["id"], piece["function"]["name"], ""])
                calls[piece["index"]][2] += (piece.get("function") or {}).get("arguments") or ""
    calls = [tuple(call) for call in calls]
    echo = {"role": "assistant", "content": text or None}
    if calls:
        echo["tool_calls"] = [{"id": id, "type": "function", "function": {"name": name, "arguments": given}} for id, name, given in calls]
    return Said(text, calls, finish, usage, chunks, extra, echo)


class OpenAi:
    name = "openai"

    def __init__(self, url, session=None, model="mock", headers=(), timeout=TIMEOUT):
        import openai

        sent = dict(headers) | ({SESSION: session} if session else {})
        self.model = model
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=timeout, default_headers=sent)

    def user(self, content):
        return {"role": "user", "content": content}

    def system(self, content):
        return {"role": "system", "content": content}

    def tool(self, call, content):
        return {"role": "tool", "tool_call_id": call, "content": content}

    def open(self, messages, **options):
        return self.client.chat.completions.create(model=self.model, messages=messages, stream=True, **options)

    def say(self, messages, stream=False, **options):
        if stream:
            return gathered([chunk.model_dump(exclude_unset=True) for chunk in self.open(messages, **options)])
        done = self.client.chat.completions.create(model=self.model, messages=messages, **options)
        message, choice = done.choices[0].message, done.choices[0]
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
        extra = {key: value for key, value in (done.model_extra or {}).items() if key.startswith("x_")}
        extra |= {key: value for key, value in (message.model_extra or {}).items()}
        return Said(message.content or "", calls, choice.finish_reason, done.usage.model_dump(exclude_unset=True), [], extra, message)


class LiteLlm(OpenAi):
    name = "litellm"

    def __init__(self, url, session=None, model="mock", headers=(), timeout=TIMEOUT):
        import litellm

        litellm.suppress_debug_info, litellm.telemetry = True, False
        sent = dict(headers) | ({SESSION: session} if session else {})
        self.completion = litellm.completion
        self.options = {"model": f"openai/{model}", "api_base": f"{url}/v1", "api_key": KEY, "extra_headers": sent, "max_retries": 0, "timeout": timeout}

    def open(self, messages, **options):
        return self.completion(messages=messages, stream=True, **self.options, **options)

    def say(self, messages, stream=False, **options):
        if stream:
            return gathered([chunk.model_dump(exclude_unset=True) for chunk in self.open(messages, **options)])
        done = self.completion(messages=messages, **self.options, **options)
        message, choice = done.choices[0].message, done.choices[0]
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
        extra = {"reasoning_content": message.reasoning_content} if getattr(message, "reasoning_content", None) else {}
        echo = message.model_dump(exclude_none=True)
        return Said(message.content or "", calls, choice.finish_reason, done.usage.model_dump(), [], extra, echo)


class LangChain:
    name = "langchain"

    def __init__(self, url, session=None, model="mock", headers=(), timeout=TIMEOUT):
        from langchain_openai import ChatOpenAI

        sent = dict(headers) | ({SESSION: session} if session else {})
        self.model = ChatOpenAI(model=model, stream_usage=True, base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=timeout, default_headers=sent)

    def user(self, content):
        from langchain_core.messages import HumanMessage

        return HumanMessage(content)

    def system(self, content):
        from langchain_core.messages import SystemMessage

        return SystemMessage(content)

    def tool(self, call, content):
        from langchain_core.messages import ToolMessage

        return ToolMessage(content, tool_call_id=call)

    def open(self, messages, tools=None, **options):
        model = self.model.bind_tools(tools) if tools else self.model
        return model.stream(messages, **options)

    def say(self, messages, stream=False, tools=None, **options):
        chunks = []
        if stream:
            whole = None
            for chunk in self.open(messages, tools, **options):
                chunks.append(chunk)
                whole = chunk if whole is None else whole + chunk
        else:
            whole = (self.model.bind_tools(tools) if tools else self.model).invoke(messages, **options)
        calls = [(call["id"], call["name"], json.dumps(call["args"], separators=(",", ":"), ensure_ascii=False)) for call in whole.tool_calls]
        usage = {"prompt_tokens": whole.usage_metadata["input_tokens"], "completion_tokens": whole.usage_metadata["output_tokens"]}
        return Said(whole.text, calls, whole.response_metadata.get("finish_reason"), usage, chunks, {}, whole)


SDKS = {sdk.name: sdk for sdk in (OpenAi, LiteLlm, LangChain)}
