#include "tools/profile/profile_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace belay::tools {
namespace {

using nlohmann::json;

constexpr double kMs = 1e6;  // ns
constexpr char kOutside[] = "(outside of instructions)";
constexpr char kUnknown[] = "(unknown)";

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// `times` and `whole` are in ns, one entry per run.
json Figures(const std::vector<double>& times, const std::vector<double>& whole) {
  const double wall = Sum(whole);
  return {{"mean_ms", Sum(times) / static_cast<double>(times.size()) / kMs},
          {"p50_ms", Percentile(times, 0.5) / kMs},
          {"p90_ms", Percentile(times, 0.9) / kMs},
          {"share", wall == 0 ? 0 : Sum(times) / wall}};
}

json Spread(const std::vector<double>& times) {
  return {{"min", *std::min_element(times.begin(), times.end()) / kMs},
          {"p50", Percentile(times, 0.5) / kMs},
          {"p90", Percentile(times, 0.9) / kMs}};
}

void SortByTime(json& rows) {
  const auto key = [](const json& row) {
    return std::pair(-row["p50_ms"].get<double>(), row["name"].get<std::string>());
  };
  std::sort(rows.begin(), rows.end(),
            [&](const json& a, const json& b) { return key(a) < key(b); });
}

// Adds rates in billions per second from the counts per call.
void AddRates(json& row, double operations, double bytes) {
  const double seconds = row["p50_ms"].get<double>() / 1e3;
  if (seconds <= 0) return;
  if (operations > 0) row["gflops"] = operations / seconds / 1e9;
  if (bytes > 0) row["gb_per_s"] = bytes / seconds / 1e9;
}

json InstructionRow(const CodeSite& site, const SiteTimes& times, const Profile& profile) {
  json row = Figures(times.own, profile.wall);
  const double count = static_cast<double>(times.count) / static_cast<double>(profile.runs());
  row["name"] = site.name;
  row["path"] = site.path;
  row["operator"] = site.op;
  row["count"] = count;
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const std::string&>>{
           {"backend", site.backend},
           {"kernel", site.kernel},
           {"engine", site.engine},
           {"operands", site.operands},
           {"source", site.source},
           {"module", site.module}}) {
    if (!text.empty()) row[name] = text;
  }
  if (site.is_generic) row["generic"] = true;
  for (const DeclinedKernel& declined : site.declined) {
    row["declined"].push_back({{"kernel", declined.kernel}, {"reason", declined.reason}});
  }
  if (site.arena_bytes != 0) row["arena_bytes"] = site.arena_bytes;
  for (const ModelNode& node : site.nodes) {
    row["nodes"].push_back({{"node", node.node},
                            {"operator", node.op},
                            {"source", node.source},
                            {"module", node.module}});
  }
  if (site.is_delegate_call) {
    row["total_p50_ms"] = Percentile(times.total, 0.5) / kMs;
    return row;  // rates would be those of the nested instructions
  }
  row["bytes_read"] = site.bytes_read;
  row["bytes_written"] = site.bytes_written;
  if (site.scratch_bytes != 0) row["scratch_bytes"] = site.scratch_bytes;
  if (site.operations != 0) row["operations"] = site.operations;
  AddRates(row, site.operations * count,
           static_cast<double>(site.bytes_read + site.bytes_written) * count);
  return row;
}

// Sums up sites by `key`.
json GroupRows(const Profile& profile, const std::function<std::string(const CodeSite&)>& key) {
  struct Group {
    std::vector<double> times;
    double count = 0, operations = 0, bytes = 0;
  };
  std::map<std::string, Group> groups;
  const auto runs = static_cast<double>(profile.runs());
  for (size_t s = 0; s < profile.sites().size(); ++s) {
    const SiteTimes& times = profile.sites()[s];
    if (times.count == 0) continue;
    const CodeSite& site = profile.code().sites()[s];
    Group& group = groups[key(site)];
    group.times.resize(profile.runs());
    for (size_t r = 0; r < profile.runs(); ++r) group.times[r] += times.own[r];
    const double count = static_cast<double>(times.count) / runs;
    group.count += count;
    if (site.is_delegate_call) continue;
    group.operations += count * site.operations;
    group.bytes += count * static_cast<double>(site.bytes_read + site.bytes_written);
  }
  groups[kOutside].times = profile.outside;
  json rows = json::array();
  for (const auto& [name, group] : groups) {
    json row = Figures(group.times, profile.wall);
    row["name"] = name;
    row["count"] = group.count;
    AddRates(row, group.operations, group.bytes);
    rows.push_back(std::move(row));
  }
  SortByTime(rows);
  return rows;
}

