/** How values are written for people. */

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined) return "–";
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < SIZES.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${SIZES[unit]}`;
}

export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export function ago(milliseconds: number): string {
  if (milliseconds < 5_000) return "just now";
  const [first, unit] = duration(milliseconds).split(" ");
  return `${first} ${unit} ago`;
}

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function local(iso: string): string {
  return LOCAL.format(new Date(iso));
}

export function utc(iso: string): string {
  return `${new Date(iso).toISOString().replace("T", " ").replace(/\.\d+Z$/, "")} UTC`;
}

export function number(count: number): string {
  return count.toLocaleString();
}

/** The first group of an id; enough to tell two apart in a list. */
export function brief(id: string): string {
  return id.length > 13 ? id.slice(0, 13) : id;
}
