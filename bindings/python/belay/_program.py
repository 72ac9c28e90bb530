"""Programs: load, call, state, profile."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import c_char, c_void_p
from typing import Any, Dict, Iterator, List, Optional, Union

from . import _banks, _tensors
from ._backend_options import BackendOptions, OptionValue, options_of
from ._errors import Error
from ._library import (
    LOWERS,
    Handle,
    OpenOptions,
    ProfileOptions,
    TensorStruct,
    byref,
    call,
    lib,
    require_compiler,
    strings,
    take_bytes,
)
from ._method import Method
from ._report import Profile, Report
from ._tensors import results_of


class State:
    """The buffers that persist between calls, shared by the methods of a program. A mapping of names to views.

    `state["cache"]` is a view of the memory, as a NumPy array if NumPy is installed, else a memoryview: the next call
    sees writes to it. Assigning copies: `state["cache"] = tensor`.
    """

    def __init__(self, handle: Handle):
        self._handle = handle
        count = lib.belay_state_num_buffers(handle.value)
        self._names = [lib.belay_state_buffer_name(handle.value, i).decode("utf-8", "replace") for i in range(count)]

    def keys(self) -> List[str]:
        """The names, sorted."""
        return list(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def _tensor(self, name: str) -> TensorStruct:
        tensor = TensorStruct()
        call("belay_state_get", self._handle.value, name.encode(), byref(tensor))
        return tensor

    def __getitem__(self, name: str) -> Any:
        return _tensors.view(self._tensor(name), self._handle)

    def __setitem__(self, name: str, value: Any) -> None:
        target, source = self._tensor(name), TensorStruct()
        dtype, pointer, sizes, strides, owner, _ = _tensors.read(value, False)
        _tensors.fill(source, dtype, pointer, sizes, strides)
        call("belay_tensor_copy", byref(source), byref(target))
        del owner

    def __repr__(self) -> str:
        return f"<belay.State: {', '.join(self._names)}>"


class Program:
    """A program file. Create it with belay.load or belay.lower.

    `program(x)` calls its method "forward", or its only method; `program.method_name(x)` and
    `program["method_name"](x)` call others. Arguments and results have the structure of the model's. Tensors may be
    torch tensors, NumPy arrays, or objects with DLPack or the buffer protocol; results are of the kind of the first
    one. Row-major inputs are used in place.

    A program is used by one thread at a time; a second caller gets FAILED_PRECONDITION. Use `fork()` for each thread.
    The interpreter's lock is released during calls.
    """

    def __init__(
        self,
        handle: Handle,
        threads: int,
        content: Optional[bytes],
        path: Optional[str],
        report: Any,
        backend_options: Optional[BackendOptions] = None,
        returns: Optional[str] = None,
        source: Optional[str] = None,
        banks: Optional[_banks.Banks] = None,
    ):
        self._handle = handle
        self._banks = banks
        self._threads = threads
        self._backend_options = backend_options
        if returns is not None:
            results_of(returns)
        self._returns, self._source = returns, source  # kinds of results, as for Method
        self._content = content  # keeps the memory of a program in memory
        self._path = path
        self._report = report
        self._loaded: Dict[str, Method] = {}
        self._lock, self._loading = threading.Lock(), threading.Lock()
        self._state: Optional[Handle] = None
        count = lib.belay_program_num_methods(handle.value)
        self._names = [lib.belay_program_method_name(handle.value, i).decode("utf-8", "replace") for i in range(count)]
        self._default = "forward" if "forward" in self._names or count != 1 else self._names[0]
        _banks.check_names(handle, self._names, banks)

    @property
    def methods(self) -> List[str]:
        """The names of the methods."""
        return list(self._names)

    def _state_handle(self) -> Handle:
        if self._state is None:
            handle = c_void_p()
            call("belay_state_create", self._handle.value, None, 0, byref(handle))
            self._state = Handle(handle, lib.belay_state_free, self._handle)
        return self._state

    def _method(self, name: str) -> Method:
        with self._loading:
            method = self._loaded.get(name)
            if method is None:
                try:
                    state = self._state_handle()
                except Error as error:
                    if error.status != "INVALID_ARGUMENT":
                        raise
                    state = None  # methods have different buffers of one name: each has its own
                method = Method(
                    self._handle,
                    name,
                    self._threads,
                    state,
                    self._lock,
                    self._backend_options,
                    self._returns,
                    self._source,
                    self._banks,
                )
                self._loaded[name] = method
            return method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the method "forward", or the only method.

        Raises:
          Error: INVALID_ARGUMENT or OUT_OF_RANGE for the structure, dtype, rank or size of an argument, with the
            input's name, the expected and the actual value; errors of executing.
        """
        method = self._loaded.get(self._default)
        return (method or self._method(self._default))(args, kwargs)

    def __getitem__(self, name: str) -> Any:
        """Returns a function that calls a method. Raises Error: NOT_FOUND."""
        method = self._method(name)
        return lambda *args, **kwargs: method(args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"the program has no method or attribute '{name}'; its methods are {self._names}")
        return self[name]

    def inputs(self, method: Optional[str] = None) -> List[Dict[str, Any]]:
        """Describes the inputs: name, kind, and for tensors dtype and sizes; (least, most) for a dynamic size."""
        return [given.describe() for given in self._method(method or self._default).inputs]

    def outputs(self, method: Optional[str] = None) -> List[Dict[str, Any]]:
        """Describes the outputs, as `inputs` does."""
        return [output.describe() for output in self._method(method or self._default).outputs]

    def banks(self, method: Optional[str] = None) -> List[Dict[str, Any]]:
        """Describes the memory banks of a method: name, bytes and alignment. The only one of most programs is "".

        `load(banks=…)` accepts memory for them.
        """
        return _banks.describe(self._handle, method or self._default)

    # --- State ---

    @property
    def state(self) -> State:
        """The state. A second thread must not use it during a call.

        Raises:
          Error: INVALID_ARGUMENT if methods have different buffers of one name; then each method has its own state.
        """
        return State(self._state_handle())

    def save_state(self) -> bytes:
        """Returns the content of all buffers, for `restore_state` of the same program."""
        handle = c_void_p()
        call("belay_state_save", self._state_handle().value, byref(handle))
        return take_bytes(handle)

    def restore_state(self, saved: bytes) -> None:
        """Restores what `save_state` returned. Raises Error: INVALID_ARGUMENT if the size differs."""
        call("belay_state_restore", self._state_handle().value, ctypes.cast(saved, c_void_p), len(saved))

    def reset_state(self) -> None:
        """Resets all buffers to their initial content."""
        lib.belay_state_reset(self._state_handle().value)
        for method in self._loaded.values():
            method.reset_state()

    def fork(self) -> "Program":
        """Returns a program with the same file and a copy of the state, for another thread or another sequence.

        Its banks are in memory of the library.
        """
        copy = Program(
            self._handle,
            self._threads,
            self._content,
            self._path,
            self._report,
            self._backend_options,
            self._returns,
            self._source,
        )
        if len(self.state) > 0:
            copy.restore_state(self.save_state())
        return copy

    # --- Options of backends ---

    def backend_option(self, backend: str, name: str, method: Optional[str] = None) -> OptionValue:
        """Returns the current value of an option of a backend in a method.

        Raises:
          Error: INVALID_ARGUMENT if the method has no delegate of the backend, or the backend has no such option.
        """
        return self._method(method or self._default).get_backend_option(backend, name)

    def set_backend_option(self, backend: str, name: str, value: OptionValue, method: Optional[str] = None) -> None:
        """Changes an option of a backend for the next calls of a method.

        Raises:
          Error: as `backend_option`; INVALID_ARGUMENT also for a value of another type or out of range;
            FAILED_PRECONDITION if the option can only be set by `load`.
        """
        self._method(method or self._default).set_backend_option(backend, name, value)

    # --- Files and reports ---

    def to_bytes(self) -> bytes:
        """Returns the program file."""
        if self._content is not None:
            return self._content
        with open(self._path, "rb") as file:
            return file.read()

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the program file, whole or not at all.

        Raises:
          OSError: the file can't be written.
        """
        path = os.fspath(path)
        content = self.to_bytes()
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    @property
    def report(self) -> Report:
        """The report of lowering. Raises Error: FAILED_PRECONDITION for a program that was loaded."""
        if self._report is None:
            raise Error("FAILED_PRECONDITION", "no report: the program was loaded, not lowered")
        return self._report

    def profile(self, *args: Any, method: Optional[str] = None, runs: int = 30, **kwargs: Any) -> Profile:
        """Measures `runs` calls with these arguments, in a method of its own with its own state.

        Raises:
          Error: as for a call; UNIMPLEMENTED if only the runtime is installed.
        """
        require_compiler("profile")
        name = method or self._default
        loaded = self._method(name)
        options = ProfileOptions(method=name.encode(), runs=runs, num_threads=self._threads)
        options.backend_options, options.num_backend_options = options_of(self._backend_options)
        handle = c_void_p()
        with loaded.lock:
            loaded.set_inputs(args, kwargs)
            call("belay_profile", self._handle.value, *loaded._arguments[1:3], byref(options), byref(handle))
        return Profile(take_bytes(handle).decode("utf-8", "replace"))

    def __repr__(self) -> str:
        return f"<belay.Program: {', '.join(self._names)}>"


def open_program(
    source: Union[str, os.PathLike, bytes],
    threads: int,
    report: Any,
    backend_options: Optional[BackendOptions] = None,
    returns: Optional[str] = None,
    source_kind: Optional[str] = None,
    banks: Optional[_banks.Banks] = None,
    **limits: Any,
) -> Program:
    """Opens a program file or its bytes."""
    handle = c_void_p()
    options = OpenOptions(**limits)
    if isinstance(source, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(source))
        if options.weight_cache and LOWERS:
            call("belay_program_open_compiled", os.fsencode(path), byref(options), threads, byref(handle))
        else:
            call("belay_program_open", os.fsencode(path), byref(options), byref(handle))
        owner = Handle(handle, lib.belay_program_free)
        return Program(owner, threads, None, path, report, backend_options, returns, source_kind, banks)
    if not isinstance(source, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected a path or bytes, got {type(source).__name__}")
    # The memory must be aligned, so that constants are used in place.
    content = bytes(source)
    alignment = 4096
    memory = (c_char * (len(content) + alignment))()
    address = -(-ctypes.addressof(memory) // alignment) * alignment
    ctypes.memmove(address, content, len(content))
    call("belay_program_open_bytes", address, len(content), byref(options), byref(handle))
    owner = Handle(handle, lib.belay_program_free, memory)
    return Program(owner, threads, content, None, report, backend_options, returns, source_kind, banks)


def load(
    source: Union[str, os.PathLike, bytes],
    *,
    threads: int = 1,
    backend_options: Optional[BackendOptions] = None,
    data_files: Optional[List[str]] = None,
    copy: bool = False,
    banks: Optional[_banks.Banks] = None,
    weight_cache: Union[str, os.PathLike, None] = None,
    returns: Optional[str] = None,
    limit_arena_bytes: int = 0,
    limit_instructions: int = 0,
    limit_work: int = 0,
) -> Program:
    """Opens a program file: Belay's own (.belay) or ExecuTorch's (.pte). Untrusted files are validated completely.

    Args:
      source: a path, or the bytes of a file.
      threads: number of threads that work on each call, including the caller's, 1 to 256. Results do not depend on it.
      backend_options: options by the id of a backend, {"cpu": {"threads": 1}}; `belay backends` lists them. Invalid
        ones are an Error, INVALID_ARGUMENT, when a method is loaded.
      data_files: files with tensors by name: parameter files, which replace parameters of the
        program, or data files (.ptd) of an ExecuTorch program.
      copy: copies the file instead of mapping it, in case other processes change it.
      banks: memory for banks of the program (`Program.banks`), a writable buffer by name, such as a bytearray or a
        NumPy array; the library allocates the others. All methods use it, one at a time, and nothing else may.
      weight_cache: a folder for XNNPACK delegates of ExecuTorch programs (.pte) that are compiled for the CPU backend,
        with their packed weights. The first load fills it; later ones, also of other processes, compile nothing.
        Damaged files in it are replaced. The package belay-runtime only reads it.
      returns: "torch" or "numpy": the kind of results. None: that of the first tensor that is passed, else NumPy arrays.
      limit_arena_bytes, limit_instructions, limit_work: limits of a method's memory and of a call; 0: the defaults, in
        proportion to the file.
    Returns:
      the program. Its methods are loaded at their first call.
    Raises:
      Error: NOT_FOUND, PERMISSION_DENIED: the file can't be read; DATA_LOSS: not a program file, or damaged;
        INVALID_ARGUMENT: it violates a rule; UNIMPLEMENTED: a newer format; RESOURCE_EXHAUSTED: a limit.
    """
    files, count = strings(data_files or [])
    return open_program(
        source,
        threads,
        None,
        backend_options,
        returns,
        banks=banks,
        weight_cache=None if weight_cache is None else os.fsencode(weight_cache),
        copy=int(copy),
        data_files=files,
        num_data_files=count,
        limit_arena_bytes=limit_arena_bytes,
        limit_instructions=limit_instructions,
        limit_work=limit_work,
    )
