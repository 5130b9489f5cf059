#include "backends/stub/stub_script.hpp"

#include <algorithm>

#include "base/config.hpp"
#include "base/nearest.hpp"

namespace omnirt {
namespace {

constexpr const char* where = "OMNIRT_STUB";
constexpr size_t most_devices = 16;

struct Top {
  bool available = true;
  std::string reason = StubScript().reason;
  static void visit(auto& self, auto& v) {
    v("available", self.available);
    v("reason", self.reason);
    v.ignore({"refuse", "fail", "memory", "devices", "unprepared", "overrides"});
  }
};

struct Memory {
  int64_t peak_bytes = 0;
  int64_t allocated_bytes = 0;
  std::optional<double> available_gb;
  static void visit(auto& self, auto& v) {
    v("peak_bytes", self.peak_bytes);
    v("allocated_bytes", self.allocated_bytes);
    v("available_gb", self.available_gb);
  }
};

Level level_of(const std::string& name) {
  if (auto level = choice_of<Level>(name)) return *level;
  throw InvalidRequest({where, name, "no such level", "compile, kernel_override or eager"});
}

// Throws where the failure could never come.
void check_failure(const StubScript::Failure& failure) {
  Level level = level_of(failure.level);
  if (failure.op.empty()) return;
  std::vector<std::string> names;
  for (const ops::OpInfo& op : ops::list_ops()) names.push_back(op.name);
  if (std::ranges::find(names, failure.op) == names.end())
    throw InvalidRequest({where, failure.op, "no such op", suggest(failure.op, names)});
  if (level == Level::eager) {
    throw InvalidRequest({where, failure.op, "eager computes by the references, which do not fail",
                          "name another level, or a call in place of the op"});
  }
}

StubScript::Device read_device(const Json& json) {
  auto device = read_config<StubScript::Device>(json, where);
  if (device.bytes < 1 || device.neighbour_bytes < 0 || device.fail_from < 0)
    throw InvalidRequest(
        {where, json.dump(), "no memory of a device", "give its bytes, and no figure below 0"});
  return device;
}

StubScript::Override read_override(const Json& json) {
  auto override = read_config<StubScript::Override>(json, where);
  if (override.tag.empty() || override.name.empty())
    throw InvalidRequest(
        {where, json.dump(), "an override of no class, or without a name", "give tag and name"});
  return override;
}

template <class Read>
auto read_list(const Json& json, const char* name, Read&& read) {
  std::vector<decltype(read(json))> all;
  const Json list = json.value(name, Json::array());
  if (!list.is_array()) throw InvalidRequest({where, shown(list), "expected a list", ""});
  for (const Json& each : list) all.push_back(read(each));
  return all;
}

}  // namespace

StubScript parse_stub_script(const std::string& text) {
  Json json = parse_json(text, where);
  if (!json.is_object()) throw InvalidRequest({where, shown(json), "an object is expected", ""});
  auto top = read_config<Top>(json, where);
  StubScript script{.available = top.available, .reason = top.reason};
  const Json refuse = json.value("refuse", Json::object());
  for (const auto& [level, why] : refuse.items())
    script.refuse[level_of(level)] = why.is_string() ? why.get<std::string>() : why.dump();
  script.fail = read_list(json, "fail", [](const Json& each) {
    auto failure = read_config<StubScript::Failure>(each, where);
    check_failure(failure);
    return failure;
  });
  if (json.contains("memory")) {
    auto memory = read_config<Memory>(json["memory"], where);
    script.memory = {static_cast<size_t>(memory.peak_bytes),
                     static_cast<size_t>(memory.allocated_bytes)};
    script.available_gb = memory.available_gb;
  }
  script.devices = read_list(json, "devices", read_device);
  if (script.devices.size() > most_devices)
    throw InvalidRequest({where, std::to_string(script.devices.size()), "too many devices",
                          "give " + std::to_string(most_devices) + " at most"});
  script.unprepared = read_list(json, "unprepared", [](const Json& each) {
    return read_config<StubScript::Refusal>(each, where);
  });
  script.overrides = read_list(json, "overrides", read_override);
  return script;
}

}  // namespace omnirt
