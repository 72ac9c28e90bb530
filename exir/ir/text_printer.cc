#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ir/text_lexer.h"
#include "exir/ir/text_names.h"
#include "runtime/core/bytes.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Returns whether the parser reads the expression back completely: it reads up to the next ',' or
// bracket outside of parentheses.
bool IsPlainExpression(std::string_view text) {
  constexpr std::string_view kNotPlain = "\"[]{}/";
  int depth = 0;
  for (char c : text) {
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) return false;
    if (c == ',' && depth == 0) return false;
    if (kNotPlain.find(c) != std::string_view::npos || static_cast<unsigned char>(c) < 0x20) {
      return false;
    }
  }
  return depth == 0;
}

void AppendExpression(std::string& out, const SymExpr& expr) {
  if (const std::optional<int64_t> number = expr.AsInt()) {
    absl::StrAppend(&out, *number);
    return;
  }
  const std::string text = expr.ToString();
  out += IsPlainExpression(text) ? text : Quote(text);
}

template <class List>
void AppendExpressions(std::string& out, const List& list) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    AppendExpression(out, list[i]);
  }
  out += ']';
}

void AppendDevice(std::string& out, const Device& device) {
  out += QuoteUnlessWord(device.type);
  if (device.index.has_value()) absl::StrAppend(&out, ":", *device.index);
}

// Joins items with commas.
class Details {
 public:
  explicit Details(std::string& out) : out_(out) {}
  std::string& Next() {
    out_ += first_ ? '{' : ',';
    first_ = false;
    return out_;
  }
  ~Details() {
    if (!first_) out_ += '}';
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void AppendTensor(std::string& out, const TensorMeta& meta) {
  out += DTypeShortName(meta.dtype);
  AppendExpressions(out, meta.sizes);
  Details details(out);
  if (meta.strides != ContiguousStrides(meta.sizes)) {
    details.Next() += "strides=";
    AppendExpressions(out, meta.strides);
  }
  if (meta.storage_offset.AsInt() != 0) {
    details.Next() += "offset=";
    AppendExpression(out, meta.storage_offset);
  }
  if (meta.device != Device()) {
    details.Next() += "device=";
    AppendDevice(out, meta.device);
  }
  if (meta.layout != Layout::kStrided) {
    absl::StrAppend(&details.Next(), "layout=", NameIn(kLayoutNames, meta.layout));
  }
  if (meta.requires_grad) details.Next() += "grad";
}

void AppendSymbolic(std::string& out, std::string_view word, const SymExpr& expr) {
  absl::StrAppend(&out, word, "(");
  AppendExpression(out, expr);
  out += ')';
}

void AppendType(std::string& out, const ValueType& type) {
  if (const TensorMeta* tensor = std::get_if<TensorMeta>(&type)) {
    AppendTensor(out, *tensor);
  } else if (const SymIntType* sym_int = std::get_if<SymIntType>(&type)) {
    AppendSymbolic(out, "symint", sym_int->expr);
  } else if (const SymFloatType* sym_float = std::get_if<SymFloatType>(&type)) {
    AppendSymbolic(out, "symfloat", sym_float->expr);
  } else if (const SymBoolType* sym_bool = std::get_if<SymBoolType>(&type)) {
    AppendSymbolic(out, "symbool", sym_bool->expr);
  } else if (const CustomObjectType* object = std::get_if<CustomObjectType>(&type)) {
    absl::StrAppend(&out, "object(", Quote(object->class_name), ")");
  } else if (std::holds_alternative<TokenType>(type)) {
    out += "token";
  } else {
    out += "const(";
    std::visit(
        [&out](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, None>) {
            out += "none";
          } else if constexpr (std::is_same_v<T, bool>) {
            out += value ? "true" : "false";
          } else if constexpr (std::is_same_v<T, double>) {
            out += FormatDouble(value);
          } else if constexpr (std::is_same_v<T, std::string>) {
            out += Quote(value);
          } else {
            absl::StrAppend(&out, value);
          }
        },
        std::get_if<ConstantType>(&type)->value);
    out += ')';
  }
}

void AppendValue(std::string& out, const Graph& graph, ValueId value) {
  out += '%';
  if (graph.contains(value) && !graph.value(value).name.empty()) {
    out += QuoteUnlessWord(graph.value(value).name);
  } else if (value.valid()) {
    absl::StrAppend(&out, "<", value.index(), ">");  // erased, or of another graph
  } else {
    out += "<invalid>";
  }
}

void AppendArgument(std::string& out, const Graph& graph, const Argument& argument);

void AppendList(std::string& out, const Graph& graph, const Argument::List& list) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    AppendArgument(out, graph, list[i]);
  }
  out += ']';
}

