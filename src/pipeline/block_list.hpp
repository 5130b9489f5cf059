#pragma once
#include <memory>
#include <string>
#include <vector>

#include "pipeline/block.hpp"

namespace omnirt {

// Editing a pipeline: blocks are found by name, and the plan of the next request is derived from
// the list as it then is. A list is edited before an Engine is made with it:
//
//   Catalogue catalogue = builtin_catalogue();
//   auto match = std::make_shared<MatchColours>();
//   insert_after(catalogue.family("sd").blocks, "decode_latents", match);
//   Engine engine(std::move(catalogue));
//
// "denoise.step" is the block `step` of the list that `denoise` runs, and "loop.denoise.step" one
// of a loop in a loop. Edits by such a name hold for every loop that runs `denoise`.
//
// Edits of the list reach the loops that run its blocks (Block::inner): what is replaced or removed
// is so inside them too, and a block that is inserted between two blocks which such a loop runs is
// run by it as well, unless it is a loop over the same blocks.
//
// All throw InvalidRequest and leave the list as it was: for a name that no block of the list has,
// with the nearest; for a block whose own name another block of the list has; for an edit that a
// loop cannot take over.
void insert_before(BlockList& list, const std::string& name, std::shared_ptr<const Block> block);
void insert_after(BlockList& list, const std::string& name, std::shared_ptr<const Block> block);
void append(BlockList& list, std::shared_ptr<const Block> block);
// The block that was there.
std::shared_ptr<const Block> replace(BlockList& list, const std::string& name,
                                     std::shared_ptr<const Block> block);
std::shared_ptr<const Block> remove(BlockList& list, const std::string& name);

// Null when no block has the name.
const Block* find_block(const BlockList& list, const std::string& name);
// The block of this name. Throws InvalidRequest with the nearest where there is none.
std::shared_ptr<const Block> block_of(const BlockList& list, const std::string& name);
std::vector<std::string> block_names(const BlockList& list);

// The blocks of a list, and after each loop those that only it runs, by the names that edits take.
struct NamedBlock {
  std::string name;  // "denoise.step"
  std::shared_ptr<const Block> block;
};
std::vector<NamedBlock> all_blocks(const BlockList& list);

}  // namespace omnirt
