// Builds the page. Text only ever becomes text: nothing here reads markup, so that no name,
// annotation or message of a cluster can become a part of the page.

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

export function path(...parts) {
  return "/" + parts.map(encodeURIComponent).join("/");
}

// Links. Names come from the cluster, so every part is encoded.

export const workloadLink = (namespace, name) => h("a", { href: path("workload", namespace, name) }, name);
export const localQueueLink = (namespace, name) =>
  name ? h("a", { href: path("local-queue", namespace, name) }, name) : "";
export const clusterQueueLink = (name) => (name ? h("a", { href: path("cluster-queue", name) }, name) : "");
export const cohortLink = (name) => (name ? h("a", { href: path("cohort", name) }, name) : "");
export const flavorLink = (name) => (name ? h("a", { href: path("resource-flavor", name) }, name) : "");

export function separated(nodes) {
  return nodes.flatMap((node, index) => (index ? [", ", node] : [node]));
}

// Pieces that many pages have

export function badge(text, kind) {
  return text ? h("span", { class: `badge ${kind || ""}` }, text) : "";
}

const PHASES = {
  PENDING: ["Pending", "wait"],
  QUOTARESERVED: ["Quota reserved", "info"],
  ADMITTED: ["Admitted", "good"],
  FINISHED: ["Finished", ""],
};
export const PHASE_NAMES = Object.fromEntries(Object.entries(PHASES).map(([key, [text]]) => [key, text]));

export function phase(row) {
  if (!row.isActive && row.phase === "PENDING") return badge("Inactive", "bad");
  const [text, kind] = PHASES[row.phase] || [row.phase, ""];
  return badge(text, kind);
}

export function truth(value) {
  return badge(value, { True: "good", False: "wait" }[value]);
}

export function notice(text, kind = "bad") {
  return h("p", { class: `notice ${kind}`, role: "alert" }, text);
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title ? h("h2", null, title) : "", ...children);
}

export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return h("dl", { class: "facts" }, shown.map(([name, value]) =>
    h("div", null, h("dt", null, name), h("dd", null, value))));
}

export function quotas(resources) {
  return h("div", { class: "quotas" }, resources.map(quota));
}

function quota(each) {
  const name = `${each.flavor} · ${each.resource}`;
  if (each.nominal === undefined) {
    return h("div", { class: "quota" }, h("div", { class: "line" },
      h("span", null, name), h("span", null, each.reserved)));
  }
  const borrowed = each.borrowed !== "0" ? `, ${each.borrowed} borrowed` : "";
  const text = `${each.reserved} of ${each.nominal}${borrowed}`;
  const inner = h("i");
  inner.style.width = `${Math.min(100, each.ratio * 100)}%`;
  return h("div", { class: "quota" },
    h("div", { class: "line" }, h("span", null, name), h("span", null, text)),
    h("div", { class: each.ratio > 1 ? "bar over" : "bar", role: "img", "aria-label": `${name}: ${text}` }, inner));
}
