"""A loaded method: the short path of a call."""

from __future__ import annotations

import ctypes
import sys
import threading
from ctypes import c_size_t, c_void_p
from typing import Any, Dict, List, Optional

from . import _banks, _tensors
from ._backend_options import BackendOptions, OptionValue, option_of, options_of, value_of
from ._errors import Error
from ._library import (
    BOOL,
    DOUBLE,
    DTYPES,
    INT,
    MAX_RANK,
    NONE,
    STRING,
    TENSOR,
    BackendOption,
    Handle,
    InputInfo,
    MethodOptions,
    OutputInfo,
    Value,
    byref,
    call,
    error_of,
    lib,
)
from ._spec import ArgumentReader, result_builder
from ._tensors import address_of


class _Input:
    """An input, and its element in the array of inputs."""

    __slots__ = (
        *("name", "kind", "dtype", "sizes", "min_sizes", "dynamic", "mutated"),
        *("value", "tensor", "shown", "fast"),
    )

    def __init__(self, method: int, i: int, value: Value):
        info = InputInfo()
        call("belay_method_input_info", method, i, byref(info))
        rank = info.tensor.rank
        self.name = info.name.decode("utf-8", "replace")
        self.kind, self.dtype = info.kind, info.tensor.dtype
        self.sizes, self.min_sizes = tuple(info.tensor.sizes[:rank]), tuple(info.min_sizes[:rank])
        self.dynamic = info.dynamic_dims
        self.mutated = bool(lib.belay_method_input_is_mutated(method, i))
        self.value, self.tensor = value, value.tensor
        self.shown = None  # sizes in the array, of a row-major tensor of the input's dtype
        self.fast = None  # the dtype of NumPy or torch that equals `dtype`
        value.kind = self.kind if self.kind in (TENSOR, INT, DOUBLE, BOOL) else NONE

    def describe(self) -> Dict[str, Any]:
        """name, kind, and for tensors dtype and sizes: a number, or a pair (least, most) of a dynamic size."""
        return _describe(self.name, self.kind, self.dtype, self.sizes, self.dynamic, self.min_sizes)


class _Output:
    """An output, and its element in the array of outputs."""

    __slots__ = ("name", "kind", "dtype", "sizes", "strides", "dynamic", "value", "tensor", "is_static")

    def __init__(self, method: int, i: int, value: Value):
        info = OutputInfo()
        call("belay_method_output_info", method, i, byref(info))
        rank = info.tensor.rank
        self.name = info.name.decode("utf-8", "replace")
        self.kind, self.dtype = info.kind, info.tensor.dtype
        self.sizes, self.strides = tuple(info.tensor.sizes[:rank]), tuple(info.tensor.strides[:rank])
        self.dynamic, self.value, self.tensor = info.dynamic_dims, value, value.tensor
        self.is_static = self.kind == TENSOR and self.dynamic == 0 and info.max_bytes > 0

    def describe(self) -> Dict[str, Any]:
        """As _Input.describe; the least size is 0."""
        return _describe(self.name, self.kind, self.dtype, self.sizes, self.dynamic, (0,) * len(self.sizes))


_COMPLEX = (9, 10, 11)  # torch's may be lazily conjugated

_KINDS = {NONE: "None", TENSOR: "tensor", INT: "int", DOUBLE: "float", BOOL: "bool", STRING: "str"}


def _describe(name, kind, dtype, sizes, dynamic, least) -> Dict[str, Any]:
    described: Dict[str, Any] = {"name": name, "kind": _KINDS.get(kind, "constant")}
    if kind == TENSOR:
        described["dtype"] = DTYPES[dtype]
        described["sizes"] = [
            (low, most) if dynamic >> d & 1 else most for d, (low, most) in enumerate(zip(least, sizes))
        ]
    return described


