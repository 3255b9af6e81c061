/** Who is signed in here, and what that person may do. */
import { computed, ref } from "vue";
import { call, Refused, useCsrf, whenSignedOut } from "../api/http";
import type { Me } from "../api/types";

const ROLES = ["Viewer", "Editor", "Manager", "Owner"];

/** `open` is a server without authentication, on this machine only. */
export type Standing = "unknown" | "out" | "in" | "open";

export const standing = ref<Standing>("unknown");
export const me = ref<Me | null>(null);

whenSignedOut(() => forget());

export const rank = computed(() => {
  if (standing.value === "open") return ROLES.indexOf("Manager");
  return me.value === null ? -1 : ROLES.indexOf(me.value.role);
});

/** Whether the role reaches that far; the server decides, this only decides what is offered. */
export function may(role: "Viewer" | "Editor" | "Manager" | "Owner"): boolean {
  return rank.value >= ROLES.indexOf(role);
}

/** Ask the server who we are; throws when it does not say. */
export async function recognise(): Promise<void> {
  try {
    keep((await call<Me>("api/ui/me")).body);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return forget();
    if (!(error instanceof Refused && error.status === 403)) throw error;
    // a user is needed, and there is none: nobody has to sign in
    me.value = null;
    standing.value = "open";
  }
}

export async function signIn(name: string, password: string): Promise<void> {
  keep((await call<Me>("api/ui/login", { method: "POST", body: { name, password } })).body);
}

/** Become the first Owner of a server that nobody owns yet. */
export async function begin(name: string, password: string, token: string): Promise<void> {
  keep((await call<Me>("api/ui/first-owner", { method: "POST", body: { name, password, token } })).body);
}

export async function signOut(): Promise<void> {
  await call("api/ui/logout", { method: "POST" });
  forget();
}

export async function signOutEverywhere(): Promise<void> {
  await call("api/ui/sessions/sign-out", { method: "POST" });
  forget();
}

function keep(found: Me): void {
  me.value = found;
  useCsrf(found.csrf_token ?? null);
  standing.value = "in";
}

function forget(): void {
  me.value = null;
  useCsrf(null);
  standing.value = "out";
}
