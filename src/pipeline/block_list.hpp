#pragma once
#include <string>

#include "pipeline/block.hpp"

namespace omnirt {

// Editing a pipeline: blocks are found by name, and the plan of the next request is derived from
// the list as it then stands. A list is edited before an Engine is made with it:
//
//   Catalogue catalogue = builtin_catalogue();
//   insert_after(catalogue.family("sd").blocks, "decode_latents",
//   std::make_shared<MatchColours>()); Engine engine(std::move(catalogue));
//
// All throw InvalidRequest: for a name that no block of the list has, with the nearest; for a
// block whose own name another block of the list has.
void insert_before(BlockList& list, const std::string& name, std::shared_ptr<const Block> block);
void insert_after(BlockList& list, const std::string& name, std::shared_ptr<const Block> block);
void append(BlockList& list, std::shared_ptr<const Block> block);
// The block that was there.
std::shared_ptr<const Block> replace(BlockList& list, const std::string& name,
                                     std::shared_ptr<const Block> block);
std::shared_ptr<const Block> remove(BlockList& list, const std::string& name);

// Null when no block has the name.
const Block* find_block(const BlockList& list, const std::string& name);
std::vector<std::string> block_names(const BlockList& list);

}  // namespace omnirt
