// Benchmarks the packed microkernels (runtime/kernels/packed) on shapes of models, with one thread,
// as JSON:
//
//   tools/bazel run --config=opt //tools/bench:kernels [-- SECONDS]    per row; 0.2
//
// Each row has the minimum and median time of a call, its operations (two per multiply-add), and
// its bytes of constants; bench.py divides them by the limits of the machine. If constants are read
// once per token, each call uses another copy, so that they are read from memory.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "nlohmann/json.hpp"
#include "runtime/core/element.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/attention.h"
#include "runtime/kernels/packed/bfloat16_gemm.h"
#include "runtime/kernels/packed/depthwise.h"
#include "runtime/kernels/packed/dynamic_gemm.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/weight_only_gemm.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay {
namespace {

using Floats = std::vector<float>;

// Random numbers in the range of activations, none of them subnormal.
Floats Numbers(int64_t count) {
  Floats numbers(count);
  uint32_t state = 1;
  for (float& x : numbers) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
  }
  return numbers;
}

// A repeatable call and its work.
struct Kernel {
  double operations = 0;
  double constant_bytes = 0;
  bool from_memory = false;
  std::function<void()> call;
};

// Larger than any cache.
constexpr int64_t kFarBytes = int64_t{256} << 20;

// The same in bfloat16.
std::vector<BFloat16> BFloat16Numbers(int64_t count) {
  const Floats numbers = Numbers(count);
  return std::vector<BFloat16>(numbers.begin(), numbers.end());
}

// C[m, n] = A[m, k] * B[k, n], in float or BFloat16.
template <class T = float>
Kernel Gemm(int64_t m, int64_t n, int64_t k) {
  constexpr bool kPairs = sizeof(T) < sizeof(float);
  const int64_t size = kPairs ? *PackedVnni2Size(k, n) : *PackedMatrixSize(k, n);
  // GEMMs with few rows occur in decoding.
  const bool from_memory = m < 4;
  const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
  const int64_t copies = from_memory ? std::max<int64_t>(1, kFarBytes / bytes) : 1;
  struct State {
    std::vector<T> a, b, c, tile;
    int64_t next = 0;
  };
  auto state = std::make_shared<State>();
  if constexpr (kPairs) {
    state->a = BFloat16Numbers(m * k);
    state->b = BFloat16Numbers(size * copies);
  } else {
    state->a = Numbers(m * k);
    state->b = Numbers(size * copies);
  }
  state->c.resize(m * n);
  state->tile.resize(TileSize<T>(k, k));
  return {.operations = 2.0 * m * n * k,
          .constant_bytes = static_cast<double>(bytes),
          .from_memory = from_memory,
          .call = [=] {
            ProductArgs<T> args;
            args.m = m, args.n = n, args.k = k;
            args.a = state->a.data(), args.lda = k;
            args.tile = state->tile.empty() ? nullptr : state->tile.data();
            args.b = state->b.data() + state->next * size;
            args.c = state->c.data(), args.ldc = n;
            state->next = (state->next + 1) % copies;
            PackedGemm(args);
          }};
}

// Arbitrary bytes and words.
template <class T>
std::vector<T> Bits(int64_t count) {
  std::vector<T> bits(static_cast<size_t>(count));
  uint32_t state = 1;
  for (T& x : bits) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<T>(state >> 8);
  }
  return bits;
}

constexpr int64_t kGroup = 32;  // rows that share scales