std::string OrUnknown(const std::string& text) { return text.empty() ? kUnknown : text; }

// --- Tables ---

std::string Ms(double ms) { return absl::StrFormat("%.*f", ms < 0.1 ? 4 : ms < 10 ? 3 : 1, ms); }

std::string Rate(const json& row, const char* name) {
  return row.contains(name) ? absl::StrFormat("%.1f", row[name].get<double>()) : "";
}

// "41 %".
std::string Roof(const json& row) {
  return row.contains("roof") ? absl::StrFormat("%.0f %%", 100 * row["roof"].get<double>()) : "";
}

std::string TableText(const json& rows, size_t most, std::string_view title,
                      const std::function<std::string(const json&)>& name) {
  const bool roofs =
      std::any_of(rows.begin(), rows.end(), [](const json& row) { return row.contains("roof"); });
  const auto roof = [&](const std::string& cell) {
    return roofs ? absl::StrFormat(" %6s", cell) : "";
  };
  std::string text =
      absl::StrFormat("%7s %10s %10s %8s %9s %8s%s  %s\n", "share", "p50 ms", "p90 ms", "count",
                      "GFLOP/s", "GB/s", roof("roof"), std::string(title));
  const size_t shown = std::min(most, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const json& row = rows[i];
    absl::StrAppend(
        &text,
        absl::StrFormat("%5.1f %% %10s %10s %8.5g %9s %8s%s  %s\n",
                        100 * row["share"].get<double>(), Ms(row["p50_ms"].get<double>()),
                        Ms(row["p90_ms"].get<double>()), row["count"].get<double>(),
                        Rate(row, "gflops"), Rate(row, "gb_per_s"), roof(Roof(row)), name(row)));
  }
  if (shown == rows.size()) return text;
  double share = 0;
  for (size_t i = shown; i < rows.size(); ++i) share += rows[i]["share"].get<double>();
  absl::StrAppend(&text,
                  absl::StrFormat("%5.1f %% %50s%d more\n", 100 * share, "", rows.size() - shown));
  return text;
}

std::string InstructionName(const json& row) {
  std::string text = row["name"].get<std::string>();
  const std::string op = row["operator"].get<std::string>();
  if (op != "delegate") absl::StrAppend(&text, ": ", op);
  for (const char* field : {"backend", "kernel"}) {
    if (op != "delegate" && row.contains(field)) {
      absl::StrAppend(&text, ", ", row[field].get<std::string>());
    }
  }
  if (row.contains("generic")) absl::StrAppend(&text, " (generic)");
  if (row.contains("source")) absl::StrAppend(&text, ", ", row["source"].get<std::string>());
  return text;
}

bool KnowsAny(const json& rows) {
  for (const json& row : rows) {
    if (row["name"] != kUnknown && row["name"] != kOutside) return true;
  }
  return false;
}

std::string Bytes(const json& bytes) {
  const auto number = bytes.get<double>();
  const int unit = number < 1e3 ? 0 : number < 1e6 ? 1 : number < 1e9 ? 2 : 3;
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB"};
  return absl::StrFormat("%.3g %s", number / std::pow(1e3, unit), kUnits[unit]);
}

