"""Runs Belay's program files from Python, over the C interface of libbelay.so: only ctypes, no PyTorch, no NumPy.

    method = belay.Library("libbelay.so").load("model.belay")
    [scores] = method(belay.Tensor("f", [1, 1, 8, 8], pixels))

bindings/c/belay.h documents the functions and their errors.
"""

import array
import ctypes

MAX_RANK = 16
# belay_dtype of array.array's type codes.
DTYPES = {"B": 1, "b": 2, "h": 3, "i": 4, "q": 5, "f": 7, "d": 8}
ABI_VERSION = 1


class Error(Exception):
    """An error of a library function: its status and its message."""


class Tensor:
    """Elements in row-major order: `code` is a type code of array.array, `elements` are numbers or an array."""

    def __init__(self, code, sizes, elements):
        self.sizes = list(sizes)
        self.elements = array.array(code, elements)
        count = 1
        for size in self.sizes:
            count *= size
        if len(self.elements) != count:
            raise ValueError(f"expected {count} elements for sizes {self.sizes}, got {len(self.elements)}")


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
        ("data", ctypes.c_void_p),
    ]


class Library:
    """libbelay.so. Its programs and methods keep a reference to it."""

    def __init__(self, path):
        lib = self.lib = ctypes.CDLL(path)
        lib.belay_abi_version.restype = ctypes.c_uint32
        if lib.belay_abi_version() < ABI_VERSION:
            raise Error(f"expected ABI version {ABI_VERSION} or later, got {lib.belay_abi_version()}")
        lib.belay_status_name.restype = ctypes.c_char_p
        lib.belay_error_message.restype = ctypes.c_char_p
        lib.belay_error_message.argtypes = [ctypes.c_void_p]
        for name in ["belay_error_free", "belay_program_free", "belay_method_free"]:
            getattr(lib, name).argtypes = [ctypes.c_void_p]
            getattr(lib, name).restype = None
        for name in ["belay_method_num_inputs", "belay_method_num_outputs"]:
            getattr(lib, name).argtypes = [ctypes.c_void_p]
            getattr(lib, name).restype = ctypes.c_size_t
        error = ctypes.POINTER(ctypes.c_void_p)
        for name, arguments in {
            "belay_program_open": [ctypes.c_char_p, ctypes.c_void_p, error],
            "belay_method_load": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, error],
            "belay_method_set_tensor": [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Tensor)],
            "belay_method_execute": [ctypes.c_void_p, ctypes.c_void_p],
            "belay_method_get_tensor": [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Tensor)],
        }.items():
            getattr(lib, name).argtypes = arguments + [error]
            getattr(lib, name).restype = ctypes.c_int

    def call(self, name, *arguments):
        """Calls a function whose last parameter receives an error; raises Error."""
        error = ctypes.c_void_p()
        status = getattr(self.lib, name)(*arguments, ctypes.byref(error))
        if status != 0:
            message = self.lib.belay_error_message(error).decode()
            self.lib.belay_error_free(error)
            raise Error(f"{self.lib.belay_status_name(status).decode()}: {message}")

    def load(self, path, method="forward"):
        """A method of the program file at `path`."""
        return Method(self, path, method)


class Method:
    """A loaded method and its program. For one thread at a time."""

    def __init__(self, library, path, name):
        self.library = library
        self.program = ctypes.c_void_p()
        self.handle = ctypes.c_void_p()
        library.call("belay_program_open", path.encode(), None, ctypes.byref(self.program))
        library.call("belay_method_load", self.program, name.encode(), None, ctypes.byref(self.handle))

    def __del__(self):
        self.library.lib.belay_method_free(self.handle)  # NULL where loading failed: nothing
        self.library.lib.belay_program_free(self.program)

    def __call__(self, *tensors):
        """Executes with these inputs; returns a list of the outputs."""
        library = self.library
        # Otherwise an input keeps the value of an earlier call, whose memory may be freed.
        wanted = library.lib.belay_method_num_inputs(self.handle)
        if len(tensors) != wanted:
            raise ValueError(f"expected {wanted} tensors, got {len(tensors)}")
        for i, tensor in enumerate(tensors):
            if len(tensor.sizes) > MAX_RANK:
                raise ValueError(f"expected at most {MAX_RANK} sizes, got {len(tensor.sizes)}")
            view = _Tensor(dtype=DTYPES[tensor.elements.typecode], rank=len(tensor.sizes))
            stride = 1
            for d in reversed(range(view.rank)):
                view.sizes[d], view.strides[d] = tensor.sizes[d], stride
                stride *= tensor.sizes[d]
            view.data = tensor.elements.buffer_info()[0]
            library.call("belay_method_set_tensor", self.handle, i, ctypes.byref(view))
        # `tensors` keeps their memory alive until here.
        library.call("belay_method_execute", self.handle, None)
        return [self._output(i) for i in range(library.lib.belay_method_num_outputs(self.handle))]

    def _output(self, i):
        view = _Tensor()
        self.library.call("belay_method_get_tensor", self.handle, i, ctypes.byref(view))
        sizes = view.sizes[: view.rank]
        codes = {dtype: code for code, dtype in DTYPES.items()}
        if view.dtype not in codes:
            raise Error(f"output {i}: no type code of array.array for the dtype {view.dtype}")
        code, stride, count = codes[view.dtype], 1, 1
        for d in reversed(range(view.rank)):
            if sizes[d] > 1 and view.strides[d] != stride:
                raise Error(f"output {i}: expected row-major order, got strides {view.strides[: view.rank]}")
            stride *= sizes[d]
            count *= sizes[d]
        elements = array.array(code)
        if count > 0:
            elements.frombytes(ctypes.string_at(view.data, count * elements.itemsize))
        return Tensor(code, sizes, elements)
