#include "serve/webui_names.hpp"

#include <strings.h>

#include <algorithm>
#include <array>

namespace omnirt::serve {
namespace {

using Eta = WebuiSampler::Eta;

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::span<const WebuiSampler> webui_samplers() {
  static constexpr auto rows = std::to_array<WebuiSampler>({
      {"DPM++ 2M", "k_dpmpp_2m", "karras"},
      {"DPM++ SDE", "k_dpmpp_sde", "karras", Eta::fixed},
      {"DPM++ 2M SDE", "k_dpmpp_2m_sde", "exponential", Eta::fixed, "DPM++ 2M"},
      {"DPM++ 2M SDE Heun", "k_dpmpp_2m_sde_heun", "exponential", Eta::fixed},
      {"DPM++ 3M SDE", "k_dpmpp_3m_sde", "exponential", Eta::fixed},
      {"Euler a", "k_euler_a", "", Eta::fixed, "Euler"},
      {"Euler", "k_euler", ""},
      {"LMS", "k_lms", ""},
      {"Heun", "k_heun", ""},
      {"DPM2", "k_dpm_2", "karras"},
      {"DPM2 a", "k_dpm_2_a", "karras", Eta::fixed, "DPM2"},
      {"DDIM", "ddim", "", Eta::free},
      {"PLMS", "plms", ""},
      {"UniPC", "unipc", ""},
      {"LCM", "k_lcm", ""},
  });
  return rows;
}

const WebuiSampler* find_webui_sampler(std::string_view name) {
  const auto all = webui_samplers();
  auto it = std::find_if(all.begin(), all.end(), [&](const WebuiSampler& each) {
    return same(each.name, name) || same(each.alias, name);
  });
  return it == all.end() ? nullptr : &*it;
}

std::span<const WebuiSchedule> webui_schedules() {
  static constexpr auto rows = std::to_array<WebuiSchedule>({
      {"automatic", "Automatic", ""},
      {"uniform", "Uniform", "uniform"},
      {"karras", "Karras", "karras"},
      {"exponential", "Exponential", "exponential"},
      {"sgm_uniform", "SGM Uniform", "sgm_uniform"},
      {"simple", "Simple", "simple"},
      {"normal", "Normal", "normal"},
      {"ddim", "DDIM", "ddim_uniform"},
      {"beta", "Beta", "beta"},
  });
  return rows;
}

// The longest of those that match: "SGM Uniform" ends with "Uniform", too.
std::string take_webui_schedule(std::string& sampler) {
  std::string_view taken;
  size_t bytes = 0;
  for (const WebuiSchedule& each : webui_schedules()) {
    for (std::string_view name : {each.label, each.name}) {
      if (sampler.size() < name.size() + 2 || name.size() < bytes) continue;
      const size_t space = sampler.size() - name.size() - 1;
      if (sampler[space] != ' ' || !same(std::string_view(sampler).substr(space + 1), name))
        continue;
      taken = each.name;
      bytes = name.size();
    }
  }
  if (bytes > 0) sampler.resize(sampler.size() - bytes - 1);
  return std::string(taken);
}

std::string webui_scheduler(const std::string& named, const std::string& typed) {
  std::string sampler = named;
  const std::string ending = take_webui_schedule(sampler);
  const std::string schedule = ending.empty() ? typed : ending;
  const WebuiSampler* known = find_webui_sampler(sampler);
  const auto all = webui_schedules();
  auto type = std::find_if(all.begin(), all.end(), [&](const WebuiSchedule& each) {
    return same(each.name, schedule) || same(each.label, schedule);
  });
  std::string ours(schedule);
  if (type != all.end()) ours = type->ours;
  if (ours.empty() && known) ours = known->automatic;
  const std::string name = known ? std::string(known->name) : sampler;
  if (name.empty() || ours.empty()) return name + ours;
  return name + " " + ours;
}

std::span<const std::string_view> webui_latent_upscalers() {
  static constexpr auto names = std::to_array<std::string_view>(
      {"Latent", "Latent (antialiased)", "Latent (bicubic)", "Latent (bicubic antialiased)",
       "Latent (nearest)", "Latent (nearest-exact)"});
  return names;
}

std::span<const std::string_view> webui_image_upscalers() {
  static constexpr auto names = std::to_array<std::string_view>({"None", "Lanczos", "Nearest"});
  return names;
}

// None is webui's for a plain resize, which is Lanczos'.
std::string webui_upscaler(std::string_view name) {
  if (same(name, "None")) return "lanczos";
  std::string ours;
  for (char each : name) {
    if (each == ')' || each == '(') continue;
    ours += each == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  }
  return ours;
}

}  // namespace omnirt::serve
