// Replays the tables of conformance/backend_tables, which record the behavior of ExecuTorch's
// helper classes call by call. Intentional differences are listed with reasons; everything else
// must be equal.
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/transforms/op_patterns.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/decompose.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/meta_context.h"
#include "exir/op_definition/op_variants.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "simdjson.h"

namespace belay::exir {
namespace {

using Element = simdjson::dom::element;

// --- Reading ---

std::optional<Element> Field(Element object, std::string_view key) {
  Element value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}
std::string Text(Element value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(value);
}
std::string TextOr(Element object, std::string_view key, std::string_view fallback) {
  const std::optional<Element> value = Field(object, key);
  return value.has_value() ? Text(*value) : std::string(fallback);
}
int64_t IntOr(Element object, std::string_view key, int64_t fallback) {
  const std::optional<Element> value = Field(object, key);
  int64_t number = fallback;
  if (value.has_value()) EXPECT_EQ(value->get(number), simdjson::SUCCESS) << key;
  return number;
}
std::vector<Element> Elements(Element value) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return {value};
  return std::vector<Element>(array.begin(), array.end());
}

// --- Comparing ---

// An intentional difference: the outcomes of the row's steps and the final state.
struct Difference {
  std::string_view title;
  std::vector<std::string> outcomes;
  std::string end;
  std::string_view why;
};

// The error of a step in the format of the table: the first sentence in lower case.
std::string Failure(std::string_view message) {
  std::string text = absl::AsciiStrToLower(absl::string_view(message.data(), message.size()));
  const size_t end = text.find(". ");
  if (end != std::string::npos) text.resize(end);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return absl::StrCat("error: ", text);
}
bool SameOutcome(const std::string& expected, const std::string& actual) {
  if (expected.rfind("error: ", 0) != 0 || actual.rfind("error: ", 0) != 0)
    return expected == actual;
  return actual.find(expected.substr(7)) != std::string::npos;
}

struct RowResult {
  std::vector<std::string> outcomes;
  std::string end;
};

// Calls `run` on each row of the table; it returns the actual and the expected outcome.
template <class Run>
void CheckTable(const std::string& name, const std::vector<Difference>& differences,
                const Run& run) {
  simdjson::dom::parser parser;
  Element root;
  ASSERT_EQ(parser.load("conformance/backend_tables/" + name).get(root), simdjson::SUCCESS);
  std::set<std::string_view> used;
  size_t rows = 0;
  for (Element row : Elements(*Field(root, "rows"))) {
    const std::string title = TextOr(row, "title", "");
    SCOPED_TRACE(title);
    ++rows;
    const auto [expected, actual] = run(row);
    bool same = expected.end == actual.end && expected.outcomes.size() == actual.outcomes.size();
    for (size_t i = 0; same && i < expected.outcomes.size(); ++i) {
      same = SameOutcome(expected.outcomes[i], actual.outcomes[i]);
    }
    const auto difference = std::find_if(differences.begin(), differences.end(),
                                         [&](const Difference& d) { return d.title == title; });
    if (difference == differences.end()) {
      EXPECT_TRUE(same) << "expected " << absl::StrJoin(expected.outcomes, " | ") << " → "
                        << expected.end << "\n     got " << absl::StrJoin(actual.outcomes, " | ")
                        << " → " << actual.end;
      continue;
    }
    used.insert(difference->title);
    EXPECT_FALSE(same) << "no difference any more: " << difference->why;
    ASSERT_EQ(actual.outcomes.size(), difference->outcomes.size());
    for (size_t i = 0; i < actual.outcomes.size(); ++i) {
      EXPECT_TRUE(SameOutcome(difference->outcomes[i], actual.outcomes[i])) << actual.outcomes[i];
    }
    EXPECT_EQ(actual.end, difference->end);
  }
  EXPECT_GT(rows, 0u);
  EXPECT_EQ(used.size(), differences.size()) << "a difference names no row";
}

// --- delegate_mapping_builder.json ---

std::string ShowId(const DelegateId& id) {
  const int64_t* number = std::get_if<int64_t>(&id);
  return number != nullptr ? absl::StrCat(*number) : std::get<std::string>(id);
}

std::string ShowEntry(std::string_view id, std::vector<int64_t> handles) {
  return absl::StrCat(std::string(id), "=", absl::StrJoin(handles, ","));
}

TEST(LoweringTablesTest, DelegateMappingBuilder) {
  const std::vector<Difference> differences = {
      {"generated: a failing insert still consumes a number",
       {"error: no valid debug handles found", "id 0"},
       "0=2",
       "§7.13: a failed insert takes no identifier"},
      {"manual: ints and strings",
       {"id a", "error: identifier 0 is of another kind than 'a'"},
       "a=1,2",
       "§7.13: identifiers are of one kind"},
      {"both or neither source",
       {"both can't be said", "error: no valid debug handles found"},
       "",
       "InsertNodes and InsertHandles are two functions"},
      {"handle zero is accepted",
       {"error: no valid debug handles found", "id 0"},
       "0=2",
       "§7.13: 0 is no handle"},
  };
  CheckTable("delegate_mapping_builder.json", differences, [](Element row) {
    RowResult expected, actual;
    bool generated = false;
    EXPECT_EQ(Field(row, "generated_identifiers")->get(generated), simdjson::SUCCESS);
    DelegateMappingBuilder builder(generated ? DelegateMappingBuilder::Identifiers::kGenerated
                                             : DelegateMappingBuilder::Identifiers::kGiven);
    for (Element call : Elements(*Field(row, "calls"))) {
      std::optional<DelegateId> id;
      if (const std::optional<Element> given = Field(call, "identifier")) {
        int64_t number = 0;
        if (given->get(number) == simdjson::SUCCESS) {
          id = number;
        } else {
          id = Text(*given);
        }
      }
      const auto handles_of = [&](std::string_view key) {
        std::vector<int64_t> handles;
        if (const std::optional<Element> given = Field(call, key)) {
          for (Element handle : Elements(*given)) {
            int64_t number = 0;
            if (!handle.is_null()) EXPECT_EQ(handle.get(number), simdjson::SUCCESS);
            handles.push_back(number);
          }
        }
        return handles;
      };
      if (Field(call, "nodes").has_value() && Field(call, "handles").has_value()) {
        actual.outcomes.push_back("both can't be said");
        continue;
      }
      absl::StatusOr<DelegateId> inserted = absl::InternalError("");
      if (Field(call, "nodes").has_value()) {
        // The table gives each node's handle.
        Graph graph;
        GraphEditor editor(graph);
        std::vector<NodeId> nodes;
        for (int64_t handle : handles_of("nodes")) {
          nodes.push_back(editor.InsertNode(
              NodeId(), {.name = "n", .arguments = {}, .debug_handle = handle}, {}));
        }
        inserted = builder.InsertNodes(graph, nodes, id);
      } else {
        inserted = builder.InsertHandles(handles_of("handles"), id);
      }
      actual.outcomes.push_back(inserted.ok() ? absl::StrCat("id ", ShowId(*inserted))
                                              : Failure(std::string(inserted.status().message())));
    }
    for (Element result : Elements(*Field(row, "results"))) {
      const std::optional<Element> id = Field(result, "identifier");
      expected.outcomes.push_back(id.has_value() ? absl::StrCat("id ", Text(*id))
                                                 : Failure(TextOr(result, "message", "")));
    }
    std::set<std::string> expected_entries, entries;
    for (Element entry : Elements(*Field(row, "mapping"))) {
      const std::vector<Element> pair = Elements(entry);
      std::vector<int64_t> handles;
      for (Element handle : Elements(pair[1])) handles.push_back(int64_t(handle));
      expected_entries.insert(ShowEntry(Text(pair[0]), handles));
    }
    for (const auto& [id, handles] : builder.mapping())
      entries.insert(ShowEntry(ShowId(id), handles));
    expected.end = absl::StrJoin(expected_entries, " ");
    actual.end = absl::StrJoin(entries, " ");
    return std::pair(expected, actual);
  });
}

// --- named_data_store.json ---

std::string Show(const NamedDataOutput& output) {
  std::string text = absl::StrCat(output.buffers.size(), " buffers");
  const auto show = [&](const std::string& file, const auto& entries) {
    for (const auto& [key, entry] : entries) {
      const Storage& buffer = output.buffers[entry.buffer];
      absl::StrAppend(&text, "; ", file, ":", key, " buffer ", entry.buffer, " align ",
                      entry.alignment, " size ", buffer.bytes.size(), " ",
                      absl::BytesToHexString(Sha256(buffer.bytes)));
    }
  };
  show("", output.program_data);
  for (const auto& [file, entries] : output.external_data) show(file, entries);
  return text;
}

std::string ShowFinal(Element final) {
  std::string text = absl::StrCat(IntOr(final, "buffers", -1), " buffers");
  const auto show = [&](const std::string& file, Element entries) {
    std::map<std::string, Element> sorted;
    simdjson::dom::object object;
    ASSERT_EQ(entries.get(object), simdjson::SUCCESS);
    for (const auto field : object) sorted.emplace(std::string(field.key), field.value);
    for (const auto& [key, entry] : sorted) {
      absl::StrAppend(&text, "; ", file, ":", key, " buffer ", IntOr(entry, "buffer", -1),
                      " align ", IntOr(entry, "alignment", -1), " size ", IntOr(entry, "size", -1),
                      " ", TextOr(entry, "sha256", ""));
    }
  };
  show("", *Field(final, "pte"));
  std::map<std::string, Element> files;
  simdjson::dom::object object;
  EXPECT_EQ(Field(final, "external")->get(object), simdjson::SUCCESS);
  for (const auto field : object) files.emplace(std::string(field.key), field.value);
  for (const auto& [file, entries] : files) show(file, entries);
  return text;
}

Storage DataOf(Element step) {
  std::string bytes(static_cast<size_t>(IntOr(step, "size", 0)),
                    static_cast<char>(IntOr(step, "fill", 0)));
  if (const std::optional<Element> hex = Field(step, "data_hex")) {
    bytes = absl::HexStringToBytes(Text(*hex));
  }
  std::vector<std::byte> data(bytes.size());
  std::transform(bytes.begin(), bytes.end(), data.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return Storage::Own(std::move(data));
}

TEST(LoweringTablesTest, NamedDataStore) {
  const std::string kSha0102 = "a12871fee210fb8619291eaea194581cbd2531e4b23759d225f6806923f63222";
  const std::vector<Difference> differences = {
      {"same key and bytes again: ignored, first alignment kept",
       {"ok", "ok"},
       absl::StrCat("1 buffers; :x buffer 0 align 8 size 2 ", kSha0102),
       "§7.17: a key that is added again keeps what both alignments ask for"},
  };
  CheckTable("named_data_store.json", differences, [](Element row) {
    RowResult expected, actual;
    std::map<std::string, NamedDataStore> stores;
    for (Element step : Elements(*Field(row, "steps"))) {
      NamedDataStore& store = stores[TextOr(step, "store", "s")];
      const std::string what = TextOr(step, "do", "");
      absl::Status status;
      if (what == "add") {
        NamedDataOptions options;
        options.alignment = IntOr(step, "alignment", 1);
        options.external_tag = TextOr(step, "external", "");
        status = store.Add(TextOr(step, "key", ""), DataOf(step), options);
      } else if (what == "merge") {
        status = store.Merge(stores[TextOr(step, "from", "")].output());
      } else if (what == "externalize") {
        // A bool is not a number here; 0 is the nearest valid value.
        const bool number = Field(step, "cap")->is_int64();
        status = store.Externalize(number ? static_cast<uint64_t>(IntOr(step, "cap", 0)) : 0,
                                   TextOr(step, "prefix", ""));
      } else {
        ADD_FAILURE() << "unknown step " << what;
      }
      actual.outcomes.push_back(status.ok() ? "ok" : Failure(std::string(status.message())));
    }
    for (Element result : Elements(*Field(row, "results"))) {
      expected.outcomes.push_back(result.is_string() ? Text(result)
                                                     : Failure(TextOr(result, "message", "")));
    }
    expected.end = ShowFinal(*Field(row, "final"));
    actual.end = Show(stores["s"].output());
    return std::pair(expected, actual);
  });
}

// --- backend_ops.json ---

// A composite kernel of a unary operator: a copy.
std::vector<Argument> Copy(OpBuilder& b, const OpCall& call) {
  return {Unary(b, "clone", call["x"])};
}

// Each row has a new registry.
class BackendOps {
 public:
  std::string Run(Element step) {
    const std::string what = TextOr(step, "do", "");
    if (what == "define") {
      return Outcome(
          ops_->Define({.schema = absl::StrCat(kLib, "::", TextOr(step, "schema", ""))}).status());
    }
    if (what == "impl") {
      const std::string name = absl::StrCat(kLib, ".", TextOr(step, "name", ""));
      const std::string key = TextOr(step, "key", "");
      if (key == "Meta") return Outcome(ops_->SetMetaKernel(name, kMeta));
      return Outcome(ops_->SetCompositeKernel(
          name,
          key == "CompositeExplicitAutograd" ? CompositeKind::kExplicit : CompositeKind::kImplicit,
          Copy));
    }
    if (what == "bind") {
      return Outcome(
          patterns_.BindPatternToOp(kLib, TextOr(step, "name", ""), ParseOrDie(kReluPattern, *ops_))
              .status());
    }
    return Lookup(step, what);
  }

 private:
  static constexpr const char* kLib = "DO_NOT_USE_TEST_ONLY";
  static constexpr std::string_view kReluPattern = R"(program aten {
    graph(%x: f32[2] user_input) {
      %r: f32[2] = aten.relu.default(%x)
      return (%r user_output)
    }
  })";
  static constexpr MetaFn kMeta = [](MetaContext&) { return absl::OkStatus(); };
  static std::string Outcome(const absl::Status& status) {
    return status.ok() ? "ok" : ErrorOf(status);
  }
  static std::string ErrorOf(const absl::Status& status) {
    return absl::StrCat("fails with ", absl::StatusCodeToString(status.code()));
  }

