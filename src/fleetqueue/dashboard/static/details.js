// The pages of single objects: what is wanted of them, how they are, what happened to them.

import * as columns from "./columns.js";
import {
  badge, card, clusterQueueLink, cohortLink, facts, fill, flavorLink, h, localQueueLink, notice, path, phase, quotas,
  separated, truth,
} from "./dom.js";
import { age, yaml } from "./format.js";
import { problem } from "./lists.js";
import { Table } from "./table.js";

export function workload(page, namespace, name) {
  page.title(name, `Workload in ${namespace}`);
  const told = h("div");
  const body = h("div");
  const events = new Table("", EVENTS, { key: (row) => row.uid, empty: "No events are kept." });
  const trouble = h("div");
  const rest = h("div");
  page.show(told, body, card("Events", trouble, events.element), rest);
  page.listen(path("ws", "workload", namespace, name), (data) => {
    fill(told, problem(data));
    if (data.error) return fill(body);
    fill(body, workloadBody(data));
    fill(rest, whole(page, "workload", data.workload));
  });
  page.listen(path("ws", "workload", namespace, name, "events"), (data) => {
    fill(trouble, problem(data));
    if (!data.error) events.update(data.items);
  }, { isOptional: true });
}

function workloadBody({ workload, row, preemption, explanation }) {
  const { spec = {}, status = {} } = workload;
  return [
    card("", facts([
      ["Status", phase(row)],
      ["Queue", localQueueLink(row.namespace, row.queue)],
      ["Cluster queue", clusterQueueLink(row.clusterQueue)],
      ["Reserved in", clusterQueueLink(row.reservedIn)],
      ["Admitted", truth(row.admitted)],
      ["Finished", row.finished ? badge(row.finished) : ""],
      ["Priority", `${row.priority}${row.priorityClass ? ` (${row.priorityClass})` : ""}`],
      ["Job", row.owner ? `${row.owner.kind} ${row.owner.name}` : ""],
      ["Worker", row.cluster],
      ["Nominated workers", (status.nominatedClusterNames || []).join(", ")],
      ["Age", age(row.createdAt)],
    ]), row.message && !explanation ? h("p", { class: "quiet" }, row.message) : ""),
    why(explanation),
    card("Pod sets", podSets(spec, status)),
    (status.admissionChecks || []).length ? card("Admission checks", checks(status.admissionChecks)) : "",
    conditions(status),
    preempted(preemption),
  ];
}

function why(explanation) {
  if (!explanation) return "";
  if (!explanation.decision) {
    return card("Why it waits", h("p", null, explanation.message || "Nothing was decided about it yet."));
  }
  return card("Why it waits",
    h("p", null, explanation.message),
    explanation.podSets.map((set) => [
      h("h3", null, `Pod set ${set.name}: ${set.count} ${set.count === 1 ? "pod" : "pods"}`),
      table(VERDICTS, set.considered.flatMap((flavor) => flavor.resources.map((each, index) => ({ ...each, flavor, index }))),
        set.message || "No flavor was looked at."),
    ]));
}

const VERDICTS = [
  { label: "Flavor", cell: (row) => (row.index ? "" : flavorLink(row.flavor.flavor)) },
  { label: "Resource", cell: (row) => row.resource },
  { label: "Needed", kind: "number", cell: (row) => row.needed },
  { label: "Free", kind: "number", cell: (row) => row.free },
  { label: "Borrowable", kind: "number", cell: (row) => row.borrowable },
  { label: "Outcome", cell: (row) => badge(row.mode.replace("preemptionMode=", ""), row.mode === "Fit" ? "good" : "wait") },
  { label: "Why", kind: "long", cell: (row) => row.why || (row.index ? "" : row.flavor.reasons.join("; ")) },
];

function podSets(spec, status) {
  const assigned = Object.fromEntries(((status.admission || {}).podSetAssignments || []).map((each) => [each.name, each]));
  const asked = Object.fromEntries((status.resourceRequests || []).map((each) => [each.name, each.resources]));
  const rows = (spec.podSets || []).map((each) => ({ ...each, assigned: assigned[each.name], asked: asked[each.name] }));
  return table(POD_SETS, rows, "It has none.");
}

