#include "backends/cpu/aot/passes/packed_constants.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/packed_parameter.h"
#include "backends/cpu/quantized_calls.h"
#include "exir/ir/mapped_pages.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay::cpu {
namespace {

using exir::ConstantTensor;
using exir::Storage;

// Strides of a matrix [k, n] in the storage order of the constant, so that no transposed copy is
// made.
struct MatrixOrder {
  explicit MatrixOrder(const ConstantView& matrix)
      : k(*matrix.sizes[0].AsInt()), n(*matrix.sizes[1].AsInt()) {
    if (matrix.strides[0] >= matrix.strides[1]) return;
    order[0] = 1;
    order[1] = 0;
    row_stride = 1;
    column_stride = k;
  }
  int64_t k, n;
  uint8_t order[2] = {0, 1};
  int64_t row_stride = n, column_stride = 1;
};

absl::Status TooLarge(const Sizes& sizes) {
  return absl::InvalidArgumentError(
      absl::StrCat("the packed form of a constant ", FormatSizes(sizes), " is too large"));
}

// Packs one float per group of k and column of a weight [k, n], stored as [group][n].
absl::StatusOr<std::vector<float>> PackGroupFloats(const ConstantView& weight, int64_t group,
                                                   absl::Span<const float> floats) {
  const int64_t k = *weight.sizes[0].AsInt(), n = *weight.sizes[1].AsInt();
  const std::optional<int64_t> count = PackedScalesSize(k, n, group);
  if (!count.has_value()) return TooLarge({k, n});
  std::vector<float> packed(static_cast<size_t>(*count));
  PackScales(floats.data(), k, n, group, /*group_stride=*/n, /*column_stride=*/1, packed.data());
  return packed;
}

}  // namespace

template <class T>
absl::StatusOr<exir::ValueId> PackedConstants::Insert(const ConstantView& after,
                                                      std::string_view suffix, std::string key,
                                                      Storage elements, Sizes sizes) {
  if (sizes.empty()) sizes = {static_cast<int64_t>(elements.bytes.size() / sizeof(T))};
  std::vector<exir::SymInt> symbolic(sizes.begin(), sizes.end());
  ABSL_ASSIGN_OR_RETURN(ConstantTensor made,
                        ConstantTensor::Contiguous(DTypeOf<T>, sizes, std::move(elements)));
  const size_t root = *program_.InputIndex(after.root);
  int next = 0;
  const std::string target = exir::UnusedTensorName(
      program_, absl::StrCat(program_.signature.inputs[root].target, "_", suffix), next);
  const std::string name =
      absl::StrCat(editor_.graph().value(after.root).name, "_", suffix, next - 1);
  const exir::ValueId input =
      exir::InsertConstantInput(program_, editor_, exir::EndOfConstants(program_), name, target,
                                exir::TensorMeta::Contiguous(DTypeOf<T>, std::move(symbolic)));
  program_.signature.inputs[exir::EndOfConstants(program_) - 1].file =
      program_.signature.inputs[root].file;
  program_.constants.emplace(target, std::move(made));
  made_.emplace(std::move(key), input);
  return input;
}

template <class From, class To, class Make>
absl::StatusOr<exir::ValueId> PackedConstants::AddFromTensor(const ConstantView& view,
                                                             const Form& form,
                                                             std::optional<int64_t> count,
                                                             Make make, const Sizes& sizes) {
  const std::optional<ConstantTensor> tensor = view.ToTensor();
  ABSL_CHECK(tensor.has_value() && tensor->dtype() == DTypeOf<From>);
  std::string key = absl::StrCat(
      form.suffix, " ", form.way, " ", DTypeName(DTypeOf<From>), " ", DTypeName(DTypeOf<To>), " ",
      absl::Hex(reinterpret_cast<uintptr_t>(tensor->storage().bytes.data())), " ",
      tensor->storage_offset(), FormatSizes(tensor->sizes()), FormatSizes(tensor->strides()));
  const exir::InputSpec& source = program_.signature.inputs[*program_.InputIndex(view.root)];
  if (source.replaceable) absl::StrAppend(&key, " ", source.target);
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  if (!count.has_value()) return TooLarge(tensor->sizes());
  // Columns are padded to a full panel; with few columns the packed form is much larger.
  ABSL_RETURN_IF_ERROR(TakeBytes(static_cast<uint64_t>(*count) * sizeof(To),
                                 absl::StrCat("a packed constant ", FormatSizes(tensor->sizes()))));
  ABSL_ASSIGN_OR_RETURN(exir::FileBytes packed,
                        exir::CreateZeros(static_cast<uint64_t>(*count) * sizeof(To)));
  ABSL_RETURN_IF_ERROR(make(*tensor, reinterpret_cast<To*>(packed.bytes.data())));
  exir::ReleasePages(packed.bytes);
  return Insert<To>(view, form.suffix, std::move(key), {std::move(packed.owner), packed.bytes},
                    sizes);
}

