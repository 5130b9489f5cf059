#include "serve/webui_lists.hpp"

#include <array>

#include "serve/request_words.hpp"
#include "serve/webui_names.hpp"

namespace omnirt::serve {
namespace {

Json sampler_list(const ServedModels&) {
  Json list = Json::array();
  for (const WebuiSampler& each : webui_samplers()) {
    Json options = Json::object();
    if (!each.automatic.empty()) options["scheduler"] = each.automatic;
    list.push_back(
        {{"name", each.name}, {"aliases", Json::array({each.alias})}, {"options", options}});
  }
  return list;
}

Json schedule_list(const ServedModels&) {
  Json list = Json::array();
  for (const WebuiSchedule& each : webui_schedules())
    list.push_back({{"name", each.name},
                    {"label", each.label},
                    {"aliases", nullptr},
                    {"default_rho", -1},
                    {"need_inner_model", false}});
  return list;
}

Json model_list(const ServedModels& models) {
  Json list = Json::array();
  for (const auto& [id, path] : models.models)
    list.push_back({{"title", id},
                    {"model_name", id},
                    {"hash", nullptr},
                    {"sha256", nullptr},
                    {"filename", id},
                    {"config", nullptr}});
  return list;
}

Json lora_list(const ServedModels& models) {
  Json list = Json::array();
  for (const std::string& name : served_lora_names(models))
    list.push_back({{"name", name}, {"alias", name}, {"path", name}, {"metadata", Json::object()}});
  return list;
}

Json upscaler_list(const ServedModels&) {
  Json list = Json::array();
  for (std::string_view name : webui_image_upscalers())
    list.push_back({{"name", name},
                    {"model_name", nullptr},
                    {"model_path", nullptr},
                    {"model_url", nullptr},
                    {"scale", 4}});
  return list;
}

Json latent_upscaler_list(const ServedModels&) {
  Json list = Json::array();
  for (std::string_view name : webui_latent_upscalers()) list.push_back({{"name", name}});
  return list;
}

Json empty_list(const ServedModels&) {
  return Json::array();
}

Json embedding_list(const ServedModels&) {
  return {{"loaded", Json::object()}, {"skipped", Json::object()}};
}

Json script_list(const ServedModels&) {
  return {{"txt2img", Json::array()}, {"img2img", Json::array()}};
}

constexpr const char* none = "empty: this server has none";

}  // namespace

std::span<const WebuiListInfo> webui_lists() {
  static constexpr auto rows = std::to_array<WebuiListInfo>({
      {"samplers", "WebuiSamplers", "what sampler_name may be", sampler_list},
      {"schedulers", "WebuiSchedules", "what scheduler may be", schedule_list},
      {"sd-models", "WebuiModels", "what sd_model_checkpoint may be", model_list},
      {"loras", "WebuiLoras", "the adapters that prompts may name", lora_list},
      {"upscalers", "WebuiUpscalers", "what hr_upscaler may be", upscaler_list},
      {"latent-upscale-modes", "WebuiNames", "what hr_upscaler may be", latent_upscaler_list},
      {"embeddings", "WebuiEmbeddings", none, embedding_list},
      {"scripts", "WebuiScripts", none, script_list},
      {"sd-vae", "EmptyList", none, empty_list},
      {"sd-modules", "EmptyList", none, empty_list},
      {"hypernetworks", "EmptyList", none, empty_list},
      {"face-restorers", "EmptyList", none, empty_list},
      {"realesrgan-models", "EmptyList", none, empty_list},
      {"prompt-styles", "EmptyList", none, empty_list},
      {"script-info", "EmptyList", none, empty_list},
      {"extensions", "EmptyList", none, empty_list},
  });
  return rows;
}

}  // namespace omnirt::serve
