import assert from "node:assert/strict";
import { api, asked, content, protocol, server, signedInAs, story } from "./browser.mjs";

const ROLES = ["Viewer", "Editor", "Manager", "Owner"];
const PASSWORD = "only looks at the ferry";
/** What each page offers, and the least role that is offered it. */
const OFFERS = [
  ["jobs", "button", "New job", "Editor"],
  ["artifacts", "button", "New artifact", "Editor"],
  ["workers", "button", "Add a worker", "Manager"],
  ["workers/demo-worker", "button", "Remove", "Manager"],
  ["workers/demo-worker", "button", "Drain", "Manager"],
  ["overview", "link", "What happened", "Manager"],
  ["jobs", "link", "Users", "Owner"],
  ["jobs", "link", "Settings", "Owner"],
];

async function person(role) {
  const name = `${role.toLowerCase()}-${Date.now().toString(36)}`;
  const made = await asked("POST", "/api/ui/users", { name, role, password: PASSWORD });
  assert.equal(made.status, 201);
  return signedInAs(name, PASSWORD);
}

function reaches(role, least) {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** The statuses that the server answers this page with: what is offered is one thing, what is allowed another. */
function tried(page, requests) {
  return page.evaluate(
    async ([requests, headers]) => {
      const me = await (await fetch("/api/ui/me")).json();
      const found = [];
      for (const [method, path, body] of requests) {
        const all = { ...headers, "X-Request-Id": crypto.randomUUID(), "X-CSRF-Token": me.csrf_token, "Content-Type": "application/json" };
        found.push((await fetch(path, { method, headers: all, body: body && JSON.stringify(body) })).status);
      }
      return found;
    },
    [requests, protocol()],
  );
}

for (const role of ROLES) {
  story(`a person who is ${role} is offered what they may do, and refused the rest in words`, async () => {
    const job = await api("POST", "jobs", { processor: "nobody-may-end-this" });
    const artifact = await api("POST", "artifacts", { type: "blob", name: "of the owner" });
    const page = await person(role);
    for (const [place, kind, name, least] of OFFERS) {
      await page.goto(`${server}/ui/${place}`);
      await page.locator("main h1").first().waitFor();
      if (place.startsWith("workers")) await page.getByText("demo-worker").first().waitFor();
      assert.equal(await page.getByRole(kind, { name }).count(), reaches(role, least) ? 1 : 0, `${place}: ${name}`);
    }

    await page.goto(`${server}/ui/settings`);
    await page.getByText(role === "Owner" ? "data_dir" : "Not for your role").first().waitFor();
    await page.goto(`${server}/ui/workers/new`);
    await page.getByText(reaches(role, "Manager") ? "Issue its secret" : "Only a Manager or an Owner adds workers").waitFor();
    await page.goto(`${server}/ui/jobs/new`);
    await page.getByRole("heading", { name: "New job" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Submit" }).count(), reaches(role, "Editor") ? 1 : 0);
    assert.equal(await page.getByText("Your role shows jobs and submits none").count(), reaches(role, "Editor") ? 0 : 1);
    await page.goto(`${server}/ui/artifacts/new`);
    await page.getByRole("heading", { name: "New artifact" }).waitFor();
    assert.equal(await page.getByText("Your role shows artifacts").count(), reaches(role, "Editor") ? 0 : 1);

    const may = (least, status) => (reaches(role, least) ? status : 403);
    const found = await tried(page, [
      ["GET", "/api/ui/settings"],
      ["GET", "/api/ui/users"],
      ["POST", "/api/ui/users", { name: "mallory", role: "Root" }],
      ["POST", "/api/hpc/jobs", { processor: "nobody-may-end-this" }],
      ["POST", `/api/hpc/jobs/${job.id}/cancel`, {}],
      ["DELETE", `/api/hpc/artifacts/${artifact.id}`],
      ["POST", "/api/hpc/workers/demo-worker/credentials/issue", { label: 7 }],
      ["POST", "/api/hpc/workers/register", { worker_id: 7 }],
    ]);
    assert.deepEqual(found, [may("Owner", 200), may("Owner", 200), may("Owner", 400), may("Editor", 201), may("Manager", 200), may("Manager", 204), may("Manager", 400), may("Manager", 400)]);
    content(page);
  });
}
