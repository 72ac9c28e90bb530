"""Lowers PyTorch programs for edge devices and executes them. No dependency; torch and NumPy are optional.

    import belay, torch
    program = belay.lower(torch.export.export(model, (x,)))
    y = program(x)
    program.save("model.belay")

docs/python.md is the guide.
"""

from ._errors import Error
from ._lowering import Quantized, Verification, backends, compile, inspect, lower, quantize, verify
from ._program import Program, State, load
from ._report import Profile, Report
from ._text_model import Batch, Chat, Generation, Session, TextModel, Token
from ._version import __version__

__all__ = [
    "Batch",
    "Chat",
    "Error",
    "Generation",
    "Profile",
    "Program",
    "Quantized",
    "Report",
    "Session",
    "State",
    "TextModel",
    "Token",
    "Verification",
    "__version__",
    "backends",
    "compile",
    "inspect",
    "load",
    "lower",
    "quantize",
    "verify",
]
