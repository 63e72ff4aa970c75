"""What must be true of files that people sent, whatever happened meanwhile."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Final

from sqlalchemy import text as verbatim

from core.store.checks import check
from core.store.files import FILES, Files
from core.store.sql import Sql
from tests.crash.daemon import Daemon

_SAID: Final = Sql(verbatim("SELECT text, data FROM entries WHERE kind = 'user' ORDER BY id"))
_FATES: Final = Sql(verbatim("SELECT fate, enclosed FROM inbox ORDER BY id"))
_ATTACHED: Final = Sql(verbatim("SELECT digest FROM attachments WHERE entry_id IS NOT NULL ORDER BY id"))


def audit_files(daemon: Daemon, contents: Collection[bytes]) -> None:
    """Every message, one for each content, is one entry with its file, which is kept, and has its fate."""
    files = Files(daemon.state / FILES)
    with daemon.reading() as tx:
        assert check(tx) == []
        said = [json.loads(row.text("data"))["files"] for row in tx.all(_SAID)]
        fates = [(row.text_or_none("fate"), row.text_or_none("enclosed")) for row in tx.all(_FATES)]
        kept = [row.text("digest") for row in tx.all(_ATTACHED)]
    assert fates == [("answered", None)] * len(contents)
    wanted = sorted(hashlib.sha256(content).hexdigest() for content in contents)
    assert sorted(one.get("digest", one.get("frontdesk_file")) for [one] in said) == wanted
    assert sorted(kept) == wanted
    assert {files.get(digest) for digest in wanted} == set(contents)
