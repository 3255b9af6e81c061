/** One file on its way to the server by the tus protocol: begun, or gone on with from where it broke off. */
import { call, headers, isProxys, refused, Unreachable, url } from "../api/http";
import type { ArtifactFileList, UploadList } from "../api/types";

const PART = 8 * 1024 * 1024;
const TUS = { "Tus-Resumable": "1.0.0" };

export interface Parcel {
  artifact: string;
  path: string;
  file: File;
  sha256: string;
}

export interface Place {
  id: string;
  offset: number;
}

const home = (parcel: Parcel) => `api/hpc/artifacts/${encodeURIComponent(parcel.artifact)}`;

/** Whether the artifact has this very file. */
export async function isThere(parcel: Parcel): Promise<boolean> {
  const found = await call<ArtifactFileList>(`${home(parcel)}/files`, { query: { prefix: parcel.path, limit: 1 } });
  const first = found.body.items[0];
  return first?.path === parcel.path && first.sha256 === parcel.sha256;
}

/** Where to go on: with an upload of the same bytes, whoever began it here, or with a new one. */
export async function placeOf(parcel: Parcel): Promise<Place> {
  const { items } = (await call<UploadList>(`${home(parcel)}/uploads`, { query: { path: parcel.path } })).body;
  const known = items.find(
    (each) => each.path === parcel.path && each.sha256 === parcel.sha256 && each.length === parcel.file.size && each.manner === "stream" && !each.is_complete,
  );
  return known ? { id: known.id, offset: known.offset } : begin(parcel);
}

async function begin(parcel: Parcel): Promise<Place> {
  const about = { path: parcel.path, filetype: parcel.file.type, sha256: parcel.sha256 };
  const begun = await call(`${home(parcel)}/uploads`, {
    method: "POST",
    headers: { ...TUS, "Upload-Length": String(parcel.file.size), "Upload-Metadata": written(about) },
  });
  return { id: begun.headers.get("Location")?.split("/").pop() ?? "", offset: Number(begun.headers.get("Upload-Offset") ?? 0) };
}

/** Send the next part and say where the one after it begins. */
export async function sendPart(parcel: Parcel, place: Place, moved: (sent: number) => void, signal: AbortSignal): Promise<Place> {
  const part = parcel.file.slice(place.offset, place.offset + PART);
  const offset = await patched(place, part, (sent) => moved(place.offset + sent), signal);
  return { id: place.id, offset };
}

/** fetch does not tell how much of a body has gone. */
function patched(place: Place, part: Blob, moved: (sent: number) => void, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PATCH", url(`api/hpc/uploads/${encodeURIComponent(place.id)}`));
    const said = { ...TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(place.offset) };
    for (const [name, value] of Object.entries(headers({ method: "PATCH", headers: said }))) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => moved(event.loaded);
    request.onload = () => {
      if (isProxys(request.status, request.getResponseHeader("Content-Type"))) reject(new Unreachable());
      else if (request.status < 300) resolve(Number(request.getResponseHeader("Upload-Offset")));
      else reject(refused(request.status, request.statusText, request.responseText, request.getResponseHeader("Retry-After")));
    };
    request.onerror = () => reject(new Unreachable());
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(part);
  });
}

function written(about: Record<string, string>): string {
  const pairs = Object.entries(about).filter(([, value]) => value !== "");
  return pairs.map(([name, value]) => `${name} ${btoa(String.fromCharCode(...new TextEncoder().encode(value)))}`).join(",");
}
