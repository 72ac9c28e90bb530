"""Inputs of any kind to belay_tensor, and outputs back to the kind of the first input.

Tensors are read in place. NumPy and torch are used only if the caller's objects are theirs.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import struct
import sys
from ctypes import c_int32, c_int64, c_ssize_t, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ._errors import Error
from ._library import DTYPE_OF_NAME, DTYPES, MAX_RANK, TensorStruct, byref, call

# --- Buffer protocol ---

# Formats of memoryview, in native byte order.
_DTYPE_OF_FORMAT = {
    "?": 12,
    "b": 2,
    "B": 1,
    "h": 3,
    "H": 14,
    "i": 4,
    "I": 15,
    "q": 5,
    "Q": 16,
    "l": {4: 4, 8: 5}[ctypes.sizeof(ctypes.c_long)],
    "L": {4: 15, 8: 16}[ctypes.sizeof(ctypes.c_long)],
    "e": 6,
    "f": 7,
    "d": 8,
}
_FORMAT_OF_DTYPE = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 7: "f", 8: "d", 12: "?", 14: "H", 15: "I", 16: "Q"}


class _PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(c_ssize_t)),
        ("strides", ctypes.POINTER(c_ssize_t)),
        ("suboffsets", ctypes.POINTER(c_ssize_t)),
        ("internal", c_void_p),
    ]


_PYBUF_FULL_RO = 0x0100 | 0x0018 | 0x0004  # indirect, strides, format
_python = ctypes.PyDLL(None)  # not ctypes.pythonapi: any package may change the argument types of its functions
_get_buffer = _python.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release_buffer = _python.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_release_buffer.restype = None


class Buffer:
    """A buffer of an object, until it is deleted."""

    def __init__(self, source: Any):
        self._view: Optional[_PyBuffer] = None
        view = _PyBuffer()
        _get_buffer(source, byref(view), _PYBUF_FULL_RO)  # raises TypeError or BufferError
        self._view = view
        self.pointer, self.size, self.readonly = view.buf or 0, view.len, bool(view.readonly)

    def __del__(self):
        if self._view is not None:
            _release_buffer(byref(self._view))
            self._view = None

    def tensor(self) -> Tuple[int, int, Tuple[int, ...], Tuple[int, ...]]:
        """Returns dtype, pointer, sizes and strides."""
        view = self._view
        text = (view.format or b"B").decode().lstrip("@=" if sys.byteorder == "big" else "@=<")
        dtype = _DTYPE_OF_FORMAT.get(text)
        if dtype is None:
            raise Error("INVALID_ARGUMENT", f"expected a buffer of numbers, got the format {text!r}")
        if view.suboffsets and any(view.suboffsets[d] >= 0 for d in range(view.ndim)):
            raise Error("INVALID_ARGUMENT", "expected a buffer without suboffsets")
        sizes = tuple(view.shape[d] for d in range(view.ndim))
        strides = tuple(view.strides[d] for d in range(view.ndim)) if view.strides else None
        return dtype, self.pointer, sizes, _elements(sizes, strides, view.itemsize)


def _elements(sizes, strides, itemsize) -> Tuple[int, ...]:
    """Strides in elements; of a row-major tensor if `strides` is None."""
    if strides is None:
        return row_major(sizes)
    if any(stride % itemsize for stride in strides):
        raise Error("INVALID_ARGUMENT", f"expected strides that are multiples of {itemsize} bytes, got {strides}")
    return tuple(stride // itemsize for stride in strides)


def row_major(sizes: Sequence[int]) -> Tuple[int, ...]:
    """Strides of a row-major tensor, in elements."""
    return _dense(sizes, range(len(sizes)))


# --- DLPack ---


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_get_capsule = _python.PyCapsule_GetPointer
_get_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_capsule.restype = c_void_p

# Type code and bits of DLPack.
_DTYPE_OF_DLPACK = {
    (0, 8): 2,
    (0, 16): 3,
    (0, 32): 4,
    (0, 64): 5,
    (1, 8): 1,
    (1, 16): 14,
    (1, 32): 15,
    (1, 64): 16,
    (2, 16): 6,
    (2, 32): 7,
    (2, 64): 8,
    (4, 16): 13,
    (5, 64): 10,
    (5, 128): 11,
    (6, 8): 12,
}
_CPU_DEVICES = (1, 3, 11, 13)  # CPU, CUDA host memory, ROCm host memory, CUDA managed memory


def _from_dlpack(value: Any) -> Tuple[int, int, Tuple[int, ...], Tuple[int, ...], Any]:
    """Returns dtype, pointer, sizes, strides, and the capsule, which keeps the memory."""
    device = value.__dlpack_device__()
    if device[0] not in _CPU_DEVICES:
        numbers = tuple(map(int, device))
        raise Error("INVALID_ARGUMENT", f"expected a tensor in host memory, got DLPack device {numbers}")
    capsule = value.__dlpack__()
    tensor = _DLTensor.from_address(_get_capsule(capsule, b"dltensor"))
    dtype = _DTYPE_OF_DLPACK.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise Error("INVALID_ARGUMENT", f"unsupported DLPack dtype: code {tensor.code}, {tensor.bits} bits")
    sizes = tuple(tensor.shape[d] for d in range(tensor.ndim))
    strides = tuple(tensor.strides[d] for d in range(tensor.ndim)) if tensor.strides else row_major(sizes)
    return dtype, (tensor.data or 0) + tensor.byte_offset, sizes, strides, capsule


# --- Results ---

_char_at = ctypes.c_char.from_buffer


def address_of(array: Any) -> int:
    """The address of a contiguous NumPy array. Five times as fast as the array interface if the array is writable."""
    try:
        return ctypes.addressof(_char_at(array))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or of a dtype without a format
        return array.__array_interface__["data"][0]


def _order(strides: Sequence[int], sizes: Sequence[int]) -> List[int]:
    """The dimensions from the outermost to the innermost."""
    return sorted(range(len(sizes)), key=lambda d: (-strides[d], -sizes[d], d))


def _dense(sizes: Sequence[int], order: Sequence[int]) -> Tuple[int, ...]:
    """Strides without gaps for an order of dimensions."""
    dense, stride = [0] * len(sizes), 1
    for d in reversed(order):
        dense[d] = stride
        stride *= max(sizes[d], 1)
    return tuple(dense)


# Creates a tensor: returns it, its address and its strides. The strides of a `creator` decide the order of dimensions.
Creator = Callable[[], Tuple[Any, int, Tuple[int, ...]]]


class _BufferResults:
    """Creates memoryviews."""

    @staticmethod
    def creator(dtype: int, sizes: Sequence[int], strides: Sequence[int]) -> Creator:
        form = _FORMAT_OF_DTYPE.get(dtype)
        if form is None or math.prod(sizes) == 0:
            raise Error(
                "UNIMPLEMENTED",
                f"an output of {DTYPES[dtype]} with the sizes {tuple(sizes)} has no memoryview; pass NumPy arrays or "
                "torch tensors",
            )
        memory_type = ctypes.c_char * (math.prod(sizes) * struct.calcsize(form))
        sizes = list(sizes)
        dense = row_major(sizes)

        def create():
            memory = memory_type()
            return memoryview(memory).cast("B").cast(form, sizes), ctypes.addressof(memory), dense

        return create


class _NumpyResults:
    """Creates NumPy arrays."""

    def __init__(self, numpy: Any):
        self._empty = numpy.empty
        self._dtypes: Dict[int, Any] = {}
        for dtype, name in DTYPES.items():
            if hasattr(numpy, name) or name == "bool":
                self._dtypes[dtype] = numpy.dtype(name)
        self.dtype_of = {found: dtype for dtype, found in self._dtypes.items()}

    def creator(self, dtype: int, sizes: Sequence[int], strides: Sequence[int]) -> Creator:
        found = self._dtypes.get(dtype)
        if found is None:
            raise Error("UNIMPLEMENTED", f"NumPy has no {DTYPES[dtype]}; pass torch tensors, or load with returns='torch'")
        empty, order = self._empty, _order(strides, sizes)
        dense = _dense(sizes, order)
        if order == sorted(order):
            sizes = tuple(sizes)

            def create():
                array = empty(sizes, found)
                return array, address_of(array), dense

            return create
        permuted = [sizes[d] for d in order]
        inverse = [order.index(d) for d in range(len(order))]

        def create_permuted():
            array = empty(permuted, found)
            return array.transpose(inverse), address_of(array), dense

        return create_permuted


class _TorchResults:
    """Creates torch tensors."""

    def __init__(self, torch: Any):
        self._empty = torch.empty_strided
        self.strided = torch.strided
        self._dtypes = {d: getattr(torch, name) for d, name in DTYPES.items() if hasattr(torch, name)}
        self.dtype_of = {found: dtype for dtype, found in self._dtypes.items()}

    def creator(self, dtype: int, sizes: Sequence[int], strides: Sequence[int]) -> Creator:
        found = self._dtypes.get(dtype)
        if found is None:
            raise Error("UNIMPLEMENTED", f"this torch has no {DTYPES[dtype]}")
        empty, sizes = self._empty, tuple(sizes)
        dense = _dense(sizes, _order(strides, sizes))

        def create():
            tensor = empty(sizes, dense, dtype=found)
            return tensor, tensor.data_ptr(), dense

        return create


_BUFFERS = _BufferResults()
_factories: Dict[str, Any] = {}


def factory_of(module: str) -> Any:
    """The factory of NumPy arrays or of torch tensors; the module is imported."""
    factory = _factories.get(module)
    if factory is None:
        factory = (_NumpyResults if module == "numpy" else _TorchResults)(sys.modules[module])
        _factories[module] = factory
    return factory


def results_of(returns: str) -> Any:
    """The factory of "torch" or "numpy", which is imported. Raises Error, INVALID_ARGUMENT, for another name."""
    if returns not in ("numpy", "torch"):
        raise Error("INVALID_ARGUMENT", f"returns: expected 'numpy' or 'torch', got {returns!r}")
    importlib.import_module(returns)
    return factory_of(returns)


def numpy_results() -> Any:
    """For calls without a tensor: NumPy arrays if NumPy is installed, else memoryviews."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        return _BUFFERS
    return factory_of("numpy")


