// Passkeys: signs an answer, registers a passkey, removes one. The server makes each challenge and verifies each signature.
"use strict";
{
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (character) => character.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const key = (id) => ({ type: "public-key", id: bytes(id) });

  // Returns what was signed, with one of these passkeys.
  async function sign(challenge, credentials) {
    const publicKey = { challenge: bytes(challenge), rpId: "localhost", allowCredentials: credentials.map(key), userVerification: "required" };
    const { rawId, response } = await navigator.credentials.get({ publicKey });
    const [client, authenticator] = [text(response.clientDataJSON), text(response.authenticatorData)];
    return { credential: text(rawId), "client-data": client, "authenticator-data": authenticator, signature: text(response.signature) };
  }
  async function sent(path, body) {
    const answer = await post(path, body);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }
  async function create(name) {
    const { credentials } = await sent("/passkeys/challenge", { new: { id: "", key: "", name } });
    const random = (length) => crypto.getRandomValues(new Uint8Array(length));
    // The registration is proven by a signature over a challenge of the server, so the challenge of the creation means nothing.
    const { rawId, response } = await navigator.credentials.create({ publicKey: {
      challenge: random(32), rp: { id: "localhost", name: "hookhost" }, user: { id: random(16), name, displayName: name },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })), excludeCredentials: credentials.map(key),
      authenticatorSelection: { userVerification: "required" }, attestation: "none" } });
    const spki = response.getPublicKey();
    if (!spki) throw new Error("The browser does not know the kind of this passkey's key. Use another authenticator.");
    return { id: text(rawId), key: text(spki), name };
  }
  async function add() {
    const made = await create(document.querySelector("#passkey-name").value.trim());
    const { challenge, credentials } = await sent("/passkeys/challenge", { new: made });
    const own = await sign(challenge, [made.id]);
    const by = credentials.length ? await sign(challenge, credentials) : null;
    return sent("/passkeys", { new: made, own, by });
  }
  async function remove(id) {
    const { challenge, credentials } = await sent("/passkeys/" + id + "/challenge", {});
    return sent("/passkeys/" + id, { by: await sign(challenge, credentials) });
  }

  // A no needs no passkey, and a yes needs one as soon as one is registered.
  window.answerWithPasskey = async (path, body) => {
    if (body.answer === "no") return post(path, body);
    const asked = await post(path + "/challenge", body);
    if (!asked.ok) return asked;
    const { challenge, credentials } = await asked.json();
    try {
      return await post(path, challenge ? { ...body, proof: await sign(challenge, credentials) } : body);
    } catch {
      return new Response("The passkey was not used, so there is no answer yet.", { status: 403 });
    }
  };
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("button[data-passkey]");
    if (!button) return;
    button.disabled = true;
    let said;
    try {
      ({ said } = await (button.dataset.passkey === "add" ? add() : remove(button.dataset.id)));
      await show("/passkeys", false);
    } catch (error) {
      said = error.message;
      button.disabled = false;
    }
    document.querySelector("#passkey-said").textContent = said;
  });
}
