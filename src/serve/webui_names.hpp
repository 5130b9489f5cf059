#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace omnirt::serve {

// stable-diffusion-webui's samplers that this program has (modules/sd_samplers_*.py).
struct WebuiSampler {
  enum class Eta {
    none,   // does not take it
    fixed,  // is ancestral or stochastic: 1 here
    free,   // DDIM's
  };
  std::string_view name, alias;
  std::string_view automatic;  // its own schedule type
  Eta eta = Eta::none;
  std::string_view without_noise{};  // what it is with eta 0
};
std::span<const WebuiSampler> webui_samplers();
// By its name or alias, in small or capital letters; null: none.
const WebuiSampler* find_webui_sampler(std::string_view name);

// Its schedule types: `name` as requests have it, `label` as its page, `ours` in our names.
struct WebuiSchedule {
  std::string_view name, label, ours;
};
std::span<const WebuiSchedule> webui_schedules();

// Takes the schedule type off the end of a sampler's name, as "DPM++ 2M Karras" has it, and returns
// it; "" where there is none.
std::string take_webui_schedule(std::string& sampler);
// config.scheduler for a sampler (or "") and a schedule type (or ""), as far as the names are
// known; others are left as they are, for validation to name. A type that the sampler's name ends
// with is the one that counts.
std::string webui_scheduler(const std::string& sampler, const std::string& schedule);
// "Latent (nearest-exact)" as config.hires_upscaler has it.
std::string webui_upscaler(std::string_view name);
std::span<const std::string_view> webui_latent_upscalers();
std::span<const std::string_view> webui_image_upscalers();

}  // namespace omnirt::serve