const POD_SETS = [
  { label: "Name", kind: "name", cell: (row) => row.name },
  { label: "Pods", kind: "number", cell: (row) => (row.assigned && row.assigned.count) ?? row.count },
  { label: "Containers", cell: (row) => containers(row).map((each) => h("div", null, each.name, h("div", { class: "quiet" }, each.image))) },
  { label: "Requests in all", cell: (row) => amounts((row.assigned && row.assigned.resourceUsage) || row.asked || requested(row)) },
  {
    label: "Flavors", cell: (row) => Object.entries((row.assigned && row.assigned.flavors) || {}).map(([resource, flavor]) =>
      h("div", null, `${resource}: `, flavorLink(flavor))),
  },
  {
    label: "Topology", cell: (row) => (row.assigned && row.assigned.topologyAssignment
      ? row.assigned.topologyAssignment.levels.join(" / ") : ""),
  },
];

const containers = (row) => ((row.template || {}).spec || {}).containers || [];

function requested(row) {
  const found = {};
  for (const each of containers(row)) {
    for (const [name, value] of Object.entries((each.resources || {}).requests || {})) {
      found[name] = found[name] ? `${found[name]} + ${value}` : `${value}`;
    }
  }
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, row.count > 1 ? `${row.count} × ${value}` : value]));
}

function amounts(resources) {
  return Object.entries(resources).map(([name, value]) => h("div", null, `${name}: ${value}`));
}

function checks(found) {
  return table([
    { label: "Name", kind: "name", cell: (row) => row.name },
    { label: "State", cell: (row) => badge(row.state, { Ready: "good", Rejected: "bad" }[row.state] || "wait") },
    { label: "Message", kind: "long", cell: (row) => row.message },
    { label: "Since", cell: (row) => age(row.lastTransitionTime) },
  ], found, "");
}

function conditions(status) {
  return card("Conditions", table([
    { label: "Type", kind: "name", cell: (row) => row.type },
    { label: "Status", cell: (row) => badge(row.status) },
    { label: "Reason", cell: (row) => row.reason },
    { label: "Message", kind: "long", cell: (row) => row.message },
    { label: "Since", cell: (row) => age(row.lastTransitionTime) },
  ], status.conditions || [], "It has none."));
}

function preempted(found) {
  const link = found.preemptorUid
    ? h("a", { href: `/workloads?q=${encodeURIComponent(found.preemptorUid)}` }, found.preemptorUid) : "";
  const requeue = found.requeue || {};
  return card("Preemption", found.reason ? "" : h("p", { class: "quiet" }, "It was not preempted."),
    facts([
      ["Preempted", found.reason ? badge(found.isPreempted ? "Yes" : "No longer", found.isPreempted ? "bad" : "") : ""],
      ["Reason", found.reason],
      ["Since", found.reason ? age(found.at) : ""],
      ["For the workload", link],
      ["Requeued", requeue.count !== undefined ? `${requeue.count} times` : ""],
      ["Not tried before", requeue.requeueAt ? new Date(requeue.requeueAt).toLocaleString() : ""],
    ]),
    found.isPreempted && found.message ? h("p", { class: "quiet" }, found.message) : "",
    found.evictions.length ? table([
      { label: "Evicted because of", kind: "name", cell: (row) => row.reason },
      { label: "Cause", cell: (row) => row.underlyingCause },
      { label: "Times", kind: "number", cell: (row) => row.count },
    ], found.evictions, "") : "",
    found.gates.length ? table([
      { label: "Gate", kind: "name", cell: (row) => row.name },
      { label: "Position", cell: (row) => badge(row.position) },
      { label: "Since", cell: (row) => age(row.lastTransitionTime) },
    ], found.gates, "") : "");
}

