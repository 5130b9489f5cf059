#include "backends/stub/stub_script.hpp"

#include <algorithm>

#include "base/config.hpp"
#include "base/nearest.hpp"

namespace omnirt {
namespace {

constexpr const char* where = "OMNIRT_STUB";

struct Top {
  bool available = true;
  std::string reason = StubScript().reason;
  static void visit(auto& self, auto& v) {
    v("available", self.available);
    v("reason", self.reason);
    v.ignore({"refuse", "fail", "memory", "device"});
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

}  // namespace

StubScript parse_stub_script(const std::string& text) {
  Json json = parse_json(text, where);
  if (!json.is_object()) throw InvalidRequest({where, shown(json), "an object is expected", ""});
  auto top = read_config<Top>(json, where);
  StubScript script{.available = top.available, .reason = top.reason};
  const Json refuse = json.value("refuse", Json::object());
  for (const auto& [level, why] : refuse.items())
    script.refuse[level_of(level)] = why.is_string() ? why.get<std::string>() : why.dump();
  const Json fail = json.value("fail", Json::array());
  for (const Json& failure : fail) {
    script.fail.push_back(read_config<StubScript::Failure>(failure, where));
    check_failure(script.fail.back());
  }
  if (json.contains("memory")) {
    auto memory = read_config<Memory>(json["memory"], where);
    script.memory = {static_cast<size_t>(memory.peak_bytes),
                     static_cast<size_t>(memory.allocated_bytes)};
    script.available_gb = memory.available_gb;
  }
  if (json.contains("device")) script.device = read_device(json["device"]);
  return script;
}

}  // namespace omnirt
