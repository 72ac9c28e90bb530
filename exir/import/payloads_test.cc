#include "exir/import/payloads.h"

#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Payloads> Read(const ArchiveFiles& files, const ImportOptions& options = {}) {
  ABSL_ASSIGN_OR_RETURN(const Container container,
                        Container::Open(ToStorage(PackArchive(files)), options));
  ByteBudget inflated("max_inflated_bytes", options.max_inflated_bytes);
  ByteBudget zero_filled("max_zero_filled_bytes", options.max_zero_filled_bytes);
  return ReadPayloads(container, "model", options, inflated, zero_filled);
}

std::string Entry(const std::string& name, const std::string& file, const std::string& meta,
                  bool pickled = false) {
  return absl::StrCat("\"", name, "\": {\"path_name\": \"", file,
                      "\", \"is_param\": true, \"use_pickle\": ", pickled ? "true" : "false",
                      ", \"tensor_meta\": ", meta, "}");
}

// The default archive with other weights.
ArchiveFiles WithWeights(const std::string& entries,
                         const std::vector<std::pair<std::string, std::string>>& records,
                         const std::string& config = "data/weights/model_weights_config.json") {
  ArchiveFiles files = DefaultFiles("{}");
  SetFile(files, "data/weights/weight_0", nullptr);
  SetFile(files, "data/weights/model_weights_config.json", nullptr);
  const std::string text = absl::StrCat("{\"config\": {", entries, "}}");
  SetFile(files, config, &text);
  for (const auto& [name, content] : records) SetFile(files, "data/weights/" + name, &content);
  return files;
}

std::string Strided(const std::string& sizes, const std::string& strides, int offset) {
  return absl::StrCat("{\"dtype\": 7, \"sizes\": ", sizes, ", \"strides\": ", strides,
                      ", \"storage_offset\": {\"as_int\": ", offset, "}, \"layout\": 7}");
}

TEST(PayloadsTest, ReadsRawRecordsInPlaceAndSharesThem) {
  const std::string record(48, 'x');
  ASSERT_OK_AND_ASSIGN(
      const Payloads payloads,
      Read(WithWeights(absl::StrCat(Entry("a", "weight_0", MetaJson({2, 6})), ", ",
                                    Entry("b", "weight_0", MetaJson({2, 6})), ", ",
                                    Entry("t", "weight_0",
                                          Strided(R"([{"as_int": 2}, {"as_int": 2}])",
                                                  R"([{"as_int": 1}, {"as_int": 4}])", 3))),
                       {{"weight_0", record}})));
  ASSERT_EQ(payloads.weights.size(), 3u);
  const ConstantTensor& a = payloads.weights.at("a");
  const ConstantTensor& t = payloads.weights.at("t");
  EXPECT_EQ(a.storage().bytes.data(), payloads.weights.at("b").storage().bytes.data());
  EXPECT_EQ(a.storage().bytes.data(), t.storage().bytes.data());
  EXPECT_EQ(t.storage_offset(), 3);
  EXPECT_EQ(t.strides(), Strides({1, 4}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.storage().owner.get()) != 0, true);
}

// It is inflated only once.
TEST(PayloadsTest, NamesShareDeflatedRecord) {
  std::vector<ZipWriterEntry> entries;
  for (const auto& [path, content] :
       WithWeights(absl::StrCat(Entry("a", "weight_0", MetaJson({2})), ", ",
                                Entry("b", "weight_0", MetaJson({2}))),
                   {{"weight_0", std::string(8, 'x')}})) {
    entries.push_back({.name = "model/" + path, .content = content, .deflate = true});
  }
  const ImportOptions options;
  ASSERT_OK_AND_ASSIGN(const Container container,
                       Container::Open(ToStorage(WriteZip(entries)), options));
  ByteBudget inflated("max_inflated_bytes", 1 << 20), zeros("max_zero_filled_bytes", 0);
  ASSERT_OK_AND_ASSIGN(const Payloads payloads,
                       ReadPayloads(container, "model", options, inflated, zeros));
  EXPECT_EQ(payloads.weights.at("a").storage().bytes.data(),
            payloads.weights.at("b").storage().bytes.data());
}

// Their offset is irrelevant.
TEST(PayloadsTest, TensorsWithoutElementsNeedNoBytes) {
  ASSERT_OK_AND_ASSIGN(
      const Payloads payloads,
      Read(WithWeights(
          Entry("a", "weight_0", Strided(R"([{"as_int": 0}])", R"([{"as_int": 1}])", 5)),
          {{"weight_0", "four"}})));
  EXPECT_EQ(payloads.weights.at("a").sizes(), Sizes({0}));
}

