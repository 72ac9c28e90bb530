#include "runtime/llm/chat/chat_template.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"

namespace belay::llm {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kMessages = R"([{"role": "user", "content": "Hi"}])";

absl::StatusOr<ChatTemplate> Parse(std::string_view text, const ChatTemplateLimits& limits = {}) {
  return ChatTemplate::FromJson(json{{"chat_template", text}}.dump(), limits);
}

absl::StatusOr<std::string> Render(std::string_view text, const json& variables = json::object(),
                                   const ChatTemplateLimits& limits = {}) {
  absl::StatusOr<ChatTemplate> parsed = Parse(text, limits);
  if (!parsed.ok()) return parsed.status();
  return parsed->Render(kMessages, {.variables = variables.dump()});
}

// Cases of make_golden.py. The date is that of the script.
TEST(ChatTemplateTest, AgreesWithTransformers) {
  const char* directory = std::getenv("BELAY_CHAT_CASES");
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(directory == nullptr ? "runtime/llm/chat/testdata" : directory)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), 6u);
  for (const fs::path& path : files) {
    std::ifstream file(path);
    std::stringstream content;
    content << file.rdbuf();
    const json golden = json::parse(content.str());
    int equal = 0, rejected = 0, differences = 0;
    const auto parsed = ChatTemplate::FromJson(golden["config"].dump());
    for (const json& test : golden["cases"]) {
      SCOPED_TRACE(absl::StrCat(path.filename().string(), ": ", test["messages"].dump()));
      ChatOptions options = {.add_generation_prompt = test["add_generation_prompt"].get<bool>(),
                             .tools = test.contains("tools") ? test["tools"].dump() : "",
                             .variables = test["variables"].dump(),
                             .now = absl::CivilSecond(2026, 3, 4, 15, 6, 7)};
      const absl::StatusOr<std::string> text =
          parsed.ok() ? parsed->Render(test["messages"].dump(), options)
                      : absl::StatusOr<std::string>(parsed.status());
      if (!test.contains("text")) {
        EXPECT_FALSE(text.ok()) << "transformers: " << test["error"];
        rejected += text.ok() ? 0 : 1;
        differences += text.ok() ? 1 : 0;
      } else {
        EXPECT_OK(text.status());
        EXPECT_EQ(text.value_or(""), test["text"].get<std::string>());
        ++(text.value_or("") == test["text"].get<std::string>() ? equal : differences);
      }
      if (differences > 2) break;
    }
    std::cout << path.filename().string() << ": " << equal << " equal, " << rejected
              << " rejected by both, " << differences << " differ\n";
  }
}

TEST(ChatTemplateTest, RendersExpressions) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{{ 1 + 2 * 3 }}|{{ (1 + 2) * 3 }}|{{ 7 / 2 }}|{{ -7 // 2 }}|{{ -7 % 3 }}", "7|9|3.5|-4|2"},
      {"{{ (-9223372036854775807 - 1) % 3 }}|{{ (-2) ** 63 }}|{{ 2 ** -1 }}",
       "1|-9223372036854775808|0.5"},
      {"{% set x = 'nan' | float %}{{ x <= 1 }}|{{ x is le(1) }}|{{ x is ge(1) }}|{{ 1 is ge(1) }}",
       "False|False|False|True"},
      {"{{ 1e16 }}|{{ 1e-5 }}|{{ 0.1 + 0.2 }}|{{ 3.0 }}", "1e+16|1e-05|0.30000000000000004|3.0"},
      {"{{ -0.0 }}|{{ +1.5 }}|{{ -true }}|{{ 0.0 ** 0 }}", "-0.0|1.5|-1|1.0"},
      {"{{ 'ab' * 2 }}|{{ [1] + [2] }}|{{ 1 ~ none ~ true }}", "abab|[1, 2]|1NoneTrue"},
      {"{{ 1 < 2 < 3 }}|{{ 1 < 3 < 2 }}|{{ 'a' in 'cat' }}|{{ 4 not in [1] }}",
       "True|False|True|True"},
      {"{{ 'x' if false }}|{{ missing }}|{{ missing | default('d') }}", "||d"},
      {"{{ 'héllo'[1:3] }}|{{ 'héllo'[::-1] }}|{{ [1, 2, 3][-1] }}|{{ 'abc'[5] }}", "él|olléh|3|"},
      {"{{ {'a': 1, 'a': 2} }}|{{ ('x',) }}|{{ \"it's\" }}|{{ [\"it's\"] }}",
       "{'a': 2}|('x',)|it's|[\"it's\"]"},
      {"{{ '%s{}' .format(3) }}|{{ '{1}{0}{{n}}'.format('a', 'b') }}", "%s3|ba{n}"},
      {"{{ [3, 1, 2] | sort | join('-') }}|{{ ['b', 'A'] | sort | first }}", "1-2-3|A"},
      {"{{ range(3) | list }}|{{ range(5, 0, -2) | list }}", "[0, 1, 2]|[5, 3, 1]"},
      {"{{ {'b': [1, {}], 'a': 'é\"'} | tojson }}", R"({"b": [1, {}], "a": "é\""})"},
      {"{{ [1, [2]] | tojson(indent=1) }}", "[\n 1,\n [\n  2\n ]\n]"},
      {"{{ 'é\U0001F642' | tojson(ensure_ascii=true) }}", R"("\u00e9\ud83d\ude42")"},
      {"{% set a, b = 1, 2 %}{{ b }}{% for k, v in {'x': 1}.items() %}{{ k }}{{ v }}{% endfor %}",
       "2x1"},
      {"{% for i in [1, 2] %}{{ loop.index }}{{ loop.last }}{{ loop.cycle('a', 'b') }}{% endfor %}",
       "1Falsea2Trueb"},
      {"{% set n = namespace(i=0) %}{% for i in [1, 2] %}{% set n.i = n.i + i %}{% endfor %}{{ n.i "
       "}}",
       "3"},
      {"{% set i = 0 %}{% for x in [1] %}{% set i = 5 %}{% endfor %}{{ i }}", "0"},
      {"{% for x in [] %}a{% else %}none{% endfor %}", "none"},
      {"{% filter upper | replace('A', 'b') %}a{{ 'c' }}{% endfilter %}", "bC"},
      {"{% macro m(a, b='x') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}", "1x32"},
      {"  {%- raw %} {{ x }} {% endraw -%}  .", " {{ x }} ."},
      {"a\n  {# comment #}\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    const absl::StatusOr<std::string> rendered = Render(text);
    EXPECT_OK(rendered.status());
    EXPECT_EQ(rendered.value_or(""), expected);
  }
}

