"""The description of the API in OpenAPI 3.0, which Swagger UI of our package and most makers of clients read.

FastAPI writes version 3.1, where a value that may be missing is "any of X and null"; in 3.0 it is a nullable X.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

__all__ = ["describe_in_3_0", "without_null"]


def describe_in_3_0(api: FastAPI) -> None:
    """Let an application describe itself in OpenAPI 3.0."""
    api.openapi_version = "3.0.3"
    describe = api.openapi

    def described() -> dict[str, Any]:
        if api.openapi_schema is None:
            api.openapi_schema = without_null(describe())
        return api.openapi_schema

    api.openapi = described  # type: ignore[method-assign]


def without_null(schema: Any) -> Any:
    """The same schema with nullable values instead of the type null.

    >>> without_null({"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Note"})
    {'title': 'Note', 'type': 'string', 'nullable': True}
    """
    if isinstance(schema, list):
        return [without_null(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: without_null(value) for name, value in schema.items()}
    choices = plain.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        rest = [choice for choice in choices if choice != {"type": "null"}]
        del plain["anyOf"]
        if len(rest) == 1 and "$ref" not in rest[0]:
            plain |= rest[0]
        else:
            plain["anyOf"] = rest
        plain["nullable"] = True
    return plain
