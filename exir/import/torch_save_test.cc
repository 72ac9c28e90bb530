#include "exir/import/torch_save.h"

#include <cstring>
#include <string>
#include <vector>

#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

// --- Pickles, as torch writes them ---

std::string Text(const std::string& text) {
  return std::string("X") + static_cast<char>(text.size()) + std::string(3, '\0') + text;
}
std::string Int(int value) { return std::string("K") + static_cast<char>(value); }
std::string Tuple(const std::vector<int>& values) {
  std::string out = "(";
  for (int v : values) out += Int(v);
  return out + "t";
}
std::string StorageId(const std::string& type, const std::string& key, int count) {
  return "(" + Text("storage") + "c" + type + "\n" + Text(key) + Text("cpu") + Int(count) + "tQ";
}
std::string Tensor(const std::string& storage, int offset, const std::vector<int>& sizes,
                   const std::vector<int>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + Int(offset) + Tuple(sizes) +
         Tuple(strides) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR";
}
std::string Parameter(const std::string& tensor) {
  return "ctorch._utils\n_rebuild_parameter\n(" + tensor +
         "\x88"
         "ccollections\nOrderedDict\n)RtR";
}
std::string Dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "\x80\x02}(";
  for (const auto& [key, value] : entries) out += Text(key) + value;
  return out + "u.";
}

std::string Floats(const std::vector<float>& values) {
  std::string out(values.size() * sizeof(float), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

std::string File(const std::string& pickle,
                 const std::vector<std::pair<std::string, std::string>>& storages,
                 const std::string& byteorder = "little") {
  std::vector<ZipWriterEntry> entries = {
      {.name = "archive/data.pkl", .content = pickle, .streamed = true, .alignment = 64},
      {.name = "archive/byteorder", .content = byteorder},
      {.name = "archive/version", .content = "3\n"}};
  for (const auto& [key, content] : storages) {
    entries.push_back(
        {.name = "archive/data/" + key, .content = content, .streamed = true, .alignment = 64});
  }
  return WriteZip(entries, {.zip64 = true});
}

absl::StatusOr<std::vector<SavedTensor>> Read(const std::string& file,
                                              const ImportOptions& options = {}) {
  ByteBudget budget("max_inflated_bytes", 1 << 20);
  return ReadTorchSave(ToStorage(file), "weights.pt", options, budget);
}

TEST(TorchSaveTest, NoBytesAreAnEmptyDictionary) {
  ASSERT_OK_AND_ASSIGN(const auto none, Read(""));
  EXPECT_TRUE(none.empty());
  ASSERT_OK_AND_ASSIGN(const auto empty, Read(File("\x80\x02}q\1.", {})));
  EXPECT_TRUE(empty.empty());
}

TEST(TorchSaveTest, ReadsTensorsAndParameters) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 6);
  ASSERT_OK_AND_ASSIGN(
      const auto tensors,
      Read(File(Dict({{"w", Parameter(Tensor(storage, 0, {2, 3}, {3, 1}))},
                      {"tail", Tensor(storage, 2, {2, 2}, {1, 2})},
                      {"n", Tensor(StorageId("torch\nLongStorage", "1", 1), 0, {}, {})}}),
                {{"0", Floats({1, 2, 3, 4, 5, 6})}, {"1", std::string("\x07\0\0\0\0\0\0\0", 8)}})));
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "w");
  ASSERT_OK(tensors[0].tensor);
  EXPECT_EQ(tensors[0].tensor->dtype(), DType::kFloat32);
  EXPECT_EQ(tensors[0].tensor->sizes(), Sizes({2, 3}));
  ASSERT_OK(tensors[1].tensor);
  EXPECT_EQ(tensors[1].tensor->storage_offset(), 2);
  EXPECT_EQ(tensors[1].tensor->strides(), Strides({1, 2}));
  // One storage in the file is one storage here.
  EXPECT_EQ(tensors[0].tensor->storage().bytes.data(), tensors[1].tensor->storage().bytes.data());
  ASSERT_OK(tensors[2].tensor);
  EXPECT_EQ(tensors[2].tensor->dtype(), DType::kInt64);
  EXPECT_EQ(tensors[2].tensor->view().as<int64_t>()[0], 7);
}