template <class From, class To, class Make>
absl::StatusOr<exir::ValueId> PackedConstants::Add(const ConstantView& view, const Form& form,
                                                   absl::Span<const uint8_t> order,
                                                   std::optional<int64_t> count, Make make,
                                                   const Sizes& sizes) {
  return AddFromTensor<From, To>(
      view, form, count,
      [&](const ConstantTensor& tensor, To* to) -> absl::Status {
        ABSL_ASSIGN_OR_RETURN(const Storage elements, tensor.Dense(order));
        make(reinterpret_cast<const From*>(elements.bytes.data()), to);
        exir::ReleasePages(elements.bytes);
        return absl::OkStatus();
      },
      sizes);
}

absl::StatusOr<exir::ValueId> PackedConstants::AddMatrix(const ConstantView& view,
                                                         absl::Span<const uint8_t> order, int64_t k,
                                                         int64_t n, int64_t row_stride,
                                                         int64_t column_stride) {
  const Form form = {"packed"};
  // Whether the elements of a range of columns are contiguous in `order`.
  const bool by_columns = column_stride == k && row_stride == 1 && k > 0;
  if (!by_columns) {
    return Add<float, float>(view, form, order, PackedMatrixSize(k, n),
                             [&](const float* b, float* packed) {
                               PackMatrix(b, k, n, row_stride, column_stride, packed);
                             });
  }
  const auto pack = [&](const ConstantTensor& tensor, float* packed) -> absl::Status {
    constexpr int64_t kMostFloats = int64_t{1} << 20;
    const int64_t step = std::max<int64_t>(kMostFloats / k / kPanelColumns, 1) * kPanelColumns;
    const int dim = order[0];
    for (int64_t first = 0; first < n; first += step) {
      const int64_t columns = std::min(step, n - first);
      Sizes sizes = tensor.sizes();
      sizes[dim] = columns;
      ABSL_ASSIGN_OR_RETURN(
          const ConstantTensor part,
          ConstantTensor::Create(DType::kFloat32, sizes, tensor.strides(),
                                 tensor.storage_offset() + first * tensor.strides()[dim],
                                 tensor.storage()));
      ABSL_ASSIGN_OR_RETURN(const Storage elements, part.Dense(order));
      PackMatrix(reinterpret_cast<const float*>(elements.bytes.data()), k, columns, 1, k, packed);
      const int64_t made = *PackedMatrixSize(k, columns);
      exir::ReleasePages(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(packed),
                                             static_cast<size_t>(made) * sizeof(float)));
      packed += made;
      // `elements` may be a copy of these pages.
      if (tensor.strides()[dim] == k) {
        exir::ReleasePages(tensor.storage().bytes.subspan(
            static_cast<size_t>(part.storage_offset()) * sizeof(float),
            static_cast<size_t>(columns * k) * sizeof(float)));
      }
    }
    exir::ReleasePages(tensor.storage().bytes);
    return absl::OkStatus();
  };
  return AddFromTensor<float, float>(view, form, PackedMatrixSize(k, n), pack);
}

absl::StatusOr<exir::ValueId> PackedConstants::Matrix(const ConstantView& matrix) {
  const MatrixOrder m(matrix);
  if (matrix.tensor->dtype() == DType::kInt8) {
    return Add<int8_t, int8_t>(matrix, {"packed"}, m.order, PackedQuantizedMatrixSize(1, m.k, m.n),
                               [&](const int8_t* b, int8_t* packed) {
                                 PackQuantizedMatrix(b, 1, m.k, m.n, 0, m.row_stride,
                                                     m.column_stride, packed);
                               });
  }
  if (matrix.tensor->dtype() == DType::kBFloat16) {
    return Add<BFloat16, BFloat16>(matrix, {"packed_pairs_"}, m.order, PackedVnni2Size(m.k, m.n),
                                   [&](const BFloat16* b, BFloat16* packed) {
                                     PackVnni2(b, m.k, m.n, m.row_stride, m.column_stride, packed);
                                   });
  }
  return AddMatrix(matrix, m.order, m.k, m.n, m.row_stride, m.column_stride);
}

