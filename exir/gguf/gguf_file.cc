#include "exir/gguf/gguf_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_join.h"
#include "runtime/core/byte_reader.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"

namespace belay::exir {
namespace {

constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr uint32_t kMostDimensions = 4;
constexpr size_t kMostKeyBytes = 65535, kMostNameBytes = 64;  // of the format
constexpr uint64_t kMostAlignment = uint64_t{1} << 20;
// Bytes of the smallest key (empty name, u8) and tensor entry (empty name, one size).
constexpr uint64_t kLeastKeyBytes = 8 + 4 + 1, kLeastEntryBytes = 8 + 4 + 8 + 4 + 8;

absl::Status Invalid(std::string_view of, std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(of, ": ", problem));
}

// Bytes of a scalar; 0 for strings, arrays and unknown types.
uint64_t ScalarBytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      return 0;
  }
  return 0;
}

template <class T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

absl::StatusOr<std::string_view> TakeString(ByteReader& in, std::string_view of) {
  ABSL_ASSIGN_OR_RETURN(const auto length, in.Take<uint64_t>(of));
  ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes, in.TakeBytes(length, 1, of));
  return AsString(bytes);
}

// Precondition: a scalar type.
std::optional<int64_t> LoadInt(GgufType type, const std::byte* from) {
  switch (type) {
    case GgufType::kUint8:
      return Load<uint8_t>(from);
    case GgufType::kInt8:
      return Load<int8_t>(from);
    case GgufType::kUint16:
      return Load<uint16_t>(from);
    case GgufType::kInt16:
      return Load<int16_t>(from);
    case GgufType::kUint32:
      return Load<uint32_t>(from);
    case GgufType::kInt32:
      return Load<int32_t>(from);
    case GgufType::kUint64: {
      const auto value = Load<uint64_t>(from);
      return value > INT64_MAX ? std::nullopt : std::optional(static_cast<int64_t>(value));
    }
    case GgufType::kInt64:
      return Load<int64_t>(from);
    default:
      return std::nullopt;
  }
}

constexpr GgufType kIntegers[] = {GgufType::kUint8,  GgufType::kInt8,   GgufType::kUint16,
                                  GgufType::kInt16,  GgufType::kUint32, GgufType::kInt32,
                                  GgufType::kUint64, GgufType::kInt64};
constexpr GgufType kFloats[] = {GgufType::kFloat32, GgufType::kFloat64};
constexpr GgufType kBools[] = {GgufType::kBool}, kStrings[] = {GgufType::kString};

}  // namespace

