#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/program/program.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A model of 96 tokens and 16 positions. Token t is the word "w<t> ".
class GenerateTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    nlohmann::json tokenizer;
    for (int t = 0; t < 96; ++t) tokenizer["model"]["vocab"]["w" + std::to_string(t) + " "] = t;
    tokenizer["model"]["type"] = "WordLevel";
    tokenizer["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}};
    tokenizer["decoder"]["type"] = "Fuse";
    std::ofstream(Path("tokenizer.json")) << tokenizer.dump();
  }
  Outcome LowerModel(const std::string& tokenizer = "",
                     const std::vector<std::string>& chat_template = {}) {
    LowerOptions options;
    options.output = Path("m.belay");
    options.tokenizer = tokenizer;
    options.chat_template = chat_template;
    options.methods = {"prefill=conformance/models/zoo/llama_kv_prefill/model.pt2",
                       "decode=conformance/models/zoo/llama_kv_decode/model.pt2"};
    return Capture([&] { return Lower(options); });
  }
  Outcome Generate(GenerateTextOptions options) {
    options.program = Path("m.belay");
    return Capture([&] { return GenerateText(options); });
  }
  // The report of --json.
  nlohmann::json Report(GenerateTextOptions options) {
    options.json = true;
    const Outcome outcome = Generate(options);
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return nlohmann::json::parse(outcome.output);
  }
};

TEST_F(GenerateTest, GeneratesTokensWithoutATokenizer) {
  ASSERT_EQ(LowerModel().status, kDone);
  const Outcome outcome = Generate({.tokens = "5,90,3", .max_tokens = 4});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("prefill: 3 tokens in "),
                                    HasSubstr("decode: 3 tokens in "), HasSubstr("tokens/s")));
  const nlohmann::json report = Report({.tokens = "5,90,3", .max_tokens = 4});
  std::string joined;
  for (const auto& token : report["tokens"]) {
    joined += (joined.empty() ? "" : ",") + std::to_string(token.get<int>());
  }
  EXPECT_EQ(outcome.output, joined + "\n");
  EXPECT_EQ(report["prompt_tokens"], (std::vector<int>{5, 90, 3}));
  EXPECT_EQ(report["finish"], "max_tokens");
  EXPECT_EQ(report["prefill"]["tokens"], 3);
  EXPECT_FALSE(report.contains("text"));
}

TEST_F(GenerateTest, FilesReplaceParameters) {
  LowerOptions options;
  options.methods = {"prefill=conformance/models/zoo/llama_kv_prefill/model.pt2",
                     "decode=conformance/models/zoo/llama_kv_decode/model.pt2"};
  options.replaceable = {"*.attention.o.weight", "head.weight"};
  options.output = Path("m.belay");
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  options.output = Path("same.params");
  options.stage = "parameters";
  const Outcome lowered = Capture([&] { return Lower(options); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  GenerateTextOptions generate{.tokens = "5,90,3", .max_tokens = 8};
  const nlohmann::json tokens = Report(generate)["tokens"];
  generate.data = {Path("same.params")};
  EXPECT_EQ(Report(generate)["tokens"], tokens);
  // Logits of 0: the first token is the largest.
  std::string bytes = Read(Path("same.params"));
  {
    ASSERT_OK_AND_ASSIGN(const Program file, Program::Open(Path("same.params")));
    for (const SegmentPlan& segment : file.segments()) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(segment.offset), segment.bytes.size(),
                  '\0');
    }
  }
  generate.data = {Write("zeros.params", bytes)};
  EXPECT_EQ(Report(generate)["tokens"], std::vector<int>(8, 0));
  generate.data = {Path("tokenizer.json")};
  EXPECT_THAT(Generate(generate).errors, HasSubstr("tokenizer.json"));
}

TEST_F(GenerateTest, SpeculationRequiresAPositionalCache) {
  ASSERT_EQ(LowerModel().status, kDone);
  const Outcome outcome = Generate({.tokens = "5,90,3", .max_tokens = 4, .speculate = 2});
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("--constant-method use_positional_cache=1"));
}