absl::StatusOr<exir::ValueId> PackedConstants::WeightOnlyMatrix(const ConstantView& matrix,
                                                                WeightFormat format) {
  const MatrixOrder m(matrix);
  const std::optional<int64_t> bytes = PackedWeightsSize(format, m.k, m.n);
  const auto count = [&](size_t element) {
    return bytes.has_value() ? std::optional(*bytes / static_cast<int64_t>(element)) : std::nullopt;
  };
  switch (format) {
    case WeightFormat::kInt8:
      return Add<int8_t, int8_t>(
          matrix, {"packed_int8_"}, m.order, count(1), [&](const int8_t* b, int8_t* packed) {
            PackInt8Weights(b, m.k, m.n, m.row_stride, m.column_stride, packed);
          });
    case WeightFormat::kInt4:
      return Add<int8_t, int32_t>(matrix, {"packed_int4_"}, m.order, count(sizeof(int32_t)),
                                  [&](const int8_t* b, int32_t* packed) {
                                    PackInt4Weights(b, m.k, m.n, m.row_stride, m.column_stride,
                                                    reinterpret_cast<uint32_t*>(packed));
                                  });
    case WeightFormat::kBFloat16:
      break;
  }
  return Add<BFloat16, BFloat16>(matrix, {"packed_bf16_"}, m.order, count(sizeof(BFloat16)),
                                 [&](const BFloat16* b, BFloat16* packed) {
                                   PackBFloat16Weights(&b->bits, m.k, m.n, m.row_stride,
                                                       m.column_stride, &packed->bits);
                                 });
}

absl::StatusOr<exir::ValueId> PackedConstants::InLayout(const ConstantView& matrix,
                                                        TableLayout layout) {
  const std::optional<WeightFormat> format = RowOf(layout).weight_format;
  if (format.has_value()) return WeightOnlyMatrix(matrix, *format);
  return Matrix(matrix);
}

absl::StatusOr<std::optional<exir::ValueId>> PackedConstants::Replaceable(
    const ConstantView& matrix, TableLayout layout) {
  const std::optional<ConstantTensor> tensor = matrix.ToTensor();
  if (!tensor.has_value() || !matrix.tensor->is_contiguous()) return std::nullopt;
  PackedParameter packed = {.layout = layout, .k = tensor->sizes()[0], .n = tensor->sizes()[1]};
  const bool plain = tensor->strides() == Strides({packed.n, 1});
  const bool transposed = tensor->strides() == Strides({1, packed.k});
  if ((!plain && !transposed) || tensor->storage_offset() != matrix.tensor->storage_offset() ||
      tensor->view().nbytes() != matrix.tensor->view().nbytes()) {
    return std::nullopt;
  }
  packed.transposed = !plain;
  ABSL_ASSIGN_OR_RETURN(const exir::ValueId input, InLayout(matrix, layout));
  const size_t root = *program_.InputIndex(matrix.root);
  packed.parameter = program_.signature.inputs[root].target;
  const std::string name = NameOf(packed);
  exir::InputSpec& spec = program_.signature.inputs[*program_.InputIndex(input)];
  if (spec.target == name) return input;  // packed before
  auto constant = program_.constants.extract(spec.target);
  constant.key() = name;
  program_.constants.insert(std::move(constant));
  spec.target = name;
  spec.replaceable = true;
  return input;
}

namespace {

// Packs filters [n, taps, channels], with PairedChannels(channels) channels.
void PackPairFilters(const BFloat16* b, int64_t channels, int64_t taps, int64_t n,
                     BFloat16* packed) {
  const int64_t paired = PairedChannels(channels), k = taps * channels;
  if (paired == channels) return PackVnni2(b, k, n, 1, k, packed);
  std::vector<BFloat16> wider(static_cast<size_t>(n * taps * paired), BFloat16(0));
  for (int64_t i = 0; i < n * taps; ++i) {
    std::copy_n(b + i * channels, channels, &wider[static_cast<size_t>(i * paired)]);
  }
  PackVnni2(wider.data(), taps * paired, n, 1, taps * paired, packed);
}

}  // namespace

