#include "runtime/core/testing.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

namespace belay {
namespace {

constexpr uint64_t kFixedSeed = 20260101;

uint64_t ReadSeed() {
  const char* given = std::getenv("BELAY_TEST_SEED");
  uint64_t seed = kFixedSeed;
  if (given != nullptr) {
    seed = std::string_view(given) == "random" ? std::random_device{}()
                                               : std::strtoull(given, nullptr, 10);
  }
  // Printed before anything that may crash.
  std::printf("seed: BELAY_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace

uint64_t TestSeed() {
  static const uint64_t seed = ReadSeed();
  return seed;
}

}  // namespace belay
