/** One question to the server as a screen sees it: under way, answered, or failed with a reason; asked again on demand. */
import { onScopeDispose, ref, shallowRef, type Ref, type ShallowRef } from "vue";
import { Refused } from "../api/http";

export interface Asking<T> {
  value: ShallowRef<T | null>;
  error: ShallowRef<Error | null>;
  isAsking: Ref<boolean>;
  again: () => Promise<void>;
}

/** A later question always wins over an earlier one; what was known stays visible while a new answer is on its way. */
export function asking<T>(ask: (signal: AbortSignal) => Promise<T>): Asking<T> {
  const value = shallowRef<T | null>(null);
  const error = shallowRef<Error | null>(null);
  const isAsking = ref(false);
  let current: AbortController | null = null;

  async function again(): Promise<void> {
    current?.abort();
    const mine = (current = new AbortController());
    isAsking.value = true;
    try {
      const found = await ask(mine.signal);
      if (mine.signal.aborted) return;
      value.value = found;
      error.value = null;
    } catch (failure) {
      if (mine.signal.aborted) return;
      error.value = failure as Error;
    } finally {
      if (current === mine) isAsking.value = false;
    }
  }

  onScopeDispose(() => current?.abort());
  return { value, error, isAsking, again };
}

export function isForbidden(error: Error | null): boolean {
  return error instanceof Refused && error.status === 403;
}

export function isMissing(error: Error | null): boolean {
  return error instanceof Refused && error.status === 404;
}
