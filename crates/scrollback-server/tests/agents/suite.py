"""A coding agent, headless, and Scrollback between it and a scripted model: three turns of one conversation with tools that truly
run, in a window that the first turn does not fit into. `suite.py claude|codex|opencode`.

`UPSTREAM` and `PROXY` are addresses, `STORE` is the file the proxy writes, `SCROLLBACK` the program that reads it, `AGENTS` where
the clients are installed and `HOME` a folder for this run alone. Without `PROXY` the client asks the model directly: a check of
the suite itself.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

UPSTREAM = os.environ["UPSTREAM"]
PROXY = os.environ.get("PROXY", "")
DOOR = PROXY or UPSTREAM
HOME = pathlib.Path(os.environ["HOME"])
PROJECT = HOME / "project"
KEPT = bool(PROXY)
OWN = ("recall_page", "load_tool_history", "search_history")
PATIENCE_SECONDS = 280

GATE = "The harbour gate opens at 07:41."
WATER = "High water is at 13:05."
BERTH = "Berth seventeen belongs to the ferry Margarethe."


def prose(lines, seed):
    """Lines that are all different."""
    kinds = "tide gauge ledger survey anchor signal cargo pilot beacon timber mooring current sextant compass".split()
    return [f"{seed}.{i:03} {' '.join(kinds[(seed * 7 + i * i + j * 5 + i // 3) % len(kinds)] for j in range(9))}" for i in range(lines)]


# ── the clients


class Claude:
    """Claude Code, over Anthropic Messages."""

    subagent = '@call Agent {"description":"look","subagent_type":"general-purpose","prompt":"Look at the tides.\\n@read %s\\n@then\\n@quote High"}'
    path = "/v1/messages"
    recalls, titles = True, True

    def prepare(self):
        return {"ANTHROPIC_BASE_URL": DOOR, "ANTHROPIC_API_KEY": "sk-fake", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
                "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "2000"}

    def command(self, prompt, first):
        return ["-p", *([] if first else ["--continue"]), "--model", "claude-sonnet-4-6", prompt], ""


class Codex:
    """Codex, over Responses."""

    subagent = None
    path = "/v1/responses"
    recalls, titles = False, False

    def prepare(self):
        folder = HOME / ".codex"
        folder.mkdir()
        provider = f'name = "scrollback"\nbase_url = "{DOOR}/v1"\nenv_key = "AGENT_KEY"\nwire_api = "responses"\n'
        settings = f'model = "gpt-6.1-sol"\nmodel_provider = "scrollback"\n[model_providers.scrollback]\n{provider}'
        (folder / "config.toml").write_text(settings)
        return {"AGENT_KEY": "sk-fake"}

    def command(self, prompt, first):
        flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        return ["exec", *flags, *([] if first else ["resume", "--last"]), prompt], ""


class Opencode:
    """opencode, over Chat Completions."""

    subagent = '@call task {"description":"look","subagent_type":"general","prompt":"Look at the tides.\\n@read %s\\n@then\\n@quote High"}'
    path = "/v1/chat/completions"
    recalls, titles = True, True

    def prepare(self):
        model = {"name": "Mock", "limit": {"context": 200_000, "output": 2_000}}
        options = {"baseURL": f"{DOOR}/v1", "apiKey": "{env:AGENT_KEY}"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Scrollback", "options": options, "models": {"mock": model}}
        settings = {"model": "scrollback/mock", "enabled_providers": ["scrollback"], "share": "disabled", "autoupdate": False,
                    "provider": {"scrollback": provider}}
        (PROJECT / "opencode.json").write_text(json.dumps(settings))
        return {"AGENT_KEY": "sk-fake", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}

    def command(self, prompt, first):
        return ["run", "--pure", *([] if first else ["--continue"])], prompt


CLIENTS = {"claude": Claude(), "codex": Codex(), "opencode": Opencode()}


def turn(name, client, environment, prompt, first=False):
    """What the client answers to one prompt."""
    program = os.path.join(os.environ["AGENTS"], name, "node_modules", ".bin", name)
    arguments, given = client.command(prompt, first)
    begun = time.monotonic()
    done = subprocess.run([program, *arguments], cwd=PROJECT, env=environment, input=given, capture_output=True, text=True,
                          timeout=PATIENCE_SECONDS, check=False)
    print(f"{name} answered in {time.monotonic() - begun:.1f} s: {short(done.stdout.strip())}", flush=True)
    holds(f"{name} succeeds", done.returncode == 0, f"{done.stdout}\n{done.stderr}")
    for tool in OWN:
        holds(f"{name} is told nothing of {tool}", tool not in done.stdout + done.stderr.replace(prompt, ""), done.stdout + done.stderr)
    return done.stdout.strip()


# ── what is checked


def holds(what, truth, told=""):
    if not truth:
        raise AssertionError(f"{what}: not so. {short(told, 4000)}")


def short(value, length=300):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= length else f"{text[: length // 2]} … {text[-length // 2 :]}"


def arrived():
    """The requests for replies that reached the model, as JSON."""
    with urllib.request.urlopen(f"{UPSTREAM}/__requests") as answer:
        requests = json.load(answer)["requests"]
    return [json.loads(request["body"]) for request in requests if request["method"] == "POST" and "count_tokens" not in request["path"]]


def scrollback(*arguments):
    command = [os.environ["SCROLLBACK"], "--store", os.environ["STORE"], "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    holds(f"scrollback {' '.join(arguments)}", done.returncode == 0, done.stderr)
    return done.stdout.splitlines()


def strings(value):
    """Every string in some JSON."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in inner for text in strings(one)]


