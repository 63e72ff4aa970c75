"""Whose a new file is. Root works in state directories of others: what it makes there must be theirs."""

from __future__ import annotations

import os
from pathlib import Path


def adopt(path: Path, like: Path) -> None:
    """Give a file or folder that was just made to the owner of `like`, if we are root. Raises `OSError`.

    A service that runs as another user could not open it otherwise: systemd hands a state directory over as a whole
    only if the directory itself has another owner (systemd.exec(5), StateDirectory=).
    """
    if os.geteuid() == 0:
        owner = like.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
