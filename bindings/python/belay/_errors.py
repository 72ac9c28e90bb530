"""The error of all functions."""

from __future__ import annotations

from typing import Any, Dict, List, Optional


class Error(Exception):
    """An error of the library.

    Attributes:
      status: the name of the status, such as "INVALID_ARGUMENT" (docs/python.md lists them).
      message: the reason. A refusal lists the nodes, in at most 100 lines.
      nodes: of a refusal by lowering, a dict per node with the strings "method", "node", "operator", "source" and
        "reason"; otherwise empty.
    """

    def __init__(self, status: str, message: str, nodes: Optional[List[Dict[str, Any]]] = None):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.nodes = nodes or []

    def __reduce__(self):
        return (Error, (self.status, self.message, self.nodes))
