#include "backends/demo/demo_kernels.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

absl::StatusOr<Sizes> BroadcastSizes(const Sizes& a, const Sizes& b, bool bounds) {
  Sizes result(std::max(a.size(), b.size()), 1);
  for (int d = 1; d <= result.size(); ++d) {
    const int64_t size_a = d <= a.size() ? a[a.size() - d] : 1;
    const int64_t size_b = d <= b.size() ? b[b.size() - d] : 1;
    int64_t& size = result[result.size() - d];
    if (bounds) {
      size = std::max(size_a, size_b);
    } else if (size_a == size_b || size_b == 1) {
      size = size_a;
    } else if (size_a == 1) {
      size = size_b;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes ", FormatSizes(a), " and ", FormatSizes(b), " do not broadcast"));
    }
  }
  return result;
}

absl::StatusOr<Sizes> ProductSizes(const Sizes& a, const Sizes& b, bool bounds) {
  if (a.size() != 2 || b.size() != 2 || (!bounds && a[1] != b[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes ", FormatSizes(a), " and ", FormatSizes(b), " do not form a matmul"));
  }
  return Sizes({a[0], b[1]});
}

// Returns strides that broadcast the view to `sizes`.
Strides BroadcastStrides(const TensorView& view, const Sizes& sizes) {
  Strides strides(sizes.size(), 0);
  for (int d = 1; d <= view.rank(); ++d) {
    if (view.sizes[view.rank() - d] != 1) {
      strides[sizes.size() - d] = view.strides[view.rank() - d];
    }
  }
  return strides;
}

template <class Fn>
void Unary(const TensorView& a, const TensorView& result, const Fn& fn) {
  for (StridedIterator<2> it(result.sizes, {result.strides, a.strides}); !it.done(); it.Next()) {
    result.as<float>()[it.offset(0)] = fn(a.as<const float>()[it.offset(1)]);
  }
}

template <class Fn>
void Binary(const TensorView& a, const TensorView& b, const TensorView& result, const Fn& fn) {
  for (StridedIterator<3> it(result.sizes, {result.strides, BroadcastStrides(a, result.sizes),
                                            BroadcastStrides(b, result.sizes)});
       !it.done(); it.Next()) {
    result.as<float>()[it.offset(0)] =
        fn(a.as<const float>()[it.offset(1)], b.as<const float>()[it.offset(2)]);
  }
}

void Product(const TensorView& a, const TensorView& b, const TensorView& result) {
  const float* pa = a.as<const float>();
  const float* pb = b.as<const float>();
  if (result.numel() == 0) return;  // for any number of rows
  for (int64_t i = 0; i < result.sizes[0]; ++i) {
    for (int64_t j = 0; j < result.sizes[1]; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.sizes[1]; ++k) {
        sum += static_cast<double>(pa[i * a.strides[0] + k * a.strides[1]]) *
               static_cast<double>(pb[k * b.strides[0] + j * b.strides[1]]);
      }
      result.as<float>()[i * result.strides[0] + j * result.strides[1]] = static_cast<float>(sum);
    }
  }
}

}  // namespace

int DemoOperandCount(DemoOp op) {
  switch (op) {
    case DEMO_OP_RELU:
    case DEMO_OP_SIGMOID:
    case DEMO_OP_TANH:
      return 1;
    case DEMO_OP_ADD:
    case DEMO_OP_SUB:
    case DEMO_OP_MUL:
    case DEMO_OP_MM:
      return 2;
    case DEMO_OP_ADDMM:
      return 3;
    default:
      return 0;
  }
}

absl::StatusOr<Sizes> DemoResultSizes(DemoOp op, absl::Span<const Sizes> operands, bool bounds) {
  switch (op) {
    case DEMO_OP_ADD:
    case DEMO_OP_SUB:
    case DEMO_OP_MUL:
      return BroadcastSizes(operands[0], operands[1], bounds);
    case DEMO_OP_MM:
      return ProductSizes(operands[0], operands[1], bounds);
    case DEMO_OP_ADDMM: {
      ABSL_ASSIGN_OR_RETURN(const Sizes product, ProductSizes(operands[1], operands[2], bounds));
      if (bounds) {
        if (operands[0].size() > 2) {
          return absl::InvalidArgumentError(
              absl::StrCat("sizes ", FormatSizes(operands[0]), " do not form a matrix"));
        }
        return product;
      }
      ABSL_ASSIGN_OR_RETURN(const Sizes sum, BroadcastSizes(operands[0], product, bounds));
      if (!(sum == product)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sizes ", FormatSizes(operands[0]), " do not broadcast to ", FormatSizes(product)));
      }
      return product;
    }
    default:
      return operands[0];
  }
}

uint64_t DemoWork(DemoOp op, absl::Span<const Sizes> operands, const Sizes& result) {
  const std::optional<int64_t> numel = NumElements(result);
  if (!numel.has_value()) return UINT64_MAX;
  const bool is_product = op == DEMO_OP_MM || op == DEMO_OP_ADDMM;
  // Inner dimension of a matmul; an empty sum still writes an element.
  const int64_t inner = is_product ? std::max<int64_t>(operands.back()[0], 1) : 1;
  return CheckedMul(static_cast<uint64_t>(*numel), static_cast<uint64_t>(inner))
      .value_or(UINT64_MAX);
}

void RunDemoKernel(const DemoKernelCall& call, absl::Span<const TensorView> operands,
                   const TensorView& result) {
  const float alpha = call.alpha, beta = call.beta;
  switch (call.op) {
    case DEMO_OP_RELU:
      Unary(operands[0], result, [](float a) { return a <= 0 ? 0.0f : a; });  // propagates NaN
      break;
    case DEMO_OP_SIGMOID:
      Unary(operands[0], result, [](float a) { return 1.0f / (1.0f + std::exp(-a)); });
      break;
    case DEMO_OP_TANH:
      Unary(operands[0], result, [](float a) { return std::tanh(a); });
      break;
    case DEMO_OP_ADD:
      Binary(operands[0], operands[1], result, [&](float a, float b) { return a + alpha * b; });
      break;
    case DEMO_OP_SUB:
      Binary(operands[0], operands[1], result, [&](float a, float b) { return a - alpha * b; });
      break;
    case DEMO_OP_MUL:
      Binary(operands[0], operands[1], result, [](float a, float b) { return a * b; });
      break;
    case DEMO_OP_MM:
      Product(operands[0], operands[1], result);
      break;
    case DEMO_OP_ADDMM:
      Product(operands[1], operands[2], result);
      // As in PyTorch, `a` is ignored if beta is 0.
      Binary(operands[0], result, result, [&](float a, float product) {
        return beta == 0 ? alpha * product : beta * a + alpha * product;
      });
      break;
    default:
      break;
  }
}

}  // namespace belay::demo
