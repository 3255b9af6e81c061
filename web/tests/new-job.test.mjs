import assert from "node:assert/strict";
import { after, test } from "node:test";
import { check } from "./reading.mjs";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

let page;
async function opened(place) {
  page ??= await signedIn();
  await page.goto(`${server}/ui/${place}`);
  return page;
}

const here = (name) => page.getByRole("region", { name, exact: true });

test("a form is made of what a processor says of its parameters, and a job runs to its end", async () => {
  await opened("jobs");
  await page.getByRole("button", { name: "New job" }).click();
  await page.getByRole("heading", { name: "New job" }).waitFor();
  await page.getByLabel("Processor").fill("nobody-offered-this");
  await here("Before you submit").getByText(/offers? processor nobody-offered-this|does not offer/).waitFor();
  await page.getByLabel("Processor").fill("count-primes");
  await here("Before you submit").getByText("It waits for demo-worker to ask for work.").waitFor();
  const below = page.getByLabel("Below (required)");
  assert.equal(await below.inputValue(), "30000");
  await below.fill("1");
  await page.getByText("must be at least 2").first().waitFor();
  await below.fill("");
  await page.getByText("is required").first().waitFor();
  await below.fill("20");
  await page.getByRole("button", { name: "JSON" }).click();
  const raw = page.getByRole("textbox", { name: "Parameters" });
  assert.deepEqual(JSON.parse(await raw.inputValue()), { below: 20 });
  await raw.fill('{"below": 20');
  await page.getByText("This is no JSON").waitFor();
  assert.ok(await page.getByRole("button", { name: "Submit" }).isDisabled());
  await raw.fill('{"below": 2.5}');
  await here("Parameters").getByText("must be a whole number").waitFor();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("dialog").getByText("do not fit what count-primes says").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Back" }).click();
  await raw.fill('{"below": 20}');
  await page.getByLabel("Time limit").fill("5400");
  await page.getByText("1 h 30 min").waitFor();
  await page.getByLabel("Priority").fill("7");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("COMPLETED").first().waitFor({ timeout: 60_000 });
  const job = await api("GET", `jobs/${page.url().split("/").pop()}`);
  assert.deepEqual([job.parameters, job.timeout_seconds, job.priority], [{ below: 20 }, 5400, 7]);
  content(page);
});

const RICH = {
  type: "object",
  properties: {
    model: { enum: ["small", "large", 3], title: "Model" },
    rate: { type: "number", exclusiveMinimum: 0, maximum: 1, description: "How much is learnt of each step." },
    isFast: { type: "boolean", title: "Fast" },
    label: { type: ["string", "null"], minLength: 2, maxLength: 5 },
    layers: { type: "array", minItems: 1, maxItems: 2, items: { type: "integer", minimum: 1 } },
    site: { type: "object", properties: { name: { const: "here" } }, required: ["name"] },
  },
  required: ["model"],
  additionalProperties: false,
};
const MISFITS = [
  ["{}", ["model is required"]],
  ['{"model": "huge"}', ['model must be one of "small", "large", 3']],
  ['{"model": 3, "rate": 0}', ["rate must be more than 0"]],
  ['{"model": 3, "rate": 1.5, "other": 1}', ["other is not known", "rate must be at most 1"]],
  ['{"model": 3, "isFast": "yes", "label": 5}', ["isFast must be true or false", "label must be a text or null"]],
  ['{"model": 3, "label": "x"}', ["label must have at least 2 letters"]],
  ['{"model": 3, "label": "🌳🌳🌳🌳🌳"}', []],
  ['{"model": 3, "layers": [1, 0, 2.5]}', ["layers must have at most 2 items", "layers[1] must be at least 1", "layers[2] must be a whole number"]],
  ['{"model": 3, "layers": {}, "site": {}}', ["layers must be a list", "site.name is required"]],
  ['{"model": 3, "site": {"name": "there"}}', ['site.name must be "here"']],
];

test("every word of a schema that is understood is said where it is broken, and the form writes what fits", async () => {
  await api("POST", "workers/register", { worker_id: "rich", capabilities: [{ processor: "trains", parameters_schema: RICH }] });
  await opened("jobs/new?processor=trains");
  await page.getByLabel("Model").selectOption("3");
  await page.getByLabel("rate").fill("0.5");
  await page.getByLabel("Fast").check();
  await page.getByLabel("layers").fill("[1, 2]");
  await page.getByLabel("label").fill("x");
  await here("Parameters").getByText("must have at least 2 letters").first().waitFor();
  await page.getByLabel("Add an artifact").click();
  await check(page, "a form with something wrong");
  await page.getByLabel("label").fill("");
  await page.getByRole("button", { name: "JSON" }).click();
  const raw = page.getByRole("textbox", { name: "Parameters" });
  assert.deepEqual(JSON.parse(await raw.inputValue()), { model: 3, rate: 0.5, isFast: true, layers: [1, 2] });
  for (const [text, expected] of MISFITS) {
    await raw.fill(text);
    const found = await here("Parameters").getByRole("list", { name: "What does not fit" }).getByRole("listitem").allInnerTexts();
    assert.deepEqual(found.map((each) => each.trim()), expected, text);
  }
  content(page);
});

