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

TEST(TorchSaveTest, EmptyFileIsEmptyDictionary) {
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
  // Tensors share a storage as in the file.
  EXPECT_EQ(tensors[0].tensor->storage().bytes.data(), tensors[1].tensor->storage().bytes.data());
  ASSERT_OK(tensors[2].tensor);
  EXPECT_EQ(tensors[2].tensor->dtype(), DType::kInt64);
  EXPECT_EQ(tensors[2].tensor->view().as<int64_t>()[0], 7);
}

// It is inflated only once.
TEST(TorchSaveTest, TensorsShareDeflatedStorage) {
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

TEST(TorchSaveTest, ReadsUntypedStorages) {
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

TEST(TorchSaveTest, ReportsOtherEntriesOnUse) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 1);
  ASSERT_OK_AND_ASSIGN(const auto tensors,
                       Read(File(Dict({{"number", Int(3)}, {"w", Tensor(storage, 0, {1}, {1})}}),
                                 {{"0", Floats({1})}})));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_THAT(tensors[0].tensor, StatusIs(absl::StatusCode::kUnimplemented,
                                          HasSubstr("'number' is not a plain tensor")));
  EXPECT_OK(tensors[1].tensor);
}

// A tensor subclass with this class and attributes.
std::string Subclass(const std::string& type, const std::string& attributes) {
  return "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_wrapper_subclass\nc" +
         type + "\n)}(" + attributes + "utR";
}

TEST(TorchSaveTest, FlattensKnownSubclasses) {
  const std::string attributes =
      Text("qdata") + Tensor(StorageId("torch\nCharStorage", "0", 4), 0, {2, 2}, {2, 1}) +
      Text("block_size") + Int(2) + Text("scale") +
      Tensor(StorageId("torch\nFloatStorage", "1", 2), 0, {2, 1}, {1, 1}) +
      // A non-string key, an object with attributes, and a dtype that tensors do not support.
      Int(3) + Tensor(StorageId("torch\nFloatStorage", "1", 2), 0, {1}, {1}) + Text("granularity") +
      "ctorchao.quantization.granularity\nPerRow\n)\x81}(" + Text("dim") + Int(1) + "ub" +
      Text("target_dtype") + "ctorch\nint4\n";
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

// The constructing call, with each argument replaced in turn.
TEST(TorchSaveTest, RejectsMalformedSubclasses) {
  const std::string wrapper = "ctorch._utils\n_rebuild_wrapper_subclass\n",
                    type = "ctorchao.quantization\nInt8Tensor\n";
  const auto call = [](const std::string& arguments) {
    return "ctorch._tensor\n_rebuild_from_type_v2\n(" + arguments + "tR";
  };
  for (const std::string& value :
       {call(wrapper + type + ")"), call("ctorch\nSize\n" + type + ")}"),
        call(wrapper + "ctorch\nSize\n)}"), call(wrapper + type + ")]")}) {
    ASSERT_OK_AND_ASSIGN(const auto tensors, Read(File(Dict({{"w", value}}), {})));
    ASSERT_EQ(tensors.size(), 1u);
    EXPECT_THAT(tensors[0].tensor,
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'w' is not a plain tensor")))
        << value;
    EXPECT_THAT(Read(File("\x80\x02" + value + ".", {})),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("neither a dictionary")))
        << value;
  }
}

TEST(TorchSaveTest, RejectsOtherSubclassesWithAdvice) {
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
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("duplicate key")));
}