std::string MemoryText(const json& memory) {
  std::string text;
  for (const json& method : memory) {
    absl::StrAppend(&text, method["path"].get<std::string>(), ": arena of ",
                    Bytes(method["arena_bytes"]), ", at most ", Bytes(method["peak_bytes"]),
                    " in use");
    const auto at = [&](const char* field) {
      const auto name = method[field].get<std::string>();
      return name.empty() ? "" : absl::StrCat(" (at ", name, ")");
    };
    absl::StrAppend(&text, at("peak_at"));
    if (method["scratch_bytes"] != 0) {
      absl::StrAppend(&text, ", kernel workspace up to ", Bytes(method["scratch_bytes"]),
                      at("scratch_at"));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

// "1234567 cycles, 2345678 instructions (1.90 per cycle), 12 cache misses per call (p50)".
std::string HardwareText(const json& hardware) {
  std::vector<std::string> parts;
  for (const char* name : {"cycles", "instructions", "cache_misses"}) {
    if (!hardware.contains(name)) continue;
    const auto count = hardware[name].get<double>();
    std::string part = absl::StrFormat("%.0f %s", count, absl::StrReplaceAll(name, {{"_", " "}}));
    if (name == std::string_view("instructions") && hardware.value("cycles", 0.0) > 0) {
      absl::StrAppendFormat(&part, " (%.2f per cycle)", count / hardware["cycles"].get<double>());
    }
    parts.push_back(std::move(part));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), " per call (p50)\n");
}

// Lists kernels that declined an instruction with a reference kernel, with the reason, ordered by
// the time of these instructions.
std::string DeclinedText(const json& instructions, size_t most) {
  struct Group {
    double share = 0;
    int count = 0;
    std::string first;  // instruction
  };
  std::map<std::string, Group> groups;
  for (const json& row : instructions) {
    if (!row.contains("declined") || row.value("engine", "") != "reference") continue;
    for (const json& declined : row["declined"]) {
      Group& group = groups[absl::StrCat(declined["kernel"].get<std::string>(), " ",
                                         declined["reason"].get<std::string>())];
      if (group.count++ == 0) group.first = row["name"].get<std::string>();
      group.share += row["share"].get<double>();
    }
  }
  if (groups.empty()) return "";
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.second.share, a.first) < std::pair(-b.second.share, b.first);
  });
  std::string text = "\nreference kernels, because a faster one declined\n";
  for (size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    const auto& [reason, group] = sorted[i];
    absl::StrAppendFormat(&text, "%5.1f %% %s: %d instruction%s, the slowest is %s\n",
                          100 * group.share, reason, group.count, group.count == 1 ? "" : "s",
                          group.first);
  }
  if (sorted.size() > most) absl::StrAppendFormat(&text, "%d more\n", sorted.size() - most);
  return text;
}

// --- Comparing ---

// Reads the times of a profile's instructions by identity. Returns false if it is not a profile.
bool ReadTimes(const json& profile, std::map<std::string, double>& times, double& whole) {
  const auto number = [](const json& object, const char* name, double& value) {
    const auto it = object.find(name);
    if (it == object.end() || !it->is_number()) return false;
    value = it->get<double>();
    return true;
  };
  const auto wall = profile.is_object() ? profile.find("wall_ms") : profile.end();
  const auto rows = profile.is_object() ? profile.find("instructions") : profile.end();
  if (!profile.is_object() || wall == profile.end() || rows == profile.end() ||
      !wall->is_object() || !number(*wall, "p50", whole) || !rows->is_array()) {
    return false;
  }
  std::map<std::string, int> seen;
  for (const json& row : *rows) {
    if (!row.is_object()) return false;
    std::string key;
    for (const char* name : {"path", "name", "operator"}) {
      const auto it = row.find(name);
      if (it == row.end() || !it->is_string()) return false;
      absl::StrAppend(&key, key.empty() ? "" : ": ", it->get<std::string>());
    }
    if (const int n = ++seen[key]; n > 1) absl::StrAppend(&key, " #", n);
    if (!number(row, "p50_ms", times[key])) return false;
  }
  return true;
}

}  // namespace

json ProfileJson(const Profile& profile) {
  json out{{"runs", profile.runs()},
           {"wall_ms", Spread(profile.wall)},
           {"cpu_ms", Spread(profile.cpu)},
           {"outside_ms", Spread(profile.outside)},
           {"missing", profile.code().missing()},
           {"memory", json::array()},
           {"instructions", json::array()}};
  for (size_t k = 0; k < kNumHardwareCounters; ++k) {
    if (profile.counts[k].empty()) continue;
    out["hardware"][HardwareCounterName(static_cast<HardwareCounter>(k))] =
        Percentile(profile.counts[k], 0.5);
  }
  for (const MethodMemory& memory : profile.code().memory()) {
    out["memory"].push_back({{"path", memory.path},
                             {"arena_bytes", memory.arena_bytes},
                             {"peak_bytes", memory.peak_bytes},
                             {"peak_at", memory.peak_at},
                             {"scratch_bytes", memory.scratch_bytes},
                             {"scratch_at", memory.scratch_at}});
  }
  for (size_t s = 0; s < profile.sites().size(); ++s) {
    const SiteTimes& times = profile.sites()[s];
    if (times.count == 0) continue;
    out["instructions"].push_back(InstructionRow(profile.code().sites()[s], times, profile));
  }
  SortByTime(out["instructions"]);
  out["by_operator"] = GroupRows(profile, [](const CodeSite& site) {
    return site.is_delegate_call
               ? absl::StrCat(site.op, " of ", site.backend, ", without logged steps")
               : site.op;
  });
  out["by_module"] =
      GroupRows(profile, [](const CodeSite& site) { return OrUnknown(site.module); });
  out["by_source"] =
      GroupRows(profile, [](const CodeSite& site) { return OrUnknown(site.source); });
  out["by_backend"] = GroupRows(profile, [](const CodeSite& site) {
    return site.backend.empty() ? "(program)" : site.backend;
  });
  return out;
}

