"""A tool server for tests: a real MCP server, over stdio or streamable HTTP, spoken to by the real client.

`journal.command_line` gives the command of the one over stdio, `front.HttpToolServer` runs the one over HTTP inside the
test, and `journal.Journal` reads what either was asked. This module imports nothing, since the server over stdio is
started dozens of times.
Source: https://modelcontextprotocol.io/specification/2025-11-25
"""
