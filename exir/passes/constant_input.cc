#include "exir/passes/constant_input.h"

#include <iterator>
#include <utility>

#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

bool NamesTensorOf(const ExportedProgram& program, const std::string& name) {
  return program.state_dict.contains(name) || program.constants.contains(name);
}

}  // namespace

std::string UnusedTensorName(const ExportedProgram& program, std::string_view prefix, int& next) {
  std::string name;
  do {
    name = absl::StrCat(prefix, next++);
  } while (NamesTensorOf(program, name));
  return name;
}

std::string UnusedTensorName(const ExportedProgram& program, std::string_view wish) {
  std::string name(wish);
  for (int n = 1; NamesTensorOf(program, name); ++n) name = absl::StrCat(wish, "_", n);
  return name;
}

size_t EndOfConstants(const ExportedProgram& program) {
  size_t position = 0;
  while (position < program.signature.inputs.size() &&
         program.signature.inputs[position].kind != InputKind::kUserInput) {
    ++position;
  }
  return position;
}

ValueId InsertConstantInput(ExportedProgram& program, GraphEditor& top, size_t position,
                            std::string_view name, std::string_view target, ValueType type,
                            InputKind kind) {
  const ValueId input = top.InsertInput(position, name, std::move(type));
  program.signature.inputs.insert(
      program.signature.inputs.begin() + static_cast<std::ptrdiff_t>(position),
      {.kind = kind, .target = std::string(target), .persistent = true});
  return input;
}

ConstantInputs::Place ConstantInputs::PlaceOf(const ConstantTensor& tensor) {
  const TensorView view = tensor.view();
  return {view.data, view.nbytes()};
}

bool EraseInputs(ExportedProgram& program, GraphEditor& top,
                 absl::FunctionRef<bool(size_t position)> erased) {
  const std::vector<ValueId> inputs(top.graph().inputs().begin(), top.graph().inputs().end());
  std::vector<InputSpec> rest, gone;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool erases = erased(i);
    if (erases) top.EraseInput(inputs[i]);
    (erases ? gone : rest).push_back(std::move(program.signature.inputs[i]));
  }
  program.signature.inputs = std::move(rest);
  absl::flat_hash_set<std::string_view> named;
  for (const InputSpec& spec : program.signature.inputs) named.insert(spec.target);
  for (const InputSpec& spec : gone) {
    if (!NamesTensor(spec.kind) || named.contains(spec.target)) continue;
    program.state_dict.erase(spec.target);
    program.constants.erase(spec.target);
  }
  return !gone.empty();
}

ConstantInputs::ConstantInputs(ExportedProgram& program, GraphEditor& top,
                               const absl::btree_set<std::string>& changing)
    : program_(program), top_(top), end_(EndOfConstants(program)) {
  absl::flat_hash_set<std::string_view> changed(changing.begin(), changing.end());
  for (const OutputSpec& spec : program.signature.outputs) {
    if (IsStateMutation(spec.kind) || spec.kind == OutputKind::kGradientToParameter) {
      changed.insert(spec.target);
    }
  }
  absl::flat_hash_set<const std::byte*> written;  // storages
  for (const InputSpec& spec : program.signature.inputs) {
    const ConstantTensor* tensor = program.FindConstant(spec);
    if (tensor == nullptr) continue;
    ++readers_[PlaceOf(*tensor)];
    if (changed.contains(spec.target) && tensor->view().nbytes() > 0) {
      written.insert(tensor->storage().bytes.data());
    }
  }
  const absl::Span<const ValueId> inputs = top.graph().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& spec = program.signature.inputs[i];
    const ConstantTensor* tensor = program.FindConstant(spec);
    if (tensor == nullptr || changed.contains(spec.target) || spec.replaceable) continue;
    if (tensor->view().nbytes() > 0 && written.contains(tensor->storage().bytes.data())) continue;
    kept_.emplace(inputs[i], Kept{spec.target, *tensor, spec.file});
    order_.push_back(inputs[i]);
  }
}

const ConstantTensor* ConstantInputs::Find(ValueId input) const {
  const auto found = kept_.find(input);
  return found == kept_.end() ? nullptr : &found->second.tensor;
}

uint64_t ConstantInputs::FreedBytes(absl::Span<const ValueId> inputs) const {
  absl::flat_hash_map<Place, size_t> going;
  uint64_t freed = 0;
  for (ValueId input : inputs) {
    const ConstantTensor* tensor = Find(input);
    if (tensor == nullptr || dropped_.contains(input)) continue;
    const Place place = PlaceOf(*tensor);
    if (++going[place] == readers_.at(place)) freed += place.second;
  }
  return freed;
}

ValueId ConstantInputs::Add(std::string_view name, const std::string& fqn, ConstantTensor tensor,
                            TensorMeta type, ValueId source) {
  const ValueId input = top_.InsertInput(end_ + added_.size(), name, std::move(type));
  const auto from = kept_.find(source);
  std::string file = from == kept_.end() ? "" : from->second.file;
  added_.push_back({.kind = InputKind::kTensorConstant, .target = fqn, .file = file});
  ++readers_[PlaceOf(tensor)];
  program_.constants.emplace(fqn, tensor);
  kept_.emplace(input, Kept{fqn, std::move(tensor), std::move(file)});
  order_.push_back(input);
  return input;
}

ValueId ConstantInputs::AddDerived(ValueId source, std::string_view suffix, ConstantTensor tensor) {
  const std::string fqn = UnusedTensorName(program_, absl::StrCat(NameOf(source), suffix));
  const std::string name = absl::StrCat(top_.graph().value(source).name, suffix);
  TensorMeta type = TensorMeta::Contiguous(
      tensor.dtype(), std::vector<SymInt>(tensor.sizes().begin(), tensor.sizes().end()));
  type.strides.assign(tensor.strides().begin(), tensor.strides().end());
  return Add(name, fqn, std::move(tensor), std::move(type), source);
}

uint64_t ConstantInputs::Drop(ValueId input) {
  const uint64_t freed = FreedBytes(absl::MakeConstSpan(&input, 1));
  const ConstantTensor* tensor = Find(input);
  if (tensor != nullptr && dropped_.insert(input).second) --readers_.at(PlaceOf(*tensor));
  return freed;
}

void ConstantInputs::Finish() {
  std::vector<InputSpec>& specs = program_.signature.inputs;
  specs.insert(specs.begin() + static_cast<std::ptrdiff_t>(end_),
               std::make_move_iterator(added_.begin()), std::make_move_iterator(added_.end()));
  end_ += added_.size();
  added_.clear();
  const std::vector<ValueId> inputs(top_.graph().inputs().begin(), top_.graph().inputs().end());
  EraseInputs(program_, top_, [&](size_t position) { return dropped_.contains(inputs[position]); });
  end_ -= dropped_.size();
  dropped_.clear();
}

}  // namespace belay::exir
