#include "fuzz/negative/broken_blobs.h"

#include <set>
#include <string>

#include "fuzz/negative/bounded.h"
#include "fuzz/negative/read_blob.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::fuzz {

void ExpectRefusals(const BackendRuntime& backend, absl::Span<const NegativeBytes> blobs) {
  const KernelRegistry kernels;
  BackendRegistry backends;
  const absl::Status added = backends.Add(&backend);
  ASSERT_TRUE(added.ok()) << added;
  EXPECT_FALSE(blobs.empty()) << "expected broken blobs, got none";
  std::set<std::string> names;
  for (const NegativeBytes& blob : blobs) {
    EXPECT_TRUE(names.insert(blob.name).second) << "two blobs are called " << blob.name;
    const std::string outcome =
        OutcomeInBounds([&] { return ReadBlob(backend.id(), blob.bytes(), kernels, backends); });
    EXPECT_THAT(outcome, ::testing::StartsWith(absl::StatusCodeToString(blob.code) + ": "))
        << blob.name << ": " << blob.what;
    EXPECT_THAT(outcome, ::testing::HasSubstr(blob.message)) << blob.name << ": " << blob.what;
  }
  for (const std::string& noise : {std::string(64, '\xff'), std::string(1000, '\0'),
                                   std::string(4096, 'A'), std::string("x")}) {
    const std::string outcome =
        OutcomeInBounds([&] { return ReadBlob(backend.id(), noise, kernels, backends); });
    EXPECT_THAT(outcome, ::testing::Not(::testing::StartsWith("OK")))
        << noise.size() << " bytes of noise";
    EXPECT_THAT(outcome, ::testing::Not(::testing::HasSubstr("ended by signal")))
        << noise.size() << " bytes of noise";
  }
}

}  // namespace belay::fuzz
