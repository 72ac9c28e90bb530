#include "backends/xnnpack/operators.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/functions.h"
#include "backends/xnnpack/library_threads.h"
#include "backends/xnnpack/node_rules.h"
#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/one_dtype_copy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"

namespace belay::xnnpack {

struct Operator::Call {
  xnn_operator_t op;
  const Node& node;
  const Operands& operands;
  int64_t channels;

  // Rows of `channels` elements; of one element if the operator has no channels.
  size_t rows() const {
    return static_cast<size_t>(*NumElements(*operands.sizes[0]) / std::max<int64_t>(channels, 1));
  }
};

namespace {

constexpr int kMaxDims = 6;
// Averages over many rows keep an accumulator per channel on the stack.
constexpr int64_t kMaxAveragedChannels = 16384;

absl::Status ToStatus(xnn_status status, std::string_view what) {
  switch (status) {
    case xnn_status_success:
      return absl::OkStatus();
    case xnn_status_out_of_memory:
      return absl::ResourceExhaustedError(absl::StrCat("XNNPACK has no memory to ", what));
    case xnn_status_unsupported_parameter:
    case xnn_status_unsupported_hardware:
      return absl::UnimplementedError(absl::StrCat("XNNPACK does not support this: ", what));
    default:
      return absl::InvalidArgumentError(absl::StrCat("XNNPACK refuses to ", what));
  }
}

// --- Setup, by signature of the library's function ---

using Call = Operator::Call;

size_t Size(const Sizes& sizes, int i) { return static_cast<size_t>(sizes[i]); }
const Sizes& Input(const Call& call) { return *call.operands.sizes[0]; }
template <class T>
const T* InputData(const Call& call, int i = 0) {
  return static_cast<const T*>(call.operands.inputs[i]);
}
template <class T>
T* OutputData(const Call& call) {
  return static_cast<T*>(call.operands.output);
}
struct Shape {
  explicit Shape(const Sizes& sizes) : rank(static_cast<size_t>(sizes.size())) {
    for (int i = 0; i < sizes.size(); ++i) dims[i] = Size(sizes, i);
  }
  size_t rank;
  size_t dims[kMaxDims] = {};
};

// Rows of channels.
template <class In, class Out>
xnn_status SetUp(const Call& call,
                 xnn_status (*function)(xnn_operator_t, size_t, const In*, Out*, pthreadpool_t)) {
  return function(call.op, call.rows(), InputData<In>(call), OutputData<Out>(call),
                  call.operands.threads);
}
// Two operands.
template <class In, class Out>
xnn_status SetUp(const Call& call,
                 xnn_status (*function)(xnn_operator_t, size_t, const size_t*, size_t,
                                        const size_t*, const In*, const In*, Out*, pthreadpool_t)) {
  const Shape a(Input(call)), b(*call.operands.sizes[1]);
  return function(call.op, a.rank, a.dims, b.rank, b.dims, InputData<In>(call),
                  InputData<In>(call, 1), OutputData<Out>(call), call.operands.threads);
}
// Whole images.
template <class In, class Out>
xnn_status SetUp(const Call& call, xnn_status (*function)(xnn_operator_t, size_t, size_t, const In*,
                                                          Out*, pthreadpool_t)) {
  const Sizes& input = Input(call);
  return function(call.op, Size(input, 0), Size(input, 1) * Size(input, 2), InputData<In>(call),
                  OutputData<Out>(call), call.operands.threads);
}
// Images. A linear layer that runs as a convolution has rows of one pixel.
template <class In, class Out>
xnn_status SetUp(const Call& call, xnn_status (*function)(xnn_operator_t, size_t, size_t, size_t,
                                                          const In*, Out*, pthreadpool_t)) {
  const Sizes& input = Input(call);
  if (call.node.type == NodeType::FullyConnected) {
    return function(call.op, call.rows(), 1, 1, InputData<In>(call), OutputData<Out>(call),
                    call.operands.threads);
  }
  return function(call.op, Size(input, 0), Size(input, 1), Size(input, 2), InputData<In>(call),
                  OutputData<Out>(call), call.operands.threads);
}
// Transposed convolutions.
template <class In, class Out>
xnn_status SetUp(const Call& call,
                 xnn_status (*function)(xnn_operator_t, size_t, size_t, size_t, uint32_t, uint32_t,
                                        const In*, Out*, pthreadpool_t)) {
  const Sizes& input = Input(call);
  return function(call.op, Size(input, 0), Size(input, 1), Size(input, 2),
                  static_cast<uint32_t>(call.node.window.adjust_height),
                  static_cast<uint32_t>(call.node.window.adjust_width), InputData<In>(call),
                  OutputData<Out>(call), call.operands.threads);
}
// Resizing.
template <class In, class Out>
xnn_status SetUp(const Call& call,
                 xnn_status (*function)(xnn_operator_t, size_t, size_t, size_t, size_t, size_t,
                                        const In*, Out*, pthreadpool_t)) {
  const Sizes &input = Input(call), &output = *call.operands.output_sizes;
  return function(call.op, Size(input, 0), Size(input, 1), Size(input, 2), Size(output, 1),
                  Size(output, 2), InputData<In>(call), OutputData<Out>(call),
                  call.operands.threads);
}
// Padding.
template <class In, class Out>
xnn_status SetUp(const Call& call,
                 xnn_status (*function)(xnn_operator_t, size_t, const size_t*, const size_t*,
                                        const size_t*, const In*, Out*, pthreadpool_t)) {
  const Shape input(Input(call)), before(call.node.numbers), after(call.node.more_numbers);
  return function(call.op, input.rank, input.dims, before.dims, after.dims, InputData<In>(call),
                  OutputData<Out>(call), call.operands.threads);
}

template <auto kFunction>
xnn_status SetUpBy(const Call& call) {
  return SetUp(call, kFunction);
}

// --- Creation ---

int8_t Quantize(float number, const Value& value) {
  const float scaled = number / value.scale + static_cast<float>(value.zero_point);
  // NaN becomes the minimum.
  if (!(scaled > INT8_MIN)) return INT8_MIN;
  return static_cast<int8_t>(std::lrint(std::min(scaled, static_cast<float>(INT8_MAX))));
}

// Returns the elements of a constant at an aligned address: its own, or that of `copy`.
template <class T>
absl::StatusOr<const T*> Elements(const Value* value, AlignedBuffer& copy) {
  if (value == nullptr) return nullptr;
  const std::byte* data = value->constant.data();
  if (reinterpret_cast<uintptr_t>(data) % alignof(T) != 0) {
    const size_t bytes = static_cast<size_t>(*NumElements(value->sizes)) * sizeof(T);
    ABSL_ASSIGN_OR_RETURN(copy, AlignedBuffer::Create(bytes));
    std::memcpy(copy.data(), data, bytes);
    data = copy.data();
  }
  return reinterpret_cast<const T*>(data);
}

struct Made {
  xnn_status status;
  xnn_status (*set_up)(const Call& call);
  int64_t channels = 0;  // see Operator::channels_
};

using CreateRows = xnn_status (*)(size_t, size_t, size_t, uint32_t, xnn_operator_t*);

Made MakeRows(CreateRows create, xnn_status (*set_up)(const Call&), xnn_operator_t* op,
              int64_t channels = 0) {
  const auto c = static_cast<size_t>(std::max<int64_t>(channels, 1));
  return {create(c, c, c, 0, op), set_up, channels};
}

template <auto kCreate, auto kSetUp>
Made MakeBinaryF32(const Node& node, xnn_operator_t* op) {
  return {kCreate(node.min, node.max, 0, op), SetUpBy<kSetUp>};
}

template <auto kCreate, auto kSetUp>
Made MakeBinaryQs8(const Graph& graph, const Node& node, xnn_operator_t* op) {
  const Value &a = *graph.input(node, 0), &b = *graph.input(node, 1);
  const Value& out = graph.values[node.output];
  return {kCreate(static_cast<int8_t>(a.zero_point), a.scale, static_cast<int8_t>(b.zero_point),
                  b.scale, static_cast<int8_t>(out.zero_point), out.scale, Quantize(node.min, out),
                  Quantize(node.max, out), 0, op),
          SetUpBy<kSetUp>};
}

template <class Function, class... Rest>
xnn_status CreateConvolution(Function create, const Window& w, Rest... rest) {
  const auto n = [](int64_t number) { return static_cast<uint32_t>(number); };
  return create(n(w.top), n(w.right), n(w.bottom), n(w.left), n(w.kernel_height), n(w.kernel_width),
                n(w.stride_height), n(w.stride_width), n(w.dilation_height), n(w.dilation_width),
                n(w.groups), static_cast<size_t>(w.group_inputs),
                static_cast<size_t>(w.group_outputs),
                static_cast<size_t>(w.groups * w.group_inputs),
                static_cast<size_t>(w.groups * w.group_outputs), rest...);
}

absl::StatusOr<Made> MakeWeightedF32(const Graph& graph, const Node& node, xnn_operator_t* op) {
  AlignedBuffer filter_copy, bias_copy;
  ABSL_ASSIGN_OR_RETURN(const float* filter, Elements<float>(graph.input(node, 1), filter_copy));
  ABSL_ASSIGN_OR_RETURN(const float* bias, Elements<float>(graph.input(node, 2), bias_copy));
  const auto inputs = static_cast<size_t>(graph.input(node, 0)->sizes.back());
  switch (node.type) {
    case NodeType::FullyConnected: {
      const auto outputs = static_cast<size_t>(graph.values[node.output].sizes.back());
      return Made{xnn_create_fully_connected_nc_f32(
                      inputs, outputs, inputs, outputs, filter, bias, node.min, node.max,
                      (node.flags & kTransposedWeights) != 0 ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0, op),
                  SetUpBy<xnn_setup_fully_connected_nc_f32>, static_cast<int64_t>(inputs)};
    }
    case NodeType::ConvTranspose2d:
      return Made{CreateConvolution(xnn_create_deconvolution2d_nhwc_f32, node.window, filter, bias,
                                    node.min, node.max, uint32_t{0}, op),
                  SetUpBy<xnn_setup_deconvolution2d_nhwc_f32>, static_cast<int64_t>(inputs)};
    default:
      return Made{CreateConvolution(xnn_create_convolution2d_nhwc_f32, node.window, filter, bias,
                                    node.min, node.max,
                                    node.type == NodeType::DepthwiseConv2d
                                        ? uint32_t{XNN_FLAG_DEPTHWISE_CONVOLUTION}
                                        : uint32_t{0},
                                    op),
                  SetUpBy<xnn_setup_convolution2d_nhwc_f32>, static_cast<int64_t>(inputs)};
  }
}

absl::StatusOr<Made> MakeWeightedQs8(const Graph& graph, const Node& node, xnn_operator_t* op) {
  AlignedBuffer filter_copy, bias_copy;
  const Value &input = *graph.input(node, 0), &weights = *graph.input(node, 1);
  const Value& out = graph.values[node.output];
  ABSL_ASSIGN_OR_RETURN(const int8_t* filter, Elements<int8_t>(&weights, filter_copy));
  ABSL_ASSIGN_OR_RETURN(const int32_t* bias, Elements<int32_t>(graph.input(node, 2), bias_copy));
  const auto in_zero = static_cast<int8_t>(input.zero_point);
  const auto out_zero = static_cast<int8_t>(out.zero_point);
  const int8_t min = Quantize(node.min, out), max = Quantize(node.max, out);
  const int64_t channels = input.sizes.back();
  Window window = node.window;
  uint32_t flags = node.type == NodeType::DepthwiseConv2d ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0;
  if (node.type == NodeType::FullyConnected) {
    if (weights.datatype == Datatype::QINT8) {
      const auto inputs = static_cast<size_t>(channels);
      const auto outputs = static_cast<size_t>(out.sizes.back());
      flags = (node.flags & kTransposedWeights) != 0 ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0;
      return Made{xnn_create_fully_connected_nc_qs8(inputs, outputs, inputs, outputs, in_zero,
                                                    input.scale, weights.scale, filter, bias,
                                                    out_zero, out.scale, min, max, flags, op),
                  SetUpBy<xnn_setup_fully_connected_nc_qs8>, channels};
    }
    // The library has per-channel scales only for convolutions, so use a 1x1 convolution.
    window.group_inputs = channels;
    window.group_outputs = out.sizes.back();
  }
  if (weights.datatype == Datatype::QINT8) {
    return Made{
        CreateConvolution(xnn_create_convolution2d_nhwc_qs8, window, in_zero, input.scale,
                          weights.scale, filter, bias, out_zero, out.scale, min, max, flags, op),
        SetUpBy<xnn_setup_convolution2d_nhwc_qs8>, channels};
  }
  return Made{CreateConvolution(xnn_create_convolution2d_nhwc_qc8, window, in_zero, input.scale,
                                weights.channel_scales.data(), filter, bias, out_zero, out.scale,
                                min, max, flags, op),
              SetUpBy<xnn_setup_convolution2d_nhwc_qc8>, channels};
}

template <class Function, class... Rest>
xnn_status CreatePool(Function create, const Window& w, bool dilated, Rest... rest) {
  const auto n = [](int64_t number) { return static_cast<uint32_t>(number); };
  if constexpr (std::is_invocable_v<Function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                    uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, Rest...>) {
    return create(n(w.top), n(w.right), n(w.bottom), n(w.left), n(w.kernel_height),
                  n(w.kernel_width), n(w.stride_height), n(w.stride_width), n(w.dilation_height),
                  n(w.dilation_width), rest...);
  } else {
    return create(n(w.top), n(w.right), n(w.bottom), n(w.left), n(w.kernel_height),
                  n(w.kernel_width), n(w.stride_height), n(w.stride_width), rest...);
  }
}

absl::StatusOr<Made> MakeF32(const Graph& graph, const Node& node, xnn_operator_t* op) {
  const Value& input = *graph.input(node, 0);
  const int64_t last = input.sizes.empty() ? 1 : input.sizes.back();
  const auto channels = static_cast<size_t>(last);
#define BELAY_ROWS(name) MakeRows(xnn_create_##name, SetUpBy<xnn_setup_##name>, op)
#define BELAY_BINARY(name) MakeBinaryF32<xnn_create_##name, xnn_setup_##name>(node, op)
  switch (node.type) {
    case NodeType::Add:
      return BELAY_BINARY(add_nd_f32);
    case NodeType::Subtract:
      return BELAY_BINARY(subtract_nd_f32);
    case NodeType::Multiply:
      return BELAY_BINARY(multiply_nd_f32);
    case NodeType::Div:
      return BELAY_BINARY(divide_nd_f32);
    case NodeType::Minimum:
      return Made{xnn_create_minimum_nd_f32(0, op), SetUpBy<xnn_setup_minimum_nd_f32>};
    case NodeType::Maximum:
      return Made{xnn_create_maximum_nd_f32(0, op), SetUpBy<xnn_setup_maximum_nd_f32>};
    case NodeType::Softmax:
      return MakeRows(xnn_create_softmax_nc_f32, SetUpBy<xnn_setup_softmax_nc_f32>, op, last);
    case NodeType::Sigmoid:
      return BELAY_ROWS(sigmoid_nc_f32);
    case NodeType::Floor:
      return BELAY_ROWS(floor_nc_f32);
    case NodeType::Ceiling:
      return BELAY_ROWS(ceiling_nc_f32);
    case NodeType::SquareRoot:
      return BELAY_ROWS(square_root_nc_f32);
    case NodeType::Square:
      return BELAY_ROWS(square_nc_f32);
    case NodeType::Negate:
      return BELAY_ROWS(negate_nc_f32);
    case NodeType::Abs:
      return BELAY_ROWS(abs_nc_f32);
    case NodeType::Hardswish:
      return BELAY_ROWS(hardswish_nc_f32);
    case NodeType::LeakyReLU:
      return Made{xnn_create_leaky_relu_nc_f32(1, 1, 1, node.number, 0, op),
                  SetUpBy<xnn_setup_leaky_relu_nc_f32>};
    case NodeType::ELU:
      return Made{xnn_create_elu_nc_f32(1, 1, 1, node.number, 0, op),
                  SetUpBy<xnn_setup_elu_nc_f32>};
    case NodeType::Clamp:
      return Made{xnn_create_clamp_nc_f32(1, 1, 1, node.min, node.max, 0, op),
                  SetUpBy<xnn_setup_clamp_nc_f32>};
    case NodeType::PReLU: {
      AlignedBuffer copy;
      ABSL_ASSIGN_OR_RETURN(const float* slopes, Elements<float>(graph.input(node, 1), copy));
      return Made{xnn_create_prelu_nc_f32(channels, channels, channels, slopes, 0, op),
                  SetUpBy<xnn_setup_prelu_nc_f32>, last};
    }
    case NodeType::GlobalAvgPooling2d:
      return Made{xnn_create_global_average_pooling_nwc_f32(channels, channels, channels, node.min,
                                                            node.max, 0, op),
                  SetUpBy<xnn_setup_global_average_pooling_nwc_f32>, last};
    case NodeType::AvgPooling2d:
      return Made{CreatePool(xnn_create_average_pooling2d_nhwc_f32, node.window, false, channels,
                             channels, channels, node.min, node.max, uint32_t{0}, op),
                  SetUpBy<xnn_setup_average_pooling2d_nhwc_f32>, last};
    case NodeType::MaxPooling2d:
      return Made{CreatePool(xnn_create_max_pooling2d_nhwc_f32, node.window, true, channels,
                             channels, channels, node.min, node.max, uint32_t{0}, op),
                  SetUpBy<xnn_setup_max_pooling2d_nhwc_f32>, last};
    case NodeType::StaticResizeBilinear2D:
      return Made{xnn_create_resize_bilinear2d_nhwc_f32(
                      channels, channels, channels,
                      (node.flags & kAlignCorners) != 0 ? XNN_FLAG_ALIGN_CORNERS : 0, op),
                  SetUpBy<xnn_setup_resize_bilinear2d_nhwc_f32>, last};
    case NodeType::StaticConstantPad:
      return Made{xnn_create_constant_pad_nd_x32(&node.number, 0, op),
                  SetUpBy<xnn_setup_constant_pad_nd_x32>};
    case NodeType::Convert: {
      const Value& out = graph.values[node.output];
      return Made{
          xnn_create_convert_nc_f32_qs8(1, 1, 1, out.scale, static_cast<int8_t>(out.zero_point),
                                        INT8_MIN, INT8_MAX, 0, op),
          SetUpBy<xnn_setup_convert_nc_f32_qs8>};
    }
    default:
      return MakeWeightedF32(graph, node, op);
  }
#undef BELAY_BINARY
#undef BELAY_ROWS
}

absl::StatusOr<Made> MakeQs8(const Graph& graph, const Node& node, xnn_operator_t* op) {
  const Value& input = *graph.input(node, 0);
  const Value& out = graph.values[node.output];
  const int64_t last = input.sizes.empty() ? 1 : input.sizes.back();
  const auto channels = static_cast<size_t>(last);
  const auto in_zero = static_cast<int8_t>(input.zero_point);
#define BELAY_BINARY(name) MakeBinaryQs8<xnn_create_##name, xnn_setup_##name>(graph, node, op)
  switch (node.type) {
    case NodeType::Add:
      return BELAY_BINARY(add_nd_qs8);
    case NodeType::Subtract:
      return BELAY_BINARY(subtract_nd_qs8);
    case NodeType::Multiply:
      return BELAY_BINARY(multiply_nd_qs8);
    case NodeType::Clamp:
      return Made{
          xnn_create_clamp_nc_s8(1, 1, 1, Quantize(node.min, out), Quantize(node.max, out), 0, op),
          SetUpBy<xnn_setup_clamp_nc_s8>};
    case NodeType::Convert:
      return Made{xnn_create_convert_nc_qs8_f32(1, 1, 1, input.scale, in_zero, 0, op),
                  SetUpBy<xnn_setup_convert_nc_qs8_f32>};
    case NodeType::GlobalAvgPooling2d:
      return Made{xnn_create_global_average_pooling_nwc_qs8(
                      channels, channels, channels, in_zero, input.scale,
                      static_cast<int8_t>(out.zero_point), out.scale, Quantize(node.min, out),
                      Quantize(node.max, out), 0, op),
                  SetUpBy<xnn_setup_global_average_pooling_nwc_qs8>, last};
    case NodeType::MaxPooling2d:
      return Made{
          CreatePool(xnn_create_max_pooling2d_nhwc_s8, node.window, true, channels, channels,
                     channels, Quantize(node.min, out), Quantize(node.max, out), uint32_t{0}, op),
          SetUpBy<xnn_setup_max_pooling2d_nhwc_s8>, last};
    case NodeType::StaticConstantPad: {
      const int8_t padding = Quantize(node.number, out);
      return Made{xnn_create_constant_pad_nd_x8(&padding, 0, op),
                  SetUpBy<xnn_setup_constant_pad_nd_x8>};
    }
    default:
      return MakeWeightedQs8(graph, node, op);
  }
#undef BELAY_BINARY
}

// --- Nodes that the library does not have ---

bool MovesElements(NodeType type) {
  switch (type) {
    case NodeType::StaticTranspose:
    case NodeType::StaticReshape:
    case NodeType::StaticSlice:
    case NodeType::Concatenate2:
    case NodeType::Concatenate3:
    case NodeType::Concatenate4:
    case NodeType::Concatenate5:
    case NodeType::Copy:
      return true;
    default:
      return false;
  }
}

// A dense tensor. For copies, any dtype of four bytes will do.
TensorView Elements(const Sizes& sizes, const void* data, size_t element_bytes) {
  return TensorView::Contiguous(element_bytes == 1 ? DType::kInt8 : DType::kInt32, sizes,
                                const_cast<void*>(data));
}

void Advance(TensorView& view, int64_t elements, size_t element_bytes) {
  view.data = static_cast<std::byte*>(view.data) + static_cast<size_t>(elements) * element_bytes;
}

absl::Status MoveElements(const Node& node, const Operands& operands, size_t element_bytes) {
  TensorView out = Elements(*operands.output_sizes, operands.output, element_bytes);
  TensorView in = Elements(*operands.sizes[0], operands.inputs[0], element_bytes);
  switch (node.type) {
    case NodeType::StaticTranspose: {
      const TensorView from = in;
      for (int i = 0; i < in.rank(); ++i) {
        in.sizes[i] = from.sizes[static_cast<int>(node.numbers[i])];
        in.strides[i] = from.strides[static_cast<int>(node.numbers[i])];
      }
      return CopyElementsOfOneDType(in, out);
    }
    case NodeType::StaticSlice:
      for (int i = 0; i < in.rank(); ++i) {
        Advance(in, node.numbers[i] * in.strides[i], element_bytes);
        in.sizes[i] = node.more_numbers[i];
      }
      return CopyElementsOfOneDType(in, out);
    case NodeType::StaticReshape:
    case NodeType::Copy:
      std::memcpy(out.data, in.data, out.nbytes());
      return absl::OkStatus();
    default: {
      const int axis = static_cast<int>(node.numbers[0]);
      for (size_t i = 0; i < operands.inputs.size(); ++i) {
        in = Elements(*operands.sizes[i], operands.inputs[i], element_bytes);
        TensorView part = out;
        part.sizes[axis] = in.sizes[axis];
        ABSL_RETURN_IF_ERROR(CopyElementsOfOneDType(in, part));
        Advance(out, in.sizes[axis] * out.strides[axis], element_bytes);
      }
      return absl::OkStatus();
    }
  }
}

}  // namespace

absl::Status InitializeLibrary() {
  static const xnn_status status = xnn_initialize(nullptr);
  return ToStatus(status, "run on this machine");
}

bool LibraryUsesPool() {
  // The dynamic linker decides which functions the library uses, and a process may have loaded
  // libpthreadpool before Belay. Detected by running one of the library's operators without a pool.
  static const bool takes = [] {
    constexpr size_t kElements = 1 + XNN_EXTRA_BYTES / sizeof(float);
    const float input[kElements] = {};
    float output[kElements];
    xnn_operator_t op = nullptr;
    if (xnn_create_abs_nc_f32(1, 1, 1, 0, &op) != xnn_status_success) return false;
    const uint64_t before = LibraryCallsOfThisThread().all;
    xnn_status status = xnn_setup_abs_nc_f32(op, 1, input, output, nullptr);
    if (status == xnn_status_success) status = xnn_run_operator(op, nullptr);
    xnn_delete_operator(op);
    return status == xnn_status_success && LibraryCallsOfThisThread().all > before;
  }();
  return takes;
}

absl::StatusOr<Operator> Operator::Create(const Graph& graph, const Node& node) {
  Operator result;
  const Value& input = *graph.input(node, 0);
  const bool qint8 = input.datatype == Datatype::QINT8;
  if (qint8) result.element_bytes_ = 1;
  if (MovesElements(node.type) || FindNodeRule(node.type)->function) return result;
  if ((node.type == NodeType::AvgPooling2d || node.type == NodeType::GlobalAvgPooling2d) &&
      input.sizes.back() > kMaxAveragedChannels) {
    return absl::UnimplementedError(absl::StrCat("averages of ", input.sizes.back(),
                                                 " channels, at most ", kMaxAveragedChannels,
                                                 " are possible"));
  }
  xnn_operator_t op = nullptr;
  ABSL_ASSIGN_OR_RETURN(const Made made,
                        qint8 ? MakeQs8(graph, node, &op) : MakeF32(graph, node, &op));
  ABSL_RETURN_IF_ERROR(ToStatus(made.status, "create the operator with these parameters"));
  result.operator_.reset(op);
  result.set_up_ = made.set_up;
  result.channels_ = made.channels;
  return result;
}

uint64_t Operator::Bytes(const Graph& graph, const Node& node) {
  constexpr uint64_t kOperatorBytes = 4096;
  constexpr uint64_t kChannelsTile = 32, kInputsTile = 8, kPlaceBytes = 48;
  MemoryBound bound;
  bound.Add(1, kOperatorBytes);
  const Window& w = node.window;
  const auto round_up = [](int64_t number, uint64_t tile) {
    return (static_cast<uint64_t>(number) + tile - 1) / tile * tile;
  };
  const auto product = [](std::initializer_list<uint64_t> factors) {
    uint64_t result = 1;
    for (uint64_t factor : factors) result = CheckedMul(result, factor).value_or(UINT64_MAX);
    return result;
  };
  const uint64_t taps =
      product({static_cast<uint64_t>(w.kernel_height), static_cast<uint64_t>(w.kernel_width)});
  const Sizes& output = graph.values[node.output].sizes;
  switch (node.type) {
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
    case NodeType::ConvTranspose2d: {
      // Packed weights: a filter, a bias and a scale per output channel.
      constexpr uint64_t kDepthwiseTaps = 25;
      if (w.group_inputs == 1 && w.group_outputs == 1 && taps <= kDepthwiseTaps) {
        bound.Add(round_up(w.groups, kChannelsTile), (taps + 8) * sizeof(float));
      } else {
        bound.Add(
            product({static_cast<uint64_t>(w.groups), round_up(w.group_outputs, kChannelsTile),
                     product({taps, round_up(w.group_inputs, kInputsTile)}) + 8}),
            sizeof(float));
      }
      // A transposed convolution is split into subconvolutions, each with part of the kernel.
      if (node.type == NodeType::ConvTranspose2d) {
        bound.Add(product({static_cast<uint64_t>(w.stride_height),
                           static_cast<uint64_t>(w.stride_width)}),
                  256 + product({static_cast<uint64_t>(w.groups), kChannelsTile, 8}) * 4);
      }
      [[fallthrough]];
    }
    case NodeType::AvgPooling2d:
    case NodeType::MaxPooling2d:
      // Indirection buffer: a pointer per output position and tap; rows are rounded up.
      bound.Add(product({static_cast<uint64_t>(output[1]) + kChannelsTile,
                         static_cast<uint64_t>(output[2]) + kChannelsTile, taps}),
                sizeof(void*));
      bound.Add(product({static_cast<uint64_t>(output[1]), static_cast<uint64_t>(output[2])}),
                kPlaceBytes);
      bound.Add(static_cast<uint64_t>(graph.input(node, 0)->sizes[3]) + XNN_EXTRA_BYTES, 4);
      break;
    case NodeType::FullyConnected:
      bound.Add(product({round_up(output.back(), kChannelsTile),
                         round_up(graph.input(node, 0)->sizes.back(), kInputsTile) + 8}),
                sizeof(float));
      break;
    case NodeType::StaticResizeBilinear2D:
      bound.Add(product({static_cast<uint64_t>(output[1]), static_cast<uint64_t>(output[2])}),
                kPlaceBytes);
      break;
    case NodeType::GlobalAvgPooling2d:
    case NodeType::PReLU:
      bound.Add(static_cast<uint64_t>(graph.input(node, 0)->sizes.back()) + XNN_EXTRA_BYTES, 4);
      break;
    default:
      break;
  }
  return bound.bytes();
}

absl::Status Operator::Run(const Node& node, const Operands& operands) const {
  if (operator_ == nullptr && FindNodeRule(node.type)->function) {
    ComputeFunction(node, operands);
    return absl::OkStatus();
  }
  if (operator_ == nullptr) return MoveElements(node, operands, element_bytes_);
  if (channels_ != 0 && operands.sizes[0]->back() != channels_) {
    return absl::UnimplementedError(absl::StrCat(
        operands.sizes[0]->back(), " channels; the operator was made for ", channels_));
  }
  const Call call{operator_.get(), node, operands, channels_};
  ABSL_RETURN_IF_ERROR(ToStatus(set_up_(call), "set up the operator for these sizes"));
  return ToStatus(xnn_run_operator(operator_.get(), operands.threads), "run the operator");
}

}  // namespace belay::xnnpack
