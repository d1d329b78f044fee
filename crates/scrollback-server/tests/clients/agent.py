"""An agent's ten rounds, each with a tool result of 50,000 characters: what reaches the model, with and without Scrollback;
then every result is loaded again, whole and in parts, and must be intact."""

import json
import os
import re

import kit
from kit import PROXY, SESSION, UPSTREAM, arrived, count, equal, holds, post

LARGE = os.environ["PROXY_LARGE"]  # a model that could take it all
ROUNDS, CHARS = 10, 50_000
TOOLS = [{"type": "function", "function": {"name": "fetch", "parameters": {"type": "object", "properties": {"page": {"type": "integer"}}}}}]
NAME = "agent"


def result(number):
    """A result whose every line is different."""
    lines = (f"{number}.{i:04} reading {(i * 7919 + number * 104729) % 100003:06} at station {(i * i + number) % 97:02}, ü {'ok' if i % 3 else 'checked twice'}" for i in range(2_000))
    text = ""
    for line in lines:
        if len(text) + len(line) + 1 > CHARS:
            return text + "x" * (CHARS - len(text))
        text += line + "\n"
    raise AssertionError("too short")


def rounds(door):
    """Runs the agent; the tokens that reached the model, at four characters each."""
    messages, mark = [], count()
    for number in range(ROUNDS):
        messages.append({"role": "user", "content": f"Step {number}.\n@call fetch {{\"page\":{number}}}\n@then\n@say Step {number} is done."})
        for _ in range(2):
            body = {"model": "mock", "messages": messages, "tools": TOOLS}
            status, _, came, _ = post(door, body, [(SESSION, NAME)])
            equal("status", (status, came if status != 200 else b""), (200, b""))
            messages.append(json.loads(came)["choices"][0]["message"])
            for call in messages[-1].get("tool_calls") or []:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result(number)})
        equal("the reply", messages[-1]["content"], f"Step {number} is done.")
    requests = arrived(mark)
    equal("how often the model is asked", len(requests), 2 * ROUNDS)
    return sum(len(request["body"]) for request in requests) // 4, messages, requests[-1]


def ask(door, text):
    body = {"model": "mock", "messages": [{"role": "user", "content": text}]}
    status, _, came, _ = post(door, body, [(SESSION, NAME), ("x-scrollback-history", "new")])
    equal("status", (status, came if status != 200 else b""), (200, b""))
    return json.loads(came)["choices"][0]["message"]["content"]


def body_of(told):
    """What is inside the fence of a recall."""
    lines = told.split("\n")
    begin = next(i for i, line in enumerate(lines) if re.match(r"\d+\.\d{4} reading|x+$", line))
    end = max(i for i, line in enumerate(lines) if re.match(r"\d+\.\d{4} reading|x+$", line))
    return lines[begin : end + 1]


def in_parts(id):
    """A result read piece by piece with a small window, going on where each piece says it was cut."""
    gathered, part = [], ""
    for _ in range(200):
        told = ask(PROXY, f"@load {id}{part}")
        gathered += body_of(told)
        goes_on = re.search(r'part = "(\d+-\d+)" goes on', told)
        if not goes_on:
            return "\n".join(gathered)
        part = f" {goes_on.group(1)}"
    raise AssertionError("it never ends")


def main():
    plain, _, _ = rounds(UPSTREAM)
    folded, messages, last = rounds(LARGE)
    fewer = 100 - folded * 100 / plain
    print(f"{plain:,} tokens reach the model without Scrollback, {folded:,} with it: {fewer:.1f} % fewer")
    holds("at least 80 % fewer", fewer >= 80, f"{fewer:.1f}")
    ids = re.findall(r"Tool result (h\d+) is kept", last["body"])
    print(f"held: {ids}")
    equal("all but the newest are held", len(ids), ROUNDS - 1)
    said = [text for _, text, _ in map(kit.said, kit.log(NAME, size=4 * ROUNDS))]
    equal("the log has every result whole", [text for text in said if len(text) == CHARS], [result(number) for number in range(ROUNDS)])
    told = ask(LARGE, "@say next")
    equal("goes on", told, "next")
    ids = re.findall(r"Tool result (h\d+) is kept", arrived(count() - 1)[0]["body"])
    equal("now all are held", len(ids), ROUNDS)
    for number, id in enumerate(ids):
        holds(f"{id} is loaded whole", result(number) in ask(LARGE, f"@load {id}"))
        lines = result(number).split("\n")
        holds(f"some lines of {id}", "\n".join(lines[99:200]) in ask(LARGE, f"@load {id} 100-200"))
        line = lines[300]
        holds(f"{id} by words", line in ask(LARGE, f"@load {id} {line.split()[2]} station"), line)
    print("every result was loaded whole, by lines and by words")
    equal(f"{ids[3]} in parts through a small window", in_parts(ids[3]), result(3))
    print("and in parts through a window of 8,000 tokens")


if __name__ == "__main__":
    main()