void AppendArgument(std::string& out, const Graph& graph, const Argument& argument) {
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, None>) {
          out += "none";
        } else if constexpr (std::is_same_v<T, ValueId>) {
          AppendValue(out, graph, value);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          absl::StrAppend(&out, value);
        } else if constexpr (std::is_same_v<T, double>) {
          out += FormatDouble(value);
        } else if constexpr (std::is_same_v<T, bool>) {
          out += value ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          out += FormatComplex(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out += Quote(value);
        } else if constexpr (std::is_same_v<T, DType>) {
          absl::StrAppend(&out, "dtype:", DTypeShortName(value));
        } else if constexpr (std::is_same_v<T, MemoryFormat>) {
          absl::StrAppend(&out, "format:", NameIn(kMemoryFormatNames, value));
        } else if constexpr (std::is_same_v<T, Layout>) {
          absl::StrAppend(&out, "layout:", NameIn(kLayoutNames, value));
        } else if constexpr (std::is_same_v<T, Device>) {
          out += "device:";
          AppendDevice(out, value);
        } else if constexpr (std::is_same_v<T, Argument::List>) {
          AppendList(out, graph, value);
        } else if constexpr (std::is_same_v<T, GraphId>) {
          absl::StrAppend(&out, "graph#", value.index());
        } else if constexpr (std::is_same_v<T, ModuleId>) {
          absl::StrAppend(&out, "module#", value.index());
        } else if constexpr (std::is_same_v<T, OperatorName>) {
          absl::StrAppend(&out, "op:", Quote(value.name));
        } else if constexpr (std::is_same_v<T, Dict>) {
          out += '{';
          for (size_t i = 0; i < value.entries.size(); ++i) {
            if (i > 0) out += ", ";
            absl::StrAppend(&out, Quote(value.entries[i].first), ": ");
            AppendArgument(out, graph, value.entries[i].second);
          }
          out += '}';
        }
      },
      argument.variant());
}

void AppendCall(std::string& out, const Graph& graph, const Node& node) {
  out += node.target == nullptr ? "<no operator>" : QuoteUnlessWord(node.target->text_name());
  out += '(';
  const FunctionSchema* schema = node.target == nullptr ? nullptr : node.target->schema();
  // Calls with a wrong number of arguments are printed positionally.
  if (schema != nullptr && schema->arguments.size() != node.arguments.size()) schema = nullptr;
  bool first = true;
  bool positional = true;
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    std::string_view name;
    if (schema != nullptr) {
      const SchemaArgument& declared = schema->arguments[i];
      if (declared.default_value.has_value() && node.arguments[i] == DefaultArgument(declared)) {
        positional = false;
        continue;
      }
      if (!positional || declared.keyword_only) name = declared.name;
    } else if (i < node.argument_names.size()) {
      name = node.argument_names[i];
    }
    if (!first) out += ", ";
    first = false;
    if (!name.empty()) absl::StrAppend(&out, QuoteUnlessWord(name), "=");
    AppendArgument(out, graph, node.arguments[i]);
  }
  out += ')';
}