class Method:
    """A method with its memory.

    `lock` is that of the program: methods that share state are used by one thread at a time. A second caller gets an
    error. Results are of the kind `returns`, else of that of the first tensor, else of the kind `source`, else NumPy
    arrays.
    """

    def __init__(
        self,
        program: Handle,
        name: str,
        threads: int,
        state: Optional[Handle],
        lock: threading.Lock,
        backend_options: Optional[BackendOptions],
        returns: Optional[str],
        source: Optional[str],
        banks: Optional[_banks.Banks] = None,
    ):
        options = MethodOptions(num_threads=threads, state=state.value if state else None)
        options.backend_options, options.num_backend_options = options_of(backend_options)
        options.banks, options.num_banks, memory = _banks.memory_of(program, name, banks)
        handle = c_void_p()
        call("belay_method_load", program.value, name.encode(), byref(options), byref(handle))
        self._handle = Handle(handle, lib.belay_method_free, program, state, memory)
        self.name = name
        method = self._handle.value
        self.lock = lock
        inputs, outputs = lib.belay_method_num_inputs(method), lib.belay_method_num_outputs(method)
        self._in, self._out = (Value * inputs)(), (Value * outputs)()
        self.inputs = [_Input(method, i, self._in[i]) for i in range(inputs)]
        self.outputs = [_Output(method, i, self._out[i]) for i in range(outputs)]
        # Constants of the program are no arguments unless the model has them in its signature.
        spec = (lib.belay_method_in_spec(method) or b"").decode("utf-8", "replace")
        self._read_arguments = ArgumentReader(spec, inputs)
        out_spec = (lib.belay_method_out_spec(method) or b"").decode("utf-8", "replace")
        self._build = result_builder(out_spec, outputs)
        self._returns = _tensors.results_of(returns) if returns else None
        self._without_tensors = _tensors.results_of(source) if source else None
        self._error = c_void_p()
        # The arguments of belay_method_call are always the same.
        self._arguments = (
            method,
            ctypes.addressof(self._in),
            inputs,
            ctypes.addressof(self._out),
            outputs,
            None,
            byref(self._error),
        )
        self._prepared: Dict[Any, List[Any]] = {}  # creators of static outputs, by kind of tensor
        self._alive: List[Any] = []  # memory of the inputs of the last call

    def get_backend_option(self, backend: str, name: str) -> OptionValue:
        option = BackendOption(backend=backend.encode(), name=name.encode())
        with self.lock:
            call("belay_method_get_backend_option", self._handle.value, byref(option))
            return value_of(option)

    def set_backend_option(self, backend: str, name: str, value: OptionValue) -> None:
        with self.lock:
            call("belay_method_set_backend_option", self._handle.value, byref(option_of(backend, name, value)))

    def reset_state(self) -> None:
        """Resets the state of delegates and the method's state."""
        lib.belay_method_reset_state(self._handle.value)

    def __call__(self, args, kwargs) -> Any:
        """Executes; `args` and `kwargs` are those of the model."""
        if not self.lock.acquire(False):
            raise Error("FAILED_PRECONDITION", "the program is in use by another thread; call fork() for each")
        try:
            return self._call(args, kwargs)
        finally:
            self.lock.release()

    def set_inputs(self, args, kwargs) -> Any:
        """Fills the array of inputs; returns the factory of results. The caller has the lock."""
        reader = self._read_arguments
        inputs = self.inputs
        if kwargs or not reader.is_flat or len(args) != len(inputs):
            try:
                args = reader(args, kwargs)
            except ValueError as error:
                raise Error("INVALID_ARGUMENT", f"method '{self.name}': {error}") from None
        array_type = getattr(sys.modules.get("numpy"), "ndarray", None)
        torch_type = getattr(sys.modules.get("torch"), "Tensor", None)
        factory = None
        alive = []
        for i, given in enumerate(inputs):
            value = args[i]
            # The most frequent cases first: a row-major array or tensor of the right dtype.
            kind = type(value)
            if kind is array_type:
                flags = value.flags
                if flags.c_contiguous and value.dtype is given.fast and (flags.writeable or not given.mutated):
                    shape = value.shape
                    if shape != given.shown:
                        self._show(given, shape)
                    given.tensor.data = address_of(value)
                    alive.append(value)
                    if factory is None:
                        factory = _tensors.factory_of("numpy")
                    continue
            elif kind is torch_type:
                if value.dtype is given.fast and value.is_cpu and value.is_contiguous():
                    shape = value.shape
                    if shape != given.shown:
                        self._show(given, shape)
                    given.tensor.data = value.data_ptr()
                    alive.append(value)
                    if factory is None:
                        factory = _tensors.factory_of("torch")
                    continue
            kind = given.kind
            if kind == TENSOR:
                found = self._set_tensor(i, given, value, alive)
                if factory is None:
                    factory = found
            elif kind in (INT, DOUBLE, BOOL):
                self._set_scalar(i, given, value)
        self._alive = alive
        return factory

    def _call(self, args, kwargs) -> Any:
        given = self.set_inputs(args, kwargs)
        factory = self._returns or given or self._without_tensors or _tensors.numpy_results()
        prepared = self._prepared.get(factory)
        if prepared is None:
            prepared = self._prepared[factory] = [
                output.is_static and factory.creator(output.dtype, output.sizes, output.strides)
                for output in self.outputs
            ]
        results: List[Any] = []
        for output, create in zip(self.outputs, prepared):
            if create:
                result, output.tensor.data, _ = create()
                output.value.kind = TENSOR
                results.append(result)
            else:
                output.value.kind = NONE
                results.append(None)
        status = lib.belay_method_call(*self._arguments)
        if status != 0:
            error = c_void_p(self._error.value)
            self._error.value = None
            raise error_of(status, error)
        for i, output in enumerate(self.outputs):
            if not output.is_static:
                results[i] = self._result(i, output.value, factory)
        convert = getattr(factory, "convert", None)
        if convert is not None:
            results = [convert(result) if hasattr(result, "shape") else result for result in results]
        return self._build(results)

    def _result(self, i: int, value: Value, factory: Any) -> Any:
        kind = value.kind
        if kind == TENSOR:
            return _tensors.copy_out(value.tensor, factory)
        if kind == INT:
            return value.int_value
        if kind == DOUBLE:
            return value.double_value
        if kind == STRING:
            data, size = c_void_p(), c_size_t()
            call("belay_method_get_string", self._handle.value, i, byref(data), byref(size))
            return ctypes.string_at(data, size.value).decode("utf-8", "replace")
        return bool(value.bool_value) if kind == BOOL else None

    def _show(self, given: _Input, shape) -> None:
        if len(shape) > MAX_RANK:
            raise Error("INVALID_ARGUMENT", f"input '{given.name}': expected at most {MAX_RANK} dimensions")
        _tensors.fill(given.tensor, given.dtype, 0, shape, _tensors.row_major(shape))
        given.shown = shape

    def _set_tensor(self, i: int, given: _Input, value: Any, alive: List[Any]) -> Any:
        if isinstance(value, (bool, int, float)):
            raise Error("INVALID_ARGUMENT", f"input {i} '{given.name}': expected a tensor, got {type(value).__name__}")
        try:
            dtype, pointer, sizes, strides, owner, factory = _tensors.read(value, given.mutated)
            _tensors.fill(given.tensor, dtype, pointer, sizes, strides)
        except Error as error:
            raise Error(error.status, f"input {i} '{given.name}': {error.message}") from None
        # The fast path needs the input's own dtype, and row-major strides.
        given.shown = None
        is_fast = dtype == given.dtype and dtype not in _COMPLEX and hasattr(factory, "dtype_of")
        given.fast = value.dtype if is_fast else None
        alive.append(owner)
        return factory

    def _set_scalar(self, i: int, given: _Input, value: Any) -> None:
        expected = {INT: int, DOUBLE: (int, float), BOOL: bool}[given.kind]
        if not isinstance(value, expected) or (given.kind != BOOL and isinstance(value, bool)):
            raise Error(
                "INVALID_ARGUMENT",
                f"input {i} '{given.name}': expected {_KINDS[given.kind]}, got {type(value).__name__}",
            )
        if given.kind == INT:
            if not -(2**63) <= value < 2**63:
                raise Error("OUT_OF_RANGE", f"input {i} '{given.name}': {value} does not fit in 64 bits")
            given.value.int_value = value
        elif given.kind == DOUBLE:
            given.value.double_value = value
        else:
            given.value.bool_value = value
