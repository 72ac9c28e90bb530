// Bytes that go into segments, each content once.
#ifndef BELAY_EXIR_EMIT_CONSTANT_POOL_H_
#define BELAY_EXIR_EMIT_CONSTANT_POOL_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/program_image.h"
#include "exir/ir/constant.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

using Sha256 = std::array<uint8_t, 32>;
Sha256 HashBytes(absl::Span<const std::byte> bytes);
// Of the pieces one after the other.
Sha256 HashPieces(absl::Span<const std::string_view> pieces);

// Fills an image's segments and constant table. Content is compared by SHA-256; a storage that was
// seen before, by address and length, is not hashed again.
class ConstantPool {
 public:
  // `image` must outlive the pool.
  explicit ConstantPool(ProgramImage* image) : image_(image) {}

  // The index in metadata.constants of a tensor's elements, dense in this order of the dimensions.
  //   kResourceExhausted  a tensor of another layout has to be copied and there is no memory for it
  absl::StatusOr<uint32_t> AddTensor(const ConstantTensor& tensor, absl::Span<const uint8_t> order);
  // The index of a segment of its own that holds a delegate's blob.
  uint32_t AddDelegateBlob(const Storage& blob);
  // All named data of the modules, once per content; aligned to the least common multiple of what
  // its keys ask for.
  //   kAlreadyExists  one key with different content; names the key and both sizes
  absl::Status AddNamedData(absl::Span<const NamedDataOutput* const> outputs);

 private:
  using Content = std::pair<Sha256, uint64_t>;
  Content ContentOf(const Storage& storage);

  ProgramImage* image_;
  int constants_segment_ = -1;
  uint64_t constants_size_ = 0;
  absl::flat_hash_map<Content, uint32_t> constants_;
  absl::flat_hash_map<Content, uint32_t> blobs_;
  absl::flat_hash_map<std::pair<const std::byte*, uint64_t>, Content> by_address_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_CONSTANT_POOL_H_
