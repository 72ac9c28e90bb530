#include "runtime/kernel_interface/work.h"

#include <algorithm>

namespace belay {
namespace {

using Kind = WorkRule::Kind;

// Cost of reading or writing an element, in multiply-adds.
constexpr uint64_t kElement = 16;

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

// The larger of dimensions 1 and 2: tokens of [batch, tokens, heads, size], in either order.
uint64_t MiddleSize(const TensorView* tensor) {
  if (tensor == nullptr || tensor->rank() < 3) return 0;
  return static_cast<uint64_t>(std::max(tensor->sizes[1], tensor->sizes[2]));
}

// rows(a) * elements of one matrix of b; batches are paired.
uint64_t MatmulWork(const TensorView* a, const TensorView* b) {
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

uint64_t WorkOfArguments(const WorkRule& rule, const KernelContext& context) {
  uint64_t elements = 0;
  for (int i = 0; i < context.num_arguments(); ++i) {
    elements = Plus(elements, Elements(context.argument(i)));
  }
  const TensorView* first = TensorAt(context, rule.first);
  const TensorView* second = TensorAt(context, rule.second);
  uint64_t more = 0;
  switch (rule.kind) {
    case Kind::kMatmul:
      more = MatmulWork(first, second);
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
    case Kind::kTokens:
      more = Times(Count(first), MiddleSize(second));
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