// A pickled tuple of these items.
std::string TupleOf(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
std::string Call(const std::string& name, const std::vector<std::string>& arguments) {
  return "c" + name + "\n" + TupleOf(arguments) + "R";
}
std::string Long(int64_t value) {
  std::string out = "\x8a\x08";
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}

const std::string kRebuildV2 = "torch._utils\n_rebuild_tensor_v2";
const std::string kRebuildV3 = "torch._utils\n_rebuild_tensor_v3";
const std::string kNoHooks = "ccollections\nOrderedDict\n)R";

TEST(TorchSaveTest, SizesMayBeWrapped) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 2);
  const std::string tensor = Call(kRebuildV2, {storage, Int(0), Call("torch\nSize", {Tuple({2})}),
                                               Tuple({1}), "\x89", kNoHooks});
  ASSERT_OK_AND_ASSIGN(const auto tensors,
                       Read(File("\x80\x02" + tensor + ".", {{"0", Floats({1, 2})}})));
  ASSERT_EQ(tensors.size(), 1u);
  ASSERT_OK(tensors[0].tensor);
  EXPECT_EQ(tensors[0].tensor->sizes(), Sizes({2}));
  EXPECT_FALSE(tensors[0].in_dictionary);
}

TEST(TorchSaveTest, ParametersMayHaveState) {
  const std::string tensor = Tensor(StorageId("torch\nFloatStorage", "0", 2), 0, {2}, {1});
  const auto parameter = [](const std::string& of) {
    return Call("torch._utils\n_rebuild_parameter_with_state", {of, "\x88", kNoHooks, "}"});
  };
  const std::vector<std::pair<std::string, std::string>> data = {{"0", Floats({1, 2})}};
  ASSERT_OK_AND_ASSIGN(const auto tensors, Read(File(Dict({{"w", parameter(tensor)}}), data)));
  ASSERT_EQ(tensors.size(), 1u);
  ASSERT_OK(tensors[0].tensor);
  EXPECT_EQ(tensors[0].tensor->sizes(), Sizes({2}));
  // Nested parameters are followed to a limit; some contain nothing.
  std::string nested = tensor;
  for (int i = 0; i < 4; ++i) nested = parameter(nested);
  ASSERT_OK_AND_ASSIGN(
      const auto odd,
      Read(File(Dict({{"deep", nested}, {"void", Call("torch._utils\n_rebuild_parameter", {})}}),
                data)));
  ASSERT_EQ(odd.size(), 2u);
  for (const SavedTensor& saved : odd) {
    EXPECT_THAT(saved.tensor,
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("is not a plain tensor")))
        << saved.name;
  }
}

TEST(TorchSaveTest, RejectsTensorsWithoutDTypeSizesOrStrides) {
  const std::string storage = StorageId("torch\nFloatStorage", "0", 2);
  const auto tensor = [&](const std::string& offset, const std::string& sizes,
                          const std::string& strides) {
    return Call(kRebuildV2, {storage, offset, sizes, strides, "\x89", kNoHooks});
  };
  const auto v3 = [&](const std::string& dtype) {
    return Call(kRebuildV3, {storage, Int(0), Tuple({2}), Tuple({1}), "\x89", kNoHooks, dtype});
  };
  const std::string two = Tuple({2}), one = Tuple({1});
  const std::pair<std::string, std::string> kTensors[] = {
      {tensor("N", two, one), "the storage offset is not an integer"},
      {tensor(Int(0), Int(2), one), "sizes and strides are not tuples of integers"},
      {tensor(Int(0), two, "]"), "sizes and strides are not tuples of integers"},
      {tensor(Int(0), TupleOf({"N"}), one), "sizes and strides are not tuples of integers"},
      {tensor(Int(0), Tuple(std::vector<int>(65, 1)), one), "sizes and strides are not tuples"},
      {tensor(Int(0), Call("torch\nSize", {}), one), "sizes and strides are not tuples"},
      {tensor(Int(0), Call("torch\nSize", {Int(2)}), one), "sizes and strides are not tuples"},
      // A call of another function.
      {tensor(Int(0), Call("torch\ndevice", {two}), one), "sizes and strides are not tuples"},
      {v3("N"), "the dtype is unknown"},
      {v3("ctorch\nint4\n"), "the dtype is unknown"},
      {Call(kRebuildV3, {storage, Int(0), two, one, "\x89", kNoHooks}), "too few arguments"},
  };
  for (const auto& [pickle, message] : kTensors) {
    const std::vector<std::pair<std::string, std::string>> data = {{"0", Floats({1, 2})}};
    const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message));
    EXPECT_THAT(Read(File(Dict({{"w", pickle}}), data)), refused) << pickle;
    // Without a dictionary as well as in one.
    EXPECT_THAT(Read(File("\x80\x02" + pickle + ".", data)), refused) << pickle;
  }
}

