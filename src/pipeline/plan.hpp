#pragma once
#include <map>
#include <string>
#include <vector>

#include "guiders/guider.hpp"
#include "pipeline/block.hpp"

namespace omnirt {

struct Catalogue;

// Something that a request must or may bring.
struct RequestInput {
  std::string name;
  std::type_index type;
  bool required = true;
  std::string help;
  std::string block;  // that takes it first
};

// The blocks that take part in a run, and what follows from their declarations.
struct Plan {
  BlockList blocks;
  std::vector<RequestInput> inputs;        // what no block makes
  std::vector<const KeyInfo*> keys;        // of all active blocks, once each
  std::vector<std::string> components;     // in order of first use
  std::map<std::string, size_t> last_use;  // component -> index of the last block that uses it
  // value -> index of the last block that reads it, or of its maker where none does; a loop reads
  // what the step blocks before it read.
  std::map<std::string, size_t> last_read;
  std::vector<Finding> problems;  // what is wrong with the declarations

  const RequestInput* find_input(const std::string& name) const;
  // Whether block `index` or a later one reads a value. A loop may read what its own blocks make.
  bool reads_after(size_t index, const std::string& name) const;
  std::string workflow() const;  // "encode_prompt > ... > export_images"
};

// Leaves the blocks whose triggers hold, and derives the rest. `conditions` are the guider's: their
// renames add inputs. A problem that a missing block makes names those of the list, and of
// `catalogue` where it is given, that could make what is missing.
Plan make_plan(const BlockList& blocks, const Facts& facts,
               const std::vector<Condition>& conditions, const Catalogue* catalogue = nullptr);
// The blocks of a list that run by themselves: those whose triggers hold, without those that
// another of these runs. Loops have of their lists the blocks whose triggers hold. What a loop
// cannot run so is added to `problems`.
BlockList active_blocks(const BlockList& blocks, const Facts& facts,
                        std::vector<Finding>* problems = nullptr);
// Whether the block, or one that it runs, reads the value once for each condition.
bool reads_per_condition(const Block& block, const std::string& value);
// What a request can bring; everything else only blocks make.
bool is_request_type(std::type_index type);

}  // namespace omnirt
