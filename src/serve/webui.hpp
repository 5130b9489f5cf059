#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "serve/http.hpp"
#include "serve/served_request.hpp"
#include "serve/webui_fields.hpp"

namespace omnirt::serve {

// What a request of webui's routes is read with.
struct WebuiSetting {
  const ServedModels& models;
  std::string model;  // of a request that names none
  // Whether a task of a model has a config key.
  std::function<bool(const std::string& model, const std::string& key)> has_key;
  // The steps of a request that names none.
  std::function<int64_t(const std::string& model)> default_steps;
};

// A request of /sdapi/v1/txt2img or img2img, as one of ours.
struct WebuiRequest {
  ServedRequest served;
  Json parameters;          // as it was sent; images only where it says include_init_images
  std::string model;        // as it is served
  bool send_images = true;  // in the answer
  int64_t batch_size = 1, batches = 1;
  std::vector<Finding> notes;  // what is ignored, or done otherwise than it says
};

// Reads a JSON body by webui_fields(). What is not set is the model's own, where webui has values
// for all models. Fields that change no image, unknown ones among them, are ignored with a note.
// Throws InvalidRequest for fields that would change the image and cannot here.
WebuiRequest read_webui_request(std::string_view body, WebuiRoute route,
                                const WebuiSetting& setting);
// The served name that `given` means: the id, or webui's title "id [hash]", with or without
// ".safetensors"; "" where there is none.
std::string webui_model_of(const std::string& given, const ServedModels& models);

bool is_webui(const std::string& path);
// The name that webui's clients know for the field of a finding.
std::string webui_name_of(const std::string& field);
// A problem as webui's clients read errors: {error, detail, body, errors}. Fields have webui's
// names.
HttpResponse webui_error(HttpResponse problem);

}  // namespace omnirt::serve