TEST(TorchSaveTest, RejectsInvalidStorages) {
  const auto id = [](const std::vector<std::string>& items) { return TupleOf(items) + "Q"; };
  const std::string text = Text("storage"), type = "ctorch\nFloatStorage\n", key = Text("0"),
                    cpu = Text("cpu"), count = Int(2);
  const std::pair<std::string, std::string> kStorages[] = {
      {id({text, type, key, cpu}), "its persistent id is not a storage"},
      {id({Text("module"), type, key, cpu, count}), "its persistent id is not a storage"},
      {id({text, Text("type"), key, cpu, count}), "its persistent id is not a storage"},
      {id({text, type, Int(0), cpu, count}), "its persistent id is not a storage"},
      {id({text, type, key, cpu, "N"}), "its persistent id is not a storage"},
      {id({text, "ctorch\nfloat32\n", key, cpu, count}), "the class of its storage is unknown"},
      {id({text, type, key, cpu, "J\xff\xff\xff\xff"}), "the size of its storage is not possible"},
      {id({text, type, key, cpu, Long(int64_t{1} << 62)}),
       "the size of its storage is not possible"},
  };
  for (const auto& [storage, message] : kStorages) {
    EXPECT_THAT(Read(File(Dict({{"w", Tensor(storage, 0, {2}, {1})}}), {{"0", Floats({1, 2})}})),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tensor 'w': " + message)))
        << storage;
  }
}

TEST(TorchSaveTest, VerifiesStorageChecksums) {
  const std::string pickle =
      Dict({{"w", Tensor(StorageId("torch\nFloatStorage", "0", 1), 0, {1}, {1})}});
  const std::string storage =
      WriteZip({{.name = "archive/data.pkl", .content = pickle},
                {.name = "archive/data/0", .content = Floats({1}), .crc32 = 77}});
  EXPECT_THAT(Read(storage), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("data/0' has check")));
  EXPECT_THAT(Read(WriteZip({{.name = "archive/data.pkl", .content = pickle, .crc32 = 77}})),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("weights.pt: zip: 'archive/data.pkl' has checksum")));
  ImportOptions options;
  options.verify_checksums = false;
  EXPECT_OK(Read(storage, options));
}

TEST(TorchSaveTest, AcceptsEntriesWithoutFolder) {
  ASSERT_OK_AND_ASSIGN(
      const auto tensors,
      Read(WriteZip({{.name = "data.pkl",
                      .content = Dict(
                          {{"w", Tensor(StorageId("torch\nFloatStorage", "0", 1), 0, {1}, {1})}})},
                     {.name = "data/0", .content = Floats({1})}})));
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_OK(tensors[0].tensor);
}

TEST(TorchSaveTest, RejectsPicklesWithOtherCalls) {
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
  EXPECT_THAT(Read(WriteZip({})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("weights.pt: the archive is empty")));
  EXPECT_THAT(Read(File("\x80\x02}(K\x01K\x01u.", {})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a key is not a string")));
  EXPECT_THAT(Read(WriteZip({{.name = "archive/x"}})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("data.pkl")));
  EXPECT_THAT(Read(File("\x80\x02}.", {}, "big")),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'big'")));
  ImportOptions options;
  options.max_pickle_bytes = 3;
  EXPECT_THAT(Read(File("\x80\x02}.", {}), options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_pickle_bytes")));
}

TEST(TorchSaveTest, LimitsPickleValues) {
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
