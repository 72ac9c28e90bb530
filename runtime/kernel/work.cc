#include "runtime/kernel/work.h"

#include <algorithm>
#include <iterator>

namespace belay {
namespace {

using Kind = WorkRule::Kind;

// Cost of reading or writing an element, in multiply-adds.
constexpr uint64_t kElement = 16;

struct Row {
  std::string_view op;  // name, or a prefix followed by '*'
  WorkRule rule;
};

// The first match applies. Searched once per instruction, at load.
constexpr Row kRows[] = {
    {"aten.mm.default", {Kind::kProduct, 0, 1}},
    {"aten.bmm.default", {Kind::kProduct, 0, 1}},
    {"aten.mv.default", {Kind::kProduct, 0, 1}},
    {"aten.addmm.default", {Kind::kProduct, 1, 2}},
    {"aten.baddbmm.default", {Kind::kProduct, 1, 2}},
    {"aten.addmv.default", {Kind::kProduct, 1, 2}},
    {"aten._grouped_mm.default", {Kind::kProduct, 0, 1}},
    {"aten.convolution.default", {Kind::kConvolution}},
    {"aten.convolution_backward.default", {Kind::kGradient}},
    {"aten._cdist_forward.default", {Kind::kProduct, 0, 1, 8}},
    {"aten._pdist_forward.default", {Kind::kProduct, 0, 0, 8}},
    {"aten._trilinear.default", {Kind::kPairs, 0, 2}},
    {"aten._embedding_bag.default", {Kind::kBags}},
    {"aten.avg_pool2d_backward.default", {Kind::kWindow, 2}},
    {"aten.avg_pool*", {Kind::kWindow, 1}},
    {"aten.max_pool2d_with_indices.default", {Kind::kWindow, 1}},
    {"aten.max_pool3d_with_indices.default", {Kind::kWindow, 1}},
    {"aten._linalg_eigh*", {Kind::kRows, 0, 0, 32}},
    {"aten._linalg_svd*", {Kind::kRows, 0, 0, 32}},
    {"aten._linalg*", {Kind::kRows, 0, 0, 2}},
    {"aten.linalg_matrix_exp*", {Kind::kRows, 0, 0, 32}},
    {"aten.linalg_vector_norm*", {}},
    {"aten.linalg_solve_triangular*", {Kind::kProduct, 1, 0}},
    {"aten.linalg_lu_solve*", {Kind::kProduct, 2, 0, 2}},
    {"aten.linalg*", {Kind::kRows, 0, 0, 4}},
    {"aten.sort*", {Kind::kElements, 0, 0, 8}},
    {"aten.topk*", {Kind::kElements, 0, 0, 8}},
    {"aten.kthvalue*", {Kind::kElements, 0, 0, 8}},
    {"aten.median*", {Kind::kElements, 0, 0, 8}},
    {"aten._fft*", {Kind::kElements, 0, 0, 16}},
    {"aten.special_*", {Kind::kElements, 0, 0, 8}},
    {"aten.igamma*", {Kind::kElements, 0, 0, 32}},
    {"aten.polygamma*", {Kind::kElements, 0, 0, 8}},
    {"aten.digamma*", {Kind::kElements, 0, 0, 4}},
    {"aten.lgamma*", {Kind::kElements, 0, 0, 4}},
    {"aten._upsample*", {Kind::kElements, 0, 0, 8}},
    {"aten.grid_sampler*", {Kind::kElements, 0, 0, 4}},
    {"aten.poisson*", {Kind::kElements, 0, 0, 64}},
    {"aten.rand*", {Kind::kElements, 0, 0, 16}},
    {"seeded.poisson*", {Kind::kElements, 0, 0, 64}},
    {"seeded.*", {Kind::kElements, 0, 0, 16}},
    {"torchvision.nms*", {Kind::kPairs, 1, 1, 8}},
    {"torchvision.roi_align*", {Kind::kElements, 0, 0, 64}},
    {"belay_cpu.linear.default", {Kind::kProduct, 0, 1}},
    {"belay_cpu.quantized_linear.default", {Kind::kProduct, 0, 1}},
    {"belay_cpu.weight_only_linear.default", {Kind::kProduct, 0, 1, 2}},
    {"belay_cpu.dynamic_quantized_linear.default", {Kind::kProduct, 0, 3, 2}},
    {"belay_cpu.bfloat16_linear.default", {Kind::kProduct, 0, 1}},
    {"belay_cpu.bfloat16_conv2d.default", {Kind::kConvolution}},
    {"belay_cpu.conv2d.default", {Kind::kConvolution}},
    {"belay_cpu.convolution.default", {Kind::kConvolution}},
    {"belay_cpu.conv2d_chain.default", {Kind::kChain, 0, 1}},
    {"belay_cpu.depthwise_conv2d.default", {Kind::kConvolution}},
    {"belay_cpu.quantized_conv2d.default", {Kind::kConvolution}},
    {"belay_cpu.quantized_depthwise_conv2d.default", {Kind::kConvolution}},
    {"belay_cpu.winograd_conv2d.default", {Kind::kConvolution}},
    {"belay_cpu.attention.default", {Kind::kProduct, 0, 1, 2}},
    {"belay_cpu.max_pool2d.default", {Kind::kWindow, 1}},
    {"quantized_decomposed.mixed*", {Kind::kProduct, 0, 1}},
};

bool Matches(std::string_view pattern, std::string_view op) {
  if (!pattern.ends_with('*')) return pattern == op;
  return op.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Sizes are not negative. If the product of sizes overflows, the tensor is empty.
uint64_t Times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
uint64_t Plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t Count(const TensorView* tensor) {
  if (tensor == nullptr) return 0;
  uint64_t count = 1;
  for (const int64_t size : tensor->sizes) {
    if (size <= 0) return 0;
    count = Times(count, static_cast<uint64_t>(size));
  }
  return count;
}

uint64_t Elements(const EValue& value) {
  if (const auto* tensor = value.get_if<TensorView>()) return Count(tensor);
  uint64_t count = 0;
  if (const auto* list = value.get_if<ListView>()) {
    for (const EValue* element : list->elements) {
      count = Plus(count, Count(element->get_if<TensorView>()));
    }
  }
  return count;
}

const TensorView* TensorAt(const KernelContext& context, int i) {
  return i < context.num_arguments() ? context.argument(i).get_if<TensorView>() : nullptr;
}

uint64_t LastSize(const TensorView& tensor) {
  return tensor.sizes.empty() ? 1 : static_cast<uint64_t>(tensor.sizes.back());
}

// rows(a) * elements of one matrix of b; batches are paired.
uint64_t Product(const TensorView* a, const TensorView* b) {
  const uint64_t elements = Count(a), others = Count(b);
  if (elements == 0 || others == 0) return 0;
  uint64_t matrices = 1;
  for (int d = 0; d + 2 < b->rank(); ++d) {
    matrices = Times(matrices, static_cast<uint64_t>(b->sizes[d]));
  }
  // A vector counts as a row, or as a column of b.
  return Times(elements / LastSize(*a), others / matrices);
}

// Pixels of an image [N, C, …] times `weights`.
uint64_t Places(const TensorView* image, uint64_t weights) {
  const uint64_t elements = Count(image);
  if (elements == 0) return 0;
  const uint64_t channels = image->rank() > 1 ? static_cast<uint64_t>(image->sizes[1]) : 1;
  return Times(elements / channels, weights);
}

uint64_t Window(const EValue& ints) {
  uint64_t window = 1;
  if (const auto* list = ints.get_if<ListView>()) {
    for (const EValue* element : list->elements) {
      const int64_t* size = element->get_if<int64_t>();
      if (size != nullptr && *size > 0) window = Times(window, static_cast<uint64_t>(*size));
    }
  } else if (const int64_t* size = ints.get_if<int64_t>(); size != nullptr && *size > 0) {
    window = Times(static_cast<uint64_t>(*size), static_cast<uint64_t>(*size));
  }
  return window;
}

}  // namespace

WorkRule WorkRuleOf(std::string_view op) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return Matches(r.op, op); });
  return row == std::end(kRows) ? WorkRule() : row->rule;
}

