#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/keys.hpp"
#include "pipeline/request.hpp"

namespace omnirt::cli {

// The flags that describe a request: those of its fields, and one a config key, derived from the
// keys' declarations.
class RequestOptions {
 public:
  RequestOptions(CLI::App& app, const std::vector<const KeyInfo*>& keys);

  // The request of `-f`, with the flags that were given over it. Throws InvalidRequest.
  GenerateRequest request() const;
  // The same, over `base` where no `-f` is given.
  GenerateRequest request(GenerateRequest base) const;
  bool strict() const { return strict_; }

 private:
  void add_fields(CLI::App& app);
  void add_key(CLI::App& app, const KeyInfo& key);
  Json key_value(const KeyInfo& key, const std::string& text) const;

  std::string file_, task_, model_, backend_, image_, mask_, guider_;
  std::vector<std::string> prompts_, negative_prompts_, components_, adapters_, settings_;
  std::vector<const KeyInfo*> keys_;
  // Values as typed; a map's nodes do not move, so the options can point at them.
  std::map<std::string, std::string> values_;
  std::map<std::string, bool> flags_;
  bool strict_ = false;
};

}  // namespace omnirt::cli
