/** Light, dark, or as the system has it. */
import { ref } from "vue";

export type Theme = "system" | "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = ref<Theme>(chosen());

system.addEventListener("change", show);

export function choose(next: Theme): void {
  theme.value = next;
  show();
  try {
    localStorage.setItem("theme", next);
  } catch {
    // a browser that keeps nothing follows the system at the next start
  }
}

function show(): void {
  const isDark = theme.value === "dark" || (theme.value === "system" && system.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

function chosen(): Theme {
  try {
    const found = localStorage.getItem("theme");
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system";
  }
}
