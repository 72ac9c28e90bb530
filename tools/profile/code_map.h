// Maps the events of a method to instructions and delegate steps, and to their source in the model.
//
// Source: docs/lowering.md §4.6–4.8, docs/profiling.md §3.
#ifndef BELAY_TOOLS_PROFILE_CODE_MAP_H_
#define BELAY_TOOLS_PROFILE_CODE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/executor/method.h"
#include "runtime/schema/program.pb.h"
#include "runtime/trace/event_log.h"

namespace belay::tools {

// A node of the model that a delegate computes.
struct ModelNode {
  std::string node, op, source, module;
};

// A kernel preferred over the selected one, and the reason why it was not selected.
struct DeclinedKernel {
  std::string kernel, reason;  // declined.h
};

// An instruction, or a step of a delegate.
struct CodeSite {
  // The enclosing methods and delegates: "forward", "forward / delegate 0 (cpu) / forward".
  std::string path = {};
  std::string name = {};     // "conv2d_3"; "instruction 7", "step 2" if unknown
  std::string op = {};       // of a step: operators of its nodes, or "step"
  std::string backend = {};  // "" outside of delegates
  std::string kernel = {}, engine = {}, operands = {};
  std::vector<DeclinedKernel> declined = {};
  std::string source = {}, module = {};  // of a step or fused node: a list, "m.py:3, m.py:5"
  std::vector<ModelNode> nodes = {};     // that it computes, by the delegate's debug map
  uint64_t bytes_read = 0, bytes_written = 0, scratch_bytes = 0;
  uint64_t arena_bytes = 0;  // of its method's arena in use at this site (arena_use.h)
  double operations = 0;
  bool is_delegate_call = false;
  // Whether a delegate runs it by a kernel of a standard operator, not by one of its backend.
  bool is_generic = false;
};

// Memory use of a method, and where it peaks.
struct MethodMemory {
  std::string path;          // as CodeSite::path
  uint64_t arena_bytes = 0;  // of the whole arena
  uint64_t peak_bytes = 0;   // maximum in use at once
  std::string peak_at = {};  // CodeSite::name; "" without instructions
  uint64_t scratch_bytes = 0;
  std::string scratch_at = {};  // "" if no kernel needs it
};

class CodeMap {
 public:
  // Precondition: `method` was loaded with a log and was executed; tensors have the sizes of the
  // last call. The log must outlive the map; the method need not.
  explicit CodeMap(const Method& method);

  // Instructions in execution order, followed by delegate steps in the order of their first
  // SiteOf() call. SiteOf() may invalidate the span.
  absl::Span<const CodeSite> sites() const { return sites_; }
  // Returns the site index of an event; nullopt if it has none (loading, or a method as a whole).
  std::optional<size_t> SiteOf(const Event& event);
  // Human-readable name: "conv2d_3", "execute forward", "init delegate 0".
  std::string NameOf(const Event& event);
  // Facts that could not be determined, with reasons; one line each.
  std::vector<std::string> missing() const { return missing_; }
  // Memory of the method and of the methods in its delegates.
  const std::vector<MethodMemory>& memory() const { return memory_; }
  const EventLog& log() const { return log_; }

 private:
  // Debug information of a delegate.
  struct DelegateFacts {
    std::string path, backend;
    std::map<std::pair<int64_t, std::string>, std::vector<ModelNode>> nodes_of = {};  // by id
    bool unknown_step = false;  // an unknown step was reported
  };
  void AddMethod(const Method& method, const std::string& path, const DelegateFacts* around);
  DelegateFacts FactsOf(const schema::DelegateDebugInfo* debug, std::string path,
                        std::string backend);

  const EventLog& log_;
  std::vector<CodeSite> sites_;
  std::vector<std::string> missing_;
  std::vector<MethodMemory> memory_;
  std::map<uint32_t, size_t> first_site_;        // of each method, by owner
  std::map<uint32_t, DelegateFacts> delegates_;  // by owner
  std::map<std::pair<uint32_t, std::pair<int64_t, bool>>, size_t> steps_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_CODE_MAP_H_