void AppendNode(std::string& out, const Graph& graph, const Node& node) {
  const auto append_result = [&](ValueId value) {
    AppendValue(out, graph, value);
    out += ": ";
    AppendType(out, graph.value(value).type);
  };
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (k > 0) out += ", ";
    const NodeOutput& output = node.outputs[k];
    switch (output.kind) {
      case NodeOutput::Kind::kNone:
        out += "none";
        break;
      case NodeOutput::Kind::kValue:
        append_result(output.values[0]);
        break;
      case NodeOutput::Kind::kList:
        out += '[';
        for (size_t i = 0; i < output.values.size(); ++i) {
          if (i > 0) out += ", ";
          append_result(output.values[i]);
        }
        out += ']';
        break;
    }
  }
  if (!node.outputs.empty()) out += " = ";
  AppendCall(out, graph, node);
}

// Appends the part after the call: source location, and annotations of passes.
void AppendNotes(std::string& out, const Graph& graph, const Node& node) {
  const Provenance& from = node.provenance;
  const auto is_set = [](const auto& text) { return text != nullptr && !text->empty(); };
  if (is_set(from.file) || from.line != 0) {
    absl::StrAppend(&out, "  @", Quote(is_set(from.file) ? *from.file : ""), ":", from.line);
  }
  if (is_set(from.module)) absl::StrAppend(&out, " module=", Quote(*from.module));
  if (is_set(from.module_type)) {
    absl::StrAppend(&out, " module_type=", Quote(*from.module_type));
  }
  if (is_set(from.function)) absl::StrAppend(&out, " function=", Quote(*from.function));
  if (is_set(from.origin)) absl::StrAppend(&out, " origin=", Quote(*from.origin));
  if (node.debug_handle != 0) absl::StrAppend(&out, " handle=", node.debug_handle);
  if (!node.delegation_tag.empty()) absl::StrAppend(&out, " tag=", Quote(node.delegation_tag));
  const std::vector<ValueId> results = node.results();
  if (results.empty() || graph.value(results[0]).name != node.name) {
    absl::StrAppend(&out, " name=", Quote(node.name));
  }
}

class ProgramPrinter {
 public:
  ProgramPrinter(std::string& out, std::vector<Storage>* storages)
      : out_(out), storages_(storages) {
    if (storages == nullptr) return;
    for (const Storage& storage : *storages) {
      numbers_.emplace(std::make_pair(storage.bytes.data(), storage.bytes.size()), numbers_.size());
    }
  }

  void Print(const ExportedProgram& program) {
    absl::StrAppend(&out_, "program ", NameIn(kDialectNames, program.dialect), " {\n");
    ++depth_;
    PrintHeader(program);
    PrintConstants(program);
    for (uint32_t i = 0; i < program.graphs.size(); ++i) {
      PrintGraph(program.graphs[GraphId(i)], i == 0 ? &program.signature : nullptr);
    }
    for (uint32_t i = 0; i < program.lowered_modules.size(); ++i) {
      PrintModule(i, program.lowered_modules[ModuleId(i)].get());
    }
    --depth_;
    Line() += "}";
  }

 private:
  std::string& Line() {
    out_.append(2 * depth_, ' ');
    return out_;
  }

  void PrintHeader(const ExportedProgram& program) {
    if (!program.ranges.empty()) {
      Line() += "ranges {";
      for (const auto& [symbol, range] : program.ranges) {
        absl::StrAppend(&out_, " ", QuoteUnlessWord(symbol), ": [");
        range.min == SymRange::kUnboundedBelow ? out_.append("-inf")
                                               : out_.append(std::to_string(range.min));
        out_ += ", ";
        range.max == SymRange::kUnboundedAbove ? out_.append("inf")
                                               : out_.append(std::to_string(range.max));
        out_ += ']';
      }
      out_ += " }\n";
    }
    if (!program.hints.empty()) {
      Line() += "hints {";
      for (const auto& [symbol, value] : program.hints) {
        absl::StrAppend(&out_, " ", QuoteUnlessWord(symbol), ": ", value);
      }
      out_ += " }\n";
    }
    if (!program.in_spec.empty()) {
      absl::StrAppend(&Line(), "in_spec ", Quote(program.in_spec), "\n");
    }
    if (!program.out_spec.empty()) {
      absl::StrAppend(&Line(), "out_spec ", Quote(program.out_spec), "\n");
    }
    if (!program.guards.empty()) {
      Line() += "guards {\n";
      ++depth_;
      for (const std::string& guard : program.guards) absl::StrAppend(&Line(), Quote(guard), "\n");
      --depth_;
      Line() += "}\n";
    }
  }

