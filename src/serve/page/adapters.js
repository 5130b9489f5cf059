// Adapters: those of the server that fit the model, with their scales; and what is uploaded.
import {deleteAdapter, getJson, uploadAdapter} from "/page/server.js";

const $ = id => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const fits = (adapter, model) => !adapter.models || adapter.models.includes(model);
// As a report has it, which names the file.
export const nameOf = path => path.replace(/\.safetensors$/, "");
const isControlNet = adapter => adapter.kind === "controlnet";

function megabytes(bytes) {
  return bytes < 1e6 ? (bytes / 1e3).toFixed(0) + " KB" : (bytes / 1e6).toFixed(1) + " MB";
}

export class Adapters {
  // `tried` runs what a button does, and shows what goes wrong.
  constructor(tried) {
    Object.assign(this, {tried, all: [], scales: new Map(), model: ""});
    $("upload").addEventListener("submit", event => { event.preventDefault(); tried(() => this.upload()); });
    $("upload-file").addEventListener("change", () => this.proposeName());
    $("controlnet").addEventListener("change", () => this.showControl());
    $("control-scale").addEventListener("input", () => this.showControl());
  }

  async load() {
    this.all = (await getJson("/v1/adapters")).adapters;
    this.showUploaded();
    this.show(this.model);
  }

  // What was chosen stays chosen as long as it fits.
  show(model) {
    this.model = model;
    const layers = this.all.filter(each => !isControlNet(each) && fits(each, model));
    const nets = this.all.filter(each => isControlNet(each) && fits(each, model));
    for (const name of [...this.scales.keys()]) if (!layers.some(each => each.name === name)) this.scales.delete(name);
    $("adapter-list").replaceChildren(...layers.map(each => this.row(each.name)));
    const chosen = $("controlnet").value;
    $("controlnet").replaceChildren(element("option", {value: "", textContent: "none"}),
                                    ...nets.map(each => element("option", {value: each.name, textContent: each.name})));
    $("controlnet").value = nets.some(each => each.name === chosen) ? chosen : "";
    $("controlnet-row").hidden = nets.length === 0;
    this.showControl();
    $("adapter-none").hidden = layers.length + nets.length > 0;
  }

  showControl() {
    $("control-row").hidden = !$("controlnet").value;
    $("control-shown").textContent = Number($("control-scale").value).toFixed(2);
  }

  row(name) {
    const on = this.scales.has(name), scale = this.scales.get(name) ?? 1;
    const check = element("input", {type: "checkbox", id: "adapter-" + name, checked: on});
    const slider = element("input", {type: "range", min: "-2", max: "2", step: "0.05", value: String(scale), disabled: !on});
    slider.setAttribute("aria-label", "Scale of " + name);
    const shown = element("output", {textContent: scale.toFixed(2)});
    check.addEventListener("change", () => {
      if (check.checked) this.scales.set(name, Number(slider.value));
      else this.scales.delete(name);
      slider.disabled = !check.checked;
    });
    slider.addEventListener("input", () => {
      this.scales.set(name, Number(slider.value));
      shown.textContent = Number(slider.value).toFixed(2);
    });
    return element("li", {}, check, element("label", {htmlFor: check.id, textContent: name}), slider, shown);
  }

  // Adds what is chosen to a request and its files.
  add(request, files) {
    if (this.scales.size > 0) request.adapters = [...this.scales].map(([path, scale]) => ({path, scale}));
    if (!$("controlnet").value) return;
    request.components = {controlnet: $("controlnet").value};
    request.config.controlnet_conditioning_scale = Number($("control-scale").value);
    const image = $("control-image").files[0];
    if (image) files.control_image = image;
  }

  // The choice of an earlier request, as far as it is still there.
  fill(request) {
    this.scales = new Map((request.adapters || []).map(each => [nameOf(each.path), each.scale ?? 1]));
    this.show(this.model);
    const net = (request.components || {}).controlnet;
    const known = typeof net === "string" && [...$("controlnet").options].some(each => each.value === net);
    $("controlnet").value = known ? net : "";
    $("control-scale").value = String(request.config.controlnet_conditioning_scale ?? 1);
    this.showControl();
  }

  // ------------------------------------------------------------------------------ uploads

  proposeName() {
    const file = $("upload-file").files[0];
    if (!file) return;
    const name = file.name.replace(/\.safetensors$/i, "").replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
    $("upload-name").value = name.slice(0, 100);
  }

  async upload() {
    const file = $("upload-file").files[0], config = $("upload-config").files[0];
    if (!file) throw new Error("Choose a .safetensors file to upload.");
    $("upload-send").disabled = true;
    $("upload-progress").hidden = false;
    $("upload-status").textContent = "Uploading " + file.name;
    try {
      const made = await uploadAdapter($("upload-name").value.trim(), file, config,
                                       share => { $("upload-progress").value = share; });
      $("upload-status").textContent = made.name + " is there (" + made.kind + " for " + made.models.join(", ") + ").";
      for (const id of ["upload-file", "upload-config", "upload-name"]) $(id).value = "";
      await this.load();
    } catch (error) {
      $("upload-status").textContent = "The upload failed: " + (error.lines || [error.message]).join(" ");
      if (error.status === 401) throw error;  // the page asks for a key
    } finally {
      $("upload-send").disabled = false;
      $("upload-progress").hidden = true;
    }
  }

  showUploaded() {
    $("uploaded").replaceChildren(...this.all.filter(each => each.uploaded).map(each => {
      const button = element("button", {type: "button", textContent: "Delete"});
      button.setAttribute("aria-label", "Delete " + each.name);
      button.addEventListener("click", () => this.tried(async () => {
        await deleteAdapter(each.name);
        $("upload-status").textContent = each.name + " is deleted.";
        await this.load();
      }));
      const text = each.name + ": " + each.kind + ", " + megabytes(each.bytes) + ", for " + each.models.join(", ");
      return element("li", {}, element("span", {textContent: text, title: "sha256 " + each.sha256}), button);
    }));
  }
}
