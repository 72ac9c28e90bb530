#include "exir/emit/constant_pool.h"

#include <string>
#include <vector>

#include "exir/backend/named_data_store.h"
#include "exir/backend/testing/recording_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

TEST(ConstantPoolTest, NamedDataKeepKeySizeAlignmentAndLayout) {
  NamedDataStore store;
  NamedDataOptions options;
  options.alignment = 16;
  ASSERT_OK(store.Add("bytes", TextStorage("some bytes"), options));
  options.alignment = 4;
  options.layout = NamedDataEntry::TensorLayout{DType::kFloat32, {1, 2, 1, 3}, {0, 2, 3, 1}};
  ASSERT_OK(store.Add("tensor", TextStorage(std::string(24, 'x')), options));
  ProgramImage image;
  const NamedDataOutput output = store.output();
  ASSERT_OK(ConstantPool(&image).AddNamedData({&output}));
  ASSERT_EQ(image.metadata.named_data_size(), 2);
  const schema::NamedData& bytes = image.metadata.named_data(0);
  EXPECT_EQ(bytes.key(), "bytes");
  EXPECT_EQ(bytes.size(), 10u);
  EXPECT_EQ(bytes.alignment(), 16u);
  EXPECT_FALSE(bytes.has_layout());
  const schema::NamedData& tensor = image.metadata.named_data(1);
  EXPECT_EQ(tensor.key(), "tensor");
  EXPECT_EQ(tensor.size(), 24u);
  EXPECT_EQ(tensor.alignment(), 4u);
  ASSERT_TRUE(tensor.has_layout());
  EXPECT_EQ(tensor.layout().dtype(), static_cast<uint32_t>(DType::kFloat32));
  EXPECT_THAT(tensor.layout().sizes(), ElementsAre(1, 2, 1, 3));
  EXPECT_EQ(tensor.layout().dim_order(), std::string("\0\2\3\1", 4));
  for (const schema::NamedData& entry : image.metadata.named_data()) {
    const ProgramImage::Segment& segment = image.segments[entry.segment()];
    EXPECT_EQ(segment.kind, schema::Segment::NAMED_DATA);
    ASSERT_EQ(segment.pieces.size(), 1u);
    EXPECT_EQ(TextOf(segment.pieces[0]), entry.has_layout() ? std::string(24, 'x') : "some bytes");
  }
}

}  // namespace
}  // namespace belay::exir
