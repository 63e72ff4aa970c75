"""What is known of the tries of one part."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.store.deliveries import Posted
from core.vocabulary import DeliveryId


@dataclass(slots=True)
class Trial:
    """`doubtful`: one of them may have arrived, the first of these at `since` or later."""

    part: DeliveryId
    since: datetime
    doubtful: bool

    def goes_on(self, now: datetime) -> datetime | None:
        """It is tried now; since when it may be there already."""
        if self.doubtful:
            return self.since
        self.since = now
        return None


def begin(posted: Posted) -> Trial:
    """The first try in this process, which is counted already. Another may have tried before."""
    return Trial(part=posted.id, since=posted.created_at, doubtful=posted.attempts > 1)
