"""Lowering, verifying and inspecting."""

from __future__ import annotations

import ctypes
import io
import json
import os
import sys
import time
from ctypes import c_int32, c_void_p
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._errors import Error
from ._library import (
    Archive,
    File,
    LowerOptions,
    ProgressFunction,
    VerifyOptions,
    byref,
    call,
    lib,
    nanoseconds,
    require_compiler,
    strings,
    take_bytes,
)
from ._program import Program, open_program
from ._report import Report
from ._tensors import Buffer


def _is_exported(source: Any) -> bool:
    torch = sys.modules.get("torch")
    export = getattr(torch, "export", None)
    return export is not None and isinstance(source, getattr(export, "ExportedProgram", ()))


def _content(source: Any) -> Union[bytes, Buffer]:
    """The bytes of an archive that is not a path."""
    if _is_exported(source):
        import torch

        buffer = io.BytesIO()
        torch.export.save(source, buffer)
        return Buffer(buffer.getbuffer())
    try:
        return Buffer(source)
    except (TypeError, BufferError):
        raise TypeError(
            f"expected a torch.export.ExportedProgram, a path or bytes, got {type(source).__name__}"
        ) from None


def _archive(method: Optional[str], source: Any, keep: List[Any]) -> Archive:
    archive = Archive(method=None if method is None else method.encode())
    if isinstance(source, (str, os.PathLike)):
        archive.path = os.fsencode(source)
    else:
        content = _content(source)
        keep.append(content)
        archive.bytes, archive.size = content.pointer, content.size
    return archive


def _file(source: Any, keep: List[Any]) -> File:
    if isinstance(source, Program):
        source = source._path if source._content is None else source._content
    archive = _archive(None, source, keep)
    return File(path=archive.path, bytes=archive.bytes, size=archive.size)


class _Progress:
    """Shows the phase on a terminal once lowering takes two seconds."""

    def __init__(self):
        self._start = time.monotonic()
        self._shown = False

    def __call__(self, phase: str, done: float) -> None:
        if time.monotonic() - self._start >= 2:
            sys.stderr.write(f"\r\033[K{phase} {100 * done:.0f} %")
            sys.stderr.flush()
            self._shown = True

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _sources(source: Any) -> List[Any]:
    """Pairs of a method's name, or None, and its archive."""
    return list(source.items()) if isinstance(source, Mapping) else [(None, source)]


def _has_exported(source: Any) -> bool:
    return any(_is_exported(one) for _, one in _sources(source))


def _archives(source: Any, keep: List[Any]) -> Any:
    sources = _sources(source)
    return (Archive * len(sources))(*(_archive(name, one, keep) for name, one in sources))


def _set_common_options(options: LowerOptions, backends: Any, calibration: Any, max_size: Any) -> None:
    """Sets the options that are common to lowering and quantizing."""
    if isinstance(backends, str):
        backends = [backends]
    elif backends is not None:
        # Names without a method form one list of priorities; each entry with a method is separate.
        plain = [name for name in backends if ":" not in name]
        backends = [name for name in backends if ":" in name] + ([",".join(plain)] if plain else [])
    sizes = [] if max_size is None else max_size
    if isinstance(sizes, int):
        sizes = [str(sizes)]
    elif isinstance(sizes, Mapping):
        sizes = [f"{symbol}={bound}" for symbol, bound in sizes.items()]
    paths = [calibration] if isinstance(calibration, (str, os.PathLike)) else calibration
    options.calibration, options.num_calibration = strings(os.fspath(path) for path in paths)
    options.backends, options.num_backends = strings(backends or [])
    options.max_sizes, options.num_max_sizes = strings(sizes)


def _run(function: str, archives: Any, options: LowerOptions, progress: Any) -> Any:
    """Calls belay_lower or belay_quantize, and returns the file and the report."""
    shown = None
    if progress is None and sys.stderr is not None and sys.stderr.isatty():
        progress = shown = _Progress()
    if progress is not None:
        options.progress = ProgressFunction(
            lambda phase, done, context: progress(phase.decode("utf-8", "replace"), done)
        )
    handle = c_void_p()
    try:
        call(function, archives, len(archives), byref(options), byref(handle))
    finally:
        if shown is not None:
            shown.end()
    try:
        content = ctypes.string_at(lib.belay_lowered_bytes(handle), lib.belay_lowered_size(handle))
        report = Report(
            lib.belay_lowered_report_text(handle).decode("utf-8", "replace"),
            json.loads(lib.belay_lowered_report_json(handle)),
            lib.belay_lowered_report_html(handle).decode("utf-8", "replace"),
        )
    finally:
        lib.belay_lowered_free(handle)
    return content, report