  void PrintConstants(const ExportedProgram& program) {
    if (program.state_dict.empty() && program.constants.empty()) return;
    Line() += "constants {\n";
    ++depth_;
    // Storage -> the first tensor in it, as printed.
    absl::flat_hash_map<const std::byte*, std::string> storages;
    const auto print = [&](std::string_view word, const ConstantMap& map) {
      for (const auto& [name, tensor] : map) {
        std::string label = absl::StrCat(word, " ", Quote(name));
        absl::StrAppend(&Line(), label, ": ", DTypeShortName(tensor.dtype()));
        AppendExpressions(out_, tensor.sizes().span());
        {
          Details details(out_);
          if (tensor.strides() != ContiguousStrides(tensor.sizes())) {
            details.Next() += "strides=";
            AppendExpressions(out_, tensor.strides().span());
          }
          if (tensor.storage_offset() != 0) {
            absl::StrAppend(&details.Next(), "offset=", tensor.storage_offset());
          }
        }
        if (!AppendStorage(tensor.storage()) && !tensor.storage().bytes.empty()) {
          const auto [it, is_new] =
              storages.emplace(tensor.storage().bytes.data(), std::move(label));
          if (!is_new) absl::StrAppend(&out_, " shares ", it->second);
        }
        out_ += '\n';
      }
    };
    print("state", program.state_dict);
    print("constant", program.constants);
    --depth_;
    Line() += "}\n";
  }

  template <class Spec>
  void AppendSpec(const Spec& spec, std::string_view kind) {
    absl::StrAppend(&out_, " ", kind);
    if (!spec.target.empty()) absl::StrAppend(&out_, " ", Quote(spec.target));
  }