TEST_F(GenerateTest, ADraftModelGivesTheTokensWithoutIt) {
  LowerOptions options;
  options.methods = {"prefill=conformance/models/zoo/llama_kv_prefill/model.pt2",
                     "decode=conformance/models/zoo/llama_kv_decode/model.pt2"};
  options.constant_methods = {"get_max_seq_len=16", "use_positional_cache=1"};
  options.output = Path("m.belay");
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  options.constant_methods = {"get_max_seq_len=16"};
  options.output = Path("again.belay");
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  GenerateTextOptions generate{.tokens = "5,90,3", .max_tokens = 8};
  const nlohmann::json tokens = Report(generate)["tokens"];
  // The model itself: 5 90 3 | 1 token | 4 drafted, 1 more | 1 drafted, 1 more.
  generate.draft_model = Path("m.belay");
  const nlohmann::json report = Report(generate);
  EXPECT_EQ(report["tokens"], tokens);
  EXPECT_EQ(report["speculation"], nlohmann::json({{"drafted", 5}, {"accepted", 5}}));
  generate.speculate = 1;
  EXPECT_EQ(Report(generate)["tokens"], tokens);

  generate.draft_model = Path("again.belay");
  const Outcome recurrent = Generate(generate);
  EXPECT_EQ(recurrent.status, kUnsupported);
  EXPECT_THAT(recurrent.errors, HasSubstr("the program of the draft model does not state it"));
  generate.draft_model = Path("none.belay");
  EXPECT_THAT(Generate(generate).errors, HasSubstr("none.belay"));
  options = {.input = "conformance/models/zoo/mlp/model.pt2", .output = Path("mlp.belay")};
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  generate.draft_model = options.output;
  EXPECT_THAT(Generate(generate).errors,
              AllOf(HasSubstr("mlp.belay: "), HasSubstr("expected a cache as state")));
}

TEST_F(GenerateTest, UsesTheTokenizerOfTheProgram) {
  ASSERT_EQ(LowerModel(Path("tokenizer.json")).status, kDone);
  const nlohmann::json tokens = Report({.tokens = "5,90,3", .max_tokens = 4});
  const nlohmann::json text = Report({.prompt = "w5 w90 w3 ", .max_tokens = 4});
  EXPECT_EQ(text["tokens"], tokens["tokens"]);
  std::string words;
  for (const auto& token : tokens["tokens"]) {
    words += "w" + std::to_string(token.get<int>()) + " ";
  }
  EXPECT_EQ(text["text"], words);
  const Outcome outcome = Generate({.prompt = "w5 w90 w3 ", .max_tokens = 4});
  EXPECT_EQ(outcome.output, words + "\n");

  // Stops at a token and at a string.
  const std::string second = "w" + std::to_string(tokens["tokens"][1].get<int>()) + " ";
  const nlohmann::json stopped = Report({.prompt = "w5 w90 w3 ", .stop_tokens = {second}});
  EXPECT_EQ(stopped["finish"], "stop_token");
  EXPECT_LE(stopped["tokens"].size(), 1u);
  const nlohmann::json string = Report({.prompt = "w5 w90 w3 ", .stop = {second}});
  EXPECT_EQ(string["finish"], "stop_string");
}

TEST_F(GenerateTest, AFileReplacesTheTokenizerOfTheProgram) {
  ASSERT_EQ(LowerModel().status, kDone);
  const nlohmann::json report =
      Report({.tokenizer = Path("tokenizer.json"), .prompt = "w5 w6 ", .max_tokens = 1});
  EXPECT_EQ(report["prompt_tokens"], (std::vector<int>{5, 6}));
}

TEST_F(GenerateTest, SamplesWithASeed) {
  ASSERT_EQ(LowerModel().status, kDone);
  GenerateTextOptions options{.tokens = "1,2", .max_tokens = 10};
  options.sampling.temperature = 3;
  options.sampling.seed = 5;
  const nlohmann::json first = Report(options), again = Report(options);
  EXPECT_EQ(first["tokens"], again["tokens"]);
  options.sampling.seed = 6;
  EXPECT_NE(Report(options)["tokens"], first["tokens"]);
}

TEST_F(GenerateTest, ReportsWrongOptionsAndFiles) {
  ASSERT_EQ(LowerModel().status, kDone);
  EXPECT_THAT(
      Generate({.prompt = "w5 "}).errors,
      HasSubstr("the program has no tokenizer: pass --tokenizer tokenizer.json, store one"));
  EXPECT_THAT(Generate({.tokens = "1,x"}).errors,
              HasSubstr("--tokens: expected integers separated by commas, got '1,x'"));
  EXPECT_THAT(Generate({.tokens = "1,96"}).errors,
              HasSubstr("expected a value in [0, 96), got 96"));
  EXPECT_THAT(Generate({.tokens = "1", .stop_tokens = {"no"}}).errors,
              HasSubstr("--stop-token: expected a token or its id, got 'no'"));
  EXPECT_THAT(Generate({.tokenizer = Path("m.belay"), .tokens = "1"}).errors,
              HasSubstr("m.belay: tokenizer.json: "));
  EXPECT_THAT(Generate({.tokenizer = Path("none"), .tokens = "1"}).errors, HasSubstr("none"));
  const Outcome unknown = Generate({.tokens = "1", .decode = "fly"});
  EXPECT_NE(unknown.status, kDone);
  EXPECT_THAT(unknown.errors, HasSubstr("fly"));
  EXPECT_THAT(unknown.output, IsEmpty());
}

TEST_F(GenerateTest, LoweringRejectsFilesThatAreNotTokenizers) {
  std::ofstream(Path("broken.json")) << R"({"model":{"type":"Fish"}})";
  const Outcome outcome = LowerModel(Path("broken.json"));
  EXPECT_NE(outcome.status, kDone);
  EXPECT_THAT(outcome.errors, HasSubstr("model: 'Fish' is not supported"));
  EXPECT_FALSE(fs::exists(Path("m.belay")));
}