TEST(ChatTemplateTest, ReportsErrorsWithTheirLine) {
  const std::vector<std::tuple<std::string, absl::StatusCode, std::string>> cases = {
      {"\n{{ missing.x }}", absl::StatusCode::kInvalidArgument, "line 2: 'missing' is undefined"},
      {"{{ raise_exception('no\x1b roles') }}", absl::StatusCode::kInvalidArgument,
       "line 1: no\\x1b"},
      {"{{ 1 +\n }}", absl::StatusCode::kInvalidArgument,
       "line 2: expected an expression, got '}}'"},
      {"{% if x %}", absl::StatusCode::kInvalidArgument, "expected 'endif', got the end"},
      {"{% unknown %}", absl::StatusCode::kInvalidArgument, "unknown statement 'unknown'"},
      {"{{ 'x }}", absl::StatusCode::kInvalidArgument, "a string has no end"},
      {"{# x", absl::StatusCode::kInvalidArgument, "a comment has no end"},
      {"{{ x ", absl::StatusCode::kInvalidArgument, "a tag has no end '}}'"},
      {"{{ 'a' + 1 }}", absl::StatusCode::kInvalidArgument, "got str and int"},
      {"{{ 1 // 0 }}", absl::StatusCode::kInvalidArgument, "division by zero"},
      {"{{ 0 ** -1 }}", absl::StatusCode::kInvalidArgument, "division by zero"},
      {"{{ 9223372036854775807 + 1 }}", absl::StatusCode::kOutOfRange, "integers of 64 bits"},
      {"{{ 3 | trim(1, 2) }}", absl::StatusCode::kInvalidArgument, "at most 1 arguments"},
      {"{{ [1] | map | list | tojson }}", absl::StatusCode::kInvalidArgument,
       "'attribute' is missing"},
      {"{% include 'x' %}", absl::StatusCode::kUnimplemented, "the statement 'include'"},
      {"{{ x | urlize }}", absl::StatusCode::kUnimplemented, "the filter 'urlize'"},
      {"{{ x is filter }}", absl::StatusCode::kUnimplemented, "the test 'filter'"},
      {"{{ [].append(1) }}", absl::StatusCode::kUnimplemented, "templates cannot change lists"},
      {"{{ 'a'.zfill(3) }}", absl::StatusCode::kUnimplemented, "the method 'zfill' of str"},
      {"{{ '%s' % 3 }}", absl::StatusCode::kUnimplemented, "formatting with '%'"},
      {"{{ {}.items() }}", absl::StatusCode::kUnimplemented, "apply the filter 'list'"},
  };
  for (const auto& [text, code, message] : cases) {
    SCOPED_TRACE(text);
    EXPECT_THAT(Render(text), StatusIs(code, HasSubstr(message)));
  }
}

