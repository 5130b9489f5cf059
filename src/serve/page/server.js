// The server's routes as functions. The key, where one is needed, stays in this tab.
let key = sessionStorage.getItem("omnirt-key") || "";

export function setKey(value) {
  key = value.trim();
  sessionStorage.setItem("omnirt-key", key);
}

// A refusal with the findings of the server: [{field, message, way_out}].
class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "The server answered " + status + ".");
    this.status = status;
    this.findings = problem.errors || [];
  }

  get lines() {
    const line = each => [each.field, each.value].filter(Boolean).join(" = ") + (each.field ? ": " : "") +
                         each.message + (each.way_out ? "; " + each.way_out : "");
    return this.findings.length ? this.findings.map(line) : [this.message];
  }
}

async function ask(path, options = {}) {
  const headers = {...options.headers};
  if (key) headers.Authorization = "Bearer " + key;
  const answer = await fetch(path, {...options, headers});
  if (answer.ok) return answer;
  throw new Refused(answer.status, await answer.json().catch(() => ({})));
}

export const getJson = async path => (await ask(path)).json();
export const getBlob = async path => (await ask(path)).blob();
export const cancelJob = id => ask("/v1/jobs/" + id, {method: "DELETE"});

export const deleteAdapter = name => ask("/v1/adapters/" + encodeURIComponent(name), {method: "DELETE"});

// A file of any size: `sent` is called with the share that is sent.
export function uploadAdapter(name, file, config, sent) {
  const body = new FormData();
  body.append("name", name);
  body.append("file", file);
  if (config) body.append("config", config);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v1/adapters");
    request.responseType = "json";
    if (key) request.setRequestHeader("Authorization", "Bearer " + key);
    request.upload.addEventListener("progress", event => event.total && sent(event.loaded / event.total));
    request.addEventListener("error", () => reject(new Error("The server cannot be reached.")));
    request.addEventListener("load", () => request.status === 201
        ? resolve(request.response) : reject(new Refused(request.status, request.response || {})));
    request.send(body);
  });
}

// The JSON with its files as parts of one body; the job that was accepted.
export async function submit(request, files) {
  const body = new FormData();
  body.append("request", JSON.stringify({...request, async: true}));
  for (const [name, file] of Object.entries(files)) body.append(name, file, name + ".png");
  return (await ask("/v1/generate", {method: "POST", body})).json();
}

function readEvent(text) {
  const event = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  return event.data ? {id: event.id, type: event.event, data: JSON.parse(event.data)} : null;
}

// Calls `heard` with each event of the job until its last; a cut connection is taken up again.
export async function follow(id, heard) {
  for (let last = "", tries = 0; tries < 20; ++tries) {
    try {
      const answer = await ask("/v1/jobs/" + id + "/events", last ? {headers: {"Last-Event-ID": last}} : {});
      if (answer.status === 204) return;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const {done, value} = await reader.read();
        if (done) break;
        text += value;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const event = readEvent(text.slice(0, end));
          text = text.slice(end + 2);
          if (!event) continue;
          last = event.id || last;
          tries = 0;
          heard(event);
        }
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
      await new Promise(resolve => setTimeout(resolve, 1000));
    }
  }
}
