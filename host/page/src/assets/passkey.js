// Passkeys: registers and removes them, and signs a yes. The script of the page, which is loaded after this one, has the other functions.
"use strict";

const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const toText = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = (length) => crypto.getRandomValues(new Uint8Array(length));

// Asks the person for the signature of one of these passkeys.
async function sign(challenge, ids) {
  const allowCredentials = ids.map((id) => ({ type: "public-key", id: toBytes(id) }));
  const publicKey = { challenge: toBytes(challenge), rpId: "localhost", userVerification: "required", allowCredentials };
  const { id, response } = await navigator.credentials.get({ publicKey });
  return {
    credential: id, "client-data": toText(response.clientDataJSON), "authenticator-data": toText(response.authenticatorData),
    signature: toText(response.signature),
  };
}

async function challengeFor(path, body) {
  const answer = await post(path + "/challenge", body);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

// Returns the answer that a button gives, with the signature of a passkey if one is registered. A no needs none.
async function proven(button) {
  const body = { answer: button.dataset.answer, shown: button.closest(".question").dataset.shown };
  if (!("yes" in button.dataset)) return { answer: body.answer };
  const { challenge, credentials } = await challengeFor(button.dataset.post, body);
  return credentials.length ? { ...body, proof: await sign(challenge, credentials) } : body;
}

async function register(name) {
  const made = await navigator.credentials.create({ publicKey: {
    challenge: random(32), rp: { id: "localhost", name: "hookhost" }, user: { id: random(16), name, displayName: name },
    pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })), attestation: "none",
    authenticatorSelection: { userVerification: "required" },
  } });
  const key = made.response.getPublicKey();
  if (!key) throw new Error("This authenticator uses an algorithm that the browser does not know: choose another one.");
  const added = { id: made.id, key: toText(key), name };
  const { challenge, credentials } = await challengeFor("/passkeys", added);
  const own = await sign(challenge, [made.id]);
  const by = credentials.length ? await sign(challenge, credentials) : null;
  return post("/passkeys", { ...added, own, by });
}

async function remove(id) {
  const { challenge, credentials } = await challengeFor("/passkeys/remove", { id });
  return post("/passkeys/remove", { id, by: await sign(challenge, credentials) });
}

async function change(work) {
  const said = document.getElementById("changed");
  try {
    const answer = await work();
    const text = await answer.text();
    if (answer.ok) await show("/passkeys", true);
    put(document.getElementById("changed") ?? said, text);
  } catch (error) { said.textContent = String(error.message ?? error); }
}

document.addEventListener("submit", (event) => {
  if (!("register" in event.target.dataset)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  change(() => register(new FormData(event.target).get("name")));
}, true);

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-remove]");
  if (button) change(() => remove(button.dataset.remove));
});
