#include "exir/import/tensor_payload.h"

#include <cstdint>
#include <string>
#include <vector>

#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

struct Layout {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t storage_offset = 0;
};

TensorLayout View(const Layout& layout) {
  return {DType::kFloat32, layout.sizes, layout.strides, layout.storage_offset};
}

constexpr int64_t kBig = int64_t{1} << 40;

TEST(TensorPayloadTest, BytesEndAtLastElement) {
  const struct {
    Layout layout;
    uint64_t bytes;
  } kLayouts[] = {
      {{{}, {}}, 4},
      {{{}, {}, 3}, 16},
      {{{2, 3}, {3, 1}}, 24},
      {{{2, 3}, {1, 2}, 5}, 44},
      {{{2, 3}, {0, 0}}, 4},
      {{{2, 2}, {10, 1}}, 48},
      // Empty tensors need no bytes at any offset.
      {{{0, 3}, {3, 1}, 100}, 0},
      {{std::vector<int64_t>(kMaxRank, 1), std::vector<int64_t>(kMaxRank, 1)}, 4},
  };
  for (const auto& [layout, bytes] : kLayouts) {
    ASSERT_OK_AND_ASSIGN(const uint64_t needed, BytesNeeded("t", View(layout)));
    EXPECT_EQ(needed, bytes) << FormatSizes(layout.sizes);
  }
}

TEST(TensorPayloadTest, RejectsInvalidLayouts) {
  const struct {
    Layout layout;
    absl::StatusCode code;
    std::string message;
  } kLayouts[] = {
      {{{2, 3}, {1}}, absl::StatusCode::kInvalidArgument, "tensor 't': 2 sizes, but 1 strides"},
      {{{2}, {1}, -1},
       absl::StatusCode::kInvalidArgument,
       "tensor 't': the storage offset -1 is negative"},
      {{{2}, {-1}, 5}, absl::StatusCode::kInvalidArgument, "the stride -1 is negative"},
      {{{-2}, {1}}, absl::StatusCode::kInvalidArgument, "the sizes [-2] are not possible"},
      {{{kBig, kBig}, {1, 1}}, absl::StatusCode::kInvalidArgument, "are not possible"},
      {{{3}, {int64_t{1} << 62}}, absl::StatusCode::kInvalidArgument, "exceeds int64"},
      {{{1}, {1}, INT64_MAX}, absl::StatusCode::kInvalidArgument, "exceeds int64"},
      {{std::vector<int64_t>(kMaxRank + 1, 1), std::vector<int64_t>(kMaxRank + 1, 1)},
       absl::StatusCode::kUnimplemented,
       "tensor 't' has 17 dimensions; at most 16 are supported"},
  };
  for (const auto& [layout, code, message] : kLayouts) {
    EXPECT_THAT(BytesNeeded("t", View(layout)), StatusIs(code, HasSubstr(message)));
    EXPECT_THAT(MakeTensor("t", View(layout), ToStorage("abcd"), "here"),
                StatusIs(code, HasSubstr(message)));
  }
}

TEST(TensorPayloadTest, StoragesMustHoldWholeElements) {
  const Layout layout = {{2}, {1}};
  EXPECT_THAT(MakeTensor("t", View(layout), ToStorage("abcdefg"), "here"),
              StatusIs(absl::StatusCode::kDataLoss,
                       "weights shorter than declared: 't' needs 8 bytes, but here has 7"));
  EXPECT_THAT(MakeTensor("t", View(layout), ToStorage("abcdefghi"), "here"),
              StatusIs(absl::StatusCode::kDataLoss,
                       "tensor 't': here has 9 bytes, not a multiple of the 4 bytes of float32"));
  ASSERT_OK_AND_ASSIGN(const ConstantTensor tensor,
                       MakeTensor("t", View(layout), ToStorage("abcdefghijkl"), "here"));
  EXPECT_EQ(tensor.sizes(), Sizes({2}));
  EXPECT_EQ(tensor.dtype(), DType::kFloat32);
}

}  // namespace
}  // namespace belay::exir
