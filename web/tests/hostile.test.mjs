import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after } from "node:test";
import { api, asked, content, opened, PASSWORD, server, signedIn, signIn, story, until } from "./browser.mjs";
import { CORPUS, FILES, NAMES } from "./corpus.mjs";

const WORKER = { worker_id: "hostile-scribe" };
const MARK = `hostile-${Date.now().toString(36)}`;

/** Nothing was run, and nothing of it became more than text. */
async function harmless(page, place) {
  const found = await page.evaluate(() => {
    const strange = [...document.querySelectorAll("*")].filter((each) => [...each.attributes].some(({ name, value }) => /^on/i.test(name) || (/^(href|src|action|data|xlink:href|formaction)$/i.test(name) && /^[\u0000-\u0020]*(javascript|vbscript|data:text)/i.test(value))));
    const foreign = [...document.querySelectorAll("main script, main style, main object, main embed, main base, main meta, main link, main math, main marquee, main iframe, #app template")];
    return [...strange, ...foreign].map((each) => each.outerHTML.slice(0, 200));
  });
  assert.deepEqual(found, [], place);
  assert.deepEqual(page.complaints, [], place);
}

async function trapped() {
  const page = await signedIn();
  await page.context().exposeFunction("pwned", () => page.complaints.push("something was run"));
  return page;
}

async function settled(page, place) {
  await page.goto(`${server}/ui/${place}`);
  await page.locator("main h1").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("main")?.textContent?.includes("Loading…"));
  await harmless(page, place);
}

/** As many as there are, a few at a time. */
async function each(items, act) {
  for (let at = 0; at < items.length; at += 8) await Promise.all(items.slice(at, at + 8).map(act));
}

story("nothing that others wrote about jobs is ever run", async () => {
  const page = await trapped();
  const short = [...new Set(NAMES.map((text) => text.slice(0, 200)))];
  await api("POST", "workers/register", { ...WORKER, hostname: NAMES[0], capabilities: short.map((text) => ({ processor: text, profile: text })), session: { id: "session-1", host: NAMES[8], pid: 1, started_at: new Date().toISOString() } });
  const artifact = await api("POST", "artifacts", { type: "blob", name: NAMES[3], metadata: { text: NAMES[4] } });
  await api("PUT", `artifacts/${artifact.id}/files/x`, "x", "text/plain");
  await api("POST", `artifacts/${artifact.id}/commit`, {});
  await each(short, async (text) => {
    const job = await api("POST", "jobs", { processor: text, profile: text, submit_user: text, parameters: { [text]: text } });
    await api("POST", `jobs/${job.id}/cancel`, { detail: text });
  });
  const all = await api("POST", "jobs", { processor: MARK, parameters: Object.fromEntries(CORPUS.map((text) => [text, [text, { [text]: text }]])), inputs: { [NAMES[8]]: artifact.id } });
  await api("POST", "workers/register", { ...WORKER, capabilities: [{ processor: MARK }, ...short.map((text) => ({ processor: text, profile: text }))] });
  await api("POST", `jobs/${all.id}/claim`, WORKER);
  for (const text of ["", ...NAMES.slice(0, 12)]) await api("POST", `jobs/${all.id}/transition`, { ...WORKER, status: text === "" ? "SUBMITTED" : "STARTED", slurm_job_id: "1", phase: text.slice(0, 60) || null, message: text || null, detail: text || null, progress: text === "" ? null : 0.5 });
  const log = Buffer.from(CORPUS.join("\n"));
  for (const stream of ["stdout", "stderr"]) await api("POST", `jobs/${all.id}/logs/${stream}`, { ...WORKER, offset: 0, content: log.toString("base64") });

  await settled(page, "jobs");
  await settled(page, "workers");
  await settled(page, "workers/hostile-scribe");
  await settled(page, "overview");
  await settled(page, `jobs/new?from=${all.id}`);
  await settled(page, `jobs/${all.id}`);
  await page.getByRole("group", { name: /^stdout/ }).getByText("toString").waitFor();
  await page.getByPlaceholder("search", { exact: true }).fill("<script>");
  await page.getByText(/^1 of|of \d+$/).first().waitFor();
  await harmless(page, "the log");
  await api("POST", `jobs/${all.id}/transition`, { ...WORKER, status: "FAILED", detail: NAMES[9] });
  await page.getByText("FAILED", { exact: true }).first().waitFor();
  await harmless(page, "the end");
  content(page);
});