  std::string Lookup(Element step, const std::string& what) {
    const Dialect dialect =
        TextOr(step, "dialect", "") == "edge" ? Dialect::kEdge : Dialect::kBackend;
    std::vector<std::string> path;
    for (Element part : Elements(*Field(step, "path"))) path.push_back(Text(part));
    if (path.size() == 2) {
      const auto packet = ops_->LookupPacket(dialect, path[0], path[1]);
      return packet.ok() ? absl::StrCat("type=", TypeName((*packet)->dialect()), "Packet")
                         : ErrorOf(packet.status());
    }
    const auto found = ops_->LookupIn(dialect, path[0], path[1], path[2]);
    if (!found.ok()) return ErrorOf(found.status());
    const OpOverload* op = *found;
    std::string text = absl::StrCat("type=", TypeName(op->dialect()));
    if (op->dialect() == Dialect::kBackend) {
      absl::StrAppend(&text, " callable=", patterns_.Find(op) != nullptr,
                      " meta=", op->has_meta_kernel(),
                      " explicit=", op->has_composite_explicit_kernel(),
                      " implicit=", op->has_composite_implicit_kernel());
    }
    if (what == "same") {
      const auto again = ops_->LookupIn(dialect, path[0], path[1], path[2]);
      absl::StrAppend(&text, " identical=", again.ok() && *again == op);
    }
    if (what == "call") absl::StrAppend(&text, " result=", Call(op, *Field(step, "input")));
    if (what == "to_out") {
      const auto out = ToVariant(*ops_, op, SchemaKind::kOut);
      if (!out.ok()) return ErrorOf(out.status());
      absl::StrAppend(&text, " out=", (*out)->name());
    }
    const FunctionSchema& schema = *op->schema();
    absl::StrAppend(&text, " schema=", schema.ns, "::", schema.op,
                    schema.overload == "default" ? "" : "." + schema.overload);
    return text;
  }