TEST(PayloadsTest, AcceptsTheOlderNamesOfTheConfigs) {
  ArchiveFiles files = WithWeights(Entry("a", "weight_0", MetaJson({1})), {{"weight_0", "abcd"}},
                                   "data/weights/model_model_param_config.json");
  SetFile(files, "data/constants/model_constants_config.json", nullptr);
  const std::string constants =
      absl::StrCat("{\"config\": {", Entry("c", "tensor_0", MetaJson({2}, 4)), "}}");
  files.emplace_back("data/constants/model_model_constants_config.json", constants);
  files.emplace_back("data/constants/tensor_0", "abcdefgh");
  ASSERT_OK_AND_ASSIGN(const Payloads payloads, Read(files));
  EXPECT_TRUE(payloads.weights.contains("a"));
  ASSERT_TRUE(payloads.constants.contains("c"));
  EXPECT_EQ(payloads.constants.at("c").dtype(), DType::kInt32);
}

TEST(PayloadsTest, EmptyRecordsBecomeZeros) {
  const ArchiveFiles files =
      WithWeights(absl::StrCat(Entry("z", "weight_0", MetaJson({2, 3})), ", ",
                               Entry("e", "weight_0", MetaJson({0, 3}))),
                  {{"weight_0", ""}});
  ASSERT_OK_AND_ASSIGN(const Payloads payloads, Read(files));
  const ConstantTensor& z = payloads.weights.at("z");
  ASSERT_EQ(z.storage().bytes.size(), 24u);
  for (std::byte b : z.storage().bytes) EXPECT_EQ(b, std::byte{0});
  EXPECT_EQ(payloads.weights.at("e").sizes(), Sizes({0, 3}));
  EXPECT_EQ(payloads.zero_filled.ToString(), "'z'");

  ImportOptions options;
  options.max_zero_filled_bytes = 23;
  EXPECT_THAT(Read(files, options), StatusIs(absl::StatusCode::kResourceExhausted,
                                             HasSubstr("max_zero_filled_bytes = 23")));
}

TEST(PayloadsTest, RejectsHugeDeclaredSizes) {
  EXPECT_THAT(
      Read(WithWeights(Entry("z", "weight_0", MetaJson({1 << 20, 550})), {{"weight_0", ""}})),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2306867200 bytes")));
  EXPECT_THAT(
      Read(WithWeights(Entry("z", "weight_0", MetaJson({1 << 20, 550})), {{"weight_0", "abcd"}})),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("'z' needs 2306867200 bytes, but data/weights/weight_0 has 4")));
}

TEST(PayloadsTest, RejectsRecordsShorterThanDeclared) {
  EXPECT_THAT(Read(WithWeights(Entry("fc.weight", "weight_0", MetaJson({2, 3})),
                               {{"weight_0", std::string(20, 'x')}})),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("weights shorter than declared: 'fc.weight' needs 24 bytes, but "
                                 "data/weights/weight_0 has 20")));
  EXPECT_THAT(Read(WithWeights(
                  Entry("a", "weight_0", Strided(R"([{"as_int": 2}])", R"([{"as_int": 9}])", 1)),
                  {{"weight_0", std::string(40, 'x')}})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("needs 44 bytes")));
  EXPECT_THAT(
      Read(WithWeights(Entry("a", "weight_0", MetaJson({1})), {{"weight_0", "abcde"}})),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a multiple of the 4 bytes of float32")));
}

