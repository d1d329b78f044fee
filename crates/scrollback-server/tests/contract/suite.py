"""The API against its own description (OpenAPI): all that can be read is read and held against it; then schemathesis asks what
nobody would ask. No answer may be a failure of ours, have a status or a shape that is not described, or accept what is forbidden."""

import json
import os
import pathlib
import subprocess
import sys

from seed import Api, seeded
from walk import HELD, done, settle, walked

BASE = os.environ["PROXY"]
HOME = pathlib.Path(os.environ["HOME_FOLDER"])

# Words that stand for something here; the rest of the time any text is tried.
WORDS = {
    "path.m": ["m0", "m1", "m7", "m12", "m99999"],
    "path.n": ["0", "4", "m8", "99999"],
    "path.h": ["h2", "h3"],
    "path.t": ["t0", "t8", "t99999"],
    "path.v": ["newest", "v0", "v2", "v2.2"],
    "path.a": ["a0", "a1", "a4"],
    "path.s": ["s1", "s20", "s40"],
    "path.r": ["r0.1", "r0.2", "r2.1"],
    "path.name": ["0", "s40", "a0", "laptop"],
    "query.cursor": ["1", "29384719-1", "h2", "0000000004-0000000000000000"],
    "query.words": ["crane", "茶叶罐"],
    "query.with": ["newest", "v0"],
    "query.before": ["m4"],
    "query.after": ["m4"],
    "query.around": ["m4"],
}
# A request that never ends cannot be held against a description of its end; `tests/chat/live.rs` looks at its events.
ENDLESS = "/api/events"
SECONDS = 25


def settings(sessions):
    """How schemathesis is to ask."""
    bound = WORDS | {"path.id": list(sessions.values()), "query.session": ["held"]}
    lines = ["[generation]", "deterministic = true", "max-examples = 8", "allow-x00 = true"]
    for name, values in bound.items():
        key = name.replace(".", "-")
        lines += [f"[dictionaries.{key}]", f"values = {json.dumps(values, ensure_ascii=False)}"]
        lines += ["[parameters.{}]".format(json.dumps(name)), f'dictionary = "{key}"', "probability = 0.8"]
    return "\n".join(lines) + "\n"


def main():
    api = Api(BASE)
    sessions = seeded(BASE, os.environ["EXPORTS"])
    settle(api, sessions)
    answered = walked(api, BASE, sessions.values())
    silent = sorted(path for path, times in answered.items() if times == 0)
    print(f"{sum(answered.values())} answers of {len(answered)} routes are as described")
    assert not silent, f"never answered, so nothing is known of them: {silent}"
    print(f"{done(BASE, sessions['pages'])} deeds as well")
    config = HOME / "schemathesis.toml"
    config.write_text(settings(sessions))
    checks = ",".join([*HELD, "negative_data_rejection", "unsupported_method"])
    asked = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{BASE}/api/openapi.json"]
    asked += ["--checks", checks, "--exclude-path", ENDLESS, "--phases", "examples,coverage,fuzzing", "--max-time", str(SECONDS)]
    # One at a time: the parser of some Pythons fails where threads use it together.
    asked += ["--workers", "1", "--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off", "--no-color"]
    sys.exit(subprocess.run(asked, cwd=HOME).returncode)


main()
