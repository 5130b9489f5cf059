#include "engine/session.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/convert.hpp"
#include "engine/describe.hpp"
#include "engine/describe_blocks.hpp"
#include "engine/describe_networks.hpp"
#include "engine/engine.hpp"
#include "engine/recognise.hpp"
#include "engine/reference_pages.hpp"
#include "request/model_search.hpp"
#include "request/single_file.hpp"

namespace omnirt {

Session::Session(std::unique_ptr<Engine> engine, bool single_run)
    : engine_(std::move(engine)), single_run_(single_run) {}
Session::~Session() = default;

CheckReport Session::check(const GenerateRequest& request, bool strict, Files files,
                           std::shared_ptr<const ValidatedRequest>* keep) {
  const ValidateOptions options{
      .single_run = single_run_, .strict = strict, .confine = confine_, .files = files};
  return engine_->check(request, options, keep).check_report();
}

void Session::run(const GenerateRequest& request, bool strict, const CancelToken& cancel,
                  const SessionHooks& hooks, RunReport& report) {
  RunHooks inner;
  inner.cancel = &cancel;
  inner.on_artifact = hooks.on_artifact;
  inner.shared_turn = hooks.shared_turn;
  if (hooks.on_progress) {
    inner.progress = [&](const RunProgress& progress) {
      hooks.on_progress({to_string(progress.stage), progress.loop.step, progress.loop.steps});
    };
  }
  if (hooks.on_preview) {
    inner.on_preview = [&](const LoopProgress& at, const PreviewImage& preview) {
      hooks.on_preview({at.step, at.steps, preview.place, preview.image});
    };
  }
  engine_->run(request,
               {.single_run = single_run_,
                .strict = strict,
                .confine = confine_,
                .files = hooks.files,
                .validated = hooks.validated},
               inner, report);
}

void Session::confine(const std::string& folder) {
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    throw InvalidRequest({"confine", folder, "there is no such folder", "name one that is there"});
  confine_ = folder;
}

std::vector<const KeyInfo*> Session::keys() const {
  return all_keys(engine_->catalogue());
}
Json Session::models() const {
  return describe_models(engine_->catalogue());
}
Json Session::models_here() const {
  Json found = Json::array();
  for (const FoundModel& each : omnirt::models_here()) {
    if (!engine_->catalogue().find_entry(each.name, ""))
      found.push_back({{"name", each.name}, {"path", each.path.native()}});
  }
  return found;
}
Json Session::backends() const {
  return describe_backends(engine_->catalogue());
}
DeviceId Session::device(const std::string& name, const std::string& field) const {
  return resolve_device(engine_->catalogue().backends, name, field).device;
}
Json Session::blocks(const std::string& id, const std::string& task) const {
  return describe_blocks(engine_->catalogue(), id, task);
}
std::string Session::graph(const std::string& id, const std::string& task,
                           const std::string& format) const {
  return draw_blocks(engine_->catalogue(), id, task, format);
}
Json Session::model(const std::string& model) const {
  return describe_model(engine_->catalogue(), model);
}

Json Session::convert(const Conversion& conversion) const {
  return omnirt::convert(engine_->catalogue(), {conversion.from, conversion.to, conversion.layout,
                                                conversion.prediction_type,
                                                conversion.config_folder, conversion.quantize});
}
Json Session::describe_networks(const std::string& class_or_path) const {
  return omnirt::describe_networks(engine_->catalogue(), class_or_path);
}
Json Session::recognise(const std::string& path) const {
  try {
    return to_json(open_single_file(engine_->catalogue(), path));
  } catch (const InvalidRequest&) {
    if (auto adapter = recognise_adapter(engine_->catalogue(), path)) return *adapter;
    throw;
  }
}
std::map<std::string, std::string> Session::reference_pages() const {
  return omnirt::reference_pages(engine_->catalogue());
}

}  // namespace omnirt