absl::StatusOr<exir::ValueId> PackedConstants::Filters(const ConstantView& weight,
                                                       const Window& window) {
  const int64_t n = *weight.sizes[0].AsInt(), channels = *weight.sizes[1].AsInt();
  const int64_t taps = *weight.sizes[2].AsInt() * *weight.sizes[3].AsInt(), k = taps * channels;
  // [o, h, w, c]: each filter is a column.
  const DimOrder order = ChannelsLastOrder(4);
  if (weight.tensor->dtype() == DType::kInt8) {
    const auto [count, size] = PackedTaps(channels, window);
    const Form form = {"packed", absl::StrCat("in taps of ", size)};
    return Add<int8_t, int8_t>(weight, form, order, PackedQuantizedMatrixSize(count, size, n),
                               [&, count = count, size = size](const int8_t* b, int8_t* packed) {
                                 PackQuantizedMatrix(b, count, size, n, size, 1, k, packed);
                               });
  }
  if (weight.tensor->dtype() == DType::kBFloat16) {
    return Add<BFloat16, BFloat16>(weight, {"packed_pairs_"}, order,
                                   PackedPairFiltersSize(channels, taps, n),
                                   [&](const BFloat16* b, BFloat16* packed) {
                                     PackPairFilters(b, channels, taps, n, packed);
                                   });
  }
  return AddMatrix(weight, order, k, n, /*row_stride=*/1, /*column_stride=*/k);
}

namespace {

// Packs the groups' matrices [depth, n], of k channels at each tap, for belay_cpu::convolution.
void PackFilters(const float* b, int64_t groups, int64_t depth, int64_t n, int64_t k,
                 int64_t group_stride, int64_t row_stride, int64_t column_stride, float* packed) {
  if (!IsNarrowGroup(groups, k, n)) {
    return PackGroups(b, groups, depth, n, group_stride, row_stride, column_stride, packed);
  }
  std::vector<float> filters(static_cast<size_t>(groups * n * depth));
  float* to = filters.data();
  for (int64_t o = 0; o < groups * n; ++o) {
    const float* filter = b + o / n * group_stride + o % n * column_stride;
    for (int64_t p = 0; p < depth; ++p) *to++ = filter[p * row_stride];
  }
  PackDepthwise(filters.data(), groups * n, depth, depth, 1, packed);
}

// The same for belay_cpu::bfloat16_convolution (bfloat16_calls.h), whose groups are not narrow.
void PackFilters(const BFloat16* b, int64_t groups, int64_t depth, int64_t n, int64_t /*k*/,
                 int64_t group_stride, int64_t row_stride, int64_t column_stride,
                 BFloat16* packed) {
  PackVnni2Groups(b, groups, depth, n, group_stride, row_stride, column_stride, packed);
}

// Packs [c, taps, n] of a transposed convolution of c = groups * k channels, phase by phase.
template <class T>
void PackPhases(const T* b, int64_t groups, int64_t k, int64_t n, const VolumeWindow& window,
                T* packed) {
  const auto& [az, ay, ax] = window.axes;
  const int64_t taps = az.kernel * ay.kernel * ax.kernel;
  std::vector<T> rows;  // [groups, taps of the phase, k, n]
  for (int64_t z = 0; z < az.phases(); ++z) {
    for (int64_t y = 0; y < ay.phases(); ++y) {
      for (int64_t x = 0; x < ax.phases(); ++x) {
        rows.clear();
        for (int64_t group = 0; group < groups; ++group) {
          for (int64_t tz = z; tz < az.kernel; tz += az.tap_step()) {
            for (int64_t ty = y; ty < ay.kernel; ty += ay.tap_step()) {
              for (int64_t tx = x; tx < ax.kernel; tx += ax.tap_step()) {
                const int64_t tap = (tz * ay.kernel + ty) * ax.kernel + tx;
                for (int64_t c = group * k; c < (group + 1) * k; ++c) {
                  const T* row = b + (c * taps + tap) * n;
                  rows.insert(rows.end(), row, row + n);
                }
              }
            }
          }
        }
        const int64_t depth = az.taps_of(z) * ay.taps_of(y) * ax.taps_of(x) * k;
        PackFilters(rows.data(), groups, depth, n, k, depth * n, n, 1, packed);
        packed += depth * PackedTapFloats(groups, k, groups * n);
      }
    }
  }
}

}  // namespace

