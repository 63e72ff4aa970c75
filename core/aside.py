"""Work on a thread that nobody waits for when the process ends: loading an SDK takes a second, a file may be a pipe."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """What the work returns or raises. It changes nothing, since it may be left in the middle."""
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    threading.Thread(target=_do, args=(work, future), name="aside", daemon=True).start()
    return await asyncio.wrap_future(future)


def _do(work: Callable[[], T], future: concurrent.futures.Future[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001  # aside: whatever it is goes to the one who awaits it
        future.set_exception(error)
    else:
        future.set_result(result)
