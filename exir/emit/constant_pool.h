// Deduplicated bytes of a program's segments.
#ifndef BELAY_EXIR_EMIT_CONSTANT_POOL_H_
#define BELAY_EXIR_EMIT_CONSTANT_POOL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/program_image.h"
#include "exir/ir/constant.h"
#include "exir/ir/content_key.h"
#include "exir/ir/graph_signature.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// Maximum segment alignment: the largest common page size. A file has up to as many bytes of
// padding before each segment.
inline constexpr uint64_t kMaxAlignment = uint64_t{1} << 21;

// Returns the named-data key under which an enclosing program holds the bytes, or "" (emitter.h).
// `file` is InputSpec::file.
using NameConstant =
    std::function<absl::StatusOr<std::string>(const Storage& bytes, const std::string& file)>;

// Fills an image's segments and constant table. Equal bytes are stored once. Costs a hash at memory
// bandwidth, and a comparison if hashes are equal.
class ConstantPool {
 public:
  // `image` must outlive the pool and keep everything that the pool added.
  explicit ConstantPool(ProgramImage* image, NameConstant name = nullptr)
      : image_(image), name_(std::move(name)) {}

  // Adds a tensor's elements, dense in this dimension order, to the segment of constants in `file`,
  // the tag of a companion file or "". With a NameConstant function, constants that it does not name
  // are stored in this program. Returns the index in metadata.constants.
  //   kResourceExhausted  out of memory while copying a tensor of another layout
  //   errors of the NameConstant function
  absl::StatusOr<uint32_t> AddTensor(const ConstantTensor& tensor, absl::Span<const uint8_t> order,
                                     const std::string& file = "");
  // Adds a replaceable tensor: a constant that is the named data `spec.target`. Without a
  // NameConstant function, this program holds the data, otherwise the enclosing one does.
  //   kInvalidArgument    the order is not row-major
  //   kAlreadyExists      another tensor has this name
  //   kResourceExhausted  as AddTensor
  absl::StatusOr<uint32_t> AddReplaceable(const InputSpec& spec, const ConstantTensor& tensor,
                                          absl::Span<const uint8_t> order);
  // Adds a segment for a delegate's blob; returns its index.
  uint32_t AddDelegateBlob(const Storage& blob);
  // Adds all named data of the modules and the replaceable tensors, once per content. The alignment
  // is the least common multiple of those that the keys of the content request.
  //   kAlreadyExists    one key with different contents; names the key and both sizes
  //   kInvalidArgument  an alignment above kMaxAlignment, of one key or combined over equal bytes
  absl::Status AddNamedData(absl::Span<const NamedDataOutput* const> outputs);

 private:
  using Id = std::pair<ContentKey, std::string>;  // content and companion file
  // The segment of a file's constants.
  struct Constants {
    uint32_t segment = 0;
    uint64_t size = 0;
  };
  // Appends a constant that is named data of this program or an enclosing one.
  uint32_t AddNamed(std::string key, uint64_t size);

  ProgramImage* image_;
  NameConstant name_;
  std::vector<Storage> named_;  // bytes held by an enclosing program, for constants_
  absl::flat_hash_map<std::string, Constants> files_;
  NamedDataStore replaceable_;                               // held by this program
  absl::flat_hash_map<std::string, uint32_t> replaceables_;  // index of the constant by name
  // The keys refer to bytes of the image's storages.
  absl::flat_hash_map<Id, uint32_t> constants_;
  absl::flat_hash_map<ContentKey, uint32_t> blobs_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_CONSTANT_POOL_H_