story("nothing that others brought is ever run, whatever kind of file it says it is", async () => {
  const page = await trapped();
  const artifact = await api("POST", "artifacts", { type: NAMES[1].slice(0, 60), format: NAMES[2].slice(0, 60), name: NAMES[0], metadata: { text: NAMES } });
  const put = (path, text, type) => api("PUT", `artifacts/${artifact.id}/files/${path.split("/").map(encodeURIComponent).join("/")}`, text, type);
  await each(Object.entries(FILES), ([path, text]) => put(`files/${path}`, text, path.endsWith(".pdf") ? "application/pdf" : "text/html"));
  const names = NAMES.filter((text) => !/(^|\/)\.{0,2}(\/|$)|\\/.test(text) && text.length < 200);
  await each(names, (text) => put(`${text}.txt`, text, "text/html"));
  await settled(page, "artifacts");
  await settled(page, `artifacts/${artifact.id}`);
  for (const name of Object.keys(FILES)) {
    await page.goto(`${server}/ui/artifacts/${artifact.id}?prefix=files/&file=${encodeURIComponent(`files/${name}`)}`);
    await page.getByRole("region", { name: "Preview" }).locator("pre, table, img, canvas, p").first().waitFor();
    if (name === "doc.pdf") assert.ok(await page.locator("canvas[data-drawn]").evaluate((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((each, at) => at % 4 === 0 && each < 99)));
    await page.waitForFunction(() => !document.querySelector("main")?.textContent?.includes("Loading…"));
    await harmless(page, name);
  }
  await settled(page, `artifacts/${artifact.id}?file=${encodeURIComponent(`${names[0]}.txt`)}`);
  // whoever opens the plain link is given the bytes to keep and nothing to look at
  for (const name of ["page.html", "image.svg", "doc.pdf"]) {
    const answer = await asked("GET", `/api/ui/artifacts/${artifact.id}/files/files/${name}`);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-disposition"), /^attachment/);
    assert.match(answer.headers.get("content-security-policy"), /^sandbox; default-src 'none'/);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  }
  content(page);
});

story("nothing in an address, a label or a refusal is ever run", async () => {
  const page = await trapped();
  for (const text of [NAMES[0], NAMES[8], NAMES.find((each) => each.startsWith("{{"))]) {
    const coded = encodeURIComponent(text);
    for (const place of [`jobs?processor=${coded}&worker=${coded}&user=${coded}&status=${coded}`, `artifacts?q=${coded}&type=${coded}`, `workers/${coded}`, `jobs/${coded}`, `artifacts/${coded}`, `${coded}`, `settings?q=${coded}`, `welcome#${coded}`]) {
      await page.goto(`${server}/ui/${place}`);
      await page.locator("main h1, main h2").first().waitFor();
      await harmless(page, place);
    }
  }
  await page.goto(`${server}/ui/account`);
  for (const text of [NAMES[0], NAMES[8]]) {
    await page.getByRole("region", { name: "Tokens", exact: true }).getByLabel("For").fill(text);
    await page.getByRole("button", { name: "Make a token" }).click();
    await page.getByRole("cell", { name: text }).first().waitFor();
  }
  await harmless(page, "account");
  content(page);
});

let elsewhere;
after(() => elsewhere?.close());

/** A page of another site, which knows where the server is. */
async function site(body) {
  elsewhere = createServer((_, answer) => answer.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><title>elsewhere</title>${body}`));
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  // another name is another site, also for a cookie
  return `http://localhost:${elsewhere.address().port}`;
}

story("a page of another site can neither ask in somebody's name nor show the dashboard inside itself", async () => {
  const before = (await asked("GET", "/api/ui/tokens").then((answer) => answer.json())).count;
  const page = await opened();
  await page.goto(server);
  await signIn(page);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, "Strict", "/"]);
  assert.equal(await page.evaluate(() => document.cookie), "");

  const home = await site(`<iframe src="${server}/ui/jobs"></iframe>
    <form method="post" action="${server}/api/ui/tokens" enctype="text/plain"><input name='{"label": "stolen", "x": "' value='"}'></form>`);
  page.complaints = [];
  await page.goto(home);
  await until(async () => page.frames().length > 1 && !page.frames()[1].url().startsWith(server), "the frame is refused");
  const told = await page.evaluate(async (base) => {
    const ask = (path, more) => fetch(`${base}${path}`, { credentials: "include", ...more }).then((answer) => answer.type, () => "refused");
    const text = { method: "POST", headers: { "Content-Type": "text/plain" }, body: '{"label": "stolen"}' };
    return [await ask("/api/ui/me"), await ask("/api/ui/tokens", text), await ask("/api/ui/tokens", { ...text, mode: "no-cors" }), await ask("/api/ui/me", { headers: { "X-CSRF-Token": "x" } })];
  }, server);
  assert.deepEqual(told, ["refused", "refused", "opaque", "refused"]);
  await Promise.all([page.waitForResponse((answer) => answer.request().method() === "POST" && answer.status() >= 400), page.evaluate(() => document.querySelector("form").submit())]);
  const tokens = await asked("GET", "/api/ui/tokens").then((answer) => answer.json());
  assert.equal(tokens.count, before);

  // even a cookie that came along would not be enough
  const withCookie = (method, path, headers) => fetch(`${server}${path}`, { method, headers: { Cookie: `${cookie.name}=${cookie.value}`, "Content-Type": "application/json", ...headers }, body: method === "GET" ? undefined : '{"label": "stolen"}' }).then((answer) => answer.status);
  assert.deepEqual([await withCookie("GET", "/api/ui/me"), await withCookie("POST", "/api/ui/tokens"), await withCookie("POST", "/api/ui/tokens", { "X-CSRF-Token": "guess" })], [200, 403, 403]);
  const login = await asked("POST", "/api/ui/login", { name: "demo", password: PASSWORD }, { Authorization: "", "Sec-Fetch-Site": "cross-site" });
  assert.equal(login.status, 403);
});

story("every page is served under a policy without exceptions", async () => {
  for (const path of ["/", "/ui/jobs", "/ui/assets/none.js", "/ui/theme.js"]) {
    const { headers } = await fetch(server + path);
    const policy = headers.get("content-security-policy");
    assert.match(policy, /default-src 'none'.*script-src 'self';.*style-src 'self';.*base-uri 'self'; form-action 'self'; frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:|'nonce|'sha/);
    assert.deepEqual(["x-content-type-options", "referrer-policy", "cross-origin-opener-policy"].map((name) => headers.get(name)), ["nosniff", "no-referrer", "same-origin"]);
  }
});