// Which is also inflated once.
TEST(TorchSaveTest, ADeflatedStorageIsOneForAllItsTensors) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 2);
  const std::string file =
      WriteZip({{.name = "archive/data.pkl",
                 .content = Dict(
                     {{"a", Tensor(storage, 0, {2}, {1})}, {"b", Tensor(storage, 1, {1}, {1})}})},
                {.name = "archive/data/0", .content = Floats({1, 2}), .deflate = true}});
  ASSERT_OK_AND_ASSIGN(const auto tensors, Read(file));
  ASSERT_EQ(tensors.size(), 2u);
  ASSERT_OK(tensors[0].tensor);
  ASSERT_OK(tensors[1].tensor);
  EXPECT_EQ(tensors[0].tensor->storage().bytes.data(), tensors[1].tensor->storage().bytes.data());
}

TEST(TorchSaveTest, ReadsUntypedStoragesWithADType) {
  const std::string v3 = "ctorch._utils\n_rebuild_tensor_v3\n(" +
                         StorageId("torch.storage\nUntypedStorage", "0", 4) + Int(0) + Tuple({2}) +
                         Tuple({1}) +
                         "\x89"
                         "ccollections\nOrderedDict\n)Rctorch\nuint16\ntR";
  ASSERT_OK_AND_ASSIGN(const auto tensors, Read(File("\x80\x02" + v3 + ".", {{"0", "abcd"}})));
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].name, "");
  ASSERT_OK(tensors[0].tensor);
  EXPECT_EQ(tensors[0].tensor->dtype(), DType::kUint16);
}

TEST(TorchSaveTest, LeavesOtherEntriesToWhoeverNeedsThem) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 1);
  ASSERT_OK_AND_ASSIGN(const auto tensors,
                       Read(File(Dict({{"number", Int(3)}, {"w", Tensor(storage, 0, {1}, {1})}}),
                                 {{"0", Floats({1})}})));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_THAT(tensors[0].tensor,
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'number' is no plain tensor")));
  EXPECT_OK(tensors[1].tensor);
}

// A subclass of tensors by its class and its attributes.
std::string Subclass(const std::string& type, const std::string& attributes) {
  return "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_wrapper_subclass\nc" +
         type + "\n)}(" + attributes + "utR";
}

TEST(TorchSaveTest, KnownSubclassesAreTheTensorsOfWhichTheyConsist) {
  const std::string attributes =
      Text("qdata") + Tensor(StorageId("torch\nCharStorage", "0", 4), 0, {2, 2}, {2, 1}) +
      Text("block_size") + Int(2) + Text("scale") +
      Tensor(StorageId("torch\nFloatStorage", "1", 2), 0, {2, 1}, {1, 1}) +
      // An object with attributes, and a dtype that tensors don't have.
      Text("granularity") + "ctorchao.quantization.granularity\nPerRow\n)\x81}(" + Text("dim") +
      Int(1) + "ub" + Text("target_dtype") + "ctorch\nint4\n";
  const std::string weight = Subclass("torchao.quantization\nInt8Tensor", attributes);
  const std::vector<std::pair<std::string, std::string>> data = {{"0", "\1\2\3\4"},
                                                                 {"1", Floats({0.5, 2})}};
  ASSERT_OK_AND_ASSIGN(const auto of_dictionary,
                       Read(File(Dict({{"w", Parameter(weight)}}), data)));
  ASSERT_OK_AND_ASSIGN(const auto alone, Read(File("\x80\x02" + weight + ".", data)));
  for (const auto& [tensors, prefix] : {std::pair(&of_dictionary, "w."), std::pair(&alone, "")}) {
    ASSERT_EQ(tensors->size(), 2u);
    EXPECT_EQ((*tensors)[0].name, std::string(prefix) + "qdata");
    ASSERT_OK((*tensors)[0].tensor);
    EXPECT_EQ((*tensors)[0].tensor->dtype(), DType::kInt8);
    EXPECT_EQ((*tensors)[1].name, std::string(prefix) + "scale");
    EXPECT_EQ((*tensors)[1].tensor->view().as<float>()[1], 2);
  }
}