absl::StatusOr<exir::ValueId> PackedConstants::VolumeFilters(const ConstantView& weight,
                                                             int64_t groups,
                                                             const VolumeWindow& window) {
  const int64_t rows = *weight.sizes[0].AsInt(), columns = *weight.sizes[1].AsInt();
  const DimOrder order = ChannelsLastOrder(weight.rank());
  const int64_t taps = window.taps().value();
  const bool pairs = weight.tensor->dtype() == DType::kBFloat16;
  if (window.axes[2].transposed) {
    std::string way = absl::StrCat(groups, " groups by phases");
    for (const WindowAxis& a : window.axes) absl::StrAppend(&way, " ", a.tap_step());
    const auto pack = [&](const auto* b, auto* packed) {
      PackPhases(b, groups, rows / groups, columns, window, packed);
    };
    if (pairs) {
      return Add<BFloat16, BFloat16>(
          weight, {"packed_pairs_", std::move(way)}, order,
          PackedPairVolumesSize(window, groups, rows / groups, columns * groups), pack);
    }
    return Add<float, float>(
        weight, {"packed", std::move(way)}, order,
        PackedVolumeFiltersSize(window, groups, rows / groups, columns * groups), pack);
  }
  const int64_t k = taps * columns, n = rows / groups;
  if (pairs) {
    return Add<BFloat16, BFloat16>(weight, {"packed_pairs_", absl::StrCat(groups, " groups")},
                                   order, PackedPairVolumesSize(window, groups, columns, rows),
                                   [&](const BFloat16* b, BFloat16* packed) {
                                     if (groups == 1)
                                       return PackPairFilters(b, columns, taps, n, packed);
                                     PackFilters(b, groups, k, n, columns, n * k, 1, k, packed);
                                   });
  }
  return Add<float, float>(weight, {"packed", absl::StrCat(groups, " groups")}, order,
                           PackedVolumeFiltersSize(window, groups, columns, rows),
                           [&](const float* b, float* packed) {
                             PackFilters(b, groups, k, n, columns, n * k, 1, k, packed);
                           });
}

absl::StatusOr<exir::ValueId> PackedConstants::QuantizedGroups(const ConstantView& weight,
                                                               int64_t groups) {
  const int64_t filters = *weight.sizes[0].AsInt() / groups, channels = *weight.sizes[1].AsInt();
  const int64_t taps = *weight.sizes[2].AsInt() * *weight.sizes[3].AsInt();
  return Add<int8_t, int8_t>(weight, {"packed", absl::StrCat(groups, " groups")},
                             ChannelsLastOrder(4),
                             PackedQuantizedGroupsSize(taps, groups, channels, filters),
                             [&](const int8_t* b, int8_t* packed) {
                               PackQuantizedGroups(b, taps, groups, channels, filters, packed);
                             });
}

absl::StatusOr<exir::ValueId> PackedConstants::WinogradFilters(const ConstantView& weight,
                                                               WinogradTile tile) {
  const int64_t n = *weight.sizes[0].AsInt(), channels = *weight.sizes[1].AsInt();
  const int64_t planes = weight.rank() == 5 ? *weight.sizes[2].AsInt() : 1;
  const Form form = {"packed_winograd_", absl::StrCat("tiles of ", WinogradResults(tile))};
  return Add<float, float>(
      weight, form, ChannelsLastOrder(weight.rank()), PackedWinogradSize(tile, planes, channels, n),
      [&](const float* b, float* packed) {
        const auto filters = belay::WinogradFilters::ChannelsLast(b, planes, channels, n);
        PackWinograd(tile, filters, 0, filters.panels(), packed);
      });
}