// Messages as their contents; w1 begins a reply.
constexpr char kTemplate[] = "{% for m in messages %}{{ m.content | trim }} {% endfor %}w1 ";

class ChatTest : public GenerateTest {
 protected:
  void SetUp() override {
    GenerateTest::SetUp();
    std::ofstream(Path("chat.jinja")) << kTemplate;
    std::ofstream(Path("messages.json")) << R"([{"role": "user", "content": "w5 w90"}])";
    ASSERT_EQ(LowerModel(Path("tokenizer.json"), {Path("chat.jinja")}).status, kDone);
  }
  // Runs with these lines on stdin.
  Outcome Chat(const std::string& lines, GenerateTextOptions options) {
    std::istringstream input(lines);
    std::streambuf* before = std::cin.rdbuf(input.rdbuf());
    std::cin.clear();
    options.chat = true;
    Outcome outcome = Generate(options);
    std::cin.rdbuf(before);
    return outcome;
  }
};

TEST_F(ChatTest, RepliesToMessages) {
  const nlohmann::json report = Report({.messages = Path("messages.json"), .max_tokens = 3});
  EXPECT_EQ(report["prompt_tokens"], (std::vector<int>{5, 90, 1}));
  EXPECT_EQ(report["tokens"], Report({.tokens = "5,90,1", .max_tokens = 3})["tokens"]);
}

TEST_F(ChatTest, RepliesToEachLine) {
  const Outcome outcome = Chat("w5\n\nw6\n", {.system = "w2", .max_tokens = 2, .json = true});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const size_t second = outcome.output.find("\n}\n") + 3;
  const nlohmann::json a = nlohmann::json::parse(outcome.output.substr(0, second));
  const nlohmann::json b = nlohmann::json::parse(outcome.output.substr(second));
  EXPECT_EQ(a["prompt_tokens"], (std::vector<int>{2, 5, 1}));
  std::vector<int> prompt = {2, 5};
  for (const auto& token : a["tokens"]) prompt.push_back(token.get<int>());
  prompt.push_back(6);
  prompt.push_back(1);
  EXPECT_EQ(b["prompt_tokens"], prompt);
}

TEST_F(ChatTest, StopsAtTheEosTokenOfTheTemplate) {
  const nlohmann::json report = Report({.messages = Path("messages.json"), .max_tokens = 2});
  const std::string eos = "w" + std::to_string(report["tokens"][1].get<int>()) + " ";
  std::ofstream(Path("tokenizer_config.json")) << nlohmann::json{{"eos_token", eos}}.dump();
  const nlohmann::json stopped =
      Report({.messages = Path("messages.json"),
              .chat_template = {Path("chat.jinja"), Path("tokenizer_config.json")},
              .max_tokens = 2});
  EXPECT_EQ(stopped["finish"], "stop_token");
  EXPECT_EQ(stopped["tokens"].size(), 1u);
}

TEST_F(ChatTest, ReportsErrorsOfMessagesAndTemplates) {
  std::ofstream(Path("other.json")) << R"({"role": "user"})";
  EXPECT_THAT(Generate({.messages = Path("other.json")}).errors,
              AllOf(HasSubstr("other.json: "), HasSubstr("expected an array of objects")));
  std::ofstream(Path("bad.jinja")) << "{% include 'x' %}";
  const Outcome outcome =
      Generate({.messages = Path("messages.json"), .chat_template = {Path("bad.jinja")}});
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("bad.jinja: "), HasSubstr("line 1: the statement")));
  EXPECT_THAT(Chat("\xff\n", {}).errors, HasSubstr("expected lines in UTF-8"));
  EXPECT_THAT(Chat("w5\n", {.system = "\xff"}).errors, HasSubstr("--system: expected UTF-8"));
  ASSERT_EQ(LowerModel(Path("tokenizer.json")).status, kDone);
  EXPECT_THAT(Generate({.messages = Path("messages.json")}).errors,
              HasSubstr("the program has no chat template: pass --chat-template"));
}

TEST_F(ChatTest, LoweringRejectsInvalidTemplates) {
  LowerOptions options;
  options.output = Path("m.pte");
  options.input = "conformance/models/zoo/mlp/model.pt2";
  options.chat_template = {Path("chat.jinja")};
  EXPECT_THAT(Capture([&] { return Lower(options); }).errors,
              HasSubstr("--chat-template: expected the format 'belay', got 'pte'"));
  std::ofstream(Path("chat.jinja")) << "{{ bos_token }}";
  EXPECT_THAT(LowerModel("", {Path("chat.jinja")}).errors,
              AllOf(HasSubstr("chat.jinja: "), HasSubstr("add the model's tokenizer_config.json")));
}

}  // namespace
}  // namespace belay::tools
