#include "exir/testing/test_ops.h"

#include <memory>

#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr OpDef kOps[] = {
    {.schema = "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
     .traits = kSideEffect | kAtenInEdge},
    {.schema = "aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
     .traits = kSideEffect | kAtenInEdge},
    {.schema = "aten::_local_scalar_dense(Tensor self) -> Scalar",
     .traits = kDataDependent | kAtenInEdge | kAlwaysDecomposed},
    {.schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"},
    {.schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
               "MemoryFormat? memory_format=None) -> Tensor",
     .traits = kAlwaysDecomposed},
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .traits = kPointwise | kAlwaysDecomposed},
    {.schema = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
     .traits = kPointwise},
    {.schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
               "Scalar alpha=1) -> Tensor"},
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"},
    {.schema = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"},
    {.schema = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
               "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
               "SymInt groups) -> Tensor"},
    {.schema = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)"},
    {.schema = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"},
    {.schema = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
               "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
    {.schema = "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
     .traits = kPointwise},
    {.schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"},
    {.schema = "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
               "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"},
    {.schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .traits = kReduction},
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor"},
    {.schema = "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", .traits = kPointwise},
    {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
     .traits = kPointwise | kAlwaysDecomposed},
    {.schema = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
               "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)"},
    {.schema = "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, "
               "SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, "
               "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"},
    {.schema = "aten::neg(Tensor self) -> Tensor", .traits = kPointwise},
    {.schema = "aten::nonzero(Tensor self) -> Tensor", .traits = kDataDependent},
    {.schema = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)"},
    {.schema = "aten::permute_copy(Tensor self, int[] dims) -> Tensor", .traits = kDataMovement},
    {.schema = "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None) -> Tensor",
     .traits = kNondeterministic},
    {.schema = "aten::relu(Tensor self) -> Tensor", .traits = kPointwise},
    {.schema = "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None) -> Tensor",
     .traits = kAtenInEdge},
    {.schema = "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, "
               "SymInt? end=None, SymInt step=1) -> Tensor(a)"},
    {.schema = "aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, "
               "SymInt? end=None, SymInt step=1) -> Tensor",
     .traits = kDataMovement},
    {.schema = "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> "
               "Tensor(a)[]",
     .traits = kAlwaysDecomposed},
    {.schema = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .traits = kPointwise | kAlwaysDecomposed},
    {.schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .traits = kReduction},
    {.schema = "aten::sym_size.int(Tensor self, int dim) -> SymInt", .traits = kSymbolic},
    {.schema = "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, "
               "float[]? scale_factors) -> Tensor"},
    {.schema = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"},
    {.schema = "aten::view_copy(Tensor self, SymInt[] size) -> Tensor", .traits = kDataMovement},
    {.schema = "_operator::add(Scalar a, Scalar b) -> Scalar", .traits = kSymbolic},
    {.schema = "_operator::mul(Scalar a, Scalar b) -> Scalar", .traits = kSymbolic},
    {.schema = "_operator::eq(Scalar a, Scalar b) -> bool", .traits = kSymbolic},
};

}  // namespace

const OpRegistry& TestOps() {
  static const OpRegistry* const registry = [] {
    const absl::Span<const OpDef> tables[] = {kOps};
    auto created = OpRegistry::Create(tables);
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  return *registry;
}

}  // namespace belay::exir
