"""YAML as a tree of nodes that know their line and column, safe to read from anyone.

Only the structure is used: every scalar is the text that was written (`0`, `01`, `yes` and `null` are strings), so that
symbols and states keep their names. Anchors are refused, and so is nesting that no machine needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from softmachine.support.errors import Place, SourceError

DEEPEST = 32


@dataclass(frozen=True)
class YamlNode:
    """A scalar, a list or a mapping.

    Args:
        kind: "single value", "list" or "mapping".
        place: Where it begins.
        text: What a scalar says.
        style: How a scalar is written: "" (plain), "'", '"', "|" or ">".
        items: The entries of a list.
        pairs: The keys and values of a mapping.
    """

    kind: str
    place: Place
    text: str = ""
    style: str = ""
    items: tuple[YamlNode, ...] = ()
    pairs: tuple[tuple[YamlNode, YamlNode], ...] = ()

    @property
    def is_null(self) -> bool:
        """Whether this is what YAML calls null: nothing, ``~`` or ``null``, without quotes."""
        return self.kind == "single value" and not self.style and self.text in ("", "~", "null", "Null", "NULL")

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """The error that something is wrong here."""
        return SourceError(message, place=self.place, hint=hint)

    def scalar(self, what: str) -> str:
        """The text of a scalar."""
        if self.kind != "single value":
            raise self.error(f"{what} should be a single value, not a {self.kind}")
        return self.text

    def scalars(self, what: str) -> Iterator[tuple[str, YamlNode]]:
        """The scalars of a list with their texts; a scalar stands for a list of one."""
        for node in self.items if self.kind == "list" else (self,):
            yield node.scalar(f"an entry of {what}"), node

    def rows(self, what: str) -> tuple[tuple[YamlNode, YamlNode], ...]:
        """The keys and values of a mapping; null is an empty one."""
        if self.kind != "mapping" and not self.is_null:
            raise self.error(f"{what} should be a mapping (key: value), not a {self.kind}")
        return self.pairs

    def entries(self, what: str) -> dict[str, tuple[YamlNode, YamlNode]]:
        """A mapping by the texts of its keys, which come once each: text -> (key, value)."""
        result: dict[str, tuple[YamlNode, YamlNode]] = {}
        for key, value in self.rows(what):
            name = key.scalar(f"a key of {what}")
            if name in result:
                raise key.error(f"{name!r} is there twice in {what}; the first time at {result[name][0].place}")
            result[name] = (key, value)
        return result


def read_yaml(text: str, place: Place) -> YamlNode:
    """The outermost node of a document.

    Args:
        text: The document.
        place: Where it begins. Without a column, its lines and columns are not those of the file.

    Raises:
        SourceError: If it is not YAML, or empty.
    """
    import yaml

    try:
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        next(events)
        if isinstance(next(events), yaml.StreamEndEvent):
            raise SourceError("there is nothing in this document", place=place)
        node = _node(events, place)
        next(events)
        if not isinstance(event := next(events), yaml.StreamEndEvent):
            raise _unreadable("but found another document", _place(event.start_mark, place))
    except yaml.MarkedYAMLError as error:
        problem = (error.problem or "this is not YAML").replace("character '\\t'", "a tab")
        raise _unreadable(problem, _place(error.problem_mark, place)) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _unreadable(str(error).partition("\n")[0], place) from None
    assert node is not None  # A document is not over before it began.
    return node


def read_embedded(node: YamlNode, text: str, what: str) -> YamlNode:
    """The outermost node of the document that is the text of a scalar.

    Args:
        node: The scalar.
        text: The document that the scalar is in.
        what: What to call the embedded document.

    Raises:
        SourceError: If it is not YAML, or empty.
    """
    inner, line = node.scalar(what), node.place.line or 1
    pairs = zip(text.replace("\r\n", "\n").split("\n")[line:], inner.split("\n"), strict=False)
    indents = {len(outer) - len(within) for outer, within in pairs if within.strip() and outer.endswith(within)}
    # Only in a literal block are the lines of the inner document lines of the outer one.
    literal = node.style == "|" and len(indents) == 1
    place = Place(node.place.source, line + 1, indents.pop() + 1) if literal else Place(node.place.source, line)
    return read_yaml(inner, place)


def _place(mark: Any, origin: Place) -> Place:
    """Where in its file a mark of a document that begins at the origin is."""
    if mark is None or origin.column is None:
        return origin
    return Place(origin.source, (origin.line or 1) + mark.line, origin.column + mark.column)


def _unreadable(problem: str, place: Place) -> SourceError:
    return SourceError(f"cannot read this as YAML: {problem}", place=place)


def _node(events: Iterator[Any], origin: Place, depth: int = 1) -> YamlNode | None:
    """The node that comes next; None where a list or a mapping ends."""
    import yaml

    event = next(events)
    place = _place(event.start_mark, origin)
    if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
        return None
    if event.anchor:
        problem = "anchors and aliases (&x, *x) are not supported; write it out, or use synonyms"
        raise _unreadable(problem, place)
    if depth > DEEPEST:
        raise _unreadable(f"lists and mappings are nested more than {DEEPEST} deep", place)
    if isinstance(event, yaml.ScalarEvent):
        return YamlNode("single value", place, text=event.value, style=event.style or "")
    children = tuple(iter(lambda: _node(events, origin, depth + 1), None))
    if isinstance(event, yaml.SequenceStartEvent):
        return YamlNode("list", place, items=children)
    return YamlNode("mapping", place, pairs=tuple(zip(children[::2], children[1::2], strict=True)))