class Lane:
    """One line of messages in the log: a session's chat, or what its client asked beside it."""

    def __init__(self, session, branch):
        self.session, self.branch = session, branch
        self.messages = [json.loads(line) for line in scrollback("show", session, "--all", "--branch", str(branch))]

    def having(self, words, *roles):
        """The messages that say these words."""
        told = [(message, "\n".join(strings(message["message"]))) for message in self.messages]
        return [message for message, text in told if words in text and (not roles or message["role"] in roles)]


def lanes():
    sessions = [json.loads(line) for line in scrollback("sessions", "--limit", "1000")]
    return [Lane(session["id"], branch["id"]) for session in sessions for branch in session["branches"]]


def prepare():
    """The project that is worked on."""
    PROJECT.mkdir()
    subprocess.run(["git", "init", "--quiet", str(PROJECT)], check=True)
    files = {"berths": [*prose(30, 1), BERTH, *prose(30, 2)], "pilots": prose(80, 3), "gate": [*prose(80, 4), GATE],
             "crew": prose(80, 5), "cargo": prose(80, 6), "tides": [*prose(80, 7), WATER]}
    for name, lines in files.items():
        (PROJECT / f"{name}.txt").write_text("\n".join(lines) + "\n")


def script(question, *steps):
    return "\n".join([question, "\n@then\n".join(steps)])


def read(name):
    return f"@read {PROJECT / name}.txt"


def main():
    name = sys.argv[1]
    client = CLIENTS[name]
    prepare()
    environment = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ} | {"HOME": str(HOME)} | client.prepare()
    looked = client.subagent % (PROJECT / "tides.txt") if client.subagent else read("tides")
    recalled = ['@tool search_history {"words":"berth seventeen ferry Margarethe"}', "@quote belongs to"]
    prompts = [
        script("When does the gate open?", read("berths"), read("pilots"), read("gate"), "@quote 07:41"),
        script("When is high water?", read("crew"), read("cargo"), looked, "@quote High"),
        script("Whose is berth seventeen?", *(recalled if KEPT and client.recalls else ["@grep belongs to"])),
    ]
    answers = [turn(name, client, environment, prompt, first=i == 0) for i, prompt in enumerate(prompts)]
    holds("the first answer", GATE in answers[0], answers[0])
    holds("the second answer", WATER in answers[1], answers[1])
    if client.recalls or not KEPT:
        holds("the third answer", BERTH in answers[2], answers[2])
    if KEPT:
        time.sleep(0.5)  # a reply is written while its client already reads it
        chat = kept(client, prompts)
        folded(chat, prompts)


def kept(client, prompts):
    """Every message is in the log once, and what is no turn of the chat is apart from it; the lane of the chat."""
    every = lanes()
    chats = [lane for lane in every if lane.having(prompts[1], "user")]
    holds("one lane is the chat", len(chats) == 1, [lane.messages for lane in every])
    chat = chats[0]
    for prompt in prompts:
        holds(f"asked once: {prompt}", len(chat.having(prompt, "user")) == 1, chat.messages)
    for name in ("berths", "pilots", "gate", "crew", "cargo"):
        lines = (PROJECT / f"{name}.txt").read_text().splitlines()
        found = [message for message in chat.messages if all(any(line in text for text in strings(message)) for line in lines)]
        holds(f"{name} was read once, and is whole", len(found) == 1, chat.messages)
    for tool in OWN:
        holds(f"no reply calls {tool}", not chat.having(tool, "assistant"), chat.messages)
    if client.titles:
        titles = [lane for lane in every if lane.having("A scripted title", "assistant")]
        holds("the title has a lane of its own", len(titles) == 1 and titles[0] is not chat, [lane.messages for lane in every])
    if client.subagent:
        found = [lane for lane in every if lane.having((PROJECT / "tides.txt").read_text().splitlines()[5])]
        holds("the sub-agent has a lane of its own", len(found) == 1 and found[0] is not chat, [lane.messages for lane in every])
        holds("and what it said is in the chat", chat.having(WATER), chat.messages)
    return chat


def folded(chat, prompts):
    """In the last turn the model was shown notes in the place of the first, or placeholders of what it read then."""
    asked = [request for request in arrived() if any(prompts[2] in text for text in strings(request))]
    holds("the model was asked the last question", asked)
    if os.environ["FOLDS"]:
        views = [json.loads(line) for line in scrollback("show", chat.session, "--views")]
        holds("the last window is folded", views and views[-1]["fold"], views)
        pages = [json.loads(line) for line in scrollback("show", chat.session, "--pages")]
        holds("the first turn is a page", any("When does the gate open?" in (page.get("title") or "") for page in pages), pages)
    else:
        holds("what was read is held", any("[Tool result h" in text for text in strings(asked[-1])), asked[-1])
    line = (PROJECT / "pilots.txt").read_text().splitlines()[40]
    holds("the last requests do not hold the first turn", not any(line in text for request in asked for text in strings(request)), asked[-1])
    whole = [request for request in arrived() if any(line in text for text in strings(request))]
    holds("the first turn's requests did", whole)


if __name__ == "__main__":
    main()
