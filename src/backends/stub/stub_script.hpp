#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace omnirt {

// What a cpu-stub does instead of working: all that can go wrong with a device, on demand.
struct StubScript {
  // A failure once a level has been taken. With `op`: that op's kernel throws, where its output has
  // `shape` (empty: any). Without: the component's `call`-th call at the level (0: each) is
  // computed and then fails.
  struct Failure {
    std::string level = "compile";
    std::string component{};  // "": any
    int64_t call = 0;
    std::string op{};
    std::vector<int64_t> shape{};
    std::string message = "scripted";
    static void visit(auto& self, auto& v) {
      v("level", self.level);
      v("component", self.component);
      v("call", self.call);
      v("op", self.op);
      v("shape", self.shape);
      v("message", self.message);
    }
  };

  // A run that prepare() refuses: of this model, with a network of this class, and with this value
  // of a config key; what is empty fits every run.
  struct Refusal {
    std::string model{}, tag{}, key{}, value{};
    std::string reason = "scripted";
    static void visit(auto& self, auto& v) {
      v("model", self.model);
      v("tag", self.tag);
      v("key", self.key);
      v("value", self.value);
      v("reason", self.reason);
    }
  };

  // Kernels of their own name (the references) that prepare() registers for a class of the run.
  struct Override {
    std::string tag{}, name{};
    static void visit(auto& self, auto& v) {
      v("tag", self.tag);
      v("name", self.name);
    }
  };

  // Memory of a device's own, whose use is planned then.
  struct Device {
    int64_t bytes = 0;               // its size
    int64_t neighbour_bytes = 0;     // of that: what other processes hold
    std::vector<int64_t> fail_at{};  // allocations that find no memory, counted from 1
    int64_t fail_from = 0;           // the first of which none does any more; 0: never
    static void visit(auto& self, auto& v) {
      v("bytes", self.bytes);
      v("neighbour_bytes", self.neighbour_bytes);
      v("fail_at", self.fail_at);
      v("fail_from", self.fail_from);
    }
  };

  bool available = true;
  std::string reason = "computes by the references";
  std::map<Level, std::string> refuse{};  // levels that are not to be had, and why
  std::vector<Failure> fail{};
  std::optional<MemoryStats> memory{};  // unset: those of this process's tensors
  std::optional<double> available_gb{};
  std::vector<Refusal> unprepared{};
  std::vector<Override> overrides{};
  std::vector<Device> devices{};  // empty: one, whose tensors are in the process's memory
};

// {"available", "reason", "refuse": {level: why}, "fail": [{level, component, call, op, shape,
//   message}], "unprepared": [{model, tag, key, value, reason}], "overrides": [{tag, name}],
//   "memory": {"peak_bytes", "allocated_bytes", "available_gb"}, "devices": [{"bytes",
//   "neighbour_bytes", "fail_at", "fail_from"}]}, each optional. Throws InvalidRequest.
StubScript parse_stub_script(const std::string& json);

}  // namespace omnirt
