/** Short messages about what just happened, which leave by themselves unless something went wrong. */
import { ref } from "vue";

export interface Toast {
  id: number;
  kind: "done" | "failed";
  text: string;
}

const SECONDS = 6;
let last = 0;

export const toasts = ref<Toast[]>([]);

export function tell(text: string, kind: Toast["kind"] = "done"): void {
  const toast = { id: ++last, kind, text };
  toasts.value = [...toasts.value, toast];
  if (kind === "done") setTimeout(() => dismiss(toast.id), SECONDS * 1000);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