def lower(
    source: Any,
    *,
    backends: Union[str, Sequence[str], None] = None,
    quantize: Optional[str] = None,
    calibration: Union[str, Sequence[str]] = (),
    max_loss: Optional[str] = None,
    node_losses: bool = False,
    compile_specs: Sequence[str] = (),
    max_size: Union[int, Mapping[str, int], None] = None,
    constant_methods: Optional[Mapping[str, Any]] = None,
    banks: Sequence[str] = (),
    data_files: Sequence[str] = (),
    memory_planner: Union[str, Mapping[str, str], None] = None,
    format: str = "belay",
    threads: int = 1,
    returns: Optional[str] = None,
    random_seed: int = 0,
    write_state_in_place: bool = False,
    tokenizer: Optional[str] = None,
    chat_template: Union[str, Sequence[str]] = (),
    fold_constants: bool = True,
    timeout: Optional[float] = None,
    limit_nodes: int = 0,
    limit_memory_bytes: int = 0,
    limit_work: int = 0,
    progress: Optional[Callable[[str, float], None]] = None,
) -> Program:
    """Lowers a model to a program.

    Args:
      source: a torch.export.ExportedProgram; the path or bytes of an archive of torch.export.save (.pt2) or of saved
        programs (.bir); or a dict from method names to these; or a program of ExecuTorch (.pte), which is converted:
        its XNNPACK delegates are compiled for the CPU backend, and only `data_files`, limits and `timeout` apply.
      backends: names in order of priority, such as "cpu" or ["xnnpack", "cpu"], or "none". "METHOD:NAMES" is for one
        method. None: "cpu".
      quantize: name of a quantization recipe, or a file of one that ends in .json.
      calibration: paths of calibration data for `quantize`: .npy files, or folders of them; "METHOD:PATH" is for one
        method.
      max_loss: bound of the loss over the calibration data: "snr=DB", "cosine=VALUE" or "mse=VALUE". The operators
        that cost most stay in float32.
      node_losses: reports the loss of the result of each node over the calibration data.
      compile_specs: options of backends, each "BACKEND:KEY=VALUE".
      max_size: upper bound of the sizes to which the model gives none; a dict from symbols to bounds for single ones.
      constant_methods: methods without arguments that return these numbers, bools or strings, or lists of them.
      banks: memories for activations, from the fastest to the slowest one, each "NAME=SIZE" or "NAME=SIZE:ALIGNMENT"
        with a size in bytes, "64K", "2M" or, for the last one, "unlimited".
      data_files: paths of the data files (.ptd) of a program of ExecuTorch.
      memory_planner: name of the planner of activations, or a dict from methods to names. None: the best of all.
      format: "belay", or "pte" for ExecuTorch 1.5.
      threads: of the returned program, as for `load`, and of the backends' preprocessing.
      returns: as for `load`; calls without tensors of programs from torch.export.ExportedProgram return torch tensors.
      random_seed: initial seed of the program's random numbers.
      write_state_in_place: updates buffers in place; a failed call leaves them partially written.
      tokenizer: path of a tokenizer.json that becomes part of the program, for TextModel.
      chat_template: path of a tokenizer_config.json or of a Jinja file, or both, which become part of the program.
      fold_constants: computes operators whose operands are constant.
      timeout: seconds.
      limit_nodes, limit_memory_bytes, limit_work: limits; 0: in proportion to the archive.
      progress: called with a phase and the completed fraction. None: shown on a terminal after two seconds.
    Returns:
      the program, with its `report`.
    Raises:
      Error: UNIMPLEMENTED: unsupported content, with all nodes; INVALID_ARGUMENT, OUT_OF_RANGE: options, or a malformed
        archive; NOT_FOUND: an unknown file or backend; DATA_LOSS: a damaged archive; RESOURCE_EXHAUSTED,
        DEADLINE_EXCEEDED: limits.
      TypeError: `source` is none of the above.
    """
    require_compiler("lower")
    keep: List[Any] = []
    archives = _archives(source, keep)
    constants = [f"{name}={json.dumps(value)}" for name, value in (constant_methods or {}).items()]
    options = LowerOptions(
        format=format.encode(),
        quantize=None if quantize is None else quantize.encode(),
        random_seed=random_seed,
        threads=threads,
        write_state_in_place=int(write_state_in_place),
        no_fold_constants=int(not fold_constants),
        html=1,
        limit_nodes=limit_nodes,
        limit_memory_bytes=limit_memory_bytes,
        limit_work=limit_work,
        timeout_ns=nanoseconds(timeout),
        tokenizer=None if tokenizer is None else os.fsencode(tokenizer),
        max_loss=None if max_loss is None else max_loss.encode(),
        node_losses=int(node_losses),
    )
    _set_common_options(options, backends, calibration, max_size)
    chat_templates = [chat_template] if isinstance(chat_template, (str, os.PathLike)) else chat_template
    options.chat_templates, options.num_chat_templates = strings(os.fspath(path) for path in chat_templates)
    options.compile_specs, options.num_compile_specs = strings(compile_specs)
    options.constant_methods, options.num_constant_methods = strings(constants)
    options.banks, options.num_banks = strings(banks)
    planners = [f"{name}:{planner}" for name, planner in memory_planner.items()] if isinstance(
        memory_planner, Mapping) else [] if memory_planner is None else [memory_planner]
    options.memory_planners, options.num_memory_planners = strings(planners)
    options.data_files, options.num_data_files = strings(os.fspath(path) for path in data_files)
    content, report = _run("belay_lower", archives, options, progress)
    source_kind = "torch" if _has_exported(source) else None
    return open_program(content, threads, report, returns=returns, source_kind=source_kind)