TEST(ChatTemplateTest, BoundsHostileTemplates) {
  const auto repeated = [](std::string_view part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  const std::vector<std::string> templates = {
      "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor "
      "%}",
      "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
      "{% for i in range(99999999999) %}{% endfor %}",
      "{{ 'a' * 99999999999 }}",
      "{{ 9 ** 9 ** 9 }}{{ 'a' | indent(99999999999) }}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m(x) %}{{ m([x]) }}{% endmacro %}{{ m(1) }}",
      "{% set n = namespace(x=1) %}{% for i in range(999) %}{% set n.x = [n.x] %}{% endfor %}",
      "{% set n = namespace(x=1) %}{% for i in range(999) %}{% for y in [n.x] %}{% set n.x = loop "
      "%}"
      "{% endfor %}{% endfor %}",
      "{% set n = namespace(x=[1]) %}{% for i in range(50) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
      "{{ n.x }}",
      "{% set n = namespace(x=[1]) %}{% for i in range(50) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
      "{{ n.x == n.x | list }}{{ n.x | tojson | length }}",
      "{{ 'a' | map(" + repeated("'map', ", 2000) + "'upper') | list }}",
      "{{ " + repeated("(", 1000) + "1" + repeated(")", 1000) + " }}",
      "{{ " + repeated("[", 1000) + repeated("]", 1000) + " }}",
      "{{ " + repeated("not ", 1000) + "1 }}",
      "{{ " + repeated("-", 1000) + "1 }}",
      "{{ 1" + repeated("+1", 1000) + " }}",
      "{{ x" + repeated("|upper", 1000) + " }}",
      "{{ dict(" + repeated("a=1, ", 1000) + ") }}",
      "{% macro m(" + repeated("a, ", 1000) + "b) %}{% endmacro %}",
      repeated("{% if 1 %}", 1000) + repeated("{% endif %}", 1000),
      "{% for i in range(9999) %}{{ 'a' * 9999 }}{% endfor %}",
  };
  for (const std::string& text : templates) {
    SCOPED_TRACE(text.substr(0, 100));
    const absl::Status status = Render(text, json::object(), {.work = 1 << 22}).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status) || absl::IsOutOfRange(status)) << status;
  }
}

TEST(ChatTemplateTest, RendersMappingsOfManyKeys) {
  json many = json::object();
  for (int i = 0; i < 20000; ++i) many[absl::StrCat("key", i)] = i;
  EXPECT_EQ(*Render("{{ many | length }}", {{"many", many}}), "20000");
}

TEST(ChatTemplateTest, LaterKeysReplaceEqualOnes) {
  EXPECT_EQ(*Render("{{ {'a': 1, 1: 2, 'b': 3, 'a': 4, 1.0: 5, true: 6, none: 7, none: 8} }}"),
            "{'a': 4, 1: 6, 'b': 3, None: 8}");
}

TEST(ChatTemplateTest, ChecksItsLimits) {
  EXPECT_THAT(Render("{{ 'abcdef' }}", json::object(), {.output_bytes = 5}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 5 bytes")));
  EXPECT_OK(Render("{{ 'abcdef' }}", json::object(), {.output_bytes = 6}).status());
  EXPECT_THAT(
      Render("{{ 'abcdef' }}", json::object(), {.template_bytes = 13}),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 13 bytes, got 14")));
  EXPECT_THAT(
      Render("x", json::object(), {.json_bytes = 30}),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("messages: expected at most")));
}

TEST(ChatTemplateTest, RandomTemplatesReturnDocumentedErrors) {
  const std::vector<std::string> parts = {
      "{{",   "}}",  "{%",      "%}",     "{#",      "#}",       "-",        "for", " x ",
      " in ", "if",  "endif",   "endfor", "set",     "=",        "messages", "[",   "]",
      "(",    ")",   "|",       "join",   "'a'",     "1",        ",",        ".",   "role",
      "is",   "not", "defined", "macro",  "m",       "endmacro", ":",        "{",   "}",
      "~",    "\n",  "loop",    "else",   "\xC3\xA9"};
  Random random(TestSeed(), 0);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = random.Next() % 24; n > 0; --n) {
      text += parts[random.Next() % parts.size()];
      if (random.Next() % 3 == 0) text += ' ';
    }
    const absl::Status status = Render(text, json::object(), {.work = 1 << 16}).status();
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) ||
                absl::IsResourceExhausted(status) || absl::IsOutOfRange(status))
        << text << ": " << status;
  }
}

