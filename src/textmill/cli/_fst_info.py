"""What `textmill fst info` prints, in the words and the order of fstinfo."""

from __future__ import annotations

from textmill.cli import _fst_files as files

__all__ = ["facts"]

_FILTERS = {"any": "", "epsilon": "epsilon ", "iepsilon": "input-epsilon ", "oepsilon": "output-epsilon "}
_PROPERTIES = {  # ours, and the words
    "acceptor": "acceptor",
    "input_deterministic": "input deterministic",
    "output_deterministic": "output deterministic",
    "epsilons": "input/output epsilons",
    "input_epsilons": "input epsilons",
    "output_epsilons": "output epsilons",
    "input_sorted": "input label sorted",
    "output_sorted": "output label sorted",
    "weighted": "weighted",
    "cyclic": "cyclic",
    "initial_cyclic": "cyclic at initial state",
    "top_sorted": "top sorted",
    "accessible": "accessible",
    "coaccessible": "coaccessible",
    "string": "string",
    "weighted_cycles": "weighted cycles",
}


def facts(source: str, arc_filter: str, info_type: str, *, test: bool, verify: bool) -> dict[str, object]:
    """Names and values; None is a property that is not known."""
    from textmill.fst.compare import verify as check
    from textmill.fst.facts import info
    from textmill.fst.formats import file_types, from_bytes
    from textmill.model import check_choice

    check_choice("arc_filter", arc_filter, list(_FILTERS))
    check_choice("info_type", info_type, ["auto", "long", "short", "fast"])
    content, name = files.read_bytes(source), "standard input" if files.is_stream(source) else source
    fst = from_bytes(content, source=name)
    fst_type, arc_type = file_types(content, source=name)
    if verify:
        check(fst)
    head: dict[str, object] = {
        "fst type": fst_type,
        "arc type": arc_type,
        "input symbol table": "none" if fst.input_symbols is None else fst.input_symbols.name,
        "output symbol table": "none" if fst.output_symbols is None else fst.output_symbols.name,
    }
    if info_type == "short":
        return head
    figures = info(fst, arc_filter=arc_filter, test=test)
    kind = _FILTERS[arc_filter]
    properties = {name: figures.get(name) for name in _PROPERTIES}
    return {
        **head,
        "# of states": figures["states"],
        "# of arcs": figures["arcs"],
        "initial state": figures["start"],
        "# of final states": figures["final states"],
        "# of input/output epsilons": figures["double epsilons"],
        "# of input epsilons": figures["input epsilons"],
        "# of output epsilons": figures["output epsilons"],
        "input label multiplicity": figures["input label multiplicity"],
        "output label multiplicity": figures["output label multiplicity"],
        f"# of {kind}accessible states": figures["accessible states"],
        f"# of {kind}coaccessible states": figures["coaccessible states"],
        f"# of {kind}connected states": figures["connected states"],
        f"# of {kind}connected components": figures["connected components"],
        f"# of {kind}strongly conn components": figures["strongly connected components"],
        "input matcher": properties["input_sorted"],
        "output matcher": properties["output_sorted"],
        "input lookahead": False,
        "output lookahead": False,
        "expanded": True,
        "mutable": fst_type == "vector",
        "error": False,
        **{words: properties[name] for name, words in _PROPERTIES.items()},
    }
