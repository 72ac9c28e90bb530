// Bytes that go into segments, each content once.
#ifndef BELAY_EXIR_EMIT_CONSTANT_POOL_H_
#define BELAY_EXIR_EMIT_CONSTANT_POOL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/program_image.h"
#include "exir/ir/constant.h"
#include "exir/ir/content_key.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// Of a segment: the largest page there commonly is. A file has that many bytes before each one.
inline constexpr uint64_t kMaxAlignment = uint64_t{1} << 21;

// The key of the named data of a surrounding program that the bytes are, or "" (emitter.h).
using NameConstant = std::function<absl::StatusOr<std::string>(const Storage& bytes)>;

// Fills an image's segments and constant table. Equal bytes are there once. Costs a hash at the
// speed of memory, and a comparison where hashes are equal.
class ConstantPool {
 public:
  // `image` must outlive the pool, and keep what the pool added.
  explicit ConstantPool(ProgramImage* image, NameConstant name = nullptr)
      : image_(image), name_(std::move(name)) {}

  // The index in metadata.constants of a tensor's elements, dense in this order of the dimensions.
  //   kResourceExhausted  a tensor of another layout has to be copied and there is no memory for it
  //   what the function that names constants returns
  absl::StatusOr<uint32_t> AddTensor(const ConstantTensor& tensor, absl::Span<const uint8_t> order);
  // The index of a segment of its own that holds a delegate's blob.
  uint32_t AddDelegateBlob(const Storage& blob);
  // All named data of the modules, once per content; aligned to the least common multiple of what
  // its keys ask for.
  //   kAlreadyExists    one key with different content; names the key and both sizes
  //   kInvalidArgument  an alignment above kMaxAlignment, alone or with those of equal bytes
  absl::Status AddNamedData(absl::Span<const NamedDataOutput* const> outputs);

 private:
  ProgramImage* image_;
  NameConstant name_;
  std::vector<Storage> named_;  // what is held elsewhere, for constants_
  int constants_segment_ = -1;
  uint64_t constants_size_ = 0;
  // The image's storages hold the bytes.
  absl::flat_hash_map<ContentKey, uint32_t> constants_, blobs_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_CONSTANT_POOL_H_
