/** The present moment for everything that says how long ago something was, once a second for the whole page. */
import { onScopeDispose, ref } from "vue";

export const now = ref(Date.now());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): typeof now {
  if (users++ === 0) timer = setInterval(() => (now.value = Date.now()), 1000);
  onScopeDispose(() => {
    if (--users === 0) clearInterval(timer);
  });
  return now;
}

/** Do something every so many seconds while the page is seen. */
export function every(seconds: number, act: () => unknown): void {
  const beat = setInterval(() => {
    if (document.visibilityState === "visible") act();
  }, seconds * 1000);
  onScopeDispose(() => clearInterval(beat));
}