// The same with weights of few bits. A has floats or, if `dynamic`, bytes quantized by rows.
Kernel FewBits(WeightFormat format, bool dynamic, int64_t m, int64_t n, int64_t k) {
  const bool from_memory = m < 4;
  const int64_t group = format == WeightFormat::kInt4 ? kGroup : k;
  const bool scaled = format != WeightFormat::kBFloat16;
  const int64_t size =
      *(dynamic ? PackedDynamicSize(format, k, n) : PackedWeightsSize(format, k, n));
  const int64_t scales = scaled ? *PackedScalesSize(k, n, group) : 0;
  const int64_t bytes = size + scales * (dynamic ? 8 : 4);
  const int64_t copies = from_memory ? std::max<int64_t>(1, kFarBytes / bytes) : 1;
  struct State {
    Floats a, scales, c, scratch;
    std::vector<int32_t> sums;
    std::vector<uint32_t> b;
    std::vector<uint64_t> rows;
    int64_t next = 0;
  };
  auto state = std::make_shared<State>();
  state->a = Numbers(m * k);
  state->b = Bits<uint32_t>(size / 4 * copies);
  if (format == WeightFormat::kBFloat16) {
    for (uint32_t& two : state->b) two = (two & 0x007f007fu) | 0x3f803f80u;
  }
  state->scales = Numbers(scales * copies);
  state->c.resize(m * n);
  Kernel made;
  made.operations = 2.0 * m * n * k;
  made.constant_bytes = static_cast<double>(bytes);
  made.from_memory = from_memory;
  if (!dynamic) {
    state->scratch.resize(WeightOnlyScratch(m, k, k));
    made.call = [=] {
      WeightOnlyGemmArgs args;
      args.m = m, args.n = n, args.k = k;
      args.a = state->a.data(), args.lda = k;
      args.format = format, args.group = group;
      args.b = state->b.data() + state->next * (size / 4);
      if (scaled) args.scales = state->scales.data() + state->next * scales;
      args.scratch = state->scratch.data();
      args.c = state->c.data(), args.ldc = n;
      state->next = (state->next + 1) % copies;
      WeightOnlyGemm(args);
    };
    return made;
  }
  state->sums = Bits<int32_t>(scales * copies);
  const int64_t row_bytes = DynamicRowBytes(k);
  state->rows.resize(m * row_bytes / 8);
  made.call = [=] {
    auto* rows = reinterpret_cast<std::byte*>(state->rows.data());
    for (int64_t i = 0; i < m; ++i) {
      PrepareDynamicRow(state->a.data() + i * k / 4, true, {.scale = 0.5f, .zero = 3}, format, k,
                        rows + i * row_bytes);
    }
    DynamicGemmArgs args;
    args.m = m, args.n = n, args.k = k;
    args.format = format, args.group = group;
    args.rows = rows;
    args.b = state->b.data() + state->next * (size / 4);
    args.scales = state->scales.data() + state->next * scales;
    args.weight_sums = state->sums.data() + state->next * scales;
    args.c = state->c.data(), args.ldc = n;
    state->next = (state->next + 1) % copies;
    DynamicGemm(args);
  };
  return made;
}

// Convolution with a 3x3 window and padding 1 on an image [size, size, channels].
struct Image {
  int64_t size, channels, stride, out_size;
  Floats pixels, zeros;
};

void Neighbors(const void* source, size_t first, size_t count, size_t tap, size_t taps,
               const float** pointers) {
  const auto& image = *static_cast<const Image*>(source);
  for (size_t t = 0; t < taps; ++t) {
    const int64_t dy = static_cast<int64_t>(tap + t) / 3 - 1;
    const int64_t dx = static_cast<int64_t>(tap + t) % 3 - 1;
    for (size_t i = 0; i < count; ++i) {
      const int64_t row = static_cast<int64_t>(first + i);
      const int64_t y = row / image.out_size * image.stride + dy;
      const int64_t x = row % image.out_size * image.stride + dx;
      const bool inside = 0 <= y && y < image.size && 0 <= x && x < image.size;
      pointers[t * count + i] =
          inside ? &image.pixels[(y * image.size + x) * image.channels] : image.zeros.data();
    }
  }
}

Kernel Convolution(int64_t size, int64_t channels, int64_t out_channels, int64_t stride) {
  struct State {
    Image image;
    Floats b, c;
    std::vector<const float*> pointers;
  };
  const int64_t out_size = (size - 1) / stride + 1, m = out_size * out_size;
  auto state = std::make_shared<State>();
  state->image = {.size = size,
                  .channels = channels,
                  .stride = stride,
                  .out_size = out_size,
                  .pixels = Numbers(size * size * channels),
                  .zeros = Floats(channels)};
  const int64_t packed = *PackedMatrixSize(9 * channels, out_channels);
  state->b = Numbers(packed);
  state->c.resize(m * out_channels);
  state->pointers.resize(kGroupRows * 9);
  return {.operations = 2.0 * m * out_channels * 9 * channels,
          .constant_bytes = static_cast<double>(packed) * sizeof(float),
          .call = [=] {
            PackedGemmArgs args;
            args.m = m, args.n = out_channels, args.k = channels, args.taps = 9;
            args.row_pointers = Neighbors, args.source = &state->image;
            args.pointers = state->pointers.data();
            args.b = state->b.data();
            args.c = state->c.data(), args.ldc = out_channels;
            PackedGemm(args);
          }};
}

// Depthwise convolution with the same parameters.
Kernel Depthwise(int64_t size, int64_t channels, int64_t stride) {
  struct State {
    Floats in, weight, out;
  };
  const int64_t out_size = (size - 1) / stride + 1;
  const int64_t packed = *PackedDepthwiseSize(channels, 9);
  auto state = std::make_shared<State>();
  state->in = Numbers(size * size * channels);
  state->weight = Numbers(packed);
  state->out.resize(out_size * out_size * channels);
  return {.operations = 2.0 * out_size * out_size * channels * 9,
          .constant_bytes = static_cast<double>(packed) * sizeof(float),
          .call = [=] {
            DepthwiseArgs args;
            args.batch = 1, args.channels = channels;
            args.height = args.width = size;
            args.out_height = args.out_width = out_size;
            args.kernel_height = args.kernel_width = 3;
            args.stride_y = args.stride_x = stride;
            args.padding_y = args.padding_x = 1;
            args.in = state->in.data();
            args.weight = state->weight.data();
            args.out = state->out.data();
            DepthwiseRows(args, 0, out_size);
          }};
}

