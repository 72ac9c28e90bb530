#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ir/text_graph_parser.h"
#include "exir/ir/text_names.h"
#include "exir/ir/text_value_parser.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int kMaxPrograms = 16;  // nesting limit of original programs of lowered modules
// Limit for all constants of a text. They are zero pages, which use address space but no memory.
constexpr uint64_t kMaxConstantBytes = uint64_t{1} << 36;
constexpr uint64_t kConstantAlignment = 64;

class ProgramParser {
 public:
  ProgramParser(std::string_view text, const OpRegistry& ops, absl::Span<const Storage> storages)
      : parser_(text),
        lexer_(parser_.lexer()),
        graph_parser_(parser_, ops),
        ops_(ops),
        storages_(storages) {}

  absl::StatusOr<ExportedProgram> Parse() {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram program, Program());
    if (lexer_.kind() != Lexer::Kind::kEnd) return lexer_.Expected("the end of the text");
    return program;
  }

 private:
  struct DeclaredConstant {
    ConstantMap* map;
    std::string name;
    DType dtype;
    Sizes sizes;
    Strides strides;
    int64_t offset = 0;
    size_t storage = 0;              // index of one of the program's storages, or
    const Storage* given = nullptr;  // one of the storages given with the text
    size_t position;
  };
  struct DeclaredConstants {
    std::vector<DeclaredConstant> tensors;
    absl::flat_hash_map<std::string, size_t> state, constant;  // name -> index in `tensors`
    std::vector<uint64_t> storage_bytes;
  };

  absl::StatusOr<ExportedProgram> Program();
  absl::Status Section(ExportedProgram& program, DeclaredConstants& constants);
  absl::Status Ranges(ExportedProgram& program);
  absl::Status Hints(ExportedProgram& program);
  absl::Status Constant(ExportedProgram& program, DeclaredConstants& constants);
  absl::Status Materialize(DeclaredConstants& constants);
  absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> Module();
  absl::Status ModuleItem(LoweredBackendModule& module, bool& has_program);
  absl::StatusOr<NamedDataEntry> NamedData(const NamedDataOutput& data);
  absl::StatusOr<Storage> Bytes();
  // Parses "#3", after "storage".
  absl::StatusOr<const Storage*> GivenStorage();

  ValueParser parser_;
  Lexer& lexer_;
  GraphParser graph_parser_;
  const OpRegistry& ops_;
  const absl::Span<const Storage> storages_;
  int depth_ = 0;
  uint64_t constant_bytes_ = 0;
};

// --- Program ---

absl::StatusOr<ExportedProgram> ProgramParser::Program() {
  const size_t start = lexer_.offset();
  if (++depth_ > kMaxPrograms) {
    return lexer_.ErrorAt(start,
                          absl::StrCat("programs nest deeper than ", kMaxPrograms, " levels"));
  }
  const HighestReference outer_graph = std::exchange(parser_.highest_graph, {});
  const HighestReference outer_module = std::exchange(parser_.highest_module, {});
  ExportedProgram program(&ops_);
  DeclaredConstants constants;
  ABSL_RETURN_IF_ERROR(parser_.Word("program"));
  const IrDialect* dialect =
      lexer_.kind() == Lexer::Kind::kWord ? ValueIn(kDialectNames, lexer_.text()) : nullptr;
  if (dialect == nullptr) return lexer_.Expected("'training', 'aten' or 'edge'");
  program.dialect = *dialect;
  lexer_.Next();
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  while (!parser_.TakePunctuation('}')) {
    ABSL_RETURN_IF_ERROR(Section(program, constants));
  }
  ABSL_RETURN_IF_ERROR(Materialize(constants));
  if (program.graphs.size() == 0) {
    return lexer_.ErrorAt(start, "expected a graph in the program, got none");
  }
  const auto check = [this](const HighestReference& highest, size_t count, std::string_view what) {
    if (highest.index < static_cast<int64_t>(count)) return absl::OkStatus();
    return lexer_.ErrorAt(highest.offset, absl::StrCat("unknown ", what, "#", highest.index,
                                                       "; the program has ", count));
  };
  ABSL_RETURN_IF_ERROR(check(parser_.highest_graph, program.graphs.size(), "graph"));
  ABSL_RETURN_IF_ERROR(check(parser_.highest_module, program.lowered_modules.size(), "module"));
  parser_.highest_graph = outer_graph;
  parser_.highest_module = outer_module;
  --depth_;
  return program;
}