absl::StatusOr<exir::ValueId> PackedConstants::DepthwiseFilters(const ConstantView& weight) {
  const int64_t channels = *weight.sizes[0].AsInt();
  const int64_t height = *weight.sizes[2].AsInt(), width = *weight.sizes[3].AsInt();
  const int64_t taps = height * width;
  const Form form = {"packed", "by channels"};
  if (weight.tensor->dtype() == DType::kInt8) {
    return Add<int8_t, int8_t>(
        weight, form, {}, PackedQuantizedDepthwiseSize(channels, height, width),
        [&](const int8_t* filters, int8_t* packed) {
          PackQuantizedDepthwise(filters, channels, height, width, taps, 1, packed);
        });
  }
  const std::optional<int64_t> size = PackedDepthwiseSize(channels, taps);
  if (weight.tensor->dtype() == DType::kBFloat16) {
    return Add<BFloat16, float>(weight, form, {}, size,
                                [&](const BFloat16* filters, float* packed) {
                                  const std::vector<float> wide(filters, filters + channels * taps);
                                  PackDepthwise(wide.data(), channels, taps, taps, 1, packed);
                                });
  }
  return Add<float, float>(weight, form, {}, size, [&](const float* filters, float* packed) {
    PackDepthwise(filters, channels, taps, taps, 1, packed);
  });
}

absl::StatusOr<exir::ValueId> PackedConstants::Sums(const ConstantView& weight, int channels) {
  // Channels first.
  DimOrder order = {static_cast<uint8_t>(channels)};
  int64_t terms = 1;
  for (int d = 0; d < weight.rank(); ++d) {
    if (d == channels) continue;
    order.push_back(static_cast<uint8_t>(d));
    terms *= *weight.sizes[d].AsInt();
  }
  const int64_t count = *weight.sizes[channels].AsInt();
  return Add<int8_t, int32_t>(weight, {"sums"}, order, count,
                              [&](const int8_t* from, int32_t* sums) {
                                for (int64_t i = 0; i < count; ++i, from += terms) {
                                  sums[i] = std::accumulate(from, from + terms, int32_t{0});
                                }
                              });
}

template <class T>
absl::StatusOr<exir::ValueId> PackedConstants::Elements(const ConstantView& after,
                                                        std::string_view suffix,
                                                        absl::Span<const T> elements,
                                                        const Sizes& sizes) {
  const auto* data = reinterpret_cast<const std::byte*>(elements.data());
  std::vector<std::byte> bytes(data, data + elements.size() * sizeof(T));
  std::string key =
      absl::StrCat(suffix, " ", DTypeName(DTypeOf<T>), " ", FormatSizes(sizes), " ",
                   std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  ABSL_RETURN_IF_ERROR(TakeBytes(bytes.size(), suffix));
  return Insert<T>(after, suffix, std::move(key), Storage::Own(std::move(bytes)), sizes);
}

absl::StatusOr<exir::ValueId> PackedConstants::Floats(const ConstantView& after,
                                                      std::string_view suffix,
                                                      absl::Span<const float> floats,
                                                      const Sizes& sizes) {
  return Elements(after, suffix, floats, sizes);
}

absl::StatusOr<exir::ValueId> PackedConstants::Part(const ConstantView& vector, int64_t first,
                                                    int64_t count) {
  const std::optional<ConstantTensor> tensor = vector.ToTensor();
  ABSL_CHECK(tensor.has_value() && tensor->dtype() == DType::kFloat32);
  std::string key = absl::StrCat("part ", first, " ", count, " ", vector.root.index());
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  ABSL_ASSIGN_OR_RETURN(Storage elements, tensor->Dense());
  elements.bytes = elements.bytes.subspan(static_cast<size_t>(first) * sizeof(float),
                                          static_cast<size_t>(count) * sizeof(float));
  return Insert<float>(vector, "part", std::move(key), std::move(elements));
}

absl::StatusOr<exir::ValueId> PackedConstants::GroupFloats(const ConstantView& weight,
                                                           std::string_view suffix, int64_t group,
                                                           absl::Span<const float> floats) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<float> packed, PackGroupFloats(weight, group, floats));
  return Floats(weight, suffix, packed);
}

absl::StatusOr<exir::ValueId> PackedConstants::GroupScales(const ConstantView& weight,
                                                           int64_t group,
                                                           absl::Span<const float> scales) {
  const bool exact = std::all_of(scales.begin(), scales.end(),
                                 [](float scale) { return float{BFloat16(scale)} == scale; });
  if (!exact) return GroupFloats(weight, "scales", group, scales);
  ABSL_ASSIGN_OR_RETURN(const std::vector<float> packed, PackGroupFloats(weight, group, scales));
  const std::vector<BFloat16> narrow(packed.begin(), packed.end());
  return Elements<BFloat16>(weight, "scales", narrow);
}

