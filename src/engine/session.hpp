#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/device_id.hpp"
#include "base/report.hpp"
#include "base/shared_turn.hpp"
#include "pipeline/artifact.hpp"
#include "request/request.hpp"

namespace omnirt {

class Engine;
class ValidatedRequest;  // request/validated_request.hpp

struct SessionProgress {
  std::string stage;
  size_t step = 0;  // done, in the denoise loop; 0 of 0 elsewhere
  size_t steps = 0;
};

// An image of the latents after a step, where the request asks for them (preview_every).
struct SessionPreview {
  size_t step = 0;
  size_t steps = 0;
  size_t place = 0;  // of the run's images
  const io::Image& image;
};

// What a caller may hang on to a run; called on the run's own thread. What they throw ends the run,
// an omnirt::Error as it is, all else as RunFailed.
struct SessionHooks {
  // At the start of each block and after each step.
  std::function<void(const SessionProgress&)> on_progress{};
  // Each image and video in memory, once all of the run's are made.
  OnArtifact on_artifact{};
  // Each preview, with its file written.
  std::function<void(const SessionPreview&)> on_preview{};
  // The turn that the run shares with others now; null, or empty: none.
  std::function<SharedTurn*()> shared_turn{};
  Files files = Files::always;
  // What `check` kept of the same request, so that it is not validated again unless something
  // changed since; null: nothing.
  std::shared_ptr<const ValidatedRequest> validated{};
};

// The engine as front ends see it: requests, findings and reports; no tensors in its header.
class Session {
 public:
  // `single_run`: the process makes one run and ends, so memory is released as early as possible.
  explicit Session(std::unique_ptr<Engine> engine, bool single_run = false);
  ~Session();

  // `files`: as in the run's hooks. `keep` receives what the run's hooks take as `validated`.
  CheckReport check(const GenerateRequest& request, bool strict, Files files = Files::always,
                    std::shared_ptr<const ValidatedRequest>* keep = nullptr);

  // Throws as Engine::run; `report` is filled as far as the run came.
  void run(const GenerateRequest& request, bool strict, const CancelToken& cancel,
           const SessionHooks& hooks, RunReport& report);

  // Every config key of this build, each once.
  std::vector<const KeyInfo*> keys() const;
  // All registry entries, with what is derived from their blocks.
  Json models() const;
  // What else is in the folders of models: [{name, path}].
  Json models_here() const;
  // All backends: {name, available, automatic, reason, way_out, devices: [{device, ...}], ...}.
  Json backends() const;
  // A device by its name, or by that of its backend ("cuda:1", "cuda", "auto"). Throws Unsupported
  // on `field` where it cannot be used.
  DeviceId device(const std::string& name, const std::string& field) const;
  // One model: an id (aliases followed), a folder, a file, or "" the default one. Throws
  // UnknownModel, Unsupported, InvalidFile.
  Json model(const std::string& model) const;
  // A checkpoint of one file into a folder, or back, or into a GGUF (engine/convert.hpp); what was
  // done. Throws InvalidRequest, Unsupported, WeightMismatch.
  struct Conversion {
    std::string from, to, layout, prediction_type, config_folder, quantize;
  };
  Json convert(const Conversion& conversion) const;
  // What a network class, or each network of a folder or single file, says of itself:
  // [{component, class, metadata: [{key, value, what}]}]. Throws InvalidRequest.
  Json describe_networks(const std::string& class_or_path) const;
  // What a single file was recognised as, {kind, ...}; of an adapter {kind, adapter}. Throws
  // Unsupported.
  Json recognise(const std::string& path) const;
  // The reference pages: {file name: text}.
  std::map<std::string, std::string> reference_pages() const;
  // A model's blocks with their ports, those of `task` or ("") of all; and the same drawn: "svg",
  // "dot" or "mermaid". Throw UnknownModel, InvalidRequest.
  Json blocks(const std::string& id, const std::string& task) const;
  std::string graph(const std::string& id, const std::string& task,
                    const std::string& format) const;
  // More runs follow: what was made single_run at first holds on to its components from now on.
  void keep_components() { single_run_ = false; }
  // From now on no path of a request may be outside this folder ("": anywhere); models and adapters
  // that are found by name may. Throws InvalidRequest where there is no such folder.
  void confine(const std::string& folder);
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
  bool single_run_;
  std::string confine_;
};

// What a weights file, a component's folder or a pipeline's folder holds: class, types, parameters,
// sizes; what an image, a video, a state or latents of this program's are, with their request.
// Reads headers only (of a state all, for its digest). Throws InvalidRequest / InvalidFile.
Json inspect(const std::string& path);

}  // namespace omnirt