  // The result of the operator's node. An explicit kernel is called for the node; an implicit one
  // is expanded first.
  std::string Call(const OpOverload* op, Element input) {
    ExportedProgram program = ParseOrDie(
        absl::StrCat("program edge { graph(%x: f32[2] user_input) { %y: f32[2] = ", op->text_name(),
                     "(%x) return (%y user_output) } }"),
        *ops_);
    const absl::StatusOr<bool> promoted = PromoteBackendOps().run(program);
    if (!promoted.ok()) return ErrorOf(promoted.status());
    EXPECT_EQ(*promoted, op->has_composite_implicit_kernel());
    KernelRegistry kernels;
    EXPECT_OK(AddReferenceKernels(kernels));
    std::vector<float> values;
    for (Element value : Elements(input)) values.push_back(static_cast<float>(double(value)));
    const TestTensor x = TestTensor::Of<float>({static_cast<int64_t>(values.size())}, values);
    auto interpreter = Interpreter::Create(program, kernels);
    if (!interpreter.ok()) return ErrorOf(interpreter.status());
    const auto results = interpreter->Run({EValue(x.view())});
    if (!results.ok()) return std::string(results.status().message());
    return absl::StrJoin(ToVector<float>(*(*results)[0].tensor()), ",");
  }

  static std::string TypeName(Dialect dialect) {
    return dialect == Dialect::kEdge ? "EdgeOpOverload" : "BackendOpOverload";
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  OpPatterns patterns_{*ops_};
};

std::string ExpectedOp(Element result) {
  if (result.is_string()) return Text(result);
  if (Field(result, "error").has_value()) {
    const std::string error = TextOr(result, "error", "");
    const std::string message = TextOr(result, "message", "");
    const absl::StatusCode code =
        error == "AttributeError"                          ? absl::StatusCode::kNotFound
        : error == "AssertionError"                        ? absl::StatusCode::kFailedPrecondition
        : absl::StrContains(message, "does not belong to") ? absl::StatusCode::kInvalidArgument
                                                           : absl::StatusCode::kNotFound;
    return absl::StrCat("fails with ", absl::StatusCodeToString(code));
  }
  std::string text = absl::StrCat("type=", TextOr(result, "type", ""));
  const auto flag = [&](std::string_view key, std::string_view name) {
    if (!Field(result, key).has_value()) return;
    absl::StrAppend(&text, " ", std::string(name), "=", TextOr(result, key, "") == "true" ? 1 : 0);
  };
  flag("has_equivalent_callable", "callable");
  flag("has_meta_kernel", "meta");
  flag("has_composite_explicit_kernel", "explicit");
  flag("has_composite_implicit_kernel", "implicit");
  flag("identical", "identical");
  if (const std::optional<Element> values = Field(result, "result")) {
    std::vector<double> numbers;
    for (Element value : Elements(*values)) numbers.push_back(double(value));
    absl::StrAppend(&text, " result=", absl::StrJoin(numbers, ","));
  }
  if (Field(result, "out_variant").has_value()) {
    absl::StrAppend(&text, " out=", TextOr(result, "out_variant", ""));
  }
  if (Field(result, "schema").has_value()) {
    absl::StrAppend(&text, " schema=", TextOr(result, "schema", ""));
  }
  return text;
}

TEST(LoweringTablesTest, BackendOps) {
  const std::string kNoKernel = "fails with FAILED_PRECONDITION";
  const std::vector<Difference> differences = {
      {"schema without kernel: fails, second lookup succeeds with an edge overload",
       {"ok", kNoKernel, kNoKernel},
       "",
       "§7.26, §11.16: a lookup fails as long as there is no kernel"},
  };
  CheckTable("backend_ops.json", differences, [](Element row) {
    RowResult expected, actual;
    BackendOps ops;
    for (Element step : Elements(*Field(row, "steps"))) actual.outcomes.push_back(ops.Run(step));
    for (Element result : Elements(*Field(row, "results"))) {
      expected.outcomes.push_back(ExpectedOp(result));
    }
    return std::pair(expected, actual);
  });
}

}  // namespace
}  // namespace belay::exir
