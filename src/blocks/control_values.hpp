#pragma once
#include <optional>
#include <string>
#include <vector>

#include "io/image_fit.hpp"
#include "io/preprocess.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/denoiser.hpp"
#include "pipeline/walk.hpp"

// What the blocks of ControlNets, T2I-Adapters and IP-Adapters have in common.
namespace omnirt::blocks {

// At most this many of a kind take part in a request.
inline constexpr size_t most_controls = 4;
// Of IP-Adapters this many, each with up to most_controls images.
inline constexpr size_t most_prompts = 2;

// An image for a network that takes `channels` of it, 1 or 3: resized by Lanczos's filter where it
// has another size, {1, channels, height, width} fp32 in 0..1 (reference: VaeImageProcessor without
// do_normalize, and _preprocess_adapter_image). What `how` makes of it is made at that size.
Tensor control_pixels(const io::Image& image, int64_t channels, int64_t height, int64_t width,
                      ImageFit fit, const io::Preprocess& how);

// How the image of the part at `place` is prepared, of the port's value: one for all, or a list;
// where it is not given, as it is. Throws InvalidRequest.
io::Preprocess preprocess_of(const std::optional<Json>& given, const Config<Json>& port,
                             size_t place);
// Finds what is wrong with it, for this many parts.
void check_preprocess(Checks& checks, const Config<Json>& port, size_t parts);

// What the part at `place` draws from a generator for all that starts with this seed, where each
// part before it draws as much.
Tensor drawn_at(size_t place, uint64_t seed, const std::vector<int64_t>& shape);
// A run that draws so, for what it does not take (refuse_generators).
inline constexpr const char* drawing_control = "this model's ControlNet";
// Whether a condition is without the prompt.
bool asks_without_prompt(Frame& frame);

// The mode of the ControlNet at `place`, of a number for all or a list; null where it is given
// none.
Json mode_at(const std::optional<Json>& given, size_t place);
// The value of the part at `place` of a number for all, or of a list.
double part_of(const Json& value, size_t place);
// The strength of the part at `place` at a step; 0 where that is outside its part of the run
// (reference: controlnet_keep).
struct ControlStrength {
  Json scale, start, end;  // a number for all, or a list each
};
double strength_at(const LoopProgress& at, const ControlStrength& all, size_t place);
// Finds what is wrong with a number or list: `parts` of it, each in lowest..highest.
void check_parts(Checks& checks, const Config<Json>& port, size_t parts, double lowest,
                 double highest);

// Whether a component is of this class; a finding where it is not.
bool is_of_class(Checks& checks, const Port& component, const char* class_name);
// A finding where a component reads images of another number of channels than images have: 3, or 1.
void check_channels(Checks& checks, const Port& component, int64_t channels, const char* name);

// What a UNet with embeddings of this width is known as: "a Stable Diffusion 1.x".
std::string family_of_width(int64_t cross_attention_dim);

// Adds tensors to those of an input of the batch, one by one, or makes them the input.
void add_to_input(RowBatch& batch, const std::string& name, const std::vector<Tensor>& values);

}  // namespace omnirt::blocks