// Head dimension `size`; the operations exclude softmax.
Kernel Attention(int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys, int64_t size) {
  struct State {
    Floats query, key, value, out, scratch;
  };
  auto state = std::make_shared<State>();
  state->query = Numbers(heads * queries * size);
  state->key = Numbers(kv_heads * keys * size);
  state->value = Numbers(kv_heads * keys * size);
  state->out.resize(heads * queries * size);
  state->scratch.resize(*AttentionFloats(queries, keys, size, size));
  return {.operations = 4.0 * heads * queries * keys * size, .call = [=] {
            AttentionArgs args;
            args.batch = 1, args.heads = heads, args.kv_heads = kv_heads;
            args.queries = queries, args.keys = keys;
            args.head_size = args.value_size = size;
            args.query = state->query.data();
            args.key = state->key.data();
            args.value = state->value.data();
            args.query_strides = args.out_strides = {
                .batch = heads * queries * size, .head = queries * size, .token = size};
            args.key_strides = args.value_strides = {
                .batch = kv_heads * keys * size, .head = keys * size, .token = size};
            args.scale = 0.125f;
            args.out = state->out.data();
            args.scratch = state->scratch.data();
            AttentionRange(args, 0, AttentionUnits(args));
          }};
}

struct Row {
  const char* model;
  const char* what;
  const char* peak;  // figure of limits.cc
  std::function<Kernel()> make;
};

constexpr char kF32[] = "f32_fma_gflops";
constexpr char kBF16[] = "bf16_dot_gflops";
constexpr char kBytes[] = "int8_dot_gops";

