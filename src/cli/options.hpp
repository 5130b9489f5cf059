#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/keys.hpp"
#include "cli/flag_aliases.hpp"
#include "cli/grammar.hpp"
#include "request/request.hpp"

namespace omnirt::cli {

// The flags that describe a request: those of its fields, and one per config key, derived from the
// keys' declarations.
class RequestOptions {
 public:
  RequestOptions(RequestCommand& command, const std::vector<const KeyInfo*>& keys);

  // The request of `-f`, with the flags that were given over it. Throws InvalidRequest.
  GenerateRequest request();
  // The same, over `base` where no `-f` is given.
  GenerateRequest request(GenerateRequest base);
  bool strict() const { return strict_; }
  // The folder to which requests are confined; "": none.
  const std::string& confine() const { return confine_; }
  // Holds the cpu to --threads. Throws InvalidRequest.
  void use_threads() const;
  // Which flags set which fields, once the request is made.
  const FlagNames& fields() const { return command_.fields; }

 private:
  template <class Value>
  CLI::Option* add(const std::string& names, const std::string& field, const char* type,
                   Value& into, const std::string& help);
  void add_fields();
  void add_inputs();
  void add_parts();
  void add_key(const KeyInfo& key);
  // Says that a flag set the field.
  void given(GenerateRequest& request, const std::string& field);
  void take_inputs(GenerateRequest& request);
  void take_scheduler(GenerateRequest& request);
  void take_guider(GenerateRequest& request);
  void take_parts(GenerateRequest& request);
  void take_config(GenerateRequest& request);
  Json key_value(const KeyInfo& key, const std::string& text) const;

  RequestCommand& command_;
  FlagAliases aliases_;
  std::string confine_, file_, task_, model_, backend_, guider_;
  std::vector<std::string> components_, inputs_, adapters_, settings_, guider_settings_,
      scheduler_settings_;
  std::vector<const KeyInfo*> keys_;
  // By the input's, component's or key's name, as typed; a map's nodes do not move, so the options
  // can point at them.
  std::map<std::string, std::vector<std::string>> texts_;
  std::map<std::string, std::string> paths_, parts_, values_;
  std::map<std::string, int64_t> flags_;  // above 0: on, below: off (--flag=false, --no-flag)
  int64_t threads_ = 0;                   // 0: as OMP_NUM_THREADS says, or one for each core
  bool strict_ = false;
};

}  // namespace omnirt::cli