std::string GgufTensor::SizesText() const {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

// Parses from the front of the bytes.
class GgufFile::Reader {
 public:
  explicit Reader(absl::Span<const std::byte> bytes) : all_(bytes), in_(bytes) {}

  absl::StatusOr<GgufFile> Read() {
    GgufFile file;
    ABSL_ASSIGN_OR_RETURN(const Counts counts, ReadHeader());
    for (uint64_t i = 0; i < counts.keys; ++i) ABSL_RETURN_IF_ERROR(ReadKey(i, file));
    std::vector<uint64_t> offsets;
    for (uint64_t i = 0; i < counts.tensors; ++i) {
      ABSL_RETURN_IF_ERROR(ReadTensor(i, file, offsets));
    }
    ABSL_RETURN_IF_ERROR(LocateData(offsets, file));
    return file;
  }

 private:
  struct Counts {
    uint64_t tensors = 0, keys = 0;
  };

  absl::StatusOr<std::string_view> TakeName(std::string_view of, size_t most) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, TakeString(in_, of));
    if (name.empty() || name.size() > most || !IsUtf8(name)) {
      return Invalid(of, absl::StrCat("expected a name of 1 to ", most, " bytes in UTF-8"));
    }
    return name;
  }

  absl::StatusOr<Counts> ReadHeader() {
    constexpr std::string_view kMagic = "GGUF";
    const auto magic = in_.TakeBytes(kMagic.size(), 1, "magic");
    if (!magic.ok() || AsString(*magic) != kMagic) {
      return absl::InvalidArgumentError("not a GGUF file: it does not begin with 'GGUF'");
    }
    ABSL_ASSIGN_OR_RETURN(const auto version, in_.Take<uint32_t>("version"));
    if (version != 2 && version != 3) {
      const bool swapped = version == 2u << 24 || version == 3u << 24;
      return absl::UnimplementedError(
          swapped ? std::string("big-endian GGUF files are not supported")
                  : absl::StrCat("expected GGUF version 2 or 3, got ", version));
    }
    Counts counts;
    ABSL_ASSIGN_OR_RETURN(counts.tensors, in_.Take<uint64_t>("number of tensors"));
    ABSL_ASSIGN_OR_RETURN(counts.keys, in_.Take<uint64_t>("number of keys"));
    if (counts.keys > in_.rest().size() / kLeastKeyBytes) {
      return absl::DataLossError(
          absl::StrCat("expected ", counts.keys, " keys, got ", in_.rest().size(), " bytes"));
    }
    if (counts.tensors > in_.rest().size() / kLeastEntryBytes) {
      return absl::DataLossError(
          absl::StrCat("expected ", counts.tensors, " tensors, got ", in_.rest().size(), " bytes"));
    }
    return counts;
  }

  absl::Status ReadKey(uint64_t index, GgufFile& file) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view key,
                          TakeName(absl::StrCat("key ", index), kMostKeyBytes));
    const std::string of = absl::StrCat("key '", key, "'");
    Value value;
    ABSL_ASSIGN_OR_RETURN(auto type, in_.Take<uint32_t>(of));
    if (type == static_cast<uint32_t>(GgufType::kArray)) {
      value.is_array = true;
      ABSL_ASSIGN_OR_RETURN(type, in_.Take<uint32_t>(of));
      ABSL_ASSIGN_OR_RETURN(value.count, in_.Take<uint64_t>(of));
      if (type == static_cast<uint32_t>(GgufType::kArray)) {
        return absl::UnimplementedError(absl::StrCat(of, ": arrays of arrays are not supported"));
      }
    }
    if (type > static_cast<uint32_t>(GgufType::kFloat64)) {
      return Invalid(of, absl::StrCat("unknown type ", type));
    }
    value.type = static_cast<GgufType>(type);
    if (value.type == GgufType::kString) {
      const absl::Span<const std::byte> start = in_.rest();
      if (value.count > start.size() / sizeof(uint64_t)) {
        return absl::DataLossError(
            absl::StrCat(of, ": expected ", value.count, " strings, got ", start.size(), " bytes"));
      }
      for (uint64_t i = 0; i < value.count; ++i) ABSL_RETURN_IF_ERROR(TakeString(in_, of).status());
      value.bytes = start.first(start.size() - in_.rest().size());
    } else {
      ABSL_ASSIGN_OR_RETURN(value.bytes, in_.TakeBytes(value.count, ScalarBytes(value.type), of));
    }
    const auto is_invalid = [](std::byte b) { return b > std::byte{1}; };
    if (value.type == GgufType::kBool &&
        std::any_of(value.bytes.begin(), value.bytes.end(), is_invalid)) {
      return Invalid(of, "expected 0 or 1 as a boolean");
    }
    if (!file.values_.emplace(key, value).second) return Invalid(of, "it occurs twice");
    return absl::OkStatus();
  }

  absl::Status ReadTensor(uint64_t index, GgufFile& file, std::vector<uint64_t>& offsets) {
    GgufTensor tensor;
    ABSL_ASSIGN_OR_RETURN(tensor.name, TakeName(absl::StrCat("tensor ", index), kMostNameBytes));
    const std::string of = absl::StrCat("tensor '", tensor.name, "'");
    ABSL_ASSIGN_OR_RETURN(const auto rank, in_.Take<uint32_t>(of));
    if (rank < 1 || rank > kMostDimensions) {
      return Invalid(of,
                     absl::StrCat("expected 1 to ", kMostDimensions, " dimensions, got ", rank));
    }
    for (uint32_t d = 0; d < rank; ++d) {
      ABSL_ASSIGN_OR_RETURN(const auto size, in_.Take<int64_t>(of));
      if (size < 1) return Invalid(of, absl::StrCat("expected sizes of at least 1, got ", size));
      tensor.sizes.insert(tensor.sizes.begin(), size);
    }
    ABSL_ASSIGN_OR_RETURN(const auto type, in_.Take<uint32_t>(of));
    tensor.type = FindTensorType(type);
    if (tensor.type == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          of, ": ", TensorTypeName(type), " is not supported; supported: ",
          absl::StrJoin(kTensorTypes, ", ",
                        [](std::string* out, const auto& row) { out->append(row.name); })));
    }
    ABSL_ASSIGN_OR_RETURN(const auto offset, in_.Take<uint64_t>(of));
    if (tensor.sizes.back() % tensor.type->elements != 0) {
      return Invalid(
          of, absl::StrCat("expected rows of a multiple of ", tensor.type->elements,
                           " elements of ", tensor.type->name, ", got ", tensor.sizes.back()));
    }
    if (!file.tensor_by_name_.emplace(tensor.name, file.tensors_.size()).second) {
      return Invalid(of, "it occurs twice");
    }
    file.tensors_.push_back(std::move(tensor));
    offsets.push_back(offset);
    return absl::OkStatus();
  }

  // Locates the data of each tensor. Checks that it is inside the file, aligned and not shared.
  absl::Status LocateData(const std::vector<uint64_t>& offsets, GgufFile& file) {
    uint64_t alignment = 32;
    if (file.Has(kAlignmentKey)) {
      ABSL_ASSIGN_OR_RETURN(const int64_t given, file.Int(kAlignmentKey));
      if (given < 1 || static_cast<uint64_t>(given) > kMostAlignment ||
          (given & (given - 1)) != 0) {
        return Invalid(
            absl::StrCat("key '", kAlignmentKey, "'"),
            absl::StrCat("expected a power of two up to ", kMostAlignment, ", got ", given));
      }
      alignment = static_cast<uint64_t>(given);
    }
    const uint64_t end = all_.size() - in_.rest().size();
    // Without tensors, the file may end here.
    const uint64_t begin = CheckedAlignUp(end, alignment).value_or(UINT64_MAX);
    const auto data = begin <= all_.size() ? all_.subspan(begin) : absl::Span<const std::byte>();
    std::vector<size_t> order(offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      GgufTensor& tensor = file.tensors_[i];
      const std::string of = absl::StrCat("tensor '", tensor.name, "'");
      CheckedInt bytes = tensor.type->bytes;
      for (size_t d = 0; d < tensor.sizes.size(); ++d) {
        const bool innermost = d + 1 == tensor.sizes.size();
        bytes = bytes * (innermost ? tensor.sizes[d] / tensor.type->elements : tensor.sizes[d]);
      }
      if (!bytes.ok()) {
        return Invalid(of, absl::StrCat("the sizes ", tensor.SizesText(), " overflow"));
      }
      if (offsets[i] % alignment != 0) {
        return Invalid(of, absl::StrCat("expected an offset that is a multiple of ", alignment,
                                        ", got ", offsets[i]));
      }
      const auto size = static_cast<uint64_t>(bytes.value());
      if (!RangeFits(offsets[i], size, data.size())) {
        return absl::DataLossError(absl::StrCat(of, ": expected ", size, " bytes from ", offsets[i],
                                                " on, there are ", data.size()));
      }
      tensor.bytes = data.subspan(offsets[i], size);
      order[i] = i;
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return offsets[a] < offsets[b]; });
    for (size_t i = 1; i < order.size(); ++i) {
      const GgufTensor &before = file.tensors_[order[i - 1]], &tensor = file.tensors_[order[i]];
      if (before.bytes.data() + before.bytes.size() > tensor.bytes.data()) {
        return Invalid(absl::StrCat("tensor '", tensor.name, "'"),
                       absl::StrCat("its data overlap those of '", before.name, "'"));
      }
    }
    return absl::OkStatus();
  }

  const absl::Span<const std::byte> all_;
  ByteReader in_;
};

