// Fields made from what the server declares of a model's task.
import {MaskCanvas} from "/page/mask.js";

const mainKeys = ["num_inference_steps", "guidance_scale", "width", "height", "strength", "num_images_per_prompt",
                  "seed", "scheduler"];
// What the server refuses, and what has no meaning over it.
const hiddenKeys = new Set(["output", "output_dir", "model_path", "single_file_config", "state", "resume", "stop_after",
                            "preview_every", "preview_dir", "preview_name", "preview_decoder", "memory_budget", "device_memory_budget",
                            "metadata",
                            "profile", "prompt_embeds", "scheduler_config"]);
const imageInputs = new Set(["image", "control_image", "adapter_image", "ip_adapter_image", "image_reference"]);
const words = {num_inference_steps: "Steps", num_images_per_prompt: "Images", guidance_scale: "Guidance"};

export const wordsOf = name =>
    words[name] || (name[0].toUpperCase() + name.slice(1)).replaceAll("_", " ");

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function control(key, id, task) {
  const choices = key.name === "scheduler" ? task.supported_schedulers : key.choices;
  if (typeof key.default === "boolean") return element("input", {type: "checkbox", id, checked: key.default});
  if (choices && choices.length) {
    const select = element("select", {id}, element("option", {value: "", textContent: "default"}));
    for (const choice of choices) select.append(element("option", {value: choice, textContent: choice}));
    return select;
  }
  const number = key.min !== undefined || typeof key.default === "number";
  const input = element("input", {id, type: number ? "number" : "text", autocomplete: "off"});
  if (number) Object.assign(input, {min: key.min ?? "", max: key.max ?? "", step: "any"});
  input.placeholder = key.default === null || key.default === undefined ? "default" : String(key.default);
  return input;
}

function field(key, task, withHelp) {
  const id = "key-" + key.name;
  const made = control(key, id, task);
  made.dataset.key = key.name;
  const row = element("div", {className: "field"}, element("label", {htmlFor: id, textContent: wordsOf(key.name)}), made);
  if (key.help) made.title = key.help;
  if (withHelp && key.help) {
    const hint = element("p", {className: "hint", id: id + "-hint", textContent: key.help});
    made.setAttribute("aria-describedby", hint.id);
    row.append(hint);
  }
  return row;
}

export class RequestForm {
  constructor(inputs, main, more) {
    Object.assign(this, {inputs, main, more, files: {}, mask: null});
  }

  show(task) {
    const texts = this.texts();
    this.task = task;
    this.files = {};
    this.mask = null;
    this.inputs.replaceChildren();
    const required = new Set(task.required_inputs);
    for (const name of [...task.required_inputs, ...task.optional_inputs]) this.addInput(name, required.has(name));
    for (const area of this.inputs.querySelectorAll("textarea")) area.value = texts[area.dataset.input] || "";
    const keys = Object.fromEntries(task.keys.map(key => [key.name, key]));
    this.main.replaceChildren(...mainKeys.filter(name => keys[name]).map(name => field(keys[name], task, false)));
    const rest = task.keys.filter(key => !mainKeys.includes(key.name) && !hiddenKeys.has(key.name));
    this.more.replaceChildren(...rest.map(key => field(key, task, true)));
  }

  addInput(name, required) {
    if (name === "mask") return this.addMask();
    if (imageInputs.has(name)) return this.addImage(name, required);
    if (!name.includes("prompt") || name.includes("embeds")) return;
    const id = "input-" + name;
    const area = element("textarea", {id, required, rows: name === "prompt" ? 3 : 2});
    area.dataset.input = name;
    this.inputs.append(element("div", {className: "field"}, element("label", {htmlFor: id, textContent: wordsOf(name)}), area));
  }

  addImage(name, required) {
    const id = "input-" + name;
    const file = element("input", {id, type: "file", accept: "image/png,image/jpeg,image/webp", required});
    file.addEventListener("change", () => this.setImage(name, file.files[0]));
    this.inputs.append(element("div", {className: "field"},
                               element("label", {htmlFor: id, textContent: wordsOf(name)}), file));
  }

  setImage(name, file) {
    if (file) this.files[name] = file;
    else delete this.files[name];
    if (name === "image" && this.mask) this.mask.open(file);
  }

  addMask() {
    this.mask = new MaskCanvas();
    this.inputs.append(this.mask.element);
  }

  texts() {
    return Object.fromEntries([...this.inputs.querySelectorAll("textarea")].map(area => [area.dataset.input, area.value]));
  }

  // {request, files} as the server takes them; what is left empty is the model's default.
  async read(model) {
    const inputs = Object.fromEntries(Object.entries(this.texts()).filter(([, text]) => text.trim() !== ""));
    const config = {preview_every: 1};
    for (const each of document.querySelectorAll("[data-key]")) {
      const declared = this.task.keys.find(key => key.name === each.dataset.key);
      if (each.type === "checkbox") {
        if (each.checked !== declared.default) config[declared.name] = each.checked;
      } else if (each.value !== "") {
        config[declared.name] = each.type === "number" ? Number(each.value) : each.value;
      }
    }
    const files = {...this.files};
    if (this.mask) {
      const drawn = await this.mask.read();
      if (drawn) files.mask = drawn;
    }
    return {request: {model, task: this.task.task, inputs, config}, files};
  }

  // The values of an earlier run.
  fill(inputs, config) {
    for (const area of this.inputs.querySelectorAll("textarea")) {
      const text = inputs[area.dataset.input];
      area.value = typeof text === "string" ? text : "";
    }
    for (const each of document.querySelectorAll("[data-key]")) {
      const value = config[each.dataset.key];
      if (each.type === "checkbox") each.checked = Boolean(value);
      else each.value = value === undefined || value === null ? "" : String(value);
    }
  }
}
