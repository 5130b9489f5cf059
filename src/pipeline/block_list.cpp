#include "pipeline/block_list.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/nearest.hpp"

namespace omnirt {
namespace {

using BlockPtr = std::shared_ptr<const Block>;

BlockList::const_iterator find(const BlockList& list, const std::string& name) {
  return std::ranges::find(list, name, [](const BlockPtr& block) { return block->name(); });
}

// Where a block is: in the list itself, or in that of a loop.
struct Place {
  BlockPtr loop;  // null: the list itself
  BlockPtr block;
};

Place place_of(const BlockList& list, const std::string& name) {
  Place place;
  BlockList blocks = list;
  std::string seen;
  for (size_t from = 0; from <= name.size();) {
    size_t dot = std::min(name.find('.', from), name.size());
    std::string part = name.substr(from, dot - from);
    auto it = find(blocks, part);
    if (it == blocks.end()) {
      std::string nearest = suggest(part, block_names(blocks));
      throw InvalidRequest({"block", name,
                            seen.empty() ? "the list has no block of this name"
                                         : "'" + seen + "' runs no block '" + part + "'",
                            nearest});
    }
    if (dot < name.size()) place.loop = *it;
    place.block = *it;
    BlockList inner = (*it)->inner();
    blocks = std::move(inner);
    seen = name.substr(0, dot);
    from = dot + 1;
  }
  return place;
}

void refuse_twin(const BlockList& list, const Block& block) {
  if (find(list, block.name()) == list.end()) return;
  throw InvalidRequest({"block", block.name(), "the list has a block of this name already",
                        "give the new one another name, or replace the old one"});
}

// Edits the lists that blocks run, at any depth. A loop that several blocks run stays one.
class InnerEdit {
 public:
  // Changes the list of `loop`, or leaves it.
  using Edit = std::function<void(const Block& loop, BlockList& inner)>;
  // `added`: the block that the edit brings, whose own list is not edited.
  InnerEdit(const Edit& edit, BlockPtr added) : edit_(edit), added_(std::move(added)) {}

  void in_all(BlockList& list) {
    for (BlockPtr& block : list) block = edited(block);
  }

 private:
  BlockPtr edited(const BlockPtr& block) {
    if (block == added_) return block;
    if (auto known = done_.find(block.get()); known != done_.end()) return known->second;
    const BlockList before = block->inner();
    BlockList after = before;
    if (!before.empty()) edit_(*block, after);
    in_all(after);
    return done_[block.get()] = after == before ? block : block->with_inner(after);
  }

  const Edit& edit_;
  BlockPtr added_;
  std::map<const Block*, BlockPtr> done_;
};

// Where a block that is inserted before list[at] belongs in what a loop runs; nullopt if that is
// outside.
std::optional<size_t> place_inside(const BlockList& list, size_t at, const BlockList& inner) {
  std::optional<size_t> last_before;
  bool any_behind = false;
  for (size_t i = 0; i < inner.size(); ++i) {
    auto stands = static_cast<size_t>(std::ranges::find(list, inner[i]) - list.begin());
    if (stands < at) last_before = i;
    any_behind = any_behind || (stands >= at && stands < list.size());
  }
  if (!last_before || !any_behind) return std::nullopt;
  return *last_before + 1;
}

// Whether blocks of `list` are run by `block`, at any depth.
bool runs_any(const Block& block, const BlockList& list) {
  return std::ranges::any_of(block.inner(), [&](const BlockPtr& inner) {
    return std::ranges::find(list, inner) != list.end() || runs_any(*inner, list);
  });
}

void insert_into(BlockList& list, size_t at, const BlockPtr& block) {
  refuse_twin(list, *block);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), block);
}

// `behind`: how many places after the block of this name.
void insert_at(BlockList& list, const std::string& name, size_t behind, const BlockPtr& block) {
  const Place place = place_of(list, name);
  auto index = [&](const BlockList& blocks) {
    return static_cast<size_t>(std::ranges::find(blocks, place.block) - blocks.begin()) + behind;
  };
  InnerEdit::Edit edit = [&](const Block& loop, BlockList& inner) {
    if (place.loop) {
      if (&loop == place.loop.get()) insert_into(inner, index(inner), block);
    } else if (auto at = place_inside(list, index(list), inner); at && !runs_any(*block, inner)) {
      insert_into(inner, *at, block);
    }
  };
  BlockList edited = list;
  if (!place.loop) insert_into(edited, index(list), block);
  InnerEdit(edit, block).in_all(edited);
  list = std::move(edited);
}

}  // namespace

void insert_before(BlockList& list, const std::string& name, BlockPtr block) {
  insert_at(list, name, 0, block);
}

void insert_after(BlockList& list, const std::string& name, BlockPtr block) {
  insert_at(list, name, 1, block);
}

void append(BlockList& list, BlockPtr block) {
  refuse_twin(list, *block);
  list.push_back(std::move(block));
}

BlockPtr replace(BlockList& list, const std::string& name, BlockPtr block) {
  const BlockPtr old = place_of(list, name).block;
  auto put = [&](BlockList& blocks) {
    auto at = std::ranges::find(blocks, old);
    if (at == blocks.end()) return;
    if (block->name() != old->name()) refuse_twin(blocks, *block);
    *at = block;
  };
  BlockList edited = list;
  put(edited);
  InnerEdit::Edit edit = [&](const Block&, BlockList& inner) { put(inner); };
  InnerEdit(edit, block).in_all(edited);
  list = std::move(edited);
  return old;
}

BlockPtr remove(BlockList& list, const std::string& name) {
  const BlockPtr old = place_of(list, name).block;
  BlockList edited = list;
  std::erase(edited, old);
  InnerEdit::Edit edit = [&](const Block&, BlockList& inner) { std::erase(inner, old); };
  InnerEdit(edit, nullptr).in_all(edited);
  list = std::move(edited);
  return old;
}

const Block* find_block(const BlockList& list, const std::string& name) {
  auto it = find(list, name);
  return it == list.end() ? nullptr : it->get();
}

BlockPtr block_of(const BlockList& list, const std::string& name) {
  return place_of(list, name).block;
}

std::vector<std::string> block_names(const BlockList& list) {
  std::vector<std::string> names;
  for (const BlockPtr& block : list) names.push_back(block->name());
  return names;
}

namespace {

void add_all(const BlockList& blocks, const std::string& within, std::set<const Block*>& known,
             std::vector<NamedBlock>& all) {
  for (const BlockPtr& block : blocks) {
    if (!within.empty() && !known.insert(block.get()).second) continue;
    const std::string name = within + block->name();
    all.push_back({name, block});
    add_all(block->inner(), name + ".", known, all);
  }
}

}  // namespace

std::vector<NamedBlock> all_blocks(const BlockList& list) {
  std::vector<NamedBlock> all;
  std::set<const Block*> known;
  for (const BlockPtr& block : list) known.insert(block.get());
  add_all(list, "", known, all);
  return all;
}

}  // namespace omnirt
