"""Cuts Markdown source into parts that fit one message each. Pure, and the same for every platform.

The caller says how large a part is once its platform has rendered it (`measure`); this module says where the source may be cut. It works
from one place in the source to the next: a window no longer than the limit is read line by line (fences, tables, list margins), the best
cut in it is taken, the part is measured, and a part that came out too large is taken again from a shorter window.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import NamedTuple

import regex  # type: ignore[import-untyped]

type_Measure = Callable[[str], int]
