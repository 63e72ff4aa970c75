"""What guests have used, counted on several threads."""

from __future__ import annotations

import sys
import threading
from collections import Counter

from core.desk.quota import HOUR_S, Quota


def test_several_writers_of_a_store_give_no_more_than_there_is() -> None:
    quota, given = Quota(HOUR_S), Counter[int]()

    def writer(number: int) -> None:
        given[number] = sum(quota.take("guest", 500, 0.0, f"{number}-{n}") for n in range(500))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=writer, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert sum(given.values()) == 500