# --- Inputs ---


def read(value: Any, writes: bool) -> Tuple[int, int, Tuple[int, ...], Tuple[int, ...], Any, Any]:
    """Describes a tensor in place.

    Args:
      value: a torch tensor, a NumPy array, or an object with DLPack or the buffer protocol.
      writes: whether the method writes to it.
    Returns:
      dtype, pointer, sizes, strides in elements, an object that keeps the memory alive, and the factory of results of
      the same kind.
    Raises:
      Error: INVALID_ARGUMENT for another object, device, dtype or layout, or a read-only tensor that is written to.
    """
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        return _read_torch(value)
    if numpy is not None and isinstance(value, getattr(numpy, "ndarray", ())):
        return _read_numpy(value, writes, numpy)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        dtype, pointer, sizes, strides, owner = _from_dlpack(value)
        if writes:
            raise Error("INVALID_ARGUMENT", "the method writes to this input: expected a NumPy array or a torch tensor")
        return dtype, pointer, sizes, strides, owner, _like_dlpack(value)
    try:
        buffer = Buffer(value)
    except (TypeError, BufferError):
        raise Error("INVALID_ARGUMENT", f"expected a tensor, got {type(value).__name__}") from None
    if writes and buffer.readonly:
        raise Error("INVALID_ARGUMENT", "the method writes to this input, which is read-only")
    return (*buffer.tensor(), buffer, _BUFFERS)


