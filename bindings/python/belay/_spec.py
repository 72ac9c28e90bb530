"""The structure of a model's arguments and results, as torch.export stores it (a pytree spec in JSON)."""

from __future__ import annotations

import json
from typing import Any, Callable, List, Optional

_MAX_DEPTH = 64


class _Node:
    """A container or a leaf of a spec."""

    __slots__ = ("kind", "keys", "children", "leaves")

    def __init__(self, spec: Any, depth: int = 0):
        if not isinstance(spec, dict) or depth > _MAX_DEPTH:
            raise ValueError("not a spec")
        self.children = [_Node(child, depth + 1) for child in spec.get("children_spec", [])]
        self.kind = spec.get("type")
        self.keys: List[str] = []
        if self.kind is None and not self.children:
            self.leaves = 1
            return
        if self.kind == "builtins.dict":
            self.keys = json.loads(spec["context"])
            if len(self.keys) != len(self.children):
                raise ValueError("not a spec of a dict")
        elif self.kind not in ("builtins.tuple", "builtins.list"):
            raise ValueError(f"unknown container {self.kind}")
        self.leaves = sum(child.leaves for child in self.children)

    def unflatten(self, values) -> Any:
        """Takes this node's leaves from an iterator."""
        if self.kind is None:
            return next(values)
        children = [child.unflatten(values) for child in self.children]
        if self.kind == "builtins.dict":
            return dict(zip(self.keys, children))
        return tuple(children) if self.kind == "builtins.tuple" else children

    def flatten(self, value: Any, path: str, leaves: List[Any]) -> None:
        """Appends the leaves of a value of this structure; raises ValueError with the path."""
        if self.kind is None:
            leaves.append(value)
        elif self.kind == "builtins.dict":
            if not isinstance(value, dict) or set(value) != set(self.keys):
                got = sorted(map(str, value)) if isinstance(value, dict) else type(value).__name__
                raise ValueError(f"{path}: expected a dict with {sorted(self.keys)}, got {got}")
            for key, child in zip(self.keys, self.children):
                child.flatten(value[key], f"{path}[{key!r}]", leaves)
        else:
            if not isinstance(value, (list, tuple)) or len(value) != len(self.children):
                got = len(value) if isinstance(value, (list, tuple)) else type(value).__name__
                raise ValueError(f"{path}: expected {len(self.children)} elements, got {got}")
            for i, child in enumerate(self.children):
                child.flatten(value[i], f"{path}[{i}]", leaves)


def _parse(spec: str, leaves: int) -> Optional[_Node]:
    try:
        node = _Node(json.loads(spec)[1])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return node if node.leaves == leaves else None


def result_builder(spec: str, count: int) -> Callable[[List[Any]], Any]:
    """Returns a function from the outputs to the value that the model returns.

    Without a usable spec, one output is returned as it is, several as a tuple.
    """
    node = _parse(spec, count)
    if node is None:
        return (lambda outputs: outputs[0]) if count == 1 else tuple
    if node.kind is None:
        return lambda outputs: outputs[0]
    if node.kind == "builtins.tuple" and all(child.kind is None for child in node.children):
        return tuple
    return lambda outputs: node.unflatten(iter(outputs))


class ArgumentReader:
    """Flattens the arguments of a call to the inputs of the method."""

    def __init__(self, spec: str, count: int):
        self.count = count
        node = _parse(spec, count)
        valid = node is not None and node.kind == "builtins.tuple" and len(node.children) == 2
        self._positional = node.children[0] if valid else None
        self._named = node.children[1] if valid else None
        # Each positional argument is an input.
        self.is_flat = not valid or (
            not self._named.children and all(child.kind is None for child in self._positional.children)
        )

    def __call__(self, args, kwargs) -> List[Any]:
        """Raises ValueError if the arguments have another structure. Inputs given one by one are accepted as well."""
        if self._positional is not None:
            given = len(args) == len(self._positional.children)
            if given and set(kwargs) == set(self._named.keys):
                leaves: List[Any] = []
                self._positional.flatten(args, "arguments", leaves)
                self._named.flatten(kwargs, "keywords", leaves)
                return leaves
        if not kwargs and len(args) == self.count:
            return list(args)
        named = self._named.keys if self._named is not None else []
        expected = len(self._positional.children) if self._positional is not None else self.count
        text = f"expected {expected} arguments" + (f" and the keywords {sorted(named)}" if named else "")
        raise ValueError(f"{text}, got {len(args)}" + (f" and {sorted(kwargs)}" if kwargs or named else ""))
