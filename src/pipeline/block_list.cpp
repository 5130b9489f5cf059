#include "pipeline/block_list.hpp"

#include <algorithm>
#include <optional>

#include "base/nearest.hpp"

namespace omnirt {
namespace {

using BlockPtr = std::shared_ptr<const Block>;

BlockList::iterator find(BlockList& list, const std::string& name) {
  return std::ranges::find(list, name, [](const BlockPtr& block) { return block->name(); });
}

BlockList::iterator place_of(BlockList& list, const std::string& name) {
  auto it = find(list, name);
  if (it != list.end()) return it;
  throw InvalidRequest(
      {"block", name, "the list has no block of this name", suggest(name, block_names(list))});
}

void refuse_twin(BlockList& list, const Block& block) {
  if (find(list, block.name()) == list.end()) return;
  throw InvalidRequest({"block", block.name(), "the list has a block of this name already",
                        "give the new one another name, or replace the old one"});
}

// Makes `edit` in what each block of the list runs itself: edit(inner): whether it changed it.
template <class Edit>
void edit_inner(BlockList& list, Edit&& edit) {
  for (BlockPtr& block : list) {
    BlockList inner = block->inner();
    if (!inner.empty() && edit(inner)) block = block->with_inner(inner);
  }
}

// The place in `inner` of a block that is inserted before list[at]; nullopt where it is outside
// what the loop runs.
std::optional<size_t> place_inside(const BlockList& list, size_t at, const BlockList& inner) {
  auto stands_before = [&](const BlockPtr& block) {
    return std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(at), block) !=
           list.begin() + static_cast<std::ptrdiff_t>(at);
  };
  auto place = static_cast<size_t>(std::ranges::count_if(inner, stands_before));
  if (place == 0 || place == inner.size()) return std::nullopt;
  return place;
}

void insert_at(BlockList& list, size_t at, BlockPtr block) {
  refuse_twin(list, *block);
  BlockList edited = list;
  edit_inner(edited, [&](BlockList& inner) {
    auto place = place_inside(list, at, inner);
    if (place) inner.insert(inner.begin() + static_cast<std::ptrdiff_t>(*place), block);
    return place.has_value();
  });
  edited.insert(edited.begin() + static_cast<std::ptrdiff_t>(at), std::move(block));
  list = std::move(edited);
}

}  // namespace

void insert_before(BlockList& list, const std::string& name, BlockPtr block) {
  insert_at(list, static_cast<size_t>(place_of(list, name) - list.begin()), std::move(block));
}

void insert_after(BlockList& list, const std::string& name, BlockPtr block) {
  insert_at(list, static_cast<size_t>(place_of(list, name) - list.begin()) + 1, std::move(block));
}

void append(BlockList& list, BlockPtr block) {
  refuse_twin(list, *block);
  list.push_back(std::move(block));
}

BlockPtr replace(BlockList& list, const std::string& name, BlockPtr block) {
  BlockPtr old = *place_of(list, name);
  if (block->name() != name) refuse_twin(list, *block);
  BlockList edited = list;
  *place_of(edited, name) = block;
  edit_inner(edited, [&](BlockList& inner) {
    auto place = std::ranges::find(inner, old);
    if (place == inner.end()) return false;
    *place = block;
    return true;
  });
  list = std::move(edited);
  return old;
}

BlockPtr remove(BlockList& list, const std::string& name) {
  BlockPtr old = *place_of(list, name);
  BlockList edited = list;
  edited.erase(place_of(edited, name));
  edit_inner(edited, [&](BlockList& inner) { return std::erase(inner, old) > 0; });
  list = std::move(edited);
  return old;
}

const Block* find_block(const BlockList& list, const std::string& name) {
  auto it = std::ranges::find(list, name, [](const BlockPtr& block) { return block->name(); });
  return it == list.end() ? nullptr : it->get();
}

std::vector<std::string> block_names(const BlockList& list) {
  std::vector<std::string> names;
  for (const BlockPtr& block : list) names.push_back(block->name());
  return names;
}

}  // namespace omnirt
