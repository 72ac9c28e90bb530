#include "conformance/lowering/case_backends.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/demo/executorch_backends.h"
#include "conformance/lowering/program_json.h"
#include "conformance/lowering/recording_text.h"
#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/introspection.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::DelegateMappingBuilder;
using exir::ExportedProgram;
using exir::MethodPartitions;
using exir::MethodResults;
using exir::NodeId;
using exir::PreprocessResult;
using Result = absl::StatusOr<PreprocessResult>;
using Specs = absl::Span<const exir::CompileSpec>;

// What a backend makes of one program. It may change it.
using Compile = std::function<Result(const CaseBackends&, ExportedProgram&, Specs)>;
// What it makes of all partitions that come with one call.
using CompileAll = std::function<absl::StatusOr<MethodResults>(const MethodPartitions&)>;

PreprocessResult Blob(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {.processed = exir::Storage::Own({bytes, bytes + text.size()})};
}

std::string SpecOr(Specs specs, std::string_view key, std::string fallback) {
  for (const exir::CompileSpec& spec : specs) {
    if (spec.key == key) return spec.value;
  }
  return fallback;
}

std::vector<std::string> OpsOf(const ExportedProgram& program) {
  std::vector<std::string> ops;
  for (NodeId node : NodesOf(program.top())) ops.push_back(OpName(program.top().node(node)));
  return ops;
}

Result Record(const CaseBackends& backends, ExportedProgram& program, Specs) {
  DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::kGenerated);
  for (NodeId node : NodesOf(program.top())) {
    if (program.top().node(node).debug_handle == 0) continue;
    ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), {node}).status());
  }
  PreprocessResult result = Blob(RecordingText(program, backends.fqns));
  result.debug_handle_map = builder.mapping();
  return result;
}

Result NameIds(const CaseBackends&, ExportedProgram& program, Specs) {
  std::vector<std::string> ops;
  std::map<std::string, std::vector<NodeId>> nodes;
  for (NodeId node : NodesOf(program.top())) {
    if (program.top().node(node).debug_handle == 0) continue;
    const std::string op = OpName(program.top().node(node));
    if (nodes[op].empty()) ops.push_back(op);
    nodes[op].push_back(node);
  }
  DelegateMappingBuilder builder;
  for (const std::string& op : ops) {
    const exir::DelegateId id(absl::StrCat("op:", op));
    ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), nodes[op], id).status());
  }
  PreprocessResult result = Blob(absl::StrJoin(ops, ","));
  result.debug_handle_map = builder.mapping();
  return result;
}

Result StoreNamedData(const CaseBackends& backends, ExportedProgram& program, Specs specs) {
  exir::NamedDataStore store;
  std::vector<std::string> keys;
  exir::NamedDataOptions options;
  options.external_tag = SpecOr(specs, "external", "");
  const std::string alignment = SpecOr(specs, "alignment", "1");
  if (!absl::SimpleAtoi(alignment, &options.alignment)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a number as alignment, got '", alignment, "'"));
  }
  for (const exir::InputSpec& spec : program.signature.inputs) {
    if (!exir::NamesTensor(spec.kind)) continue;
    const exir::ConstantTensor* tensor = program.FindConstant(spec);
    if (tensor == nullptr) return absl::InternalError("a constant is missing");
    const std::string name = backends.fqns.contains(spec.target) ? spec.target : "lifted";
    keys.push_back(SpecOr(specs, "prefix", "") + SpecOr(specs, "key", name));
    ABSL_ASSIGN_OR_RETURN(exir::Storage bytes, tensor->Dense());
    ABSL_RETURN_IF_ERROR(store.Add(keys.back(), std::move(bytes), options));
  }
  PreprocessResult result = Blob(absl::StrJoin(keys, "\n"));
  result.named_data = store.output();
  return result;
}

Result Reject(const CaseBackends&, ExportedProgram& program, Specs specs) {
  const std::string list = SpecOr(specs, "supported", "");
  const std::set<std::string> supported = absl::StrSplit(list, ',');
  for (const std::string& op : OpsOf(program)) {
    if (supported.contains(op)) continue;
    return absl::UnimplementedError(
        absl::StrCat("call_function ", op, " is not supported in backend RejectingBackend"));
  }
  return Blob("accepted");
}

Result Mutate(const CaseBackends& backends, ExportedProgram& program, Specs) {
  exir::GraphEditor editor(program.top());
  for (NodeId node : program.top().NodeList()) {
    if (OpName(program.top().node(node)) != "aten.add.Tensor") continue;
    editor.SetTarget(node, program.ops->FindText("edge.aten.sub.Tensor"));
  }
  return Blob(RecordingText(program, backends.fqns));
}

