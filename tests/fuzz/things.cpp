// A model folder's list of what it was made to draw. What is read is compared with prompts.
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "fuzz/files.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/target.hpp"
#include "request/known_things.hpp"
#include "source_paths.hpp"

namespace omnirt::fuzz {
namespace {

std::string seed() {
  std::ifstream file(source_path("models/emoji/things.txt").string(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string make_input(Random& random) {
  static const std::string things = seed();
  std::string list = things.substr(below(things.size(), random), below(400, random));
  std::string prompt = things.substr(below(things.size(), random), below(80, random));
  if (random() % 2) list = mutate_text(list, random);
  if (random() % 2) prompt = mutate_text(prompt, random);
  // Now and then more than a list may have.
  for (uint64_t times = random() % 32 ? 0 : 9; times > 0; --times) list += list;
  return pack(0, {list, prompt});
}

void read_input(std::string_view input) {
  const Packed packed = unpack(input, 2);
  const std::filesystem::path folder = fresh_folder();
  write_text(folder / things_file, packed.parts[0]);
  const std::vector<std::string> things = read_known_things(folder);
  const std::string& prompt = packed.parts[1];
  const std::vector<std::string> near = things_near(prompt, things);
  require(near.size() <= 3, "no more than three things are near");
  require(things.empty() || names_none_of(things.front(), things) == false,
          "a list's own name is one of it");
  names_none_of(prompt, things);
}

}  // namespace omnirt::fuzz
