#include "pipeline/saved_run.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <omnirt_abi.hpp>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "io/sha256.hpp"
#include "tensor/weight.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr const char* state_key = "omnirt.state";
constexpr const char* digest_key = "omnirt.sha256";
constexpr size_t max_state_json = size_t{32} << 20;
constexpr int64_t format_number = 1;

io::Dtype dtype_of(at::ScalarType type) {
  using io::Dtype;
  static const std::map<at::ScalarType, Dtype> all{
      {at::kFloat, Dtype::f32},     {at::kDouble, Dtype::f64}, {at::kHalf, Dtype::f16},
      {at::kBFloat16, Dtype::bf16}, {at::kLong, Dtype::i64},   {at::kInt, Dtype::i32},
      {at::kShort, Dtype::i16},     {at::kChar, Dtype::i8},    {at::kByte, Dtype::u8},
      {at::kBool, Dtype::boolean}};
  auto it = all.find(type);
  if (it == all.end())
    throw Unsupported({"state", c10::toString(type), "tensors of this type are not saved", ""});
  return it->second;
}

// Which axis goes where for the tensor's elements to be in memory order; empty where they already
// do. Order in memory is kept: kernels may add up in another order for another one.
std::vector<int64_t> memory_order(const Tensor& tensor) {
  std::vector<int64_t> axes(tensor.dim());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (tensor.is_contiguous() || !tensor.is_non_overlapping_and_dense()) return {};
  std::ranges::stable_sort(axes, std::greater<>{}, [&](int64_t i) { return tensor.stride(i); });
  return tensor.permute(axes).is_contiguous() ? axes : std::vector<int64_t>{};
}

Tensor in_order(const Tensor& stored, const std::vector<int64_t>& axes) {
  if (axes.empty()) return stored;
  std::vector<int64_t> back(axes.size(), -1);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= static_cast<int64_t>(axes.size()) || back[axes[i]] != -1)
      SavedValue::refuse("an order of axes that is none");
    back[axes[i]] = static_cast<int64_t>(i);
  }
  if (axes.size() != static_cast<size_t>(stored.dim()))
    SavedValue::refuse("an order of axes for another rank");
  return stored.permute(back);
}

struct Stored {
  std::string name;
  Tensor tensor;  // contiguous
};

std::string digest_of(const std::string& json, std::vector<io::TensorView> tensors) {
  std::ranges::sort(tensors, {}, &io::TensorView::name);
  io::Sha256 sha;
  sha.add_counted(json);
  for (const io::TensorView& tensor : tensors) {
    sha.add_counted(tensor.name);
    sha.add_counted(io::dtype_name(tensor.dtype));
    for (int64_t size : tensor.shape) sha.add_counted(std::to_string(size));
    sha.add_counted(std::to_string(tensor.bytes.size()));
    sha.add(tensor.bytes);
  }
  return sha.hex();
}

Json value_json(const SavedRun::Value& value, std::vector<Stored>& tensors) {
  Json places = Json::object();
  for (const auto& [name, tensor] : value.saved.tensors) {
    std::vector<int64_t> axes = memory_order(tensor);
    std::string stored = fmt::format("{}:{}:{}", value.condition, value.name, name);
    tensors.push_back({stored, (axes.empty() ? tensor : tensor.permute(axes)).contiguous()});
    places[name] = {{"tensor", stored}, {"axes", axes}};
  }
  return {{"condition", value.condition},
          {"name", value.name},
          {"type", value.type},
          {"json", value.saved.json},
          {"tensors", places}};
}

Json state_json(const SavedRun& run, std::vector<Stored>& tensors) {
  Json components = Json::object(), values = Json::array();
  for (const auto& [name, component] : run.components) {
    components[name] = {{"class", component.class_name},
                        {"fingerprint", component.fingerprint},
                        {"config", component.config}};
  }
  for (const SavedRun::Value& value : run.values) values.push_back(value_json(value, tensors));
  return {{"format", format_number},  {"version", run.version},
          {"request", run.record},    {"model_path", run.model_path},
          {"workflow", run.workflow}, {"after", run.after},
          {"components", components}, {"values", values},
          {"origins", run.origins},   {"files", run.files}};
}

// A member of the state's own JSON, by its name.
template <class T>
T member(const Json& json, const char* key) {
  auto it = json.is_object() ? json.find(key) : json.end();
  if (it == json.end()) SavedValue::refuse(fmt::format("it holds no '{}'", key));
  try {
    return it->template get<T>();
  } catch (const nlohmann::json::exception&) {
    SavedValue::refuse(
        fmt::format("its '{}' = {} has the wrong type ({})", key, shown(*it), it->type_name()));
  }
}

