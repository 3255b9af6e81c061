// before the first paint, so that nothing flashes; the page itself goes on from here
let chosen = null;
try {
  chosen = localStorage.getItem("theme");
} catch {
  // a browser that keeps nothing follows the system
}
const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.dataset.theme = dark ? "dark" : "light";
