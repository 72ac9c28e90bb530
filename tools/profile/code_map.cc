#include "tools/profile/code_map.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "runtime/program/program.h"
#include "runtime/schema/private_operators.h"
#include "tools/profile/arena_use.h"
#include "tools/profile/declined.h"
#include "tools/profile/operations.h"

namespace belay::tools {
namespace {

// Returns nullptr if the program has no readable debug data of the method; debug data is
// unverified.
const schema::MethodDebugInfo* DebugOf(const Method& method, schema::DebugInfo& debug) {
  const Program& program = method.program();
  const absl::Span<const std::byte> bytes = program.debug_info();
  const auto index = static_cast<int>(&method.plan() - program.methods().data());
  if (!debug.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      index >= debug.methods_size()) {
    return nullptr;
  }
  const schema::MethodDebugInfo& info = debug.methods(index);
  const bool fits =
      info.instructions_size() == static_cast<int>(method.plan().instructions.size()) &&
      info.delegates_size() == static_cast<int>(method.plan().delegates.size());
  return fits ? &info : nullptr;
}

// Joins the distinct values of a field of the nodes, in their order.
std::string Joined(const std::vector<ModelNode>& nodes, std::string ModelNode::* field,
                   std::string_view separator) {
  std::vector<std::string_view> seen;
  std::string text;
  for (const ModelNode& node : nodes) {
    const std::string& part = node.*field;
    if (part.empty() || std::find(seen.begin(), seen.end(), part) != seen.end()) continue;
    seen.push_back(part);
    absl::StrAppend(&text, text.empty() ? "" : std::string(separator), part);
  }
  return text;
}

}  // namespace

CodeMap::CodeMap(const Method& method) : log_(*method.events().log) {
  AddMethod(method, method.plan().name, nullptr);
}

CodeMap::DelegateFacts CodeMap::FactsOf(const schema::DelegateDebugInfo* debug, std::string path,
                                        std::string backend) {
  DelegateFacts facts{.path = std::move(path), .backend = std::move(backend)};
  if (debug == nullptr) return facts;
  std::map<int64_t, std::vector<ModelNode>> nodes;
  for (const schema::DelegateDebugInfo::Node& node : debug->nodes()) {
    nodes[node.debug_handle()].push_back(
        {node.node(), node.operator_(), node.source(), node.module()});
  }
  for (const schema::DelegateDebugInfo::Entry& entry : debug->entries()) {
    std::vector<ModelNode>& of = facts.nodes_of[{entry.int_id(), entry.string_id()}];
    for (const int64_t handle : entry.debug_handles()) {
      const auto found = nodes.find(handle);
      if (found == nodes.end()) {
        of.push_back({absl::StrCat("handle ", handle), "", "", ""});
      } else {
        of.insert(of.end(), found->second.begin(), found->second.end());
      }
    }
  }
  return facts;
}

void CodeMap::AddMethod(const Method& method, const std::string& path,
                        const DelegateFacts* around) {
  const uint32_t owner = method.events().owner;
  const MethodPlan& plan = method.plan();
  const std::vector<InstructionInfo> instructions = method.instructions();
  schema::DebugInfo parsed;
  const schema::MethodDebugInfo* debug = DebugOf(method, parsed);
  if (debug == nullptr) {
    missing_.push_back(absl::StrCat(path,
                                    ": no debug data (see 'belay strip'): instructions are "
                                    "numbered, without nodes and source lines"));
  }
  first_site_[owner] = sites_.size();
  std::map<uint32_t, const Method*> inner;  // by delegate
  const std::vector<uint64_t> arena_use = ArenaUse(plan);
  MethodMemory memory{.path = path, .arena_bytes = plan.arena_bytes};
  for (size_t i = 0; i < instructions.size(); ++i) {
    const InstructionInfo& info = instructions[i];
    const OperandBytes bytes = BytesOf(info);
    CodeSite site{.path = path,
                  .op = std::string(info.op),
                  .backend = around == nullptr ? "" : around->backend,
                  .kernel = std::string(info.kernel),
                  .engine = std::string(info.engine),
                  .operands = OperandText(info),
                  .bytes_read = bytes.read,
                  .bytes_written = bytes.written,
                  .scratch_bytes = info.scratch_bytes,
                  .arena_bytes = arena_use[i],
                  .operations = OperationsOf(info)};
    site.is_generic = !site.backend.empty() && !IsPrivateOperator(site.backend, site.op) &&
                      std::holds_alternative<KernelCallPlan>(plan.instructions[i]);
    for (const Kernel* kernel : info.declined) {
      const auto& call = std::get<KernelCallPlan>(plan.instructions[i]);
      site.declined.push_back({std::string(kernel->name), WhyDeclined(*kernel, plan, call, info)});
    }
    if (debug != nullptr) {
      const schema::InstructionDebugInfo& from = debug->instructions(static_cast<int>(i));
      site.name = from.node();
      site.source = from.source();
      site.module = from.module();
      if (around != nullptr && from.debug_handles_size() != 0) {
        const auto found = around->nodes_of.find({from.debug_handles(0), ""});
        if (found != around->nodes_of.end()) site.nodes = found->second;
      }
    }
    if (const auto* call = std::get_if<DelegateCallPlan>(&plan.instructions[i])) {
      site.is_delegate_call = true;
      site.source = site.module = "";  // these would be the first node's only
      site.backend = std::string(info.kernel);
      site.name = absl::StrCat("delegate ", call->delegate, " (", site.backend, ")");
      inner.emplace(call->delegate, info.method);
    }
    if (!site.nodes.empty()) {
      site.source = Joined(site.nodes, &ModelNode::source, ", ");
      site.module = Joined(site.nodes, &ModelNode::module, ", ");
    }
    if (site.name.empty()) site.name = absl::StrCat("instruction ", i);
    if (memory.peak_at.empty() || site.arena_bytes > memory.peak_bytes) {
      memory.peak_bytes = site.arena_bytes;
      memory.peak_at = site.name;
    }
    if (site.scratch_bytes > memory.scratch_bytes) {
      memory.scratch_bytes = site.scratch_bytes;
      memory.scratch_at = site.name;
    }
    sites_.push_back(std::move(site));
  }
  memory_.push_back(std::move(memory));
  for (uint32_t o = 0; o < log_.owners().size(); ++o) {
    const EventOwner& delegate = log_.owners()[o];
    if (!delegate.is_delegate || delegate.parent != owner) continue;
    const std::string inside =
        absl::StrCat(path, " / delegate ", delegate.delegate, " (", delegate.name, ")");
    const DelegateFacts& facts =
        delegates_
            .emplace(o, FactsOf(debug == nullptr
                                    ? nullptr
                                    : &debug->delegates(static_cast<int>(delegate.delegate)),
                                inside, delegate.name))
            .first->second;
    const auto found = inner.find(delegate.delegate);
    if (found == inner.end() || found->second == nullptr) continue;
    AddMethod(*found->second, absl::StrCat(inside, " / ", found->second->plan().name), &facts);
  }
}

std::optional<size_t> CodeMap::SiteOf(const Event& event) {
  if (event.kind == EventKind::kInstruction || event.kind == EventKind::kDelegateCall) {
    const auto found = first_site_.find(event.owner);
    if (found == first_site_.end()) return std::nullopt;
    return found->second + static_cast<size_t>(event.id);
  }
  if (event.kind != EventKind::kStep) return std::nullopt;
  const auto owner = delegates_.find(event.owner);
  if (owner == delegates_.end()) return std::nullopt;
  const auto [it, added] =
      steps_.try_emplace({event.owner, {event.id, event.named}}, sites_.size());
  if (!added) return it->second;
  DelegateFacts& facts = owner->second;
  const std::string name = event.named ? log_.names()[static_cast<size_t>(event.id)] : "";
  CodeSite site{.path = facts.path, .op = "step", .backend = facts.backend};
  site.name = event.named ? name : absl::StrCat("step ", event.id);
  const auto nodes = facts.nodes_of.find({event.named ? 0 : event.id, name});
  if (nodes != facts.nodes_of.end()) {
    site.nodes = nodes->second;
    site.source = Joined(site.nodes, &ModelNode::source, ", ");
    site.module = Joined(site.nodes, &ModelNode::module, ", ");
    const std::string ops = Joined(site.nodes, &ModelNode::op, " + ");
    if (!ops.empty()) site.op = ops;
  } else if (!facts.unknown_step) {
    facts.unknown_step = true;
    missing_.push_back(absl::StrCat(
        facts.path, ": ",
        facts.nodes_of.empty() ? "no debug map of its steps, which have only numbers or names"
                               : absl::StrCat("its map does not have '", site.name, "'")));
  }
  sites_.push_back(std::move(site));
  return it->second;
}

std::string CodeMap::NameOf(const Event& event) {
  if (const std::optional<size_t> site = SiteOf(event)) return sites_[*site].name;
  const EventOwner& owner = log_.owners()[event.owner];
  switch (event.kind) {
    case EventKind::kInit:
      return absl::StrCat("init delegate ", event.id);
    case EventKind::kLoad:
    case EventKind::kExecute: {
      const std::string name = absl::StrCat(EventKindName(event.kind), " ", owner.name);
      if (owner.parent == EventOwner::kNone) return name;
      return absl::StrCat(name, " (", log_.owners()[owner.parent].name, ")");
    }
    case EventKind::kInstruction:
    case EventKind::kDelegateCall:
    case EventKind::kStep:
      return absl::StrCat(EventKindName(event.kind), " ", event.id);
    case EventKind::kResolve:
    case EventKind::kAllocate:
      break;
  }
  return std::string(EventKindName(event.kind));
}

}  // namespace belay::tools
