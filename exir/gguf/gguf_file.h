// Reads GGUF files: metadata and tensors of language models.
//
// Container versions 2 and 3, little-endian, as in the GGUF specification of ggml
// (https://github.com/ggml-org/ggml):
//
//   "GGUF", u32 version, u64 tensors, u64 keys
//   keys:     string name, u32 type, value; an array is u32 element type, u64 count, elements
//   tensors:  string name, u32 rank, u64 sizes (innermost first), u32 type, u64 offset
//   data, from the next multiple of `general.alignment` (default 32) on
//
// A string is a u64 length and bytes.
#ifndef BELAY_EXIR_GGUF_GGUF_FILE_H_
#define BELAY_EXIR_GGUF_GGUF_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/gguf/tensor_type.h"

namespace belay::exir {

// Types of metadata, with the values of the format.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// A tensor of the file. The sizes are row-major: those of the file reversed.
struct GgufTensor {
  std::string_view name;
  std::vector<int64_t> sizes;  // 1 to 4, each at least 1
  const TensorTypeRow* type = nullptr;
  absl::Span<const std::byte> bytes;

  std::string SizesText() const;  // "[2, 32]"
};

// Immutable; thread-safe. All views point into the file's bytes.
class GgufFile {
 public:
  // Checks all keys and tensors. `bytes` may be anything; `owner` keeps them alive. O(bytes of
  // header, keys and tensor entries), whose memory is at most four times theirs.
  //   kDataLoss         a key, an entry or the data of a tensor ends beyond the file
  //   kInvalidArgument  not a GGUF file; names that are empty, too long, repeated or not UTF-8;
  //                     invalid values and sizes; an invalid alignment; overlapping data
  //   kUnimplemented    another version; big-endian; nested arrays; a tensor type without row in
  //                     kTensorTypes
  // Errors name the key or the tensor.
  static absl::StatusOr<GgufFile> Parse(std::shared_ptr<const void> owner,
                                        absl::Span<const std::byte> bytes);

  const std::shared_ptr<const void>& owner() const { return owner_; }
  // In file order.
  absl::Span<const GgufTensor> tensors() const { return tensors_; }
  const GgufTensor* FindTensor(std::string_view name) const;

  bool Has(std::string_view key) const { return values_.contains(key); }
  // Return the value of a key, or `fallback` if the key is missing.
  //   kInvalidArgument  another type; no key and no fallback; an integer beyond int64
  // Int reads all integer types, Float the floating-point types. Strings may be any bytes.
  absl::StatusOr<int64_t> Int(std::string_view key,
                              std::optional<int64_t> fallback = std::nullopt) const;
  absl::StatusOr<double> Float(std::string_view key,
                               std::optional<double> fallback = std::nullopt) const;
  absl::StatusOr<bool> Bool(std::string_view key,
                            std::optional<bool> fallback = std::nullopt) const;
  absl::StatusOr<std::string_view> String(
      std::string_view key, std::optional<std::string_view> fallback = std::nullopt) const;
  // Return the elements of an array. Errors as above. O(bytes of the array).
  absl::StatusOr<std::vector<int64_t>> Ints(std::string_view key) const;
  absl::StatusOr<std::vector<float>> Floats(std::string_view key) const;
  absl::StatusOr<std::vector<std::string_view>> Strings(std::string_view key) const;

 private:
  class Reader;
  struct Value {
    GgufType type = GgufType::kUint8;  // of the elements, if it is an array
    bool is_array = false;
    uint64_t count = 1;
    absl::Span<const std::byte> bytes;  // of the elements
  };

  GgufFile() = default;
  // Returns the value of a key; kInvalidArgument unless it is such a value of one of `types`.
  absl::StatusOr<const Value*> Get(std::string_view key, bool is_array, std::string_view expected,
                                   absl::Span<const GgufType> types) const;

  std::shared_ptr<const void> owner_;
  absl::flat_hash_map<std::string_view, Value> values_;
  std::vector<GgufTensor> tensors_;
  absl::flat_hash_map<std::string_view, size_t> tensor_by_name_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_GGUF_FILE_H_