TEST(PayloadsTest, RejectsExtentsThatOverflow) {
  EXPECT_THAT(Read(WithWeights(
                  Entry("a", "weight_0",
                        Strided(R"([{"as_int": 3}])", R"([{"as_int": 4611686018427387904}])", 1)),
                  {{"weight_0", "abcd"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("exceeds int64")));
  EXPECT_THAT(Read(WithWeights(
                  Entry("a", "weight_0", Strided(R"([{"as_int": 3}])", R"([{"as_int": -1}])", 3)),
                  {{"weight_0", "abcd"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("stride -1 is negative")));
  EXPECT_THAT(Read(WithWeights(
                  Entry("a", "weight_0",
                        Strided(R"([{"as_expr": {"expr_str": "s0"}}])", R"([{"as_int": 1}])", 0)),
                  {{"weight_0", "abcd"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'s0' is not a number")));
  EXPECT_THAT(Read(WithWeights(Entry("a", "weight_0",
                                     R"({"dtype": 7, "sizes": [], "strides": [],
                                 "storage_offset": {"as_expr": {"expr_str": "s0"}}})"),
                               {{"weight_0", "abcd"}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the storage offset is not a number")));
  // Invalid layouts are not zero-filled either.
  EXPECT_THAT(Read(WithWeights(
                  Entry("a", "weight_0", Strided(R"([{"as_int": 3}])", R"([{"as_int": -1}])", 0)),
                  {{"weight_0", ""}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("stride -1 is negative")));
}

TEST(PayloadsTest, RejectsPathsOutsideTheFolder) {
  EXPECT_THAT(Read(WithWeights(Entry("a", "../../archive_format", MetaJson({1})), {})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("config.a.path_name: not the name of a file")));
  EXPECT_THAT(Read(WithWeights(Entry("a", "", MetaJson({1})), {})),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Read(WithWeights(Entry("a", "weight_7", MetaJson({1})), {})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("tensor 'a'")));
}

TEST(PayloadsTest, ReportsUnusablePayloadsOnUse) {
  ASSERT_OK_AND_ASSIGN(const Payloads payloads,
                       Read(WithWeights(absl::StrCat(Entry("o", "custom_obj_0", "null", true), ", ",
                                                     Entry("q", "opaque_obj_0", "null", true), ", ",
                                                     Entry("n", "weight_0", "null"), ", ",
                                                     Entry("d", "weight_0", MetaJson({1}, 99))),
                                        {{"weight_0", "abcd"}})));
  EXPECT_TRUE(payloads.weights.empty());
  ASSERT_EQ(payloads.unusable.size(), 4u);
  EXPECT_THAT(payloads.unusable.at("o"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("custom object")));
  EXPECT_THAT(payloads.unusable.at("d"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("dtype number 99")));
}

std::string PickledText(const std::string& text) {
  std::string out = "X";
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>(text.size() >> shift));
  return out + text;
}
// Pickle of the tensor [1.0]; `count` is the declared number of elements of its storage.
std::string PickledFloat(int count = 1) {
  return absl::StrCat("ctorch._utils\n_rebuild_tensor_v2\n((", PickledText("storage"),
                      "ctorch\nFloatStorage\n", PickledText("0"), PickledText("cpu"), "K",
                      std::string(1, static_cast<char>(count)), "tQ", std::string("K\0", 2),
                      "(K\x01t(K\x01t\x89", "ccollections\nOrderedDict\n)RtR");
}
// A torch.save file with this pickle and the storage of that float.
std::string TorchSave(const std::string& pickle) {
  return WriteZip(
      {{.name = "archive/data.pkl", .content = "\x80\x02" + pickle + ".", .deflate = true},
       {.name = "archive/data/0", .content = std::string("\0\0\x80\x3f", 4), .alignment = 64}});
}

TEST(PayloadsTest, ReadsPickledRecordOnce) {
  std::string entries;
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&entries, i == 0 ? "" : ", ",
                    Entry(absl::StrCat("w", i), "weight_0", "null", /*pickled=*/true));
  }
  ImportOptions options;
  options.max_inflated_bytes = 150'000;  // enough for one pickle
  const std::string record =
      TorchSave(PickledFloat() + PickledText(std::string(100'000, 's')) + "b");
  ASSERT_OK_AND_ASSIGN(const Payloads payloads,
                       Read(WithWeights(entries, {{"weight_0", record}}), options));
  ASSERT_EQ(payloads.weights.size(), 1000u);
  const ConstantTensor& first = payloads.weights.at("w0");
  EXPECT_EQ(first.view().as<float>()[0], 1.0f);
  for (const auto& [name, tensor] : payloads.weights)
    EXPECT_EQ(tensor.storage().bytes.data(), first.storage().bytes.data()) << name;
}

TEST(PayloadsTest, ReportsNonTensorPickledRecordPerName) {
  const std::string dict = WriteZip({{.name = "archive/data.pkl", .content = "\x80\x02}."}});
  ASSERT_OK_AND_ASSIGN(const Payloads payloads,
                       Read(WithWeights(absl::StrCat(Entry("a", "weight_0", "null", true), ", ",
                                                     Entry("b", "weight_0", "null", true)),
                                        {{"weight_0", dict}})));
  for (const char* name : {"a", "b"}) {
    EXPECT_THAT(payloads.unusable.at(name),
                StatusIs(absl::StatusCode::kUnimplemented,
                         absl::StrCat("tensor '", name,
                                      "': 'data/weights/weight_0' is not a plain tensor")));
  }
}

TEST(PayloadsTest, FlattensTensorSubclasses) {
  const std::string record = TorchSave(
      "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_wrapper_subclass\n"
      "ctorchao.quantization\nInt8Tensor\n)}(" +
      PickledText("qdata") + PickledFloat() + PickledText("scale") + PickledFloat() + "utR");
  ASSERT_OK_AND_ASSIGN(
      const Payloads payloads,
      Read(WithWeights(Entry("w", "weight_0", "null", true), {{"weight_0", record}})));
  ASSERT_EQ(payloads.weights.size(), 2u);
  EXPECT_EQ(payloads.weights.at("w.qdata").view().as<float>()[0], 1.0f);
  EXPECT_TRUE(payloads.weights.contains("w.scale"));
  // A separate entry with the name of a flattened component.
  for (const char* other : {"w.qdata", "w.scale"}) {
    EXPECT_THAT(Read(WithWeights(absl::StrCat(Entry(other, "weight_1", MetaJson({1})), ", ",
                                              Entry("w", "weight_0", "null", true)),
                                 {{"weight_0", record}, {"weight_1", "abcd"}})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("config.w: two entries have this name")))
        << other;
  }
}

TEST(PayloadsTest, NonTensorPickledRecords) {
  const struct {
    std::string record;
    absl::StatusCode code;
    std::string message;
  } kRecords[] = {
      {"no zip file, not at all", absl::StatusCode::kDataLoss,
       "tensor 'a': data/weights/weight_0: zip: "},
      {TorchSave(PickledFloat(2)), absl::StatusCode::kDataLoss,
       "tensor 'a': weights shorter than declared"},
  };
  for (const auto& [record, code, message] : kRecords) {
    EXPECT_THAT(Read(WithWeights(Entry("a", "weight_0", "null", true), {{"weight_0", record}})),
                StatusIs(code, HasSubstr(message)));
  }
  EXPECT_THAT(Read(WithWeights(Entry("a", "weight_7", "null", true), {})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("tensor 'a'")));
  // Unreferenced files may have any content.
  for (const std::string& record :
       {std::string(), TorchSave("}(" + PickledText("t") + PickledFloat() + "u"), TorchSave("N")}) {
    ASSERT_OK_AND_ASSIGN(
        const Payloads payloads,
        Read(WithWeights(Entry("a", "weight_0", "null", true), {{"weight_0", record}})));
    EXPECT_TRUE(payloads.weights.empty());
    EXPECT_THAT(payloads.unusable.at("a"), StatusIs(absl::StatusCode::kUnimplemented));
  }
}

// Archives of torch 2.8.
TEST(PayloadsTest, NonTensorPickledWeightsAreUnusable) {
  ArchiveFiles files = DefaultFiles("{}");
  SetFile(files, "data/weights/model_weights_config.json", nullptr);
  const std::string saved =
      TorchSave("}(" + PickledText("n") + "K\3" + PickledText("t") + PickledFloat() + "u");
  SetFile(files, "data/weights/model.pt", &saved);
  ASSERT_OK_AND_ASSIGN(const Payloads payloads, Read(files));
  ASSERT_EQ(payloads.weights.size(), 1u);
  EXPECT_EQ(payloads.weights.at("t").view().as<float>()[0], 1.0f);
  EXPECT_THAT(payloads.unusable.at("n"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'n' is not a plain tensor")));
}

TEST(PayloadsTest, RejectsMalformedConfigs) {
  const std::pair<std::string, std::string> kConfigs[] = {
      {"[]", "model_weights_config.json: expected an object"},
      {"{}", "model_weights_config.json: the field 'config' is missing"},
      {R"({"config": []})", "json: config: expected an object"},
      {R"({"config": {"a": {}}})", "config.a: the field 'path_name' is missing"},
      {R"({"config": {"a": {"path_name": 3}}})", "config.a.path_name: expected a string"},
      {R"({"config": {"a": {"path_name": "weight_0", "use_pickle": 1}}})",
       "config.a.use_pickle: expected a boolean"},
      {R"({"config": {"a": {"path_name": "weight_0", "tensor_meta": 3}}})",
       "config.a.tensor_meta: expected an object"},
  };
  for (const auto& [config, message] : kConfigs) {
    ArchiveFiles changed = DefaultFiles("{}");
    SetFile(changed, "data/weights/model_weights_config.json", &config);
    EXPECT_THAT(Read(changed), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << config;
  }
  EXPECT_THAT(Read(WithWeights(absl::StrCat(Entry("a", "weight_0", MetaJson({1})), ", ",
                                            Entry("a", "weight_0", MetaJson({1}))),
                               {{"weight_0", "abcd"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two entries")));
  EXPECT_THAT(
      Read(WithWeights("\"a\": 3", {})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("config.a: expected an object")));
  ArchiveFiles files = DefaultFiles("{}");
  const std::string text = "{\"config\": ";
  SetFile(files, "data/weights/model_weights_config.json", &text);
  EXPECT_THAT(Read(files),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not valid JSON")));
}

TEST(PayloadsTest, ModelWithoutPayloadsHasNoTensors) {
  ArchiveFiles files = DefaultFiles("{}");
  SetFile(files, "data/weights/model_weights_config.json", nullptr);
  SetFile(files, "data/constants/model_constants_config.json", nullptr);
  ASSERT_OK_AND_ASSIGN(const Payloads payloads, Read(files));
  EXPECT_TRUE(payloads.weights.empty());
  EXPECT_TRUE(payloads.constants.empty());
}

}  // namespace
}  // namespace belay::exir
