#include "runtime/kernels/checksum/crc32.h"

#include <zlib.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"

namespace belay {
namespace {

std::vector<std::byte> Bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

uint32_t OfZlib(uint32_t crc, absl::Span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

TEST(Crc32Test, KnownAnswer) {
  const char text[] = "123456789";
  EXPECT_EQ(Crc32(0, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text), 9)), 0xcbf43926);
}

TEST(Crc32Test, NoBytesKeepTheChecksum) {
  EXPECT_EQ(Crc32(0, {}), 0);
  EXPECT_EQ(Crc32(0x12345678, {}), 0x12345678);
}

TEST(Crc32Test, EqualsZlibForAllTailsOnAllInstructionSets) {
  const std::vector<std::byte> bytes = Bytes(600);
  for (const std::string& set : InstructionSets()) {
    ASSERT_OK(UseInstructionSet(set));
    for (size_t begin = 0; begin < 17; ++begin) {
      for (size_t size = 0; size + begin <= bytes.size(); ++size) {
        const auto part = absl::MakeConstSpan(bytes).subspan(begin, size);
        ASSERT_EQ(Crc32(0, part), OfZlib(0, part)) << set << " " << size;
        ASSERT_EQ(Crc32(0x9e3779b9, part), OfZlib(0x9e3779b9, part)) << set << " " << size;
      }
    }
  }
  ASSERT_OK(UseInstructionSet(InstructionSets().front()));
}

TEST(Crc32Test, PartsGiveTheChecksumOfTheWhole) {
  const std::vector<std::byte> bytes = Bytes(100000);
  const auto all = absl::MakeConstSpan(bytes);
  for (size_t size : {1, 63, 64, 65, 1000, 99999}) {
    EXPECT_EQ(Crc32(Crc32(0, all.first(size)), all.subspan(size)), OfZlib(0, all)) << size;
  }
}

}  // namespace
}  // namespace belay
