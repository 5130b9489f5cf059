import {cancelJob, follow, getBlob, getJson, setKey, submit} from "/page/server.js";
import {Adapters, nameOf} from "/page/adapters.js";
import {RequestForm, wordsOf} from "/page/form.js";

const $ = id => document.getElementById(id);
const form = new RequestForm($("inputs"), $("main-fields"), $("more-fields"));
const adapters = new Adapters(tried);
const described = new Map();  // by model: what the server declares of it
let running = null;           // the job that is followed
let shown = null;             // the job in the viewer

function option(value, text = value) {
  return Object.assign(document.createElement("option"), {value, textContent: text});
}

// -------------------------------------------------------------------------------- findings

function showError(error) {
  if (error.status === 401) $("key-row").hidden = false;
  const lines = error.lines || [error.message];
  $("findings").replaceChildren(...lines.map(text => Object.assign(document.createElement("p"), {textContent: text})));
}

async function tried(work) {
  try {
    $("findings").replaceChildren();
    return await work();
  } catch (error) {
    showError(error);
    return null;
  }
}

// ---------------------------------------------------------------------------- models and tasks

async function chooseModel() {
  const id = $("model").value;
  if (!described.has(id)) described.set(id, await getJson("/v1/models/" + encodeURIComponent(id)));
  const tasks = described.get(id).tasks, before = $("task").value;
  $("task").replaceChildren(...tasks.map(each => option(each.task)));
  if (tasks.some(each => each.task === before)) $("task").value = before;
  chooseTask();
}

function chooseTask() {
  const model = described.get($("model").value);
  const task = model.tasks.find(each => each.task === $("task").value);
  const things = model.things?.length ? " It knows " + model.things.length + " things, such as " +
                                model.things.slice(0, 6).join(", ") + "." : "";
  $("summary").textContent = (task.summary ? task.summary + "." : "") + things;
  form.show(task);
  adapters.show($("model").value);
}

async function loadModels() {
  const {models} = await getJson("/v1/models");
  $("model").replaceChildren(...models.map(each => option(each.id)));
  const first = models.find(each => each.default) || models[0];
  if (!first) throw new Error("This server has no models.");
  $("model").value = first.id;
  await chooseModel();
}

// ------------------------------------------------------------------------------------ running

function onEvent(event) {
  const {data} = event;
  if (event.type === "progress" && data.steps) {
    $("progress").value = data.step / data.steps;
    $("status").textContent = data.stage === "denoise_loop" || data.step > 0
        ? "Step " + data.step + " of " + data.steps : "Preparing";
  }
  if (event.type === "preview" && (data.index ?? 0) === 0) {
    $("preview").src = "data:" + data.mime + ";base64," + data.data;
    $("preview").alt = "Preview at step " + data.step;
    $("preview").hidden = false;
  }
}

async function showResult(id) {
  const job = await getJson("/v1/jobs/" + id);
  if (job.state !== "done") {
    $("status").textContent = job.error ? job.error.message : "The job was " + job.state + ".";
    return;
  }
  $("progress").value = 1;
  $("status").textContent = "Done in " + ((job.ended_ms - job.started_ms) / 1000).toFixed(1) + " s.";
  $("preview").src = URL.createObjectURL(await getBlob(job.artifacts[0].url));
  $("preview").alt = "The result";
  $("preview").hidden = false;
}

async function run() {
  const {request, files} = await form.read($("model").value);
  adapters.add(request, files);
  running = (await submit(request, files)).id;
  $("cancel").disabled = false;
  $("progress").value = 0;
  $("preview").hidden = true;
  $("status").textContent = "Waiting";
  await follow(running, onEvent);
  await showResult(running);
  await showGallery();
}

// One at a time, from the press on: a second press while the first is sent does nothing.
async function generate() {
  if ($("generate").disabled) return;
  $("generate").disabled = true;
  try {
    await run();
  } finally {
    running = null;
    $("generate").disabled = false;
    $("cancel").disabled = true;
  }
}

// ------------------------------------------------------------------------------------ gallery

const images = new Map();  // object URLs by the artifacts' URLs

async function imageOf(url) {
  if (!images.has(url)) images.set(url, URL.createObjectURL(await getBlob(url)));
  return images.get(url);
}

async function galleryItem(job, artifact) {
  const item = document.createElement("li"), button = document.createElement("button");
  const image = Object.assign(document.createElement("img"), {alt: "", src: await imageOf(artifact.url)});
  const text = Object.assign(document.createElement("span"),
                             {textContent: job.model + (artifact.seed === undefined ? "" : ", seed " + artifact.seed)});
  button.type = "button";
  button.append(image, text);
  button.addEventListener("click", () => tried(() => openViewer(job.id, artifact)));
  item.append(button);
  return item;
}

async function showGallery() {
  const {jobs} = await getJson("/v1/jobs?limit=60");
  const all = jobs.filter(job => job.state === "done")
                  .flatMap(job => (job.artifacts || []).filter(each => (each.mime || "").startsWith("image/"))
                                                       .map(each => galleryItem(job, each)));
  $("gallery").replaceChildren(...await Promise.all(all));
  $("gallery-empty").hidden = all.length > 0;
}

async function openViewer(id, artifact) {
  const job = await getJson("/v1/jobs/" + id);
  shown = {job, artifact};
  const {inputs, config, adapters: used = [], components = {}} = job.request;
  const facts = {model: job.model, task: job.report.task, ...inputs, ...config, seed: artifact.seed,
                 adapters: used.map(each => nameOf(each.path) + " " + (each.scale ?? 1)).join(", "),
                 controlnet: components.controlnet || ""};
  for (const name of ["preview_every", "metadata"]) delete facts[name];
  $("viewer-request").replaceChildren(...Object.entries(facts).filter(
      ([, value]) => typeof value !== "object" && value !== "").flatMap(
      ([name, value]) => [Object.assign(document.createElement("dt"), {textContent: wordsOf(name)}),
                          Object.assign(document.createElement("dd"), {textContent: String(value)})]));
  $("viewer-image").src = $("save").href = await imageOf(artifact.url);
  $("viewer-image").alt = inputs.prompt || "The image";
  $("save").download = artifact.name || "image.png";
  $("viewer").showModal();
}

async function again() {
  const {job} = shown;
  $("viewer").close();
  if (![...$("model").options].some(each => each.value === job.model)) throw new Error("The model is not served any more.");
  $("model").value = job.model;
  await chooseModel();
  $("task").value = job.report.task;
  chooseTask();
  form.fill(job.request.inputs, {...job.request.config, seed: shown.artifact.seed});
  adapters.fill(job.request);
  const first = $("inputs").querySelector("textarea, input");
  if (first) first.focus();
}

// -------------------------------------------------------------------------------------- page

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
  localStorage.setItem("omnirt-theme", dark ? "dark" : "light");
}

async function begin() {
  await loadModels();
  $("key-row").hidden = true;
  await adapters.load();
  await showGallery();
}

const theme = localStorage.getItem("omnirt-theme");
setTheme(theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
$("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
$("model").addEventListener("change", () => tried(chooseModel));
$("task").addEventListener("change", () => tried(async () => chooseTask()));
$("key").addEventListener("change", () => { setKey($("key").value); tried(begin); });
$("cancel").addEventListener("click", () => running && tried(() => cancelJob(running)));
$("again").addEventListener("click", () => tried(again));
$("close").addEventListener("click", () => $("viewer").close());
$("form").addEventListener("submit", event => { event.preventDefault(); tried(generate); });
document.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) tried(generate);
});
tried(begin);
