#include "backends/cpu/cpu_backend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/planned_calls.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/simd/target.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/error.hpp"
#include "io/system_memory.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

constexpr const char* kernels_name = "fp32 kernels";

const char* rounding(const ComputeForm& form) {
  switch (form.quantization) {
    case ops::Quantization::int8:
      return " and rotated and rounded to int8";
    case ops::Quantization::automatic:
      return " (int8 ones multiplied as they are)";
    default:
      return "";
  }
}

bool rounds_products(const PlanFacts& facts) {
  return facts.dtype == at::kBFloat16 || facts.precision == MatmulPrecision::medium;
}

// Adds the kernels that a type or precision below fp32's allows and the machine has; says which.
std::string add_faster_products(const PlanFacts& facts, ops::OpTable& table) {
  const bool rounds = rounds_products(facts);
  if (!rounds && facts.precision == MatmulPrecision::highest) return "";
  std::string told;
  if (!rounds && facts.quantization == ops::Quantization::int8 && cpu::rounded_available()) {
    // Nearer than the eight bits of all other products.
    cpu::add_rounded_attention_kernels(table);
    told = ", attention by products of numbers rounded to bf16";
  } else if (rounds && cpu::rounded_available()) {
    cpu::add_rounded_dense_kernels(table);
    cpu::add_rounded_attention_kernels(table);
    // matmul_precision is about products of matrices, as in torch.
    const bool all = facts.dtype == at::kBFloat16;
    if (all) cpu::add_rounded_convolution_kernels(table);
    told = all ? ", tensors in fp32, linear layers, attention and convolutions"
               : ", linear layers and attention";
    told += " by products of numbers rounded to bf16";
  } else if (facts.dtype == at::kBFloat16) {
    told = ", in fp32, for the processor has no products of bf16";
  }
  if (!cpu::split_available()) return told;
  cpu::add_split_kernels(table);
  return told + ", products of numbers split into two bf16 (AMX)";
}

}  // namespace

CpuBackend::CpuBackend() {
  watch_tensor_memory();
}

Availability CpuBackend::is_available() const noexcept {
  try {
    const cpu::Targets& targets = cpu::targets();
    return {true, fmt::format("built in; kernels run by {}{}; this machine has {}", targets.used,
                              targets.limited ? ", as OMNIRT_CPU_TARGET says" : "",
                              fmt::join(targets.available, ", "))};
  } catch (const InvalidRequest& error) {
    const Finding& finding = error.findings().front();
    return {false, fmt::format("{} {}: {}", finding.field, finding.value, finding.message),
            finding.way_out};
  } catch (const std::exception& error) {
    return {false, error.what(), ""};
  }
}

Capabilities CpuBackend::capabilities() const {
  // Kernels compute in fp32, and keep packed forms or multiply split or rounded numbers at compile
  // alone; the references have neither, nor rounded weights.
  return {.modes = {{.levels = {Level::compile},
                     .quantize = {"auto", "none", "int8"},
                     .pack = {"auto", "never", "always"},
                     .matmul_precision = {"medium", "high", "highest"}},
                    {.levels = {Level::compile},
                     .dtype = {"bf16"},
                     .quantize = {"auto", "none", "int8"},
                     .pack = {"auto", "never", "always"},
                     .matmul_precision = {"medium", "high"}},
                    {.levels = {Level::kernel_override}, .quantize = {"auto", "none", "int8"}},
                    {.levels = {Level::eager}, .dtype = {"fp32", "bf16"}}},
          .compile_available = true,
          .supports_graph_mode = false,
          .plans_memory = PlannedSpace::process,
          .overrides = {kernels_name}};
}

void CpuBackend::prepare(const RunFacts&) {
  register_override(every_tag, {kernels_name, cpu::add_kernels});
}

LevelPlan CpuBackend::compile(const std::string&, const std::string&, const PlanFacts& facts) {
  auto table = std::make_shared<ops::OpTable>();
  std::string products = add_faster_products(facts, *table);
  cpu::add_kernels(*table);
  ComputeForm form = compute_form(Level::compile, facts);
  return {table, form, std::make_shared<cpu::PlannedCalls>(table, form),
          fmt::format("{} kernels on {} threads, weights as stored{}{}, dry forward before each "
                      "shape",
                      cpu::targets().used, cpu::team_size(), rounding(form), products)};
}

LevelPlan CpuBackend::plan(Level level, const std::string& component, const std::string& tag,
                           const PlanFacts& facts) {
  if (level == Level::eager && facts.quantization == ops::Quantization::int8) {
    throw Unsupported({"config.quantize", "int8", "the references do not round weights",
                       "omit level, or quantize"});
  }
  const bool compiled = level == Level::compile && facts.dtype == at::kBFloat16;
  if (level != Level::eager && facts.dtype != at::kFloat && !compiled) {
    throw Unsupported({"config.dtype", c10::toString(facts.dtype), "the kernels compute in fp32",
                       "compile multiplies numbers rounded to bf16; the references compute in it, "
                       "through oneDNN"});
  }
  return Backend::plan(level, component, tag, facts);
}

ComputeForm CpuBackend::compute_form(Level level, const PlanFacts& facts) const {
  // Channels last: convolutions and the reshapes between images and tokens need no copies then.
  ComputeForm form{.dtype = facts.dtype, .channels_last = true};
  if (level == Level::eager) return form;
  form.dtype = at::kFloat;  // of tensors; what is rounded to bf16 are the numbers of a product
  form.as_stored = true;
  form.quantization = facts.quantization;
  if (level == Level::compile) form.pack = facts.pack;
  return form;
}

void CpuBackend::reset_memory_stats() {
  reset_tensor_peak();
}

MemoryStats CpuBackend::memory_stats() const {
  TensorMemory memory = tensor_memory();
  return {memory.peak_bytes, memory.current_bytes, cpu::scratch_bytes(), /*per_run=*/true};
}

double CpuBackend::available_memory_gb() const {
  return io::available_memory_gb();
}

}  // namespace omnirt
