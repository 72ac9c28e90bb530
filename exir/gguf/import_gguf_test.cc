#include "exir/gguf/import_gguf.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "exir/gguf/gguf_testing.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/testing.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr char kFolder[] = "exir/gguf/testdata/";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ImportGgufTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(AddStandardKernels(kernels_)); }
  // Imports bytes, which the program keeps alive.
  absl::StatusOr<GgufModel> Import(std::string bytes, const GgufOptions& options = {}) const {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    const auto* first = reinterpret_cast<const std::byte*>(owner->data());
    return ImportGguf(owner, {first, owner->size()}, *ops_, options);
  }
  absl::Status Error(const std::string& bytes) const { return Import(bytes).status(); }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  KernelRegistry kernels_;
};

// The largest difference from transformers' logits of the same dequantized weights
// (make_golden.py), of a prompt and of single tokens after it, as a part of the largest logit.
double DifferenceFromTransformers(const GgufModel& model, const nlohmann::json& golden,
                                  const KernelRegistry& kernels) {
  absl::StatusOr<Interpreter> interpreter =
      Interpreter::Create(model.methods[0].second, kernels, {.engine = std::nullopt});
  EXPECT_OK(interpreter.status());
  if (!interpreter.ok()) return INFINITY;
  const std::vector<int64_t> tokens = golden["tokens"];
  const int64_t prompt = golden["prompt"];
  double difference = 0, largest = 0;
  size_t row = 0;
  for (int64_t at = 0, count = prompt; at < static_cast<int64_t>(tokens.size());
       at += count, count = 1, ++row) {
    const TestTensor ids =
        TestTensor::Of<int64_t>({1, count}, {tokens.begin() + at, tokens.begin() + at + count});
    std::vector<int64_t> cache_position;
    for (int64_t i = 0; i < count; ++i) cache_position.push_back(at + i);
    const TestTensor positions = TestTensor::Of<int64_t>({count}, cache_position);
    const auto results = interpreter->Run({EValue(ids.view()), EValue(positions.view())});
    EXPECT_OK(results.status());
    if (!results.ok()) return INFINITY;
    EXPECT_EQ(results->size(), 1);
    const TensorView& logits = *(*results)[0].tensor();
    const std::vector<double> expected = golden["logits"][row];
    EXPECT_EQ(logits.sizes, (Sizes{1, 1, static_cast<int64_t>(expected.size())}));
    for (size_t i = 0; i < expected.size(); ++i) {
      difference = std::max(difference, std::abs(logits.as<const float>()[i] - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
  }
  EXPECT_EQ(row, golden["logits"].size());
  return difference / largest;
}

// Half precision rounds keys and values by up to 2^-11 and 2^-8, and logits by about as much.
TEST_P(ImportGgufTest, LogitsEqualTransformers) {
  const auto golden = nlohmann::json::parse(ReadFile(kFolder + GetParam() + ".json"));
  for (const auto& [dtype, bound] :
       {std::pair(DType::kFloat32, 2e-5), std::pair(DType::kFloat16, 0x1p-10),
        std::pair(DType::kBFloat16, 0x1p-7)}) {
    ASSERT_OK_AND_ASSIGN(const GgufModel model, ImportGgufFile(kFolder + GetParam() + ".gguf",
                                                               *ops_, {.cache_dtype = dtype}));
    EXPECT_EQ(model.architecture, GetParam());
    EXPECT_EQ(model.context_length, 64);
    EXPECT_EQ(model.methods[0].second.state_dict.at("cache.0.keys").dtype(), dtype);
    EXPECT_LT(DifferenceFromTransformers(model, golden, kernels_), bound) << DTypeName(dtype);
  }
}

TEST_P(ImportGgufTest, IsDeterministic) {
  const std::string bytes = ReadFile(kFolder + GetParam() + ".gguf");
  ASSERT_OK_AND_ASSIGN(const GgufModel a, Import(bytes));
  ASSERT_OK_AND_ASSIGN(const GgufModel b, Import(bytes));
  ASSERT_OK(a.tokenizer);
  EXPECT_EQ(*a.tokenizer, *b.tokenizer);
  EXPECT_EQ(a.methods[0].second.state_dict.size(), b.methods[0].second.state_dict.size());
}

// The logits of `verify` and of each row of `decode_batch` equal those of `forward`.
TEST_P(ImportGgufTest, MethodsGiveTheLogitsOfForward) {
  constexpr int64_t kSessions = 2;
  ASSERT_OK_AND_ASSIGN(const GgufModel model, ImportGgufFile(kFolder + GetParam() + ".gguf", *ops_,
                                                             {.context_length = 8,
                                                              .sessions = kSessions,
                                                              .speculate = 2,
                                                              .cache_dtype = DType::kFloat32}));
  ASSERT_EQ(model.methods.size(), 3u);
  EXPECT_EQ(model.methods[1].first, "verify");
  EXPECT_EQ(model.methods[2].first, "decode_batch");
  // Constants are stored once.
  const ConstantMap& first = model.methods[0].second.state_dict;
  for (const auto& [name, tensor] : model.methods[2].second.state_dict) {
    if (name.starts_with("batch.")) continue;
    EXPECT_EQ(tensor.storage().bytes.data(), first.at(name).storage().bytes.data()) << name;
  }
  const auto run = [&](Interpreter& interpreter, const Sizes& sizes,
                       const std::vector<int64_t>& tokens, const std::vector<int64_t>& at) {
    const TestTensor ids = TestTensor::Of<int64_t>(sizes, tokens);
    const TestTensor positions = TestTensor::Of<int64_t>({static_cast<int64_t>(at.size())}, at);
    auto results = interpreter.Run({EValue(ids.view()), EValue(positions.view())});
    EXPECT_OK(results.status());
    return results.ok() ? ToVector<float>(*(*results)[0].tensor()) : std::vector<float>();
  };
  const auto create = [&](size_t method) {
    return Interpreter::Create(model.methods[method].second, kernels_, {.engine = std::nullopt});
  };
  const std::vector<int64_t> tokens[kSessions] = {{3, 90, 17}, {55, 4, 4}};
  std::vector<std::vector<float>> expected[kSessions];
  for (int s = 0; s < kSessions; ++s) {
    ASSERT_OK_AND_ASSIGN(Interpreter forward, create(0));
    for (int64_t i = 0; i < 3; ++i) {
      expected[s].push_back(run(forward, {1, 1}, {tokens[s][static_cast<size_t>(i)]}, {i}));
    }
  }
  const auto expect_near = [](const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i])));
  };
  ASSERT_OK_AND_ASSIGN(Interpreter verify, create(1));
  std::vector<float> rows;
  for (const auto& row : expected[0]) rows.insert(rows.end(), row.begin(), row.end());
  expect_near(run(verify, {1, 3}, tokens[0], {0, 1, 2}), rows);
  // The second sequence starts one step later.
  ASSERT_OK_AND_ASSIGN(Interpreter batch, create(2));
  const auto both = [&](int64_t a, int64_t b) {
    std::vector<float> logits =
        run(batch, {2, 1}, {tokens[0][static_cast<size_t>(a)], tokens[1][static_cast<size_t>(b)]},
            {a, b});
    std::vector<float> want = expected[0][static_cast<size_t>(a)];
    const std::vector<float>& second = expected[1][static_cast<size_t>(b)];
    want.insert(want.end(), second.begin(), second.end());
    expect_near(logits, want);
  };
  both(0, 0);
  both(1, 0);
  both(2, 1);
  both(2, 2);
}

