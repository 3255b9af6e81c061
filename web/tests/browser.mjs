// What every story needs: a real browser, a signed-in page, and requests to the server as a person's script makes them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { chromium } from "playwright-core";

const QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const STORY_SECONDS = 100;
const STEP_SECONDS = 20;

export const server = process.env.STORY_SERVER;
const token = process.env.STORY_TOKEN;
export const PASSWORD = process.env.STORY_PASSWORD;
export const NAME = "demo";

let browser;
let cookies;
let isStory = false;
const programs = [];

/** A test that ends: whatever hangs in it fails it, and the log of its steps says which one that was. */
export function story(name, body, seconds = STORY_SECONDS) {
  if (!isStory) after(close);
  isStory = true;
  test(name, { timeout: seconds * 1000 }, body);
}

/** One page in a browser of its own; what the page complains about fails the story. */
export async function opened({ server: home = server, flags = [], ...options } = {}) {
  const asRoot = process.getuid() === 0 ? ["--no-sandbox"] : [];
  browser ??= await chromium.launch({ executablePath: process.env.STORY_BROWSER, args: [...QUIET, ...asRoot, ...flags], timeout: STEP_SECONDS * 2000 });
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, ...options });
  context.setDefaultTimeout(STEP_SECONDS * 1000);
  const page = await context.newPage();
  page.complaints = [];
  context.on("weberror", (error) => page.complaints.push(String(error.error())));
  context.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) page.complaints.push(message.text());
  });
  context.on("dialog", (dialog) => {
    page.complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on("request", (request) => {
    // chrome: and chrome-extension: are parts of the browser, such as its viewer of documents
    if (!/^(data|blob|chrome|chrome-extension):/.test(request.url()) && !request.url().startsWith(`${home}/`)) page.complaints.push(`asks elsewhere: ${request.url()}`);
  });
  return page;
}

/** A page of the owner's; only where signing in is the subject it is done by hand. */
export async function signedIn(options = {}) {
  const page = await opened(options);
  cookies ??= await sessionOf(NAME, PASSWORD);
  await page.context().addCookies(cookies);
  return page;
}

/** A page of somebody else's. */
export async function signedInAs(name, password, options = {}) {
  const page = await opened(options);
  await page.context().addCookies(await sessionOf(name, password));
  return page;
}

export async function signIn(page, name = NAME, password = PASSWORD) {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function sessionOf(name, password) {
  const answer = await asked("POST", "/api/ui/login", { name, password }, { Authorization: "" });
  assert.equal(answer.status, 200, await answer.text());
  const [pair] = answer.headers.get("set-cookie").split(";");
  const at = pair.indexOf("=");
  return [{ name: pair.slice(0, at), value: pair.slice(at + 1), url: server, httpOnly: true, sameSite: "Strict" }];
}

export function content(page) {
  assert.deepEqual(page.complaints, []);
}

/** A browser tells of each request that found nobody; where the server was away on purpose, that is no complaint. */
export function contentButAway(page) {
  page.complaints = page.complaints.filter((each) => !/Failed to load resource: net::ERR_|status of 50[234]/.test(each));
  content(page);
}

export async function close() {
  await browser?.close();
  browser = undefined;
  for (const each of programs) each.kill("SIGKILL");
}

export async function folder() {
  return mkdtemp(join(tmpdir(), "ferry-"));
}

/** A server that nobody owns: its process, its folder, and the address that it left for its first Owner. */
export async function unowned(...more) {
  const data = await folder();
  const process = serve(data, 0, ...more);
  const left = join(data, "first-owner");
  const address = await until(async () => {
    const text = await readFile(left, "utf8").catch(() => "");
    return text.endsWith("\n") && text.trim();
  }, `an address in ${left}`);
  return { process, data, address, origin: new URL(address).origin };
}

export async function owned(page, address) {
  await page.goto(address);
  await page.getByLabel("Name").fill("olga");
  await page.getByLabel("Password", { exact: true }).fill("the ferry leaves at dawn");
  await page.getByLabel("The password again").fill("the ferry leaves at dawn");
  await page.getByRole("button", { name: "Own this server" }).click();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
}

export function serve(data, port, ...more) {
  return ferry(["serve", "--port", String(port), "--data-dir", data, ...more]);
}

/** One of our own programs, gone when the story is over. */
export function ferry(words, options = {}) {
  return program(process.env.STORY_PYTHON, ["-m", "cableferry.cli.main", ...words], { stdio: "ignore", ...options });
}

export function program(path, words, options) {
  const started = spawn(path, words, options);
  programs.push(started);
  return started;
}

/** What a question answers as soon as it answers anything. */
export async function until(ask, what, seconds = STEP_SECONDS) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const found = await ask();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return assert.fail(`not within ${seconds} s: ${what}`);
}

/** A request as a script sends it, with the owner's token unless it says otherwise; it has an end, and a connection of its own. */
export function asked(method, path, body, headers = {}) {
  const sent = body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const said = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...protocol(), ...headers };
  const kept = Object.entries(said).filter(([, value]) => value !== "");
  return fetch(new URL(path, server), { method, headers: kept, body: sent, signal: AbortSignal.timeout(STEP_SECONDS * 1000) });
}

export function protocol() {
  return { "X-EMX2-API-Version": "2025-01", "X-Request-Id": crypto.randomUUID(), "X-Timestamp": String(Math.floor(Date.now() / 1000)) };
}

/** The body of a request that has to be taken. */
export async function api(method, path, body, type = "application/json") {
  const response = await asked(method, `/api/hpc/${path}`, body, { "Content-Type": type });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

/** Bytes of the heap of a page after everything that can go has gone. */
export async function kept(page) {
  const line = await page.context().newCDPSession(page);
  for (let count = 0; count < 2; count += 1) await line.send("HeapProfiler.collectGarbage");
  const { usedSize } = await line.send("Runtime.getHeapUsage");
  await line.detach();
  return usedSize;
}

/** Bytes of scripts that a page has fetched so far, as they came; to be run in the page. */
export function scripts() {
  const found = performance.getEntriesByType("resource").filter((each) => /\.m?js$/.test(new URL(each.name).pathname));
  return found.reduce((sum, each) => sum + each.encodedBodySize, 0);
}
