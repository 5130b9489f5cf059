// Inputs that are files, or are in memory.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "request/given_values.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

constexpr size_t max_images = 64;

// What `value` names of the values that are in memory; null where it names none.
template <class T>
std::shared_ptr<const T> in_memory(const Proposal& proposal,
                                   std::vector<std::shared_ptr<const T>> GivenValues::*kind,
                                   const Json& value) {
  const GivenValues* given = proposal.request.given.get();
  if (!given || !value.is_object() || value.size() != 1 || !value.contains("in_memory"))
    return nullptr;
  const Json& place = value["in_memory"];
  const auto& all = given->*kind;
  // What a program writes as 0 is a signed number, what is read from a text an unsigned one.
  if (!place.is_number_integer() || place.get<int64_t>() < 0) return nullptr;
  const auto at = place.get<size_t>();
  return at < all.size() ? all[at] : nullptr;
}

// The image that `value` names; nothing, and a finding, where it names none.
std::optional<ImageInput> probed(Proposal& proposal, const std::string& field, const Json& value) {
  if (auto image = in_memory(proposal, &GivenValues::images, value)) {
    return ImageInput{in_memory_path,
                      {io::ImageFormat::png, image->width, image->height, image->channels},
                      image};
  }
  if (!value.is_string() || value.get<std::string>().empty()) {
    proposal.error(
        {field, shown(value), "the path of an image is expected", "png, jpeg and webp are read"});
    return std::nullopt;
  }
  try {
    std::string path = proposal.path_of(field, value.get<std::string>());
    return ImageInput{path, io::probe_image(path)};
  } catch (const InvalidRequest& thrown) {
    for (Finding finding : thrown.findings()) {
      if (finding.field != field) finding.field = field + " (" + finding.field + ")";
      proposal.error(std::move(finding));
    }
  }
  return std::nullopt;
}

void take_image(Proposal& proposal, const std::string& name, const Json& value) {
  auto image = probed(proposal, "inputs." + name, value);
  if (image) proposal.images[name] = *image;
}

void take_images(Proposal& proposal, const std::string& name, const Json& value) {
  std::string field = "inputs." + name;
  Json list = value.is_array() ? value : Json::array({value});
  if (list.empty() || list.size() > max_images) {
    proposal.error({field, fmt::format("{} images", list.size()),
                    fmt::format("1 to {} are taken", max_images), ""});
    return;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    auto image = probed(proposal, fmt::format("{}[{}]", field, i), list[i]);
    if (image) proposal.image_lists[name].push_back(*image);
  }
}

// An input with what `told` finds out about it; findings name the input.
template <class Input, class Told>
void take_told(Proposal& proposal, std::map<std::string, Input>& inputs, const std::string& name,
               Told&& told) {
  std::string field = "inputs." + name;
  try {
    inputs[name] = told();
  } catch (const InvalidRequest& thrown) {
    for (Finding finding : thrown.findings()) {
      if (finding.field != field) finding.field = field + " (" + finding.field + ")";
      proposal.error(std::move(finding));
    }
  }
}

// The file that an input names, with what `probe` reads of its header.
template <class Input, class Probe>
void take_file(Proposal& proposal, std::map<std::string, Input>& files, const std::string& name,
               const Json& value, Probe&& probe, const char* expected, const char* way_out) {
  std::string field = "inputs." + name;
  if (!value.is_string() || value.get<std::string>().empty()) {
    proposal.error({field, shown(value), expected, way_out});
    return;
  }
  take_told(proposal, files, name, [&] {
    std::string path = proposal.path_of(field, value.get<std::string>());
    return Input{path, probe(path)};
  });
}

void take_latents(Proposal& proposal, const std::string& name, const Json& value) {
  if (auto given = in_memory(proposal, &GivenValues::latents, value)) {
    return take_told(proposal, proposal.latents, name, [&] {
      return LatentsInput{in_memory_path, latents_info(*given), given};
    });
  }
  take_file(proposal, proposal.latents, name, value, probe_latents,
            "the path of a latents file is expected", "config.output_type latent writes one");
}

void take_embeds(Proposal& proposal, const std::string& name, const Json& value) {
  if (auto given = in_memory(proposal, &GivenValues::embeds, value)) {
    return take_told(proposal, proposal.embeds, name, [&] {
      return EmbedsInput{in_memory_path, embeds_info(*given), given};
    });
  }
  take_file(proposal, proposal.embeds, name, value, probe_embeds,
            "the path of a safetensors file is expected",
            "save prompt_embeds, as diffusers' encode_prompt gives it, in one");
}

}  // namespace

bool take_files(Proposal& proposal, const RequestInput& input, const Json& value) {
  if (input.type == typeid(io::Image))
    take_image(proposal, input.name, value);
  else if (input.type == typeid(std::vector<io::Image>))
    take_images(proposal, input.name, value);
  else if (input.type == typeid(GivenLatents))
    take_latents(proposal, input.name, value);
  else if (input.type == typeid(GivenEmbeds))
    take_embeds(proposal, input.name, value);
  else
    return false;
  return true;
}

void take_noise(Proposal& proposal) {
  if (!proposal.request.given || !proposal.request.given->noise) return;
  proposal.noise = proposal.request.given->noise;
  const bool draws = std::ranges::any_of(proposal.plan.blocks, [](const auto& block) {
    return std::ranges::any_of(block->ports(), [](const PortInfo& port) {
      return port.kind == PortInfo::Kind::output && port.type == typeid(std::shared_ptr<Noise>);
    });
  });
  if (!draws) {
    proposal.error({"inputs.generator", fmt::format("{} generators", proposal.noise->size()),
                    "this run draws no noise", "remove it"});
  }
}

}  // namespace omnirt::validation
