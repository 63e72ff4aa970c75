"""Which links Telegram takes in texts and buttons."""

import re
from urllib.parse import urlsplit

_TG_LINK = re.compile(r"(tg|ton|tonsite)://?.+", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_HOST = re.compile(r"([^\s.:/?#@]+\.)+[^\s.:/?#@]{2,}|localhost|\[[0-9a-f:]+\]", re.IGNORECASE)
_MAIL = re.compile(r"mailto:[^@\s]+@[^@\s]+\.[^@\s]+|tel:\+?[0-9()-]+", re.IGNORECASE)


def link_fault(url: str) -> str | None:
    """Why Telegram refuses the link; None for a good one. A link without a scheme counts as http."""
    if not url:
        return "URL host is empty"
    if _TG_LINK.fullmatch(url) or _MAIL.fullmatch(url):
        return None
    scheme = _SCHEME.match(url)
    if "://" in url and scheme is not None and scheme[1].lower() not in {"http", "https"}:
        return "Unsupported URL protocol"
    try:
        host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    except ValueError:
        return "Wrong HTTP URL"
    if not host:
        return "URL host is empty"
    if any(char.isspace() for char in url) or not _HOST.fullmatch(host):
        return "Wrong HTTP URL"
    return None