Result Nest(const CaseBackends& backends, ExportedProgram& program, Specs specs) {
  exir::CapabilityPartitionerOptions options;
  options.tag_constants = false;
  const std::string list = SpecOr(specs, "inner_ops", "");
  const std::vector<std::string> ops = absl::StrSplit(list, ',');
  const bool results = std::find(ops.begin(), ops.end(), "getitem") != ops.end();
  options.proposal.supports_result = [results](exir::ValueId) { return results; };
  const exir::CapabilityPartitioner partitioner({"RecordingBackend", {}}, exir::SupportOps(ops),
                                                options);
  ABSL_ASSIGN_OR_RETURN(const ExportedProgram inner,
                        exir::ToBackend(program, partitioner, backends.set()));
  std::string text = "outer";
  for (const auto& [path, graph] : PathsOf(inner)) {
    for (const exir::DelegateCall& call : exir::DelegateCalls(inner, graph)) {
      const auto bytes = call.module->processed.bytes;
      const std::string_view blob(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      absl::StrAppend(&text, "{", blob, "}");
    }
  }
  return Blob(text == "outer" ? "outer{}" : text);
}

// A result for each partition: what `text` says, then which partition it is.
MethodResults Replies(const MethodPartitions& methods, const std::string& text) {
  MethodResults results;
  for (const auto& [method, partitions] : methods) {
    std::vector<PreprocessResult> replies;
    for (size_t i = 0; i < partitions.size(); ++i) {
      replies.push_back(Blob(absl::StrCat(text, method, ":", i)));
    }
    results.emplace_back(method, std::move(replies));
  }
  return results;
}

absl::StatusOr<MethodResults> CompileTogether(const MethodPartitions& methods) {
  std::vector<std::string> seen;
  for (const auto& [method, partitions] : methods) {
    std::vector<std::string> texts;
    for (const exir::PartitionInput& partition : partitions) {
      std::vector<std::string> specs;
      for (const exir::CompileSpec& spec : partition.compile_specs) {
        specs.push_back(absl::StrCat(spec.key, "=", absl::BytesToHexString(spec.value)));
      }
      texts.push_back(absl::StrCat(absl::StrJoin(OpsOf(partition.program), "+"), "(",
                                   absl::StrJoin(specs, ","), ")"));
    }
    seen.push_back(absl::StrCat(method, "=", absl::StrJoin(texts, ";")));
  }
  return Replies(methods, absl::StrJoin(seen, "|") + "#");
}

absl::StatusOr<MethodResults> Reply(const MethodPartitions& methods) {
  std::string mode;
  for (const auto& [method, partitions] : methods) {
    for (const exir::PartitionInput& partition : partitions) {
      if (mode.empty()) mode = SpecOr(partition.compile_specs, "reply", "");
    }
  }
  MethodResults results = Replies(methods, "");
  if (mode == "missing_method") results.pop_back();
  if (mode == "extra_method")
    results.emplace_back("not_a_method", std::vector<PreprocessResult>(1));
  if (mode == "short_list") results.back().second.pop_back();
  if (mode == "long_list") results.back().second.emplace_back();
  if (mode == "reordered_methods") std::reverse(results.begin(), results.end());
  for (auto& [method, replies] : results) {
    for (PreprocessResult& reply : replies) {
      if (mode == "empty_bytes") reply.processed = exir::Storage();
    }
  }
  // Results are values, so none can be missing in the middle of a list.
  if (mode == "none_entry")
    return absl::UnimplementedError("ReplyBackend: there is no empty result");
  return results;
}

template <class Demo>
Result RunDemo(const CaseBackends&, ExportedProgram& program, Specs specs) {
  return Demo().Preprocess(std::move(program), specs);
}

Compile Always(std::string text) {
  return [text](const CaseBackends&, ExportedProgram&, Specs) { return Blob(text); };
}

class CaseBackend final : public exir::Backend {
 public:
  CaseBackend(std::string id, const CaseBackends& owner, int64_t& made, Compile compile,
              CompileAll compile_all)
      : id_(std::move(id)),
        owner_(owner),
        made_(made),
        compile_(std::move(compile)),
        compile_all_(std::move(compile_all)) {}
  std::string_view id() const override { return id_; }
  Result Preprocess(ExportedProgram program, Specs specs) const override {
    ABSL_ASSIGN_OR_RETURN(PreprocessResult result, compile_(owner_, program, specs));
    result.delegate_info = absl::StrCat(made_++);
    return result;
  }
  absl::StatusOr<MethodResults> PreprocessMultimethod(MethodPartitions methods,
                                                      int threads) const override {
    if (compile_all_ == nullptr) {
      return exir::Backend::PreprocessMultimethod(std::move(methods), threads);
    }
    ABSL_ASSIGN_OR_RETURN(MethodResults results, compile_all_(methods));
    // ExecuTorch makes the modules in the order of the reply.
    for (auto& [method, replies] : results) {
      for (PreprocessResult& reply : replies) reply.delegate_info = absl::StrCat(made_++);
    }
    return results;
  }

 private:
  const std::string id_;
  const CaseBackends& owner_;
  int64_t& made_;
  const Compile compile_;
  const CompileAll compile_all_;
};

}  // namespace

CaseBackends::CaseBackends() {
  const auto add = [&](std::string id, Compile compile, CompileAll compile_all = nullptr) {
    backends_.push_back(std::make_unique<CaseBackend>(std::move(id), *this, made_,
                                                      std::move(compile), std::move(compile_all)));
    ABSL_CHECK(set_.Add(backends_.back().get()).ok());
  };
  add("RecordingBackend", Record);
  add("NamedIdBackend", NameIds);
  add("EchoBackend", Always("whole"), [](const MethodPartitions& m) { return Replies(m, ""); });
  add("PreprocessAllBackend", Always("single"), CompileTogether);
  add("OtherPreprocessAllBackend", Always("single"), CompileTogether);
  add("NamedDataBackend", StoreNamedData);
  add("FailingBackend", [](const CaseBackends&, ExportedProgram&, Specs) -> Result {
    return absl::InternalError("FailingBackend: cannot compile this program");
  });
  add("RejectingBackend", Reject);
  add("MutatingBackend", Mutate);
  add("NestingBackend", Nest);
  add("ReplyBackend", Always("single"), Reply);
  add("BackendWithCompilerDemo", RunDemo<demo::CompilerDemoBackend>);
  add("BackendWithDelegateMappingDemo", RunDemo<demo::DelegateMappingDemoBackend>);
}

CaseBackends::~CaseBackends() = default;

}  // namespace belay::conformance
