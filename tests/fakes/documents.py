"""Documents made by hand: PDFs as ISO 32000 has them, good ones and such as are made to harm a reader."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

from pypdf import PdfReader, PdfWriter

CATALOG, TREE, FONT = 1, 2, 3
FIRST = 4
"""The number of the first object that is a page's."""


def assembled(objects: Sequence[bytes]) -> bytes:
    """A file of these objects, numbered from 1; the first is the catalog."""
    whole = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(whole))
        whole += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(whole)
    whole += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    whole += b"".join(b"%010d 00000 n \n" % place for place in places)
    whole += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(whole)


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %b>>\nstream\n%b\nendstream" % (len(data), more, data)


def page(contents: int) -> bytes:
    return (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>" % contents
    )


def head(kids: str, count: int, font: bytes = b"") -> list[bytes]:
    """Catalog, page tree, font."""
    return [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids.encode(), count),
        font or b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]


def words(text: str) -> bytes:
    """What draws a text: a line for each of its lines."""
    lines = [line.encode("latin-1") for line in text.split("\n")]
    return b"BT /F1 12 Tf 14 TL 72 720 Td " + b"".join(b"(%b) Tj T* " % line for line in lines) + b"ET"


def pdf(*texts: str) -> bytes:
    """One page for each text, in latin-1 and without brackets."""
    kids = " ".join(f"{FIRST + 2 * index} 0 R" for index in range(len(texts)))
    objects = head(kids, len(texts))
    for index, text in enumerate(texts):
        objects += [page(FIRST + 2 * index + 1), stream(words(text))]
    return assembled(objects)


def encrypted(data: bytes, password: str, owner: str = "owner") -> bytes:
    """The same, to be opened with a password; "" is what every reader tries first."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, owner, algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def same_page_often(times: int) -> bytes:
    """One page that the tree names so often."""
    return assembled([*head(f"{FIRST} 0 R " * times, times), page(FIRST + 1), stream(words("again"))])


def tree_in_itself() -> bytes:
    """A page tree that has itself for a child."""
    return assembled(head("2 0 R", 1))


def inflating(mib: int) -> bytes:
    """A page whose contents are a few kilobytes that become so many MiB."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(mib)) + packer.flush()
    return assembled([*head(f"{FIRST} 0 R", 1), page(FIRST + 1), stream(packed, b"/Filter /FlateDecode ")])


def working(mib: int) -> bytes:
    """A page that takes long to read: so many MiB of tiny texts."""
    return assembled([*head(f"{FIRST} 0 R", 1), page(FIRST + 1), stream(words("\n".join(["a"] * (mib << 17))))])


def with_half_a_character() -> bytes:
    """Its first page's one letter stands for a lone surrogate; its second page is plain."""
    mapping = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        b"1 begincodespacerange <00> <FF> endcodespacerange\n1 beginbfchar <41> <D83D> endbfchar\nendcmap end end"
    )
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 8 0 R >>"
    pages = [page(5), stream(words("A")), page(7), stream(words("plain"))]
    return assembled([*head("4 0 R 6 0 R", 2, font), *pages, stream(mapping)])
