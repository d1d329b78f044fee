"""A conversation of half a million tokens with a model that takes eight thousand (`LONG_TURNS=800`: of two million). Nothing
fails, and what was said at any time comes back word for word when the model asks for it."""

import json
import os
import re
import sys
import time

import kit
from kit import PROXY, SESSION, arrived, equal, holds, post, prose

TURNS = int(os.environ.get("LONG_TURNS", "200"))
WORDS = 1500
FACTS = 50
NAME = "long"
BIRDS = "Kestrel Heron Plover Curlew Dunlin Fulmar Gannet Merlin Osprey Petrel".split()


def fact(number):
    return f"The code of crate {number} is {BIRDS[number % 10]}-{4921 + number * 37}, and it stands in hall {'ABCDEFG'[number % 7]}."


def fact_of(turn):
    """The fact that is told in a turn, if there is one; it stands now early, now late in its message."""
    step = TURNS // FACTS
    return turn // step if turn % step == step // 2 else None


def message(turn):
    number = fact_of(turn)
    words = prose(WORDS, turn).split(" ")
    if number is not None:
        words.insert(len(words) * (turn % 9) // 9, fact(number))
    return f"Report {turn}. " + " ".join(words) + f"\n@say Report {turn} is noted."


def ask(text):
    body = {"model": "mock-8k", "messages": [{"role": "user", "content": text}]}
    status, headers, came, _ = post(PROXY, body, [(SESSION, NAME), ("x-scrollback-history", "new")])
    holds(f"answered: {text[:60]}", status == 200 and "x-scrollback-trouble" not in headers, (status, headers, came))
    return json.loads(came)["choices"][0]["message"]["content"]


def recalled(question, directive):
    """What the model is told when it recalls something for a question."""
    ask(f"{question}\n{directive}\n@then\n@say Thank you.")
    messages = json.loads(arrived(kit.count() - 1)[0]["body"])["messages"]
    return next(message["content"] for message in reversed(messages) if message["role"] == "tool")


def recall(number):
    """How the model gets at a fact: by search, and from the best find to its page."""
    sentence = fact(number)
    told = recalled(f"Remind me, what is the code of crate {number}?", f"@search code crate {number}")
    finds = [line for line in told.split("\n") if re.match(r"m\d+ ", line)]
    way = next((f"find {i + 1}" for i, find in enumerate(finds) if sentence in find), None)
    holds(f"crate {number} is found word for word", way, told)
    page = re.search(r"page #(\d+)", next(find for find in finds if sentence in find)).group(1)
    told = recalled(f"And what else was said with crate {number}?", f"@recall_page {page}")
    holds(f"the page of crate {number} comes back word for word", sentence in told or "[cut" in told, told)
    return way


def main():
    begun, tokens, ways = time.monotonic(), 0, {}
    for turn in range(TURNS):
        text = message(turn)
        tokens += len(text) // 4
        equal("the reply", ask(text), f"Report {turn} is noted.")
        if turn % (TURNS // 4) == TURNS // 4 - 1:
            recall(fact_of_last(turn))
            recall(0)
        if turn % 50 == 49:
            print(f"{turn + 1} turns, {tokens:,} tokens, {time.monotonic() - begun:.0f} s", flush=True)
    for number in range(FACTS):
        way = recall(number)
        ways[way] = ways.get(way, 0) + 1
    print(f"{FACTS} facts came back word for word: {ways}; {time.monotonic() - begun:.0f} s", flush=True)
    whole = kit.log(NAME)
    said = [text for role, text, _ in map(kit.said, whole) if text.startswith("Report") and role == "user"]
    equal("the log has every message, once and in order", said, [message(turn) for turn in range(TURNS)])
    print(f"the log is whole: {len(whole)} messages; {time.monotonic() - begun:.0f} s")
    sizes = [json.loads(request["body"]) for request in arrived(kit.count() - 20)]
    holds("windows stay within the limit", all(len(json.dumps(body["messages"])) < 40_000 for body in sizes))


def fact_of_last(turn):
    return max(number for number in map(fact_of, range(turn + 1)) if number is not None)


if __name__ == "__main__":
    sys.exit(main())
