#pragma once
#include "blocks/denoise.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/prompt_keys.hpp"

namespace omnirt::keys {

inline constexpr Key<bool> entities_on_negative{
    "entities_on_negative",
    false,
    {},
    "entities-on-negative",
    "entities hold for the negative prompt's prediction too"};

}  // namespace omnirt::keys

namespace omnirt::blocks {

// Several prompts, each for the part of the image that its mask shows (regional attention, as
// EliGen, Zhang et al. 2025, arXiv 2501.01097, controls entities). Inside a mask the UNet's cross
// attention goes to the entity's prompt, to several equally where masks overlap; outside all to the
// prompt; outside a mask to its entity not at all.
//
// Each entity is a condition that no guider asks for, so that the family's own blocks encode it.
class PlaceEntities final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> on_negative{this, keys::entities_on_negative};
  Config<PromptSyntax> syntax{this, keys::prompt_syntax};
  Config<int64_t> steps{this, keys::num_inference_steps};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<std::string>> entity_prompts{this, "entity_prompts",
                                                 "what the parts of the image show"};
  Input<std::vector<io::Image>> entity_masks{
      this, "entity_masks", "where: white in a mask an entity, one for each of entity_prompts"};
  Input<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> entity_embeds{
      this, "entity_embeds", "what the entities' prompts mean", {"B", "E", "T", "D"}};
  Output<Tensor> entity_weights{
      this, "entity_weights", "what each token of the UNet takes of them", {"1", "1 + E", "N"}};

  explicit PlaceEntities(Trigger trigger)
      : Block("place_entities", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

// For each entity a condition that no guider asks for, under which blocks encode its prompt; and
// what is wrong with the number of prompts and masks.
std::string entity_condition(size_t entity);
void add_entity_conditions(Checks& checks, const Input<std::vector<std::string>>& prompts,
                           const Input<std::vector<io::Image>>& masks);
// Warns of entities_on_negative in a run without a negative prompt's prediction.
void check_on_negative(Checks& checks, const Config<bool>& on_negative);
// The finding of a mask that is black all over.
InvalidRequest entity_is_nowhere(size_t entity);
// The request brings entities, or half of what they need.
Trigger has_entities();
// What a denoise loop passes to a UNet of them.
std::vector<ConstantInput> entity_inputs();
// What a token of a grid takes of the text and of each entity, {1, 1 + E, N} for all grids from
// {height, width} down (nn::AttentionContext::entity_weights). masks {E, H, W}, 0 or 1: a token is
// in a mask where at least half of its pixels are.
Tensor entity_token_weights(const Tensor& masks, int64_t height, int64_t width);

}  // namespace omnirt::blocks
