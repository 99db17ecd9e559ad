"""What a drawing says when the pointer rests on a point: titles inside the elements of an SVG.

Matplotlib has no tooltips. A set of points gets an id, under which its SVG has one element per point, in their order;
`with_titles` puts the texts there. Points that are drawn as one image (very many) have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["add_tooltips", "with_titles"]

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_DRAWN = {f"{{{_SVG}}}use", f"{{{_SVG}}}path"}


def add_tooltips(points: Any, texts: Sequence[str], number: int) -> None:
    """Give each point of scatter `number` of a figure that has a place its text."""
    if texts:
        points.set_gid(f"points-{number}")
        points.textmill_tooltips = list(texts)


def with_titles(svg: bytes, figure: Figure) -> bytes:
    """The SVG of a figure, with a title in every point that has a text."""
    artists = [artist for artist in figure.findobj() if hasattr(artist, "textmill_tooltips")]
    if not artists:
        return svg
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    root = ElementTree.fromstring(svg)
    groups = {element.get("id"): element for element in root.iter(f"{{{_SVG}}}g")}
    for artist in artists:
        group, texts = groups.get(artist.get_gid()), artist.textmill_tooltips
        if group is None:
            continue
        inside = {part for defs in group.iter(f"{{{_SVG}}}defs") for part in defs.iter()}
        drawn = [element for element in group.iter() if element.tag in _DRAWN and element not in inside]
        if len(drawn) == len(texts):
            for element, text in zip(drawn, texts, strict=True):
                ElementTree.SubElement(element, f"{{{_SVG}}}title").text = text
    titled: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return titled
