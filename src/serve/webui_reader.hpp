#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "serve/webui.hpp"

namespace omnirt::serve {

// Reads the fields of one body of /sdapi/v1/txt2img or img2img.
class WebuiReader {
 public:
  // Throws InvalidRequest where the body is no object.
  WebuiReader(Json fields, WebuiRoute route, const WebuiSetting& setting);
  // Throws InvalidRequest with all that was wrong.
  WebuiRequest read();

 private:
  void refuse(const std::string& field, const Json& value, const std::string& message,
              const std::string& fix);
  // What is ignored or done otherwise, for the answer's `info`.
  void note(const std::string& field, const Json& value, const std::string& message,
            const std::string& fix = "");
  // Null where it is not given.
  const Json& at(const char* name) const;
  std::string text(const char* name) const;
  bool flag(const char* name) const;
  int64_t count(const char* name, int64_t otherwise) const;
  Json& config() { return request_["config"]; }

  void check_fields();
  void check_field(const WebuiField& field, Json& value);
  void ignore_field(const std::string& name, const Json& value);
  void check_scripts();
  void override_settings();
  void setting(const std::string& name, const Json& value);
  void model(const Json& name);
  void clip_skip(const char* field, const Json& value);
  void format(const Json& value);
  void previews(const Json& value);

  void guidance();
  void sampler();
  std::string eta(const std::string& sampler);
  void prompts();
  void images_at_a_time(WebuiRequest& made);
  void second_pass();
  void second_size();
  void same_in_second_pass(const char* name, const std::string& first, const char* usual);
  void same_guidance_in_second_pass();
  void start_image();
  Json strength(const char* steps);
  void mask();
  void mask_blur();

  Json fields_;
  WebuiRoute route_;
  const WebuiSetting& setting_;
  Json request_ = {{"inputs", Json::object()}, {"config", Json::object()}};
  std::vector<Finding> findings_, notes_;
  bool skips_layers_ = false;  // override_settings has said so
};

}  // namespace omnirt::serve
