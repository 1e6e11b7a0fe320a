// Snapshots of the cluster as they come: a WebSocket per topic, opened again when it is lost.

const PROTOCOL = "v1.dashboard.fleetqueue.io";
const TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io.";
const KEY = "fleetqueue-token";
const WAIT_MAX = 15000;

export const token = {
  get: () => sessionStorage.getItem(KEY) || "",
  set: (value) => sessionStorage.setItem(KEY, value),
  clear: () => sessionStorage.removeItem(KEY),
};

export function ask(address) {
  const headers = { Accept: "application/json" };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  return fetch(address, { headers, cache: "no-store" });
}

function protocols() {
  if (!token.get()) return [PROTOCOL];
  const bytes = new TextEncoder().encode(token.get());
  const encoded = btoa(String.fromCharCode(...bytes));
  return [PROTOCOL, TOKEN_PROTOCOL + encoded.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")];
}

// Calls `told` with each snapshot. `state` hears "live" and "lost"; `refused` hears why nothing
// will come: { status, text }. Returns what ends it.
export function listen(address, told, state, refused) {
  let socket = null;
  let timer = 0;
  let wait = 500;
  let isOver = false;

  function open() {
    let wasOpen = false;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(`${scheme}//${location.host}${address}`, protocols());
    socket.onopen = () => { wasOpen = true; wait = 500; state("live"); };
    socket.onmessage = (message) => { if (!isOver) told(JSON.parse(message.data)); };
    socket.onclose = async () => {
      if (isOver) return;
      state("lost");
      // A browser does not tell why it was refused: the same address says so when it is asked.
      const reason = wasOpen ? null : await whyNot(address);
      if (isOver) return;
      if (reason) { isOver = true; refused(reason); return; }
      timer = setTimeout(open, wait * (0.5 + Math.random()));
      wait = Math.min(WAIT_MAX, wait * 2);
    };
  }

  open();
  return () => {
    isOver = true;
    clearTimeout(timer);
    socket.close();
  };
}

async function whyNot(address) {
  try {
    const answer = await ask(address);
    if (![400, 401, 403, 404].includes(answer.status)) return null;
    return { status: answer.status, text: (await answer.json()).error };
  } catch {
    return null;
  }
}
