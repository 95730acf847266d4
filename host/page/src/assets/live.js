// New rows and questions, as they come. The script of the page, which is loaded after this one, has the other functions.
"use strict";

function markLive(on) {
  markLive.on = on;
  const mark = main.querySelector("#live");
  if (!mark) return;
  mark.classList.toggle("on", Boolean(on));
  const more = Number(mark.dataset.more);
  mark.textContent = (on ? "live" : "not live") + (more ? ", " + more.toLocaleString() + " more events: load the view again" : "");
}

// Shows the questions that came or went while no change could reach this tab.
async function catchUp() {
  const questions = main.querySelector("#questions");
  if (!questions) return;
  const answer = await ask("/approvals");
  if (!answer.ok || !questions.isConnected) return;
  const now = parsed(await answer.text());
  for (const { id } of questions.querySelectorAll(".question:not(.done)")) if (!now.getElementById(id)) take({ kind: "gone", data: id.slice(1) });
  for (const { id, outerHTML } of now.querySelectorAll(".question")) take({ kind: "question", data: id.slice(1) + " " + outerHTML });
}

// Shows something new. Only the leading tab reads the stream; the others get the same changes from it.
function take(change) {
  const { id, kind, data } = change;
  if (["row", "question", "gone"].includes(kind)) show.missed?.push(change);
  if (id) last = Math.max(last, id);
  if (kind === "row") {
    const rows = main.querySelector("#rows");
    if (!rows || document.getElementById("r" + id)) return;
    rows.prepend(parsed(data));
    rows.firstElementChild.classList.add("new");
    while (rows.rows.length > 200) rows.lastElementChild.remove();
    main.querySelector("#nothing")?.remove();
  } else if (kind === "question") {
    const [code, questions] = [data.slice(0, data.indexOf(" ")), main.querySelector("#questions")];
    if (!questions || document.getElementById("q" + code)) return;
    questions.append(parsed(data.slice(code.length + 1)));
    wake(questions.lastElementChild);
    main.querySelector("#no-questions").hidden = true;
  } else if (kind === "gone") {
    const question = document.getElementById("q" + data);
    if (!question || question.classList.contains("done")) return;
    question.classList.add("done");
    for (const button of question.querySelectorAll("button")) button.disabled = true;
    if (!question.querySelector(".answered").textContent) question.querySelector(".answered").textContent = "It no longer waits: somebody answered, or its time is over.";
  } else if (kind === "waiting") {
    const badge = document.querySelector("#waiting");
    badge.textContent = data;
    badge.hidden = data === "0";
  } else if (kind === "more") {
    const mark = main.querySelector("#live");
    if (mark) { mark.dataset.more = Number(mark.dataset.more) + Number(data); markLive(true); }
  } else if (kind === "live") {
    if (data && !markLive.on) catchUp().catch(() => {});
    markLive(data);
  } else if (kind === "problem") say(data);
  else if (kind === "other-log") {
    say(data);
    last = 0;
    if (main.querySelector("#rows")) show(location.pathname + location.search, false);
  }
}
function share(change) { take(change); channel.postMessage(change); }

// A browser opens six connections to one origin, so twenty tabs cannot each have a stream: the tab with the lock reads it for all.
function follow() {
  channel.postMessage({ hello: true });
  navigator.locks.request("live", async () => {
    follow.leads = true;
    for (let wait = 1000; token(); await new Promise((resolve) => setTimeout(resolve, wait)), wait = Math.min(wait * 2, 15000)) {
      try {
        const answer = await ask("/live", { headers: { "Last-Event-ID": String(last) } });
        if (answer.status === 401) return refuse(await answer.text());
        if (!answer.ok) continue;
        share({ kind: "live", data: true });
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let rest = "", part = await reader.read(); !part.done; part = await reader.read()) {
          wait = 1000;
          const events = (rest + part.value).split("\n\n");
          rest = events.pop();
          for (const event of events) {
            const field = (name) => event.match(new RegExp("^" + name + ": (.*)$", "m"))?.[1];
            if (field("event")) share({ id: Number(field("id") ?? 0), kind: field("event"), data: field("data") ?? "" });
          }
        }
      } catch { /* The host has ended or is being replaced: try again. */ }
      share({ kind: "live", data: false });
    }
  });
}
