// The page of hookhost in a real browser: every view, the keyboard alone, twenty tabs, and what other pages and programs try.
// Prints a line for each check, as `report.rs` reads them.
import { chromium } from "playwright-core";
import { createRequire } from "node:module";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import net from "node:net";
import path from "node:path";

const { HOOKHOST, HOOK, BROWSER, HOME, PICTURES } = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const project = path.join(HOME, "project");

async function check(what, test) {
  try {
    await test();
    console.log(`PASS\t${what}\t`);
  } catch (error) {
    console.log(`FAIL\t${what}\t${String(error?.stack ?? error).replaceAll("\n", "\x1f").replaceAll("\t", " ")}`);
  }
}

function is(actual, wanted, what = "") {
  if (JSON.stringify(actual) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(actual)} is not ${JSON.stringify(wanted)}`);
}

// Waits until something holds. The time limit of the whole suite bounds it.
async function until(what, holds) {
  for (const begun = Date.now(); ; await new Promise((go) => setTimeout(go, 25))) {
    const value = await holds();
    if (value) return value;
    if (Date.now() - begun > 15000) throw new Error(`${what} did not come`);
  }
}

const RULES = `
[[rule]]
id = "no-force"
on = "shell"
program = "git push"
flags = ["--force", "-f"]
reject = "Nobody rewrites shared history"
instead = "push to a new branch"
stops = ["git push -f origin main", "cd a && git push --force"]
passes = ["git push origin topic"]

[[rule]]
id = "deploy"
on = "shell"
program = "deploy"
ask = "Deploy to production?"
stops = ["deploy --to production"]
passes = ["echo deploy"]

[[rule]]
id = "no-secrets"
on = ["read", "write"]
path = [".env*", "!.env.example"]
reject = "{path} holds secrets"
stops = [".env"]
passes = [".env.example"]

[[rule]]
id = "slow-build"
on = "shell"
program = "make bench"
change = { command = "nice make bench" }
`;

const hookhost = (...words) => spawnSync(HOOKHOST, words, { cwd: project, encoding: "utf8" });

let calls = 0;
function message(command, { tool = "Bash", session = "s1", input } = {}) {
  calls += 1;
  return JSON.stringify({
    session_id: session, transcript_path: "/t.jsonl", cwd: project, hook_event_name: "PreToolUse", tool_name: tool,
    tool_input: input ?? { command }, tool_use_id: `toolu_${calls}`, permission_mode: "default",
  });
}

// Sends a call of an agent. Codex has no dialog of its own, so its questions wait here.
const agent = (command, more = {}) => spawnSync(HOOK, [more.agent ?? "claude-code"], { cwd: project, input: message(command, more), encoding: "utf8" });
function asking(command, session = "q1") {
  const child = spawn(HOOK, ["codex"], { cwd: project, stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({
    session_id: session, transcript_path: null, cwd: project, hook_event_name: "PreToolUse", model: "m", turn_id: `t${++calls}`, permission_mode: "default",
    tool_name: "Bash", tool_input: { command }, tool_use_id: `call_${calls}`,
  }));
  let out = "";
  child.stdout.on("data", (data) => { out += data; });
  return new Promise((done) => child.on("close", () => done(out)));
}
const questions = () => JSON.parse(hookhost("approvals", "--json").stdout || "[]");
const link = () => {
  const made = hookhost("ui", "--no-open");
  if (made.status !== 0) throw new Error(made.stderr);
  return made.stdout.trim();
};

// A request of any program, with any head.
function raw(port, { host = "127.0.0.1", method = "GET", target = "/", headers = {}, body } = {}) {
  return new Promise((done, fail) => {
    const sent = request({ host, port, method, path: target, headers, setHost: false }, (answer) => {
      let text = "";
      answer.on("data", (data) => { text += data; });
      answer.on("end", () => done({ status: answer.statusCode, text, headers: answer.headers }));
    });
    sent.on("error", fail);
    sent.end(body);
  });
}

mkdirSync(project, { recursive: true });
mkdirSync(path.join(HOME, ".config/hookhost"), { recursive: true });
writeFileSync(path.join(HOME, ".config/hookhost/hookhost.toml"), RULES);
// Compiles the rules, which may take longer than a hook waits.
hookhost("dispatch", "--shell", "true");
const host = spawn(HOOKHOST, ["serve"], { cwd: project, stdio: ["ignore", "ignore", "pipe"] });
let said = "";
host.stderr.on("data", (data) => { said += data; });
await until("the host", () => said.includes("serves at"));
for (const command of ["git status", "cargo test --workspace", "git push --force origin main", "make bench", "ls -la src"]) agent(command);
agent("", { tool: "Read", input: { file_path: `${project}/.env` }, session: "s2" });
agent("echo '<img src=x onerror=alert(1)>' && printf '\u202Egnp.exe\u200B\u0007'", { session: "s2" });
agent(`echo ${"long ".repeat(300)}`, { session: "s2" });

const port = Number(new URL(link()).port);
const origin = `http://localhost:${port}`;
const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP other.test 127.0.0.1"] });
const problems = []; // Everything that the browser complained about.
const foreign = []; // Requests to another origin.
async function watched(context) {
  const page = await context.newPage();
  page.on("console", (entry) => { if (["error", "warning"].includes(entry.type()) && !/status of (4|5)\d\d/.test(entry.text())) problems.push(entry.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (sent) => { if (!sent.url().startsWith(origin + "/") && page.url().startsWith(origin)) foreign.push(sent.url()); });
  return page;
}
async function opened(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 820 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(15000);
  const page = await watched(context);
  await page.goto(link());
  await page.waitForSelector("main[aria-busy=false] h1");
  return page;
}
const ready = (page) => page.waitForSelector("main[aria-busy=false] h1");
async function visit(page, target) {
  await page.goto(origin + target);
  await ready(page);
}

const page = await opened();
await check("the code leaves the address before the page is shown", async () => {
  is(page.url(), origin + "/");
  is(await page.evaluate(() => document.cookie + localStorage.length), "0");
});
await check("a new event is a row on the page of its own accord", async () => {
  await page.waitForSelector(".live.on");
  agent("echo live-row");
  await page.waitForSelector("#rows tr:first-child :text('live-row')");
});
await check("a click on a row says why", async () => {
  await page.click("#rows a:has-text('git push --force')");
  await page.waitForSelector("h1 :text('rejected')");
  const text = await page.textContent("main");
  for (const part of ["Nobody rewrites shared history", "no-force", "rules", "git push --force origin main"]) if (!text.includes(part)) throw new Error(`${part} is missing`);
  await page.click("button:has-text('Run again')");
  await page.waitForSelector("#again :text('The same')");
});
await check("text of an agent is text, and what cannot be seen is boxed", async () => {
  await visit(page, "/search?q=onerror");
  is(await page.locator("main img").count(), 0);
  await page.click("main table a");
  await page.waitForSelector(".answers, .empty");
  const boxes = await page.locator(".unseen").allTextContents();
  for (const box of ["U+202E", "U+200B", "U+0007"]) if (!boxes.includes(box)) throw new Error(`${box} is missing in ${boxes}`);
});
await check("a search is an address that can be sent, and back goes back", async () => {
  await visit(page, "/search");
  await page.fill("#q", "decision:rejected force");
  await page.keyboard.press("Enter");
  // The page without a query shows events, too.
  await until("the one result is shown", async () => (await page.locator("tbody tr").count()) === 1);
  is(new URL(page.url()).searchParams.get("q"), "decision:rejected force");
  const address = page.url();
  await page.click("main table a");
  await page.waitForSelector("h1 :text('rejected')");
  await page.goBack();
  await page.waitForSelector("main table.events");
  is(page.url(), address);
});
await check("a rule shows when it fired last and its examples, and can be tried", async () => {
  await visit(page, "/rules");
  is(await page.locator(".entry").count(), 4);
  if (!(await page.locator("#rule-no-force time").count())) throw new Error("no last match");
  await page.fill("#try", "cd x && git push -f");
  await page.click("button:has-text('Try')");
  await page.waitForSelector(".tried :text('rejected')");
  await page.fill("#try", "git push");
  await page.click("button:has-text('Try')");
  await page.waitForSelector(".tried :text('allowed')");
});
await check("the log is verified on request", async () => {
  await visit(page, "/health");
  await page.click("button:has-text('Verify')");
  await page.waitForSelector("#verified :text('good')");
});

await check("with the keyboard alone a person finds why, says no and says yes; Enter says nothing", async () => {
  const answered = asking("deploy --to production");
  await until("the question", () => questions().length === 1);
  await visit(page, "/");
  // Walks with the Tab key to what the focus must reach.
  const reach = async (wanted) => {
    for (let step = 0; step < 400; step += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((text) => document.activeElement?.textContent.trim().startsWith(text), wanted)) return;
    }
    throw new Error(`the Tab key does not reach ${wanted}`);
  };
  await reach("Approvals");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".question button.primary:enabled");
  await reach("Yes, once");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  is(questions().length, 1, "Enter");
  await page.keyboard.press("Space");
  await page.waitForSelector(".answered:has-text('It may run')");
  const reply = await answered;
  if (/deny/.test(reply)) throw new Error(reply);
  const second = asking("deploy --again");
  await page.waitForSelector(".question:not(.done) button:enabled");
  await reach("No");
  await page.keyboard.press("Space");
  await page.waitForSelector(".question:last-child .answered:has-text('It does not run')");
  if (!/deny/.test(await second)) throw new Error("no counted as yes");
  await reach("Now");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#rows");
  await reach("before-tool-call");
  await page.keyboard.press("Enter");
  await page.waitForSelector("h2:has-text('What each plugin answered')");
  const log = hookhost("audit", "show", "--json", "60").stdout;
  if (!log.includes('"via":"page"')) throw new Error("the log does not say that the page answered");
});
await check("a question that appears cannot be answered in its first half second", async () => {
  await visit(page, "/approvals");
  await page.waitForSelector("h1");
  const done = asking("deploy --sleeping");
  await page.waitForSelector(".question:not(.done)");
  is(await page.locator(".question:not(.done) button:enabled").count(), 0);
  await page.waitForSelector(".question:not(.done) button:enabled");
  hookhost("approvals", "no", questions()[0].code);
  await done;
  await page.waitForSelector(".question.done");
  is(await page.locator(".question:not(.done)").count(), 0);
});
await check("a tab that missed changes shows the questions that wait, and no others", async () => {
  await visit(page, "/approvals");
  const done = asking("deploy --missed");
  await page.waitForSelector(".question:not(.done) :text('deploy --missed')");
  await page.evaluate(() => {
    document.querySelector(".question:not(.done)").id = "q00000000";
    share({ kind: "live", data: false });
    share({ kind: "live", data: true });
  });
  await page.waitForSelector("#q00000000.done");
  await page.waitForSelector(".question:not(.done) :text('deploy --missed')");
  hookhost("approvals", "no", questions()[0].code);
  await done;
});
await check("the first answer counts, and the second is told who gave it", async () => {
  const done = asking("deploy --twice");
  const [question] = await until("the question", () => (questions().length ? questions() : null));
  const token = await page.evaluate(() => sessionStorage.getItem("token"));
  const send = (answer) => raw(port, {
    method: "POST", target: `/approvals/${question.code}`,
    headers: { Host: `localhost:${port}`, Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Content-Length": Buffer.byteLength(JSON.stringify({ answer })) },
    body: JSON.stringify({ answer }),
  });
  const answers = await Promise.all([send("no"), send("yes")]);
  await done;
  is(answers.map(({ status }) => status).sort(), [200, 409]);
  const late = answers.find(({ status }) => status === 409).text;
  if (!/came second|no longer waits/.test(late)) throw new Error(late);
});
await check("fifty questions of ten sessions are all shown, and none takes the place of another", async () => {
  const waiting = Array.from({ length: 50 }, (_, place) => asking(`deploy --number ${place}`, `many${place % 10}`));
  await visit(page, "/approvals");
  await until("fifty questions", async () => (await page.locator(".question:not(.done)").count()) >= 50);
  for (const { code } of questions()) hookhost("approvals", "no", code);
  await Promise.all(waiting);
});
await check("twenty tabs are live at once, and the last one still answers", async () => {
  const tabs = [page];
  while (tabs.length < 20) {
    const tab = await watched(page.context());
    await tab.goto(origin + "/");
    await ready(tab);
    tabs.push(tab);
  }
  await visit(page, "/");
  await tabs.at(-1).waitForSelector(".live.on");
  agent("echo for-twenty-tabs");
  for (const tab of tabs) await tab.waitForSelector("#rows :text('for-twenty-tabs')");
  await tabs.at(-1).goto(origin + "/health");
  await tabs.at(-1).waitForSelector("h1:has-text('Health')");
  for (const tab of tabs.slice(1)) await tab.close();
});

const event = await page.evaluate(() => document.querySelector("#rows a[href^='/event/']").getAttribute("href"));
const held = [asking("rm -rf build && deploy --to production '\u202Enimda'", "shots"), asking("deploy --to staging", "shots2")];
await until("two questions", () => questions().length === 2);
const rejected = await (async () => {
  await visit(page, "/search?q=decision:rejected");
  return page.evaluate(() => document.querySelector("table a").getAttribute("href"));
})();
const VIEWS = [["now", "/"], ["approvals", "/approvals"], ["search", "/search?q=git"], ["event", event], ["why", rejected], ["rules", "/rules?try=git+push+-f"], ["health", "/health"], ["report", "/report"], ["keys", "/passkeys"]];
for (const [mode, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }]]) {
  const tab = await opened(options);
  for (const [name, target] of VIEWS) {
    await check(`the view ${name} (${mode}) has no barrier and fits the window`, async () => {
      await visit(tab, target);
      if (name === "approvals") await tab.waitForSelector("button:enabled");
      await tab.screenshot({ path: path.join(PICTURES, `${name}-${mode}.png`), fullPage: await tab.evaluate(() => document.documentElement.scrollHeight < 2400) });
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      is(wide, 0, "columns beyond the window");
      // The tool of the test is no script of the page, so it comes in beside the policy.
      const session = await tab.context().newCDPSession(tab);
      await session.send("Runtime.evaluate", { expression: axe });
      const found = await tab.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
      is(found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`), [], "axe");
      if (found.passes.length < 12) throw new Error(`axe looked at ${found.passes.length} things only`);
    });
  }
  await tab.context().close();
}
for (const { code } of questions()) hookhost("approvals", "no", code);
await Promise.all(held);

// What other pages and programs try. Each must get no data and have no effect.
const token = await page.evaluate(() => sessionStorage.getItem("token"));
const good = { Host: `localhost:${port}` };
const bearer = { ...good, Authorization: `Bearer ${token}` };
const json = (body) => ({ "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
const has = ({ text }) => /git status|no-force|claude-code/.test(text);
await check("the token of a tab gets data", async () => is(has(await raw(port, { headers: bearer })), true));
for (const [name, headers, target] of [
  ["another name that resolves here", { ...bearer, Host: `evil.test:${port}` }],
  ["127.0.0.1", { ...bearer, Host: `127.0.0.1:${port}` }],
  ["[::1]", { ...bearer, Host: `[::1]:${port}` }],
  ["0.0.0.0", { ...bearer, Host: `0.0.0.0:${port}` }],
  ["a dot at the end", { ...bearer, Host: `localhost.:${port}` }],
  ["another case", { ...bearer, Host: `LOCALHOST:${port}` }],
  ["no port", { ...bearer, Host: "localhost" }],
  ["another port", { ...bearer, Host: `localhost:${port + 1}` }],
  ["no host", { Authorization: `Bearer ${token}` }],
  ["an absolute target", bearer, `http://localhost:${port}/`],
  ["another origin", { ...bearer, Origin: "http://evil.test" }],
  ["another port as origin", { ...bearer, Origin: `http://localhost:${port + 1}` }],
  ["the origin null", { ...bearer, Origin: "null" }],
  ["cross-site", { ...bearer, "Sec-Fetch-Site": "cross-site" }],
  ["same-site", { ...bearer, "Sec-Fetch-Site": "same-site" }],
  ["a websocket", { ...bearer, Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13" }],
  ["no token", good],
  ["a guessed token", { ...good, Authorization: `Bearer ${"A".repeat(43)}` }],
  ["the token in the address", good, `/?token=${token}`],
  ["a token of another scheme", { ...good, Authorization: `Basic ${token}` }],
]) {
  await check(`refused: ${name}`, async () => {
    const answer = await raw(port, { headers, target }).catch((error) => ({ status: 0, text: String(error) }));
    is(has(answer), false, answer.text);
    if (answer.headers?.["access-control-allow-origin"]) throw new Error("a CORS header");
  });
}
await check("refused: a code that was used, and a code in the address", async () => {
  const code = new URL(link()).hash.slice(1);
  const body = JSON.stringify({ code });
  const open = () => raw(port, { method: "POST", target: "/session", headers: { ...good, ...json(body) }, body });
  is((await open()).status, 200);
  is((await open()).status, 401);
  const other = new URL(link()).hash.slice(1);
  is(has(await raw(port, { headers: good, target: `/?code=${other}` })), false);
});
await check("refused: two headers Host, a slow head, an endless body", async () => {
  const talk = (text) => new Promise((done) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(text));
    let got = "";
    socket.on("data", (data) => { got += data; });
    socket.on("close", () => done(got));
    socket.on("error", () => done(got));
  });
  const twice = await talk(`GET / HTTP/1.1\r\nHost: localhost:${port}\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  if (!/^HTTP\/1.1 4/.test(twice)) throw new Error(twice);
  is(has({ text: await talk("GET / HTTP/1.1\r\nHost: loc") }), false);
  const long = await talk(`POST /session HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n`);
  if (!/^HTTP\/1.1 413/.test(long)) throw new Error(long);
});

const elsewhere = createServer((_, answer) => { answer.setHeader("Content-Type", "text/html"); answer.end("<!doctype html><title>other</title><p>another page"); });
await new Promise((go) => elsewhere.listen(0, "127.0.0.1", go));
const attacker = await (await browser.newContext()).newPage();
const waiting = asking("deploy --attacked", "attacked");
const [target] = await until("the question", () => (questions().length ? questions() : null));
for (const [name, from] of [["another port of localhost", `http://localhost:${elsewhere.address().port}/`], ["another site", `http://other.test:${elsewhere.address().port}/`]]) {
  await attacker.goto(from);
  await check(`refused in the browser: fetch from ${name}`, async () => {
    const got = await attacker.evaluate(async ([origin, code, token]) => {
      const tries = [];
      for (const options of [{}, { mode: "no-cors" }, { headers: { Authorization: `Bearer ${token}` } }, { method: "POST", mode: "no-cors", body: '{"answer":"yes"}' }, { method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` }, body: '{"answer":"yes"}' }]) {
        tries.push(await fetch(`${origin}/approvals/${code}`, options).then(async (answer) => answer.type === "opaque" ? "" : answer.text(), () => ""));
      }
      return tries.join("");
    }, [origin, target.code, token]);
    is(got, "");
  });
  await check(`refused in the browser: a form from ${name}`, async () => {
    const sent = attacker.waitForNavigation();
    await attacker.evaluate(([origin, code]) => {
      const form = Object.assign(document.createElement("form"), { method: "post", enctype: "text/plain", action: `${origin}/approvals/${code}` });
      form.append(Object.assign(document.createElement("input"), { name: '{"answer":"yes","x":"', value: '"}' }));
      document.body.append(form);
      form.submit();
    }, [origin, target.code]);
    await sent;
    is(has({ text: await attacker.content() }), false);
    await attacker.goto(from);
  });
  await check(`refused in the browser: a frame in ${name}`, async () => {
    await attacker.evaluate((origin) => { document.body.append(Object.assign(document.createElement("iframe"), { src: origin + "/approvals" })); }, origin);
    await attacker.waitForTimeout(300);
    for (const frame of attacker.frames().slice(1)) is(await frame.locator("main").count(), 0);
  });
  await check(`refused in the browser: a window that ${name} opens`, async () => {
    const got = await attacker.evaluate(async (origin) => {
      const opened = window.open(origin + "/");
      await new Promise((go) => setTimeout(go, 500));
      try { return opened ? String(opened.document?.body?.textContent ?? "") : ""; } catch { return ""; }
    }, origin);
    is(has({ text: got }), false);
  });
}
await check("refused in the browser: a name that resolves to this machine", async () => {
  const answer = await attacker.goto(`http://evil.test:${port}/`);
  is(answer.status(), 421);
  is(has({ text: await attacker.content() }), false);
});
await check("no attack gave an answer", async () => {
  is(questions().map(({ code }) => code), [target.code]);
  hookhost("approvals", "no", target.code);
  if (!/deny/.test(await waiting)) throw new Error("the call was allowed");
});
const bare = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
await check("without a script the views, a search and a no work, and there is no yes", async () => {
  const [address, code] = hookhost("ui", "--plain").stdout.trim().split("\n");
  is(address, `${origin}/plain`);
  await bare.goto(address);
  await bare.fill("#code", code);
  await bare.click("button");
  await bare.waitForSelector("h1:has-text('Now')");
  await bare.screenshot({ path: path.join(PICTURES, "plain-light.png") });
  await bare.click("nav button:has-text('Search')");
  await bare.fill("#q", "decision:rejected force");
  await bare.click("form.search button, form button:has-text('Search')");
  await bare.waitForSelector("table.events");
  await bare.click("table.events button.link");
  await bare.waitForSelector("h1 :text('rejected')");
  const done = asking("deploy --plain", "plain");
  await until("the question", () => questions().length === 1);
  await bare.click("nav button:has-text('Approvals')");
  is(await bare.locator("button[value*=' yes']").count(), 0);
  await bare.click(".question button:has-text('No')");
  await bare.waitForSelector(".notice:has-text('It does not run')");
  if (!/deny/.test(await done)) throw new Error("the call was allowed");
  is(new URL(bare.url()).href, `${origin}/plain`);
});
await bare.context().close();

// Passkeys come last, because they stay.
const device = await page.context().newCDPSession(page);
const authenticator = async (session) => {
  await session.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  return session.send("WebAuthn.addVirtualAuthenticator", { options });
};
await check("the first passkey needs a link that a person asks for at a terminal", async () => {
  await visit(page, "/passkeys");
  is(await page.locator("form[data-register]").count(), 0);
  is(hookhost("passkey", "add", "--no-open").status, 2);
  const terminal = spawn("script", ["-qec", `'${HOOKHOST}' passkey add --no-open`, "/dev/null"], { cwd: project });
  let typed = "";
  terminal.stdout.on("data", (data) => { typed += data; });
  await until("the prompt", () => typed.includes("[y/N]"));
  terminal.stdin.write("y\n");
  const made = await until("the link", () => typed.match(/http:\/\/localhost:\d+\/passkeys#[\w-]{43}/)?.[0]);
  await authenticator(device);
  await page.goto("about:blank");
  await page.goto(made);
  await ready(page);
  await page.screenshot({ path: path.join(PICTURES, "passkeys-light.png") });
  await page.click("button:has-text('Register a passkey')");
  await page.waitForSelector("#changed:has-text('is registered')");
  is(await page.locator("tbody tr").count(), 1);
  is(JSON.parse(hookhost("passkey", "--json").stdout).passkeys.length, 1);
  await visit(page, "/health");
  const health = await page.textContent("main");
  if (!health.includes("Was it not you?")) throw new Error(health);
  if (!hookhost("doctor", "--verbose").stdout.includes("Was it not you?")) throw new Error("hookhost doctor takes a new passkey as good news");
});
await check("a yes needs the passkey, and with it the call runs", async () => {
  const done = asking("deploy --with-passkey", "passkey");
  await visit(page, "/approvals");
  await page.waitForSelector(".question:not(.done) button.primary:enabled");
  await page.click("button:has-text('Yes, once')");
  await page.waitForSelector(".answered:has-text('It may run')");
  if (/deny/.test(await done)) throw new Error("the call was denied");
  if (!/"proof":\{"credential"/.test(hookhost("audit", "show", "--json", "8").stdout)) throw new Error("the log has no proof");
  is(hookhost("audit", "verify").status, 0);
});
await check("a program of the same user gives no yes: not with curl, not with the command, not with its own browser and passkey", async () => {
  const done = asking("deploy --by-a-program", "program");
  const [question] = await until("the question", () => (questions().length ? questions() : null));
  const code = new URL(link()).hash.slice(1);
  const opening = JSON.stringify({ code });
  const { token } = JSON.parse((await raw(port, { method: "POST", target: "/session", headers: { ...good, ...json(opening) }, body: opening })).text);
  const proof = { credential: "AAAA", "client-data": "e30", "authenticator-data": "AAAA", signature: "AAAA" };
  const mine = { ...good, Authorization: `Bearer ${token}` };
  const shown = (await raw(port, { target: "/approvals", headers: mine })).text.match(/data-shown="(\w{64})"/)[1];
  for (const [answer, status] of [[{ answer: "yes", shown }, 403], [{ answer: "yes-for-session", shown }, 403], [{ answer: "yes", shown, proof }, 403], [{ answer: "yes", proof }, 409]]) {
    const body = JSON.stringify(answer);
    is((await raw(port, { method: "POST", target: `/approvals/${question.code}`, headers: { ...mine, ...json(body) }, body })).status, status);
  }
  if (hookhost("approvals", "yes", question.code).status === 0) throw new Error("the command said yes");
  const own = await opened();
  await authenticator(await own.context().newCDPSession(own));
  const refused = await own.evaluate(async () => {
    try { return await (await register("mine")).text(); } catch (error) { return String(error); }
  });
  if (/is registered/.test(refused)) throw new Error("another passkey was registered");
  await visit(own, "/approvals");
  await own.waitForSelector(".question:not(.done) button.primary:enabled");
  await own.click("button:has-text('Yes, once')");
  await own.waitForSelector(".answered:not(:empty):not(:text-is('…'))");
  is(questions().map(({ code }) => code), [question.code]);
  const log = hookhost("audit", "show", "--json", "30").stdout;
  if (!/answer-refused/.test(log)) throw new Error("the attempts are not recorded");
  hookhost("approvals", "no", question.code);
  if (!/deny/.test(await done)) throw new Error("the call was allowed");
  await own.context().close();
});
await check("removing a passkey needs it, too", async () => {
  await visit(page, "/passkeys");
  await page.click("button[data-remove]");
  await page.waitForSelector("#changed:has-text('is removed')");
  is(JSON.parse(hookhost("passkey", "--json").stdout).passkeys.length, 0);
});
await check("the page sends nothing to another origin, and the browser has nothing to report", async () => {
  is(foreign, []);
  is(problems, []);
});
await check("an agent cannot open the page with the command", async () => {
  const made = spawnSync(HOOKHOST, ["ui", "--no-open"], { cwd: project, encoding: "utf8", env: { ...process.env, CLAUDECODE: "1" } });
  is(made.status, 3);
  is(made.stdout, "");
});

await browser.close();
elsewhere.close();
hookhost("serve", "--stop");
process.exit(0);