test("what was submitted is cloned, or run again as it was", async () => {
  const first = await api("POST", "jobs", { processor: "count-primes", parameters: { below: 30 }, timeout_seconds: 600, priority: 3 });
  await opened(`jobs/${first.id}`);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(first.id));
  const again = await api("GET", `jobs/${page.url().split("/").pop()}`);
  assert.deepEqual([again.parameters, again.timeout_seconds, again.priority], [{ below: 30 }, 600, 3]);
  await page.getByRole("button", { name: "Clone" }).click();
  await page.waitForURL(/from=/);
  await page.waitForFunction(() => document.querySelector("input[type=number]")?.value === "30");
  await page.getByLabel("Below").fill("31");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname));
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).parameters, { below: 31 });
  content(page);
});

test("inputs are found by name and id, brought in place, named, and cloned as they were", async () => {
  const made = [];
  for (const name of ["picked-trees", "picked-birds"]) {
    const artifact = await api("POST", "artifacts", { type: "tabular", name });
    await api("PUT", `artifacts/${artifact.id}/files/${name}.csv`, "a,b\n1,2\n", "text/csv");
    await api("POST", `artifacts/${artifact.id}/commit`, {});
    made.push(artifact.id);
  }
  await opened("jobs/new?processor=nobody-takes-inputs");
  const add = page.getByLabel("Add an artifact");
  await add.fill("picked-tr");
  await page.getByRole("list", { name: "Artifacts that fit" }).getByRole("button", { name: /picked-trees/ }).click();
  await add.fill(made[1]);
  await page.getByRole("list", { name: "Artifacts that fit" }).getByText("picked-birds").waitFor();
  await add.press("Enter");
  await page.getByText("Bring files of your own").click();
  await page.getByLabel("files", { exact: true }).setInputFiles([{ name: "mine.csv", mimeType: "text/csv", buffer: Buffer.from("c\n3\n") }]);
  const chosen = page.getByRole("list", { name: "Chosen inputs" });
  await chosen.getByRole("listitem").filter({ hasText: "mine.csv" }).getByText("COMMITTED").waitFor();
  await page.getByLabel("Name of input picked-trees").fill("trees");
  await page.getByText("Some inputs have a name").waitFor();
  assert.ok(await page.getByRole("button", { name: "Submit" }).isDisabled());
  await page.getByLabel("Name of input picked-birds").fill("rest");
  await page.getByLabel("Name of input mine.csv").fill("rest");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("heading", { name: "nobody-takes-inputs" }).waitFor();
  const job = await api("GET", `jobs/${page.url().split("/").pop()}`);
  assert.deepEqual(Object.keys(job.inputs), ["trees", "rest"]);
  assert.deepEqual([job.inputs.trees, job.inputs.rest[0]], made);

  const inputs = here("Inputs");
  await inputs.getByRole("button", { name: "Look at picked-trees.csv" }).click();
  await inputs.getByRole("columnheader", { name: "a", exact: true }).waitFor();
  await page.getByRole("button", { name: "Clone" }).click();
  await chosen.getByText("picked-birds").waitFor();
  assert.equal(await page.getByLabel("Name of input picked-trees").inputValue(), "trees");
  await page.getByLabel("Remove input picked-trees").click();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname) && !url.pathname.endsWith(job.id));
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).inputs, { rest: job.inputs.rest });
  content(page);
});

test("an input that is not there is refused in words, and odd ones stay what they are", async () => {
  await opened("jobs/new?processor=nobody-takes-this-either");
  const add = page.getByLabel("Add an artifact");
  await add.fill("0193d2a0-0000-7000-8000-000000000000");
  await page.getByText("No committed artifact fits").waitFor();
  await add.press("Enter");
  await page.getByRole("button", { name: "Submit" }).click();
  assert.match(await page.getByRole("alert").innerText(), /no artifact/);

  const odd = await api("POST", "jobs", { processor: "nobody-takes-this-either", inputs: { a: { file: "/nfs/x", part: 3 } } });
  await opened(`jobs/new?from=${odd.id}`);
  await page.getByText('{"file":"/nfs/x","part":3}').waitFor();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname));
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).inputs, { a: { file: "/nfs/x", part: 3 } });

  const odder = await api("POST", "jobs", { processor: "nobody-takes-this-either", inputs: { none: [] } });
  await opened(`jobs/new?from=${odder.id}`);
  await page.getByRole("textbox", { name: "Inputs" }).waitFor();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname));
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).inputs, { none: [] });
  content(page);
});
