// The script of hookhost's page. The server renders every view; this file fetches them with the token of this tab, follows links, sends
// forms, and adds new rows. The token is in sessionStorage, so no other origin and no later session of the browser has it.
"use strict";

const plain = (html) => html; // Markup comes from this origin alone, which escapes every text in it.
const policy = window.trustedTypes ? trustedTypes.createPolicy("hookhost", { createHTML: plain }) : { createHTML: plain };
const [main, status] = [document.querySelector("main"), document.querySelector("#status")];
const channel = new BroadcastChannel("hookhost");
const WAKE = 500; // Milliseconds until a button that has just appeared can be pressed.
let shown = 0; // The number of the last view that was asked for. An earlier view that comes later is dropped.
let last = 0; // The newest record that this tab has.

const put = (element, html) => { element.innerHTML = policy.createHTML(html); };
const parsed = (html) => { const part = document.createElement("template"); put(part, html); return part.content; };
const say = (text) => { status.textContent = text; clearTimeout(say.timer); say.timer = setTimeout(() => { status.textContent = ""; }, 6000); };
const token = () => sessionStorage.getItem("token");
const keep = (given) => { sessionStorage.setItem("token", given); return true; };

function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = "Bearer " + token();
  return fetch(path, { ...options, headers });
}
const post = (path, body) => ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

function refuse(text) {
  sessionStorage.removeItem("token");
  put(main, '<h1>No access</h1><p class="notice"></p>');
  main.querySelector("p").textContent = text;
  main.setAttribute("aria-busy", "false");
  return false;
}

// Exchanges the code of the link for a token. The code leaves the address before anything is sent.
async function open() {
  const code = location.hash.slice(1);
  if (!code) return token() || borrow();
  history.replaceState(null, "", location.pathname + location.search);
  const answer = await post("/session", { code });
  if (!answer.ok) return refuse(await answer.text());
  return keep((await answer.json()).token);
}

// Another tab of this page, which a person has open, gives its token to a tab that was opened from a link.
function borrow() {
  return new Promise((resolve) => {
    channel.postMessage({ wants: true });
    const wait = setTimeout(() => { refuse("This tab has no access. Run in a terminal: hookhost ui"); resolve(false); }, 400);
    borrow.take = (lent) => { clearTimeout(wait); resolve(keep(lent)); };
  });
}
function wake(root) {
  for (const button of root.querySelectorAll("button[data-wake]")) setTimeout(() => { button.disabled = Boolean(button.closest(".done")); }, WAKE);
}

// Shows the view at a path. With `focus`, a screen reader begins to read it.
async function show(path, focus) {
  const turn = ++shown;
  const missed = show.missed = []; // Changes that come after the server has made the view, and before it is here.
  main.setAttribute("aria-busy", "true");
  for (const link of document.querySelectorAll("header nav a")) {
    const is = link.pathname === "/" ? path.split("?")[0] === "/" : path.startsWith(link.pathname);
    if (is) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  try {
    const answer = await ask(path);
    const text = await answer.text();
    if (turn !== shown) return;
    if (answer.status === 401) return refuse(text);
    put(main, text);
    missed.forEach(take);
  } catch {
    if (turn === shown) say("hookhost does not answer. Is it running? hookhost ui starts it.");
  } finally { if (turn === shown) show.missed = null; }
  main.setAttribute("aria-busy", "false");
  const view = main.querySelector("[data-title]");
  if (view) document.title = view.dataset.title + " – hookhost";
  const row = main.querySelector("#rows tr");
  if (row) last = Math.max(last, Number(row.id.slice(1)));
  wake(main);
  markLive(markLive.on);
  main.querySelector(".entry.named")?.scrollIntoView({ block: "center" });
  if (focus) { window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
}
function go(path) { history.pushState(null, "", path); return show(path, true); }

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-post]");
  if (button) return press(button);
  const link = event.target.closest("a[href]");
  if (!link || link.origin !== location.origin || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if ("skip" in link.dataset) return main.focus();
  await go(link.pathname + link.search);
});

// A key that is held down, or Enter pressed for something else, must not give a yes. Space does.
document.addEventListener("keydown", (event) => {
  const yes = event.target.closest("button[data-yes]");
  if (yes && (event.key === "Enter" || event.repeat)) event.preventDefault();
});
async function press(button) {
  const question = button.closest(".question");
  const into = question ? question.querySelector(".answered") : document.getElementById(button.dataset.into);
  const buttons = question ? question.querySelectorAll("button") : [button];
  for (const each of buttons) each.disabled = true;
  into.textContent = "…";
  try {
    const body = question ? await proven(button) : {};
    const answer = await post(button.dataset.post, body);
    put(into, await answer.text());
    if (answer.status === 401) return refuse(into.textContent);
    if (question && (answer.ok || answer.status === 409)) return question.classList.add("done");
  } catch (error) {
    into.textContent = error.name === "TypeError" ? "hookhost does not answer." : error.message;
  }
  for (const each of buttons) each.disabled = false;
}
document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  go(form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form)));
});
window.addEventListener("popstate", () => show(location.pathname + location.search, true));

channel.onmessage = ({ data }) => {
  if (data.wants) { if (token()) channel.postMessage({ lent: token() }); }
  else if (data.lent) borrow.take?.(data.lent);
  else if (data.hello) { if (follow.leads) channel.postMessage({ kind: "live", data: Boolean(markLive.on) }); }
  else take(data);
};

open().then(async (is) => { if (is) { await show(location.pathname + location.search, false); follow(); } });
