"""XML parser whose nodes carry line and column; safe for untrusted input: no DTD, no entities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from softmachine.support.errors import Place, SourceError

DEEPEST = 32


@dataclass
class XmlNode:
    """An element: tag, attributes, own text (without that of its children), children and location."""

    tag: str
    attributes: dict[str, str]
    place: Place
    text: str = ""
    children: list[XmlNode] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[XmlNode]:
        """The children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> XmlNode | None:
        """The first child with this tag, if there is one."""
        return next(self.all(tag), None)

    def text_of(self, tag: str) -> str | None:
        """The stripped text of the first child with this tag; None if there is no such child."""
        child = self.first(tag)
        return None if child is None else child.text.strip()


def read_xml(text: str, source: str) -> XmlNode:
    """Parse a document; returns its root element."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser, ParseError

    builder = _Builder(source)
    parser = builder.parser = DefusedXMLParser(target=builder, forbid_dtd=True)
    try:
        parser.feed(text)
        parser.close()
    except DefusedXmlException:
        raise SourceError(
            "a document type or entities are declared here, which is not supported",
            place=builder.place(),
            hint="remove <!DOCTYPE ...>; JFLAP writes none",
        ) from None
    except ParseError as error:
        problem = str(error).partition(":")[0]
        raise SourceError(f"cannot read this as XML: {problem}", place=builder.place()) from None
    except ValueError as error:
        raise SourceError(f"cannot read this as XML: {error}", place=Place(source)) from None
    return builder.open[0].children[0]


class _Builder:
    """Target of the XML parser, which it also queries for the location. The outermost open node is the document."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.parser: Any = None
        self.open = [XmlNode("", {}, Place(source))]

    def place(self) -> Place:
        expat = self.parser.parser
        return Place(self.source, expat.CurrentLineNumber, expat.CurrentColumnNumber + 1)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        node = XmlNode(tag, dict(attributes), self.place())
        if len(self.open) > DEEPEST:
            raise SourceError(f"elements are nested more than {DEEPEST} deep", place=node.place)
        self.open[-1].children.append(node)
        self.open.append(node)

    def end(self, tag: str) -> None:  # noqa: ARG002 - the parser has checked that it is the innermost element's
        self.open.pop()

    def data(self, data: str) -> None:
        self.open[-1].text += data
