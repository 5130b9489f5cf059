// Names of samplers and sigma schedules in AUTOMATIC1111's web UI, k-diffusion, ComfyUI and
// stable-diffusion.cpp, and what diffusers has in their place (its documentation's tables).
#include "schedulers/scheduler_name_table.hpp"

#include <array>

namespace omnirt {

std::span<const SamplerName> sampler_names() {
  constexpr std::string_view multistep = "DPMSolverMultistepScheduler";
  static constexpr auto rows = std::to_array<SamplerName>({
      {"euler|k_euler", "EulerDiscreteScheduler", "{}", "FlowMatchEulerDiscreteScheduler"},
      {"euler-a|euler_ancestral|k_euler_a|k_euler_ancestral", "EulerAncestralDiscreteScheduler"},
      {"dpmpp-2m|k_dpmpp_2m", multistep, R"({"algorithm_type": "dpmsolver++", "solver_order": 2})"},
      {"dpmpp-2m-sde|dpmpp_2m_sde_gpu|k_dpmpp_2m_sde", multistep,
       R"({"algorithm_type": "sde-dpmsolver++", "solver_order": 2})"},
      {"dpmpp-2m-sde-heun|dpmpp_2m_sde_heun_gpu", multistep,
       R"({"algorithm_type": "sde-dpmsolver++", "solver_order": 2, "solver_type": "heun"})"},
      {"dpmpp-3m-sde|dpmpp_3m_sde_gpu|k_dpmpp_3m_sde", multistep,
       R"({"algorithm_type": "sde-dpmsolver++", "solver_order": 3})"},
      {"dpmpp-sde|dpmpp_sde_gpu|k_dpmpp_sde", "DPMSolverSinglestepScheduler",
       R"({"algorithm_type": "sde-dpmsolver++"})"},
      {"dpmpp-2s", "DPMSolverSinglestepScheduler",
       R"({"algorithm_type": "dpmsolver++", "solver_order": 2})"},
      {"dpm2|dpm_2|k_dpm_2", "KDPM2DiscreteScheduler"},
      {"dpm2-a|dpm_2_ancestral|dpm2_ancestral|k_dpm_2_a|k_dpm_2_ancestral",
       "KDPM2AncestralDiscreteScheduler"},
      {"heun|k_heun", "HeunDiscreteScheduler", "{}", "FlowMatchHeunDiscreteScheduler"},
      {"lms|k_lms", "LMSDiscreteScheduler"},
      {"ddim", "DDIMScheduler"},
      {"ddpm", "DDPMScheduler"},
      {"plms", "PNDMScheduler", R"({"skip_prk_steps": true})"},
      {"unipc|uni_pc", "UniPCMultistepScheduler"},
      {"unipc-bh1|uni_pc_bh1", "UniPCMultistepScheduler", R"({"solver_type": "bh1"})"},
      {"unipc-bh2|uni_pc_bh2", "UniPCMultistepScheduler", R"({"solver_type": "bh2"})"},
      {"deis|deis_2m", "DEISMultistepScheduler"},
      {"lcm", "LCMScheduler", "{}", "FlowMatchLCMScheduler"},
      {"tcd", "TCDScheduler"},
      {"sa-solver|sa_solver", "SASolverScheduler"},
  });
  return rows;
}

std::span<const SigmaScheduleName> sigma_schedule_names() {
  static constexpr auto rows = std::to_array<SigmaScheduleName>({
      {"karras", "use_karras_sigmas", R"({"use_karras_sigmas": true})"},
      {"exponential", "use_exponential_sigmas",
       R"({"use_exponential_sigmas": true, "timestep_spacing": "linspace"})"},
      {"beta", "use_beta_sigmas", R"({"use_beta_sigmas": true, "timestep_spacing": "linspace"})"},
      // Before uniform, which it ends with.
      {"ddim_uniform", "timestep_spacing", R"({"timestep_spacing": "leading", "steps_offset": 1})"},
      {"sgm_uniform|trailing", "timestep_spacing", R"({"timestep_spacing": "trailing"})"},
      {"simple", "timestep_spacing", R"({"timestep_spacing": "trailing"})", true},
      {"normal|uniform|discrete|linspace", "timestep_spacing",
       R"({"timestep_spacing": "linspace"})"},
      {"leading", "timestep_spacing", R"({"timestep_spacing": "leading"})"},
  });
  return rows;
}

std::span<const MissingName> missing_names() {
  static constexpr auto rows = std::to_array<MissingName>({
      {"dpmpp_2s_a|dpmpp_2s_ancestral|k_dpmpp_2s_a", "dpmpp-2s"},
      {"dpmpp_2mv2|dpmpp_2m_v2", "dpmpp-2m"},
      {"dpm_fast|dpm_adaptive|k_dpm_fast|k_dpm_adaptive", "dpmpp-2m"},
      {"ipndm|ipndm_v", "plms"},
      {"heunpp2", "heun"},
      {"euler_cfg_pp|euler_max|gradient_estimation|res_multistep|res_2s", "euler"},
      {"euler_ancestral_cfg_pp|restart", "euler-a"},
      {"dpmpp_2m_cfg_pp|dpmpp_2m_alt|dpmpp_2m_test", "dpmpp-2m"},
      {"sa_solver_pece", "sa-solver"},
      {"er_sde|seeds_2|seeds_3", "dpmpp-3m-sde"},
      {"ays|align_your_steps|align_your_steps_gits|gits|kl_optimal|smoothstep", "karras"},
      {"polyexponential", "exponential"},
      {"linear_quadratic|turbo|sgm_turbo", "sgm_uniform"},
  });
  return rows;
}

}  // namespace omnirt