class Reader {
 public:
  explicit Reader(const fs::path& path)
      : file_(io::SafetensorsFile::open(path, io::Source::mapped)) {}

  SavedRun read() {
    const std::string& text = text_under(state_key);
    check_digest(text);
    const Json state = parse_json(text, path_text(file_->path()), max_state_json);
    if (member<int64_t>(state, "format") != format_number) SavedValue::refuse("of another format");
    SavedRun run;
    run.version = member<std::string>(state, "version");
    run.record = member<Json>(state, "request");
    run.model_path = member<std::string>(state, "model_path");
    run.workflow = member<std::vector<std::string>>(state, "workflow");
    run.after = member<std::string>(state, "after");
    run.origins = member<std::map<std::string, std::string>>(state, "origins");
    run.files = member<std::map<std::string, std::string>>(state, "files");
    const Json components = member<Json>(state, "components");
    for (const auto& [name, json] : components.items()) {
      run.components[name] = {member<std::string>(json, "class"),
                              member<std::string>(json, "fingerprint"),
                              member<Json>(json, "config")};
    }
    for (const Json& value : member<Json>(state, "values")) run.values.push_back(read_value(value));
    return run;
  }

 private:
  const std::string& text_under(const char* key) const {
    auto it = file_->metadata().find(key);
    if (it == file_->metadata().end())
      SavedValue::refuse("not the state of a run: it was not written by --stop-after");
    return it->second;
  }

  void check_digest(const std::string& text) const {
    std::vector<io::TensorView> tensors;
    for (const io::TensorEntry& entry : file_->entries())
      tensors.push_back({entry.name, entry.dtype, entry.shape, file_->data(entry)});
    if (digest_of(text, std::move(tensors)) != text_under(digest_key))
      SavedValue::refuse("damaged: its digest is another than its contents'");
  }

  SavedRun::Value read_value(const Json& json) {
    SavedRun::Value value{member<std::string>(json, "condition"),
                          member<std::string>(json, "name"),
                          member<std::string>(json, "type"),
                          {member<Json>(json, "json")}};
    const Json places = member<Json>(json, "tensors");
    for (const auto& [name, place] : places.items()) {
      const Tensor stored = tensor(member<std::string>(place, "tensor"));
      value.saved.tensors[name] = in_order(stored, member<std::vector<int64_t>>(place, "axes"));
    }
    return value;
  }

  Tensor tensor(const std::string& name) {
    const io::TensorEntry* entry = file_->find(name);
    if (!entry) SavedValue::refuse(fmt::format("its tensor '{}' is missing", name));
    auto bytes = file_->data(*entry);
    Weight weight{name, entry->dtype, entry->shape, bytes.data(), bytes.size(), file_->owner(), {}};
    // Copied, so that the file may go away while the run is under way.
    return weight.view().clone();
  }

  std::shared_ptr<const io::SafetensorsFile> file_;
};

}  // namespace

std::string saved_run_version() {
  return OMNIRT_ABI;
}

void write_saved_run(const fs::path& file, const SavedRun& run) {
  std::vector<Stored> tensors;
  std::string text = state_json(run, tensors).dump();
  std::vector<io::TensorView> views;
  for (const Stored& stored : tensors) {
    views.push_back(
        {stored.name,
         dtype_of(stored.tensor.scalar_type()),
         stored.tensor.sizes().vec(),
         {static_cast<const std::byte*>(stored.tensor.const_data_ptr()), stored.tensor.nbytes()}});
  }
  // It holds prompts.
  io::write_safetensors(file, views, {{state_key, text}, {digest_key, digest_of(text, views)}},
                        io::Readers::owner);
}

bool is_saved_run(const io::SafetensorsFile& file) {
  return file.metadata().contains(state_key);
}

SavedRun read_saved_run(const fs::path& file) {
  try {
    return Reader(file).read();
  } catch (const InvalidRequest& thrown) {
    Finding finding = thrown.findings().front();
    std::string what = finding.field.empty() || finding.field == path_text(file)
                           ? finding.message
                           : fmt::format("{}: {}", finding.field, finding.message);
    throw InvalidFile({"config.resume", path_text(file), what,
                       finding.way_out.empty() ? "make the state again" : finding.way_out});
  }
}

}  // namespace omnirt