const EVENTS = [
  { label: "Type", cell: (row) => badge(row.type, row.type === "Warning" ? "wait" : "") },
  { label: "Reason", kind: "name", cell: (row) => row.reason },
  { label: "Message", kind: "long", cell: (row) => row.message },
  { label: "Times", kind: "number", cell: (row) => row.count },
  { label: "From", cell: (row) => row.from },
  { label: "Last", cell: (row) => age(row.lastAt) },
];

export function localQueue(page, namespace, name) {
  page.title(name, `LocalQueue in ${namespace}`);
  const told = h("div");
  const body = h("div");
  const list = new Table("", columns.workloads, { key: (row) => row.uid, sort: "Age", descending: true, empty: "It has no workload." });
  const rest = h("div");
  page.show(told, body, card("Workloads", list.element), rest);
  page.listen(path("ws", "local-queue", namespace, name), (data) => {
    fill(told, problem(data));
    if (data.error) return fill(body);
    const { localQueue: object, row } = data;
    fill(body, card("", facts([
      ["Cluster queue", clusterQueueLink(row.clusterQueue)],
      ["Active", truth(row.active)],
      ["Stop policy", row.stopPolicy],
      ["Pending", row.pendingWorkloads],
      ["Reserving", row.reservingWorkloads],
      ["Admitted", row.admittedWorkloads],
      ["Age", age(row.createdAt)],
    ])), row.resources.length ? card("Quota reserved", quotas(row.resources)) : "");
    fill(rest, conditions(object.status || {}), whole(page, "local-queue", object));
  });
  page.listen(path("ws", "local-queue", namespace, name, "workloads"), (data) => {
    if (!data.error) list.update(data.items);
  }, { isOptional: true });
}

export function clusterQueue(page, name) {
  page.title(name, "ClusterQueue");
  const told = h("div");
  const body = h("div");
  const locals = new Table("", columns.localQueues, { key: (row) => path(row.namespace, row.name), sort: "Name", empty: "No LocalQueue leads here." });
  const list = new Table("", columns.workloads, { key: (row) => row.uid, sort: "Age", descending: true, empty: "No workload has quota here." });
  const rest = h("div");
  page.show(told, body, card("Local queues", locals.element), card("Workloads with quota here", list.element), rest);
  page.listen(path("ws", "cluster-queue", name), (data) => {
    fill(told, problem(data));
    if (data.error) return fill(body);
    const { clusterQueue: object, row } = data;
    const { preemption = {}, fairSharing = {}, admissionChecksStrategy = {} } = object.spec || {};
    fill(body, card("", facts([
      ["Cohort", cohortLink(row.cohort)],
      ["Strategy", row.strategy],
      ["Active", truth(row.active)],
      ["Stop policy", row.stopPolicy],
      ["Pending", h("a", { href: `/workloads?phase=PENDING&q=${encodeURIComponent(name)}` }, row.pendingWorkloads)],
      ["Reserving", row.reservingWorkloads],
      ["Admitted", row.admittedWorkloads],
      ["Preempts within the queue", preemption.withinClusterQueue],
      ["Reclaims within the cohort", preemption.reclaimWithinCohort],
      ["Fair sharing weight", fairSharing.weight],
      ["Admission checks", (admissionChecksStrategy.admissionChecks || []).map((each) => each.name).join(", ")],
      ["Age", age(row.createdAt)],
    ]), row.active === "False" ? notice(row.message, "wait") : ""), card("Quota", limits(row.resources)));
    locals.update(data.localQueues);
    list.update(data.workloads);
    fill(rest, conditions(object.status || {}), whole(page, "cluster-queue", object));
  });
}

