#pragma once
#include <random>
#include <string>
#include <vector>

namespace omnirt::fuzz {

using Random = std::mt19937_64;

// Legal contents of safetensors files, and of shard indexes, to begin with.
std::vector<std::string> safetensors_seeds(Random& random);
std::vector<std::string> index_seeds();

// A few changes to a safetensors file: to its bytes, its header's text or its length. After a
// change of the text the length is mostly made right again, so that the change is reached.
std::string mutate_safetensors(std::string file, Random& random);
// A few changes to JSON text.
std::string mutate_text(std::string text, Random& random);

}  // namespace omnirt::fuzz