absl::StatusOr<GgufFile> GgufFile::Parse(std::shared_ptr<const void> owner,
                                         absl::Span<const std::byte> bytes) {
  absl::StatusOr<GgufFile> file = Reader(bytes).Read();
  if (!file.ok()) return Printable(file.status());
  file->owner_ = std::move(owner);
  return file;
}

const GgufTensor* GgufFile::FindTensor(std::string_view name) const {
  const auto it = tensor_by_name_.find(name);
  return it == tensor_by_name_.end() ? nullptr : &tensors_[it->second];
}

absl::StatusOr<const GgufFile::Value*> GgufFile::Get(std::string_view key, bool is_array,
                                                     std::string_view expected,
                                                     absl::Span<const GgufType> types) const {
  const std::string of = absl::StrCat("key '", key, "'");
  const auto it = values_.find(key);
  if (it == values_.end()) return Invalid(of, absl::StrCat("expected ", expected, ", got none"));
  const Value& value = it->second;
  const bool fits = value.is_array == is_array &&
                    std::find(types.begin(), types.end(), value.type) != types.end();
  if (!fits) return Invalid(of, absl::StrCat("expected ", expected, ", got another type"));
  return &value;
}

absl::StatusOr<int64_t> GgufFile::Int(std::string_view key, std::optional<int64_t> fallback) const {
  if (fallback.has_value() && !Has(key)) return *fallback;
  ABSL_ASSIGN_OR_RETURN(const Value* value, Get(key, false, "an integer", kIntegers));
  const std::optional<int64_t> number = LoadInt(value->type, value->bytes.data());
  if (!number.has_value()) return Invalid(absl::StrCat("key '", key, "'"), "it exceeds int64");
  return *number;
}

