#include <fstream>
#include <string>
#include <vector>

#include "exir/gguf/gguf_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kFolder[] = "exir/gguf/testdata/";

class ImportGgufCommandTest : public TestInDirectory {
 protected:
  // Lowers m.bir to m.belay.
  Outcome LowerModel(const std::vector<std::string>& constant_methods = {}) {
    LowerOptions options;
    options.input = Path("m.bir");
    options.output = Path("m.belay");
    options.constant_methods = constant_methods;
    return Capture([&] { return Lower(options); });
  }
  // Imports and lowers a model of testdata.
  void ImportAndLower(const std::string& name) {
    const Outcome imported = Capture([&] {
      return ImportGgufModel({.input = kFolder + name + ".gguf", .output = Path("m.bir")});
    });
    ASSERT_EQ(imported.status, kDone) << imported.errors;
    EXPECT_EQ(imported.errors, "");
    const Outcome lowered = LowerModel();
    ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  }
  nlohmann::json Generate(GenerateTextOptions options) {
    options.program = Path("m.belay");
    options.json = true;
    const Outcome outcome = Capture([&] { return GenerateText(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return nlohmann::json::parse(outcome.output, nullptr, false);
  }
};

// The tokens that transformers generates from the same dequantized weights (make_golden.py).
TEST_F(ImportGgufCommandTest, GeneratesTheTokensOfTransformers) {
  for (const std::string& name :
       {std::string("llama"), std::string("qwen3"), std::string("gemma3")}) {
    ImportAndLower(name);
    if (HasFatalFailure()) return;
    const auto golden = nlohmann::json::parse(Read(kFolder + name + ".json"));
    std::string prompt;
    for (int i = 0; i < golden["prompt"]; ++i) {
      prompt += (i == 0 ? "" : ",") + golden["tokens"][i].dump();
    }
    const nlohmann::json report =
        Generate({.tokens = prompt, .max_tokens = 8, .ignore_end_tokens = true});
    EXPECT_EQ(report["tokens"], golden["greedy"]) << name;
  }
}

TEST_F(ImportGgufCommandTest, AddsMethodsForBatchesAndSpeculation) {
  const Outcome imported = Capture([&] {
    return ImportGgufModel({.input = std::string(kFolder) + "llama.gguf",
                            .output = Path("m.bir"),
                            .sessions = 3,
                            .speculate = 4});
  });
  ASSERT_EQ(imported.status, kDone) << imported.errors;
  ASSERT_EQ(LowerModel().status, kDone);
  const GenerateTextOptions plain = {
      .tokens = "36,24,67,42,36,24,67", .max_tokens = 40, .ignore_end_tokens = true};
  GenerateTextOptions speculative = plain;
  speculative.speculate = 4;
  const nlohmann::json report = Generate(speculative);
  EXPECT_EQ(report["tokens"], Generate(plain)["tokens"]);
  EXPECT_GT(report["speculation"]["accepted"], 0);
  EXPECT_GE(report["speculation"]["drafted"], report["speculation"]["accepted"]);

  BenchOptions bench;
  bench.program = Path("m.belay");
  bench.llm = bench.sessions = bench.json = true;
  bench.pp = "0";
  bench.tg = "3";
  bench.repetitions = 1;
  const Outcome measured = Capture([&] { return Bench(bench); });
  ASSERT_EQ(measured.status, kDone) << measured.errors;
  const nlohmann::json rows = nlohmann::json::parse(measured.output);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["test"], "tg3");
  EXPECT_EQ(rows[1]["test"], "tg3 x 3");
  EXPECT_EQ(rows[1]["n_sessions"], 3);
}

TEST_F(ImportGgufCommandTest, SpeculationRequiresAMethodWithLogitsOfAllTokens) {
  ImportAndLower("llama");
  if (HasFatalFailure()) return;
  const Outcome outcome = Capture(
      [&] { return GenerateText({.program = Path("m.belay"), .tokens = "1,2", .speculate = 4}); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("'belay import-gguf --speculate N'"));
  BenchOptions bench;
  bench.program = Path("m.belay");
  bench.llm = bench.sessions = true;
  EXPECT_THAT(Capture([&] { return Bench(bench); }).errors, HasSubstr("'decode_batch'"));
}

TEST_F(ImportGgufCommandTest, GeneratesTextWithTheTokenizerOfTheFile) {
  ImportAndLower("llama");
  if (HasFatalFailure()) return;
  const nlohmann::json report = Generate({.prompt = "head in", .max_tokens = 2});
  // <|end|>, "hea", "d", "\u0120", "in"
  EXPECT_EQ(report["prompt_tokens"], (std::vector<int>{0, 86, 68, 82, 84}));
  EXPECT_TRUE(report["text"].is_string());
}

TEST_F(ImportGgufCommandTest, ChatsWithTheTemplateOfTheFile) {
  ImportAndLower("gemma3");
  if (HasFatalFailure()) return;
  Write("messages.json", R"([{"role": "user", "content": "he"}])");
  const nlohmann::json report = Generate({.messages = Path("messages.json"), .max_tokens = 1});
  EXPECT_EQ(report["prompt_tokens"], (std::vector<int>{2, 86}));
}

TEST_F(ImportGgufCommandTest, OptionsOfLowerReplaceThoseOfTheFile) {
  ImportAndLower("llama");
  if (HasFatalFailure()) return;
  ASSERT_EQ(LowerModel({"get_max_seq_len=5"}).status, kDone);
  const nlohmann::json report = Generate({.tokens = "1,2,3", .max_tokens = 8});
  EXPECT_EQ(report["finish"], "context_full") << report;
}

TEST_F(ImportGgufCommandTest, StagesKeepTheTokenizer) {
  ImportAndLower("llama");
  if (HasFatalFailure()) return;
  LowerOptions options;
  options.input = Path("m.bir");
  options.output = Path("edge.bir");
  options.stage = "edge";
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  options = {};
  options.input = Path("edge.bir");
  options.output = Path("m.belay");
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  EXPECT_EQ(Generate({.prompt = "a", .max_tokens = 1})["prompt_tokens"].size(), 2);
}

TEST_F(ImportGgufCommandTest, ImportsModelsWithoutASupportedTokenizer) {
  std::string file = Read(std::string(kFolder) + "llama.gguf");
  const size_t at = file.find("gpt2");
  ASSERT_NE(at, std::string::npos);
  file.replace(at, 4, "rwkv");
  Write("m.gguf", file);
  const Outcome outcome =
      Capture([&] { return ImportGgufModel({.input = Path("m.gguf"), .output = Path("m.bir")}); });
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("belay: tokenizer not imported: key 'tokenizer.ggml.model'"),
                    HasSubstr("got 'rwkv'; use 'belay lower --tokenizer'")));
  EXPECT_EQ(LowerModel().status, kDone);
}

TEST_F(ImportGgufCommandTest, ReportsErrorsAndWritesNoFile) {
  const Outcome missing = Capture(
      [&] { return ImportGgufModel({.input = Path("none.gguf"), .output = Path("m.bir")}); });
  EXPECT_EQ(missing.status, kBadInput);
  Write("m.gguf", exir::GgufBytes().Text("general.architecture", "mamba").Build());
  const Outcome other =
      Capture([&] { return ImportGgufModel({.input = Path("m.gguf"), .output = Path("m.bir")}); });
  EXPECT_EQ(other.status, kUnsupported);
  EXPECT_THAT(other.errors, HasSubstr("got 'mamba'"));
  const Outcome same =
      Capture([&] { return ImportGgufModel({.input = Path("m.gguf"), .output = Path("m.gguf")}); });
  EXPECT_EQ(same.status, kBadUsage);
  EXPECT_THAT(Files(), Not(::testing::Contains("m.bir")));
}

}  // namespace
}  // namespace belay::tools
