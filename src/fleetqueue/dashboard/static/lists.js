// The overview and the lists.

import * as columns from "./columns.js";
import { card, fill, h, notice, path, PHASE_NAMES } from "./dom.js";
import { Table } from "./table.js";

export function overview(page) {
  page.title("Overview");
  const told = h("div");
  const tiles = h("ul", { class: "tiles" });
  const queues = new Table("", columns.clusterQueues, { key: (row) => row.name, empty: "There is no ClusterQueue." });
  const waiting = new Table("", short(), { key: (row) => row.uid, empty: "Nothing waits." });
  page.show(told, tiles, card("Cluster queues", queues.element), card("Waiting the longest", waiting.element));
  page.listen("/ws/workloads/dashboard", (data) => {
    fill(told, problem(data));
    if (data.error) return;
    fill(tiles, tilesOf(data.counts));
    queues.update(data.clusterQueues);
    waiting.update(data.waiting);
  });
}

function short() {
  const left = new Set(["Reserved in", "Admitted", "Finished", "Worker"]);
  return columns.workloads.filter((each) => !left.has(each.label));
}

function tilesOf(counts) {
  const phases = Object.entries(PHASE_NAMES).map(([key, text]) =>
    [text, counts.workloads[key], `/workloads?phase=${key}`]);
  const others = [
    ["Cluster queues", counts.clusterQueues, "/cluster-queues"],
    ["Local queues", counts.localQueues, "/local-queues"],
    ["Cohorts", counts.cohorts, "/cohorts"],
    ["Flavors", counts.resourceFlavors, "/resource-flavors"],
  ];
  return [...phases, ...others].map(([text, count, href]) =>
    h("li", null, h("a", { href }, h("b", null, count), text)));
}

export function workloads(page) {
  page.title("Workloads");
  const options = [["", "All"], ...Object.entries(PHASE_NAMES), ["PREEMPTED", "Preempted"]];
  filtered(page, {
    topic: "/ws/workloads",
    table: new Table("", columns.workloads, { key: (row) => row.uid, sort: "Age", descending: true, empty: "No workload is like that." }),
    hasNamespace: true,
    choice: { name: "phase", label: "Status", options },
    wanted: (row, chosen) =>
      !chosen || (chosen === "PREEMPTED" ? row.isPreempted : row.phase === chosen),
    text: (row) => [row.name, row.namespace, row.queue, row.clusterQueue, row.uid, row.message, row.cluster,
      row.owner ? row.owner.name : ""].join(" "),
  });
}

export function localQueues(page) {
  page.title("Local queues");
  filtered(page, {
    topic: "/ws/local-queues",
    table: new Table("", columns.localQueues, { key: (row) => path(row.namespace, row.name), sort: "Name", empty: "No LocalQueue is like that." }),
    hasNamespace: true,
    text: (row) => `${row.name} ${row.namespace} ${row.clusterQueue}`,
  });
}

export function clusterQueues(page) {
  page.title("Cluster queues");
  filtered(page, {
    topic: "/ws/cluster-queues",
    table: new Table("", columns.clusterQueues, { key: (row) => row.name, sort: "Name", empty: "No ClusterQueue is like that." }),
    text: (row) => `${row.name} ${row.cohort}`,
  });
}

export function cohorts(page) {
  page.title("Cohorts");
  filtered(page, {
    topic: "/ws/cohorts",
    table: new Table("", columns.cohorts, { key: (row) => row.name, sort: "Name", empty: "No cohort is like that." }),
    text: (row) => `${row.name} ${row.parent}`,
  });
}

export function flavors(page) {
  page.title("Resource flavors");
  filtered(page, {
    topic: "/ws/resource-flavors",
    table: new Table("", columns.flavors, { key: (row) => row.name, sort: "Name", empty: "No ResourceFlavor is like that." }),
    text: (row) => `${row.name} ${JSON.stringify(row.nodeLabels)}`,
  });
}

// A list with what narrows it down. The address of the page says what was chosen.
function filtered(page, list) {
  const query = new URLSearchParams(location.search);
  const told = h("div");
  const count = h("span", { class: "count", role: "status" });
  const search = h("input", { type: "search", value: query.get("q"), oninput: draw });
  const choice = list.choice && h("select", { onchange: draw }, list.choice.options.map(([value, text]) =>
    h("option", { value, selected: query.get(list.choice.name) === value }, text)));
  const namespace = list.hasNamespace
    && h("input", { list: "namespaces", placeholder: "all", value: query.get("namespace"), onchange: follow });
  const names = h("datalist", { id: "namespaces" });
  let items = [];
  let stop = () => {};

  page.show(told, h("div", { class: "card" },
    h("div", { class: "filters", role: "search" },
      h("label", null, "Find", search),
      choice ? h("label", null, list.choice.label, choice) : "",
      namespace ? [h("label", null, "Namespace", namespace), names] : "",
      count),
    list.table.element));
  if (namespace) page.listen("/ws/namespaces", (data) => fill(names, (data.namespaces || []).map((name) => h("option", { value: name }))), { isOptional: true });
  follow();

  function follow() {
    stop();
    const wanted = namespace ? namespace.value.trim() : "";
    const address = wanted ? `${list.topic}?namespace=${encodeURIComponent(wanted)}` : list.topic;
    stop = page.listen(address, (data) => {
      fill(told, problem(data));
      if (data.error) return;
      items = data.items;
      draw();
    });
    remember();
  }

  function draw() {
    const text = search.value.trim().toLowerCase();
    const chosen = choice ? choice.value : "";
    const found = items.filter((row) =>
      (!list.wanted || list.wanted(row, chosen)) && (!text || list.text(row).toLowerCase().includes(text)));
    fill(count, found.length === items.length ? `${items.length}` : `${found.length} of ${items.length}`);
    list.table.update(found);
    remember();
  }

  function remember() {
    const said = new URLSearchParams();
    if (search.value) said.set("q", search.value);
    if (choice && choice.value) said.set(list.choice.name, choice.value);
    if (namespace && namespace.value) said.set("namespace", namespace.value);
    const text = said.toString();
    history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
  }
}

export function problem(data) {
  if (data.error) return notice(data.error);
  return data.problem ? notice(`What is shown may be old: ${data.problem}`, "wait") : "";
}
