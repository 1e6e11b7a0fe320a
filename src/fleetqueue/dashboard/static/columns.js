// The columns of the lists: those that kubectl prints, and links.

import {
  badge, cohortLink, clusterQueueLink, flavorLink, h, localQueueLink, phase, quotas, separated, truth, workloadLink,
} from "./dom.js";
import { age } from "./format.js";

const created = { label: "Age", value: (row) => row.createdAt, cell: (row) => age(row.createdAt) };
const namespace = { label: "Namespace", value: (row) => row.namespace, cell: (row) => row.namespace };

function counter(label, field) {
  return { label, kind: "number", value: (row) => row[field], cell: (row) => row[field] };
}

function standing(row) {
  if (row.stopPolicy !== "None") return badge(row.stopPolicy, "bad");
  return [truth(row.active), row.active === "True" || !row.message ? "" : h("div", { class: "quiet" }, row.message)];
}
const active = { label: "Active", value: (row) => row.active, cell: standing };

function owner(row) {
  if (!row.owner) return "";
  return [row.owner.name, h("div", { class: "quiet" }, row.owner.kind)];
}

// With the ClusterQueue that it leads to, as long as the workload has no quota there.
function queue(row) {
  const isThere = !row.clusterQueue || row.clusterQueue === row.reservedIn;
  return [localQueueLink(row.namespace, row.queue), isThere ? "" : h("div", { class: "quiet" }, "→ ", clusterQueueLink(row.clusterQueue))];
}

export const workloads = [
  {
    label: "Name", kind: "name", value: (row) => row.name,
    cell: (row) => workloadLink(row.namespace, row.name),
  },
  namespace,
  { label: "Status", value: (row) => row.phase, cell: (row) => [phase(row), " ", row.isPreempted ? badge("Preempted", "bad") : ""] },
  { label: "Queue", value: (row) => row.queue, cell: queue },
  { label: "Reserved in", value: (row) => row.reservedIn, cell: (row) => clusterQueueLink(row.reservedIn) },
  { label: "Admitted", kind: "spare", value: (row) => row.admitted, cell: (row) => row.admitted },
  { label: "Finished", kind: "spare", value: (row) => row.finished, cell: (row) => row.finished },
  { label: "Priority", kind: "number", value: (row) => row.priority, cell: (row) => row.priority },
  { label: "Job", value: (row) => (row.owner ? row.owner.name : ""), cell: owner },
  { label: "Worker", isOptional: true, value: (row) => row.cluster, cell: (row) => row.cluster },
  created,
  { label: "Last word", kind: "long", cell: (row) => h("div", { class: "clamp", title: row.message }, row.message) },
];

export const localQueues = [
  {
    label: "Name", kind: "name", value: (row) => row.name,
    cell: (row) => localQueueLink(row.namespace, row.name),
  },
  namespace,
  { label: "Cluster queue", value: (row) => row.clusterQueue, cell: (row) => clusterQueueLink(row.clusterQueue) },
  counter("Pending", "pendingWorkloads"),
  counter("Reserving", "reservingWorkloads"),
  counter("Admitted", "admittedWorkloads"),
  active,
  created,
];

export const clusterQueues = [
  { label: "Name", kind: "name", value: (row) => row.name, cell: (row) => clusterQueueLink(row.name) },
  { label: "Cohort", value: (row) => row.cohort, cell: (row) => cohortLink(row.cohort) },
  { label: "Strategy", value: (row) => row.strategy, cell: (row) => row.strategy },
  counter("Pending", "pendingWorkloads"),
  counter("Reserving", "reservingWorkloads"),
  counter("Admitted", "admittedWorkloads"),
  active,
  { label: "Quota reserved", kind: "wide", cell: (row) => quotas(row.resources) },
  created,
];

export const cohorts = [
  { label: "Name", kind: "name", value: (row) => row.name, cell: (row) => cohortLink(row.name) },
  { label: "Parent", value: (row) => row.parent, cell: (row) => cohortLink(row.parent) },
  {
    label: "Children", value: (row) => row.children.length,
    cell: (row) => separated(row.children.map(cohortLink)),
  },
  {
    label: "Cluster queues", value: (row) => row.clusterQueues.length,
    cell: (row) => separated(row.clusterQueues.map(clusterQueueLink)),
  },
  {
    label: "Weighted share", kind: "number", value: (row) => row.weightedShare || 0,
    cell: (row) => (row.weightedShare === null ? "" : row.weightedShare),
  },
  { label: "Object", value: (row) => String(row.exists), cell: (row) => (row.exists ? "" : "named by queues only") },
  created,
];

export const flavors = [
  { label: "Name", kind: "name", value: (row) => row.name, cell: (row) => flavorLink(row.name) },
  { label: "Node labels", cell: (row) => pairs(row.nodeLabels) },
  { label: "Node taints", cell: (row) => row.nodeTaints.map((each) => h("div", null, taint(each))) },
  { label: "Topology", value: (row) => row.topology, cell: (row) => row.topology },
  {
    label: "Cluster queues", value: (row) => row.clusterQueues.length,
    cell: (row) => separated(row.clusterQueues.map(clusterQueueLink)),
  },
  created,
];

function pairs(labels) {
  return Object.entries(labels).map(([key, value]) => h("div", null, `${key}=${value}`));
}

export function taint(each) {
  return `${each.key}${each.value ? `=${each.value}` : ""}:${each.effect}`;
}