TEST(ChatTemplateTest, ReadsTheConfiguration) {
  const auto list = json::parse(R"({"chat_template": [{"name": "tool_use", "template": "t"},
      {"name": "default", "template": "{{ bos_token }}d"}], "bos_token": {"content": "<s>"}})");
  ASSERT_OK_AND_ASSIGN(const ChatTemplate chat, ChatTemplate::FromJson(list.dump()));
  EXPECT_EQ(*chat.Render(kMessages), "<s>d");
  EXPECT_EQ(*chat.SpecialToken("bos_token"), "<s>");
  EXPECT_EQ(chat.SpecialToken("eos_token"), nullptr);
  for (const std::string_view text :
       {"", "[]", "{}", R"({"chat_template": 3})", "{\"a\": \xff}", R"({"chat_template": []})",
        R"({"chat_template": "x", "bos_token": 3})"}) {
    EXPECT_THAT(ChatTemplate::FromJson(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

// As in files of transformers.
TEST(ChatTemplateTest, ConfigurationsMayHaveIntegersBeyond64Bits) {
  const std::string_view json = R"({"model_max_length": 1000000000000000019884624838656,
      "chat_template": "a\\\"1000000000000000019884624838656", "x": [-12345678901234567890, 1.5e3,
      0.12345678901234567890, 1234567890123456789e2]})";
  ASSERT_OK_AND_ASSIGN(const ChatTemplate chat, ChatTemplate::FromJson(json));
  EXPECT_EQ(*chat.Render("[]"), "a\\\"1000000000000000019884624838656");
  ASSERT_OK_AND_ASSIGN(const std::string merged, MergeChatTemplateFiles({json}));
  EXPECT_OK(ChatTemplate::FromJson(merged).status());
}

// As in models with thousands of added tokens.
TEST(ChatTemplateTest, ConfigurationsMayHaveLargeOtherFields) {
  json config = {{"chat_template", "{{ eos_token }}"}, {"eos_token", "</s>"}};
  for (int i = 0; i < 8000; ++i) {
    config["added_tokens_decoder"][absl::StrCat(i)] = {
        {"content", absl::StrCat("<unused", i, ">")}};
  }
  ASSERT_OK_AND_ASSIGN(const ChatTemplate chat, ChatTemplate::FromJson(config.dump()));
  EXPECT_EQ(*chat.Render("[]"), "</s>");
}

TEST(ChatTemplateTest, RejectsInvalidMessagesAndVariables) {
  ASSERT_OK_AND_ASSIGN(const ChatTemplate chat, Parse("{{ messages }}{{ tools }}"));
  for (const std::string_view text : {"", "{}", "[1]", "[{]", "[{\"a\": \"\\ud800\"}]"}) {
    EXPECT_THAT(chat.Render(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  EXPECT_THAT(chat.Render("[]", {.variables = "[]"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(chat.Render("[]", {.tools = "]"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(chat.Render(R"([{"a": 18446744073709551615}])"),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(*chat.Render("[]", {.tools = "[{}]"}), "[][{}]");
}

TEST(ChatTemplateTest, MergesTemplateAndConfiguration) {
  const std::string_view jinja = "{{ bos_token }}{{ messages[0].content }}\n\n";
  const std::string_view config = R"({"bos_token": "<s>", "chat_template": "other", "x": 1})";
  ASSERT_OK_AND_ASSIGN(const std::string merged, MergeChatTemplateFiles({jinja, config}));
  EXPECT_EQ(merged, *MergeChatTemplateFiles({config, jinja}));
  ASSERT_OK_AND_ASSIGN(const ChatTemplate chat, ChatTemplate::FromJson(merged));
  EXPECT_EQ(*chat.Render(kMessages), "<s>Hi\n");
  EXPECT_OK(MergeChatTemplateFiles({config}).status());
  EXPECT_THAT(MergeChatTemplateFiles({jinja}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("prints bos_token: add the model's tokenizer_config.json")));
  EXPECT_OK(MergeChatTemplateFiles({"{% set bos_token = '' %}{{ bos_token }}"}).status());
  for (const auto& files : std::vector<std::vector<std::string_view>>{
           {}, {""}, {"\xff"}, {"a", "b"}, {config, config}, {R"({"bos_token": "<s>"})"}, {"{1"}}) {
    EXPECT_THAT(MergeChatTemplateFiles(files), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(ChatTemplateTest, FormatsTheTime) {
  ASSERT_OK_AND_ASSIGN(const ChatTemplate chat,
                       Parse("{{ strftime_now('%Y-%m-%d %H:%M:%S %B %b %A %a %y %I%p %j %%') }}"));
  EXPECT_EQ(*chat.Render("[]", {.now = absl::CivilSecond(2026, 3, 4, 15, 6, 7)}),
            "2026-03-04 15:06:07 March Mar Wednesday Wed 26 03PM 063 %");
  EXPECT_THAT(chat.Render("[]"), StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK_AND_ASSIGN(const ChatTemplate wide, Parse("{{ strftime_now('%99999Y') }}"));
  EXPECT_THAT(wide.Render("[]", {.now = absl::CivilSecond()}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'%9' is not supported")));
}

}  // namespace
}  // namespace belay::llm
