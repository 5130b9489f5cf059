#include "blocks/entities.hpp"

#include <ATen/ops/_adaptive_avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/prompt_turns.hpp"
#include "io/image_resize.hpp"
#include "nn/blocks/attention_context.hpp"
#include "pipeline/checks.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {
namespace {

constexpr size_t most_entities = 16;

// A mask at the size of the image, 0 or 1, {H, W}.
Tensor mask_of(const io::Image& image, int64_t width, int64_t height) {
  io::Image grey = io::to_grey(image);
  if (grey.width != width || grey.height != height) grey = io::resize_lanczos(grey, width, height);
  return (image_to_tensor(grey).squeeze() > 0.5).to(at::kFloat).view({height, width});
}

}  // namespace

std::string entity_condition(size_t entity) {
  return fmt::format("entity_{}", entity);
}

void add_entity_conditions(Checks& checks, const Input<std::vector<std::string>>& prompts,
                           const Input<std::vector<io::Image>>& masks) {
  const std::vector<std::string>& texts = checks.texts(prompts);
  const size_t count = checks.images(masks).size();
  if (texts.size() != count) {
    checks.error({"inputs.entity_masks", fmt::format("{} masks", count),
                  fmt::format("{} entity_prompts were given", texts.size()),
                  "give one mask for each"});
  }
  if (texts.size() > most_entities) {
    checks.error({"inputs.entity_prompts", fmt::format("{} texts", texts.size()),
                  fmt::format("more than {}", most_entities), "give fewer"});
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string text = fmt::format("entity_prompts.{}", i);
    checks.add_condition({.name = entity_condition(i),
                          .renames = {{"prompt", text}, {"prompt_2", text}},
                          .as_prompt = true},
                         {{text, {texts[i]}}});
  }
}

void check_on_negative(Checks& checks, const Config<bool>& on_negative) {
  const std::vector<Condition> conditions = checks.conditions();
  if (!checks[on_negative] || std::ranges::any_of(conditions, &Condition::negative)) return;
  checks.unused(on_negative, "has no effect without guidance",
                "raise the guidance scale above 1, or remove it");
}

InvalidRequest entity_is_nowhere(size_t entity) {
  return InvalidRequest({fmt::format("inputs.entity_masks[{}]", entity), "",
                         "the mask is black all over: its entity would be nowhere",
                         "paint its part white"});
}

Tensor entity_token_weights(const Tensor& masks, int64_t height, int64_t width) {
  std::array<int64_t, 2> grid{height, width};
  std::vector<Tensor> all;
  while (true) {
    Tensor share = at::_adaptive_avg_pool2d(masks.unsqueeze(0), {grid[0], grid[1]});
    Tensor inside = (share >= 0.5).to(at::kFloat).flatten(2);  // {1, E, N}
    Tensor count = inside.sum(1, /*keepdim=*/true);
    all.push_back(at::cat({(count == 0).to(at::kFloat), inside / count.clamp_min(1)}, 1));
    if (grid[0] * grid[1] == 1) break;
    grid = nn::half_grid(grid);
  }
  return at::cat(all, 2);
}

Trigger has_entities() {
  return has("entity_prompts") || has("entity_masks");
}

std::vector<ConstantInput> entity_inputs() {
  return {{"entity_embeds", "entity_hidden_states", "what the entities' prompts mean"},
          {"entity_weights", "entity_weights", "what each token of the UNet takes of them"}};
}

void PlaceEntities::check(Checks& checks) const {
  add_entity_conditions(checks, entity_prompts, entity_masks);
  check_on_negative(checks, on_negative);
  if (checks.holds(has_config(keys::window_size.name))) {
    checks.error({"config.window_size", "", "entities lie in the whole image, not in windows",
                  "remove it, or entity_prompts"});
  }
  for (const std::string& text : checks.texts(entity_prompts)) {
    if (checks[syntax] == PromptSyntax::a1111 &&
        turns_of({text}, "inputs.entity_prompts", checks[steps]).prompts.size() > 1) {
      checks.error({"inputs.entity_prompts", text, "entities are read alike at every step",
                    "write words that change in the prompt"});
    }
  }
}

void PlaceEntities::run(Frame& frame) const {
  if (frame.renamed(prompt) && !frame[on_negative]) return;
  std::vector<Tensor> embeds, masks;
  for (size_t i = 0; i < frame[entity_prompts].size(); ++i) {
    embeds.push_back(frame.under(entity_condition(i), prompt_embeds));
    masks.push_back(mask_of(frame[entity_masks][i], frame[width], frame[height]));
    if (!masks.back().any().item<bool>()) throw entity_is_nowhere(i);
  }
  const auto grid = frame[vae].grid(frame[width], frame[height]);
  frame[entity_embeds] = at::stack(embeds, 1);
  frame[entity_weights] = entity_token_weights(at::stack(masks), grid.height, grid.width);
}

}  // namespace omnirt::blocks
