#include "engine/session.hpp"

#include <algorithm>

#include "engine/describe.hpp"
#include "engine/engine.hpp"

namespace omnirt {

Session::Session(std::unique_ptr<Engine> engine, bool single_run)
    : engine_(std::move(engine)), single_run_(single_run) {}
Session::~Session() = default;

Session::Checked Session::check(const GenerateRequest& request, bool strict) {
  Proposal proposal = engine_->check(request, {.single_run = single_run_, .strict = strict});
  return {proposal.ok(), proposal.to_json(), proposal.errors, proposal.warnings};
}

void Session::run(const GenerateRequest& request, bool strict, const CancelToken& cancel,
                  const OnProgress& on_progress, RunReport& report) {
  RunHooks hooks;
  hooks.cancel = &cancel;
  if (on_progress) {
    hooks.progress = [&](const RunProgress& progress) {
      on_progress({to_string(progress.stage), progress.loop.step, progress.loop.steps});
    };
  }
  engine_->run(request, {.single_run = single_run_, .strict = strict}, hooks, report);
}

std::vector<const KeyInfo*> Session::keys() const {
  return all_keys(engine_->catalogue());
}
Json Session::models() const {
  return describe_models(engine_->catalogue());
}
Json Session::backends() const {
  return describe_backends(engine_->catalogue());
}
Json Session::model(const std::string& id) const {
  return describe_model(engine_->catalogue(), id);
}

}  // namespace omnirt
