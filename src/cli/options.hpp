#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/keys.hpp"
#include "request/request.hpp"

namespace omnirt::cli {

// The flags that describe a request: those of its fields, and one a config key, derived from the
// keys' declarations.
class RequestOptions {
 public:
  // `model_defaults`: names of the keys whose default depends on the model.
  RequestOptions(CLI::App& app, const std::vector<const KeyInfo*>& keys,
                 const std::set<std::string>& model_defaults);

  // The request of `-f`, with the flags that were given over it. Throws InvalidRequest.
  GenerateRequest request() const;
  // The same, over `base` where no `-f` is given.
  GenerateRequest request(GenerateRequest base) const;
  bool strict() const { return strict_; }
  // The folder to which requests are confined; "": none.
  const std::string& confine() const { return confine_; }

 private:
  void add_fields(CLI::App& app);
  void add_key(CLI::App& app, const KeyInfo& key, bool by_model);
  void take_guider(GenerateRequest& request) const;
  void take_scheduler(GenerateRequest& request) const;
  Json key_value(const KeyInfo& key, const std::string& text) const;

  std::string confine_, file_, task_, model_, backend_, image_, latents_, mask_, guider_;
  std::vector<std::string> prompts_, prompts_2_, negative_prompts_, negative_prompts_2_;
  std::vector<std::string> components_, inputs_, adapters_, settings_, guider_settings_,
      scheduler_settings_;
  std::vector<const KeyInfo*> keys_;
  // Values as typed; a map's nodes do not move, so the options can point at them.
  std::map<std::string, std::string> values_;
  std::map<std::string, int64_t> flags_;  // above 0: on, below: off (--flag=false, --no-flag)
  bool strict_ = false;
};

}  // namespace omnirt::cli