def _read_torch(value: Any):
    if value.device.type != "cpu":
        raise Error("INVALID_ARGUMENT", f"expected a tensor on the CPU, got device {value.device}")
    factory = factory_of("torch")
    if value.layout is not factory.strided:
        raise Error("INVALID_ARGUMENT", f"expected a strided tensor, got layout {value.layout}")
    dtype = factory.dtype_of.get(value.dtype)
    if dtype is None:
        raise Error("INVALID_ARGUMENT", f"unsupported dtype {value.dtype}")
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    return dtype, value.data_ptr(), tuple(value.shape), tuple(value.stride()), value, factory


def _read_numpy(value: Any, writes: bool, numpy: Any):
    factory = factory_of("numpy")
    dtype = factory.dtype_of.get(value.dtype)
    if dtype is None:
        dtype = DTYPE_OF_NAME.get(value.dtype.name)  # ml_dtypes: bfloat16 and float8
    if dtype is None or not value.dtype.isnative:
        raise Error("INVALID_ARGUMENT", f"unsupported dtype {value.dtype!r}")
    if writes and not value.flags.writeable:
        raise Error("INVALID_ARGUMENT", "the method writes to this input, which is read-only")
    itemsize = value.dtype.itemsize
    if not writes and any(stride < 0 or stride % itemsize for stride in value.strides):
        value = numpy.ascontiguousarray(value)
    strides = _elements(value.shape, value.strides, itemsize)
    return dtype, value.__array_interface__["data"][0], value.shape, strides, value, factory