absl::Status ProgramParser::Section(ExportedProgram& program, DeclaredConstants& constants) {
  if (parser_.TakeWord("ranges")) return Ranges(program);
  if (parser_.TakeWord("hints")) return Hints(program);
  if (parser_.TakeWord("in_spec")) {
    ABSL_ASSIGN_OR_RETURN(program.in_spec, parser_.String("the input spec in quotes"));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("out_spec")) {
    ABSL_ASSIGN_OR_RETURN(program.out_spec, parser_.String("the output spec in quotes"));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("guards")) {
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
    while (!parser_.TakePunctuation('}')) {
      ABSL_ASSIGN_OR_RETURN(std::string guard, parser_.String("a guard in quotes"));
      program.guards.push_back(std::move(guard));
    }
    return absl::OkStatus();
  }
  if (parser_.TakeWord("constants")) {
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
    while (!parser_.TakePunctuation('}')) ABSL_RETURN_IF_ERROR(Constant(program, constants));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("graph")) {
    ABSL_ASSIGN_OR_RETURN(
        Graph graph,
        graph_parser_.Parse(program.graphs.size() == 0 ? &program.signature : nullptr));
    program.graphs.push_back(std::move(graph));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("module")) {
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('#'));
    const size_t offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(const int64_t index, parser_.Int("a module's number"));
    if (index != static_cast<int64_t>(program.lowered_modules.size())) {
      return lexer_.ErrorAt(offset, absl::StrCat("expected module#", program.lowered_modules.size(),
                                                 ", got module#", index));
    }
    ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const LoweredBackendModule> module, Module());
    program.lowered_modules.push_back(std::move(module));
    return absl::OkStatus();
  }
  return lexer_.Expected("a section of the program or '}'");
}

