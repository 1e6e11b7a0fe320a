// The frame of the page: which address shows what, and how the connection is.

import * as details from "./details.js";
import { fill, h, notice } from "./dom.js";
import { tick } from "./format.js";
import * as lists from "./lists.js";
import { ask, listen, token } from "./stream.js";

const ROUTES = [
  [/^\/$/, lists.overview],
  [/^\/workloads$/, lists.workloads],
  [/^\/workload\/([^/]+)\/([^/]+)$/, details.workload],
  [/^\/local-queues$/, lists.localQueues],
  [/^\/local-queue\/([^/]+)\/([^/]+)$/, details.localQueue],
  [/^\/cluster-queues$/, lists.clusterQueues],
  [/^\/cluster-queue\/([^/]+)$/, details.clusterQueue],
  [/^\/cohorts$/, lists.cohorts],
  [/^\/cohort\/([^/]+)$/, details.cohort],
  [/^\/resource-flavors$/, lists.flavors],
  [/^\/resource-flavor\/([^/]+)$/, details.flavor],
  [/^\/login$/, login],
];
const main = document.getElementById("main");
const state = document.getElementById("state");
const user = document.getElementById("user");
const logout = document.getElementById("logout");
let current = null;
let hasLogin = false;

class Page {
  constructor() {
    this.hasLogin = hasLogin;
    this.body = h("div");
    this.streams = new Map();
    this.open = new Set(["Spec", "Status"]);
    this.isOver = false;
  }

  title(text, kind = "") {
    document.title = `${text} – fleetqueue`;
    fill(main, h("h1", null, kind ? h("small", null, kind) : "", text), this.body);
  }

  show(...children) {
    fill(this.body, ...children);
  }

  // `isOptional`: the page is worth something without it.
  listen(address, told, { isOptional = false } = {}) {
    const mark = Symbol(address);
    const end = listen(address, told,
      (how) => { this.streams.set(mark, how); this.tell(); },
      (reason) => {
        this.streams.delete(mark);
        this.tell();
        if (reason.status === 401) toLogin();
        else if (!isOptional) this.show(notice(reason.text));
      });
    const stop = () => { this.streams.delete(mark); end(); };
    this.ends = [...(this.ends || []), stop];
    return stop;
  }

  tell() {
    if (this !== current) return;
    const all = [...this.streams.values()];
    const isLost = all.includes("lost");
    state.className = isLost ? "lost" : "live";
    const text = !all.length ? "" : isLost ? "reconnecting" : "live";
    if (state.textContent !== text) state.textContent = text;
  }

  isOpen(title) { return this.open.has(title); }
  remember(title, isOpen) { if (isOpen) this.open.add(title); else this.open.delete(title); }
  close() { (this.ends || []).forEach((end) => end()); }
}

function show() {
  if (current) current.close();
  const page = current = new Page();
  page.tell();
  for (const link of document.querySelectorAll("#pages a")) {
    const isHere = link.pathname === "/" ? location.pathname === "/"
      : location.pathname.startsWith(link.pathname.replace(/s$/, ""));
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const [pattern, make] of ROUTES) {
    const found = pattern.exec(location.pathname);
    if (found) return make(page, ...found.slice(1).map(decodeURIComponent));
  }
  page.title("There is no such page");
  page.show(h("p", null, h("a", { href: "/" }, "To the overview")));
}

function go(address) {
  history.pushState(null, "", address);
  show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function toLogin() {
  token.clear();
  if (location.pathname !== "/login") go(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

async function login(page) {
  page.title("Log in");
  const field = h("textarea", { id: "token", required: true, autocomplete: "off", spellcheck: "false" });
  const told = h("div");
  const form = h("form", { onsubmit: submit },
    h("label", { for: "token" }, "A bearer token of the cluster"), field,
    h("p", { class: "quiet" }, "For example: kubectl create token NAME. It stays in this tab, and you see what it lets you see."),
    told, h("button", { type: "submit", class: "primary" }, "Log in"));
  page.show(h("div", { class: "card login" }, form));

  async function submit(event) {
    event.preventDefault();
    token.set(field.value.trim());
    if ((await status()).authenticated) return go(next());
    token.clear();
    fill(told, notice("The cluster does not know this token."));
  }
}

// Only addresses of this very page: whoever made the link to it may not send people elsewhere.
function next() {
  const wanted = new URLSearchParams(location.search).get("next") || "/";
  return /^\/(?![/\\])/.test(wanted) ? wanted : "/";
}

async function status() {
  try {
    const answer = await ask("/auth/status");
    const found = await answer.json();
    hasLogin = Boolean(found.enabled);
    fill(user, found.user || "");
    logout.hidden = !(found.enabled && found.authenticated);
    return found;
  } catch {
    return { enabled: false, authenticated: false, user: "" };
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[href]");
  const isPlain = event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!link || isPlain || event.defaultPrevented || link.dataset.plain !== undefined) return;
  if (link.origin !== location.origin || link.hash) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
logout.addEventListener("click", () => { toLogin(); status(); });
addEventListener("popstate", show);
setInterval(tick, 5000);

const found = await status();
if (found.enabled && !found.authenticated && location.pathname !== "/login") toLogin();
else show();
