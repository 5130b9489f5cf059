// Requests as files: JSON and YAML, with aliases.
#include <array>

#include "base/error.hpp"
#include "fuzz/target.hpp"
#include "request/request.hpp"

namespace omnirt::fuzz {
namespace {

// An input's first byte picks one.
enum Kind : char { json_request, yaml_request };

constexpr std::array json_seeds{
    R"({"task": "text2image", "model": "emoji-sd", "backend": "cpu", "inputs": {"prompt": ["a", "b"],)"
    R"( "image": "in.png"}, "config": {"seed": 7, "steps": 3, "scale": -1.5e1, "on": true},)"
    R"( "guider": {"type": "pag", "scale": 3}, "components": {"vae": "some/path"},)"
    R"( "adapters": [{"path": "a.safetensors", "scale": 0.5, "scales": {"unet": {"up": 1}}}]})",
    R"({"inputs": {"prompt": "x"}})", R"({})"};
constexpr std::array yaml_seeds{
    "task: text2image\nmodel: emoji-sd\ninputs:\n  prompt: &p a cat\n  negative_prompt: *p\n"
    "config: &c {seed: 7, steps: 3, list: [1, 2.5, '3', ~, true]}\nguider:\n  type: \"pag\"\n",
    "inputs:\n  prompt: |\n    two\n    lines\n  other: >-\n    folded\n    text\n",
    "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
    "%YAML 1.2\n---\n? key\n: !!str 5\n...\n"};
constexpr std::array yaml_parts{"&a ", "*a ", "*p", "- ", "? ", ": ", "\n", "\n  ", "|\n", ">\n",
                                "!!",  "{",   "}",  "[",  "]",  ", ", "'",  "\"",   "#",   "<<: ",
                                "---", "...", "%",  "\t", "@",  "`",  "~",  "!<",   "!",   "\\x"};

std::string mutate_yaml(std::string text, Random& random) {
  if (random() % 3 == 0) return mutate_text(std::move(text), random);
  for (size_t i = 0, count = 1 + below(6, random); i < count; ++i) {
    size_t at = below(text.size() + 1, random);
    if (random() % 4 == 0) text.erase(at, below(8, random));
    std::string part = yaml_parts[below(yaml_parts.size(), random)];
    at = std::min(at, text.size());
    for (size_t k = 0, times = random() % 16 ? 1 : below(200, random); k < times; ++k)
      text.insert(at, part);
  }
  return text;
}

}  // namespace

std::string make_input(Random& random) {
  if (random() % 3 == 0)
    return char{json_request} + mutate_text(json_seeds[below(json_seeds.size(), random)], random);
  return char{yaml_request} + mutate_yaml(yaml_seeds[below(yaml_seeds.size(), random)], random);
}

void read_input(std::string_view input) {
  if (input.empty()) return;
  std::string text(input.substr(1));
  Json json =
      input.front() == json_request ? parse_json(text, "fuzz", 4 << 20) : parse_yaml(text, "fuzz");
  json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!json.is_object()) return;
  GenerateRequest request = parse_request(json);
  require(request.inputs.is_object() && request.config.is_object(),
          "inputs and config are objects");
}

}  // namespace omnirt::fuzz
