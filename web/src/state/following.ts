/** Something that the server tells of as it changes: the whole picture each time, for as long as somebody looks. */
import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from "vue";
import { call, Refused, url, type Asked } from "../api/http";

export interface Place {
  /** Where it can be asked for once; the feed is at `events` below it. */
  path: string;
  query?: Asked["query"];
}

export interface Following<T> {
  value: ShallowRef<T | null>;
  error: ShallowRef<Error | null>;
  /** Whether a change would be seen at once. */
  isLive: Ref<boolean>;
  isOver: Ref<boolean>;
  again: () => void;
}

const RETRY_SECONDS = 3;

/** A browser keeps few connections to one server, so a page that nobody sees gives its own back. */
export function following<T>(place: () => Place, name: string): Following<T> {
  const value = shallowRef<T | null>(null);
  const error = shallowRef<Error | null>(null);
  const isLive = ref(false);
  const isOver = ref(false);
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;

  function close(): void {
    source?.close();
    source = null;
    isLive.value = false;
    clearTimeout(timer);
  }

  function open(): void {
    close();
    if (document.visibilityState === "hidden" || isOver.value) return;
    const { path, query } = place();
    const mine = (source = new EventSource(url(`${path}/events`, query)));
    mine.addEventListener(name, (event) => keep(JSON.parse((event as MessageEvent<string>).data) as T));
    mine.addEventListener("end", () => {
      isOver.value = true;
      close();
    });
    mine.onopen = () => (isLive.value = true);
    mine.onerror = () => {
      if (mine === source) void wonder();
    };
  }

  function keep(found: T): void {
    asked += 1;
    value.value = found;
    error.value = null;
    isLive.value = true;
  }

  /** A feed does not say why it broke off; a plain question does. */
  async function wonder(): Promise<void> {
    close();
    const mine = ++asked;
    const { path, query } = place();
    try {
      const found = (await call<T>(path, query ? { query } : {})).body;
      if (mine === asked) keep(found);
      isLive.value = false;
    } catch (failure) {
      if (mine !== asked) return;
      error.value = failure as Error;
      if (failure instanceof Refused && failure.status < 500 && failure.status !== 429) return;
    }
    timer = setTimeout(open, RETRY_SECONDS * 1000);
  }

  function again(): void {
    asked += 1;
    isOver.value = false;
    open();
  }

  watch(() => JSON.stringify(place()), again, { immediate: true });
  document.addEventListener("visibilitychange", open);
  onScopeDispose(() => {
    asked += 1;
    document.removeEventListener("visibilitychange", open);
    close();
  });
  return { value, error, isLive, isOver, again };
}
