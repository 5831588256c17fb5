"""Parsed XML and YAML nodes that carry line and column; safe for untrusted input.

XML is parsed without DTD and entities. Of YAML only the structure is used: every scalar is its source text (`0`, `01`,
`yes` and `null` are strings), so that symbols and states keep their names. Anchors are rejected, and so is deep
nesting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from softmachine.support.errors import SourceError, SourceLocation

MAX_DEPTH = 32


@dataclass
class XmlNode:
    """An element: tag, attributes, own text (without that of its children), children and location."""

    tag: str
    attributes: dict[str, str]
    place: SourceLocation
    text: str = ""
    children: list[XmlNode] = field(default_factory=list)

    def children_with_tags(self, *tags: str) -> Iterator[XmlNode]:
        """The children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def first_child(self, tag: str) -> XmlNode | None:
        """The first child with this tag, if there is one."""
        return next(self.children_with_tags(tag), None)

    def text_of(self, tag: str) -> str | None:
        """The stripped text of the first child with this tag; None if there is no such child."""
        child = self.first_child(tag)
        return None if child is None else child.text.strip()


def parse_xml(text: str, source: str) -> XmlNode:
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
        raise SourceError(f"cannot read this as XML: {error}", place=SourceLocation(source)) from None
    return builder.open[0].children[0]


class _Builder:
    """Target of the XML parser, which it also queries for the location. The outermost open node is the document."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.parser: Any = None
        self.open = [XmlNode("", {}, SourceLocation(source))]

    def place(self) -> SourceLocation:
        expat = self.parser.parser
        return SourceLocation(self.source, expat.CurrentLineNumber, expat.CurrentColumnNumber + 1)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        node = XmlNode(tag, dict(attributes), self.place())
        if len(self.open) > MAX_DEPTH:
            raise SourceError(f"elements are nested more than {MAX_DEPTH} deep", place=node.place)
        self.open[-1].children.append(node)
        self.open.append(node)

    def end(self, tag: str) -> None:  # noqa: ARG002 - the parser has checked that it is the innermost element's
        self.open.pop()

    def data(self, data: str) -> None:
        self.open[-1].text += data


@dataclass(frozen=True)
class YamlNode:
    """A scalar, a list or a mapping.

    Args:
        kind: "single value", "list" or "mapping".
        place: Start of the node.
        text: The text of a scalar.
        style: How a scalar is written: "" (plain), "'", '"', "|" or ">".
        items: The entries of a list.
        pairs: The keys and values of a mapping.
    """

    kind: str
    place: SourceLocation
    text: str = ""
    style: str = ""
    items: tuple[YamlNode, ...] = ()
    pairs: tuple[tuple[YamlNode, YamlNode], ...] = ()

    @property
    def is_null(self) -> bool:
        """Whether this is YAML's null: empty, ``~`` or ``null``, without quotes."""
        return self.kind == "single value" and not self.style and self.text in ("", "~", "null", "Null", "NULL")

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error located at this node."""
        return SourceError(message, place=self.place, hint=hint)

    def scalar_text(self, what: str) -> str:
        """The text of a scalar."""
        if self.kind != "single value":
            raise self.error(f"{what} should be a single value, not a {self.kind}")
        return self.text

    def scalar_list(self, what: str) -> Iterator[tuple[str, YamlNode]]:
        """The scalars of a list with their texts; a scalar counts as a list of one."""
        for node in self.items if self.kind == "list" else (self,):
            yield node.scalar_text(f"an entry of {what}"), node

    def mapping_pairs(self, what: str) -> tuple[tuple[YamlNode, YamlNode], ...]:
        """The keys and values of a mapping; null is an empty one."""
        if self.kind != "mapping" and not self.is_null:
            raise self.error(f"{what} should be a mapping (key: value), not a {self.kind}")
        return self.pairs

    def mapping_by_key(self, what: str) -> dict[str, tuple[YamlNode, YamlNode]]:
        """A mapping by the texts of its keys, which must be distinct: text -> (key, value)."""
        result: dict[str, tuple[YamlNode, YamlNode]] = {}
        for key, value in self.mapping_pairs(what):
            name = key.scalar_text(f"a key of {what}")
            if name in result:
                raise key.error(f"{name!r} occurs twice in {what}, first at {result[name][0].place}")
            result[name] = (key, value)
        return result


def parse_yaml(text: str, place: SourceLocation) -> YamlNode:
    """Parse a document; returns its root node.

    Args:
        text: The document.
        place: Start of the document. Without a column, its lines and columns are not those of the file.

    Raises:
        SourceError: If it is not YAML, or empty.
    """
    import yaml

    try:
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        next(events)
        if isinstance(next(events), yaml.StreamEndEvent):
            raise SourceError("the document is empty", place=place)
        node = _parse_node(events, place)
        next(events)
        if not isinstance(event := next(events), yaml.StreamEndEvent):
            raise _syntax_error("but found another document", _place(event.start_mark, place))
    except yaml.MarkedYAMLError as error:
        problem = (error.problem or "this is not YAML").replace("character '\\t'", "a tab")
        raise _syntax_error(problem, _place(error.problem_mark, place)) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _syntax_error(str(error).partition("\n")[0], place) from None
    assert node is not None  # A document has a root node.
    return node


def parse_embedded(node: YamlNode, text: str, what: str) -> YamlNode:
    """Parse the document that is the text of a scalar; returns its root node.

    Args:
        node: The scalar.
        text: The document that contains the scalar.
        what: Name of the embedded document in messages.

    Raises:
        SourceError: If it is not YAML, or empty.
    """
    inner, line = node.scalar_text(what), node.place.line or 1
    pairs = zip(text.replace("\r\n", "\n").split("\n")[line:], inner.split("\n"), strict=False)
    indents = {len(outer) - len(within) for outer, within in pairs if within.strip() and outer.endswith(within)}
    # Only in a literal block do the lines of the inner document correspond to lines of the outer one.
    literal = node.style == "|" and len(indents) == 1
    place = (
        SourceLocation(node.place.source, line + 1, indents.pop() + 1)
        if literal
        else SourceLocation(node.place.source, line)
    )
    return parse_yaml(inner, place)


def _place(mark: Any, origin: SourceLocation) -> SourceLocation:
    """The location in the file of a mark in a document that begins at the origin."""
    if mark is None or origin.column is None:
        return origin
    return SourceLocation(origin.source, (origin.line or 1) + mark.line, origin.column + mark.column)


def _syntax_error(problem: str, place: SourceLocation) -> SourceError:
    return SourceError(f"cannot read this as YAML: {problem}", place=place)


def _parse_node(events: Iterator[Any], origin: SourceLocation, depth: int = 1) -> YamlNode | None:
    """Parse the next node; None at the end of a list or a mapping."""
    import yaml

    event = next(events)
    place = _place(event.start_mark, origin)
    if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
        return None
    if event.anchor:
        problem = "anchors and aliases (&x, *x) are not supported; write it out, or use synonyms"
        raise _syntax_error(problem, place)
    if depth > MAX_DEPTH:
        raise _syntax_error(f"lists and mappings are nested more than {MAX_DEPTH} deep", place)
    if isinstance(event, yaml.ScalarEvent):
        return YamlNode("single value", place, text=event.value, style=event.style or "")
    children = tuple(iter(lambda: _parse_node(events, origin, depth + 1), None))
    if isinstance(event, yaml.SequenceStartEvent):
        return YamlNode("list", place, items=children)
    return YamlNode("mapping", place, pairs=tuple(zip(children[::2], children[1::2], strict=True)))
