"""A conversation of two million tokens with a model that takes eight thousand. Nothing fails, and what was said at any time
comes back word for word when the model asks for it."""

import json
import os
import re
import sys
import time

import kit
from kit import PROXY, SESSION, arrived, equal, holds, post, prose

TURNS = int(os.environ.get("LONG_TURNS", "1000"))
WORDS = 1500
FACTS = 50
NAME = "long"
BIRDS = "Kestrel Heron Plover Curlew Dunlin Fulmar Gannet Merlin Osprey Petrel".split()


def fact(number):
    return f"The code of crate {number} is {BIRDS[number % 10]}-{4921 + number * 37}, and it stands in hall {number % 7 + 1}."


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


def recall(number):
    """How the model gets at a fact: by search, and from the find to its page if the find is not all of it."""
    sentence, told = fact(number), ask(f"@search code of crate {number} {BIRDS[number % 10]}")
    if sentence in told:
        return "search"
    page = re.search(r"recall_page\D*(\d+)|#(\d+)", told)
    holds(f"crate {number} is found", page, told)
    told = ask(f"@recall_page {page.group(1) or page.group(2)}")
    holds(f"crate {number} comes back word for word", sentence in told, told)
    return "page"


def main():
    begun, tokens, ways = time.monotonic(), 0, {}
    for turn in range(TURNS):
        text = message(turn)
        tokens += len(text) // 4
        equal("the reply", ask(text), f"Report {turn} is noted.")
        if turn % 200 == 199:
            recall(fact_of_last(turn))
            recall(0)
            print(f"{turn + 1} turns, {tokens:,} tokens, {time.monotonic() - begun:.0f} s", flush=True)
    for number in range(FACTS):
        way = recall(number)
        ways[way] = ways.get(way, 0) + 1
    print(f"{FACTS} facts came back word for word: {ways}; {time.monotonic() - begun:.0f} s")
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