std::vector<Row> Rows() {
  const auto product = [](int64_t m, int64_t n, int64_t k) {
    return [=] { return Gemm(m, n, k); };
  };
  const auto bfloat16_product = [](int64_t m, int64_t n, int64_t k) {
    return [=] { return Gemm<BFloat16>(m, n, k); };
  };
  const auto convolution = [](int64_t size, int64_t c, int64_t n, int64_t stride) {
    return [=] { return Convolution(size, c, n, stride); };
  };
  const auto depthwise = [](int64_t size, int64_t c, int64_t stride) {
    return [=] { return Depthwise(size, c, stride); };
  };
  const auto attention = [](int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys) {
    return [=] { return Attention(heads, kv_heads, queries, keys, 64); };
  };
  const auto few_bits = [](WeightFormat format, int64_t m, int64_t n, int64_t k) {
    return [=] { return FewBits(format, /*dynamic=*/false, m, n, k); };
  };
  const auto dynamic = [](WeightFormat format, int64_t m, int64_t n, int64_t k) {
    return [=] { return FewBits(format, /*dynamic=*/true, m, n, k); };
  };
  using enum WeightFormat;
  return {
      {"square", "GEMM 1024 x 1024 x 1024", kF32, product(1024, 1024, 1024)},
      {"square", "bfloat16 GEMM 1024 x 1024 x 1024", kBF16, bfloat16_product(1024, 1024, 1024)},
      {"MobileNetV2", "1x1 112x112, 32 to 16", kF32, product(112 * 112, 16, 32)},
      {"MobileNetV2", "1x1 56x56, 24 to 144", kF32, product(56 * 56, 144, 24)},
      {"MobileNetV2", "1x1 14x14, 96 to 576", kF32, product(14 * 14, 576, 96)},
      {"MobileNetV2", "1x1 7x7, 320 to 1280", kF32, product(7 * 7, 1280, 320)},
      {"MobileNetV2", "depthwise 112x112, 96, stride 2", kF32, depthwise(112, 96, 2)},
      {"MobileNetV2", "depthwise 56x56, 144", kF32, depthwise(56, 144, 1)},
      {"MobileNetV2", "depthwise 14x14, 384", kF32, depthwise(14, 384, 1)},
      {"MobileNetV2", "depthwise 7x7, 960", kF32, depthwise(7, 960, 1)},
      {"ResNet-50", "1x1 56x56, 64 to 256", kF32, product(56 * 56, 256, 64)},
      {"ResNet-50", "1x1 14x14, 1024 to 256", kF32, product(14 * 14, 256, 1024)},
      {"ResNet-50", "1x1 7x7, 512 to 2048", kF32, product(7 * 7, 2048, 512)},
      {"ResNet-50", "3x3 56x56, 64", kF32, convolution(56, 64, 64, 1)},
      {"ResNet-50", "3x3 28x28, 128", kF32, convolution(28, 128, 128, 1)},
      {"ResNet-50", "3x3 28x28, 256, stride 2", kF32, convolution(28, 256, 256, 2)},
      {"ResNet-50", "3x3 7x7, 512", kF32, convolution(7, 512, 512, 1)},
      {"ViT-B/16", "linear 197 x 768 x 768", kF32, product(197, 768, 768)},
      {"ViT-B/16", "linear 197 x 3072 x 768", kF32, product(197, 3072, 768)},
      {"ViT-B/16", "linear 197 x 768 x 3072", kF32, product(197, 768, 3072)},
      {"ViT-B/16", "bfloat16 linear 197 x 768 x 3072", kBF16, bfloat16_product(197, 768, 3072)},
      {"ViT-B/16", "attention, 12 heads, 197 tokens", kF32, attention(12, 12, 197, 197)},
      {"Llama-110M", "linear 1 x 768 x 768", kF32, product(1, 768, 768)},
      {"Llama-110M", "linear 1 x 2048 x 768", kF32, product(1, 2048, 768)},
      {"Llama-110M", "linear 1 x 768 x 2048", kF32, product(1, 768, 2048)},
      {"Llama-110M", "linear 1 x 32000 x 768", kF32, product(1, 32000, 768)},
      {"Llama-110M", "linear 1 x 2048 x 768, bf16 weights", kF32,
       few_bits(kBFloat16, 1, 2048, 768)},
      {"Llama-110M", "linear 1 x 2048 x 768, int8 weights", kF32, few_bits(kInt8, 1, 2048, 768)},
      {"Llama-110M", "linear 1 x 2048 x 768, int4 weights", kF32, few_bits(kInt4, 1, 2048, 768)},
      {"Llama-110M", "linear 8 x 2048 x 768, int8 weights", kF32, few_bits(kInt8, 8, 2048, 768)},
      {"Llama-110M", "linear 8 x 2048 x 768, int4 weights", kF32, few_bits(kInt4, 8, 2048, 768)},
      {"Llama-110M", "linear 1 x 2048 x 768, int8 times int8", kBytes,
       dynamic(kInt8, 1, 2048, 768)},
      {"Llama-110M", "linear 1 x 2048 x 768, int8 times int4", kBytes,
       dynamic(kInt4, 1, 2048, 768)},
      {"Llama-110M", "linear 128 x 2048 x 768", kF32, product(128, 2048, 768)},
      {"Llama-110M", "linear 128 x 2048 x 768, int4 weights", kF32,
       few_bits(kInt4, 128, 2048, 768)},
      {"Llama-110M", "linear 128 x 2048 x 768, int8 times int8", kBytes,
       dynamic(kInt8, 128, 2048, 768)},
      {"Llama-110M", "linear 128 x 2048 x 768, int8 times int4", kBytes,
       dynamic(kInt4, 128, 2048, 768)},
      {"Llama-110M", "attention, 12 heads on 4, 128 keys", kF32, attention(12, 4, 1, 128)},
  };
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

nlohmann::json Measure(const Row& row, double seconds) {
  const Kernel kernel = row.make();
  kernel.call();
  // Amortizes the clock's own cost: calls are timed in groups of 20 us or more.
  int64_t group = 1;
  for (;; group *= 2) {
    const double start = Now();
    for (int64_t i = 0; i < group; ++i) kernel.call();
    if (Now() - start > 20e-6) break;
  }
  std::vector<double> us;
  for (const double end = Now() + seconds; Now() < end || us.size() < 3;) {
    const double start = Now();
    for (int64_t i = 0; i < group; ++i) kernel.call();
    us.push_back(1e6 * (Now() - start) / group);
  }
  std::sort(us.begin(), us.end());
  return {{"model", row.model},
          {"what", row.what},
          {"peak", row.peak},
          {"operations", kernel.operations},
          {"constant_bytes", kernel.constant_bytes},
          {"from_memory", kernel.from_memory},
          {"us_least", us.front()},
          {"us_median", us[us.size() / 2]}};
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  double seconds = 0.2;
  if (argc > 2 || (argc == 2 && (!absl::SimpleAtod(argv[1], &seconds) || !(seconds > 0)))) {
    std::cerr << "usage: kernels [SECONDS per row, above 0]\n";
    return 2;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const belay::Row& row : belay::Rows()) rows.push_back(belay::Measure(row, seconds));
  std::cout << nlohmann::json{{"instruction_set", belay::InstructionSets().front()}, {"rows", rows}}
                   .dump(1)
            << "\n";
  return 0;
}
