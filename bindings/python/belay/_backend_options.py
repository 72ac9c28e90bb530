"""Options of backends: dicts to belay_backend_option and back."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from ._errors import Error
from ._library import BOOL, INT, STRING, BackendOption

OptionValue = Union[bool, int, str]
BackendOptions = Dict[str, Dict[str, OptionValue]]


def option_of(backend: str, name: str, value: Any) -> BackendOption:
    """Raises Error: INVALID_ARGUMENT for a value that is not a bool, an int of 64 bits or a str."""
    option = BackendOption(backend=backend.encode(), name=name.encode())
    if isinstance(value, bool):
        option.kind, option.bool_value = BOOL, int(value)
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        option.kind, option.int_value = INT, value
    elif isinstance(value, str):
        option.kind, option.string_value = STRING, value.encode()
    else:
        raise Error(
            "INVALID_ARGUMENT",
            f"option '{name}' of backend '{backend}': expected bool, int of 64 bits or str, got {value!r}",
        )
    return option


def value_of(option: BackendOption) -> OptionValue:
    """The value of an option that the library set."""
    if option.kind == BOOL:
        return bool(option.bool_value)
    return option.int_value if option.kind == INT else option.string_value.decode("utf-8", "replace")


def options_of(options: Optional[Mapping[str, Mapping[str, OptionValue]]]) -> Any:
    """An array of all options, or None, and its length."""
    found = [option_of(backend, name, value) for backend, own in (options or {}).items() for name, value in own.items()]
    return ((BackendOption * len(found))(*found) if found else None), len(found)