absl::Status ProgramParser::Ranges(ExportedProgram& program) {
  const auto bound = [this](std::string_view unbounded, int64_t value) -> absl::StatusOr<int64_t> {
    if (lexer_.text() == unbounded) {
      lexer_.Next();
      return value;
    }
    return parser_.Int(absl::StrCat("an integer or ", unbounded));
  };
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  while (!parser_.TakePunctuation('}')) {
    const size_t offset = lexer_.offset();
    SymRange range;
    ABSL_ASSIGN_OR_RETURN(std::string symbol, parser_.Name("a symbol"));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('['));
    ABSL_ASSIGN_OR_RETURN(range.min, bound("-inf", SymRange::kUnboundedBelow));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(','));
    ABSL_ASSIGN_OR_RETURN(range.max, bound("inf", SymRange::kUnboundedAbove));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(']'));
    if (!program.ranges.emplace(std::move(symbol), range).second) {
      return lexer_.ErrorAt(offset, "a second range of the same symbol");
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramParser::Hints(ExportedProgram& program) {
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  while (!parser_.TakePunctuation('}')) {
    const size_t offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(std::string symbol, parser_.Name("a symbol"));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_ASSIGN_OR_RETURN(const int64_t value, parser_.Int("an integer"));
    if (!program.hints.emplace(std::move(symbol), value).second) {
      return lexer_.ErrorAt(offset, "a second hint of the same symbol");
    }
  }
  return absl::OkStatus();
}

// --- Constants ---

absl::Status ProgramParser::Constant(ExportedProgram& program, DeclaredConstants& constants) {
  const auto table = [&](bool state) -> absl::flat_hash_map<std::string, size_t>& {
    return state ? constants.state : constants.constant;
  };
  const auto kind = [this]() -> absl::StatusOr<bool> {
    if (parser_.TakeWord("state")) return true;
    if (parser_.TakeWord("constant")) return false;
    return lexer_.Expected("'state' or 'constant'");
  };
  DeclaredConstant tensor;
  tensor.position = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const bool is_state, kind());
  tensor.map = is_state ? &program.state_dict : &program.constants;
  ABSL_ASSIGN_OR_RETURN(tensor.name, parser_.String("a name in quotes"));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
  ABSL_ASSIGN_OR_RETURN(tensor.dtype, parser_.Dtype());
  const auto dims = [this]() -> absl::StatusOr<Sizes> {
    const size_t offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, parser_.Ints());
    const std::optional<Sizes> result = Sizes::TryFrom(numbers);
    if (!result.has_value()) {
      return lexer_.ErrorAt(
          offset, absl::StrCat("expected at most ", kMaxRank, " numbers, got ", numbers.size()));
    }
    return *result;
  };
  ABSL_ASSIGN_OR_RETURN(tensor.sizes, dims());
  if (!NumElements(tensor.sizes).has_value()) {
    return lexer_.ErrorAt(tensor.position,
                          absl::StrCat("sizes that no tensor has: ", FormatSizes(tensor.sizes)));
  }
  tensor.strides = ContiguousStrides(tensor.sizes);
  if (parser_.TakePunctuation('{')) {
    do {
      if (parser_.TakeWord("strides")) {
        ABSL_RETURN_IF_ERROR(parser_.Punctuation('='));
        ABSL_ASSIGN_OR_RETURN(tensor.strides, dims());
      } else {
        ABSL_RETURN_IF_ERROR(parser_.Word("offset"));
        ABSL_RETURN_IF_ERROR(parser_.Punctuation('='));
        ABSL_ASSIGN_OR_RETURN(tensor.offset, parser_.Int("an integer"));
      }
    } while (parser_.TakePunctuation(','));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('}'));
  }
  if (parser_.TakeWord("storage")) {
    ABSL_ASSIGN_OR_RETURN(tensor.given, GivenStorage());
  } else if (parser_.TakeWord("shares")) {
    ABSL_ASSIGN_OR_RETURN(const bool of_state, kind());
    const auto it = lexer_.kind() == Lexer::Kind::kString
                        ? table(of_state).find(ToAbsl(lexer_.text()))
                        : table(of_state).end();
    if (it == table(of_state).end()) return lexer_.Expected("a tensor declared before, in quotes");
    tensor.storage = constants.tensors[it->second].storage;
    tensor.given = constants.tensors[it->second].given;
    lexer_.Next();
  } else {
    tensor.storage = constants.storage_bytes.size();
    constants.storage_bytes.push_back(1);
  }
  // End of the last element; ConstantTensor::Create checks the rest later.
  CheckedInt end = CheckedInt(tensor.offset) + 1;
  bool empty = tensor.sizes.size() != tensor.strides.size();
  for (int d = 0; !empty && d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 0) empty = true;
    end = end + CheckedInt(tensor.sizes[d] - 1) * tensor.strides[d];
  }
  end = end * static_cast<int64_t>(DTypeSize(tensor.dtype));
  if (tensor.given == nullptr && !empty &&
      (!end.ok() || end.value() > static_cast<int64_t>(kMaxConstantBytes))) {
    return lexer_.ErrorAt(tensor.position, absl::StrCat("expected constants of at most ",
                                                        kMaxConstantBytes, " bytes"));
  }
  if (tensor.given == nullptr && !empty && end.value() > 0) {
    uint64_t& bytes = constants.storage_bytes[tensor.storage];
    bytes = std::max(bytes, static_cast<uint64_t>(end.value()));
  }
  if (!table(is_state).emplace(tensor.name, constants.tensors.size()).second) {
    return lexer_.ErrorAt(tensor.position, "a second tensor of the same name");
  }
  constants.tensors.push_back(std::move(tensor));
  return absl::OkStatus();
}

