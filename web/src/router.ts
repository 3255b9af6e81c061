/** Every page with its address; what a page shows is in its address, so that an address can be shared. */
import { nextTick, ref } from "vue";
import { createRouter, createWebHistory, START_LOCATION, type RouteRecordRaw } from "vue-router";
import Jobs from "./pages/Jobs.vue";
import { tell } from "./state/toasts";

const pages: RouteRecordRaw[] = [
  { path: "/", redirect: "/jobs" },
  { path: "/jobs", component: Jobs, meta: { title: "Jobs" } },
  { path: "/jobs/new", component: () => import("./pages/NewJob.vue"), meta: { title: "New job" } },
  { path: "/jobs/:id", component: () => import("./pages/Job.vue"), props: true, meta: { title: "Job" } },
  { path: "/artifacts", component: () => import("./pages/Artifacts.vue"), meta: { title: "Artifacts" } },
  { path: "/artifacts/new", component: () => import("./pages/NewArtifact.vue"), meta: { title: "New artifact" } },
  { path: "/artifacts/:id", component: () => import("./pages/Artifact.vue"), props: true, meta: { title: "Artifact" } },
  { path: "/overview", component: () => import("./pages/Overview.vue"), meta: { title: "Overview" } },
  { path: "/waiting", component: () => import("./pages/Waiting.vue"), meta: { title: "Why it waits" } },
  { path: "/audit", component: () => import("./pages/Audit.vue"), meta: { title: "What happened" } },
  { path: "/users", component: () => import("./pages/Users.vue"), meta: { title: "Users" } },
  { path: "/workers", component: () => import("./pages/Workers.vue"), meta: { title: "Workers" } },
  { path: "/workers/new", component: () => import("./pages/NewWorker.vue"), meta: { title: "New worker" } },
  { path: "/workers/:id", component: () => import("./pages/Worker.vue"), props: true, meta: { title: "Worker" } },
  { path: "/settings", component: () => import("./pages/Settings.vue"), meta: { title: "Settings" } },
  { path: "/welcome", component: () => import("./pages/Welcome.vue"), meta: { title: "Welcome" } },
  { path: "/account", component: () => import("./pages/Account.vue"), meta: { title: "Your account" } },
  { path: "/:rest(.*)*", component: () => import("./pages/Nowhere.vue"), meta: { title: "Nothing here" } },
];

export const router = createRouter({
  history: createWebHistory(new URL(document.baseURI).pathname),
  routes: pages,
  scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
});

/** The name of the page one has come to, for whoever hears pages. */
export const heard = ref("");

router.afterEach((to, from) => {
  document.title = `${String(to.meta.title ?? "")} · Cableferry`;
  if (to.path === from.path || from === START_LOCATION) return;
  heard.value = String(to.meta.title ?? "");
  void nextTick(focus);
});

/** A browser looks for what wants the focus once only, and what had it may be gone with its page. */
function focus(): void {
  const wanted = document.querySelector<HTMLElement>("main [autofocus]:not(dialog *)");
  if (wanted) wanted.focus();
  else if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
}

// a page's own script is fetched when it is first wanted, and may be gone after an upgrade
router.onError(() => tell("That page cannot be loaded: the server does not answer, or it has a newer dashboard. Load this page again.", "failed"));
