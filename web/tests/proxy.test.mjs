import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { asked, contentButAway, folder, opened, owned, program, serve, story, unowned, until } from "./browser.mjs";

const MIB = 1024 * 1024;
const PREFIX = "/cluster/ferry";

async function freePort() {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address();
  taken.close();
  return port;
}

/** A real nginx before a server, at a path of its own; with the buffers that it has by default. */
async function proxied(server) {
  const [home, port] = [await folder(), await freePort()];
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${home}/${each};`).join(" ");
  const config = `daemon off; master_process off; pid ${home}/pid; error_log ${home}/errors; ${process.getuid() === 0 ? "user root;" : ""}
    events {} http { access_log off; ${temporary} server {
      listen 127.0.0.1:${port}; client_max_body_size 0; proxy_request_buffering off;
      location ${PREFIX}/ {
        proxy_pass ${server}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; proxy_read_timeout 330s;
      } } }`;
  writeFileSync(join(home, "nginx.conf"), config);
  program("nginx", ["-e", join(home, "errors"), "-p", home, "-c", join(home, "nginx.conf")], { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }, stdio: "ignore" });
  const origin = `http://127.0.0.1:${port}`;
  await until(() => fetch(`${origin}/`).catch(() => null), "nginx answers");
  return origin;
}

story("everything works behind a proxy at a path of its own: signing in, what changes, logs, and an upload that breaks off", async () => {
  process.env.CABLEFERRY_SERVER__ROOT_PATH = PREFIX;
  const own = await unowned();
  const origin = await proxied(own.origin);
  const home = `${origin}${PREFIX}`;
  const page = await opened({ server: home, acceptDownloads: true });
  const first = new URL(own.address);
  assert.equal(first.pathname, `${PREFIX}/ui/welcome`);
  await owned(page, `${origin}${first.pathname}${first.hash}`);
  const token = await page.evaluate(async (base) => {
    const me = await (await fetch(`${base}/api/ui/me`)).json();
    const headers = { "X-CSRF-Token": me.csrf_token, "Content-Type": "application/json" };
    return (await (await fetch(`${base}/api/ui/tokens`, { method: "POST", headers, body: "{}" })).json()).token;
  }, home);
  const ask = async (path, body) => {
    const answer = await asked("POST", `${home}/api/hpc/${path}`, body, { Authorization: `Bearer ${token}` });
    assert.ok(answer.ok, `${path}: ${await answer.clone().text()}`);
    return answer.json();
  };

  const worker = { worker_id: "behind" };
  await ask("workers/register", { ...worker, capabilities: [{ processor: "proxied" }] });
  await page.getByText("There are no jobs yet").waitFor();
  const job = await ask("jobs", { processor: "proxied" });
  await page.getByRole("link", { name: "proxied" }).click();
  await page.waitForURL(`${home}/ui/jobs/${job.id}`);
  await ask(`jobs/${job.id}/claim`, worker);
  await page.getByText("CLAIMED", { exact: true }).first().waitFor();
  for (const status of ["SUBMITTED", "STARTED"]) await ask(`jobs/${job.id}/transition`, { ...worker, status });
  await page.getByText("STARTED", { exact: true }).first().waitFor();
  const log = page.getByRole("group", { name: /^stdout/ });
  for (const [offset, text] of [[0, "one\n"], [4, "two\n"]]) {
    await ask(`jobs/${job.id}/logs/stdout`, { ...worker, offset, content: btoa(text) });
    await log.getByText(text.trim()).waitFor();
  }
  await page.reload();
  await log.getByText("two").waitFor();

  const bytes = randomBytes(24 * MIB);
  const file = join(await folder(), "weights.bin");
  writeFileSync(file, bytes);
  const line = await page.context().newCDPSession(page);
  await line.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 12 * MIB });
  await page.getByRole("link", { name: "Artifacts" }).click();
  await page.getByRole("button", { name: "New artifact" }).click();
  await page.getByLabel("files", { exact: true }).setInputFiles(file);
  await page.getByRole("button", { name: "Create and upload" }).click();
  await page.waitForFunction((least) => document.querySelector("main progress")?.value > least, 5 * MIB);
  own.process.kill("SIGKILL");
  await once(own.process, "exit");
  await page.getByText("goes on when it does").waitFor();
  await page.getByText("What you see is as it was").waitFor();
  assert.ok((await page.getByRole("progressbar", { name: "All uploads" }).evaluate((each) => each.value)) < bytes.length);
  serve(own.data, new URL(own.origin).port);
  await page.getByText("there, with the right hash").waitFor();
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "weights.bin" }).click()]);
  assert.equal(createHash("sha256").update(readFileSync(await saved.path())).digest("hex"), sha256);
  await page.getByText("What you see is as it was").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  contentButAway(page);
}, 150);
