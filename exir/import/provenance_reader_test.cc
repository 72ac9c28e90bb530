#include "exir/import/provenance_reader.h"

#include <string>

#include "exir/import/testing/zip_writer.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

struct Frame {
  std::string file;
  int64_t line = 0;
  bool operator==(const Frame&) const = default;
};
Frame UserFrame(std::string_view trace) {
  std::string_view file;
  int64_t line = 0;
  if (!FindUserFrame(trace, &file, &line)) return {};
  return {std::string(file), line};
}

TEST(ProvenanceReaderTest, FindsTheInnermostFrameOutsideTorch) {
  EXPECT_EQ(UserFrame("  File \"/home/me/model.py\", line 12, in forward\n    return self.net(x)\n"
                      "  File \"/home/me/block.py\", line 34, in forward\n    x = self.conv(x)\n"
                      "  File \"/usr/lib/python3/site-packages/torch/nn/modules/conv.py\", line "
                      "56, in forward\n    return y\n"),
            (Frame{"/home/me/block.py", 34}));
  EXPECT_EQ(UserFrame("File \"model.py\", line 7, in f\n    a\n  File \"<eval_with_key>.12\", line "
                      "3, in forward\n    b"),
            (Frame{"model.py", 7}));
  EXPECT_EQ(UserFrame("File \"C:\\me\\model.py\", line 7, in f\n    a\n"
                      "File \"C:\\site-packages\\torch\\nn\\conv.py\", line 3, in f\n    b\n"
                      "File \"torch\\nn\\conv.py\", line 4, in f\n    c\n"
                      "File \"/site-packages/torch/nn/conv.py\", line 5, in f\n    d"),
            (Frame{"C:\\me\\model.py", 7}));
  EXPECT_EQ(UserFrame("File \"torch/nn/modules/container.py\", line 253, in forward\n    x\n"
                      "File \"torch/nn/modules/conv.py\", line 56, in forward\n    y\n"
                      "File \"<eval_with_key>.12\", line 3, in forward\n    b"),
            (Frame{"torch/nn/modules/conv.py", 56}));
}

TEST(ProvenanceReaderTest, ToleratesOtherStrings) {
  for (const char* text :
       {"", "\n\n\n", "File \"", "File \"a\", line ", "File \"a\", line x", "File \"\", line 3",
        "  some text", "File \"12, in f", "File \"model.p12", "File \"model.py1234567",
        "File \"a.py\", line 99999999999999999999, in f"}) {
    EXPECT_EQ(UserFrame(text), Frame{}) << text;
  }
}

TEST(ProvenanceReaderTest, FindsTheInnermostModule) {
  EXPECT_EQ(InnermostModule("L__self__,,__main__.Net"), "");
  EXPECT_EQ(InnermostModule("L__self__,,__main__.Net;L__self__layers.0,layers.0,torch.nn.Linear"),
            "layers.0");
  EXPECT_EQ(InnermostModule("a,,T;b,L['s'].b,my.Wrap[int; str, (x;y)]"), "L['s'].b");
  EXPECT_EQ(InnermostModule("a,,T](;b,m,U"), "");
  EXPECT_EQ(InnermostModule("a,,T];b,m,U"), "m");
  EXPECT_EQ(InnermostModule("a,,T[x];b,m,U"), "m");
  EXPECT_EQ(InnermostModule("no stack"), "");
  EXPECT_EQ(InnermostModuleType("L__self__,,__main__.Net;k,layers.0,torch.nn.Linear"),
            "torch.nn.Linear");
  EXPECT_EQ(InnermostModuleType("a,,T;b,L['s'].b,my.Wrap[int; str, (x;y)]"),
            "my.Wrap[int; str, (x;y)]");
  EXPECT_EQ(InnermostModuleType("no stack"), "");
  EXPECT_EQ(InnermostModule(""), "");
}

Provenance Read(ProvenanceReader& reader, const JsonDocument& document) {
  return reader.Read(document.root().value);
}

TEST(ProvenanceReaderTest, ReadsMetadataAndSharesStrings) {
  const Storage text = ToStorage(R"({
      "stack_trace": "  File \"model.py\", line 12, in forward\n    x",
      "nn_module_stack": "k,,T;k,act,T2",
      "torch_fn": "relu_1;function.relu",
      "from_node": "[{\"name\": \"relu_2\", \"graph_id\": 7, \"from_node\": [{\"name\": \"a\", \"graph_id\": 1, \"from_node\": []}, {\"name\": \"relu\", \"graph_id\": 140737488355328, \"from_node\": []}]}]"})");
  ASSERT_OK_AND_ASSIGN(const JsonDocument document, JsonDocument::Parse(text.bytes, "m", {}));
  ProvenanceReader reader;
  const Provenance first = Read(reader, document);
  EXPECT_EQ(first.ToString(), "model.py:12");
  ASSERT_NE(first.module, nullptr);
  EXPECT_EQ(*first.module, "act");
  ASSERT_NE(first.module_type, nullptr);
  EXPECT_EQ(*first.module_type, "T2");
  ASSERT_NE(first.function, nullptr);
  EXPECT_EQ(*first.function, "function.relu");
  ASSERT_NE(first.origin, nullptr);
  EXPECT_EQ(*first.origin, "relu@140737488355328");
  const Provenance second = Read(reader, document);
  EXPECT_EQ(first.file, second.file);
  EXPECT_EQ(first.module, second.module);
  EXPECT_EQ(first.origin, second.origin);
}

