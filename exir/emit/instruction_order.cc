#include "exir/emit/instruction_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "exir/emit/lifetimes.h"
#include "exir/emit/method_facts.h"

namespace belay::exir {
namespace {

// Schedules the instructions of one basic block.
class BlockOrder {
 public:
  BlockOrder(const schema::Method& method, const StorageSharing& sharing,
             const std::vector<bool>& effects, const std::vector<Interval>& blocks, uint32_t block,
             uint32_t start, uint32_t end)
      : method_(method),
        sharing_(sharing),
        effects_(effects),
        blocks_(blocks),
        block_(block),
        start_(start),
        nodes_(end - start) {}

  std::vector<uint32_t> Run() {
    Connect();
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].waits_for == 0) Push(n);
    }
    std::vector<uint32_t> order;
    while (!ready_.empty()) {
      const auto [rank, growth, node, version] = ready_.top();
      ready_.pop();
      if (nodes_[node].done || version != nodes_[node].version) continue;
      nodes_[node].done = true;
      order.push_back(start_ + node);
      Finish(node);
    }
    return order;
  }

 private:
  struct Node {
    std::vector<uint32_t> storages;  // accessed storages, ascending, without duplicates
    std::vector<uint32_t> followers;
    uint32_t waits_for = 0;
    uint32_t version = 0;
    bool ready = false, done = false;
    bool only_effect = false;  // has effects and no results
  };
  struct Storage {
    uint32_t users = 0;  // unscheduled users
    uint64_t sum = 0;    // sum of their indices, which identifies the last one
    bool alive = false;
    bool stays = false;  // live-out: a later block uses it
  };
  // Priority: effects first, then the smallest memory growth, then the original order.
  using Entry = std::tuple<int, int64_t, uint32_t, uint32_t>;

  void Connect() {
    struct Access {
      std::optional<uint32_t> writer;
      std::vector<uint32_t> readers;  // since the last write
    };
    absl::flat_hash_map<uint32_t, Access> accesses;
    std::optional<uint32_t> last_effect;
    const auto follow = [&](uint32_t first, uint32_t second) {
      if (first == second) return;
      nodes_[first].followers.push_back(second);
      ++nodes_[second].waits_for;
    };
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const schema::Instruction& instruction = method_.instructions(static_cast<int>(start_ + n));
      const Operands operands = OperandsOf(method_, instruction);
      for (uint32_t v : operands.reads) {
        Access& access = accesses[v];
        if (access.writer.has_value()) follow(*access.writer, n);
        access.readers.push_back(n);
        Touch(v, n);
      }
      for (uint32_t v : operands.writes) {
        Access& access = accesses[v];
        if (access.writer.has_value()) follow(*access.writer, n);
        for (uint32_t reader : access.readers) follow(reader, n);
        access.readers.clear();
        access.writer = n;
        Touch(v, n);
      }
      if (effects_[start_ + n]) {
        nodes_[n].only_effect = operands.writes.empty();
        if (last_effect.has_value()) follow(*last_effect, n);
        last_effect = n;
      }
      if (instruction.has_jump() || instruction.has_jump_if_false()) {
        for (uint32_t before = 0; before < n; ++before) follow(before, n);  // it ends the block
      }
    }
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      std::vector<uint32_t>& storages = nodes_[n].storages;
      std::sort(storages.begin(), storages.end());
      storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
      for (uint32_t s : storages) {
        ++storages_[s].users;
        storages_[s].sum += n;
      }
    }
  }

  void Touch(uint32_t value, uint32_t node) {
    const auto place = sharing_.PlaceOf(value);
    if (!place.has_value()) return;
    nodes_[node].storages.push_back(place->storage);
    Storage& storage = storages_[place->storage];
    storage.alive = blocks_[place->storage].first < block_;
    storage.stays = blocks_[place->storage].last > block_;
  }

  int64_t Growth(uint32_t node) const {
    int64_t growth = 0;
    for (uint32_t s : nodes_[node].storages) {
      const Storage& storage = storages_.at(s);
      const int64_t bytes = static_cast<int64_t>(sharing_.bytes(s));
      if (!storage.alive) growth += bytes;
      if (!storage.stays && storage.users == 1) growth -= bytes;
    }
    return growth;
  }

  void Push(uint32_t node) {
    Node& n = nodes_[node];
    n.ready = true;
    ready_.push({n.only_effect ? 0 : 1, Growth(node), node, ++n.version});
  }

  void Finish(uint32_t node) {
    for (uint32_t s : nodes_[node].storages) {
      Storage& storage = storages_[s];
      storage.alive = true;
      --storage.users;
      storage.sum -= node;
      // The last user now frees the storage, so its priority changes.
      if (storage.users == 1 && nodes_[storage.sum].ready) Push(static_cast<uint32_t>(storage.sum));
    }
    for (uint32_t follower : nodes_[node].followers) {
      if (--nodes_[follower].waits_for == 0) Push(follower);
    }
  }

  const schema::Method& method_;
  const StorageSharing& sharing_;
  const std::vector<bool>& effects_;
  const std::vector<Interval>& blocks_;  // by storage
  const uint32_t block_;
  const uint32_t start_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<uint32_t, Storage> storages_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready_;
};

}  // namespace

std::vector<uint32_t> OriginalOrder(const schema::Method& method) {
  std::vector<uint32_t> order(method.instructions_size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<uint32_t> LowMemoryOrder(const schema::Method& method, const StorageSharing& sharing,
                                     const std::vector<bool>& effects) {
  const std::vector<uint32_t> starts = BlockStarts(method);
  // By storage: the first and the last block that access it; results are live after the last block.
  std::vector<Interval> blocks(method.values_size());
  const auto touch = [&](uint32_t value, uint32_t block) {
    if (const auto place = sharing.PlaceOf(value)) blocks[place->storage].Add({block, block});
  };
  for (uint32_t b = 0; b + 1 < starts.size(); ++b) {
    for (uint32_t i = starts[b]; i < starts[b + 1]; ++i) {
      const Operands operands = OperandsOf(method, method.instructions(static_cast<int>(i)));
      for (uint32_t v : operands.reads) touch(v, b);
      for (uint32_t v : operands.writes) touch(v, b);
    }
  }
  for (uint32_t output : method.outputs()) touch(output, static_cast<uint32_t>(starts.size()));
  std::vector<uint32_t> order;
  order.reserve(method.instructions_size());
  for (uint32_t b = 0; b + 1 < starts.size(); ++b) {
    const std::vector<uint32_t> block =
        BlockOrder(method, sharing, effects, blocks, b, starts[b], starts[b + 1]).Run();
    order.insert(order.end(), block.begin(), block.end());
  }
  return order;
}

}  // namespace belay::exir
