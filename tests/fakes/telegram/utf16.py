"""Telegram counts UTF-16 code units."""


def utf16_length(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)


def utf16_offset(text: str, index: int) -> int:
    """Where the character at `index` begins, in UTF-16 code units."""
    return utf16_length(text[:index])


def utf16_boundaries(text: str) -> frozenset[int]:
    """Every offset that does not lie inside a surrogate pair, the end included."""
    offsets = {0}
    position = 0
    for char in text:
        position += 2 if char > "\uffff" else 1
        offsets.add(position)
    return frozenset(offsets)


def byte_offset(text: str, index: int) -> int:
    return len(text[:index].encode("utf-8", "surrogatepass"))
