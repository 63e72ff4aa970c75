"""`python -m tests.fakes.tools stdio [--journal FILE] [...]`"""

from tests.fakes.tools.server import main

main()
