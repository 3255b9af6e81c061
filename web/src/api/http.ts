/** Every request of the dashboard: the protocol's headers, the CSRF token, and refusals as errors with a sentence. */

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  request_id?: string | null;
}

/** The server said no, in words that a person can act on. */
export class Refused extends Error {
  constructor(
    readonly problem: Problem,
    readonly retryAfter: number | null,
  ) {
    super(problem.detail);
  }

  get status(): number {
    return this.problem.status;
  }

  get kind(): string {
    return this.problem.type.split(":").pop() ?? "";
  }
}

/** No answer came: the server or the way to it is gone. */
export class Unreachable extends Error {
  constructor() {
    super("the server does not answer");
  }
}

export interface Asked {
  method?: string;
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Answer<T> {
  body: T;
  status: number;
  headers: Headers;
}

let csrf: string | null = null;
let onSignedOut: () => void = () => {};
let onAnswered: (isThere: boolean) => void = () => {};
/** What a proxy answers for a server that is away. */
const PROXIES = new Set([502, 503, 504]);

export function useCsrf(token: string | null): void {
  csrf = token;
}

export function whenSignedOut(then: () => void): void {
  onSignedOut = then;
}

export function whenAnswered(then: (isThere: boolean) => void): void {
  onAnswered = then;
}

/** Where something of the API is, wherever the dashboard itself is served. */
export function url(path: string, query: Asked["query"] = {}): string {
  const found = new URL(`../${path.replace(/^\//, "")}`, document.baseURI);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") found.searchParams.set(name, String(value));
  }
  return found.toString();
}

export async function call<T>(path: string, asked: Asked = {}): Promise<Answer<T>> {
  const response = await read(path, asked);
  return { body: (await content(response)) as T, status: response.status, headers: response.headers };
}

/** The same for what is no JSON. */
export async function read(path: string, asked: Asked = {}): Promise<Response> {
  const response = await reached(path, asked);
  if (response.ok || response.status === 304) return response;
  const refused = await refusal(response);
  if (response.status === 401 && path !== "api/ui/login") onSignedOut();
  throw refused;
}

async function reached(path: string, asked: Asked): Promise<Response> {
  const init: RequestInit = { method: asked.method ?? "GET", headers: headers(asked), credentials: "same-origin" };
  if (asked.body !== undefined) init.body = JSON.stringify(asked.body);
  if (asked.signal) init.signal = asked.signal;
  try {
    const response = await fetch(url(path, asked.query), init);
    if (isProxys(response.status, response.headers.get("Content-Type"))) throw new Unreachable();
    onAnswered(true);
    return response;
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    onAnswered(false);
    throw new Unreachable();
  }
}

/** Whether nobody but a proxy said so; the server's own words are always JSON. */
export function isProxys(status: number, type: string | null): boolean {
  return PROXIES.has(status) && !(type ?? "").includes("json");
}

export function headers(asked: Asked): Record<string, string> {
  const common: Record<string, string> = {
    Accept: "application/json",
    "X-EMX2-API-Version": "2025-01",
    "X-Request-Id": requestId(),
    "X-Timestamp": String(Math.floor(Date.now() / 1000)),
  };
  if (asked.body !== undefined) common["Content-Type"] = "application/json";
  if (csrf !== null && (asked.method ?? "GET") !== "GET") common["X-CSRF-Token"] = csrf;
  return { ...common, ...asked.headers };
}

/** crypto.randomUUID is missing where a page came over plain HTTP. */
function requestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

async function content(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === "" ? null : JSON.parse(text);
}

async function refusal(response: Response): Promise<Refused> {
  return refused(response.status, response.statusText, await response.text(), response.headers.get("Retry-After"));
}

/** A refusal from what came back, whatever that is. */
export function refused(status: number, title: string, text: string, after: string | null): Refused {
  const seconds = Number(after ?? "");
  const retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds : null;
  try {
    return new Refused(JSON.parse(text) as Problem, retryAfter);
  } catch {
    const detail = `the server answered ${status} ${title}`.trim();
    return new Refused({ type: "about:blank", title, status, detail }, retryAfter);
  }
}