TEST(TorchSaveTest, OtherSubclassesAreRefusedWithTheRemedy) {
  EXPECT_THAT(Read(File("\x80\x02" + Subclass("vendor\nSecretTensor", "") + ".", {})),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("it names 'vendor SecretTensor' (call run_decompositions() on the "
                                 "exported program before it is saved")));
}

TEST(TorchSaveTest, RejectsStoragesShorterThanDeclared) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 6);
  EXPECT_THAT(
      Read(File(Dict({{"w", Tensor(storage, 0, {2, 3}, {3, 1})}}), {{"0", Floats({1, 2, 3})}})),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("weights shorter than declared: the storage of 'w' needs 24 bytes, but "
                         "weights.pt:archive/data/0 has 12")));
  EXPECT_THAT(Read(File(Dict({{"w", Tensor(storage, 1, {2, 3}, {3, 1})}}),
                        {{"0", Floats({1, 2, 3, 4, 5, 6})}})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'w' needs 28 bytes")));
  EXPECT_THAT(Read(File(Dict({{"w", Tensor(storage, 0, {2, 3}, {3, 1})}}), {})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("archive/data/0")));
}

TEST(TorchSaveTest, RejectsMalformedTensors) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 6);
  const std::vector<std::pair<std::string, std::string>> data = {{"0", Floats({1, 2, 3, 4, 5, 6})}};
  const auto invalid = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'w'"));
  EXPECT_THAT(Read(File(Dict({{"w", Tensor(storage, 0, {2, 3}, {1})}}), data)), invalid);
  EXPECT_THAT(Read(File(Dict({{"w", Tensor(Int(1), 0, {2, 3}, {3, 1})}}), data)), invalid);
  EXPECT_THAT(Read(File(Dict({{"w", Tensor(Int(1) + "Q", 0, {2, 3}, {3, 1})}}), data)), invalid);
  EXPECT_THAT(Read(File(Dict({{"w", "ctorch._utils\n_rebuild_tensor_v2\n)R"}}), data)), invalid);
  EXPECT_THAT(
      Read(File(
          Dict({{"w", Tensor(StorageId("torch.storage\nUntypedStorage", "0", 24), 0, {6}, {1})}}),
          data)),
      invalid);
  EXPECT_THAT(
      Read(File(Dict({{"w", Tensor(storage, 0, {1}, {1})}, {"w", Tensor(storage, 0, {1}, {1})}}),
                data)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
}

TEST(TorchSaveTest, RefusesPicklesThatDoMoreThanTensors) {
  EXPECT_THAT(Read(File("\x80\x02"
                        "cposix\nsystem\n" +
                            Text("ls") + "\x85R.",
                        {})),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("weights.pt: pickle, byte 2: it names 'posix system'")));
  EXPECT_THAT(Read(File("\x80\x02K\x01.", {})),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("weights.pt: neither a dictionary nor a plain tensor")));
}

TEST(TorchSaveTest, RejectsOtherFiles) {
  EXPECT_THAT(Read("no zip file at all, really"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("weights.pt: zip:")));
  EXPECT_THAT(Read(WriteZip({{.name = "archive/x"}})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("data.pkl")));
  EXPECT_THAT(Read(File("\x80\x02}.", {}, "big")),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'big'")));
  ImportOptions options;
  options.max_pickle_bytes = 3;
  EXPECT_THAT(Read(File("\x80\x02}.", {}), options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_pickle_bytes")));
}

TEST(TorchSaveTest, LimitsTheValuesOfThePickle) {
  const std::string file = File("\x80\x02]" + std::string(1 << 20, 'N') + ".", {});
  EXPECT_THAT(Read(file), StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("max_pickle_values = 1048576")));
  ImportOptions options;
  options.max_pickle_values = 3;
  EXPECT_THAT(Read(File(Dict({{"number", Int(3)}, {"other", Int(4)}}), {}), options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_pickle_values = 3")));
}

}  // namespace
}  // namespace belay::exir
