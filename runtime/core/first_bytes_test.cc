#include "runtime/core/first_bytes.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay {
namespace {

using std::string_view_literals::operator""sv;
using ::testing::StartsWith;

std::string Describe(std::string_view text) {
  return DescribeFirstBytes(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size()));
}

TEST(DescribeFirstBytesTest, NamesCommonWrongFiles) {
  EXPECT_EQ(Describe("BELAY\r\n\x1a\x01"sv), "it is a Belay program file");
  EXPECT_EQ(Describe("BELAY\r\n\x1c\x01"sv), "it is a companion file of a Belay program");
  EXPECT_THAT(Describe("BELAY\n\x1a\x01"sv), StartsWith("it is a Belay file that was damaged"));
  EXPECT_THAT(Describe("PK\3\4\x14"sv),
              StartsWith("it is a zip file, like .npz files and the .pt2 archives that"));
  EXPECT_EQ(Describe("\x93NUMPY\1\0"sv), "it is a NumPy array");
  EXPECT_EQ(Describe("\x80\2}"sv), "it is a pickle");
  EXPECT_EQ(Describe("\x80\4}"sv), "it is a pickle");
  EXPECT_EQ(Describe("\x1f\x8b\x08"sv), "it is compressed by gzip");
  EXPECT_EQ(Describe("GGUF\3\0\0\0"sv), "it is a GGUF file");
  EXPECT_THAT(Describe("\x30\0\0\0ET12"sv), StartsWith("it is an ExecuTorch program (.pte)"));
  EXPECT_EQ(Describe("\x1c\0\0\0TFL3"sv), "it is a TensorFlow Lite model");
  EXPECT_THAT(Describe("\x3d\0\0\0\0\0\0\0{\"w\":"sv), StartsWith("it is a safetensors file: "));
  EXPECT_EQ(Describe("\x89HDF\r\n\x1a\n"sv), "it is an HDF5 file");
  for (const std::string_view onnx :
       {"\x08\x08\x12\x07pytorch"sv, "\x08\x03\x3a\x01"sv, "\x08\x0a\x42\x02"sv}) {
    EXPECT_THAT(Describe(onnx), StartsWith("it is an ONNX model"));
  }
  EXPECT_EQ(Describe("\x08\x01\x12\x01"sv),
            "it begins with 08 01 12 01");  // TensorFlow's SavedModel
  EXPECT_THAT(Describe("version https://git-lfs.github.com/spec/v1\noid sha256:"sv),
              StartsWith("it is a Git LFS pointer"));
}

TEST(DescribeFirstBytesTest, ShowsFirstEightBytesOfUnknownFiles) {
  EXPECT_EQ(Describe("\x01\xff"
                     "abcdefgh"sv),
            "it begins with 01 ff 61 62 63 64 65 66");
  EXPECT_EQ(Describe("P"sv), "it begins with 50");
  EXPECT_EQ(Describe("\x30\0\0\0"sv), "it begins with 30 00 00 00");
  EXPECT_EQ(Describe(""sv), "it is empty");
}

}  // namespace
}  // namespace belay