TEST(ProvenanceReaderTest, InvalidMetadataIsIgnored) {
  for (const char* json :
       {"[]", "{\"stack_trace\": 3, \"from_node\": \"[{]\"}", "{\"from_node\": \"[]\"}",
        "{\"from_node\": \"[3]\"}", "{\"from_node\": \"3\"}",
        "{\"from_node\": \"[{\\\"name\\\": \\\"n\\\"}]\"}", "{\"torch_fn\": \"relu\"}",
        "{\"from_node\": \"[{\\\"name\\\": 3}]\"}", "{\"nn_module_stack\": null}",
        "{\"nn_module_stack\": \"k,,\", \"torch_fn\": \"f;\"}"}) {
    const Storage text = ToStorage(json);
    ASSERT_OK_AND_ASSIGN(const JsonDocument document, JsonDocument::Parse(text.bytes, "m", {}));
    ProvenanceReader reader;
    const Provenance provenance = Read(reader, document);
    EXPECT_EQ(provenance.ToString(), "") << json;
    EXPECT_EQ(provenance.origin, nullptr) << json;
    EXPECT_EQ(provenance.module, nullptr) << json;
    EXPECT_EQ(provenance.module_type, nullptr) << json;
    EXPECT_EQ(provenance.function, nullptr) << json;
  }
}

TEST(ProvenanceReaderTest, NonStringFieldsAreIgnored) {
  const Storage text =
      ToStorage(R"({"stack_trace": "File \"m.py\", line 3, in f", "stack_trace": 5})");
  ASSERT_OK_AND_ASSIGN(const JsonDocument document, JsonDocument::Parse(text.bytes, "m", {}));
  ProvenanceReader reader;
  EXPECT_EQ(Read(reader, document).ToString(), "m.py:3");
}

TEST(ProvenanceReaderTest, SkipsExcessivelyLongMetadata) {
  for (const size_t spaces : {size_t{1} << 10, size_t{1} << 20}) {
    const std::string filler(spaces, ' ');
    const Storage text = ToStorage(absl::StrCat(R"({"stack_trace": "File \"m.py\", line 3, in f\n)",
                                                filler, R"(", "nn_module_stack": "k,)", filler,
                                                R"(.m,T", "torch_fn": "f;)", filler, "g\"}"));
    ASSERT_OK_AND_ASSIGN(const JsonDocument document, JsonDocument::Parse(text.bytes, "m", {}));
    ProvenanceReader reader;
    const Provenance provenance = Read(reader, document);
    const bool read = spaces == 1 << 10;
    EXPECT_EQ(provenance.ToString(), read ? "m.py:3" : "");
    EXPECT_EQ(provenance.module != nullptr, read);
    EXPECT_EQ(provenance.function != nullptr, read);
    ASSERT_NE(provenance.module_type, nullptr);
    EXPECT_EQ(*provenance.module_type, "T");
  }
}

TEST(ProvenanceReaderTest, SkipsExcessivelyLongAncestry) {
  for (const size_t spaces : {size_t{1} << 10, size_t{1} << 20}) {
    const Storage text = ToStorage(absl::StrCat(
        R"({"from_node": "[{\"name\": \"n\", \"graph_id\": 3}])", std::string(spaces, ' '), "\"}"));
    ASSERT_OK_AND_ASSIGN(const JsonDocument document, JsonDocument::Parse(text.bytes, "m", {}));
    ProvenanceReader reader;
    EXPECT_EQ(Read(reader, document).origin != nullptr, spaces == 1 << 10);
  }
}

TEST(ProvenanceReaderTest, ReadsDeepAncestryWithoutRecursion) {
  std::string nested;
  for (int i = 0; i < 400; ++i)
    nested += "[{\\\"name\\\": \\\"n\\\", \\\"graph_id\\\": 3, \\\"from_node\\\": ";
  nested += "[]";
  for (int i = 0; i < 400; ++i) nested += "}]";
  const Storage text = ToStorage("{\"from_node\": \"" + nested + "\"}");
  ASSERT_OK_AND_ASSIGN(const JsonDocument document, JsonDocument::Parse(text.bytes, "m", {}));
  ProvenanceReader reader;
  const Provenance provenance = Read(reader, document);
  ASSERT_NE(provenance.origin, nullptr);
  EXPECT_EQ(*provenance.origin, "n@3");
}

}  // namespace
}  // namespace belay::exir