absl::StatusOr<double> GgufFile::Float(std::string_view key, std::optional<double> fallback) const {
  if (fallback.has_value() && !Has(key)) return *fallback;
  ABSL_ASSIGN_OR_RETURN(const Value* value, Get(key, false, "a floating-point number", kFloats));
  return value->type == GgufType::kFloat32 ? Load<float>(value->bytes.data())
                                           : Load<double>(value->bytes.data());
}

absl::StatusOr<bool> GgufFile::Bool(std::string_view key, std::optional<bool> fallback) const {
  if (fallback.has_value() && !Has(key)) return *fallback;
  ABSL_ASSIGN_OR_RETURN(const Value* value, Get(key, false, "a boolean", kBools));
  return value->bytes[0] != std::byte{0};
}

absl::StatusOr<std::string_view> GgufFile::String(std::string_view key,
                                                  std::optional<std::string_view> fallback) const {
  if (fallback.has_value() && !Has(key)) return *fallback;
  ABSL_ASSIGN_OR_RETURN(const Value* value, Get(key, false, "a string", kStrings));
  ByteReader in(value->bytes);
  return TakeString(in, key);
}

absl::StatusOr<std::vector<int64_t>> GgufFile::Ints(std::string_view key) const {
  ABSL_ASSIGN_OR_RETURN(const Value* value, Get(key, true, "an array of integers", kIntegers));
  const uint64_t step = ScalarBytes(value->type);
  std::vector<int64_t> numbers;
  numbers.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const std::optional<int64_t> number = LoadInt(value->type, value->bytes.data() + i * step);
    if (!number.has_value()) {
      return Invalid(absl::StrCat("key '", key, "'"),
                     absl::StrCat("element ", i, " exceeds int64"));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

absl::StatusOr<std::vector<float>> GgufFile::Floats(std::string_view key) const {
  constexpr GgufType kFloat32[] = {GgufType::kFloat32};
  ABSL_ASSIGN_OR_RETURN(const Value* value, Get(key, true, "an array of float32", kFloat32));
  std::vector<float> numbers(value->count);
  if (value->count != 0) std::memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
  return numbers;
}

absl::StatusOr<std::vector<std::string_view>> GgufFile::Strings(std::string_view key) const {
  ABSL_ASSIGN_OR_RETURN(const Value* value, Get(key, true, "an array of strings", kStrings));
  std::vector<std::string_view> strings;
  strings.reserve(value->count);
  ByteReader in(value->bytes);
  for (uint64_t i = 0; i < value->count; ++i) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view text, TakeString(in, key));
    strings.push_back(text);
  }
  return strings;
}

}  // namespace belay::exir