absl::StatusOr<exir::ValueId> PackedConstants::GroupSums(const ConstantView& weight,
                                                         int64_t group) {
  const MatrixOrder m(weight);
  return Add<int8_t, int32_t>(
      weight, {absl::StrCat("sums_of_", group, "_")}, m.order, PackedScalesSize(m.k, m.n, group),
      [&](const int8_t* b, int32_t* packed) {
        std::vector<int32_t> sums(static_cast<size_t>((m.k + group - 1) / group * m.n));
        // In the order of storage.
        if (m.row_stride == 1) {
          for (int64_t j = 0; j < m.n; ++j) {
            for (int64_t first = 0; first < m.k; first += group) {
              const int8_t* const column = b + j * m.column_stride;
              int32_t& sum = sums[static_cast<size_t>(first / group * m.n + j)];
              sum = std::accumulate(column + first, column + std::min(m.k, first + group), 0);
            }
          }
        } else {
          for (int64_t p = 0; p < m.k; ++p) {
            for (int64_t j = 0; j < m.n; ++j) {
              sums[static_cast<size_t>(p / group * m.n + j)] +=
                  b[p * m.row_stride + j * m.column_stride];
            }
          }
        }
        PackScales(sums.data(), m.k, m.n, group, m.n, 1, packed);
      });
}

absl::StatusOr<exir::ValueId> PackedConstants::Widened(const ConstantView& view) {
  const Sizes sizes = view.ToTensor()->sizes();
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  const auto widen = [&](const auto* from, float* to) {
    std::transform(from, from + count, to, [](auto x) { return static_cast<float>(x); });
  };
  if (view.tensor->dtype() == DType::kFloat16) {
    return Add<Half, float>(view, {"f32_"}, {}, count, widen, sizes);
  }
  return Add<BFloat16, float>(view, {"f32_"}, {}, count, widen, sizes);
}

absl::StatusOr<exir::ValueId> PackedConstants::Dequantized(const ConstantView& elements,
                                                           absl::Span<const float> scales,
                                                           std::optional<int> axis) {
  const Sizes sizes = elements.ToTensor()->sizes();
  int64_t count = 1, inner = 1;
  for (int d = 0; d < sizes.size(); ++d) {
    count *= sizes[d];
    if (axis.has_value() && d > *axis) inner *= sizes[d];
  }
  const auto scale_of = [&](int64_t i) {
    return scales[axis.has_value() ? static_cast<size_t>(i / inner % sizes[*axis]) : 0];
  };
  // The scales distinguish the constant from others of the same elements.
  std::string way = absl::StrCat("times scales along ", axis.value_or(-1));
  for (const float scale : scales) absl::StrAppend(&way, " ", std::bit_cast<uint32_t>(scale));
  return Add<int8_t, float>(
      elements, {"f32_", std::move(way)}, {}, count,
      [&](const int8_t* from, float* to) {
        for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale_of(i);
      },
      sizes);
}

absl::StatusOr<exir::ValueId> PackedConstants::Narrowed(const ConstantView& view) {
  const Sizes sizes = view.ToTensor()->sizes();
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return Add<float, BFloat16>(
      view, {"bf16_"}, {}, count,
      [&](const float* from, BFloat16* to) {
        std::transform(from, from + count, to, [](float x) { return BFloat16(x); });
      },
      sizes);
}

absl::StatusOr<exir::ValueId> PackedConstants::Vector(const ConstantView& elements) {
  const bool wide = elements.tensor->dtype() == DType::kFloat32;
  if (wide && elements.rank() == 1 && elements.tensor->sizes().size() == 1 &&
      elements.sizes[0] == exir::SymInt(elements.tensor->sizes()[0])) {
    return elements.root;
  }
  int64_t count = 1;
  for (const exir::SymInt& size : elements.sizes) count *= *size.AsInt();
  const auto copy = [&](const auto* from, float* to) { std::copy(from, from + count, to); };
  if (wide) return Add<float, float>(elements, {"bias"}, {}, count, copy);
  return Add<BFloat16, float>(elements, {"bias"}, {}, count, copy);
}

}  // namespace belay::cpu