std::string ProfileText(const json& profile, size_t rows) {
  const json &wall = profile["wall_ms"], &cpu = profile["cpu_ms"];
  std::string text = absl::StrFormat(
      "%d runs: %s ms (p50), %s ms (p90), %s ms (min) per call; %s ms of this thread's CPU time\n",
      profile["runs"].get<size_t>(), Ms(wall["p50"].get<double>()), Ms(wall["p90"].get<double>()),
      Ms(wall["min"].get<double>()), Ms(cpu["p50"].get<double>()));
  if (profile.contains("hardware")) text += HardwareText(profile["hardware"]);
  text += MemoryText(profile["memory"]);
  for (const json& line : profile["missing"]) {
    absl::StrAppend(&text, "missing: ", line.get<std::string>(), "\n");
  }
  const auto name = [](const json& row) { return row["name"].get<std::string>(); };
  absl::StrAppend(&text, "\n",
                  TableText(profile["instructions"], rows, "instruction", InstructionName),
                  DeclinedText(profile["instructions"], rows));
  absl::StrAppend(&text, "\n", TableText(profile["by_operator"], rows, "operator", name));
  for (const auto& [table, title] :
       {std::pair("by_module", "module"), std::pair("by_source", "source line")}) {
    if (KnowsAny(profile[table])) {
      absl::StrAppend(&text, "\n", TableText(profile[table], rows, title, name));
    }
  }
  absl::StrAppend(&text, "\n", TableText(profile["by_backend"], rows, "backend", name));
  return text;
}

absl::StatusOr<std::string> CompareProfiles(const json& before, const json& now) {
  constexpr double kMinRatio = 0.05, kMinShare = 0.002;
  std::map<std::string, double> old_times, new_times;
  double old_whole = 0, new_whole = 0;
  if (!ReadTimes(before, old_times, old_whole) || !ReadTimes(now, new_times, new_whole)) {
    return absl::InvalidArgumentError("expected the output of 'belay profile --json'");
  }
  struct Change {
    std::string name;
    double before, now;
    double by() const { return now - before; }
  };
  std::vector<Change> changes;
  size_t same = 0;
  for (const auto& [name, ms] : new_times) {
    const auto it = old_times.find(name);
    const double was = it == old_times.end() ? 0 : it->second;
    const Change change = {it == old_times.end() ? absl::StrCat(name, " (new)") : name, was, ms};
    if (std::abs(change.by()) >= kMinRatio * std::max(was, ms) &&
        std::abs(change.by()) >= kMinShare * std::max(old_whole, new_whole)) {
      changes.push_back(change);
    } else {
      ++same;
    }
  }
  for (const auto& [name, ms] : old_times) {
    if (!new_times.contains(name)) changes.push_back({absl::StrCat(name, " (gone)"), ms, 0});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(-a.by(), a.name) < std::pair(-b.by(), b.name);
  });
  const auto line = [](const Change& change) {
    return absl::StrFormat(
        "%10s %10s %+10.4f %9s  %s\n", Ms(change.before), Ms(change.now), change.by(),
        change.before == 0 ? "" : absl::StrFormat("%+.1f %%", 100 * change.by() / change.before),
        change.name);
  };
  std::string text =
      absl::StrFormat("%10s %10s %10s %9s  %s\n", "before ms", "now ms", "change", "", "p50 of");
  absl::StrAppend(&text, line({"the whole call", old_whole, new_whole}));
  for (const Change& change : changes) absl::StrAppend(&text, line(change));
  absl::StrAppend(&text, absl::StrFormat("%d instructions are unchanged\n", same));
  return text;
}

}  // namespace belay::tools
