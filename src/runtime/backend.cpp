#include "runtime/backend.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

namespace omnirt {

void Backend::register_override(std::string name, std::function<void(ops::OpTable&)> add) {
  overrides_.push_back({std::move(name), std::move(add)});
}

WrappedComponent Backend::wrap_module(const std::string& component) {
  WrappedComponent wrapped{nullptr, {component, {}}};
  auto attempt = [&](const char* level, auto&& make) {
    if (wrapped.ops) return;
    double start = now_ms();
    Attempt result{level, false, "", false, 0};
    try {
      result.reason = make(wrapped.ops);
      result.ok = result.selected = true;
    } catch (const std::exception& error) {
      result.reason = error.what();
    }
    result.ms = now_ms() - start;
    wrapped.timeline.attempts.push_back(std::move(result));
  };
  using Table = std::shared_ptr<const ops::OpTable>;
  attempt("compile", [&](Table& table) -> std::string {
    table = compile(component);
    return "compiled";
  });
  attempt("kernel_override", [&](Table& table) -> std::string {
    if (overrides_.empty()) {
      throw Unsupported({name(), "", "no kernel overrides are registered", ""});
    }
    auto fresh = std::make_shared<ops::OpTable>();
    std::string names;
    for (const Override& override : overrides_) {
      override.add(*fresh);
      names += (names.empty() ? "" : ", ") + override.name;
    }
    table = std::move(fresh);
    return "kernels: " + names;
  });
  attempt("eager", [](Table& table) -> std::string {
    table = std::make_shared<const ops::OpTable>();
    return "the references";
  });
  return wrapped;
}

}  // namespace omnirt