class _DlpackResults:
    """Creates objects of another library from NumPy arrays."""

    def __init__(self, convert: Callable[[Any], Any]):
        self._numpy, self.convert = numpy_results(), convert

    def creator(self, dtype: int, sizes: Sequence[int], strides: Sequence[int]) -> Creator:
        return self._numpy.creator(dtype, sizes, strides)


def _like_dlpack(value: Any) -> Any:
    """Results of the library of `value` if it reads DLPack (jax.numpy, cupy, …), else NumPy arrays."""
    library = type(value).__module__.split(".")[0]
    # Factories are cached: a method prepares its outputs once for each.
    if library not in _factories:
        _factories[library] = _create_dlpack_results(library)
    return _factories[library]


def _create_dlpack_results(library: str) -> Any:
    if library in ("jaxlib", "jax"):
        jax = sys.modules.get("jax")
        if jax is not None:
            return _DlpackResults(jax.numpy.asarray)
    module = sys.modules.get(library)
    convert = getattr(module, "from_dlpack", None)
    return _DlpackResults(convert) if convert is not None else numpy_results()


def fill(tensor: TensorStruct, dtype: int, pointer: int, sizes: Sequence[int], strides: Sequence[int]) -> None:
    """Writes a description; raises Error for too many dimensions."""
    rank = len(sizes)
    if rank > MAX_RANK:
        raise Error("INVALID_ARGUMENT", f"expected at most {MAX_RANK} dimensions, got {rank}")
    tensor.dtype, tensor.rank, tensor.data = dtype, rank, pointer
    tensor.sizes[:rank] = sizes
    tensor.strides[:rank] = strides


def copy_out(tensor: TensorStruct, factory: Any) -> Any:
    """Copies a view in the method's memory to a new object."""
    rank = tensor.rank
    sizes, strides = tensor.sizes[:rank], tensor.strides[:rank]
    result, address, dense = factory.creator(tensor.dtype, sizes, strides)()
    target = TensorStruct()
    fill(target, tensor.dtype, address, sizes, dense)
    if math.prod(sizes) > 0:
        call("belay_tensor_copy", byref(tensor), byref(target))
    return result


class _ArrayInterface:
    """Memory of the library as an object that NumPy reads in place."""

    def __init__(self, interface: Dict[str, Any], owner: Any):
        self.__array_interface__ = interface
        self._owner = owner


def view(tensor: TensorStruct, owner: Any) -> Any:
    """A view of a tensor: a NumPy array if NumPy is installed, else a memoryview; `owner` keeps the memory."""
    rank = tensor.rank
    sizes, strides = tuple(tensor.sizes[:rank]), tuple(tensor.strides[:rank])
    results = numpy_results()
    if results is _BUFFERS:
        form = _FORMAT_OF_DTYPE.get(tensor.dtype)
        count = math.prod(sizes)
        if form is None or count == 0 or strides != row_major(sizes):
            raise Error("UNIMPLEMENTED", f"no memoryview for a state of {DTYPES[tensor.dtype]}; install NumPy")
        memory = (ctypes.c_char * (count * struct.calcsize(form))).from_address(tensor.data)
        memory._owner = owner
        return memoryview(memory).cast("B").cast(form, list(sizes))
    import numpy

    found = results._dtypes.get(tensor.dtype)
    if found is None:
        raise Error("UNIMPLEMENTED", f"NumPy has no {DTYPES[tensor.dtype]}; use save_state and restore_state")
    interface = {
        "shape": sizes,
        "strides": tuple(stride * found.itemsize for stride in strides),
        "typestr": found.str,
        "data": (tensor.data or 0, False),
        "version": 3,
    }
    return numpy.asarray(_ArrayInterface(interface, owner))
