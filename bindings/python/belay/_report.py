"""Reports of lowering and profiles."""

from __future__ import annotations

import json
from typing import Any, Dict, List


class Report:
    """The report of lowering or quantizing. str() is a summary, `json` has everything; in a notebook it is an HTML page.

    Attributes:
      text: memory, the share of each backend, and why nodes were not delegated; or the losses of quantization.
      json: a dict, as `belay lower --report` (docs/reading-a-report.md) or `belay quantize --json` writes it.
    """

    def __init__(self, text: str, report: Dict[str, Any], html: str):
        self.text = text
        self.json = report
        self._html = html

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def html(self) -> str:
        """The page of `belay lower --html` or `belay quantize --html`: one file without references."""
        return self._html

    def _repr_html_(self) -> str:
        quoted = self._html.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{quoted}" style="width:100%;height:640px;border:0"></iframe>'


class Profile:
    """Times of calls. Rows are dicts with `name`, `share`, `mean_ms`, `p50_ms`, `p90_ms` and `count`."""

    def __init__(self, text: str):
        self.json: Dict[str, Any] = json.loads(text)

    def by_operator(self) -> List[Dict[str, Any]]:
        """Sums by operator, slowest first."""
        return self.json["by_operator"]

    def by_module(self) -> List[Dict[str, Any]]:
        """Sums by module of the model."""
        return self.json["by_module"]

    def by_source(self) -> List[Dict[str, Any]]:
        """Sums by source line."""
        return self.json["by_source"]

    def by_backend(self) -> List[Dict[str, Any]]:
        """Sums by backend."""
        return self.json["by_backend"]

    def instructions(self) -> List[Dict[str, Any]]:
        """Each instruction, slowest first."""
        return self.json["instructions"]

    def __repr__(self) -> str:
        return f"<belay.Profile: {self.json['runs']} calls>"
