#include "backends/demo/demo_blob.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

constexpr char kMagic[4] = {'D', 'E', 'M', 'O'};
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 16;

// Maximum parsed memory per byte of the message. Two bytes can encode an empty message: an
// allocator block and a pointer in a list that grows by doubling. One byte can encode an eight-byte
// number in such a list.
constexpr uint64_t kParsedBytesPerByte = 64;
constexpr uint64_t kBlockAndPointer = 16 + 3 * sizeof(void*);
static_assert(sizeof(DemoInstruction) + kBlockAndPointer <= 2 * kParsedBytesPerByte &&
              sizeof(DemoConstant) + kBlockAndPointer <= 2 * kParsedBytesPerByte);

void AppendLittleEndian(std::vector<std::byte>& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

uint64_t LittleEndian(absl::Span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint64_t>(bytes[i]);
  return value;
}

}  // namespace

std::vector<std::byte> WriteDemoBlob(const DemoProgram& program,
                                     absl::Span<const std::byte> constants) {
  const std::string message = program.SerializeAsString();
  std::vector<std::byte> blob;
  for (char c : kMagic) blob.push_back(static_cast<std::byte>(c));
  AppendLittleEndian(blob, kVersion, 4);
  AppendLittleEndian(blob, message.size(), 8);
  for (char c : message) blob.push_back(static_cast<std::byte>(c));
  if (!constants.empty()) {
    while (blob.size() % kDemoConstantAlignment != 0) blob.push_back(std::byte{0});
    blob.insert(blob.end(), constants.begin(), constants.end());
  }
  return blob;
}

absl::StatusOr<DemoBlob> ReadDemoBlob(absl::Span<const std::byte> blob) {
  if (blob.size() < kHeaderBytes || std::memcmp(blob.data(), kMagic, sizeof(kMagic)) != 0) {
    return absl::DataLossError("the blob is not one of the demo backend");
  }
  const uint64_t version = LittleEndian(blob.subspan(4, 4));
  if (version != kVersion) {
    return absl::UnimplementedError(
        absl::StrCat("the blob has version ", version, ", this build reads version ", kVersion));
  }
  const uint64_t size = LittleEndian(blob.subspan(8, 8));
  if (!RangeFits(kHeaderBytes, size, blob.size()) || size > std::numeric_limits<int>::max()) {
    return absl::DataLossError(absl::StrCat("the blob says that its program has ", size,
                                            " bytes, but has ", blob.size() - kHeaderBytes));
  }
  MemoryBound bound;
  bound.Add(size, kParsedBytesPerByte);
  ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the blob's program"));
  DemoBlob result;
  if (!result.program.ParseFromArray(blob.data() + kHeaderBytes, static_cast<int>(size))) {
    return absl::DataLossError("the blob's program does not parse");
  }
  // The size fits into an int.
  const uint64_t end = *CheckedAlignUp(kHeaderBytes + size, uint64_t{kDemoConstantAlignment});
  if (end < blob.size()) result.constants = blob.subspan(end);
  return result;
}

}  // namespace belay::demo