function limits(resources) {
  return [quotas(resources), h("h3", null, "Limits"), table([
    { label: "Flavor", cell: (row) => flavorLink(row.flavor) },
    { label: "Resource", cell: (row) => row.resource },
    { label: "Nominal", kind: "number", cell: (row) => row.nominal },
    { label: "May borrow", kind: "number", cell: (row) => row.borrowingLimit ?? "no limit" },
    { label: "May lend", kind: "number", cell: (row) => row.lendingLimit ?? "no limit" },
    { label: "Reserved", kind: "number", cell: (row) => row.reserved },
    { label: "Used", kind: "number", cell: (row) => row.used },
    { label: "Borrowed", kind: "number", cell: (row) => row.borrowed },
  ], resources, "It has none.")];
}

export function cohort(page, name) {
  page.title(name, "Cohort");
  const told = h("div");
  const body = h("div");
  const queues = new Table("", columns.clusterQueues, { key: (row) => row.name, sort: "Name", empty: "No ClusterQueue names it." });
  const children = new Table("", columns.cohorts, { key: (row) => row.name, sort: "Name", empty: "It has none." });
  const rest = h("div");
  page.show(told, body, card("Cluster queues", queues.element), card("Cohorts below it", children.element), rest);
  page.listen(path("ws", "cohort", name), (data) => {
    fill(told, problem(data));
    if (data.error) return fill(body);
    const { cohort: object, row } = data;
    fill(body, card("", facts([
      ["Parent", cohortLink(row.parent)],
      ["Weighted share", row.weightedShare],
      ["Object", row.exists ? "" : "none: queues name it, that is enough"],
      ["Age", age(row.createdAt)],
    ])), row.resources.length ? card("Quota of its own", limits(row.resources)) : "");
    queues.update(data.clusterQueues);
    children.update(data.children);
    fill(rest, object ? whole(page, "cohort", object) : "");
  });
}

export function flavor(page, name) {
  page.title(name, "ResourceFlavor");
  const told = h("div");
  const body = h("div");
  const queues = new Table("", columns.clusterQueues, { key: (row) => row.name, sort: "Name", empty: "No ClusterQueue has quota of it." });
  const rest = h("div");
  page.show(told, body, card("Cluster queues", queues.element), rest);
  page.listen(path("ws", "resource-flavor", name), (data) => {
    fill(told, problem(data));
    if (data.error) return fill(body);
    const { resourceFlavor: object, row } = data;
    fill(body, card("", facts([
      ["Node labels", Object.entries(row.nodeLabels).map(([key, value]) => h("div", null, `${key}=${value}`))],
      ["Node taints", row.nodeTaints.map((each) => h("div", null, columns.taint(each)))],
      ["Tolerations", row.tolerations.map((each) => h("div", null, [each.key, each.value, each.effect].filter(Boolean).join(" ")))],
      ["Topology", row.topology],
      ["Cluster queues", separated(row.clusterQueues.map(clusterQueueLink))],
      ["Age", age(row.createdAt)],
    ].filter(([, value]) => value.length !== 0))));
    queues.update(data.clusterQueues.map((each) => ({ ...each, resources: each.resources.filter((one) => one.flavor === name) })));
    fill(rest, whole(page, "resource-flavor", object));
  });
}

// What is left: the object itself. Opened parts stay open from one snapshot to the next.
function whole(page, type, object) {
  const { name, namespace } = object.metadata;
  const query = namespace ? `namespace=${encodeURIComponent(namespace)}&` : "";
  const address = `${path("api", type, name)}?${query}output=`;
  const parts = [["Metadata", object.metadata], ["Spec", object.spec], ["Status", object.status]];
  return card("Object",
    page.hasLogin ? "" : h("p", null, "As the cluster has it: ",
      h("a", { href: `${address}yaml`, "data-plain": true }, "YAML"), ", ",
      h("a", { href: `${address}json`, "data-plain": true }, "JSON")),
    parts.filter(([, value]) => value).map(([title, value]) =>
      h("details", { open: page.isOpen(title), ontoggle: (event) => page.remember(title, event.target.open) },
        h("summary", null, title), h("pre", { tabindex: 0, "aria-label": title }, yaml(value)))));
}

function table(shape, rows, empty) {
  const made = new Table("", shape, { key: (row) => row, empty });
  made.update(rows);
  return made.element;
}