// Places all declared constants in one block of zeros.
absl::Status ProgramParser::Materialize(DeclaredConstants& constants) {
  if (constants.tensors.empty()) return absl::OkStatus();
  std::vector<uint64_t> begins;
  uint64_t total = 0;
  for (uint64_t bytes : constants.storage_bytes) {
    begins.push_back(total);
    // No overflow: each is at most kMaxConstantBytes, and the sum is checked after each addition.
    total += (bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    if (total + constant_bytes_ > kMaxConstantBytes) {
      return lexer_.ErrorAt(
          constants.tensors[0].position,
          absl::StrCat("expected constants of at most ", kMaxConstantBytes, " bytes"));
    }
  }
  constant_bytes_ += total;
  Storage zeros;
  if (total > 0) {
    ABSL_ASSIGN_OR_RETURN(zeros, Storage::Zeros(total));
  }
  for (DeclaredConstant& declared : constants.tensors) {
    const Storage storage =
        declared.given != nullptr
            ? *declared.given
            : Storage{zeros.owner, zeros.bytes.subspan(begins[declared.storage],
                                                       constants.storage_bytes[declared.storage])};
    absl::StatusOr<ConstantTensor> tensor = ConstantTensor::Create(
        declared.dtype, declared.sizes, declared.strides, declared.offset, storage);
    if (!tensor.ok()) {
      return lexer_.ErrorAt(declared.position, FromAbsl(tensor.status().message()));
    }
    declared.map->emplace(std::move(declared.name), *std::move(tensor));
  }
  return absl::OkStatus();
}

// --- Lowered modules ---

absl::StatusOr<const Storage*> ProgramParser::GivenStorage() {
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('#'));
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const uint64_t number, parser_.Unsigned("a storage's number"));
  if (number < storages_.size()) return &storages_[number];
  return lexer_.ErrorAt(
      offset, absl::StrCat("unknown storage#", number, "; the text has ", storages_.size()));
}

absl::StatusOr<Storage> ProgramParser::Bytes() {
  if (parser_.TakeWord("storage")) {
    ABSL_ASSIGN_OR_RETURN(const Storage* given, GivenStorage());
    return *given;
  }
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const std::string text, parser_.String("bytes in base64"));
  std::string raw;
  if (!absl::Base64Unescape(text, &raw)) return lexer_.ErrorAt(offset, "this is not base64");
  const std::byte* begin = reinterpret_cast<const std::byte*>(raw.data());
  return Storage::Own(std::vector<std::byte>(begin, begin + raw.size()));
}

absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> ProgramParser::Module() {
  ABSL_RETURN_IF_ERROR(parser_.Word("backend"));
  ABSL_ASSIGN_OR_RETURN(std::string backend_id, parser_.String("a backend id in quotes"));
  auto module =
      std::make_shared<LoweredBackendModule>(std::move(backend_id), ExportedProgram(&ops_));
  ABSL_RETURN_IF_ERROR(parser_.Word("specs"));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('['));
  while (!lexer_.Is(']')) {
    CompileSpec spec;
    ABSL_ASSIGN_OR_RETURN(spec.key, parser_.String("a key in quotes"));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_ASSIGN_OR_RETURN(spec.value, parser_.String("a value in quotes"));
    module->compile_specs.push_back(std::move(spec));
    if (!parser_.TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(']'));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  bool has_program = false;
  while (!lexer_.Is('}')) ABSL_RETURN_IF_ERROR(ModuleItem(*module, has_program));
  if (!has_program) return lexer_.Expected("the program that the module replaces");
  lexer_.Next();
  return std::shared_ptr<const LoweredBackendModule>(std::move(module));
}