class Quantized:
    """Quantized programs that are not lowered yet, the result of `quantize`.

    Attributes:
      report: the losses of quantization, a Report.
    """

    def __init__(self, content: bytes, report: Report):
        self._content = content
        self.report = report

    def to_bytes(self) -> bytes:
        """The file of saved programs (.bir), a source of `lower`, `verify` and `inspect`."""
        return self._content

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the file of saved programs (.bir)."""
        with open(path, "wb") as file:
            file.write(self._content)


def quantize(
    source: Any,
    recipe: str,
    *,
    calibration: Union[str, Sequence[str]] = (),
    max_loss: Optional[str] = None,
    node_losses: bool = False,
    backends: Union[str, Sequence[str], None] = None,
    max_size: Union[int, Mapping[str, int], None] = None,
    threads: int = 1,
    timeout: Optional[float] = None,
    limit_nodes: int = 0,
    limit_memory_bytes: int = 0,
    limit_work: int = 0,
    progress: Optional[Callable[[str, float], None]] = None,
) -> Quantized:
    """Quantizes a model without lowering it, as `belay quantize`.

    Args:
      source: as for `lower`, except programs of ExecuTorch.
      recipe: name of a quantization recipe, or a file of one that ends in .json.
      calibration, max_loss, node_losses, max_size, progress: as for `lower`.
      backends: as for `lower`; they decide what is quantized statically.
      threads: that execute the calibration data.
      timeout: seconds.
      limit_nodes, limit_memory_bytes, limit_work: limits; 0: in proportion to the archive.
    Returns:
      the quantized programs, with their `report`.
    Raises:
      Error: as `lower`.
    """
    require_compiler("quantize")
    keep: List[Any] = []
    archives = _archives(source, keep)
    options = LowerOptions(
        quantize=recipe.encode(),
        threads=threads,
        html=1,
        limit_nodes=limit_nodes,
        limit_memory_bytes=limit_memory_bytes,
        limit_work=limit_work,
        timeout_ns=nanoseconds(timeout),
        max_loss=None if max_loss is None else max_loss.encode(),
        node_losses=int(node_losses),
    )
    _set_common_options(options, backends, calibration, max_size)
    return Quantized(*_run("belay_quantize", archives, options, progress))


def backends() -> List[str]:
    """The names of the backends that `lower` accepts."""
    require_compiler("backends")
    return lib.belay_backends().decode().split(",")


class Verification:
    """The result of `verify`: true if nothing differs.

    Attributes:
      equal: whether nothing differs.
      first_node: the first node that differs, with its source line; None if nothing differs or it was not found.
      json: a dict, as `belay verify --json` prints it.
    """

    def __init__(self, equal: bool, report: Dict[str, Any]):
        self.equal = equal
        self.json = report
        node = report.get("first_node")
        self.first_node: Optional[str] = None if node is None else node["node"]

    def __bool__(self) -> bool:
        return self.equal

    def __repr__(self) -> str:
        if self.equal:
            return "<belay.Verification: equal>"
        return f"<belay.Verification: first difference at {self.first_node}>"


def verify(
    archive: Any,
    program: Union[Program, str, os.PathLike, bytes],
    *,
    method: str = "forward",
    model: Optional[str] = None,
    seed: int = 0,
    calls: int = 1,
    atol: float = 1e-5,
    rtol: float = 1e-4,
    timeout: Optional[float] = None,
) -> Verification:
    """Compares the results of a program with those of its archive, for random inputs.

    Args:
      archive: as `source` of `lower`, without a dict.
      program: the program, or its path or bytes.
      method: name of the method.
      model: name of the model in an archive with several.
      seed: of the random inputs.
      calls: number of calls on the same state.
      atol, rtol: allowed differences; more for float16 and bfloat16.
      timeout: seconds.
    Returns:
      a Verification, which names the first node that differs.
    Raises:
      Error: errors of lowering and executing; INVALID_ARGUMENT: the program is of another archive.
    """
    require_compiler("verify")
    keep: List[Any] = []
    options = VerifyOptions(
        method=method.encode(),
        model=None if model is None else model.encode(),
        seed=seed,
        calls=calls,
        atol=atol,
        rtol=rtol,
        timeout_ns=nanoseconds(timeout),
    )
    equal, handle = c_int32(), c_void_p()
    files = _file(archive, keep), _file(program, keep)
    call("belay_verify", byref(files[0]), byref(files[1]), byref(options), byref(equal), byref(handle))
    return Verification(bool(equal.value), json.loads(take_bytes(handle)))


def inspect(source: Any) -> Dict[str, Any]:
    """Describes an archive, saved programs or a program as a dict, as `belay inspect --json` does.

    Args:
      source: as for `lower`, without a dict; or a Program, or the path or bytes of a program file.
    Raises:
      Error: errors of opening the file. A model that can't be imported has the key "error".
    """
    require_compiler("inspect")
    keep: List[Any] = []
    handle = c_void_p()
    file = _file(source, keep)
    call("belay_inspect", byref(file), byref(handle))
    return json.loads(take_bytes(handle))


def compile(module: Any, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """A backend of torch.compile: `torch.compile(model, backend=belay.compile)`.

    Exports the graph that torch captured, with the dynamic sizes of its inputs, and lowers it. Options are those of
    `lower`, by functools.partial or torch.compile's `options`. Inference only: the parameters are constants of the
    program.

    Raises:
      Error: as `lower`.
    """
    import torch

    chosen = dict(options.pop("options", None) or {})
    chosen.update({name: value for name, value in options.items() if name != "mode"})
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    free = [i for i, value in enumerate(example_inputs) if not isinstance(value, torch.nn.Parameter)]
    constants = {i: value.detach() for i, value in enumerate(example_inputs) if i not in free}

    class Bound(torch.nn.Module):
        """The graph with its parameters, which torch passes as inputs."""

        def forward(self, *inputs: Any) -> Any:
            given = iter(inputs)
            return module(*(constants[i] if i in constants else next(given) for i in range(len(placeholders))))

    # Symbolic sizes are in the graph; the examples may be real.
    described = [placeholders[i].meta.get("example_value", example_inputs[i]) for i in free]
    dynamic = tuple(_dynamic_sizes(value, torch) for value in described)
    examples = tuple(_example(example_inputs[i], torch) for i in free)
    with torch.no_grad(), torch._guards.tracing(None):
        exported = torch.export.export(Bound(), examples, dynamic_shapes=(dynamic,))
    program = lower(exported, **chosen)

    def call_program(*args: Any) -> Any:
        result = program(*(args[i] for i in free))
        return result if isinstance(result, (list, tuple)) else (result,)

    return call_program


def _dynamic_sizes(value: Any, torch: Any) -> Any:
    """The dynamic_shapes of torch.export for an input."""
    if isinstance(value, torch.Tensor):
        return {d: torch.export.Dim.AUTO for d, size in enumerate(value.shape) if not isinstance(size, int)} or None
    return torch.export.Dim.AUTO if isinstance(value, torch.SymInt) else None


def _hint(size: Any) -> int:
    """The example's size. int() would specialize the graph to it."""
    return size if isinstance(size, int) else size.node.hint


def _example(value: Any, torch: Any) -> Any:
    """A real value like an example, which may be fake or symbolic."""
    if isinstance(value, torch.SymInt):
        return _hint(value)
    if isinstance(value, torch.Tensor):
        sizes, strides = [_hint(size) for size in value.shape], [_hint(stride) for stride in value.stride()]
        return torch.empty_strided(sizes, strides, dtype=value.dtype).zero_()
    return value