TEST_F(ImportGgufTest, SessionsAndSpeculationAreBounded) {
  const std::string bytes = ReadFile(std::string(kFolder) + "llama.gguf");
  for (int64_t wrong : {int64_t{-1}, kMostSessions + 1}) {
    EXPECT_THAT(Import(bytes, {.sessions = wrong}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sessions: expected 0 to")));
  }
  for (int64_t wrong : {int64_t{-1}, kMostSpeculated + 1}) {
    EXPECT_THAT(
        Import(bytes, {.speculate = wrong}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("speculate: expected 0 to")));
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, ImportGgufTest,
                         ::testing::Values("llama", "qwen3", "gemma3"),
                         [](const auto& info) { return info.param; });

TEST_F(ImportGgufTest, ContextLengthIsAtMostThatOfTheFile) {
  const std::string bytes = ReadFile(std::string(kFolder) + "llama.gguf");
  ASSERT_OK_AND_ASSIGN(const GgufModel model, Import(bytes, {.context_length = 16}));
  EXPECT_EQ(model.context_length, 16);
  EXPECT_EQ(model.methods[0].second.state_dict.at("cache.0.keys").sizes(), (Sizes{1, 2, 16, 16}));
  for (int64_t length : {-1, 65}) {
    EXPECT_THAT(Import(bytes, {.context_length = length}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("context_length: expected 1 to 64")));
  }
}

// The smallest llama: width 4, 2 heads, 1 layer, 3 tokens, of float32.
class SmallModel {
 public:
  SmallModel() {
    matrices = {{"token_embd.weight", {3, 4}},        {"output_norm.weight", {4}},
                {"blk.0.attn_norm.weight", {4}},      {"blk.0.attn_q.weight", {4, 4}},
                {"blk.0.attn_k.weight", {4, 4}},      {"blk.0.attn_v.weight", {4, 4}},
                {"blk.0.attn_output.weight", {4, 4}}, {"blk.0.ffn_norm.weight", {4}},
                {"blk.0.ffn_gate.weight", {6, 4}},    {"blk.0.ffn_up.weight", {6, 4}},
                {"blk.0.ffn_down.weight", {4, 6}}};
    keys.Text("general.architecture", "llama");
    ints = {{"block_count", 1},
            {"embedding_length", 4},
            {"feed_forward_length", 6},
            {"attention.head_count", 2},
            {"context_length", 8}};
  }
  std::string Build() {
    for (const auto& [name, value] : ints) keys.Int("llama." + name, value);
    keys.Float("llama.attention.layer_norm_rms_epsilon", eps);
    for (const auto& [name, sizes] : matrices) {
      size_t count = 1;
      for (int64_t size : sizes) count *= static_cast<size_t>(size);
      keys.Tensor(name, sizes, 0, std::string(4 * count, '\0'));
    }
    return keys.Build();
  }

  GgufBytes keys;
  std::vector<std::pair<std::string, uint32_t>> ints;
  float eps = 1e-5f;
  std::vector<std::pair<std::string, std::vector<int64_t>>> matrices;
};

TEST_F(ImportGgufTest, ImportsTheSmallestModel) {
  ASSERT_OK_AND_ASSIGN(const GgufModel model, Import(SmallModel().Build()));
  EXPECT_THAT(model.tokenizer, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(model.chat_template, StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ImportGgufTest, CachesAreFloat16UnlessTheEmbeddingIsFloat32) {
  const auto dtype = [](const GgufModel& model) {
    return model.methods[0].second.state_dict.at("cache.0.values").dtype();
  };
  ASSERT_OK_AND_ASSIGN(const GgufModel floats, Import(SmallModel().Build()));
  EXPECT_EQ(dtype(floats), DType::kFloat32);
  ASSERT_OK_AND_ASSIGN(const GgufModel quantized,
                       ImportGgufFile(std::string(kFolder) + "llama.gguf", *ops_));
  EXPECT_EQ(dtype(quantized), DType::kFloat16);
  EXPECT_THAT(Import(SmallModel().Build(), {.cache_dtype = DType::kInt8}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cache_dtype: expected float32, float16 or bfloat16, got int8"));
}

TEST_F(ImportGgufTest, NamesMissingAndOddTensors) {
  for (size_t i = 0; i < SmallModel().matrices.size(); ++i) {
    SmallModel missing;
    const std::string name = missing.matrices[i].first;
    missing.matrices.erase(missing.matrices.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(Error(missing.Build()), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("tensor '" + name + "': expected [")));
    SmallModel odd;
    odd.matrices[i].second.push_back(2);
    EXPECT_THAT(Error(odd.Build()), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("tensor '" + name + "': expected [")));
  }
  SmallModel model;
  model.matrices[3].second = {8, 4};
  EXPECT_THAT(Error(model.Build()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "tensor 'blk.0.attn_q.weight': expected [4, 4], got [8, 4]"));
}

TEST_F(ImportGgufTest, RejectsTensorsThatTheArchitectureDoesNotUse) {
  SmallModel model;
  model.matrices.push_back({"blk.0.attn_q.bias", {4}});
  EXPECT_THAT(Error(model.Build()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "tensor 'blk.0.attn_q.bias': not supported in architecture 'llama'"));
}

TEST_F(ImportGgufTest, EscapesNamesOfTensorsInMessages) {
  SmallModel model;
  model.matrices.push_back({"\x1b[31m", {4}});
  EXPECT_THAT(Error(model.Build()), StatusIs(absl::StatusCode::kUnimplemented,
                                             HasSubstr("tensor '\\x1b[31m': not supported")));
}

TEST_F(ImportGgufTest, RejectsInvalidParameters) {
  const auto error = [&](const std::string& name, uint32_t value) {
    SmallModel model;
    for (auto it = model.ints.begin(); it != model.ints.end(); ++it) {
      if (it->first == name) {
        model.ints.erase(it);
        break;
      }
    }
    if (value != 0) model.ints.emplace_back(name, value);
    return Error(model.Build());
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  for (const char* name : {"block_count", "embedding_length", "feed_forward_length",
                           "attention.head_count", "context_length"}) {
    EXPECT_THAT(error(name, 0),
                StatusIs(kInvalid, HasSubstr(std::string("key 'llama.") + name + "': expected")));
    EXPECT_THAT(error(name, UINT32_MAX), StatusIs(kInvalid));
  }
  EXPECT_THAT(error("block_count", 99), StatusIs(kInvalid, HasSubstr("tensors of 99 layers")));
  EXPECT_THAT(error("attention.head_count", 3), StatusIs(kInvalid, HasSubstr("divisor of 4")));
  EXPECT_THAT(error("attention.head_count", 4), StatusIs(kInvalid, HasSubstr("an even number")));
  EXPECT_THAT(error("attention.head_count_kv", 3), StatusIs(kInvalid, HasSubstr("divisor of 2")));
  EXPECT_THAT(error("attention.value_length", 4),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("the head size, 2, got 4")));
  EXPECT_THAT(error("rope.dimension_count", 1), StatusIs(absl::StatusCode::kUnimplemented));
  SmallModel model;
  model.eps = 0;
  EXPECT_THAT(Error(model.Build()), StatusIs(kInvalid, HasSubstr("a positive number, got 0")));
}

TEST_F(ImportGgufTest, NamesUnsupportedArchitecturesAndScalings) {
  GgufBytes other;
  other.Text("general.architecture", "mamba");
  EXPECT_THAT(Error(other.Build()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("expected 'llama', 'qwen3' or 'gemma3', got 'mamba'")));
  SmallModel yarn;
  yarn.keys.Text("llama.rope.scaling.type", "yarn");
  EXPECT_THAT(Error(yarn.Build()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("got 'yarn'")));
  SmallModel linear;
  linear.keys.Text("llama.rope.scaling.type", "linear").Float("llama.rope.scaling.factor", 4);
  EXPECT_OK(Error(linear.Build()));
}

TEST_F(ImportGgufTest, ErrorsNameTheFile) {
  EXPECT_THAT(ImportGgufFile("exir/gguf/testdata/llama.json", *ops_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("exir/gguf/testdata/llama.json: not a GGUF file")));
}

}  // namespace
}  // namespace belay::exir