absl::Status ProgramParser::ModuleItem(LoweredBackendModule& module, bool& has_program) {
  NamedDataOutput& data = module.named_data;
  if (parser_.TakeWord("blob")) {
    ABSL_ASSIGN_OR_RETURN(module.processed, Bytes());
  } else if (parser_.TakeWord("buffer")) {
    ABSL_ASSIGN_OR_RETURN(Storage buffer, Bytes());
    data.buffers.push_back(std::move(buffer));
  } else if (parser_.TakeWord("info")) {
    ABSL_ASSIGN_OR_RETURN(module.delegate_info, parser_.String("a string"));
  } else if (parser_.TakeWord("handles")) {
    DelegateId id;
    if (lexer_.kind() == Lexer::Kind::kString) {
      id = parser_.Take();
    } else {
      ABSL_ASSIGN_OR_RETURN(id, parser_.Int("an id"));
    }
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_ASSIGN_OR_RETURN(module.debug_handle_map[id], parser_.Ints());
  } else if (parser_.TakeWord("external")) {
    ABSL_ASSIGN_OR_RETURN(const std::string tag, parser_.String("a tag in quotes"));
    auto& entries = data.external_data[tag];
    if (parser_.TakeWord("data")) {
      ABSL_ASSIGN_OR_RETURN(const std::string key, parser_.String("a key in quotes"));
      ABSL_ASSIGN_OR_RETURN(entries[key], NamedData(data));
    }
  } else if (parser_.TakeWord("data")) {
    ABSL_ASSIGN_OR_RETURN(const std::string key, parser_.String("a key in quotes"));
    ABSL_ASSIGN_OR_RETURN(data.program_data[key], NamedData(data));
  } else if (!has_program && lexer_.IsWord("program")) {
    ABSL_ASSIGN_OR_RETURN(module.original, Program());
    has_program = true;
  } else {
    return lexer_.Expected("a part of the module");
  }
  return absl::OkStatus();
}

absl::StatusOr<NamedDataEntry> ProgramParser::NamedData(const NamedDataOutput& data) {
  NamedDataEntry entry;
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
  ABSL_RETURN_IF_ERROR(parser_.Word("buffer"));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('#'));
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const uint64_t buffer, parser_.Unsigned("a buffer's number"));
  if (buffer >= data.buffers.size()) {
    return lexer_.ErrorAt(
        offset, absl::StrCat("unknown buffer#", buffer, "; the module has ", data.buffers.size()));
  }
  entry.buffer = static_cast<size_t>(buffer);
  ABSL_RETURN_IF_ERROR(parser_.Word("align"));
  ABSL_ASSIGN_OR_RETURN(entry.alignment, parser_.Unsigned("an alignment"));
  if (parser_.TakeWord("layout")) {
    NamedDataEntry::TensorLayout layout;
    ABSL_ASSIGN_OR_RETURN(layout.dtype, parser_.Dtype());
    ABSL_ASSIGN_OR_RETURN(layout.sizes, parser_.Ints());
    ABSL_RETURN_IF_ERROR(parser_.Word("order"));
    const size_t order_offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> order, parser_.Ints());
    for (int64_t d : order) {
      if (d < 0 || d > std::numeric_limits<uint8_t>::max()) {
        return lexer_.ErrorAt(order_offset,
                              absl::StrCat("expected numbers of dimensions, got ", d));
      }
      layout.dim_order.push_back(static_cast<uint8_t>(d));
    }
    entry.layout = std::move(layout);
  }
  entry.replaceable = parser_.TakeWord("replaceable");
  return entry;
}

}  // namespace

absl::StatusOr<ExportedProgram> ParseProgram(std::string_view text, const OpRegistry& ops,
                                             absl::Span<const Storage> storages) {
  absl::StatusOr<ExportedProgram> program = ProgramParser(text, ops, storages).Parse();
  if (!program.ok()) return Printable(program.status());
  return program;
}

}  // namespace belay::exir
