// What every story needs: a real browser, a signed-in page, and requests to the server as a person's script makes them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const server = process.env.STORY_SERVER;
const token = process.env.STORY_TOKEN;
export const PASSWORD = process.env.STORY_PASSWORD;
export const NAME = "demo";

let browser;
const servers = [];

/** One page in a browser of its own; what the page complains about fails the story. */
export async function opened({ server: home = server, ...options } = {}) {
  browser ??= await chromium.launch({ executablePath: process.env.STORY_BROWSER, args: [...QUIET, ...(process.getuid() === 0 ? ["--no-sandbox"] : [])] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) page.complaints.push(message.text());
  });
  page.on("dialog", (dialog) => {
    page.complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(home)) page.complaints.push(`asks elsewhere: ${request.url()}`);
  });
  return page;
}

export async function signedIn(options = {}) {
  const page = await opened(options);
  await page.goto(server);
  await page.getByLabel("Name").fill(NAME);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return page;
}

export function content(page) {
  assert.deepEqual(page.complaints, []);
}

export async function close() {
  await browser?.close();
  browser = undefined;
  for (const each of servers) each.kill();
}

/** A server that nobody owns: its process, its folder, and the address that it left for its first Owner. */
export async function unowned() {
  const data = await mkdtemp(join(tmpdir(), "ferry-"));
  const process = serve(data, 0);
  const left = join(data, "first-owner");
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    const address = await readFile(left, "utf8").catch(() => "");
    if (address.endsWith("\n")) return { process, data, address: address.trim() };
  }
  assert.fail(`no address in ${left}`);
}

export function serve(data, port) {
  const started = spawn(process.env.STORY_PYTHON, ["-m", "cableferry.cli.main", "serve", "--port", String(port), "--data-dir", data], { stdio: "ignore" });
  servers.push(started);
  return started;
}

/** A request to the API with the owner's token. */
export async function api(method, path, body, type = "application/json") {
  const response = await fetch(`${server}/api/hpc/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      "Content-Type": type,
      "X-EMX2-API-Version": "2025-01",
      "X-Request-Id": crypto.randomUUID(),
      "X-Timestamp": String(Math.floor(Date.now() / 1000)),
    },
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}
