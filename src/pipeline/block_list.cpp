#include "pipeline/block_list.hpp"

#include <algorithm>

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

}  // namespace

void insert_before(BlockList& list, const std::string& name, BlockPtr block) {
  auto place = place_of(list, name);
  refuse_twin(list, *block);
  list.insert(place, std::move(block));
}

void insert_after(BlockList& list, const std::string& name, BlockPtr block) {
  auto place = place_of(list, name);
  refuse_twin(list, *block);
  list.insert(place + 1, std::move(block));
}

void append(BlockList& list, BlockPtr block) {
  refuse_twin(list, *block);
  list.push_back(std::move(block));
}

BlockPtr replace(BlockList& list, const std::string& name, BlockPtr block) {
  auto place = place_of(list, name);
  if (block->name() != name) refuse_twin(list, *block);
  std::swap(*place, block);
  return block;
}

BlockPtr remove(BlockList& list, const std::string& name) {
  auto place = place_of(list, name);
  BlockPtr removed = *place;
  list.erase(place);
  return removed;
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
