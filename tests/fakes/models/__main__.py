"""`python -m tests.fakes.models --port 0`: the double as a process of its own, until it is killed or stdin ends.

The first line of stdout is its URL; the second, its key. Without options it repeats what it is told.
"""

import argparse
import sys

from tests.fakes.models.control import CONTEXT_TOKENS, KEY
from tests.fakes.models.replies import Delayed, Paced, Reply, Say
from tests.fakes.models.server import ThreadedModelServer


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.models", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--key", default=KEY)
    parser.add_argument("--context", type=int, default=CONTEXT_TOKENS, help="the limit in tokens")
    parser.add_argument("--say", metavar="TEXT", help="answer this")
    parser.add_argument("--per-s", type=float, metavar="N", help="answer in deltas, N a second")
    parser.add_argument("--tokens", type=int, default=90, metavar="N", help="with --per-s: this many deltas")
    parser.add_argument("--delay-s", type=float, metavar="S", help="answer at once, after S seconds")
    return parser.parse_args(arguments)


def default_reply(options: argparse.Namespace) -> Reply | None:
    """What the options ask for; None: an echo."""
    text = options.say or "The quick brown fox jumps over the lazy dog."
    if options.per_s is not None:
        return Paced(text, per_s=options.per_s, tokens=options.tokens)
    if options.delay_s is not None:
        return Delayed(options.delay_s, text)
    return Say(options.say) if options.say else None


def main() -> None:
    options = parsed(sys.argv[1:])
    reply = default_reply(options)
    with ThreadedModelServer(options.port, key=options.key, context_tokens=options.context) as server:
        if reply is not None:
            server.always(reply)
        print(server.url, server.key, sep="\n", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
