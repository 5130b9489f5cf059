#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/keys.hpp"
#include "base/plan_report.hpp"

namespace omnirt {

inline constexpr const char* report_schema_version = "1.0";

struct StageTimings {
  double prepare_conditions_ms = 0;
  double prepare_latents_ms = 0;
  double denoise_loop_ms = 0;
  double decode_ms = 0;
  double export_ms = 0;
};

// Memory of one device that a run used.
struct DeviceMemoryReport {
  std::string device;
  double available_gb = 0;  // free when the run began to compute, in GiB
  // As MemoryReport has them for the run's own device.
  std::optional<uint64_t> tensor_peak_bytes{};
  std::optional<uint64_t> tensor_current_bytes{};
  std::optional<uint64_t> process_tensor_peak_bytes{};
};

struct MemoryReport {
  uint64_t peak_rss_bytes = 0;  // of the process, since it began
  double available_gb = 0;      // of `devices`: the run's own
  // Of the tensors that this run allocated on its own device: the most at once, and what is left at
  // its end (weights converted for later runs). Null where other runs shared the device and its
  // backend cannot separate them; then the process's peak, of all these runs, is given in their
  // place.
  std::optional<uint64_t> tensor_peak_bytes;
  std::optional<uint64_t> tensor_current_bytes;
  std::optional<uint64_t> process_tensor_peak_bytes;
  uint64_t weights_stored_bytes = 0;     // of the components used, in the files' own types
  uint64_t weights_converted_bytes = 0;  // of compute forms made in addition to them
  uint64_t weights_packed_bytes = 0;     // of packed and quantised forms that kernels made
  // The tensor peak as dry forwards predicted it before the calls; 0 where no level plans.
  uint64_t predicted_tensor_peak_bytes = 0;
  uint64_t kernel_scratch_bytes = 0;        // that kernels keep for themselves: the process's
  uint64_t kept_between_steps_bytes = 0;    // the most: text keys and values, shared features
  std::vector<DeviceMemoryReport> devices;  // that the run used, its own first
  std::optional<MemoryPlanReport> plan;     // of a run that was planned: what is in memory when
  // Of weights that came and went while their network computed: bytes brought in, and how long
  // computing waited for them.
  uint64_t weights_moved_bytes = 0;
  double weights_waited_ms = 0;
};

// Of a run whose steps share features.
struct StepCacheReport {
  std::string kind;
  int64_t interval = 0;
  int64_t branch = 0;
  int64_t order = 0;
  double threshold = 0;  // of caches of blocks
  uint64_t full_steps = 0;
  uint64_t cached_steps = 0;
};

struct ArtifactReport {
  std::string path;  // absolute
  std::string kind;  // "image" or "video"
  std::string mime;
  int64_t width = 0;
  int64_t height = 0;
  uint64_t seed = 0;
  std::string prompt{};
  int64_t frames = 0;  // of a video
  double fps = 0;
};

struct AttemptReport {
  std::string level;
  bool ok = false;
  std::string reason;
  bool selected = false;
  double ms = 0;
};

struct TimelineReport {
  std::string component;
  std::vector<AttemptReport> attempts;
};

// How often a level or kernel was not what computed; runtime/fallbacks.hpp lists the kinds.
struct FallbackReport {
  std::string component;
  std::string level;
  std::string kind;
  uint64_t count = 0;  // in this run
  uint64_t total = 0;  // in this process's engine so far
};

struct PassedOverReport {
  std::string name;
  std::string reason;
};

// What all calls of one op took, that one kernel computed with outputs of one shape.
struct ProfileRow {
  std::string component;
  std::string op;
  std::string by;  // the kernel, or "reference"
  std::vector<int64_t> shape;
  uint64_t calls = 0;
  double ms = 0;
};

// What all entries into one block of a network took.
struct BlockProfileRow {
  std::string component;
  std::string block;  // its path; "": what is outside of blocks
  uint64_t calls = 0;
  double ms = 0;             // without blocks inside it
  double waited_ms = 0;      // of that: for weights that come and go
  uint64_t moved_bytes = 0;  // of weights, that were brought in for it
  std::string repeats{};     // its class, where the network repeats it (_repeated_blocks); else ""
};

struct PlacementReport {
  std::string component;
  std::string device;
  std::string dtype;         // computed in
  std::string stored_dtype;  // as in the file
  std::string kept_dtype;    // in memory, where storage_dtype makes it narrower; else ""
};

// What one adapter of a run did.
struct AdapterReport {
  std::string path;
  std::string kind;  // "lora", "loha", "lokr", "dora", "diff", "textual_inversion"; several with +
  std::string layout;  // "kohya", "diffusers", "peft", "cloneofsimo", "a1111"
  std::string mode;    // "merged" or "beside"
  double scale = 1;
  Json scales = Json::object();           // of components and blocks, where given
  std::vector<int64_t> ranks;             // that occur, ascending
  std::vector<double> alphas;             // that occur, ascending; a layer without one has its rank
  std::map<std::string, int64_t> layers;  // how many of each component it changed
  std::vector<std::string> tokens;        // that it added
};

struct LatentStats {
  double mean = 0, std = 0, p50 = 0, p95 = 0;
};

struct ErrorReport {
  std::string kind;
  std::string message;
  std::vector<Finding> findings;
};

// A setting that does not follow from a checkpoint's configs, since it has none, and how it was
// decided.
struct SingleFileDecision {
  std::string what;       // "prediction_type"
  std::string value;      // "v_prediction"
  std::string how;        // "the file's metadata modelspec.prediction_type"
  bool doubtful = false;  // a rule that is wrong for some files of the kind: worth a warning
};

// A component that a model of the kind has and the file does not.
struct MissingComponent {
  std::string class_name;
  Json config;  // the values that a file given in its place may not say
  std::string why;
};

// What a model that is one file was recognised as.
struct SingleFileReport {
  std::string kind;
  std::vector<SingleFileDecision> decisions;
  size_t ignored_tensors = 0;  // averages of training and the like
  std::string ignored;         // what they are, in words; "" when there are none
  std::map<std::string, MissingComponent> missing;
};

// What a request means, with everything that was left open settled.
struct SettledReport {
  std::string task{};
  std::string model{};
  std::string model_path{};
  std::optional<SingleFileReport> single_file{};
  std::string backend{};
  std::string device{};  // "cuda:1": where all components run that device_map does not place
  std::vector<PassedOverReport> backends_passed_over{};
  std::string workflow{};  // names of the blocks that run, in order, joined by " > "
  ConfigValues config_resolved{};
  Json inputs_resolved = Json::object();
  std::vector<AdapterReport> adapters{};
  std::vector<Finding> warnings{};
};

// What a validation found.
struct CheckReport : SettledReport {
  bool ok = false;
  std::optional<MemoryPlanReport> memory_plan{};
  std::vector<Finding> errors{};
  // {ok, task, ..., config with origins, errors, warnings}
  Json to_json() const;
};

// What a run did, reported truthfully; docs/report.md is its schema.
struct RunReport : SettledReport {
  std::string run_id;
  std::vector<std::string> components_loaded;  // those that these blocks use
  // Of a run that was cut: the state it continued from, and the one it left; "" where not.
  std::string resumed_from;
  std::string state;
  std::vector<std::string> previews;  // files, in the order of writing
  StageTimings timings;
  std::vector<double> denoise_steps_ms;
  std::vector<int64_t> denoise_steps_runs;  // runs in each step's batch; 1: this run alone
  std::optional<double> first_step_ms;      // from begun_ms to the beginning of the first step
  double load_ms = 0;                       // headers, topology, tokenizer, adapters' files
  double adapters_ms = 0;                   // merging adapters into weights
  double total_ms = 0;
  MemoryReport memory;
  std::vector<TimelineReport> backend_timeline;
  std::vector<ProfileRow> profile;  // where the config's `profile` has it, the most expensive first
  std::vector<BlockProfileRow> block_profile;  // likewise, in the order of the network
  std::vector<FallbackReport> fallbacks;
  uint64_t remembered_calls = 0;  // whose results an earlier run of the engine had made: of prompts
  std::vector<ArtifactReport> artifacts;
  std::optional<LatentStats> latent_stats;
  std::optional<StepCacheReport> step_cache;
  std::vector<PlacementReport> device_placement;
  std::optional<ErrorReport> error;
  double begun_ms = 0;  // now_ms() at the start of the process or the request; not written

  // What of total_ms is in no part of its own: input images, states of split runs, releasing.
  double other_ms() const;
  Json to_json() const;
};

Json to_json(const Finding& finding);
Json to_json(const AdapterReport& adapter);
Json to_json(const SingleFileReport& file);

}  // namespace omnirt
