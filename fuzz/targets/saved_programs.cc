// Files of saved programs. Digests of the input are recomputed first, since mutations would
// invalidate them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "exir/serialize/saved_programs.h"
#include "exir/serialize/saved_programs.pb.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/recycled_ops.h"
#include "runtime/core/sha256.h"

namespace belay::fuzz {
namespace {

constexpr size_t kHeader = 64;
constexpr size_t kMostStorages = 64;

// Returns the file with digests recomputed, as far as it can be parsed.
std::string WithDigests(std::string file) {
  if (file.size() < kHeader) return file;
  uint64_t size = 0;
  std::memcpy(&size, &file[16], sizeof(size));
  if (size > file.size() - kHeader) return file;
  exir::schema::SavedPrograms message;
  std::string text = file.substr(kHeader, size);
  if (message.ParseFromString(text) && message.storages_size() <= int{kMostStorages}) {
    const size_t begin = (kHeader + size + 4095) / 4096 * 4096;
    for (auto& storage : *message.mutable_storages()) {
      if (begin > file.size() || storage.offset() > file.size() - begin) continue;
      storage.set_sha256(
          Sha256(std::string_view(file).substr(begin + storage.offset(), storage.size())));
    }
    // Only if the size does not change.
    const std::string repaired = message.SerializeAsString();
    if (repaired.size() == size) text = repaired;
  }
  file.replace(kHeader, size, text);
  file.replace(24, kSha256Bytes, Sha256(text));
  return file;
}

}  // namespace
}  // namespace belay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const auto file = std::make_shared<const std::string>(
      fuzz::WithDigests(std::string(reinterpret_cast<const char*>(data), size)));
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(file->data()),
                                          file->size());
  const exir::OpRegistry& ops = fuzz::RecycledOps();
  const absl::StatusOr<exir::MethodPrograms> methods = exir::ParseSavedPrograms(file, bytes, ops);
  fuzz::Require(
      fuzz::CheckTyped("read", methods.status(),
                       {absl::StatusCode::kInvalidArgument, absl::StatusCode::kUnimplemented,
                        absl::StatusCode::kDataLoss, absl::StatusCode::kResourceExhausted,
                        absl::StatusCode::kFailedPrecondition}));
  if (!methods.ok()) return 0;
  // Saving the programs, reading them and saving them again gives the same bytes.
  const std::string saved = exir::SavePrograms(*methods).ToString();
  const absl::Span<const std::byte> again(reinterpret_cast<const std::byte*>(saved.data()),
                                          saved.size());
  const absl::StatusOr<exir::MethodPrograms> read = exir::ParseSavedPrograms(nullptr, again, ops);
  fuzz::Require(read.status());
  if (exir::SavePrograms(*read).ToString() != saved) {
    fuzz::Require(absl::InternalError("saved programs change when they are read and saved"));
  }
  return 0;
}