  void PrintGraph(const Graph& graph, const GraphSignature* signature) {
    Line() += "graph";
    if (!graph.name().empty()) absl::StrAppend(&out_, " ", QuoteUnlessWord(graph.name()));
    out_ += '(';
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (i > 0) {
        out_ += ",\n";
        Line() += "      ";
      }
      AppendValue(out_, graph, graph.inputs()[i]);
      out_ += ": ";
      AppendType(out_, graph.value(graph.inputs()[i]).type);
      if (signature != nullptr && i < signature->inputs.size()) {
        const InputSpec& spec = signature->inputs[i];
        AppendSpec(spec, InputKindName(spec.kind));
        if (!spec.persistent) out_ += " nonpersistent";
        if (spec.replaceable) out_ += " replaceable";
        if (!spec.file.empty()) absl::StrAppend(&out_, " in ", Quote(spec.file));
      }
    }
    out_ += ") {\n";
    ++depth_;
    for (NodeId id : graph.nodes()) {
      AppendNode(Line(), graph, graph.node(id));
      AppendNotes(out_, graph, graph.node(id));
      out_ += '\n';
    }
    Line() += "return (";
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      if (i > 0) out_ += ", ";
      AppendArgument(out_, graph, graph.outputs()[i]);
      if (signature != nullptr && i < signature->outputs.size()) {
        AppendSpec(signature->outputs[i], OutputKindName(signature->outputs[i].kind));
      }
    }
    out_ += ")\n";
    --depth_;
    Line() += "}\n";
  }

  // Appends " storage#3". Returns false if the text contains the bytes, or if the storage is empty.
  bool AppendStorage(const Storage& storage) {
    if (storages_ == nullptr || storage.bytes.empty()) return false;
    const auto [it, is_new] = numbers_.emplace(
        std::make_pair(storage.bytes.data(), storage.bytes.size()), storages_->size());
    if (is_new) storages_->push_back(storage);
    absl::StrAppend(&out_, " storage#", it->second);
    return true;
  }

  void AppendBytes(const Storage& storage) {
    if (AppendStorage(storage)) return;
    absl::StrAppend(&out_, " \"", absl::Base64Escape(ToAbsl(AsString(storage.bytes))), "\"");
  }

  void PrintModule(uint32_t index, const LoweredBackendModule* module) {
    if (module == nullptr) {
      absl::StrAppend(&Line(), "module#", index, " none\n");
      return;
    }
    absl::StrAppend(&Line(), "module#", index, " backend ", Quote(module->backend_id), " specs [");
    for (size_t i = 0; i < module->compile_specs.size(); ++i) {
      const CompileSpec& spec = module->compile_specs[i];
      absl::StrAppend(&out_, i > 0 ? ", " : "", Quote(spec.key), ": ", Quote(spec.value));
    }
    out_ += "] {\n";
    ++depth_;
    if (!module->processed.bytes.empty()) {
      Line() += "blob";
      AppendBytes(module->processed);
      out_ += '\n';
    }
    for (const Storage& buffer : module->named_data.buffers) {
      Line() += "buffer";
      AppendBytes(buffer);
      out_ += '\n';
    }
    for (const auto& [key, entry] : module->named_data.program_data) {
      absl::StrAppend(&Line(), "data ", Quote(key));
      AppendNamedData(entry);
    }
    for (const auto& [tag, data] : module->named_data.external_data) {
      if (data.empty()) absl::StrAppend(&Line(), "external ", Quote(tag), "\n");
      for (const auto& [key, entry] : data) {
        absl::StrAppend(&Line(), "external ", Quote(tag), " data ", Quote(key));
        AppendNamedData(entry);
      }
    }
    for (const auto& [id, handles] : module->debug_handle_map) {
      Line() += "handles ";
      const int64_t* number = std::get_if<int64_t>(&id);
      out_ += number != nullptr ? std::to_string(*number) : Quote(std::get<std::string>(id));
      out_ += ": ";
      AppendExpressions(out_, handles);
      out_ += '\n';
    }
    if (!module->delegate_info.empty()) {
      absl::StrAppend(&Line(), "info ", Quote(module->delegate_info), "\n");
    }
    Line();
    Print(module->original);
    out_ += '\n';
    --depth_;
    Line() += "}\n";
  }

  void AppendNamedData(const NamedDataEntry& entry) {
    absl::StrAppend(&out_, ": buffer#", entry.buffer, " align ", entry.alignment);
    if (entry.layout.has_value()) {
      absl::StrAppend(&out_, " layout ", DTypeShortName(entry.layout->dtype));
      AppendExpressions(out_, entry.layout->sizes);
      out_ += " order ";
      AppendExpressions(out_, entry.layout->dim_order);
    }
    if (entry.replaceable) out_ += " replaceable";
    out_ += '\n';
  }

  std::string& out_;
  std::vector<Storage>* const storages_;
  // Storage -> its index.
  absl::flat_hash_map<std::pair<const std::byte*, size_t>, size_t> numbers_;
  size_t depth_ = 0;
};

}  // namespace

std::string PrintProgram(const ExportedProgram& program, std::vector<Storage>* storages) {
  std::string out;
  ProgramPrinter(out, storages).Print(program);
  out += '\n';
  return out;
}

std::string PrintNode(const Graph& graph, NodeId node) {
  std::string out;
  AppendNode(out, graph, graph.node(node));
  return out;
}

std::string PrintType(const ValueType& type) {
  std::string out;
  AppendType(out, type);
  return out;
}

std::string PrintArgument(const Graph& graph, const Argument& argument) {
  std::string out;
  AppendArgument(out, graph, argument);
  return out;
}

std::string DescribeNode(const Graph& graph, NodeId node) {
  std::string out = PrintNode(graph, node);
  const std::string source = graph.node(node).provenance.ToString();
  if (!source.empty()) absl::StrAppend(&out, " (", source, ")");
  return out;
}

}  // namespace belay::exir