uint64_t WorkOfArguments(const WorkRule& rule, const KernelContext& context) {
  uint64_t elements = 0;
  for (int i = 0; i < context.num_arguments(); ++i) {
    elements = Plus(elements, Elements(context.argument(i)));
  }
  const TensorView* first = TensorAt(context, rule.first);
  const TensorView* second = TensorAt(context, rule.second);
  uint64_t more = 0;
  switch (rule.kind) {
    case Kind::kProduct:
      more = Product(first, second);
      break;
    case Kind::kPairs:
      more = Times(Count(first), Count(second));
      break;
    case Kind::kRows:
      more = Count(first);
      if (more > 0) more = Times(more, LastSize(*first));
      break;
    case Kind::kGradient:
      more = Times(3, Places(first, Count(TensorAt(context, 2))));
      break;
    case Kind::kChain:
      if (rule.second < context.num_arguments()) {
        more = Places(first, Elements(context.argument(rule.second)));
      }
      break;
    case Kind::kBags:
      more = Times(Count(second), first == nullptr ? 0 : LastSize(*first));
      break;
    case Kind::kElements:
    case Kind::kConvolution:
    case Kind::kWindow:
      break;
  }
  return Times(rule.factor, Plus(Times(kElement, elements), more));
}

uint64_t WorkOfOutputs(const WorkRule& rule, const KernelContext& context) {
  uint64_t elements = 0;
  for (int k = 0; k < context.num_outputs(); ++k) {
    const EValue* slot = context.output_slot(k);
    if (slot != nullptr) elements = Plus(elements, Elements(*slot));
  }
  uint64_t more = 0;
  if (context.num_outputs() > 0 && context.output_slot(0) != nullptr) {
    const TensorView* output = context.output_slot(0)->get_if<TensorView>();
    if (rule.kind == Kind::kConvolution) {
      // A transposed convolution iterates over its input. Otherwise iterate over the output, since
      // strides make the input look larger.
      const bool* transposed =
          context.num_arguments() > 6 ? context.argument(6).get_if<bool>() : nullptr;
      const bool backwards = transposed != nullptr && *transposed;
      more = Places(backwards ? TensorAt(context, 0) : output, Count(TensorAt(context, 1)));
    } else if (rule.kind == Kind::kWindow && rule.first < context.num_arguments()) {
      more = Times(Count(output), Window(context.argument(rule.first)));
    }
  }
  return Times(rule.factor, Plus(Times(kElement, elements), more));
}

}  // namespace belay
